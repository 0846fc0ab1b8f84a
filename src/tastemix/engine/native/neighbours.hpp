// Which rated items speak for an item, and how strongly: for every item i the w that minimises
//
//   ½ wᵀ(G + D) w − G_iᵀw + λ₁ Σ w      over w ≥ 0, w_i = 0,     G = AᵀA,  D_jj = λ₂ + λ₂′ G_jj
//
// It is looked for among the `candidates` items with the largest first gain.
#pragma once
#include "rows.hpp"

namespace tastemix {

struct NeighbourTerms {
    float l2, l2_per_rating, l1;
    int candidates;
    int64_t max_updates;    // of an item
    float tolerance;        // an item is done when no gain reaches this share of G_ii
    int64_t gram_floats;    // G is dense where it fits in so many; else only its largest entries are kept
};

struct Links {              // row i: the items with w > 0 and their w
    std::vector<int64_t> pointers;
    std::vector<int32_t> indices;
    std::vector<float> weights;
};

// False if it was given up.
bool neighbours(const Half& by_user, const Half& by_item, const NeighbourTerms&, Links&, Poll);

}  // namespace tastemix
