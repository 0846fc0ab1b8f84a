// The row problem on a card: survey, Gram products, greedy coordinate descent, gathers and sums.
// Compiled at first use, once for every width W, the floats of a row: a multiple of 8 up to 128.
//
//   X  the moving factor, rows x          Ω  the ratings of a row: (index j, value a_j)
//   Y  the fixed factor, rows y_j         w  the weight of the unknown ratings
//
// Every row minimises ½xᵀQx − cᵀx over x ≥ 0 with the Q and c of engine/reference.py. A warp takes a row, or a
// piece of a long one. Eight lanes hold a row y, four ratings side by side: lane 4g + t has slots q of
// rating t, coordinate(q, g). No sum depends on the order in which warps run.

constexpr int V = W / 8;                              // floats of a row y in a lane
constexpr int U = V <= 8 ? 4 : 2;                     // times four ratings are loaded at once
constexpr int LD = W + 1;                             // floats from a row of Q to the next
constexpr int TEAM = W > 64 ? 4 : 1;                  // warps that form and solve a row
constexpr int K = (W + 31) / 32;                      // coordinates of a lane in descent
// Blocks of a processor at least, so that rows on their way hide how long each takes.
constexpr int surveys = W <= 32 ? 4 : 2;
constexpr int descents = W <= 32 ? 6 : W <= 64 ? 3 : 2;
constexpr int piece_ratings = PIECE;
constexpr int chunk_rows = 512;
constexpr int column_lanes = 256 / W;                 // rows at a time in sums over columns
constexpr float smallest_curvature = 1e-24f;          // as in native/kernels.hpp, and
constexpr float rounding_gain = 1e-13f;               // likewise

// Tiles of 16 × 8 of the upper triangle: tile row m has slots 2m and 2m + 1, its tiles slots q ≥ 2m.
constexpr int tile_rows = (V + 1) / 2;
static __device__ constexpr int tiles_before(int m) { return m * (V - m + 1); }
constexpr int tiles = tiles_before(tile_rows);
constexpr int share = (tiles + TEAM - 1) / TEAM;      // tiles of a warp

struct Step {                   // a half-step; see native/kernels.hpp
    float* moving;
    const float* fixed;
    const float* centres;
    const float* ridges;
    const float* gram;
    const float* linear;
    const float* movable;
    float* gradient;
    float* gain;
    float* noise;
    double* value;              // of every row's part of the objective
    float* variances;
    unsigned* top;              // the largest gain and the largest entry, as bits
    u64* updates;
    i64 max_updates;
    float variance, shift, pull, target, own, l2, l2_per_rating, tolerance;
    int shared, gradient_gram;
};

DEVICE constexpr int coordinate(int q, int g) {
    if (q < V / 4 * 4) return 32 * (q / 4) + 4 * g + q % 4;
    if (V % 4 >= 2 && q < V / 2 * 2) return V / 4 * 32 + 2 * g + q % 2;
    return W - 8 + g;
}

// The slots of a lane in row i; zeros where i is negative.
DEVICE void load_row(const float* rows, int i, float (&y)[V]) {
    const int g = lane_of() >> 2;
    const float* row = rows + i64(i) * W;
#pragma unroll
    for (int c = 0; c < V / 4; c++) {
        const float4 v = i >= 0 ? __ldg((const float4*)(row + 32 * c) + g) : make_float4(0, 0, 0, 0);
        y[4 * c] = v.x, y[4 * c + 1] = v.y, y[4 * c + 2] = v.z, y[4 * c + 3] = v.w;
    }
    if (V % 4 >= 2) {
        const float2 v = i >= 0 ? __ldg((const float2*)(row + V / 4 * 32) + g) : make_float2(0, 0);
        y[V / 4 * 4] = v.x, y[V / 4 * 4 + (V % 4 >= 2)] = v.y;
    }
    if (V % 2) y[V - 1] = i >= 0 ? __ldg(row + W - 8 + g) : 0;
}

DEVICE void load_own(const float* row, float (&x)[V]) {
#pragma unroll
    for (int q = 0; q < V; q++) x[q] = row[coordinate(q, lane_of() >> 2)];
}

template <class F> DEVICE F over_ratings(F v) {        // the sum over t
    v += __shfl_xor_sync(everyone, v, 1);
    return v + __shfl_xor_sync(everyone, v, 2);
}
template <class F> DEVICE F over_slots(F v) {          // the sum over g
    v += __shfl_xor_sync(everyone, v, 4);
    v += __shfl_xor_sync(everyone, v, 8);
    return v + __shfl_xor_sync(everyone, v, 16);
}
DEVICE float dot(const float (&x)[V], const float (&y)[V]) {
    float p = 0;
#pragma unroll
    for (int q = 0; q < V; q++) p += x[q] * y[q];
    return over_slots(p);
}

DEVICE void raise(unsigned* top, float v) {            // by every lane of a warp
    const unsigned best = __reduce_max_sync(everyone, __float_as_uint(fmaxf(v, 0.0f)));
    if (lane_of() == 0 && best > *(volatile unsigned*)top) atomicMax(top, best);
}

