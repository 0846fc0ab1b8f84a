#include "tables.hpp"

#include <algorithm>

namespace tastemix {

namespace {

constexpr int64_t pairs_at_once = 16384;

void multiply(void* context, int64_t chunk, int) {
    const Pairs& p = *static_cast<Pairs*>(context);
    const int64_t end = std::min(p.count, (chunk + 1) * pairs_at_once);
    for (int64_t i = chunk * pairs_at_once; i < end; i++) {
        const float* w = p.users + int64_t(p.user[i]) * p.rank;
        const float* h = p.items + int64_t(p.item[i]) * p.rank;
        double sum = 0;
        for (int r = 0; r < p.rank; r++) sum += double(w[r]) * h[r];
        p.out[i] = sum;
    }
}

}  // namespace

bool pair_products(Pairs pairs, Poll poll) {
    return parallel((pairs.count + pairs_at_once - 1) / pairs_at_once, threads(), multiply, &pairs, poll);
}

}  // namespace tastemix
