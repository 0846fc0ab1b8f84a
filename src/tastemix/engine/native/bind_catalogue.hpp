// The Python face of the catalogue.
#pragma once
#include <nanobind/nanobind.h>

namespace tastemix {

void bind_catalogue(nanobind::module_& m);

}  // namespace tastemix
