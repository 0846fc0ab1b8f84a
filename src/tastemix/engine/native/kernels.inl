// The row problem: survey (gradients and first gains), Gram products, greedy coordinate descent.
// Included by one file per instruction set, which defines WIDE_REGISTERS and picks the lanes.
// N is the number of vectors a row takes, or 0 where it is only known at run time.

#if defined(__x86_64__)
#include <immintrin.h>
#endif
#include <cstddef>
#include <utility>

#include "kernels.hpp"

namespace tastemix {
namespace {

#include "vec.hpp"

// Register tile of the Gram product: rows × vectors, for 32 or 16 registers.
constexpr int tile_rows = WIDE_REGISTERS ? 8 : 4;
constexpr int tile_vectors = WIDE_REGISTERS ? 3 : 2;

constexpr int ahead = 12;    // ratings from a prefetch to its use

// Asks whether to stop, every so many multiplications: milliseconds, whatever the rank and the row.
struct Asking {
    Stop stop;
    int64_t left = work_unasked;
    static constexpr int64_t work_unasked = 1 << 24;

    // Takes the work about to be done into account; true: leave off.
    INLINE bool late(int64_t work) {
        left -= work;
        if (left > 0) return false;
        left = work_unasked;
        return stop();
    }
};

INLINE void prefetch_row(const float* row, int width) {
    for (int i = 0; i < width; i += 16) __builtin_prefetch(row + i);
}

// out[row.., col..] += Σ_j y_j[row + r] · y_j[col .. col + C·L), r < R. Where rows are read by
// index, so many of the next ones are asked for ahead of time as `more` says there are.
template <int L, int R, int C>
INLINE void tile(const float* rows, const int32_t* indices, int64_t count, int64_t more, int width, int row,
                 int col, float* out) {
    Vec<L> acc[R][C] = {};
    for (int64_t j = 0; j < count; j++) {
        const float* y = rows + (indices ? int64_t(indices[j]) : j) * width;
        if (indices && j + ahead < count + more) prefetch_row(rows + int64_t(indices[j + ahead]) * width, width);
        Vec<L> right[C];
#pragma GCC unroll 8
        for (int c = 0; c < C; c++) right[c] = load<L>(y + col + c * L);
#pragma GCC unroll 16
        for (int r = 0; r < R; r++) {
            const Vec<L> left = all<L>(y[row + r]);
#pragma GCC unroll 8
            for (int c = 0; c < C; c++) acc[r][c] += left * right[c];
        }
    }
#pragma GCC unroll 16
    for (int r = 0; r < R; r++)
#pragma GCC unroll 8
        for (int c = 0; c < C; c++) {
            float* at = out + (row + r) * int64_t(width) + col + c * L;
            store<L>(at, load<L>(at) + acc[r][c]);
        }
}

template <int L, int C>
INLINE void tiles(const float* rows, int64_t count, int width, int row, int& col, float* out) {
    if constexpr (C > 0) {
        for (; col + C * L <= width; col += C * L)
            tile<L, tile_rows, C>(rows, nullptr, count, 0, width, row, col, out);
        tiles<L, C - 1>(rows, count, width, row, col, out);
    }
}

// The upper triangle in tiles over blocks of ratings that stay in the first cache; wide rows are
// packed side by side first, one vector's worth is read where it lies.
template <int L, int N>
bool gram(const float* rows, const int32_t* indices, int64_t count, int width, float* out, float* scratch,
          Stop stop) {
    if (N) width = N * L;
    Asking asking{stop};
    for (int64_t i = 0; i < int64_t(width) * width; i += L) store<L>(out + i, Vec<L>{});
    if constexpr (N == 1) {
        for (int64_t j = 0; j < count; j += 256) {
            if (asking.late(256 * L * L)) return false;
            const int64_t block = count - j < 256 ? count - j : 256;
            const int64_t more = count - j - block;
            if (indices) tile<L, L, 1>(rows, indices + j, block, more, L, 0, 0, out);
            else tile<L, L, 1>(rows + j * L, nullptr, block, 0, L, 0, 0, out);
        }
        return true;
    }
    const int64_t at_once = 4096 / width > 16 ? 4096 / width : 16;
    for (int64_t j = 0; j < count; j += at_once) {
        const int64_t block = count - j < at_once ? count - j : at_once;
        const float* packed = rows + j * width;
        if (indices) {
            for (int64_t b = 0; b < block; b++) {
                const float* y = rows + int64_t(indices[j + b]) * width;
                if (j + b + ahead < count)
                    prefetch_row(rows + int64_t(indices[j + b + ahead]) * width, width);
                for (int i = 0; i < width; i += L) store<L>(scratch + b * width + i, load<L>(y + i));
            }
            packed = scratch;
        }
        for (int row = 0; row < width; row += tile_rows) {
            if (asking.late(block * tile_rows * (width - row))) return false;
            int col = row / L * L;
            tiles<L, tile_vectors>(packed, block, width, row, col, out);
        }
    }
    for (int r = L; r < width; r++)
        for (int c = 0; c < r / L * L; c++) out[int64_t(r) * width + c] = out[int64_t(c) * width + r];
    return true;
}

// The best step of every coordinate, s = max(−g/Q_rr, −x), and its gain −gs − ½Q_rr s².
template <int L> INLINE Vec<L> best_step(Vec<L> g, Vec<L> x, Vec<L> inverse) {
    return larger<L>(-g * inverse, -x);
}
template <int L> INLINE Vec<L> gain_of(Vec<L> g, Vec<L> s, Vec<L> diagonal) {
    return -s * (g + 0.5f * diagonal * s);
}
template <int L> INLINE Vec<L> inverse_of(Vec<L> diagonal, Vec<L> movable) {
    const Vec<L> floor = all<L>(smallest_curvature);
    return diagonal > floor ? movable / larger<L>(diagonal, floor) : Vec<L>{};
}

// L ratings at a time: residuals e_j = p x·y_j − a_j + q, then g += Σ e_j y_j and diag += Σ y_j².
template <int L, int N> struct Surveyor {
    const HalfStep& h;
    const int width;
    const float* x;
    float* g;
    float* squares;
    Vec<L> cross{}, power{};    // Σ (a_j − q) x·y_j and Σ a_j², lane by lane

    INLINE void take(const float* const (&y)[L], Vec<L> a) {
        Vec<L> e = h.target - a;
        power += a * a;
        if (h.pull != 0) {
            Vec<L> part[L];
#pragma GCC unroll 16
            for (int l = 0; l < L; l++) {
                part[l] = load<L>(x) * load<L>(y[l]);
                for (int i = L; i < width; i += L) part[l] += load<L>(x + i) * load<L>(y[l] + i);
            }
            const Vec<L> dot = sums<L>(part);
            cross -= e * dot;
            e += h.pull * dot;
        }
        for (int i = 0; i < width; i += L) {
            Vec<L> gi = load<L>(g + i);
            Vec<L> qi = load<L>(squares + i);
#pragma GCC unroll 16
            for (int l = 0; l < L; l++) {
                const Vec<L> yi = load<L>(y[l] + i);
                gi += all<L>(e[l]) * yi;
                qi += yi * yi;
            }
            store<L>(g + i, gi);
            store<L>(squares + i, qi);
        }
    }
};

template <int L, int N>
void survey(const HalfStep& h, int64_t begin, int64_t end, float* scratch, Survey* out) {
    const int width = N ? N * L : h.width;
    float* squares = scratch;
    float* zeros = scratch + width;
    for (int i = 0; i < width; i += L) store<L>(zeros + i, Vec<L>{});
    double objective = 0;
    Vec<L> top{};
    Asking asking{h.stop};
    for (int64_t row = begin; row < end; row++) {
        const float* x = h.moving + row * width;
        float* g = h.gradient + row * width;
        for (int i = 0; i < width; i += L) {
            store<L>(g + i, Vec<L>{});
            store<L>(squares + i, Vec<L>{});
        }
        Surveyor<L, N> surveyor{h, width, x, g, squares};
        const int32_t* index = h.indices + h.pointers[row];
        const float* value = h.values + h.pointers[row];
        const int64_t count = h.pointers[row + 1] - h.pointers[row];
        const float* y[L];
        int64_t j = 0;
        for (; j + L <= count; j += L) {
            if (N != 1 && asking.late(4 * L * width)) return;
            if (index + j + 3 * L <= h.indices_end)
                for (int l = 0; l < L; l++)
                    prefetch_row(h.fixed + int64_t(index[j + 2 * L + l]) * width, width);
            for (int l = 0; l < L; l++) y[l] = h.fixed + int64_t(index[j + l]) * width;
            surveyor.take(y, load<L>(value + j) - h.shift);
        }
        if (j < count) {
            Vec<L> a{};
            for (int l = 0; l < L; l++) {
                const bool there = j + l < count;
                y[l] = there ? h.fixed + int64_t(index[j + l]) * width : zeros;
                a[l] = there ? value[j + l] - h.shift : 0;
            }
            surveyor.take(y, a);
        }

        const Vec<L> same = all<L>(h.l2 + h.l2_per_rating * float(count));
        double xg = 0, xc = h.pull != 0 ? double(total<L>(surveyor.cross)) : 0;
        if (h.pull == 0)
            for (int i = 0; i < width; i += L) xc -= total<L>(load<L>(x + i) * load<L>(g + i));
        if (h.gradient_gram)
            for (int r = 0; r < width; r++) {
                if (x[r] == 0) continue;
                if (N == 0 && asking.late(width)) return;
                const Vec<L> xr = all<L>(x[r]);
                for (int i = 0; i < width; i += L)
                    store<L>(g + i, load<L>(g + i) + xr * load<L>(h.gram + int64_t(r) * width + i));
            }
        Vec<L> best{};
        double apart = 0;
        for (int i = 0; i < width; i += L) {
            const Vec<L> xi = load<L>(x + i);
            const Vec<L> ridge = h.ridges ? load<L>(h.ridges + row * width + i) : same;
            Vec<L> linear = load<L>(h.linear + i);
            if (h.centres) {
                const Vec<L> centre = load<L>(h.centres + row * width + i);
                linear -= ridge * centre;
                apart += total<L>(ridge * centre * centre);
            }
            const Vec<L> gi = load<L>(g + i) + ridge * xi + linear;
            store<L>(g + i, gi);
            Vec<L> diagonal = h.own * load<L>(squares + i) + ridge;
            if (h.shared)
                for (int l = 0; l < L; l++) diagonal[l] += h.gram[int64_t(i + l) * width + i + l];
            const Vec<L> s = best_step<L>(gi, xi, inverse_of<L>(diagonal, load<L>(h.movable + i)));
            best = larger<L>(best, gain_of<L>(gi, s, diagonal));
            xg += total<L>(xi * gi);
            xc -= total<L>(xi * linear);
        }
        const double power = total<L>(surveyor.power);
        objective += 0.5 * (xg - xc + power + apart);
        h.noise[row] = rounding_gain * float(power + (xc < 0 ? -xc : xc) + (xg < 0 ? -xg : xg));
        h.gain[row] = largest<L>(best)[0];
        top = larger<L>(top, best);
    }
    *out = {objective, largest<L>(top)[0]};
}

template <int L, int N> void gather(const Gather& g, int64_t begin, int64_t end) {
    const int width = N ? N * L : g.width;
    Asking asking{g.stop};
    for (int64_t row = begin; row < end; row++) {
        float* out = g.out + row * width;
        Vec<L> sum[N ? N : 1] = {};
        if constexpr (N == 0)
            for (int i = 0; i < width; i += L) store<L>(out + i, Vec<L>{});
        for (int64_t e = g.pointers[row]; e < g.pointers[row + 1]; e++) {
            if (asking.late(4 * width)) return;
            if (g.indices + e + ahead < g.indices_end)
                prefetch_row(g.in + int64_t(g.indices[e + ahead]) * width, width);
            const float* in = g.in + int64_t(g.indices[e]) * width;
            const Vec<L> weight = all<L>(g.weight ? g.weight[g.indices[e]] : 1.0f);
            if constexpr (N == 0)
                for (int i = 0; i < width; i += L) store<L>(out + i, load<L>(out + i) + weight * load<L>(in + i));
            else
#pragma GCC unroll 4
                for (int v = 0; v < N; v++) sum[v] += weight * load<L>(in + v * L);
        }
        const Vec<L> scale = all<L>(g.scale ? g.scale[row] : 1.0f);
        if constexpr (N == 0)
            for (int i = 0; i < width; i += L) store<L>(out + i, scale * load<L>(out + i));
        else
#pragma GCC unroll 4
            for (int v = 0; v < N; v++) store<L>(out + v * L, scale * sum[v]);
    }
}

struct Row {                // a row being solved; q is Q without its ridge
    int64_t number;
    const float* q;
    float *own, *diagonal, *inverse, *step, *ridge;
    float *x, *g;
    float enough;
    int64_t left;           // updates it may still take
};

// Rows solved side by side: one update waits for the one before it, and the others fill the wait.
template <int N> constexpr int in_flight = N ? 4 : 1;
static_assert(in_flight<1> <= rows_in_flight);

// Forms the problem of a row; false if it left off.
template <int L, int N>
INLINE bool prepare(const HalfStep& h, int64_t number, int width, float* pack, Row& row, Asking& asking) {
    const int64_t count = h.pointers[number + 1] - h.pointers[number];
    const Vec<L> same = all<L>(h.l2 + h.l2_per_rating * float(count));
    row.number = number;
    row.x = h.moving + number * width;
    row.g = h.gradient + number * width;
    row.left = h.max_updates;
    row.q = h.gram;
    if (h.own != 0) {
        if (N == 0 && asking.late(int64_t(width) * width)) return false;
        if (!gram<L, N>(h.fixed, h.indices + h.pointers[number], count, width, row.own, pack, h.stop)) return false;
        if (h.shared)
            for (int64_t i = 0; i < int64_t(width) * width; i += L)
                store<L>(row.own + i, h.own * load<L>(row.own + i) + load<L>(h.gram + i));
        row.q = row.own;
    }
    for (int i = 0; i < width; i += L) {
        const Vec<L> ridge = h.ridges ? load<L>(h.ridges + number * width + i) : same;
        Vec<L> d;
        for (int l = 0; l < L; l++) d[l] = row.q[int64_t(i + l) * width + i + l] + ridge[l];
        store<L>(row.ridge + i, ridge);
        store<L>(row.diagonal + i, d);
        store<L>(row.inverse + i, inverse_of<L>(d, load<L>(h.movable + i)));
    }
    return true;
}

// One step of greedy coordinate descent: moves the coordinate that gains most and returns its gain,
// or 0 where none gains enough.
template <int L, int N> INLINE float advance(Row& row, int width) {
    const Mask<L> lane = iota<L>();
    Vec<L> best{};
    Mask<L> where{};
    for (int i = 0; i < width; i += L) {
        const Vec<L> g = load<L>(row.g + i);
        const Vec<L> s = best_step<L>(g, load<L>(row.x + i), load<L>(row.inverse + i));
        const Vec<L> gain = gain_of<L>(g, s, load<L>(row.diagonal + i));
        store<L>(row.step + i, s);
        if constexpr (N != 1) where = gain > best ? i + lane : where;
        best = larger<L>(best, gain);
    }
    const Vec<L> top = largest<L>(best);
    if (!(top[0] > row.enough) || row.left-- <= 0) return 0;
    const unsigned there = bits<L>(best == top);
    if (there == 0) return 0;    // a gain that is not a number
    const int first = __builtin_ctz(there);
    const int r = N == 1 ? first : where[first];
    const float s = row.step[r], ridge = row.ridge[r];
    const float* column = row.q + int64_t(r) * width;
    for (int i = 0; i < width; i += L) {
        const Vec<L> here = i + lane == r ? all<L>(s) : Vec<L>{};
        store<L>(row.x + i, load<L>(row.x + i) + here);
        store<L>(row.g + i, load<L>(row.g + i) + s * load<L>(column + i) + ridge * here);
    }
    return top[0];
}

// Whether the variances of a row with ratings were never found.
template <int L> INLINE bool unknown(const HalfStep& h, int64_t row, int width) {
    if (h.pointers[row] == h.pointers[row + 1]) return false;
    for (int i = 0; i < width; i++)
        if (h.variances[row * width + i] != 0) return false;
    return true;
}

// σ² diag(Q⁻¹) over the coordinates that move. Q = UᵀU, in place from the top; then M = (U⁻¹)ᵀ, row by
// row, below the diagonal and on it, where U is no longer needed. A column of M has the squares of one entry.
// False if it left off: then the row's variances are zero, as if never found.
template <int L, int N> bool spread(const HalfStep& h, Row& row, int width, Asking& asking) {
    float* q = row.own;
    const Mask<L> lane = iota<L>();
    const auto at = [&](int r, int c) -> float& { return q[int64_t(r) * width + c]; };
    for (int r = 0; r < width; r++) {
        at(r, r) = row.diagonal[r];
        if (h.movable[r] != 0) continue;
        for (int c = 0; c < width; c++) at(r, c) = at(c, r) = 0;
        at(r, r) = 1;
    }
    float* v = h.variances + row.number * width;
    const auto forget = [&] {
        for (int i = 0; i < width; i += L) store<L>(v + i, Vec<L>{});
        return false;
    };
    for (int k = 0; k < width; k++) {
        const float pivot = at(k, k) > smallest_curvature ? at(k, k) : smallest_curvature;
        const float inverse = 1 / __builtin_sqrtf(pivot);
        for (int i = k / L * L; i < width; i += L) store<L>(&at(k, i), inverse * load<L>(&at(k, i)));
        for (int r = k + 1; r < width; r++) {
            const float f = at(k, r);
            if (f == 0) continue;
            if (N == 0 && asking.late(width - r)) return forget();
            for (int i = r / L * L; i < width; i += L)
                store<L>(&at(r, i), load<L>(&at(r, i)) - f * load<L>(&at(k, i)));
        }
    }
    forget();
    for (int t = 0; t < width; t++) {
        const float inverse = 1 / at(t, t);
        for (int i = 0; i <= t; i += L) {
            if (N == 0 && asking.late(L * (t - i))) return forget();
            Vec<L> m = i + lane == t ? all<L>(1.0f) : Vec<L>{};
            for (int s = i; s < t; s++) {
                const Vec<L> earlier = load<L>(&at(s, i));
                m -= at(s, t) * (i + lane <= s ? earlier : Vec<L>{});
            }
            m *= inverse;
            const Vec<L> there = load<L>(&at(t, i));
            store<L>(&at(t, i), i + lane <= t ? m : there);
            store<L>(v + i, load<L>(v + i) + m * m);
        }
    }
    for (int i = 0; i < width; i += L) store<L>(v + i, h.variance * load<L>(h.movable + i) * load<L>(v + i));
    return true;
}

// Whether n ratings cost less one by one, n²k, than Q⁻¹ does, k³/2; up to 16 fit into the scratch memory.
INLINE bool few(const HalfStep& h, int64_t row, int width) {
    const int64_t count = h.pointers[row + 1] - h.pointers[row];
    return count <= 16 && 2 * count <= width;
}

// The same where ratings are few. Each takes b bᵀ off Q⁻¹, which starts as R⁻¹, R the ridges: with
// u = Q⁻¹y before it, b = u/√(1 + y·u). An entry is at least 1/Q_rr, whatever rounding says.
template <int L, int N> void spread_few(const HalfStep& h, const Row& row, int width, float* taken) {
    if (N) width = N * L;
    const int32_t* index = h.indices + h.pointers[row.number];
    const int count = int(h.pointers[row.number + 1] - h.pointers[row.number]);
    float* v = h.variances + row.number * width;
    float* first = row.step;
    for (int i = 0; i < width; i += L) {
        store<L>(first + i, inverse_of<L>(load<L>(row.ridge + i), load<L>(h.movable + i)));
        store<L>(v + i, load<L>(first + i));
    }
    for (int a = 0; a < count; a++) {
        const float* y = h.fixed + int64_t(index[a]) * width;
        float* b = taken + a * width;
        for (int i = 0; i < width; i += L) store<L>(b + i, load<L>(first + i) * load<L>(y + i));
        for (int e = 0; e < a; e++) {
            const float* earlier = taken + e * width;
            Vec<L> part{};
            for (int i = 0; i < width; i += L) part += load<L>(earlier + i) * load<L>(y + i);
            const Vec<L> dot = all<L>(total<L>(part));
            for (int i = 0; i < width; i += L) store<L>(b + i, load<L>(b + i) - dot * load<L>(earlier + i));
        }
        Vec<L> part{};
        for (int i = 0; i < width; i += L) part += load<L>(b + i) * load<L>(y + i);
        const float power = total<L>(part);
        const Vec<L> scale = all<L>(1 / __builtin_sqrtf(1 + (power > 0 ? power : 0)));
        for (int i = 0; i < width; i += L) {
            const Vec<L> taken_off = load<L>(b + i) * scale;
            store<L>(b + i, taken_off);
            store<L>(v + i, load<L>(v + i) - taken_off * taken_off);
        }
    }
    for (int i = 0; i < width; i += L)
        store<L>(v + i, h.variance * larger<L>(load<L>(v + i), load<L>(row.inverse + i)));
}

template <int L, int N>
void descend(const HalfStep& h, int64_t begin, int64_t end, float threshold, float* scratch, Descent* out) {
    const int width = N ? N * L : h.width;
    constexpr int most = in_flight<N>;
    Row rows[most];
    float* pack = scratch + most * row_floats(width);
    for (int i = 0; i < most; i++) {
        rows[i].own = scratch + i * row_floats(width);
        rows[i].diagonal = rows[i].own + int64_t(width) * width;
        rows[i].inverse = rows[i].diagonal + width;
        rows[i].step = rows[i].inverse + width;
        rows[i].ridge = rows[i].step + width;
    }
    int64_t next = begin, updates = 0;
    Asking asking{h.stop};
    bool stopped = false;
    const auto take = [&](Row& row) {
        for (; next < end; next++) {
            row.enough = threshold > h.noise[next] ? threshold : h.noise[next];
            if (!(h.gain[next] > row.enough) && !(h.variances && unknown<L>(h, next, width))) continue;
            stopped |= !prepare<L, N>(h, next++, width, pack, row, asking);
            return !stopped;
        }
        return false;
    };
    int live = 0;
    while (live < most && take(rows[live])) live++;
    double decrease = 0;
    while (live > 0) {
        stopped |= asking.late(4 * live * width);
        if (stopped) return;
        for (int i = 0; i < live; i++) {
            const float gain = advance<L, N>(rows[i], width);
            decrease += gain;
            updates += gain > 0;
            if (gain > 0) continue;
            if (h.variances && few(h, rows[i].number, width)) spread_few<L, N>(h, rows[i], width, pack);
            else if (h.variances && !spread<L, N>(h, rows[i], width, asking)) return;
            if (take(rows[i])) continue;
            live--;
            const Row done = rows[i];
            rows[i] = rows[live];
            rows[live] = done;
        }
    }
    Vec<L> top{};
    for (int64_t i = begin * width; i < end * width; i += L) top = larger<L>(top, load<L>(h.moving + i));
    *out = {decrease, updates, largest<L>(top)[0]};
}

#include "neighbours.inl"
#include "search.inl"

template <int L, int N> Kernels of_width(int width) {
    return {L, width, survey<L, N>, descend<L, N>, gather<L, N>, gram<L, N>, top_items<L>, nonnegative<L>};
}

// The kernels for rows of `vectors` vectors of L floats.
template <int L> Kernels of_lanes(int rank) {
    const int vectors = (rank + L - 1) / L;
    switch (vectors) {
        case 1: return of_width<L, 1>(L);
        case 2: return of_width<L, 2>(2 * L);
        case 3: return of_width<L, 3>(3 * L);
        case 4: return of_width<L, 4>(4 * L);
        default: return of_width<L, 0>(vectors * L);
    }
}

}  // namespace
}  // namespace tastemix
