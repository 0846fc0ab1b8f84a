// Loops over ratings and pairs that have nothing to do with the row problem.
#pragma once
#include <cstdint>

#include "kernels.hpp"
#include "pool.hpp"

namespace tastemix {

struct Pairs {
    const float* users;
    const float* items;
    const int32_t* user;
    const int32_t* item;
    int64_t count;
    int rank;
    double* out;
};

// out[p] = w_u · h_i for the p-th pair, summed in double.
bool pair_products(Pairs pairs, Poll poll);

}  // namespace tastemix
