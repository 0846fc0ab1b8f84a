// A vector of L floats, written with the compiler's vector types so that one source serves every
// instruction set. Included inside each kernel's own anonymous namespace: nothing here may be
// shared between files compiled for different machines.

template <int L>
struct VecOf {
    typedef float type __attribute__((vector_size(L * sizeof(float))));
    typedef int mask __attribute__((vector_size(L * sizeof(int))));
};
template <int L> using Vec = typename VecOf<L>::type;
template <int L> using Mask = typename VecOf<L>::mask;

#define INLINE inline __attribute__((always_inline))

template <int L> INLINE Vec<L> load(const float* p) {
    Vec<L> v;
    __builtin_memcpy(&v, p, sizeof v);
    return v;
}
template <int L> INLINE void store(float* p, Vec<L> v) { __builtin_memcpy(p, &v, sizeof v); }
template <int L> INLINE Vec<L> all(float s) { return s - Vec<L>{}; }    // s − 0 is s, 0 + s is not
template <int L> INLINE Vec<L> larger(Vec<L> a, Vec<L> b) { return a > b ? a : b; }

template <int L, std::size_t... I>
INLINE Mask<L> iota_of(std::index_sequence<I...>) { return Mask<L>{int(I)...}; }
template <int L> INLINE Mask<L> iota() { return iota_of<L>(std::make_index_sequence<L>{}); }

// Lane i of the shuffle that `folded` adds: groups of G lanes, even ones (odd = 0) or odd ones,
// first of a and then of b, inside windows of W lanes.
template <int G, int W> constexpr int fold_lane(int i, int odd, int lanes) {
    const int window = i / W * W, half = W / 2, in = i % W, pos = in % half;
    return (in < half ? 0 : lanes) + window + pos / G * 2 * G + pos % G + odd * G;
}
template <int L, int G, int W, std::size_t... I>
INLINE Vec<L> folded(Vec<L> a, Vec<L> b, std::index_sequence<I...>) {
    return __builtin_shufflevector(a, b, fold_lane<G, W>(I, 0, L)...) +
           __builtin_shufflevector(a, b, fold_lane<G, W>(I, 1, L)...);
}
template <int L, int G, int W> INLINE void fold(Vec<L>* v, int pairs) {
    for (int i = 0; i < pairs; i++)
        v[i] = folded<L, G, W>(v[2 * i], v[2 * i + 1], std::make_index_sequence<L>{});
}

// Lane l of the result is the sum over the lanes of v[l]. Overwrites v.
template <int L> INLINE Vec<L> sums(Vec<L> (&v)[L]) {
    fold<L, 2, 4>(v, L / 2);
    fold<L, 1, 4>(v, L / 4);
    if constexpr (L >= 8) fold<L, L / 2, L>(v, L / 8);
    if constexpr (L == 16) fold<L, 4, L>(v, L / 16);
    return v[0];
}

// The largest lane, in every lane.
template <int L, int D, std::size_t... I>
INLINE Vec<L> exchanged(Vec<L> v, std::index_sequence<I...>) {
    return __builtin_shufflevector(v, v, int(I ^ D)...);
}
template <int L, int D = L / 2> INLINE Vec<L> largest(Vec<L> v) {
    v = larger<L>(v, exchanged<L, D>(v, std::make_index_sequence<L>{}));
    if constexpr (D > 1) return largest<L, D / 2>(v);
    else return v;
}
template <int L> INLINE float total(Vec<L> v) {
    float s = 0;
    for (int i = 0; i < L; i++) s += v[i];
    return s;
}

// Bit i is lane i of m.
template <int L> INLINE unsigned bits(Mask<L> m) {
#if defined(__AVX512F__)
    if constexpr (L == 16) return _mm512_movepi32_mask((__m512i)m);
#endif
#if defined(__AVX__)
    if constexpr (L == 8) return unsigned(_mm256_movemask_ps((__m256)m));
#endif
#if defined(__SSE__)
    if constexpr (L == 4) return unsigned(_mm_movemask_ps((__m128)m));
#endif
    unsigned set = 0;
    for (int i = 0; i < L; i++) set |= (m[i] ? 1u : 0u) << i;
    return set;
}