DEVICE float ridge_of(const Step& s, i64 row, int i, float count) {
    return s.ridges ? s.ridges[row * W + i] : s.l2 + s.l2_per_rating * count;
}
DEVICE float inverse_root(float v) {                   // of what is not denormal
    float root;
    asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(root) : "f"(v));
    return root;
}
DEVICE float inverse_of(float diagonal, float movable) {
    return diagonal > smallest_curvature ? movable / diagonal : 0.0f;
}

// ---- Survey: residuals e_j = p x·y_j − a_j + q, then g = Σ e_j y_j and diag = Σ y_j² ----

struct Seen {
    float g[V], d[V];
    float cross, power;         // Σ (a_j − q) x·y_j and Σ a_j²
};

DEVICE void look(const Half& h, const Step& s, const float (&x)[V], i64 begin, i64 end, Seen& seen) {
    const int lane = lane_of(), t = lane & 3;
    for (i64 b = begin; b < end; b += 32) {
        const int n = int(min(i64(32), end - b));
        const int id = lane < n ? h.indices[b + lane] : -1;
        const float a = lane < n ? value_at(h, b + lane) - s.shift : 0;
#pragma unroll
        for (int v = 0; v < 8; v += U) {
            if (4 * v >= n) break;
            float y[U][V];
#pragma unroll
            for (int u = 0; u < U; u++) load_row(s.fixed, __shfl_sync(everyone, id, 4 * (v + u) + t), y[u]);
#pragma unroll
            for (int u = 0; u < U; u++) {
                const float p = dot(x, y[u]), value = __shfl_sync(everyone, a, 4 * (v + u) + t);
                const float away = s.target - value, e = away + s.pull * p;
                seen.cross -= away * p;
                seen.power += value * value;
#pragma unroll
                for (int q = 0; q < V; q++) {
                    seen.g[q] += e * y[u][q];
                    seen.d[q] += y[u][q] * y[u][q];
                }
            }
        }
    }
#pragma unroll
    for (int q = 0; q < V; q++) {
        seen.g[q] = over_ratings(seen.g[q]);
        seen.d[q] = over_ratings(seen.d[q]);
    }
    seen.cross = over_ratings(seen.cross);
    seen.power = over_ratings(seen.power);
}

// What the row has besides its ratings: gradient, first gain, its part of the objective.
DEVICE void finish(const Step& s, i64 row, float count, const float (&x)[V], Seen& seen, double cross, double power) {
    const int lane = lane_of(), g = lane >> 2, t = lane & 3;
    if (s.gradient_gram) {
        float more[V] = {};
#pragma unroll
        for (int q = 0; q < V; q++)
#pragma unroll
            for (int half = 0; half < 8; half += 4) {
                const float xr = __shfl_sync(everyone, x[q], 4 * (half + t));
                const float* column = s.gram + coordinate(q, half + t) * W;
#pragma unroll
                for (int i = 0; i < V; i++) more[i] += xr * column[coordinate(i, g)];
            }
#pragma unroll
        for (int q = 0; q < V; q++) seen.g[q] += over_ratings(more[q]);
    }
    float best = 0;
    double xg = 0, xc = 0, apart = 0;
#pragma unroll
    for (int q = 0; q < V; q++) {
        const int i = coordinate(q, g);
        const float ridge = ridge_of(s, row, i, count);
        float linear = s.linear[i];
        if (s.centres) {
            const float centre = s.centres[row * W + i];
            linear -= ridge * centre;
            apart += double(ridge * centre) * centre;
        }
        const float gi = seen.g[q] + ridge * x[q] + linear;
        float diagonal = s.own * seen.d[q] + ridge;
        if (s.shared) diagonal += s.gram[i * W + i];
        const float step = fmaxf(-gi * inverse_of(diagonal, s.movable[i]), -x[q]);
        best = fmaxf(best, -step * (gi + 0.5f * diagonal * step));
        xg += double(x[q]) * gi;
        xc -= double(x[q]) * linear;
        if (t == 0) s.gradient[row * W + i] = gi;
    }
    xg = over_slots(xg);
    xc = over_slots(xc) + cross;
    apart = over_slots(apart);
    raise(s.top, best);
    best = __uint_as_float(__reduce_max_sync(everyone, __float_as_uint(best)));
    if (lane == 0) {
        s.gain[row] = best;
        s.noise[row] = rounding_gain * float(power + fabs(xc) + fabs(xg));
        s.value[row] = 0.5 * (xg - xc + power + apart);
    }
}

KERNEL __launch_bounds__(256, surveys) survey(Half h, Step s, int begin, int count) {
    const int number = (blockIdx.x * blockDim.x + threadIdx.x) >> 5;
    if (number >= count) return;
    const i64 row = h.rows[begin + number], from = h.pointers[row], to = h.pointers[row + 1];
    float x[V];
    load_own(s.moving + row * W, x);
    Seen seen = {};
    look(h, s, x, from, to, seen);
    finish(s, row, float(to - from), x, seen, seen.cross, seen.power);
}

