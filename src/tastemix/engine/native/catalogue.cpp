#include "catalogue.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace tastemix {
namespace {

constexpr int64_t users_a_chunk = 4 * users_at_once;

constexpr int64_t items_a_chunk = 1024;     // a multiple of the lanes

}  // namespace

bool pack(const float* rows, int64_t items, int rank, Packed& out, Poll poll) {
    out.kernels = kernels_for(rank);
    const int64_t lanes = out.kernels.lanes;
    out.panels = zeros((items + lanes - 1) / lanes * lanes * rank);
    const auto some = [&](int64_t chunk, int) {
        for (int64_t i = chunk * items_a_chunk; i < std::min(items, (chunk + 1) * items_a_chunk); i++)
            for (int r = 0; r < rank; r++)
                out.panels[(i / lanes * rank + r) * lanes + i % lanes] = rows[i * rank + r];
    };
    return parallel_for((items + items_a_chunk - 1) / items_a_chunk, some, poll);
}

struct Catalogue::Flags {
    std::vector<uint8_t> excluded;
    std::vector<float> score, added;
};

struct Catalogue::Search {
    TopItems top;
    Kernels kernels;
    int64_t count;
    const Added* added;
    std::vector<Flags> flags;       // by worker

    static void run(void* context, int64_t chunk, int worker) {
        Search& s = *static_cast<Search*>(context);
        Flags& mine = s.flags[std::size_t(worker)];
        const int64_t end = std::min(s.count, (chunk + 1) * users_a_chunk);
        const int64_t step = s.linked() ? users_at_once : users_a_chunk;
        for (int64_t begin = chunk * users_a_chunk; begin < end; begin += step) {
            const int64_t last = std::min(end, begin + step);
            TopItems top = s.top;
            if (s.linked()) top.added = s.spoken(begin, last, mine.added.data());
            s.kernels.top_items(top, begin, last, mine.score.data(), mine.excluded.data());
        }
    }

    bool linked() const { return added && added->linked; }

    // What is added for these users, in `room`: a row of items each.
    const float* spoken(int64_t begin, int64_t end, float* room) const {
        for (int64_t u = begin; u < end; u++) {
            float* row = room + (u - begin) * top.items;
            std::copy_n(added->base, top.items, row);
            added->linked->add(added->rated, u, added->weight, row);
        }
        return room;
    }
};

Catalogue::Catalogue(Packed packed, int64_t items, int rank)
    : items_(items), rank_(rank), kernels_(packed.kernels), panels_(std::move(packed.panels)) {}

Catalogue::~Catalogue() = default;

std::vector<Catalogue::Flags> Catalogue::take(int workers) {
    std::vector<Flags> taken;
    if (const std::unique_lock lock(guard_, std::try_to_lock); lock) {
        const auto some = std::min(std::ptrdiff_t(spare_.size()), std::ptrdiff_t(workers));
        taken.assign(std::move_iterator(spare_.end() - some), std::move_iterator(spare_.end()));
        spare_.resize(spare_.size() - std::size_t(some));
    }
    taken.resize(std::size_t(workers));
    return taken;
}

void Catalogue::give_back(std::vector<Flags> used) {
    if (const std::unique_lock lock(guard_, std::try_to_lock); lock)
        spare_.insert(spare_.end(), std::move_iterator(used.begin()), std::move_iterator(used.end()));
}

bool Catalogue::top(const Asked& asked, const Added* added, int n, int32_t* best, Poll poll) {
    const int64_t chunks = (asked.count + users_a_chunk - 1) / users_a_chunk;
    const int workers = int(std::clamp<int64_t>(chunks, 1, threads()));
    const int64_t together = std::min<int64_t>(asked.count, users_at_once);
    Search search{{asked.users, panels_.get(), items_, rank_, asked.user, asked.pointers, asked.seen,
                   asked.allowed, added ? added->scale : 1.0f, added ? added->base : nullptr, 0, n, best, give_up},
                  kernels_, asked.count, added, take(workers)};
    if (search.linked()) search.top.apart = items_;
    for (Flags& each : search.flags) {
        each.score.resize(std::max(each.score.size(), std::size_t(together * n)));
        each.excluded.resize(std::max(each.excluded.size(), std::size_t(together * items_)));
        if (search.linked()) each.added.resize(std::max(each.added.size(), std::size_t(together * items_)));
    }
    const bool done = parallel(chunks, workers, Search::run, &search, poll);
    give_back(std::move(search.flags));
    return done;
}

}  // namespace tastemix
