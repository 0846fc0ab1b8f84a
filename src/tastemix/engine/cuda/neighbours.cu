// Which rated items speak for an item, as in native/neighbours.hpp: G = AᵀA is dense, and a block takes one item.

constexpr int threads = 256;
constexpr int most_bins = 256;

struct Terms {
    const float* gram;          // items × items
    const float* diagonal;      // of it
    const unsigned* least;      // the keys down to which each row is kept, as bits; null: rows are whole
    const int* last;            // and, of those with this very key, the last index
    float l2, l2_per_rating, l1, tolerance;
    int items, max_updates;
};

DEVICE i64 lower_bound(const int* indices, i64 begin, i64 end, int value) {
    while (begin < end) {
        const i64 middle = (begin + end) / 2;
        if (indices[middle] < value) begin = middle + 1;
        else end = middle;
    }
    return begin;
}

// Σ a² of every row.
KERNEL norms(Half h, int rows, float* out) {
    const int row = (blockIdx.x * blockDim.x + threadIdx.x) >> 5;
    if (row >= rows) return;
    float sum = 0;
    for (i64 e = h.pointers[row] + lane_of(); e < h.pointers[row + 1]; e += 32) {
        const float a = value_at(h, e);
        sum += a * a;
    }
    for (int apart = 16; apart; apart /= 2) sum += __shfl_xor_sync(everyone, sum, apart);
    if (lane_of() == 0) out[row] = sum;
}

// Rows of G, the items with most ratings first, `width` columns at a time in shared memory: one user of the item
// after another adds what they rated, so the order of additions is that of the users.
KERNEL __launch_bounds__(threads) gram(Half by_user, Half by_item, int items, int width, float* out) {
    extern __shared__ float row[];
    __shared__ i64 begins[threads], ends[threads];
    __shared__ float stars[threads];
    const int t = threadIdx.x, first = blockIdx.y * width, columns = min(width, items - first);
    const i64 i = by_item.rows[blockIdx.x], last = by_item.pointers[i + 1];
    for (int c = t; c < columns; c += threads) row[c] = 0;
    for (i64 e = by_item.pointers[i]; e < last; e += threads) {
        const int users = int(min(i64(threads), last - e));
        __syncthreads();
        if (t < users) {
            const i64 u = by_item.indices[e + t];
            i64 begin = by_user.pointers[u], end = by_user.pointers[u + 1];
            if (gridDim.y > 1) {
                begin = lower_bound(by_user.indices, begin, end, first);
                end = lower_bound(by_user.indices, begin, end, first + columns);
            }
            begins[t] = begin, ends[t] = end, stars[t] = value_at(by_item, e + t);
        }
        __syncthreads();
        int column = -1;
        float value = 0;
        const auto fetch = [&](int user) {              // what a thread adds for a user first
            const i64 at = begins[user] + t;
            column = at < ends[user] ? by_user.indices[at] - first : -1;
            value = column >= 0 ? stars[user] * value_at(by_user, at) : 0;
        };
        fetch(0);
        for (int user = 0; user < users; user++) {
            const int now = column;
            const float added = value;
            if (user + 1 < users) fetch(user + 1);
            if (now >= 0) row[now] += added;
            for (i64 at = begins[user] + t + threads; at < ends[user]; at += threads)
                row[by_user.indices[at] - first] += stars[user] * value_at(by_user, at);
            __syncthreads();
        }
    }
    __syncthreads();
    for (int c = t; c < columns; c += threads) out[i * items + first + c] = row[c];
}

struct Kept {                   // of keys: those above `least`, and of equal ones those up to `last`
    unsigned least;
    int last;
};
DEVICE bool among(unsigned key, int index, Kept kept) {
    return key > kept.least || (key == kept.least && key && index <= kept.last);
}

// The `most` largest of the keys above zero, of equal ones the first: digit by digit, by the whole block.
template <class F> DEVICE Kept largest(F key, int count, int most) {
    __shared__ int bins[most_bins], left, digit, same;
    const int t = threadIdx.x, everything = 0x7fffffff;
    unsigned found = 0, known = 0;
    if (t == 0) left = most;
    for (int shift = 24; shift >= 0; shift -= 8) {
        __syncthreads();
        for (int b = t; b < most_bins; b += threads) bins[b] = 0;
        __syncthreads();
        for (int j = t; j < count; j += threads) {
            const unsigned k = key(j);
            if (k && (k & known) == found) atomicAdd(&bins[k >> shift & 255], 1);
        }
        __syncthreads();
        if (t < 32) {                                   // lane l has eight bins, the first lane the highest
            int sum = 0;
            for (int b = 0; b < 8; b++) sum += bins[255 - 8 * t - b];
            int upto = sum;
            for (int apart = 1; apart < 32; apart *= 2) {
                const int before = __shfl_up_sync(everyone, upto, apart);
                if (t >= apart) upto += before;
            }
            const unsigned enough = __ballot_sync(everyone, upto >= left);
            if (t == 0 && !enough) digit = -1;
            if (enough && t == __ffs(enough) - 1) {
                int rest = left - (upto - sum), b = 255 - 8 * t;
                for (; rest > bins[b]; b--) rest -= bins[b];
                digit = b, same = bins[b], left = rest;
            }
        }
        __syncthreads();
        if (digit < 0) return {0, everything};          // there are no more than `most`
        found |= unsigned(digit) << shift, known |= 255u << shift;
    }
    if (same == left) return {found, everything};
    // Equal keys at the end: a thread counts those of a stretch, the one that has the last of them says where.
    __shared__ int counts[threads], where;
    const int stretch = (count + threads - 1) / threads, from = t * stretch, to = min(count, from + stretch);
    int own = 0;
    for (int j = from; j < to; j++) own += key(j) == found;
    counts[t] = own;
    __syncthreads();
    if (t == 0) {
        int rest = left, owner = 0;
        for (; rest > counts[owner]; owner++) rest -= counts[owner];
        left = rest, digit = owner;
    }
    __syncthreads();
    if (t == digit) {
        int rest = left, j = from;
        for (;; j++)
            if (key(j) == found && --rest == 0) break;
        where = j;
    }
    __syncthreads();
    return {found, where};
}

