// The row kernels with eight lanes and fused multiply-add.
#define WIDE_REGISTERS 0
#include "kernels.inl"

namespace tastemix {
Kernels kernels_avx2(int rank) { return of_lanes<8>(rank); }
}  // namespace tastemix
