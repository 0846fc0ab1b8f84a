// Two factors, the two sparse halves they are fitted to, and the half-step that moves one of them.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "kernels.hpp"
#include "pool.hpp"

namespace tastemix {

// The kernels for a rank on the instruction set in use; see isa.cpp.
Kernels kernels_for(int rank);

struct FreeAligned {
    void operator()(float* p) const;
};
using Floats = std::unique_ptr<float[], FreeAligned>;
Floats zeros(int64_t count);

struct Half {               // one compressed sparse half, borrowed
    const int64_t* pointers;
    const int32_t* indices;
    const float* values;
    int64_t rows;
};

struct Numbers {            // an Objective
    float l1, l2, l2_per_rating, prior, weight;
    bool dynamic;
    bool centred;           // λ₂ pulls towards the average row, not towards zero
};

struct Report {
    double objective;       // after the half-step
    int64_t updates;
    float largest;          // entry of the factor that moved
    bool cancelled;
};

class Session {
   public:
    Session(Half by_user, Half by_item, int rank, float shift);

    void set_factor(int side, const float* rows);       // rank floats a row
    void get_factor(int side, float* rows) const;
    void set_movable(int side, int coordinate, bool movable);

    Report half_step(int side, const Numbers&, float tolerance, int64_t max_updates, Poll poll);

    // Σ y_j y_jᵀ of every row of a side, thrown away: what the Gram kernel alone costs.
    void row_grams(int side, Poll poll);

    int64_t rows(int side) const { return half_[side].rows; }
    int rank() const { return rank_; }
    int width() const { return kernels_.width; }

   private:
    struct Tally {
        Survey survey;
        Descent descent;
    };
    struct Work;            // what one parallel pass is given

    void make_room(int workers);
    bool column_products(int side, Poll poll);
    std::vector<double> average(int side) const;
    double penalty(int side, const Numbers&) const;

    Half half_[2];
    const int rank_;
    const float shift_;
    const Kernels kernels_;
    std::vector<int64_t> chunks_[2];    // row boundaries, about as many ratings each
    std::vector<Tally> tallies_;
    Floats factor_[2], movable_[2];
    Floats gradient_, gain_, noise_, gram_, column_sums_, linear_, partial_, scratch_;
    int workers_ = 0;
};

}  // namespace tastemix