DEVICE unsigned bits_of(float v) { return __float_as_uint(v); }
DEVICE unsigned kept_key(const Terms& s, int row, int column, float value) {
    return column != row && value > 0 ? bits_of(value * (value / s.diagonal[column])) : 0;
}

// Which entries of a row count: the `most` largest beside the diagonals.
KERNEL __launch_bounds__(threads) keep(Terms s, int most, unsigned* least, int* last) {
    const int i = blockIdx.x;
    const float* row = s.gram + i64(i) * s.items;
    const Kept kept = largest([&](int j) { return kept_key(s, i, j, row[j]); }, s.items, most);
    if (threadIdx.x == 0) least[i] = kept.least, last[i] = kept.last;
}

DEVICE bool kept_by(const Terms& s, int row, int column, float value) {
    return among(kept_key(s, row, column, value), column, {s.least[row], s.last[row]});
}
// G as it counts: an entry is there if either of its rows kept it.
DEVICE float entry(const Terms& s, int r, int c) {
    const float value = s.gram[i64(r) * s.items + c];
    return !s.least || r == c || kept_by(s, r, c, value) || kept_by(s, c, r, value) ? value : 0;
}

DEVICE float ridge_of(const Terms& s, int j) { return s.l2 + s.l2_per_rating * s.diagonal[j]; }

// The weights of an item over its candidates, `room` numbers an item: greedy coordinate descent.
KERNEL __launch_bounds__(threads) solve(Terms s, const int* order, int room, int* indices, float* weights) {
    extern __shared__ float memory[];
    __shared__ int before[threads / 32 + 1], which[threads / 32];
    __shared__ unsigned gains[threads / 32];
    const int t = threadIdx.x, lane = lane_of(), warp = t >> 5, i = order[blockIdx.x];
    float *x = memory, *g = x + room, *d = g + room;
    int* column = (int*)(d + room);
    const float* row = s.gram + i64(i) * s.items;
    const auto key = [&](int j) {
        const float value = row[j], slope = value - s.l1;
        if (j == i || !(slope > 0) || (s.least && !kept_by(s, i, j, value))) return 0u;
        return bits_of(slope * slope / (s.diagonal[j] + ridge_of(s, j)));
    };
    const Kept kept = largest(key, s.items, room);
    int m = 0;
    for (int b = 0; b < s.items; b += threads) {        // the candidates, in order
        const int j = b + t;
        const bool taken = j < s.items && among(key(j), j, kept);
        const unsigned there = __ballot_sync(everyone, taken);
        __syncthreads();
        if (lane == 0) before[warp] = __popc(there);
        __syncthreads();
        int at = m + __popc(there & ((1u << lane) - 1));
        for (int w = 0; w < threads / 32; w++) {
            if (w < warp) at += before[w];
            m += before[w];
        }
        if (taken) column[at] = j;
    }
    __syncthreads();
    for (int c = t; c < m; c += threads) {
        const int j = column[c];
        x[c] = 0, g[c] = s.l1 - row[j], d[c] = s.diagonal[j] + ridge_of(s, j);
    }
    const float enough = s.tolerance * s.diagonal[i];
    const auto step_of = [&](int c) { return fmaxf(-g[c] * (1 / d[c]), -x[c]); };
    for (int updates = 0; updates < s.max_updates; updates++) {
        float best = 0;
        int mine = 0x7fffffff;
        for (int c = t; c < m; c += threads) {
            const float step = step_of(c), gain = -step * (g[c] + 0.5f * d[c] * step);
            if (gain > best) best = gain, mine = c;
        }
        const unsigned top = __reduce_max_sync(everyone, bits_of(best));
        const int first = __reduce_min_sync(everyone, bits_of(best) == top ? mine : 0x7fffffff);
        if (lane == 0) gains[warp] = top, which[warp] = first;
        __syncthreads();
        unsigned most = 0;
        int r = 0x7fffffff;
        for (int w = 0; w < threads / 32; w++)
            if (gains[w] > most || (gains[w] == most && which[w] < r)) most = gains[w], r = which[w];
        if (!(__uint_as_float(most) > enough)) break;
        const float moved = step_of(r);
        __syncthreads();
        for (int c = t; c < m; c += threads) {
            g[c] += moved * (entry(s, column[r], column[c]) + (c == r ? ridge_of(s, column[r]) : 0.0f));
            if (c == r) x[c] += moved;
        }
    }
    const i64 at = i64(i) * room;
    for (int c = t; c < room; c += threads) {
        indices[at + c] = c < m ? column[c] : 0;
        weights[at + c] = c < m ? x[c] : 0;
    }
}
