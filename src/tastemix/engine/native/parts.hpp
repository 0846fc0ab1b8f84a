// A prediction taken apart: what each taste adds, and the rated items that stand for it.
#pragma once
#include <cstdint>
#include <vector>

namespace tastemix {

struct Explained {          // a prediction, and what it is taken apart by
    const float* user;      // members × width
    const float* items;     // likewise, a row each
    int64_t item;
    const int32_t* rated;   // items
    int64_t count;
    int members, width;
    const int64_t* tastes;  // coordinates of a member, ascending; the others are offsets
    int64_t taste_count;
    double shift;
    bool baseline;          // what the shift and the offsets add is a part, the first one
    int examples;           // most of a taste
};

struct Parts {              // the baseline, then the tastes, those that add most first
    std::vector<int64_t> order;         // of the tastes
    std::vector<double> user, item, value;      // a weight of the baseline is NaN
    std::vector<int32_t> examples;      // items, end to end
    std::vector<int32_t> ends;          // where in `examples` each part begins, and the last one ends
};

Parts parts(const Explained&);

}  // namespace tastemix