// Pieces of long rows: 2 W + 2 floats each.
KERNEL __launch_bounds__(256, surveys) survey_pieces(Half h, Step s, const int* run, i64 count, float* parts) {
    const i64 number = (i64(blockIdx.x) * blockDim.x + threadIdx.x) >> 5;
    if (number >= count) return;
    const i64 piece = run[number];
    const int slot = h.slot[piece], lane = lane_of();
    const i64 row = h.rows[slot], from = h.pointers[row] + (piece - h.first[slot]) * piece_ratings;
    float x[V];
    load_own(s.moving + row * W, x);
    Seen seen = {};
    look(h, s, x, from, min(from + piece_ratings, h.pointers[row + 1]), seen);
    float* part = parts + piece * (2 * W + 2);
    if ((lane & 3) == 0)
#pragma unroll
        for (int q = 0; q < V; q++) {
            part[coordinate(q, lane >> 2)] = seen.g[q];
            part[W + coordinate(q, lane >> 2)] = seen.d[q];
        }
    if (lane == 0) part[2 * W] = seen.cross, part[2 * W + 1] = seen.power;
}

KERNEL survey_long(Half h, Step s, int count, const float* parts) {
    const int slot = (blockIdx.x * blockDim.x + threadIdx.x) >> 5, g = lane_of() >> 2;
    if (slot >= count) return;
    const i64 row = h.rows[slot];
    float x[V];
    load_own(s.moving + row * W, x);
    Seen seen = {};
    double cross = 0, power = 0;
    for (i64 piece = h.first[slot]; piece < h.first[slot + 1]; piece++) {
        const float* part = parts + piece * (2 * W + 2);
#pragma unroll
        for (int q = 0; q < V; q++) {
            seen.g[q] += part[coordinate(q, g)];
            seen.d[q] += part[W + coordinate(q, g)];
        }
        cross += part[2 * W];
        power += part[2 * W + 1];
    }
    finish(s, row, float(h.pointers[row + 1] - h.pointers[row]), x, seen, cross, power);
}

// ---- Gram products, on tensor cores: hi·hi + hi·lo + lo·hi, as exact as float32 ----

DEVICE unsigned tf32(float v) {
    unsigned bits;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(v));
    return bits;
}

DEVICE void multiply(float (&c)[4], unsigned a0, unsigned a1, unsigned a2, unsigned a3, unsigned b0, unsigned b1) {
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}

// Tiles of Σ y yᵀ over rows begin to end of `indices`, or themselves where that is null. The rated rows are both
// operands as they lie in registers. Tensor cores cut off what they add to, so sums are taken outside of them.
DEVICE void add_gram(const float* rows, const int* indices, i64 begin, i64 end, int member, float (&sum)[share][4]) {
    const int lane = lane_of(), t = lane & 3;
    for (i64 b = begin; b < end; b += 32) {
        const int n = int(min(i64(32), end - b));
        const int id = lane < n ? (indices ? indices[b + lane] : int(b) + lane) : -1;
#pragma unroll
        for (int v = 0; v < 8; v += U) {
            if (4 * v >= n) break;
            float y[U][V];
#pragma unroll
            for (int u = 0; u < U; u++) load_row(rows, __shfl_sync(everyone, id, 4 * (v + u) + t), y[u]);
#pragma unroll
            for (int u = 0; u < U; u += 2) {
                if (4 * (v + u) >= n) break;
                unsigned hi[2][V + 1], lo[2][V + 1];    // one more slot, of zeros, where V is odd
#pragma unroll
                for (int k = 0; k < 2; k++) {
                    hi[k][V] = lo[k][V] = 0;
#pragma unroll
                    for (int q = 0; q < V; q++) {
                        hi[k][q] = tf32(y[u + k][q]);
                        lo[k][q] = tf32(y[u + k][q] - __uint_as_float(hi[k][q]));
                    }
                }
#pragma unroll
                for (int m = 0; m < tile_rows; m++)
#pragma unroll
                    for (int q = 2 * m; q < V; q++) {
                        const int tile = tiles_before(m) + q - 2 * m;
                        if (TEAM > 1 && tile % TEAM != member) continue;
                        const int f = 2 * m;
                        float c[4] = {};
                        multiply(c, lo[0][f], lo[0][f + 1], lo[1][f], lo[1][f + 1], hi[0][q], hi[1][q]);
                        multiply(c, hi[0][f], hi[0][f + 1], hi[1][f], hi[1][f + 1], lo[0][q], lo[1][q]);
                        multiply(c, hi[0][f], hi[0][f + 1], hi[1][f], hi[1][f + 1], hi[0][q], hi[1][q]);
#pragma unroll
                        for (int e = 0; e < 4; e++) sum[tile / TEAM][e] += c[e];
                    }
            }
        }
    }
}

// f(row, column, value, mirrored) for every entry of the tiles of a lane.
template <class A, class F> DEVICE void unfold(A (&sum)[share][4], int member, F f) {
    const int g = lane_of() >> 2, t = lane_of() & 3;
#pragma unroll
    for (int m = 0; m < tile_rows; m++)
#pragma unroll
        for (int q = 2 * m; q < V; q++) {
            const int tile = tiles_before(m) + q - 2 * m;
            if (TEAM > 1 && tile % TEAM != member) continue;
#pragma unroll
            for (int e = 0; e < 4; e++)
                if (2 * m + e / 2 < V)
                    f(coordinate(2 * m + e / 2, g), coordinate(q, 2 * t + e % 2), sum[tile / TEAM][e], q >= 2 * m + 2);
        }
}

