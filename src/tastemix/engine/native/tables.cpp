#include "tables.hpp"

#include <algorithm>
#include <vector>

#include "rows.hpp"

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

namespace {

constexpr int64_t users_a_chunk = 4 * users_at_once;

struct Search {
    TopItems top;
    Kernels kernels;
    int64_t count;
    std::vector<float> score;
    std::vector<uint8_t> excluded;

    static void run(void* context, int64_t chunk, int worker) {
        Search& s = *static_cast<Search*>(context);
        s.kernels.top_items(s.top, chunk * users_a_chunk, std::min(s.count, (chunk + 1) * users_a_chunk),
                            s.score.data() + worker * users_at_once * int64_t(s.top.n),
                            s.excluded.data() + worker * users_at_once * s.top.items);
    }
};

}  // namespace

bool top_items(TopItems t, const float* item_rows, int64_t count, Poll poll) {
    const int workers = threads();
    Search search{t, kernels_for(t.rank), count, {}, {}};
    const int64_t lanes = search.kernels.lanes, panels = (t.items + lanes - 1) / lanes;
    const Floats packed = zeros(panels * lanes * t.rank);
    for (int64_t i = 0; i < t.items; i++)
        for (int r = 0; r < t.rank; r++)
            packed[(i / lanes * t.rank + r) * lanes + i % lanes] = item_rows[i * t.rank + r];
    search.top.panels = packed.get();
    search.score.resize(std::size_t(workers * users_at_once) * std::size_t(t.n));
    search.excluded.resize(std::size_t(workers * users_at_once) * std::size_t(t.items));
    return parallel((count + users_a_chunk - 1) / users_a_chunk, workers, Search::run, &search, poll);
}

}  // namespace tastemix
