// A factor, one sparse half of the ratings, and what is summed over the rows of either.
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

// Runs f(chunk, worker) for every chunk; false if it was given up. See pool.hpp.
template <class F> bool parallel_for(int64_t count, F f, Poll poll, int workers = threads()) {
    const auto enter = [](void* context, int64_t chunk, int worker) { (*static_cast<F*>(context))(chunk, worker); };
    return parallel(count, workers, enter, &f, poll);
}

struct Half {               // one compressed sparse half, borrowed
    const int64_t* pointers;
    const int32_t* indices;
    const float* values;    // null where values are coded:
    const uint8_t* codes;   // then value e is levels[codes[e]]
    const float* levels;    // 256
    int64_t rows;
    int64_t columns;
    std::vector<int64_t> chunks;    // row boundaries, at most so many ratings and chunk_rows rows each
    bool mapped;            // from files, to be read ahead

    int64_t count(int64_t row) const { return pointers[row + 1] - pointers[row]; }
    int64_t ratings() const { return pointers[rows]; }
    int64_t chunk_count() const { return int64_t(chunks.size()) - 1; }
    int64_t begin(int64_t chunk) const { return pointers[chunks[std::size_t(chunk)]]; }
    float value(int64_t entry) const { return values ? values[entry] : levels[codes[entry]]; }

    // Ratings of the longest chunk whose values must be decoded: 0 where none must be.
    int64_t most_coded() const;
    // The values of a chunk; where they are coded, decoded into `room`, which has space for them.
    const float* decoded(int64_t chunk, float* room) const;
    // Ask for what comes some way after a chunk, if it is in files. Chunks are taken in order.
    void read_ahead(int64_t chunk) const;
    static std::vector<int64_t> chunked(const int64_t* pointers, int64_t rows);
};

// Entries in one order, marked in the other: entry e of these is the next one of its column there,
// which begin at `places`. Of those that are gone the bits are set. False if a place is beyond them.
bool mark(int64_t* places, const int32_t* columns, const bool* gone, int64_t count, uint8_t* bits, int64_t bytes);

class Rows {                // a factor: `rank` floats a row, padded with zeros to the kernels' width
   public:
    Rows(int64_t count, int rank);
    void set(const float* rows) { put(0, count, rows); }    // rank floats a row
    void put(int64_t first, int64_t last, const float* rows);
    void get(float* rows) const;
    void take(const int32_t* numbers, int64_t some, float* rows) const;     // those of these numbers
    // Rows `first` on are those of another factor, or its rows of these numbers.
    void put(int64_t first, const Rows& other);
    void put(int64_t first, const Rows& other, const int32_t* numbers, int64_t some);

    float* row(int64_t number) { return data_.get() + number * kernels.width; }
    const float* row(int64_t number) const { return data_.get() + number * kernels.width; }

    const int64_t count;
    const int rank;
    const Kernels kernels;

   private:
    Floats data_;
};

// Sums over rows are made of chunks of rows, and these of spans of chunks, each in order, in double:
// they depend on the rows alone, not on threads or on how they are spread over machines. Who holds
// whole spans gives their sums; who does not gives those of chunks. Both are groups of rows.
constexpr int64_t chunk_rows = 512;
constexpr int64_t span_rows = 1 << 16;

struct Sums {               // of a group of rows x
    std::vector<double> columns;    // Σ x
    double squares;                 // Σ ‖x − μ_x‖², μ the centres or zero
    double counted;                 // Σ |Ω| ‖x − μ_x‖²
    std::vector<double> gram;       // Σ x xᵀ, rank × rank, where asked for
};

// The sums of every group; empty if it was given up. `half` gives |Ω|, `centres` μ; either may be null.
std::vector<Sums> sums_of(const Rows&, const Half* half, const Rows* centres, bool gram, int64_t group, Poll poll);

// out_r = scale_r Σ_{j∈Ω_r} weight_j in_j; weight and scale may be null. False if it was given up.
bool gather(const Half&, const Rows& in, const float* weight, const float* scale, Rows& out, Poll);

// errors[r] = Σ_{j∈Ω_r} (clip(x_r·y_j + shift, low, high) − a_j)²
bool row_errors(const Half&, const Rows& moving, const Rows& fixed, float shift, double low, double high,
                double* errors, Poll poll);

}  // namespace tastemix
