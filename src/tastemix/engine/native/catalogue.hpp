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

struct Weighed {            // score_i = tastes · w·h_i + popular · p_i + links · s_i, borrowed
    double tastes, popular, links;
    const float* popularity;    // p, by item
    const Linked* linked;   // the s of these links, or null: 0
    Rated rated;            // by those asked for
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

    // Fills `best` with n items of each user asked for, the best first by w·h_i, −1 where there are no more.
    bool top(const Asked&, int n, int32_t* best, Poll poll);
    // The same by other scores, which go to `scores` in full precision; NaN where there are no more.
    bool top(const Asked&, const Weighed&, int n, int32_t* best, double* scores, Poll poll);

    int64_t items() const { return items_; }
    int rank() const { return rank_; }

   private:
    struct Flags;           // what one thread needs; kept from call to call
    struct Search;          // what one parallel pass is given

    TopItems top_items(const Asked&, int n, int32_t* best) const;
    bool run(Search&, Poll poll);
    double product(const float* w, int64_t item) const;
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
