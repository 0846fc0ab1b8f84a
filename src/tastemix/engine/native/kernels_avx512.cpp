// The row kernels with sixteen lanes, or eight where that pads less.
#define WIDE_REGISTERS 1
#include "kernels.inl"

namespace tastemix {
Kernels kernels_avx512(int rank) {
    return (rank + 7) / 8 % 2 ? of_lanes<8>(rank) : of_lanes<16>(rank);
}
}  // namespace tastemix
