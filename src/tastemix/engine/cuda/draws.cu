// The words of NumPy's PCG64 (XSL RR 128/64), wherever in the sequence they lie. Compiled with --device-int128.

typedef unsigned __int128 Word;

constexpr u64 multiplier_high = 0x2360ED051FC65DA4ull, multiplier_low = 0x4385DF649FCCF645ull;

struct Jump {                   // state ↦ times · state + plus
    Word times, plus;
};

DEVICE Word joined(u64 high, u64 low) { return Word(high) << 64 | low; }

// So many steps at once.
DEVICE Jump jump_of(u64 steps, Word increment) {
    Jump all{1, 0}, one{joined(multiplier_high, multiplier_low), increment};
    for (; steps; steps >>= 1) {
        if (steps & 1) all = {all.times * one.times, all.plus * one.times + one.plus};
        one = {one.times * one.times, (one.times + 1) * one.plus};
    }
    return all;
}

// out[k] is word `skip` + k of the generator with this state and increment.
KERNEL words(u64 state_high, u64 state_low, u64 increment_high, u64 increment_low, u64 skip, i64 count, u64* out) {
    const i64 thread = i64(blockIdx.x) * blockDim.x + threadIdx.x, threads = i64(gridDim.x) * blockDim.x;
    if (thread >= count) return;
    const Word increment = joined(increment_high, increment_low);
    const Jump there = jump_of(skip + u64(thread) + 1, increment), next = jump_of(u64(threads), increment);
    Word state = there.times * joined(state_high, state_low) + there.plus;
    for (i64 k = thread; k < count; k += threads) {
        const u64 high = u64(state >> 64), mixed = high ^ u64(state);
        const unsigned turn = unsigned(high >> 58);
        out[k] = mixed >> turn | mixed << (-turn & 63);
        state = next.times * state + next.plus;
    }
}
