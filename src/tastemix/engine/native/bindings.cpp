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

template <class F> void copying(F&& copy) {      // while other threads run Python
    const Released gil;
    copy();
}

nb::ndarray<nb::numpy, float, nb::ndim<2>> matrix(const Rows& rows) {
    const auto count = std::size_t(rows.count), rank = std::size_t(rows.rank);
    Fresh<float> out(count * rank);
    copying([&] { rows.get(out.data); });
    return {out.data, {count, rank}, out.owner};
}

void get_into(const Rows& rows, nb::ndarray<float, nb::ndim<2>, nb::c_contig, nb::device::cpu> values) {
    if (int64_t(values.shape(0)) != rows.count || int(values.shape(1)) != rows.rank)
        throw std::invalid_argument("factor of another shape");
    copying([&] { rows.get(values.data()); });
}

nb::ndarray<nb::numpy, float, nb::ndim<2>> taken(const Rows& rows, Line<int32_t> numbers) {
    check_ids(numbers, std::size_t(rows.count));
    const auto rank = std::size_t(rows.rank);
    Fresh<float> out(numbers.size() * rank);
    copying([&] { rows.take(numbers.data(), int64_t(numbers.size()), out.data); });
    return {out.data, {numbers.size(), rank}, out.owner};
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

void make_empty(Rows* at, int64_t count, int rank) {
    if (count < 0 || rank < 1) throw std::invalid_argument("shape");
    new (at) Rows(count, rank);
}

void check_place(const Rows& rows, int64_t first, int64_t count, int rank) {
    if (first < 0 || count > rows.count - first || rank != rows.rank)
        throw std::invalid_argument("rows of another shape");
}

// Rows `first` on.
void put(Rows& rows, int64_t first, const Matrix& values) {
    const auto count = int64_t(values.shape(0));
    check_place(rows, first, count, int(values.shape(1)));
    copying([&] { rows.put(first, first + count, values.data()); });
}

int64_t checked_group(int64_t group) {
    if (group < chunk_rows || group % chunk_rows) throw std::invalid_argument("group");
    return group;
}

void check_alike(const Rows& one, const Rows& other) {
    if (one.rank != other.rank || one.kernels.width != other.kernels.width)
        throw std::invalid_argument("factors of different ranks or instruction sets");
}

// Rows `first` on, from another factor: all of it, or its rows of these numbers.
void put_rows(Rows& rows, int64_t first, const Rows& other, const std::optional<Line<int32_t>>& numbers) {
    check_alike(rows, other);
    if (numbers) check_ids(*numbers, std::size_t(other.count));
    const int64_t count = numbers ? int64_t(numbers->size()) : other.count;
    check_place(rows, first, count, other.rank);
    copying([&] {
        if (numbers) rows.put(first, other, numbers->data(), count);
        else rows.put(first, other);
    });
}

nb::ndarray<nb::numpy, double, nb::ndim<2>> table(const std::vector<double>& values, int64_t columns) {
    Fresh<double> out(values.size());
    std::copy(values.begin(), values.end(), out.data);
    return {out.data, {values.size() / std::size_t(columns), std::size_t(columns)}, out.owner};
}

// A row Σ x, Σ ‖x − μ‖², Σ |Ω| ‖x − μ‖² and perhaps Σ x xᵀ for every group of rows.
auto bound_sums(const Rows& rows, const BoundHalf* half, const Rows* centres, bool gram, int64_t group) {
    if (half && half->half.rows != rows.count) throw std::invalid_argument("rows");
    if (centres && (centres->count != rows.count || centres->rank != rows.rank)) throw std::invalid_argument("centres");
    checked_group(group);
    const std::vector<Sums> groups =
        released([&] { return sums_of(rows, half ? &half->half : nullptr, centres, gram, group, interrupted); });
    std::vector<double> out;
    for (const Sums& sum : groups) {
        out.insert(out.end(), sum.columns.begin(), sum.columns.end());
        out.insert(out.end(), {sum.squares, sum.counted});
        out.insert(out.end(), sum.gram.begin(), sum.gram.end());
    }
    return table(out, rows.rank + 2 + (gram ? rows.rank * rows.rank : 0));
}

void bound_mark(nb::ndarray<int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu> places, Line<int32_t> columns,
                Line<bool> gone, nb::ndarray<uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu> bits) {
    check_ids(columns, places.size());
    if (gone.size() != columns.size()) throw std::invalid_argument("entries");
    bool within = true;
    copying([&] {
        within = mark(places.data(), columns.data(), gone.data(), int64_t(gone.size()), bits.data(),
                      int64_t(bits.size()));
    });
    if (!within) throw std::out_of_range("places");
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
        Surveyed out;
        surveyed = released([&] { return mover.survey(fixed, terms, {centres, ridges, variances, variance}, out, interrupted); });
        return nb::make_tuple(line(out.objective), out.gain);
    }

    nb::tuple descend(float threshold, int64_t max_updates) {
        if (!surveyed) throw std::logic_error("descend before survey");
        surveyed = false;
        Descended out;
        released([&] { return mover.descend(threshold, max_updates, out, interrupted); });
        return nb::make_tuple(line(out.decrease), out.updates, out.largest);
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

// Sums of groups of rows, f(groups).
template <class F> auto grouped(int rank, F&& f) {
    std::vector<double> groups;
    released([&] { return f(groups); });
    return table(groups, rank);
}

void check_rows(const Rows& rows, const Rows& like, int64_t count) {
    check_alike(rows, like);
    if (rows.count != count) throw std::invalid_argument("rows");
}

template <class T> void check_line(const Line<T>& line, int64_t size) {
    if (int64_t(line.size()) != size) throw std::invalid_argument("numbers of another length");
}

struct BoundCentres {
    const Half& own;
    Centres rows;
    bool weighed = false;

    BoundCentres(BoundHalf& own_, int rank, int64_t group) : own(own_.half), rows(own, rank, checked_group(group)) {}

    void weigh(Line<float> scale, Line<float> share) {
        check_line(scale, own.rows);
        check_line(share, own.rows);
        rows.weigh(scale.data(), share.data());
        weighed = true;
    }

    void ready() const {
        if (!weighed) throw std::logic_error("centres without weights");
    }

    void place(Line<double> mean, const Rows& z) {
        ready();
        check_line(mean, rows.centres.rank);
        check_rows(z, rows.centres, own.columns);
        released([&] { return rows.place(mean.data(), z, interrupted); });
    }

    auto left(const Rows& moved) const {
        ready();
        check_rows(moved, rows.centres, own.rows);
        return grouped(moved.rank, [&](auto& groups) { return rows.left(moved, groups, interrupted); });
    }

    void leave(const Rows& moved, Line<float> shift) {
        check_line(shift, rows.centres.rank);
        check_rows(moved, rows.centres, own.rows);
        released([&] { return rows.leave(moved, shift.data(), interrupted); });
    }

    void suggest(const Rows& direction) {
        ready();
        check_rows(direction, rows.centres, own.columns);
        released([&] { return rows.suggest(direction, interrupted); });
    }

    auto bend() const {
        ready();
        return grouped(rows.suggested.rank, [&](auto& groups) { return rows.bend(groups, interrupted); });
    }

    void step(Line<float> length) {
        check_line(length, rows.centres.rank);
        released([&] { return rows.step(length.data(), interrupted); });
    }

    auto spread(const Rows& moved, const Rows& variances) const {
        check_rows(moved, rows.centres, own.rows);
        check_rows(variances, rows.centres, own.rows);
        return grouped(moved.rank, [&](auto& groups) { return rows.spread(moved, variances, groups, interrupted); });
    }
};

struct BoundSuggestions {
    const Half& other;
    Suggestions rows;

    BoundSuggestions(BoundHalf& other_, int rank, int64_t group)
        : other(other_.half), rows(other, rank, checked_group(group)) {}

    auto weigh(Line<float> weight, Line<float> scale, float ridge) {
        check_line(weight, other.columns);
        check_line(scale, other.columns);
        return line(rows.weigh(weight.data(), scale.data(), ridge));
    }

    auto begin(const Rows& away, Line<float> weight) {
        check_rows(away, rows.z, other.columns);
        check_line(weight, other.columns);
        return grouped(rows.z.rank, [&](auto& sums) { return rows.begin(away, weight.data(), sums, interrupted); });
    }

    auto image(const Rows& suggested, Line<float> weight) {
        check_rows(suggested, rows.z, other.columns);
        check_line(weight, other.columns);
        return grouped(rows.z.rank, [&](auto& sums) { return rows.image(suggested, weight.data(), sums, interrupted); });
    }

    auto step(Line<float> length) {
        check_line(length, rows.z.rank);
        return grouped(rows.z.rank, [&](auto& sums) { return rows.step(length.data(), sums, interrupted); });
    }

    void turn(Line<float> keep) {
        check_line(keep, rows.z.rank);
        released([&] { return rows.turn(keep.data(), interrupted); });
    }

    auto bend() const {
        return grouped(rows.z.rank, [&](auto& sums) { return rows.bend(sums, interrupted); });
    }

    void finish(Line<float> length) {
        check_line(length, rows.z.rank);
        released([&] { return rows.finish(length.data(), interrupted); });
    }

    auto squares() const {
        return grouped(rows.z.rank, [&](auto& sums) { return rows.squares(sums, interrupted); });
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
    nb::class_<BoundHalf>(m, "Half")
        .def(nb::init<Line<int64_t>, Line<int32_t>, Line<float>, int64_t, std::optional<Line<uint8_t>>, bool>(),
             "pointers"_a, "indices"_a, "values"_a, "columns"_a, "codes"_a.none() = nb::none(), "mapped"_a = false);
    nb::class_<Rows>(m, "Rows")
        .def("__init__", make_rows)
        .def("__init__", make_empty)
        .def("set", fill)
        .def("put", put)
        .def("put", put_rows, "first"_a, "other"_a, "numbers"_a.none() = nb::none())
        .def("get", matrix)
        .def("get", get_into)
        .def("take", taken)
        .def_ro("rank", &Rows::rank)
        .def("sums", bound_sums, "half"_a.none(), "centres"_a.none(), "gram"_a, "group"_a = span_rows);
    nb::class_<Workspace>(m, "Workspace").def(nb::init<>()).def("release", &Workspace::release);
    nb::class_<BoundMover>(m, "Mover")
        .def(nb::init<BoundHalf&, Rows&, float, Workspace&>(), nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>(),
             nb::keep_alive<1, 5>())
        .def("hold", &BoundMover::hold)
        .def("survey", &BoundMover::survey, "fixed"_a, "l2"_a, "l2_per_rating"_a, "prior"_a, "weight"_a, "dynamic"_a,
             "gram"_a, "linear"_a, "centres"_a.none(), "ridges"_a.none(), "variances"_a.none(), "variance"_a)
        .def("descend", &BoundMover::descend)
        .def("row_grams", &BoundMover::row_grams);
    nb::class_<BoundCentres>(m, "Centres")
        .def(nb::init<BoundHalf&, int, int64_t>(), nb::keep_alive<1, 2>())
        .def("weigh", &BoundCentres::weigh)
        .def("place", &BoundCentres::place)
        .def("left", &BoundCentres::left)
        .def("leave", &BoundCentres::leave)
        .def("suggest", &BoundCentres::suggest)
        .def("bend", &BoundCentres::bend)
        .def("step", &BoundCentres::step)
        .def("spread", &BoundCentres::spread)
        .def_prop_ro("centres", [](BoundCentres& c) -> Rows& { return c.rows.centres; })
        .def_prop_ro("suggested", [](BoundCentres& c) -> Rows& { return c.rows.suggested; });
    nb::class_<BoundSuggestions>(m, "Suggestions")
        .def(nb::init<BoundHalf&, int, int64_t>(), nb::keep_alive<1, 2>())
        .def("weigh", &BoundSuggestions::weigh)
        .def("begin", &BoundSuggestions::begin)
        .def("image", &BoundSuggestions::image)
        .def("step", &BoundSuggestions::step)
        .def("turn", &BoundSuggestions::turn)
        .def("bend", &BoundSuggestions::bend)
        .def("finish", &BoundSuggestions::finish)
        .def("squares", &BoundSuggestions::squares)
        .def_prop_ro("z", [](BoundSuggestions& s) -> Rows& { return s.rows.z; })
        .def_prop_ro("direction", [](BoundSuggestions& s) -> Rows& { return s.rows.direction; });
    nb::class_<BoundRidges>(m, "Ridges")
        .def(nb::init<BoundHalf&, int>(), nb::keep_alive<1, 2>())
        .def("estimate", &BoundRidges::estimate)
        .def_prop_ro("each", [](BoundRidges& r) -> Rows& { return r.ridges.each; })
        .def_prop_ro("variances", [](BoundRidges& r) -> Rows& { return r.ridges.variances; });
    m.def("mark", bound_mark, "places"_a, "columns"_a, "gone"_a, "bits"_a);
    m.def("row_errors", bound_row_errors);
    m.def("fold", bound_fold, "fixed"_a, "pointers"_a, "indices"_a, "values"_a, "start"_a, "held"_a, "shift"_a, "l2"_a,
          "l2_per_rating"_a, "prior"_a, "weight"_a, "dynamic"_a, "gram"_a, "linear"_a, "centres"_a.none(), "ridges"_a.none(),
          "max_updates"_a, "times"_a);
    m.def("pair_products", bound_pair_products);
    bind_catalogue(m);
    bind_neighbours(m);
    m.attr("CHUNK_ROWS") = chunk_rows;
    m.attr("SPAN_ROWS") = span_rows;
    m.def("threads", threads);
    m.def("set_threads", set_threads);
    m.def("available_isas", available_isas);
    m.def("current_isa", current_isa);
    m.def("use_isa", use_isa);
}
