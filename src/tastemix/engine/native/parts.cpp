#include "parts.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace tastemix {
namespace {

struct Example {
    float weight;
    int32_t item;
};

// The `most` largest positive entries of every taste over the rated items, ties to the earlier item.
std::vector<std::vector<Example>> examples(const Explained& e) {
    std::vector<std::vector<Example>> best(std::size_t(e.taste_count));
    std::vector<float> weight(std::size_t(e.width));
    for (int64_t j = 0; j < e.count; j++) {
        const float* row = e.items + int64_t(e.rated[j]) * e.members * e.width;
        std::fill(weight.begin(), weight.end(), 0.0f);
        for (int m = 0; m < e.members; m++)
            for (int r = 0; r < e.width; r++) weight[std::size_t(r)] += e.user[m * e.width + r] * row[m * e.width + r];
        for (int64_t t = 0; t < e.taste_count; t++) {
            const float found = weight[std::size_t(e.tastes[t])];
            auto& list = best[std::size_t(t)];
            if (!(found > 0) || (int(list.size()) == e.examples && !(found > list.back().weight))) continue;
            const auto smaller = [&](const Example& other) { return other.weight < found; };
            list.insert(std::find_if(list.begin(), list.end(), smaller), {found, e.rated[j]});
            if (int(list.size()) > e.examples) list.pop_back();
        }
    }
    return best;
}

}  // namespace

Parts parts(const Explained& e) {
    const auto width = std::size_t(e.width);
    std::vector<double> user(width), item(width), value(width);
    const float* row = e.items + e.item * e.members * e.width;
    for (int m = 0; m < e.members; m++)
        for (std::size_t r = 0; r < width; r++) {
            const double w = e.user[m * e.width + int(r)], h = row[m * e.width + int(r)];
            user[r] += w / e.members;
            item[r] += h / e.members;
            value[r] += w * h / e.members;
        }
    Parts out;
    out.order.resize(std::size_t(e.taste_count));
    std::iota(out.order.begin(), out.order.end(), int64_t(0));
    const auto size = [&](int64_t t) { return std::abs(value[std::size_t(e.tastes[t])]); };
    std::stable_sort(out.order.begin(), out.order.end(), [&](int64_t a, int64_t b) { return size(a) > size(b); });
    out.ends.push_back(0);
    if (e.baseline) {
        double base = e.shift;
        for (std::size_t r = 0; r < width; r++)
            if (!std::binary_search(e.tastes, e.tastes + e.taste_count, int64_t(r))) base += value[r];
        out.user.push_back(std::numeric_limits<double>::quiet_NaN());
        out.item.push_back(out.user.back());
        out.value.push_back(base);
        out.ends.push_back(0);
    }
    const auto best = examples(e);
    for (const int64_t t : out.order) {
        const auto r = std::size_t(e.tastes[t]);
        out.user.push_back(user[r]);
        out.item.push_back(user[r] != 0 ? value[r] / user[r] : item[r]);
        out.value.push_back(value[r]);
        for (const Example& each : best[std::size_t(t)]) out.examples.push_back(each.item);
        out.ends.push_back(int32_t(out.examples.size()));
    }
    return out;
}

}  // namespace tastemix
