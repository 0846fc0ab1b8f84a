// What the rows of a side are pulled towards: the mean row and what their choices suggest.
//
//   μ_u = μ + s_u Σ_{j∈Ω_u} z_j,   s_u = (|Ω_u| + c)^(−½)
//
// μ and Z lower ½ Σ ρ_u ‖x_u − μ_u‖² + ½ ρ ρ̄ ‖Z‖², ρ_u = λ₂ + λ₂′|Ω_u| and ρ̄ their mean: the normal
// equations (BᵀDB + ρI) Z = BᵀD (X − μ), B_uj = s_u for j in Ω_u, D = diag(ρ_u / ρ̄).
//
// Where ridges are estimated D is the identity over the rows with ratings, and a row's ridge is
// λ + Σ_{j∈Ω_u} v_j, v the variances of the other side's rows.
#pragma once
#include "rows.hpp"

namespace tastemix {

class Choices {
   public:
    Choices(const Half& own, const Half& other, int rank);

    // The numbers that the pull depends on. Cheap where they are as they were.
    void set(float l2, float l2_per_rating, float ridge, float shrinkage, bool alike);
    // μ, then conjugate gradients on Z from where it is; false if it was given up.
    bool follow(const Rows& rows, int iterations, Poll);

    // The centres after μ or Z were changed from outside.
    bool place(Poll);

    double penalty(Poll) const;     // ½ ρ ρ̄ ‖Z‖²

    // The variance of each coordinate of rows with ratings around their centres; what Z itself can
    // explain of any rows is not counted among them. A row whose variances are not known yet counts
    // with half of each entry as its standard deviation.
    std::vector<double> spread(const Rows& rows, const Rows& variances, Poll) const;

    std::vector<double> mean;       // μ
    Rows z;                         // a row per entity of the other side
    Rows centres;                   // μ_u

   private:
    const Half &own_, &other_;
    float l2_ = -1, l2_per_rating_ = -1, ridge_ = -1, shrinkage_ = -1;
    bool alike_ = false;            // D is the identity
    double mean_ridge_ = 0, total_weight_ = 0;
    double freedom_ = 0;            // Σ_j d_j / (d_j + ρ), d the diagonal of BᵀDB
    std::vector<float> scale_;      // s_u
    std::vector<float> weight_;     // s_u d_u
    std::vector<float> share_;      // d_u
    std::vector<float> inverse_;    // of the diagonal of BᵀDB + ρI
    Rows suggested_, residual_, direction_, image_;
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
