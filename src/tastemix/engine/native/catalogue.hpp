// Item rows packed once, and the best of them for some users.
#pragma once
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "kernels.hpp"
#include "links.hpp"
#include "pool.hpp"
#include "rows.hpp"

namespace tastemix {

struct Asked {              // users and what they have seen, borrowed
    const float* users;     // rank floats a row
    const int32_t* user;    // the rows asked for
    int64_t count;
    const int64_t* pointers;    // count + 1: where in `seen` the items of each one asked for are
    const int32_t* seen;
    const uint8_t* allowed; // by item, or null: all are
};

struct Added {              // scores are scale · w·h_i + base_i + weight · s_i, borrowed
    float scale;
    const float* base;      // by item
    const Linked* linked;   // the s of these links, or null: 0
    Rated rated;            // by those asked for
    float weight;
};

struct Packed {             // item rows `lanes` at a time: coordinate by coordinate, then the next ones
    Kernels kernels;        // those it is for
    Floats panels;
};

// Packs rows of rank floats; false if it was given up.
bool pack(const float* rows, int64_t items, int rank, Packed& out, Poll poll);

class Catalogue {
   public:
    Catalogue(Packed, int64_t items, int rank);
    ~Catalogue();

    // Fills `best` with n items of each user asked for, the best first, −1 where there are no more. Scores are
    // w·h_i, or what `added` says.
    bool top(const Asked&, const Added* added, int n, int32_t* best, Poll poll);

    int64_t items() const { return items_; }
    int rank() const { return rank_; }

   private:
    struct Flags;           // what one thread needs; kept from call to call
    struct Search;          // what one parallel pass is given

    std::vector<Flags> take(int workers);
    void give_back(std::vector<Flags>);

    const int64_t items_;
    const int rank_;
    const Kernels kernels_;
    Floats panels_;
    std::mutex guard_;      // of `spare_`; nobody waits for it, as a fork may leave it locked
    std::vector<Flags> spare_;
};

}  // namespace tastemix
