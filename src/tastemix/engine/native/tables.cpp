#include "tables.hpp"

#include <algorithm>

namespace tastemix {

bool counting_sort(const int32_t* key, int64_t count, int64_t keys, int64_t* pointers, int32_t* order) {
    std::fill_n(pointers, keys + 1, int64_t(0));
    for (int64_t i = 0; i < count; i++) {
        if (key[i] < 0 || key[i] >= keys) return false;
        pointers[key[i] + 1]++;
    }
    for (int64_t k = 0; k < keys; k++) pointers[k + 1] += pointers[k];
    for (int64_t i = 0; i < count; i++) order[pointers[key[i]]++] = int32_t(i);
    for (int64_t k = keys; k > 0; k--) pointers[k] = pointers[k - 1];
    pointers[0] = 0;
    return true;
}

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
