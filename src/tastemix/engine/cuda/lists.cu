// Lists of the best items from blocks of scores, users × items. A block of threads takes one user.

constexpr int threads = 256;
constexpr int most_near = 1024; // scores near the best that are sorted at once

struct Rated {                  // of users: item numbers, and values where they count
    const i64* pointers;
    const int* items;
    const float* values;
};

// scores_ui += scale Σ_j a_uj w_ji; `links` has a row for every j. One j after another adds to items of its own.
KERNEL __launch_bounds__(threads)
add_links(Rated rated, const i64* pointers, const int* targets, const float* weights, float scale, i64 items,
          float* scores) {
    const i64 u = blockIdx.x, base = rated.pointers[0];
    float* row = scores + u * items;
    for (i64 e = rated.pointers[u] - base; e < rated.pointers[u + 1] - base; e++) {
        const int j = rated.items[e];
        const float a = scale * rated.values[e];
        for (i64 at = pointers[j] + threadIdx.x; at < pointers[j + 1]; at += threads)
            row[targets[at]] += a * weights[at];
        __syncthreads();
    }
}

// Items that are not listed: what the user has seen.
KERNEL leave_out(Rated seen, i64 items, float* scores) {
    const i64 u = blockIdx.x, base = seen.pointers[0];
    for (i64 e = seen.pointers[u] - base + threadIdx.x; e < seen.pointers[u + 1] - base; e += blockDim.x)
        scores[u * items + seen.items[e]] = -__int_as_float(0x7f800000);
}

DEVICE bool before(float score, int item, float other_score, int other_item) {
    return score > other_score || (score == other_score && item < other_item);
}

// The n best, n ≤ threads: the n-th largest of what the threads have at most bounds the n-th best from below,
// and those above it are few. Where they are many, one best after another is looked for.
KERNEL __launch_bounds__(threads)
best(const float* scores, const unsigned char* allowed, i64 items, int n, int* listed, float* values) {
    __shared__ float near[most_near];
    __shared__ int where[most_near], count, winner[threads / 32];
    __shared__ float top[threads / 32];
    const int t = threadIdx.x;
    const float nothing = -__int_as_float(0x7f800000);
    const float* row = scores + i64(blockIdx.x) * items;
    listed += i64(blockIdx.x) * n, values += i64(blockIdx.x) * n;
    const auto at = [&](i64 i) { return allowed && !allowed[i] ? nothing : row[i]; };
    float own = nothing;
    for (i64 i = t; i < items; i += threads) own = fmaxf(own, at(i));
    near[t] = own;
    __syncthreads();
    int rank = 0;
    for (int other = 0; other < threads; other++) rank += before(near[other], other, own, t);
    __syncthreads();
    if (rank == n - 1) top[0] = own;
    if (t == 0) count = 0;
    __syncthreads();
    const float bound = top[0];
    __syncthreads();
    if (own >= bound)
        for (i64 i = t; i < items; i += threads) {
            const float score = at(i);
            if (score >= bound && score > nothing) {
                const int slot = atomicAdd(&count, 1);
                if (slot < most_near) near[slot] = score, where[slot] = int(i);
            }
        }
    __syncthreads();
    const int found = count;
    for (int k = t; k < n; k += threads)
        if (k >= found) listed[k] = -1, values[k] = nothing;
    if (found <= most_near) {
        for (int k = t; k < found; k += threads) {
            int ahead = 0;
            for (int other = 0; other < found; other++) ahead += before(near[other], where[other], near[k], where[k]);
            if (ahead < n) listed[ahead] = where[k], values[ahead] = near[k];
        }
        return;
    }
    float last = __int_as_float(0x7f800000);
    int last_item = -1;
    for (int k = 0; k < n; k++) {
        float score = nothing;
        int item = 0x7fffffff;
        for (i64 i = t; i < items; i += threads) {
            const float here = at(i);
            if (before(last, last_item, here, int(i)) && before(here, int(i), score, item)) score = here, item = int(i);
        }
        for (int apart = 16; apart; apart /= 2) {
            const float other = __shfl_xor_sync(everyone, score, apart);
            const int other_item = __shfl_xor_sync(everyone, item, apart);
            if (before(other, other_item, score, item)) score = other, item = other_item;
        }
        if (lane_of() == 0) top[t >> 5] = score, winner[t >> 5] = item;
        __syncthreads();
        score = top[0], item = winner[0];
        for (int w = 1; w < threads / 32; w++)
            if (before(top[w], winner[w], score, item)) score = top[w], item = winner[w];
        __syncthreads();
        last = score, last_item = item;
        if (t == 0) listed[k] = item, values[k] = score;
    }
}
