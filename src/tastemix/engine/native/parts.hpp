// A prediction taken apart: what each taste adds, and the rated items that stand for it.
#pragma once
#include <cstdint>
#include <vector>

namespace tastemix {

struct Explained {          // a prediction, and what it is taken apart by
    const float* user;      // rank entries
    const float* items;     // likewise, a row each
    int64_t item;
    const int32_t* rated;   // items
    int64_t count;
    int members, rank;
    const int32_t* taste;   // by coordinate: the one it belongs to; −1 for an offset
    const double* user_unit;        // by coordinate: what an entry counts in the weight of its taste
    const double* item_unit;
    int taste_count;
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
