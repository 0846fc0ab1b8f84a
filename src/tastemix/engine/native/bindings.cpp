// The Python face of the core. Arguments were checked by the Python side; what is checked here is
// what would otherwise read outside an array.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <optional>
#include <stdexcept>

#include "bind_catalogue.hpp"
#include "bind_neighbours.hpp"
#include "choices.hpp"
#include "isa.hpp"
#include "mover.hpp"
#include "python.hpp"
#include "tables.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace tastemix {
namespace {

nb::ndarray<nb::numpy, float, nb::ndim<2>> matrix(const Rows& rows) {
    const auto count = std::size_t(rows.count), rank = std::size_t(rows.rank);
    Fresh<float> out(count * rank);
    rows.get(out.data);
    return {out.data, {count, rank}, out.owner};
}

void fill(Rows& rows, const Matrix& values) {
    if (int64_t(values.shape(0)) != rows.count || int(values.shape(1)) != rows.rank)
        throw std::invalid_argument("factor of another shape");
    rows.set(values.data());
}

void make_rows(Rows* at, Matrix values) {
    if (values.shape(1) < 1) throw std::invalid_argument("rank");
    new (at) Rows(int64_t(values.shape(0)), int(values.shape(1)));
    at->set(values.data());
}

void check_alike(const Rows& one, const Rows& other) {
    if (one.rank != other.rank || one.kernels.width != other.kernels.width)
        throw std::invalid_argument("factors of different ranks or instruction sets");
}

// A tuple (Σ x, Σ ‖x − μ‖², Σ |Ω| ‖x − μ‖², Σ x xᵀ or None) for every span of rows.
nb::list bound_sums(const Rows& rows, const BoundHalf* half, const Rows* centres, bool gram) {
    if (half && half->half.rows != rows.count) throw std::invalid_argument("rows");
    if (centres && (centres->count != rows.count || centres->rank != rows.rank)) throw std::invalid_argument("centres");
    std::vector<Sums> spans =
        released([&] { return sums_of(rows, half ? &half->half : nullptr, centres, gram, interrupted); });
    nb::list out;
    for (Sums& span : spans)
        out.append(
            nb::make_tuple(line(std::move(span.columns)), span.squares, span.counted, line(std::move(span.gram))));
    return out;
}

auto bound_row_errors(const BoundHalf& half, const Rows& moving, const Rows& fixed, float shift, double low,
                      double high) {
    check_alike(moving, fixed);
    if (half.half.rows != moving.count || half.half.columns != fixed.count) throw std::invalid_argument("rows");
    Fresh<double> out(std::size_t(moving.count));
    released([&] { return row_errors(half.half, moving, fixed, shift, low, high, out.data, interrupted); });
    return nb::ndarray<nb::numpy, double, nb::ndim<1>>(out.data, {std::size_t(moving.count)}, out.owner);
}

struct BoundMover {
    Mover mover;
    const Half& half;
    Rows& moving;
    bool surveyed = false;

    BoundMover(BoundHalf& half_, Rows& moving_, float shift, Workspace& work)
        : mover(half_.half, moving_, shift, work), half(half_.half), moving(moving_) {
        if (half.rows != moving.count) throw std::invalid_argument("rows");
    }

    void hold(int coordinate) {
        if (coordinate < 0 || coordinate >= moving.rank) throw std::out_of_range("coordinate");
        mover.hold(coordinate);
    }

    void check(const Rows& fixed) const {
        check_alike(moving, fixed);
        if (fixed.count != half.columns) throw std::invalid_argument("columns");
    }

    nb::tuple survey(const Rows& fixed, float l2, float l2_per_rating, float prior, float weight, bool dynamic,
                     Line<float> gram, Line<float> linear, const Rows* centres, const Rows* ridges, Rows* variances,
                     float variance) {
        check(fixed);
        const auto rank = std::size_t(moving.rank);
        if (linear.size() != rank || (weight != 0 && gram.size() != rank * rank)) throw std::invalid_argument("terms");
        for (const Rows* each : {centres, ridges, static_cast<const Rows*>(variances)}) {
            if (!each) continue;
            check_alike(moving, *each);
            if (each->count != moving.count) throw std::invalid_argument("what rows are pulled towards");
        }
        if (variances && weight != 0) throw std::invalid_argument("variances under a prior");
        const Terms terms{l2, l2_per_rating, prior, weight, dynamic, gram.data(), linear.data()};
        Survey out{};
        surveyed = released([&] { return mover.survey(fixed, terms, {centres, ridges, variances, variance}, out, interrupted); });
        return nb::make_tuple(out.objective, out.gain);
    }

