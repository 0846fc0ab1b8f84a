// What the rows of a side are pulled towards: the mean row and what their choices suggest.
//
//   μ_u = μ + s_u Σ_{j∈Ω_u} z_j,   s_u = (|Ω_u| + c)^(−½)
//
// μ and Z lower ½ Σ ρ_u ‖x_u − μ_u‖² + ½ ρ ρ̄ ‖Z‖², ρ_u = λ₂ + λ₂′|Ω_u| and ρ̄ their mean: the normal
// equations (BᵀDB + ρI) Z = BᵀD (X − μ), B_uj = s_u for j in Ω_u, D = diag(ρ_u / ρ̄), by conjugate gradients.
//
// Where ridges are estimated D is the identity over the rows with ratings, and a row's ridge is
// λ + Σ_{j∈Ω_u} v_j, v the variances of the other side's rows.
//
// Each class holds a block of rows, of the side or of the other one, and does what is done row by row. Sums
// over rows come back as those of groups of rows; who calls adds them up and passes rows of one side to the other.
#pragma once
#include "rows.hpp"

namespace tastemix {

class Centres {             // of rows u
   public:
    Centres(const Half& own, int rank, int64_t group);

    // s_u and d_u = ρ_u / ρ̄.
    void weigh(const float* scale, const float* share);
    bool place(const double* mean, const Rows& z, Poll);    // from z of all j
    // Σ d_u (x_u − μ_u).
    bool left(const Rows& rows, std::vector<double>& groups, Poll) const;
    // After μ moved by so much: `suggested` becomes x_u − μ_u.
    bool leave(const Rows& rows, const float* shift, Poll);
    // `suggested` becomes s_u Σ_{j∈Ω_u} p_j, p the direction of all j.
    bool suggest(const Rows& direction, Poll);
    bool bend(std::vector<double>& groups, Poll) const;     // Σ d_u suggested_u²
    bool step(const float* length, Poll);                   // along `suggested`
    // Squares of x_u − μ_u, and the variances, summed over rows with ratings. A row whose variances are not
    // known yet counts with the squares of its entries.
    bool spread(const Rows& rows, const Rows& variances, std::vector<double>& groups, Poll) const;

    Rows centres, suggested;

   private:
    const Half& own_;
    const int64_t group_;
    std::vector<float> scale_, share_;
};

class Suggestions {         // z_j of entities j of the other side, and conjugate gradients on them
   public:
    Suggestions(const Half& other, int rank, int64_t group);

    // The diagonal of BᵀDB + ρI, weight = s_u d_u and scale = s_u of all u; what each z_j can explain of any
    // rows, d_j / (d_j + ρ), summed over groups.
    std::vector<double> weigh(const float* weight, const float* scale, float ridge);
    // r = BᵀD (X − μ − BZ) − ρZ and the first direction, r over the diagonal: Σ r p.
    bool begin(const Rows& away, const float* weight, std::vector<double>& groups, Poll);
    // q = (BᵀDB + ρI) p: Σ p q.
    bool image(const Rows& suggested, const float* weight, std::vector<double>& groups, Poll);
    // z and r move along p and q: Σ r² over the diagonal.
    bool step(const float* length, std::vector<double>& groups, Poll);
    bool turn(const float* keep, Poll);                     // the next direction
    bool bend(std::vector<double>& groups, Poll) const;     // Σ ρ p²
    bool finish(const float* length, Poll);                 // z moves along p, and r is needed no more
    bool squares(std::vector<double>& groups, Poll) const;  // Σ z²

    Rows z, direction;

   private:
    const Half& other_;
    const int64_t group_;
    float ridge_ = 0;
    std::vector<float> inverse_;    // of the diagonal
    Rows residual_, image_;
};

class Ridges {              // of the rows of a side, and the variances of these rows
   public:
    Ridges(const Half& own, int rank);

    // λ + Σ_{j∈Ω} v_j for every row; false if it was given up.
    bool estimate(const Rows& other_variances, const double* least, Poll);

    Rows each;
    Rows variances;

   private:
    const Half& own_;
};

}  // namespace tastemix
