// The row kernels with four lanes: what every 64-bit processor has.
#define WIDE_REGISTERS 0
#include "kernels.inl"

namespace tastemix {
Kernels kernels_plain(int rank) { return of_lanes<4>(rank); }
}  // namespace tastemix
