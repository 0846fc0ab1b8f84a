// Scores of items by what a user rated, s_i = Σ_j a_j w_ji, and the best of any scores.
#pragma once
#include "neighbours.hpp"

namespace tastemix {

struct Rated {              // what some users rated, borrowed
    const int64_t* pointers;    // a user each, and the end
    const int32_t* items;
    const float* values;
    int64_t users;
};

class Linked {              // the w of all items, both ways
   public:
    Linked(Links by_target);

    int64_t items() const { return int64_t(by_target_.pointers.size()) - 1; }

    // scores[u, i] += scale · s_i, for every item of every user.
    bool add(const Rated&, float scale, float* scores, Poll) const;
    // The same for one user: scores has an entry for every item.
    void add(const Rated&, int64_t user, float scale, float* scores) const;
    // out[p] = s of item[p], for what one user rated.
    void sums(const Rated&, int64_t user, const int32_t* item, int64_t count, double* out) const;
    // The same for what user[p] rated.
    void pairs(const Rated&, const int32_t* user, const int32_t* item, int64_t count, double* out) const;

   private:
    Links by_target_, by_source_;
};

struct Listed {             // scores of all items for some users, and which are left out
    const float* scores;    // items a user
    int64_t users, items;
    const int64_t* pointers;    // where in `seen` the items of each user are
    const int32_t* seen;
    const uint8_t* allowed; // by item, or null: all are
};

// Fills `best` with n items a user, the best first, equals by number, −1 where there are no more.
bool best_of(const Listed&, int n, int32_t* best, Poll);

}  // namespace tastemix