DEVICE void store_tiles(float (&sum)[share][4], int member, float4* part) {
#pragma unroll
    for (int i = 0; i < share; i++)
        if (i * TEAM + member < tiles)
            part[(i * TEAM + member) * 32 + lane_of()] = make_float4(sum[i][0], sum[i][1], sum[i][2], sum[i][3]);
}

DEVICE bool above(const Step& s, i64 row, float enough, bool rated) {
    if (s.gain[row] > enough) return true;
    if (!s.variances || !rated) return false;
    bool known = false;                                 // variances that were never found are all zero
    for (int i = lane_of(); i < W; i += 32) known |= s.variances[row * W + i] != 0;
    return !__any_sync(everyone, known);
}
DEVICE float enough_of(const Step& s, i64 row) {
    return fmaxf(s.tolerance * __uint_as_float(*s.top), s.noise[row]);
}

KERNEL __launch_bounds__(128, descents)
gram_pieces(Half h, Step s, const int* run, i64 begin, i64 count, float4* parts) {
    const int warp = threadIdx.x >> 5, member = TEAM > 1 ? warp : 0;
    const i64 number = TEAM > 1 ? i64(blockIdx.x) : i64(blockIdx.x) * 4 + warp;
    if (number >= count) return;
    const i64 piece = run[number];
    const int slot = h.slot[piece];
    const i64 row = h.rows[slot], last = h.pointers[row + 1];
    if (!above(s, row, enough_of(s, row), true)) return;
    const i64 from = h.pointers[row] + (piece - h.first[slot]) * piece_ratings;
    float sum[share][4] = {};
    add_gram(s.fixed, h.indices, from, min(from + piece_ratings, last), member, sum);
    store_tiles(sum, member, parts + (piece - begin) * tiles * 32);
}

KERNEL __launch_bounds__(128, descents) gram_rows(const float* rows, i64 count, i64 pieces, float4* parts) {
    const int warp = threadIdx.x >> 5, member = TEAM > 1 ? warp : 0;
    const i64 piece = TEAM > 1 ? i64(blockIdx.x) : i64(blockIdx.x) * 4 + warp;
    if (piece >= pieces) return;
    float sum[share][4] = {};
    add_gram(rows, nullptr, piece * chunk_rows, min((piece + 1) * chunk_rows, count), member, sum);
    store_tiles(sum, member, parts + piece * tiles * 32);
}

// The tiles of a Gram product as a matrix of W × W; one block of TEAM warps.
KERNEL gram_matrix(const double* part, double* out) {
    const int member = threadIdx.x >> 5;
    double sum[share][4] = {};
#pragma unroll
    for (int i = 0; i < share; i++)
        if (i * TEAM + member < tiles)
#pragma unroll
            for (int e = 0; e < 4; e++) sum[i][e] = part[((i * TEAM + member) * 32 + lane_of()) * 4 + e];
    unfold(sum, member, [&](int r, int c, double v, bool mirrored) {
        out[r * W + c] = v;
        if (mirrored) out[c * W + r] = v;
    });
}

// ---- Descent ----

DEVICE void together() {
    if (TEAM > 1) __syncthreads();
    else __syncwarp();
}

// Greedy coordinate descent by one warp: the coordinate that gains most, until none gains enough.
DEVICE void solve(const Step& s, i64 row, float count, const float* Q, float enough) {
    const int lane = lane_of();
    float x[K], g[K], d[K], inverse[K], ridge[K];
#pragma unroll
    for (int k = 0; k < K; k++) {
        const int i = lane + 32 * k;
        const bool there = i < W;
        x[k] = there ? s.moving[row * W + i] : 0;
        g[k] = there ? s.gradient[row * W + i] : 0;
        ridge[k] = there ? ridge_of(s, row, i, count) : 0;
        d[k] = there ? Q[i * LD + i] + ridge[k] : 0;
        inverse[k] = there ? inverse_of(d[k], s.movable[i]) : 0;
    }
    double decrease = 0;
    i64 updates = 0;
    for (; updates < s.max_updates; updates++) {
        float best = 0, step = 0;
        int which = 0;
#pragma unroll
        for (int k = 0; k < K; k++) {
            const float move = fmaxf(-g[k] * inverse[k], -x[k]), gain = -move * (g[k] + 0.5f * d[k] * move);
            if (gain > best) best = gain, step = move, which = lane + 32 * k;
        }
        const unsigned top = __reduce_max_sync(everyone, __float_as_uint(best));
        if (!(__uint_as_float(top) > enough)) break;
        const int owner = __ffs(__ballot_sync(everyone, __float_as_uint(best) == top)) - 1;
        const float moved = __shfl_sync(everyone, step, owner);
        const int r = K == 1 ? owner : __shfl_sync(everyone, which, owner);
        decrease += __uint_as_float(top);
#pragma unroll
        for (int k = 0; k < K; k++) {
            const int i = lane + 32 * k;
            if (i < W) g[k] += moved * Q[r * LD + i];
            if (i == r) x[k] += moved, g[k] += ridge[k] * moved;
        }
    }
    float largest = 0;
#pragma unroll
    for (int k = 0; k < K; k++) {
        if (lane + 32 * k < W) s.moving[row * W + lane + 32 * k] = x[k];
        largest = fmaxf(largest, x[k]);
    }
    raise(s.top + 1, largest);
    if (lane == 0) {
        s.value[row] -= decrease;
        atomicAdd(s.updates, u64(updates));
    }
}

