// Arrays and signals between Python and the core.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <unistd.h>

#include <atomic>

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <vector>

#include "links.hpp"
#include "rows.hpp"

namespace tastemix {

namespace nb = nanobind;

template <class T> using Line = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Matrix = nb::ndarray<const float, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// A thread that asks for the GIL when the interpreter is ending never gets it. Python before 3.14
// ends such a thread by unwinding its stack, which destructors do not let through: it is held here
// until the process is gone.
template <class F> auto taking_gil(F&& take) {
    try {
        return take();
    } catch (...) {
        for (;;) pause();
    }
}

class Released {             // without the GIL for as long as it lives
   public:
    Released() : state_(PyEval_SaveThread()) {}
    ~Released() {
        taking_gil([this] { PyEval_RestoreThread(state_); });
    }
    Released(const Released&) = delete;
    Released& operator=(const Released&) = delete;

   private:
    PyThreadState* state_;
};

// Runs f without the GIL; raises what a signal handler raised.
template <class F> auto released(F&& f) {
    auto result = [&] {
        const Released gil;
        return f();
    }();
    if (PyErr_Occurred()) throw nb::python_error();
    return result;
}

// True when a signal handler (Ctrl-C) raised; the exception is then set.
inline bool interrupted() {
    const PyGILState_STATE state = taking_gil(PyGILState_Ensure);
    const bool raised = PyErr_CheckSignals() != 0;
    PyGILState_Release(state);
    return raised;
}

// Held while a session is used: what it reads moves under a second user.
class Turn {
   public:
    void take() {
        if (!taken_.exchange(true)) return;
        const nb::object error = nb::module_::import_("tastemix.errors").attr("EngineError");
        PyErr_SetString(error.ptr(), "this session is in use by another thread, or by what a signal interrupted: "
                                     "let one thread use it, or open a session for each");
        throw nb::python_error();
    }
    void give_back() { taken_.store(false); }

   private:
    std::atomic<bool> taken_{false};
};

template <class T> struct Fresh {      // a NumPy array about to be filled
    T* data;
    nb::capsule owner;
    explicit Fresh(std::size_t count)
        : data(new T[count ? count : 1]), owner(data, [](void* p) noexcept { delete[] static_cast<T*>(p); }) {}
};

template <class T> nb::ndarray<nb::numpy, T, nb::ndim<1>> line(const std::vector<T>& values) {
    Fresh<T> out(values.size());
    std::copy(values.begin(), values.end(), out.data);
    return {out.data, {values.size()}, out.owner};
}

inline void check_ids(const Line<int32_t>& ids, std::size_t count) {
    for (std::size_t i = 0; i < ids.size(); i++)
        if (ids.data()[i] < 0 || std::size_t(ids.data()[i]) >= count) throw std::out_of_range("row number");
}

// Only the entries that the pointers lead to are looked at.
inline void check_rows(const Line<int64_t>& pointers, const Line<int32_t>& indices, std::size_t count) {
    const int64_t *first = pointers.data(), *last = first + pointers.size();
    if (pointers.size() < 1 || *first < 0 || *(last - 1) > int64_t(indices.size()) || !std::is_sorted(first, last))
        throw std::invalid_argument("pointers");
    if (std::any_of(indices.data() + *first, indices.data() + *(last - 1),
                    [=](int32_t i) { return i < 0 || std::size_t(i) >= count; }))
        throw std::out_of_range("row number");
}

inline Rated rated_by(const Linked& linked, const Line<int64_t>& pointers, const Line<int32_t>& items,
                      const Line<float>& values) {
    check_rows(pointers, items, std::size_t(linked.items()));
    if (items.size() != values.size()) throw std::invalid_argument("values");
    return {pointers.data(), items.data(), values.data(), int64_t(pointers.size()) - 1};
}

struct BoundHalf {           // keeps the arrays alive; checked once, used by many sessions
    Line<int64_t> pointers;
    Line<int32_t> indices;
    Line<float> values;     // or, where there are codes, the levels they name
    std::optional<Line<uint8_t>> codes;
    Half half;

    BoundHalf(Line<int64_t> pointers_, Line<int32_t> indices_, Line<float> values_, int64_t columns,
              std::optional<Line<uint8_t>> codes_ = {}, bool mapped = false)
        : pointers(pointers_), indices(indices_), values(values_), codes(codes_) {
        const std::size_t rows = pointers.size() - 1;
        if (codes && values.size() != 256) throw std::invalid_argument("levels");
        const std::size_t ratings = codes ? codes->size() : values.size();
        if (pointers.size() < 2 || pointers.data()[0] != 0 || indices.size() != ratings ||
            std::size_t(pointers.data()[rows]) != indices.size())
            throw std::invalid_argument("sparse half");
        for (std::size_t r = 0; r < rows; r++)
            if (pointers.data()[r] > pointers.data()[r + 1]) throw std::invalid_argument("sparse half");
        check_ids(indices, std::size_t(columns));
        half = {pointers.data(),
                indices.data(),
                codes ? nullptr : values.data(),
                codes ? codes->data() : nullptr,
                codes ? values.data() : nullptr,
                int64_t(rows),
                columns,
                Half::chunked(pointers.data(), int64_t(rows)),
                mapped};
    }
};

}  // namespace tastemix
