// The Python face of the core. Arguments were checked by the Python side; what is checked here is
// what would otherwise read outside an array.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <stdexcept>

#include "bind_catalogue.hpp"
#include "isa.hpp"
#include "session.hpp"
#include "tables.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace tastemix {
namespace {

template <class T> using Line = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Rows = nb::ndarray<const float, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// True when a signal handler (Ctrl-C) raised; the exception is then set.
bool interrupted() {
    nb::gil_scoped_acquire gil;
    return PyErr_CheckSignals() != 0;
}

template <class T> struct Fresh {      // a NumPy array about to be filled
    T* data;
    nb::capsule owner;
    explicit Fresh(std::size_t count)
        : data(new T[count ? count : 1]), owner(data, [](void* p) noexcept { delete[] static_cast<T*>(p); }) {}
};

void check_ids(const Line<int32_t>& ids, std::size_t count) {
    for (std::size_t i = 0; i < ids.size(); i++)
        if (ids.data()[i] < 0 || std::size_t(ids.data()[i]) >= count) throw std::out_of_range("row number");
}

struct BoundHalf {
    Line<int64_t> pointers;
    Line<int32_t> indices;
    Line<float> values;

    Half checked(std::size_t columns) const {
        const std::size_t rows = pointers.size() - 1;
        if (pointers.size() < 2 || pointers.data()[0] != 0 || indices.size() != values.size() ||
            std::size_t(pointers.data()[rows]) != indices.size())
            throw std::invalid_argument("sparse half");
        for (std::size_t r = 0; r < rows; r++)
            if (pointers.data()[r] > pointers.data()[r + 1]) throw std::invalid_argument("sparse half");
        check_ids(indices, columns);
        return {pointers.data(), indices.data(), values.data(), int64_t(rows)};
    }
};

struct BoundSession {
    BoundHalf by_user, by_item;        // keep the arrays alive
    std::unique_ptr<Session> session;

    BoundSession(Line<int64_t> user_pointers, Line<int32_t> user_indices, Line<float> user_values,
                 Line<int64_t> item_pointers, Line<int32_t> item_indices, Line<float> item_values, int rank,
                 float shift)
        : by_user{user_pointers, user_indices, user_values}, by_item{item_pointers, item_indices, item_values} {
        if (rank < 1) throw std::invalid_argument("rank");
        session = std::make_unique<Session>(by_user.checked(item_pointers.size() - 1),
                                            by_item.checked(user_pointers.size() - 1), rank, shift);
    }

    void check_side(int side) const {
        if (side != 0 && side != 1) throw std::out_of_range("side");
    }

    void set_factor(int side, Rows rows) {
        check_side(side);
        if (int64_t(rows.shape(0)) != session->rows(side) || int(rows.shape(1)) != session->rank())
            throw std::invalid_argument("factor of another shape");
        session->set_factor(side, rows.data());
    }

    auto get_factor(int side) const {
        check_side(side);
        const auto rows = std::size_t(session->rows(side)), rank = std::size_t(session->rank());
        Fresh<float> out(rows * rank);
        session->get_factor(side, out.data);
        return nb::ndarray<nb::numpy, float, nb::ndim<2>>(out.data, {rows, rank}, out.owner);
    }

    void hold(int side, int coordinate) {
        check_side(side);
        if (coordinate < 0 || coordinate >= session->rank()) throw std::out_of_range("coordinate");
        session->set_movable(side, coordinate, false);
    }

    nb::tuple half_step(int side, float l1, float l2, float l2_per_rating, float prior, float weight,
                        bool dynamic, bool centred, float tolerance, int64_t max_updates) {
        check_side(side);
        Report report;
        {
            nb::gil_scoped_release release;
            report = session->half_step(side, {l1, l2, l2_per_rating, prior, weight, dynamic, centred},
                                        tolerance, max_updates, interrupted);
        }
        if (PyErr_Occurred()) throw nb::python_error();
        return nb::make_tuple(report.objective, report.updates, report.largest);
    }

    void row_grams(int side) {
        check_side(side);
        {
            nb::gil_scoped_release release;
            session->row_grams(side, interrupted);
        }
        if (PyErr_Occurred()) throw nb::python_error();
    }
};

nb::tuple bound_counting_sort(Line<int32_t> key, int64_t keys) {
    Fresh<int64_t> pointers(std::size_t(keys) + 1);
    Fresh<int32_t> order(key.size());
    bool inside;
    {
        nb::gil_scoped_release release;
        inside = counting_sort(key.data(), int64_t(key.size()), keys, pointers.data, order.data);
    }
    if (!inside) throw std::out_of_range("key");
    return nb::make_tuple(
        nb::ndarray<nb::numpy, int64_t, nb::ndim<1>>(pointers.data, {std::size_t(keys) + 1}, pointers.owner),
        nb::ndarray<nb::numpy, int32_t, nb::ndim<1>>(order.data, {key.size()}, order.owner));
}

auto bound_pair_products(Rows users, Rows items, Line<int32_t> user, Line<int32_t> item) {
    if (users.shape(1) != items.shape(1) || user.size() != item.size()) throw std::invalid_argument("shapes");
    check_ids(user, users.shape(0));
    check_ids(item, items.shape(0));
    Fresh<double> out(user.size());
    {
        nb::gil_scoped_release release;
        pair_products({users.data(), items.data(), user.data(), item.data(), int64_t(user.size()),
                       int(users.shape(1)), out.data},
                      interrupted);
    }
    if (PyErr_Occurred()) throw nb::python_error();
    return nb::ndarray<nb::numpy, double, nb::ndim<1>>(out.data, {user.size()}, out.owner);
}

}  // namespace
}  // namespace tastemix

NB_MODULE(_native, m) {
    using namespace tastemix;
    m.doc() = "The row problem, greedy coordinate descent and the thread pool.";
    nb::class_<BoundSession>(m, "Session")
        .def(nb::init<Line<int64_t>, Line<int32_t>, Line<float>, Line<int64_t>, Line<int32_t>, Line<float>, int,
                      float>())
        .def("set_factor", &BoundSession::set_factor)
        .def("get_factor", &BoundSession::get_factor)
        .def("hold", &BoundSession::hold)
        .def("half_step", &BoundSession::half_step)
        .def("row_grams", &BoundSession::row_grams);
    m.def("counting_sort", bound_counting_sort);
    m.def("pair_products", bound_pair_products);
    bind_catalogue(m);
    m.def("threads", threads);
    m.def("set_threads", set_threads);
    m.def("available_isas", available_isas);
    m.def("current_isa", current_isa);
    m.def("use_isa", use_isa);
}
