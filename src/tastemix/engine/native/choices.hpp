// What the rows of a side are pulled towards: the mean row and what their choices suggest.
//
//   μ_u = μ + s_u Σ_{j∈Ω_u} z_j,   s_u = (|Ω_u| + c)^(−½)
//
// μ and Z lower ½ Σ ρ_u ‖x_u − μ_u‖² + ½ ρ ρ̄ ‖Z‖², ρ_u = λ₂ + λ₂′|Ω_u| and ρ̄ their mean: the normal
// equations (BᵀDB + ρI) Z = BᵀD (X − μ), B_uj = s_u for j in Ω_u, D = diag(ρ_u / ρ̄).
#pragma once
#include "rows.hpp"

namespace tastemix {

class Choices {
   public:
    Choices(const Half& own, const Half& other, int rank);

    // The numbers that the pull depends on. Cheap where they are as they were.
    void set(float l2, float l2_per_rating, float ridge, float shrinkage);
    // μ, then conjugate gradients on Z from where it is; false if it was given up.
    bool follow(const Rows& rows, int iterations, Poll);

    // The centres after μ or Z were changed from outside.
    bool place(Poll);

    double penalty(Poll) const;     // ½ ρ ρ̄ ‖Z‖²

    std::vector<double> mean;       // μ
    Rows z;                         // a row per entity of the other side
    Rows centres;                   // μ_u

   private:
    bool gather(const Half&, const Rows& in, const float* weight, const float* scale, Rows& out, Poll) const;

    const Half &own_, &other_;
    float l2_ = -1, l2_per_rating_ = -1, ridge_ = -1, shrinkage_ = -1;
    double mean_ridge_ = 0, total_weight_ = 0;
    std::vector<float> scale_;      // s_u
    std::vector<float> weight_;     // s_u d_u
    std::vector<float> share_;      // d_u
    std::vector<float> inverse_;    // of the diagonal of BᵀDB + ρI
    Rows suggested_, residual_, direction_, image_;
};

}  // namespace tastemix
