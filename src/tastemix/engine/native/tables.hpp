// Loops over ratings and pairs that have nothing to do with the row problem.
#pragma once
#include <cstdint>

#include "kernels.hpp"
#include "pool.hpp"

namespace tastemix {

// Stable counting sort: order[pointers[k] .. pointers[k+1]) are the positions of key k, ascending.
// False where a key is outside 0..keys-1.
bool counting_sort(const int32_t* key, int64_t count, int64_t keys, int64_t* pointers, int32_t* order);

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