    nb::tuple descend(float threshold, int64_t max_updates) {
        if (!surveyed) throw std::logic_error("descend before survey");
        surveyed = false;
        Descent out{};
        released([&] { return mover.descend(threshold, max_updates, out, interrupted); });
        return nb::make_tuple(out.decrease, out.updates, out.largest);
    }

    void row_grams(const Rows& fixed) {
        check(fixed);
        released([&] { return mover.row_grams(fixed, interrupted), true; });
    }
};

// The rows that fit the ratings of a few rows, from `start`: half-steps of their own, solved to the end.
auto bound_fold(const Rows& fixed, Line<int64_t> pointers, Line<int32_t> indices, Line<float> values, Matrix start,
                const std::vector<int>& held, float shift, float l2, float l2_per_rating, float prior, float weight,
                bool dynamic, Line<float> gram, Line<float> linear, std::optional<Matrix> centres,
                std::optional<Matrix> ridges, int64_t max_updates, int times) {
    BoundHalf half(pointers, indices, values, fixed.count);
    Rows moving(int64_t(start.shape(0)), int(start.shape(1)));
    fill(moving, start);
    std::optional<Rows> near, pulled;
    for (auto [rows, values] : {std::pair{&near, &centres}, {&pulled, &ridges}}) {
        if (!*values) continue;
        rows->emplace(moving.count, moving.rank);
        fill(**rows, **values);
    }
    Workspace work;
    BoundMover mover(half, moving, shift, work);
    for (const int coordinate : held) mover.hold(coordinate);
    for (int time = 0; time < times; time++) {
        mover.survey(fixed, l2, l2_per_rating, prior, weight, dynamic, gram, linear, near ? &*near : nullptr,
                     pulled ? &*pulled : nullptr, nullptr, 0);
        mover.descend(0, max_updates);
    }
    return matrix(moving);
}

struct BoundChoices {
    Choices choices;

    BoundChoices(BoundHalf& own, BoundHalf& other, int rank) : choices(own.half, other.half, rank) {
        if (own.half.rows != other.half.columns || own.half.columns != other.half.rows)
            throw std::invalid_argument("halves of different ratings");
    }

    void follow(const Rows& rows, int iterations) {
        check_alike(rows, choices.centres);
        if (rows.count != choices.centres.count) throw std::invalid_argument("rows");
        released([&] { return choices.follow(rows, iterations, interrupted); });
    }

    void put(Line<double> mean, Matrix z) {
        if (mean.size() != choices.mean.size()) throw std::invalid_argument("mean");
        std::copy_n(mean.data(), mean.size(), choices.mean.data());
        fill(choices.z, z);
        released([&] { return choices.place(interrupted); });
    }

    auto spread(const Rows& rows, const Rows& variances) const {
        for (const Rows* each : {&rows, &variances}) {
            check_alike(*each, choices.centres);
            if (each->count != choices.centres.count) throw std::invalid_argument("rows");
        }
        return line(released([&] { return choices.spread(rows, variances, interrupted); }));
    }

    double penalty() const {
        return released([&] { return choices.penalty(interrupted); });
    }
};

struct BoundRidges {
    Ridges ridges;
    int64_t columns;

    BoundRidges(BoundHalf& own, int rank) : ridges(own.half, rank), columns(own.half.columns) {}