DEVICE void pass_by(const Step& s, i64 row) {           // a row that stays as it is
    float largest = 0;
    for (int i = lane_of(); i < W; i += 32) largest = fmaxf(largest, s.moving[row * W + i]);
    raise(s.top + 1, largest);
}

// σ² diag(Q⁻¹) over the coordinates that move: Q = UᵀU above the diagonal from the top, (U⁻¹)ᵀ on it and below.
// A thread has columns of its own; a column of (U⁻¹)ᵀ has the squares of one entry. In place:
DEVICE void spread_in_place(const Step& s, i64 row, float count, float* Q) {
    constexpr int threads = 32 * TEAM, C = (W + threads - 1) / threads;
    const int thread = TEAM > 1 ? threadIdx.x : lane_of();
    float v[C] = {};
#pragma unroll
    for (int c = 0; c < C; c++) {
        const int i = thread + threads * c;
        if (i >= W) continue;
        const bool moves = s.movable[i] != 0;
        for (int r = 0; r < W; r++) {
            if (r == i) Q[r * LD + i] = moves ? Q[r * LD + i] + ridge_of(s, row, i, count) : 1.0f;
            else if (r > i || !moves || s.movable[r] == 0) Q[r * LD + i] = 0;
        }
    }
    for (int k = 0; k < W; k++) {
        together();
        const float inverse = 1 / sqrtf(fmaxf(Q[k * LD + k], smallest_curvature));
        together();
        float scaled[C];
#pragma unroll
        for (int c = 0; c < C; c++) {
            const int i = thread + threads * c;
            if (i >= W) continue;
            scaled[c] = i == k ? inverse : Q[k * LD + i] * inverse;
            Q[k * LD + i] = scaled[c];
            if (i <= k) v[c] += scaled[c] * scaled[c];
        }
        together();
        for (int r = k + 1; r < W; r++) {
            const float f = Q[k * LD + r];
#pragma unroll
            for (int c = 0; c < C; c++) {
                const int i = thread + threads * c;
                if (i <= k || (i >= r && i < W)) Q[r * LD + i] -= f * scaled[c];
            }
        }
    }
#pragma unroll
    for (int c = 0; c < C; c++) {
        const int i = thread + threads * c;
        if (i < W) s.variances[row * W + i] = s.variance * s.movable[i] * v[c];
    }
}

// Up to 32 coordinates: a column stays in the registers of its lane, and Q takes the rows of U. What lies below the
// diagonal within four rows of it may take on anything: its lane starts it at zero.
DEVICE void spread_in_registers(const Step& s, i64 row, float count, float* Q) {
    constexpr int N = W <= 32 ? W : 4;
    const int i = lane_of();
    const bool moves = i < W && s.movable[i < W ? i : 0] != 0;
    const unsigned free = __ballot_sync(everyone, moves), above = moves ? free & ((1u << i) - 1) : 0;
    float column[N], v = 0;
#pragma unroll
    for (int r = 0; r < N; r++) {
        column[r] = above >> r & 1 ? Q[r * LD + i] : 0.0f;
        if (r == i) column[r] = moves ? Q[r * LD + i] + ridge_of(s, row, i, count) : 1.0f;
    }
    __syncwarp();
#pragma unroll
    for (int k = 0; k < N; k++) {
        const float inverse = inverse_root(fmaxf(__shfl_sync(everyone, column[k], k), smallest_curvature));
        const float scaled = i == k ? inverse : column[k] * inverse;
        if (i <= k) v += scaled * scaled;
        if (i < N) Q[k * N + i] = scaled;
        __syncwarp();
#pragma unroll
        for (int r = k + 1; r < N && r % 4; r++)
            if (i == k) column[r] = 0;
#pragma unroll
        for (int b = (k + 1) / 4 * 4; b < N; b += 4) {
            const float4 u = *(const float4*)(Q + k * N + b);
            const float f[4] = {u.x, u.y, u.z, u.w}, mine = i <= k || i >= b ? scaled : 0.0f;
#pragma unroll
            for (int r = b; r < b + 4; r++)
                if (r > k) column[r] -= f[r - b] * mine;
        }
    }
    if (i < W) s.variances[row * W + i] = s.variance * s.movable[i] * v;
}

DEVICE void spread(const Step& s, i64 row, float count, float* Q) {
    if (W <= 32) spread_in_registers(s, row, count, Q);
    else spread_in_place(s, row, count, Q);
}

