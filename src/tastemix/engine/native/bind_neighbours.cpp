// Neighbours for Python; as in bindings.cpp, what is checked is what would read outside an array.
#include "bind_neighbours.hpp"

#include <nanobind/stl/optional.h>

#include <optional>

#include "python.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace tastemix {
namespace {

using Scores = nb::ndarray<float, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

nb::tuple bound_neighbours(const BoundHalf& by_user, const BoundHalf& by_item, float l2, float l2_per_rating, float l1,
                           int candidates, int64_t max_updates, float tolerance, int64_t gram_floats) {
    if (by_user.half.rows != by_item.half.columns || by_user.half.columns != by_item.half.rows || candidates < 1)
        throw std::invalid_argument("halves of different ratings");
    const NeighbourTerms terms{l2, l2_per_rating, l1, candidates, max_updates, tolerance, gram_floats};
    Links links;
    released([&] { return neighbours(by_user.half, by_item.half, terms, links, interrupted); });
    return nb::make_tuple(line(links.pointers), line(links.indices), line(links.weights));
}

void make_linked(Linked* at, Line<int64_t> pointers, Line<int32_t> indices, Line<float> weights) {
    if (pointers.size() < 1 || pointers.data()[0] != 0 || indices.size() != weights.size() ||
        pointers.data()[pointers.size() - 1] != int64_t(indices.size()))
        throw std::invalid_argument("links");
    check_rows(pointers, indices, pointers.size() - 1);
    new (at) Linked({{pointers.data(), pointers.data() + pointers.size()},
                     {indices.data(), indices.data() + indices.size()},
                     {weights.data(), weights.data() + weights.size()}});
}

void add(const Linked& linked, Line<int64_t> pointers, Line<int32_t> items, Line<float> values, float scale,
         Scores scores) {
    const Rated of = rated_by(linked, pointers, items, values);
    if (int64_t(scores.shape(0)) != of.users || int64_t(scores.shape(1)) != linked.items())
        throw std::invalid_argument("scores");
    released([&] { return linked.add(of, scale, scores.data(), interrupted); });
}

auto pairs(const Linked& linked, Line<int64_t> pointers, Line<int32_t> items, Line<float> values, Line<int32_t> user,
           Line<int32_t> item) {
    const Rated of = rated_by(linked, pointers, items, values);
    if (user.size() != item.size()) throw std::invalid_argument("pairs");
    check_ids(user, std::size_t(of.users));
    check_ids(item, std::size_t(linked.items()));
    Fresh<double> out(user.size());
    linked.pairs(of, user.data(), item.data(), int64_t(user.size()), out.data);
    return nb::ndarray<nb::numpy, double, nb::ndim<1>>(out.data, {user.size()}, out.owner);
}

auto best_items(Matrix scores, Line<int64_t> pointers, Line<int32_t> seen, std::optional<Line<uint8_t>> allowed, int n) {
    const std::size_t users = scores.shape(0), items = scores.shape(1);
    if (pointers.size() != users + 1 || n < 1 || (allowed && allowed->size() != items))
        throw std::invalid_argument("shapes");
    check_rows(pointers, seen, items);
    Fresh<int32_t> out(users * std::size_t(n));
    const Listed listed{scores.data(), int64_t(users), int64_t(items), pointers.data(), seen.data(),
                        allowed ? allowed->data() : nullptr};
    released([&] { return best_of(listed, n, out.data, interrupted); });
    return nb::ndarray<nb::numpy, int32_t, nb::ndim<2>>(out.data, {users, std::size_t(n)}, out.owner);
}

}  // namespace

void bind_neighbours(nb::module_& m) {
    m.def("neighbours", bound_neighbours, "by_user"_a, "by_item"_a, "l2"_a, "l2_per_rating"_a, "l1"_a, "candidates"_a,
          "max_updates"_a, "tolerance"_a, "gram_floats"_a);
    nb::class_<Linked>(m, "Linked").def("__init__", make_linked).def("add", add).def("pairs", pairs);
    m.def("best_items", best_items, "scores"_a, "pointers"_a, "seen"_a, "allowed"_a.none(), "n"_a);
}

}  // namespace tastemix
