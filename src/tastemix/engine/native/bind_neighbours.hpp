// The Python face of neighbours.
#pragma once
#include <nanobind/nanobind.h>

namespace tastemix {

void bind_neighbours(nanobind::module_& m);

}  // namespace tastemix