// Rows with a Q of their own; those cut into pieces bring the Gram products of these.
KERNEL __launch_bounds__(128, descents)
descend(Half h, Step s, int begin, int count, const float4* parts, i64 first_part) {
    extern __shared__ float memory[];
    const int warp = threadIdx.x >> 5, member = TEAM > 1 ? warp : 0;
    const int number = TEAM > 1 ? blockIdx.x : blockIdx.x * 4 + warp;
    if (number >= count) return;
    float* Q = memory + (TEAM > 1 ? 0 : warp) * W * LD;
    const int slot = begin + number;
    const i64 row = h.rows[slot], from = h.pointers[row], to = h.pointers[row + 1];
    const float enough = enough_of(s, row);
    if (!above(s, row, enough, from < to)) {
        if (member == 0) pass_by(s, row);
        return;
    }
    float sum[share][4] = {};
    if (!parts) add_gram(s.fixed, h.indices, from, to, member, sum);
    else
        for (i64 piece = h.first[slot]; piece < h.first[slot + 1]; piece++) {
            const float4* part = parts + (piece - first_part) * tiles * 32;
#pragma unroll
            for (int i = 0; i < share; i++)
                if (i * TEAM + member < tiles) {
                    const float4 c = part[(i * TEAM + member) * 32 + lane_of()];
                    sum[i][0] += c.x, sum[i][1] += c.y, sum[i][2] += c.z, sum[i][3] += c.w;
                }
        }
    unfold(sum, member, [&](int r, int c, float v, bool mirrored) {
        if (s.shared) v = s.own * v + s.gram[r * W + c];
        Q[r * LD + c] = v;
        if (mirrored) Q[c * LD + r] = v;
    });
    together();
    if (member == 0) solve(s, row, float(to - from), Q, enough);
    if (!s.variances) return;
    together();
    spread(s, row, float(to - from), Q);
}

// Rows that share Q = wG, apart from their ridges.
KERNEL descend_shared(Half h, Step s, int count) {
    extern __shared__ float Q[];
    for (int i = threadIdx.x; i < W * W; i += blockDim.x) Q[i / W * LD + i % W] = s.gram[i];
    __syncthreads();
    const int warps = gridDim.x * (blockDim.x >> 5);
    for (i64 row = (blockIdx.x * blockDim.x + threadIdx.x) >> 5; row < count; row += warps) {
        const float enough = enough_of(s, row);
        if (s.gain[row] > enough) solve(s, row, float(h.pointers[row + 1] - h.pointers[row]), Q, enough);
        else pass_by(s, row);
    }
}

// ---- Gathers: out_r = base + sum, or out_r − length sum, with sum = scale_r Σ_{j∈Ω_r} weight_j in_j + ridge along_r;
// base, length, scale, weight and along may be null ----

struct Gather {
    const float* in;
    const float* weight;
    const float* scale;
    const float* base;
    const float* along;
    const float* length;
    float* out;
    float ridge;
};

DEVICE void add_rows(const Half& h, const Gather& o, i64 begin, i64 end, float (&sum)[V]) {
    const int lane = lane_of(), t = lane & 3;
    for (i64 b = begin; b < end; b += 32) {
        const int n = int(min(i64(32), end - b));
        const int id = lane < n ? h.indices[b + lane] : -1;
        const float w = o.weight && id >= 0 ? o.weight[id] : 1;
#pragma unroll
        for (int v = 0; v < 8; v += U) {
            if (4 * v >= n) break;
            float y[U][V];
#pragma unroll
            for (int u = 0; u < U; u++) load_row(o.in, __shfl_sync(everyone, id, 4 * (v + u) + t), y[u]);
#pragma unroll
            for (int u = 0; u < U; u++) {
                const float weight = __shfl_sync(everyone, w, 4 * (v + u) + t);
#pragma unroll
                for (int q = 0; q < V; q++) sum[q] += weight * y[u][q];
            }
        }
    }
#pragma unroll
    for (int q = 0; q < V; q++) sum[q] = over_ratings(sum[q]);
}

DEVICE void put_row(const Gather& o, i64 row, const float (&sum)[V]) {
    if (lane_of() & 3) return;
    const float scale = o.scale ? o.scale[row] : 1;
#pragma unroll
    for (int q = 0; q < V; q++) {
        const int i = coordinate(q, lane_of() >> 2);
        const i64 at = row * W + i;
        float found = scale * sum[q];
        if (o.along) found += o.ridge * o.along[at];
        o.out[at] = o.length ? o.out[at] - o.length[i] * found : (o.base ? o.base[i] : 0.0f) + found;
    }
}

KERNEL gather(Half h, Gather o, int begin, int count) {
    const int number = (blockIdx.x * blockDim.x + threadIdx.x) >> 5;
    if (number >= count) return;
    const i64 row = h.rows[begin + number];
    float sum[V] = {};
    add_rows(h, o, h.pointers[row], h.pointers[row + 1], sum);
    put_row(o, row, sum);
}

KERNEL gather_pieces(Half h, Gather o, const int* run, i64 count, float* parts) {
    const i64 number = (i64(blockIdx.x) * blockDim.x + threadIdx.x) >> 5;
    if (number >= count) return;
    const i64 piece = run[number];
    const int slot = h.slot[piece];
    const i64 row = h.rows[slot], from = h.pointers[row] + (piece - h.first[slot]) * piece_ratings;
    float sum[V] = {};
    add_rows(h, o, from, min(from + piece_ratings, h.pointers[row + 1]), sum);
    if ((lane_of() & 3) == 0)
#pragma unroll
        for (int q = 0; q < V; q++) parts[piece * W + coordinate(q, lane_of() >> 2)] = sum[q];
}