    void estimate(const Rows& other, Line<double> least) {
        check_alike(ridges.each, other);
        if (other.count != columns || least.size() != std::size_t(other.rank)) throw std::invalid_argument("variances");
        released([&] { return ridges.estimate(other, least.data(), interrupted); });
    }
};

auto bound_pair_products(Matrix users, Matrix items, Line<int32_t> user, Line<int32_t> item) {
    if (users.shape(1) != items.shape(1) || user.size() != item.size()) throw std::invalid_argument("shapes");
    check_ids(user, users.shape(0));
    check_ids(item, items.shape(0));
    Fresh<double> out(user.size());
    released([&] {
        return pair_products({users.data(), items.data(), user.data(), item.data(), int64_t(user.size()),
                              int(users.shape(1)), out.data},
                             interrupted);
    });
    return nb::ndarray<nb::numpy, double, nb::ndim<1>>(out.data, {user.size()}, out.owner);
}

}  // namespace
}  // namespace tastemix

NB_MODULE(_native, m) {
    using namespace tastemix;
    nb::set_leak_warnings(false);    // models may be alive when the interpreter ends
    m.doc() = "The row problem, greedy coordinate descent and the thread pool.";
    nb::class_<Turn>(m, "Turn")
        .def(nb::init<>())
        .def("__enter__", &Turn::take)
        .def("__exit__", [](Turn& turn, nb::args) { turn.give_back(); });
    nb::class_<BoundHalf>(m, "Half").def(nb::init<Line<int64_t>, Line<int32_t>, Line<float>, int64_t>());
    nb::class_<Rows>(m, "Rows")
        .def("__init__", make_rows)
        .def("set", fill)
        .def("get", matrix)
        .def("sums", bound_sums, "half"_a.none(), "centres"_a.none(), "gram"_a);
    nb::class_<Workspace>(m, "Workspace").def(nb::init<>());
    nb::class_<BoundMover>(m, "Mover")
        .def(nb::init<BoundHalf&, Rows&, float, Workspace&>(), nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>(),
             nb::keep_alive<1, 5>())
        .def("hold", &BoundMover::hold)
        .def("survey", &BoundMover::survey, "fixed"_a, "l2"_a, "l2_per_rating"_a, "prior"_a, "weight"_a, "dynamic"_a,
             "gram"_a, "linear"_a, "centres"_a.none(), "ridges"_a.none(), "variances"_a.none(), "variance"_a)
        .def("descend", &BoundMover::descend)
        .def("row_grams", &BoundMover::row_grams);
    nb::class_<BoundChoices>(m, "Choices")
        .def(nb::init<BoundHalf&, BoundHalf&, int>(), nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>())
        .def("set", [](BoundChoices& c, float l2, float per, float ridge, float shrinkage, bool alike) {
            c.choices.set(l2, per, ridge, shrinkage, alike);
        })
        .def("spread", &BoundChoices::spread)
        .def("follow", &BoundChoices::follow)
        .def("put", &BoundChoices::put)
        .def("penalty", &BoundChoices::penalty)
        .def_prop_ro("mean", [](const BoundChoices& c) { return line(c.choices.mean); }, nb::rv_policy::automatic)
        .def_prop_ro("z", [](const BoundChoices& c) { return matrix(c.choices.z); }, nb::rv_policy::automatic)
        .def_prop_ro("centres", [](BoundChoices& c) -> Rows& { return c.choices.centres; });
    nb::class_<BoundRidges>(m, "Ridges")
        .def(nb::init<BoundHalf&, int>(), nb::keep_alive<1, 2>())
        .def("estimate", &BoundRidges::estimate)
        .def_prop_ro("each", [](BoundRidges& r) -> Rows& { return r.ridges.each; })
        .def_prop_ro("variances", [](BoundRidges& r) -> Rows& { return r.ridges.variances; });
    m.def("row_errors", bound_row_errors);
    m.def("fold", bound_fold, "fixed"_a, "pointers"_a, "indices"_a, "values"_a, "start"_a, "held"_a, "shift"_a, "l2"_a,
          "l2_per_rating"_a, "prior"_a, "weight"_a, "dynamic"_a, "gram"_a, "linear"_a, "centres"_a.none(), "ridges"_a.none(),
          "max_updates"_a, "times"_a);
    m.def("pair_products", bound_pair_products);
    bind_catalogue(m);
    bind_neighbours(m);
    m.def("threads", threads);
    m.def("set_threads", set_threads);
    m.def("available_isas", available_isas);
    m.def("current_isa", current_isa);
    m.def("use_isa", use_isa);
}
