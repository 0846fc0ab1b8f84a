// Arrays and signals between Python and the core.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

namespace tastemix {

namespace nb = nanobind;

template <class T> using Line = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Matrix = nb::ndarray<const float, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// True when a signal handler (Ctrl-C) raised; the exception is then set.
inline bool interrupted() {
    nb::gil_scoped_acquire gil;
    return PyErr_CheckSignals() != 0;
}

template <class T> struct Fresh {      // a NumPy array about to be filled
    T* data;
    nb::capsule owner;
    explicit Fresh(std::size_t count)
        : data(new T[count ? count : 1]), owner(data, [](void* p) noexcept { delete[] static_cast<T*>(p); }) {}
};

}  // namespace tastemix
