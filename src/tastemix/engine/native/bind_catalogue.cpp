// The catalogue and explanations for Python; as in bindings.cpp, what is checked is what would read outside an array.
#include "bind_catalogue.hpp"

#include <nanobind/stl/optional.h>

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "catalogue.hpp"
#include "parts.hpp"
#include "python.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace tastemix {
namespace {

// Only what was asked for is looked at: a call for one user costs nothing per user there is.
Asked asked(const Catalogue& catalogue, const Matrix& users, const Line<int32_t>& user, const Line<int64_t>& pointers,
            const Line<int32_t>& seen, const std::optional<Line<uint8_t>>& allowed, int n) {
    if (int(users.shape(1)) != catalogue.rank() || pointers.size() != user.size() + 1 || n < 1 ||
        (allowed && int64_t(allowed->size()) != catalogue.items()))
        throw std::invalid_argument("shapes");
    check_ids(user, users.shape(0));
    check_rows(pointers, seen, std::size_t(catalogue.items()));
    return {users.data(), user.data(), int64_t(user.size()), pointers.data(), seen.data(),
            allowed ? allowed->data() : nullptr};
}

template <class T> auto lists(const Fresh<T>& filled, const Asked& of, int n) {
    return nb::ndarray<nb::numpy, T, nb::ndim<2>>(filled.data, {std::size_t(of.count), std::size_t(n)}, filled.owner);
}

auto top(Catalogue& catalogue, Matrix users, Line<int32_t> user, Line<int64_t> pointers, Line<int32_t> seen,
         std::optional<Line<uint8_t>> allowed, int n) {
    const Asked of = asked(catalogue, users, user, pointers, seen, allowed, n);
    Fresh<int32_t> best(user.size() * std::size_t(n));
    released([&] { return catalogue.top(of, n, best.data, interrupted); });
    return lists(best, of, n);
}

auto top_weighed(Catalogue& catalogue, Matrix users, Line<int32_t> user, Line<int64_t> pointers, Line<int32_t> seen,
                 std::optional<Line<uint8_t>> allowed, int n, double tastes, double links, double popular,
                 Line<float> popularity, const Linked* linked, Line<int64_t> rated_pointers, Line<int32_t> rated,
                 Line<float> stars) {
    const Asked of = asked(catalogue, users, user, pointers, seen, allowed, n);
    Weighed by{tastes, popular, links, popularity.data(), linked, {}};
    if (linked) by.rated = rated_by(*linked, rated_pointers, rated, stars);
    if (int64_t(popularity.size()) != catalogue.items() ||
        (linked && (linked->items() != catalogue.items() || by.rated.users != of.count)))
        throw std::invalid_argument("shapes");
    Fresh<int32_t> best(user.size() * std::size_t(n));
    Fresh<double> scores(user.size() * std::size_t(n));
    released([&] { return catalogue.top(of, by, n, best.data, scores.data, interrupted); });
    return nb::make_tuple(lists(best, of, n), lists(scores, of, n));
}

template <class T> auto array(const std::vector<T>& values) {
    auto* data = new T[std::max<std::size_t>(values.size(), 1)];
    std::copy(values.begin(), values.end(), data);
    nb::capsule owner(data, [](void* p) noexcept { delete[] static_cast<T*>(p); });
    return nb::ndarray<nb::numpy, T, nb::ndim<1>>(data, {values.size()}, owner);
}

nb::tuple bound_parts(Line<float> user, Matrix items, int64_t item, Line<int32_t> rated, int members,
                      Line<int32_t> taste, Line<double> user_unit, Line<double> item_unit, int tastes, double shift,
                      bool baseline, int examples) {
    const std::size_t rank = user.size();
    if (items.shape(1) != rank || members < 1 || examples < 0 || tastes < 0 || taste.size() != rank ||
        user_unit.size() != rank || item_unit.size() != rank)
        throw std::invalid_argument("shapes");
    if (item < 0 || item >= int64_t(items.shape(0))) throw std::out_of_range("row number");
    check_ids(rated, items.shape(0));
    for (std::size_t r = 0; r < rank; r++)
        if (taste.data()[r] < -1 || taste.data()[r] >= tastes) throw std::out_of_range("taste");
    const Parts p = parts({user.data(), items.data(), item, rated.data(), int64_t(rated.size()), members, int(rank),
                           taste.data(), user_unit.data(), item_unit.data(), tastes, shift, baseline, examples});
    return nb::make_tuple(array(p.order), array(p.user), array(p.item), array(p.value), array(p.examples),
                          array(p.ends));
}

}  // namespace

void bind_catalogue(nb::module_& m) {
    // A model keeps its catalogue for as long as it lives, which may be until the interpreter ends.
    nb::set_leak_warnings(false);
    nb::class_<Catalogue>(m, "Catalogue")
        .def("__init__",
             [](Catalogue* self, Matrix rows) {
                 if (rows.shape(1) < 1) throw std::invalid_argument("rank");
                 const auto items = int64_t(rows.shape(0));
                 const int rank = int(rows.shape(1));
                 Packed packed{};
                 released([&] { return pack(rows.data(), items, rank, packed, interrupted); });
                 new (self) Catalogue(std::move(packed), items, rank);
             })
        .def("top", top, "users"_a, "user"_a, "pointers"_a, "seen"_a, "allowed"_a.none(), "n"_a)
        .def("top_weighed", top_weighed, "users"_a, "user"_a, "pointers"_a, "seen"_a, "allowed"_a.none(), "n"_a,
             "tastes"_a, "links"_a, "popular"_a, "popularity"_a, "linked"_a.none(), "rated_pointers"_a, "rated"_a,
             "stars"_a);
    m.def("parts", bound_parts);
}

}  // namespace tastemix
