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

void check_numbers(const int32_t* begin, const int32_t* end, std::size_t count) {
    if (std::any_of(begin, end, [=](int32_t i) { return i < 0 || std::size_t(i) >= count; }))
        throw std::out_of_range("row number");
}

// Only what was asked for is looked at: a call for one user costs nothing per user there is.
auto top(Catalogue& catalogue, Matrix users, Line<int32_t> user, Line<int64_t> pointers, Line<int32_t> seen,
         std::optional<Line<uint8_t>> allowed, int n) {
    const std::size_t count = user.size(), items = std::size_t(catalogue.items());
    if (int(users.shape(1)) != catalogue.rank() || pointers.size() != count + 1 || n < 1 ||
        (allowed && allowed->size() != items))
        throw std::invalid_argument("shapes");
    const int64_t* at = pointers.data();
    if (at[0] < 0 || at[count] > int64_t(seen.size()) || !std::is_sorted(at, at + count + 1))
        throw std::invalid_argument("pointers");
    check_numbers(user.data(), user.data() + count, users.shape(0));
    check_numbers(seen.data() + at[0], seen.data() + at[count], items);
    auto* best = new int32_t[std::max<std::size_t>(count * std::size_t(n), 1)];
    nb::capsule owner(best, [](void* p) noexcept { delete[] static_cast<int32_t*>(p); });
    released([&] {
        return catalogue.top({users.data(), user.data(), int64_t(count), at, seen.data(),
                              allowed ? allowed->data() : nullptr},
                             n, best, interrupted);
    });
    return nb::ndarray<nb::numpy, int32_t, nb::ndim<2>>(best, {count, std::size_t(n)}, owner);
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
    check_numbers(rated.data(), rated.data() + rated.size(), items.shape(0));
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
        .def("top", top, "users"_a, "user"_a, "pointers"_a, "seen"_a, "allowed"_a.none(), "n"_a);
    m.def("parts", bound_parts);
}

}  // namespace tastemix