KERNEL gather_long(Half h, Gather o, int count, const float* parts) {
    const int slot = (blockIdx.x * blockDim.x + threadIdx.x) >> 5;
    if (slot >= count) return;
    float sum[V] = {};
    for (i64 piece = h.first[slot]; piece < h.first[slot + 1]; piece++)
#pragma unroll
        for (int q = 0; q < V; q++) sum[q] += parts[piece * W + coordinate(q, lane_of() >> 2)];
    put_row(o, h.rows[slot], sum);
}

// out_r = Σ_{j∈Ω_r} in_j, numbers instead of rows.
KERNEL gather_numbers(Half h, const float* in, double* out, int count) {
    const int number = (blockIdx.x * blockDim.x + threadIdx.x) >> 5;
    if (number >= count) return;
    const i64 row = h.rows[number];
    double sum = 0;
    for (i64 e = h.pointers[row] + lane_of(); e < h.pointers[row + 1]; e += 32) sum += in[h.indices[e]];
    sum = over_slots(over_ratings(sum));
    if (lane_of() == 0) out[row] = sum;
}

// ---- Errors ----

// x·y of rating b + lane, for up to 32 ratings.
DEVICE float product(const Half& h, const float* fixed, const float (&x)[V], i64 b, int n) {
    const int lane = lane_of(), id = lane < n ? h.indices[b + lane] : -1;
    float mine = 0;
#pragma unroll
    for (int v = 0; v < 8; v++) {
        if (4 * v >= n) break;
        float y[V];
        load_row(fixed, __shfl_sync(everyone, id, 4 * v + (lane & 3)), y);
        const float p = dot(x, y);
        if (lane >> 2 == v) mine = p;
    }
    return mine;
}

// Σ (clip(x·y + shift, low, high) − a)² of every row.
KERNEL row_errors(Half h, const float* moving, const float* fixed, double shift, double low, double high, int count,
                  double* out) {
    const int number = (blockIdx.x * blockDim.x + threadIdx.x) >> 5, lane = lane_of();
    if (number >= count) return;
    const i64 row = h.rows[number], end = h.pointers[row + 1];
    float x[V];
    load_own(moving + row * W, x);
    double sum = 0;
    for (i64 b = h.pointers[row]; b < end; b += 32) {
        const int n = int(min(i64(32), end - b));
        const double p = product(h, fixed, x, b, n) + shift;
        const double e = lane < n ? fmin(fmax(p, low), high) - value_at(h, b + lane) : 0;
        sum += e * e;
    }
    sum = over_slots(over_ratings(sum));
    if (lane == 0) out[row] = sum;
}

KERNEL products(Half h, const float* moving, const float* fixed, int count, float* out) {
    const int number = (blockIdx.x * blockDim.x + threadIdx.x) >> 5, lane = lane_of();
    if (number >= count) return;
    const i64 row = h.rows[number], end = h.pointers[row + 1];
    float x[V];
    load_own(moving + row * W, x);
    for (i64 b = h.pointers[row]; b < end; b += 32) {
        const int n = int(min(i64(32), end - b));
        const float p = product(h, fixed, x, b, n);
        if (lane < n) out[b + lane] = p;
    }
}

// ---- Sums, in double, of chunks of rows: N × W numbers a chunk ----

template <int N, class F> DEVICE void columns(i64 rows, double* parts, F f) {
    __shared__ double lanes[N][column_lanes * W];
    const int c = threadIdx.x % W, r = threadIdx.x / W;
    const i64 begin = i64(blockIdx.x) * chunk_rows, end = min(rows, begin + chunk_rows);
    double sum[N] = {};
    for (i64 row = begin + r; row < end; row += column_lanes) f(row, row * W + c, c, sum);
#pragma unroll
    for (int n = 0; n < N; n++) lanes[n][threadIdx.x] = sum[n];
    __syncthreads();
    if (r) return;
#pragma unroll
    for (int n = 0; n < N; n++) {
        double total = 0;
        for (int i = 0; i < column_lanes; i++) total += lanes[n][i * W + c];
        parts[(i64(blockIdx.x) * N + n) * W + c] = total;
    }
}

KERNEL totals(const float* X, const float* centres, const i64* pointers, i64 rows, double* parts) {
    columns<3>(rows, parts, [&](i64 row, i64 at, int, double* sum) {
        const double x = X[at], away = x - (centres ? double(centres[at]) : 0.0);
        sum[0] += x;
        sum[1] += away * away;
        if (pointers) sum[2] += away * away * double(pointers[row + 1] - pointers[row]);
    });
}

KERNEL squares(const float* Z, i64 rows, double* parts) {
    columns<1>(rows, parts, [&](i64, i64 at, int, double* sum) { sum[0] += double(Z[at]) * Z[at]; });
}

// Groups of rows of floats, in double.
KERNEL add_groups(const float* in, i64 count, int size, int group, double* out) {
    const int j = blockIdx.x * blockDim.x + threadIdx.x;
    if (j >= size) return;
    const i64 begin = i64(blockIdx.y) * group, end = min(count, begin + group);
    double sum = 0;
    for (i64 i = begin; i < end; i++) sum += in[i * size + j];
    out[i64(blockIdx.y) * size + j] = sum;
}

