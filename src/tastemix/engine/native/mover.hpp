// A half-step on the rows of one side: a survey of all rows, then the descent of each.
#pragma once
#include "rows.hpp"

namespace tastemix {

struct Terms {              // of an Objective, that all rows share; sums over rows come from outside
    float l2, l2_per_rating;
    float prior, weight;    // of the unknown ratings
    bool dynamic;
    const float* gram;      // wG, rank × rank; may be null where weight is 0
    const float* linear;    // the gradient's part that all rows share: λ₁ − wασ − λ₂μ
};

struct Pulled {             // what each row is pulled towards, and how strongly; null: see HalfStep
    const Rows* centres = nullptr;
    const Rows* ridges = nullptr;
    Rows* variances = nullptr;      // written by `descend`
    float variance = 0;             // of a rating
};

class Workspace {           // of half-steps that are not under way at the same time
   public:
    void make_room(int64_t rows, int width, int64_t chunks, int workers, int64_t coded);
    // Give back the room for rows, which the next survey makes again.
    void release();
    Floats gradient, gain, noise, scratch;
    Floats values;          // decoded, of a chunk for each worker
    std::vector<Survey> surveys;
    std::vector<Descent> descents;

   private:
    int64_t floats_ = 0, rows_ = 0, scratch_ = 0, values_ = 0;
};

struct Surveyed {
    std::vector<double> objective;  // of every chunk of chunk_rows rows
    float gain = 0;
};

struct Descended {
    std::vector<double> decrease;   // likewise
    int64_t updates = 0;
    float largest = 0;              // entry
};

class Mover {
   public:
    Mover(const Half&, Rows& moving, float shift, Workspace&);

    void hold(int coordinate) { movable_[coordinate] = 0; }

    // Gradients and first gains: false if it was given up.
    bool survey(const Rows& fixed, const Terms&, const Pulled&, Surveyed&, Poll);
    // After a survey: rows whose best gain is above the threshold descend.
    bool descend(float threshold, int64_t max_updates, Descended&, Poll);
    // Σ y_j y_jᵀ of every row, thrown away: what the Gram kernel alone costs.
    void row_grams(const Rows& fixed, Poll);

   private:
    const Half& half_;
    Rows& moving_;
    const float shift_;
    Workspace& work_;
    const int64_t most_coded_;
    Floats movable_, gram_, linear_;
    HalfStep step_{};
};

}  // namespace tastemix
