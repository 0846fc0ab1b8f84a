#include "links.hpp"

#include <algorithm>
#include <limits>

namespace tastemix {
namespace {

constexpr int64_t users_a_chunk = 4;
constexpr int64_t work_unasked = 1 << 22;    // items looked at, or moved in a list

template <class F> bool each_user(int64_t users, F&& f, Poll poll) {
    const auto some = [&](int64_t chunk, int worker) {
        for (int64_t u = chunk * users_a_chunk; u < std::min(users, (chunk + 1) * users_a_chunk); u++) f(u, worker);
    };
    return parallel_for((users + users_a_chunk - 1) / users_a_chunk, some, poll);
}

Links turned(const Links& links) {
    const std::size_t items = links.pointers.size() - 1;
    Links out{std::vector<int64_t>(items + 1, 0), std::vector<int32_t>(links.indices.size()),
              std::vector<float>(links.indices.size())};
    for (const int32_t j : links.indices) out.pointers[std::size_t(j) + 1]++;
    for (std::size_t j = 0; j < items; j++) out.pointers[j + 1] += out.pointers[j];
    std::vector<int64_t> next(out.pointers.begin(), out.pointers.end() - 1);
    for (std::size_t i = 0; i < items; i++)
        for (int64_t e = links.pointers[i]; e < links.pointers[i + 1]; e++) {
            const auto at = std::size_t(next[std::size_t(links.indices[std::size_t(e)])]++);
            out.indices[at] = int32_t(i);
            out.weights[at] = links.weights[std::size_t(e)];
        }
    return out;
}

}  // namespace

Linked::Linked(Links by_target) : by_target_(std::move(by_target)), by_source_(turned(by_target_)) {}

bool Linked::add(const Rated& rated, float scale, float* scores, Poll poll) const {
    return each_user(rated.users, [&](int64_t u, int) { add(rated, u, scale, scores + u * items()); }, poll);
}

void Linked::add(const Rated& rated, int64_t user, float scale, float* scores) const {
    for (int64_t e = rated.pointers[user]; e < rated.pointers[user + 1]; e++) {
        const auto j = std::size_t(rated.items[e]);
        const float a = scale * rated.values[e];
        for (auto at = std::size_t(by_source_.pointers[j]); at < std::size_t(by_source_.pointers[j + 1]); at++)
            scores[by_source_.indices[at]] += a * by_source_.weights[at];
    }
}

void Linked::sums(const Rated& rated, int64_t user, const int32_t* item, int64_t count, double* out) const {
    static thread_local std::vector<float> given;       // what the user gave, by item; zeros between calls
    given.resize(std::max(given.size(), std::size_t(items())));
    const int64_t begin = rated.pointers[user], end = rated.pointers[user + 1];
    for (int64_t e = begin; e < end; e++) given[std::size_t(rated.items[e])] = rated.values[e];
    for (int64_t p = 0; p < count; p++) {
        double sum = 0;
        const auto i = std::size_t(item[p]);
        for (auto at = std::size_t(by_target_.pointers[i]); at < std::size_t(by_target_.pointers[i + 1]); at++)
            sum += double(given[std::size_t(by_target_.indices[at])]) * by_target_.weights[at];
        out[p] = sum;
    }
    for (int64_t e = begin; e < end; e++) given[std::size_t(rated.items[e])] = 0.0f;
}

void Linked::pairs(const Rated& rated, const int32_t* user, const int32_t* item, int64_t count, double* out) const {
    for (int64_t p = 0, next = 0; p < count; p = next) {
        while (next < count && user[next] == user[p]) next++;
        sums(rated, user[p], item + p, next - p, out + p);
    }
}

bool best_of(const Listed& l, int n, int32_t* best, Poll poll) {
    std::vector<std::vector<uint8_t>> flags(std::size_t(threads()), std::vector<uint8_t>(std::size_t(l.items)));
    return each_user(l.users, [&](int64_t u, int worker) {
        std::vector<uint8_t>& excluded = flags[std::size_t(worker)];
        for (int64_t e = l.pointers[u]; e < l.pointers[u + 1]; e++) excluded[std::size_t(l.seen[e])] = 1;
        int32_t* list = best + u * n;
        const float* score = l.scores + u * l.items;
        std::fill(list, list + n, -1);
        int found = 0;
        int64_t work = work_unasked;
        float least = -std::numeric_limits<float>::infinity();      // what the last of a full list has
        for (int64_t i = 0; i < l.items; i++) {
            if ((work -= 1) <= 0) {
                if (give_up()) break;
                work = work_unasked;
            }
            if (!(score[i] > least) || excluded[std::size_t(i)] || (l.allowed && !l.allowed[i])) continue;
            int at = found < n ? found++ : n - 1;
            for (; at > 0 && score[list[at - 1]] < score[i]; at--) list[at] = list[at - 1];
            list[at] = int32_t(i);
            work -= n;
            if (found == n) least = score[list[n - 1]];
        }
        for (int64_t e = l.pointers[u]; e < l.pointers[u + 1]; e++) excluded[std::size_t(l.seen[e])] = 0;
    }, poll);
}

}  // namespace tastemix
