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

// The `examples` rated items to which every taste adds most, ties to the earlier item.
std::vector<std::vector<Example>> examples(const Explained& e) {
    std::vector<std::vector<Example>> best(std::size_t(e.taste_count));
    std::vector<float> weight(std::size_t(e.taste_count));
    for (int64_t j = 0; j < e.count; j++) {
        const float* row = e.items + int64_t(e.rated[j]) * e.rank;
        std::fill(weight.begin(), weight.end(), 0.0f);
        for (int r = 0; r < e.rank; r++)
            if (e.taste[r] >= 0) weight[std::size_t(e.taste[r])] += e.user[r] * row[r];
        for (std::size_t t = 0; t < weight.size(); t++) {
            const float found = weight[t];
            auto& list = best[t];
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
    const auto count = std::size_t(e.taste_count);
    std::vector<double> user(count), item(count), value(count);
    const float* row = e.items + e.item * e.rank;
    double base = e.shift;
    for (int r = 0; r < e.rank; r++) {
        const double w = e.user[r], h = row[r], product = w * h / e.members;
        if (e.taste[r] < 0) {
            base += product;
            continue;
        }
        const auto t = std::size_t(e.taste[r]);
        user[t] += w * e.user_unit[r] / e.members;
        item[t] += h * e.item_unit[r] / e.members;
        value[t] += product;
    }
    Parts out;
    out.order.resize(std::size_t(e.taste_count));
    std::iota(out.order.begin(), out.order.end(), int64_t(0));
    const auto size = [&](int64_t t) { return std::abs(value[std::size_t(t)]); };
    std::stable_sort(out.order.begin(), out.order.end(), [&](int64_t a, int64_t b) { return size(a) > size(b); });
    out.ends.push_back(0);
    if (e.baseline) {
        out.user.push_back(std::numeric_limits<double>::quiet_NaN());
        out.item.push_back(out.user.back());
        out.value.push_back(base);
        out.ends.push_back(0);
    }
    const auto best = examples(e);
    for (const int64_t number : out.order) {
        const auto t = std::size_t(number);
        out.user.push_back(user[t]);
        out.item.push_back(user[t] != 0 ? value[t] / user[t] : item[t]);
        out.value.push_back(value[t]);
        for (const Example& each : best[t]) out.examples.push_back(each.item);
        out.ends.push_back(int32_t(out.examples.size()));
    }
    return out;
}

}  // namespace tastemix
