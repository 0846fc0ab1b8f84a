#include "catalogue.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
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
    const Catalogue& catalogue;
    TopItems top;
    int64_t count;
    const Weighed* weighed;         // or null
    double* scores;                 // where it is not
    std::vector<Flags> flags;       // by worker

    static void enter(void* context, int64_t chunk, int worker) {
        Search& s = *static_cast<Search*>(context);
        const int64_t end = std::min(s.count, (chunk + 1) * users_a_chunk);
        const int64_t step = s.linked() ? users_at_once : users_a_chunk;
        for (int64_t begin = chunk * users_a_chunk; begin < end; begin += step)
            s.some(begin, std::min(end, begin + step), s.flags[std::size_t(worker)]);
    }

    bool linked() const { return weighed && weighed->linked; }

    void some(int64_t begin, int64_t end, Flags& mine) const {
        TopItems here = top;
        if (linked()) {
            here.added = spoken(begin, end, mine.added.data());
            here.times = 1;
            here.apart = top.items;
        }
        catalogue.kernels_.top_items(here, begin, end, mine.score.data(), mine.excluded.data());
        if (weighed)
            for (int64_t u = begin; u < end; u++) score(u);
    }

    // What is added for these users, in `room`: a row of items each.
    const float* spoken(int64_t begin, int64_t end, float* room) const {
        const auto popular = float(weighed->popular);
        for (int64_t u = begin; u < end; u++) {
            float* row = room + (u - begin) * top.items;
            for (int64_t i = 0; i < top.items; i++) row[i] = popular * weighed->popularity[i];
            weighed->linked->add(weighed->rated, u, float(weighed->links), row);
        }
        return room;
    }

    void score(int64_t u) const {
        const int32_t* best = top.best + u * top.n;
        double* out = scores + u * top.n;
        const int64_t there = std::find(best, best + top.n, -1) - best;
        std::fill(out, out + top.n, std::numeric_limits<double>::quiet_NaN());
        std::fill(out, out + there, 0.0);
        if (linked()) weighed->linked->sums(weighed->rated, u, best, there, out);
        const float* w = top.users + int64_t(top.user[u]) * top.rank;
        for (int64_t k = 0; k < there; k++)
            out[k] = weighed->tastes * catalogue.product(w, best[k]) +
                     weighed->popular * weighed->popularity[best[k]] + weighed->links * out[k];
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

double Catalogue::product(const float* w, int64_t item) const {
    const int64_t lanes = kernels_.lanes;
    const float* h = panels_.get() + item / lanes * rank_ * lanes + item % lanes;
    double sum = 0;
    for (int r = 0; r < rank_; r++) sum += double(w[r]) * h[r * lanes];
    return sum;
}

bool Catalogue::top(const Asked& asked, int n, int32_t* best, Poll poll) {
    Search search{*this, top_items(asked, n, best), asked.count, nullptr, nullptr, {}};
    return run(search, poll);
}

bool Catalogue::top(const Asked& asked, const Weighed& by, int n, int32_t* best, double* scores, Poll poll) {
    Search search{*this, top_items(asked, n, best), asked.count, &by, scores, {}};
    search.top.scale = float(by.tastes);
    search.top.added = by.popularity;
    search.top.times = float(by.popular);
    return run(search, poll);
}

TopItems Catalogue::top_items(const Asked& asked, int n, int32_t* best) const {
    return {asked.users, panels_.get(), items_, rank_, asked.user, asked.pointers, asked.seen, asked.allowed, 1.0f,
            nullptr, 0.0f, 0, n, best, give_up};
}

bool Catalogue::run(Search& search, Poll poll) {
    const int64_t chunks = (search.count + users_a_chunk - 1) / users_a_chunk;
    const int workers = int(std::clamp<int64_t>(chunks, 1, threads()));
    const int64_t together = std::min<int64_t>(search.count, users_at_once);
    search.flags = take(workers);
    for (Flags& each : search.flags) {
        each.score.resize(std::max(each.score.size(), std::size_t(together * search.top.n)));
        each.excluded.resize(std::max(each.excluded.size(), std::size_t(together * items_)));
        if (search.linked()) each.added.resize(std::max(each.added.size(), std::size_t(together * items_)));
    }
    const bool done = parallel(chunks, workers, Search::enter, &search, poll);
    give_back(std::move(search.flags));
    return done;
}

}  // namespace tastemix