// All rows of doubles; blocks of 32 × 16 threads.
KERNEL add_all(const double* in, i64 count, int size, double* out) {
    __shared__ double lanes[16][33];
    const int j = blockIdx.x * 32 + threadIdx.x;
    double sum = 0;
    if (j < size)
        for (i64 i = threadIdx.y; i < count; i += 16) sum += in[i * size + j];
    lanes[threadIdx.y][threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.y || j >= size) return;
    sum = 0;
    for (int i = 0; i < 16; i++) sum += lanes[i][threadIdx.x];
    out[j] = sum;
}

// Numbers, 4096 to a block of 256 threads.
KERNEL add_numbers(const double* in, i64 count, double* out) {
    __shared__ double lanes[256];
    const i64 begin = i64(blockIdx.x) * 4096, end = min(count, begin + 4096);
    double sum = 0;
    for (i64 i = begin + threadIdx.x; i < end; i += 256) sum += in[i];
    lanes[threadIdx.x] = sum;
    __syncthreads();
    for (int half = 128; half; half /= 2) {
        if (threadIdx.x < half) lanes[threadIdx.x] += lanes[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) out[blockIdx.x] = lanes[0];
}

// ---- Choices: μ, then conjugate gradients on Z; see native/choices.cpp ----

DEVICE float ratio(double a, double b) { return b > 0 ? float(a / b) : 0.0f; }
DEVICE i64 flat() { return i64(blockIdx.x) * blockDim.x + threadIdx.x; }

KERNEL choices_left(const float* X, const float* centres, const float* part, i64 rows, double* parts) {
    columns<1>(rows, parts, [&](i64 row, i64 at, int, double* sum) {
        sum[0] += double(part[row]) * (double(X[at]) - centres[at]);
    });
}

// μ += left / weight, rounded to float; `shift` is what it moved by. One block of W threads.
KERNEL choices_mean(const double* left, double weight, double* mean, float* shift) {
    const int c = threadIdx.x;
    const double before = mean[c];
    if (weight > 0) mean[c] = double(float(before + left[c] / weight));
    shift[c] = float(mean[c] - before);
}

KERNEL choices_away(const float* X, const float* shift, i64 rows, float* centres, float* away) {
    const i64 at = flat();
    if (at >= rows * W) return;
    centres[at] += shift[at % W];
    away[at] = X[at] - centres[at];
}

// The first direction p = r / diagonal: Σ r p and Σ p².
KERNEL choices_first(const float* residual, const float* inverse, i64 rows, float* direction, double* parts) {
    columns<2>(rows, parts, [&](i64 row, i64 at, int, double* sum) {
        const float r = residual[at], p = inverse[row] * r;
        direction[at] = p;
        sum[0] += double(r) * p;
        sum[1] += double(p) * p;
    });
}

// Of a direction p, by what it suggests: Σ share (Bp)² is pᵀBᵀDBp.
KERNEL choices_bend(const float* suggested, const float* part, i64 rows, double* parts) {
    columns<1>(rows, parts, [&](i64 row, i64 at, int, double* sum) {
        sum[0] += double(part[row]) * suggested[at] * suggested[at];
    });
}

// How far along p: its power over pᵀBᵀDBp + ridge Σ p². One block of W threads.
KERNEL choices_length(const double* power, const double* bend, const double* squared, float ridge, float* length) {
    const int c = threadIdx.x;
    length[c] = ratio(power[c], bend[c] + double(ridge) * squared[c]);
}

// Σ r² / diagonal.
KERNEL choices_power(const float* residual, const float* inverse, i64 rows, double* parts) {
    columns<1>(rows, parts, [&](i64 row, i64 at, int, double* sum) {
        sum[0] += double(residual[at]) * inverse[row] * residual[at];
    });
}

// Z moves along p, which becomes the next direction: Σ p².
KERNEL choices_turn(const float* residual, const float* inverse, const float* length, const double* next,
                    const double* power, i64 rows, float* Z, float* direction, double* parts) {
    const float keep = ratio(next[threadIdx.x % W], power[threadIdx.x % W]);
    columns<1>(rows, parts, [&](i64 row, i64 at, int c, double* sum) {
        const float before = direction[at], p = inverse[row] * residual[at] + keep * before;
        Z[at] += length[c] * before;
        direction[at] = p;
        sum[0] += double(p) * p;
    });
}

KERNEL choices_along(const float* direction, const float* length, i64 rows, float* out) {
    const i64 at = flat();
    if (at < rows * W) out[at] += length[at % W] * direction[at];
}

// Squares around the centres plus variances; an entry without one counts its square.
KERNEL choices_spread(const float* X, const float* centres, const float* variances, const i64* pointers, i64 rows,
                      double* parts) {
    columns<1>(rows, parts, [&](i64 row, i64 at, int, double* sum) {
        if (pointers[row] == pointers[row + 1]) return;
        bool known = false;
        for (int i = 0; i < W && !known; i++) known = variances[row * W + i] != 0;
        const double away = double(X[at]) - centres[at];
        sum[0] += away * away + (known ? double(variances[at]) : double(X[at]) * X[at]);
    });
}
