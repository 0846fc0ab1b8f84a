// Greedy coordinate descent where columns of Q are fetched as they are needed. Included by kernels.inl,
// inside its anonymous namespace.

// Takes the step s along coordinate r (none where column is null) and returns the gain of the next best
// coordinate, which it puts in r and s: one pass over the problem for each update.
template <int L> INLINE float passed(const Nonnegative& p, const float* column, int& r, float& s) {
    const Mask<L> lane = iota<L>();
    Vec<L> best{};
    Mask<L> where{};
    if (column) p.x[r] += s;
    for (int i = 0; i < p.width; i += L) {
        Vec<L> g = load<L>(p.gradient + i);
        if (column) {
            g += s * load<L>(column + i);
            store<L>(p.gradient + i, g);
        }
        const Vec<L> gain = gain_of<L>(g, best_step<L>(g, load<L>(p.x + i), load<L>(p.inverse + i)), load<L>(p.diagonal + i));
        where = gain > best ? i + lane : where;
        best = larger<L>(best, gain);
    }
    const Vec<L> top = largest<L>(best);
    const unsigned there = bits<L>(best == top);
    if (!(top[0] > 0) || there == 0) return 0;
    r = where[__builtin_ctz(there)];
    const float step = -p.gradient[r] * p.inverse[r];
    s = step > -p.x[r] ? step : -p.x[r];
    return top[0];
}

template <int L> int64_t nonnegative(const Nonnegative& p, Column column, void* context) {
    int r = 0;
    float s = 0;
    float gain = passed<L>(p, nullptr, r, s);
    int64_t updates = 0;
    for (; gain > p.enough && updates < p.max_updates; updates++) gain = passed<L>(p, column(context, r), r, s);
    return updates;
}
