// The best items of some users. Included by kernels.inl, inside its anonymous namespace.
//
// A long list takes long to keep in order, so what is put into it counts as work, too.

// Put an item where it belongs in a list that is sorted by score; of equals the earlier one leads.
INLINE void insert(float* score, int32_t* item, int n, float new_score, int32_t new_item) {
    int at = n - 1;
    for (; at > 0 && score[at - 1] < new_score; at--) {
        score[at] = score[at - 1];
        item[at] = item[at - 1];
    }
    score[at] = new_score;
    item[at] = new_item;
}

// The first `count` of L floats, if they are not all there.
template <int L> INLINE Vec<L> load_some(const float* p, int64_t count) {
    if (count >= L) return load<L>(p);
    Vec<L> v = {};
    for (int64_t i = 0; i < count; i++) v[i] = p[i];
    return v;
}

// The best items of U users: scores of P panels at a time in registers. Only those above a user's
// n-th best so far are looked at one by one. Items come in order, so equal scores go to the lower number.
// False if it left off.
template <int L, int U, int P>
INLINE bool search_panels(const TopItems& t, int64_t first, int64_t item, const float* const (&w)[U],
                          const float* added, float* score, const uint8_t* excluded, Asking& asking) {
    if (asking.late(int64_t(P) * L * U * t.rank)) return false;
    const float* panel = t.panels + item * t.rank;
    const int64_t next = int64_t(t.rank) * L;
    Vec<L> sum[P][U] = {};
    for (int r = 0; r < t.rank; r++) {
#pragma GCC unroll 8
        for (int p = 0; p < P; p++) {
            const Vec<L> h = load<L>(panel + p * next + r * L);
#pragma GCC unroll 4
            for (int u = 0; u < U; u++) sum[p][u] += all<L>(w[u][r]) * h;
        }
    }
    for (int u = 0; u < U; u++) {
        float* scores = score + u * t.n;
        for (int p = 0; p < P; p++) {
            if (added) {
                const int64_t from = item + p * L;
                const Vec<L> more = load_some<L>(added + u * t.apart + from, t.items - from);
                sum[p][u] = all<L>(t.scale) * sum[p][u] + all<L>(t.times) * more;
            }
            for (unsigned above = bits<L>(sum[p][u] > all<L>(scores[t.n - 1])); above; above &= above - 1) {
                const int lane = __builtin_ctz(above);
                const int64_t i = item + p * L + lane;
                if (i < t.items && (!t.allowed || t.allowed[i]) && !excluded[u * t.items + i] &&
                    sum[p][u][lane] > scores[t.n - 1]) {
                    insert(scores, t.best + (first + u) * t.n, t.n, sum[p][u][lane], int32_t(i));
                    if (asking.late(t.n)) return false;
                }
            }
        }
    }
    return true;
}

template <int L, int U, int P>
void search(const TopItems& t, int64_t first, const float* added, float* score, uint8_t* excluded, Asking& asking) {
    const float* w[U];
    for (int u = 0; u < U; u++) {
        w[u] = t.users + int64_t(t.user[first + u]) * t.rank;
        for (int64_t j = t.seen_pointers[first + u]; j < t.seen_pointers[first + u + 1]; j++)
            excluded[u * t.items + t.seen[j]] = 1;
        for (int i = 0; i < t.n; i++) {
            score[u * t.n + i] = -__builtin_inff();
            t.best[(first + u) * t.n + i] = -1;
        }
    }
    int64_t item = 0;
    bool on = true;
    for (; on && item + (P - 1) * L < t.items; item += P * L)
        on = search_panels<L, U, P>(t, first, item, w, added, score, excluded, asking);
    for (; on && item < t.items; item += L)
        on = search_panels<L, U, 1>(t, first, item, w, added, score, excluded, asking);
    for (int u = 0; u < U; u++)
        for (int64_t j = t.seen_pointers[first + u]; j < t.seen_pointers[first + u + 1]; j++)
            excluded[u * t.items + t.seen[j]] = 0;
}

template <int L> void top_items(const TopItems& t, int64_t begin, int64_t end, float* score, uint8_t* excluded) {
    Asking asking{t.stop};
    const auto added = [&, first = begin](int64_t u) { return t.added ? t.added + (u - first) * t.apart : nullptr; };
    for (; begin + users_at_once <= end; begin += users_at_once)
        search<L, users_at_once, 2>(t, begin, added(begin), score, excluded, asking);
    for (; begin < end; begin++) search<L, 1, 8>(t, begin, added(begin), score, excluded, asking);
}
