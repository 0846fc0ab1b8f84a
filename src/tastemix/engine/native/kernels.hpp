// What the row kernels are given and give back. Plain data: the kernels are compiled once per
// instruction set and must share no inline code with the rest.
//
//   X  the moving factor, rows x          Ω  the ratings of a row: (index j, value a_j)
//   Y  the fixed factor, rows y_j         w  the weight of the unknown ratings
//   S = Σ_{j∈Ω} y_j y_jᵀ   G = YᵀY        d = λ₂ + λ₂′|Ω|     μ  what λ₂ or d pulls towards
//
// Every row minimises ½xᵀQx − cᵀx over x ≥ 0 with Q = (1−w)S + wG + dI and the c of engine/reference.py.
// Where ridges are estimated d is a vector of the row's own, and the variances σ² diag(Q⁻¹) of its
// coordinates are kept.
#pragma once
#include <cstdint>

namespace tastemix {

using Stop = bool (*)();    // asked now and then; true: leave off, what was begun will not be looked at

struct HalfStep {
    const int64_t* pointers;
    const int32_t* indices;
    const int32_t* indices_end;
    const float* values;
    float* moving;          // X, `width` floats a row, zero beyond the rank
    const float* fixed;     // Y, likewise
    const float* centres;   // what the ridge d pulls each row towards, `width` floats a row; null: zero
    const float* ridges;    // d, likewise; null: λ₂ + λ₂′|Ω| for every coordinate
    const float* gram;      // wG, width × width
    const float* linear;    // the gradient's part that all rows share: λ₁ − wασ − λ₂μ
    const float* movable;   // 1 where a coordinate moves, 0 where it is held or padding
    float* gradient;        // written by survey, read by descend: width floats a row
    float* gain;            // likewise: the best first gain of each row
    float* noise;           // likewise: the gain below which float32 tells nothing
    float* variances;       // written by descend where not null (then w is 0): width floats a row
    float variance;         // σ² of a rating
    float shift;            // subtracted from every value
    float pull;             // p in the residual e_j = p x·y_j − a_j + q: 1−w, or 1 if dynamic
    float target;           // q in it: wα, or 0 if dynamic
    float own;              // 1−w, the weight of S in Q
    float l2, l2_per_rating;
    bool shared;            // w > 0: gram is in Q
    bool gradient_gram;     // w > 0 and not dynamic: gram x is in the gradient
    int width;
    int64_t max_updates;
    Stop stop;
};

struct Gather {             // out_r = scale_r Σ_{j∈Ω_r} weight_j in_j; scale and weight may be null
    const int64_t* pointers;
    const int32_t* indices;
    const int32_t* indices_end;
    const float* in;        // `width` floats a row
    const float* weight;
    const float* scale;
    float* out;
    int width;
    Stop stop;
};

struct Survey {             // of a chunk of rows, before they move
    double objective;       // Σ ½xᵀQx − cᵀx + ½Σa²
    float gain;             // the largest first gain
};

struct Descent {            // of a chunk of rows
    double decrease;
    int64_t updates;
    float largest;          // entry of X
};

struct TopItems {           // the best items of some users
    const float* users;     // rank floats a row
    const float* panels;    // items, `lanes` at a time: coordinate by coordinate, then the next ones
    int64_t items;
    int rank;
    const int32_t* user;    // the rows asked for
    const int64_t* seen_pointers;
    const int32_t* seen;    // items left out, by position in `user`
    const uint8_t* allowed; // by item, or null
    float scale;            // of the products
    const float* added;     // to them, by item, and how often; null: nothing
    float times;
    int64_t apart;          // floats from what is added for a user to what is for the next: 0 if it is the same
    int n;
    int32_t* best;          // n a user, the best first, −1 where there are no more
    Stop stop;
};

constexpr int users_at_once = 4;

struct Nonnegative {        // ½xᵀQx − cᵀx over x ≥ 0
    float* x;
    float* gradient;        // Qx − c
    const float* diagonal;  // of Q
    const float* inverse;   // of the diagonal; 0 where a coordinate is held
    int width;              // whole vectors; held beyond the coordinates there are
    float enough;           // a gain that is not worth an update
    int64_t max_updates;
};
using Column = const float* (*)(void* context, int r);  // column r of Q

struct Kernels {
    int lanes, width;
    void (*survey)(const HalfStep&, int64_t begin, int64_t end, float* scratch, Survey*);
    void (*descend)(const HalfStep&, int64_t begin, int64_t end, float threshold, float* scratch, Descent*);
    void (*gather)(const Gather&, int64_t begin, int64_t end);
    // out (width × width, all of it) = Σ y_j y_jᵀ over `count` rows, those of `indices` or, where
    // that is null, the first ones, which takes no scratch; false if it left off.
    bool (*gram)(const float* rows, const int32_t* indices, int64_t count, int width, float* out, float* scratch,
                 Stop stop);
    // The users of positions begin to end; `added` begins with the first of them. `score` has room
    // for n floats a user, `excluded` is zeros for every item and user and is left so; users_at_once
    // users, or as many as there are.
    void (*top_items)(const TopItems&, int64_t begin, int64_t end, float* score, uint8_t* excluded);
    // Greedy coordinate descent from x; the updates it took.
    int64_t (*nonnegative)(const Nonnegative&, Column, void* context);
};

// Floats of scratch memory that the kernels need for one thread.
constexpr int64_t pack_floats(int width) { return 4096 + 16 * int64_t(width); }
constexpr int rows_in_flight = 4;
constexpr int64_t row_floats(int width) { return int64_t(width) * width + 4 * int64_t(width); }
constexpr int64_t scratch_floats(int width) {
    return (width <= 64 ? rows_in_flight : 1) * row_floats(width) + pack_floats(width);
}

// A coordinate whose Q_rr is below this cannot move: y below 1e-12 would send x beyond what
// squares to a finite float.
constexpr float smallest_curvature = 1e-24f;

// A gain below this share of a row's terms is rounding: a gradient that is off by 2⁻²⁴ of them
// claims a gain of about 2⁻⁴⁸ of them, and chasing it only adds more.
constexpr float rounding_gain = 1e-13f;

Kernels kernels_plain(int rank);
#if defined(__x86_64__)
Kernels kernels_avx2(int rank);
Kernels kernels_avx512(int rank);
#endif

}  // namespace tastemix
