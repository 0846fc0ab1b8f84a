#include "session.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

namespace tastemix {
namespace {

constexpr int64_t chunk_cost = 8192;    // ratings, or what costs about as much
constexpr int64_t row_cost = 16;
constexpr int product_chunks = 32;      // of YᵀY: fixed, so that sums don't depend on the threads

std::vector<int64_t> chunked(const Half& half) {
    std::vector<int64_t> bounds{0};
    int64_t cost = 0;
    for (int64_t row = 0; row < half.rows; row++) {
        cost += half.pointers[row + 1] - half.pointers[row] + row_cost;
        if (cost < chunk_cost && row + 1 < half.rows) continue;
        bounds.push_back(row + 1);
        cost = 0;
    }
    return bounds;
}

}  // namespace

void FreeAligned::operator()(float* p) const { std::free(p); }

Floats zeros(int64_t count) {
    const std::size_t bytes = (std::size_t(std::max<int64_t>(count, 1)) * sizeof(float) + 63) / 64 * 64;
    void* p = std::aligned_alloc(64, bytes);
    if (!p) throw std::bad_alloc();
    std::memset(p, 0, bytes);
    return Floats(static_cast<float*>(p));
}

Session::Session(Half by_user, Half by_item, int rank, float shift)
    : half_{by_user, by_item}, rank_(rank), shift_(shift), kernels_(kernels_for(rank)) {
    const int64_t width = kernels_.width, most = std::max(by_user.rows, by_item.rows);
    for (int side = 0; side < 2; side++) {
        chunks_[side] = chunked(half_[side]);
        factor_[side] = zeros(half_[side].rows * width);
        movable_[side] = zeros(width);
        std::fill_n(movable_[side].get(), rank, 1.0f);
    }
    tallies_.resize(std::max(chunks_[0].size(), chunks_[1].size()));
    gradient_ = zeros(most * width);
    gain_ = zeros(most);
    noise_ = zeros(most);
    gram_ = zeros(width * width);
    column_sums_ = zeros(width);
    linear_ = zeros(width);
    partial_ = zeros(product_chunks * width * (width + 1));
}

void Session::set_factor(int side, const float* rows) {
    for (int64_t row = 0; row < half_[side].rows; row++)
        std::copy_n(rows + row * rank_, rank_, factor_[side].get() + row * kernels_.width);
}

void Session::get_factor(int side, float* rows) const {
    for (int64_t row = 0; row < half_[side].rows; row++)
        std::copy_n(factor_[side].get() + row * kernels_.width, rank_, rows + row * rank_);
}

void Session::set_movable(int side, int coordinate, bool movable) {
    movable_[side][coordinate] = movable ? 1.0f : 0.0f;
}

void Session::make_room(int workers) {
    if (workers <= workers_) return;
    scratch_ = zeros(workers * scratch_floats(kernels_.width));
    workers_ = workers;
}

struct Session::Work {
    Session& session;
    const HalfStep* half_step;
    const int64_t* chunks;
    int64_t rows;
    int side;
    float threshold;

    float* scratch(int worker) const {
        return session.scratch_.get() + worker * scratch_floats(session.kernels_.width);
    }

    static void survey(void* context, int64_t chunk, int worker) {
        const Work& work = *static_cast<Work*>(context);
        work.session.kernels_.survey(*work.half_step, work.chunks[chunk], work.chunks[chunk + 1],
                                     work.scratch(worker), &work.session.tallies_[chunk].survey);
    }

    static void descend(void* context, int64_t chunk, int worker) {
        const Work& work = *static_cast<Work*>(context);
        work.session.kernels_.descend(*work.half_step, work.chunks[chunk], work.chunks[chunk + 1],
                                      work.threshold, work.scratch(worker),
                                      &work.session.tallies_[chunk].descent);
    }

    // One chunk's part of YᵀY and of the column sums.
    static void products(void* context, int64_t chunk, int worker) {
        const Work& work = *static_cast<Work*>(context);
        const Kernels& kernels = work.session.kernels_;
        const int64_t width = kernels.width;
        const int64_t begin = work.rows * chunk / product_chunks;
        const int64_t end = work.rows * (chunk + 1) / product_chunks;
        const float* rows = work.session.factor_[work.side].get() + begin * width;
        float* out = work.session.partial_.get() + chunk * width * (width + 1);
        kernels.gram(rows, nullptr, end - begin, kernels.width, out, work.scratch(worker));
        float* sums = out + width * width;
        std::fill_n(sums, width, 0.0f);
        for (int64_t row = 0; row < end - begin; row++)
            for (int64_t i = 0; i < width; i++) sums[i] += rows[row * width + i];
    }

    static void row_grams(void* context, int64_t chunk, int worker) {
        const Work& work = *static_cast<Work*>(context);
        const Kernels& kernels = work.session.kernels_;
        const Half& half = work.session.half_[work.side];
        const float* fixed = work.session.factor_[1 - work.side].get();
        float* out = work.scratch(worker);
        for (int64_t row = work.chunks[chunk]; row < work.chunks[chunk + 1]; row++)
            kernels.gram(fixed, half.indices + half.pointers[row], half.pointers[row + 1] - half.pointers[row],
                         kernels.width, out, out + int64_t(kernels.width) * kernels.width);
    }
};

// gram_ = YᵀY and column_sums_ = σ of a side; false if it was given up.
bool Session::column_products(int side, Poll poll) {
    const int64_t width = kernels_.width;
    Work work{*this, nullptr, nullptr, half_[side].rows, side, 0};
    if (!parallel(product_chunks, workers_, Work::products, &work, poll)) return false;
    std::fill_n(gram_.get(), width * width, 0.0f);
    std::fill_n(column_sums_.get(), width, 0.0f);
    for (int chunk = 0; chunk < product_chunks; chunk++) {
        const float* part = partial_.get() + chunk * width * (width + 1);
        for (int64_t i = 0; i < width * width; i++) gram_[i] += part[i];
        for (int64_t i = 0; i < width; i++) column_sums_[i] += part[width * width + i];
    }
    return true;
}

// The average row of a side.
std::vector<double> Session::average(int side) const {
    std::vector<double> sum(std::size_t(rank_), 0.0);
    for (int64_t row = 0; row < half_[side].rows; row++)
        for (int i = 0; i < rank_; i++) sum[std::size_t(i)] += factor_[side][row * kernels_.width + i];
    for (double& entry : sum) entry /= double(half_[side].rows);
    return sum;
}

// λ₁ΣY + ½Σ(λ₂ + λ₂′|Ω|)‖y‖² of a side; where it is centred, λ₂ counts the distance to the average.
double Session::penalty(int side, const Numbers& numbers) const {
    if (numbers.l1 == 0 && numbers.l2 == 0 && numbers.l2_per_rating == 0) return 0;
    double total = 0;
    for (int64_t row = 0; row < half_[side].rows; row++) {
        const float* y = factor_[side].get() + row * kernels_.width;
        const auto count = double(half_[side].pointers[row + 1] - half_[side].pointers[row]);
        double sum = 0, squares = 0;
        for (int i = 0; i < rank_; i++) {
            sum += y[i];
            squares += double(y[i]) * y[i];
        }
        total += numbers.l1 * sum + 0.5 * (numbers.l2 + numbers.l2_per_rating * count) * squares;
    }
    if (numbers.centred)
        for (const double entry : average(side)) total -= 0.5 * numbers.l2 * double(half_[side].rows) * entry * entry;
    return total;
}

Report Session::half_step(int side, const Numbers& numbers, float tolerance, int64_t max_updates, Poll poll) {
    make_room(threads());
    const Half& half = half_[side];
    const int64_t width = kernels_.width, others = half_[1 - side].rows;
    const int64_t ratings = half.pointers[half.rows];
    const float w = numbers.weight, prior = numbers.dynamic ? 0 : numbers.prior;

    if (w != 0 && !column_products(1 - side, poll)) return {0, 0, 0, true};
    for (int64_t i = 0; i < width * width && w != 0; i++) gram_[i] *= w;
    for (int i = 0; i < rank_; i++)
        linear_[i] = numbers.l1 - (w != 0 ? w * prior * column_sums_[i] : 0);
    std::vector<double> centre(std::size_t(rank_), 0.0);
    if (numbers.centred) centre = average(side);
    for (int i = 0; i < rank_; i++) linear_[i] -= numbers.l2 * float(centre[std::size_t(i)]);

    HalfStep h{};
    h.pointers = half.pointers;
    h.indices = half.indices;
    h.indices_end = half.indices + ratings;
    h.values = half.values;
    h.moving = factor_[side].get();
    h.fixed = factor_[1 - side].get();
    h.gram = gram_.get();
    h.linear = linear_.get();
    h.movable = movable_[side].get();
    h.gradient = gradient_.get();
    h.gain = gain_.get();
    h.noise = noise_.get();
    h.shift = shift_;
    h.pull = numbers.dynamic ? 1 : 1 - w;
    h.target = w * prior;
    h.own = 1 - w;
    h.l2 = numbers.l2;
    h.l2_per_rating = numbers.l2_per_rating;
    h.shared = w != 0;
    h.gradient_gram = w != 0 && !numbers.dynamic;
    h.width = kernels_.width;
    h.max_updates = max_updates;

    const int64_t count = int64_t(chunks_[side].size()) - 1;
    Work work{*this, &h, chunks_[side].data(), half.rows, side, 0};
    if (!parallel(count, workers_, Work::survey, &work, poll)) return {0, 0, 0, true};
    double objective = penalty(1 - side, numbers);
    if (!numbers.dynamic)
        objective += 0.5 * w * prior * prior * (double(half.rows) * double(others) - double(ratings));
    for (const double entry : centre) objective += 0.5 * numbers.l2 * double(half.rows) * entry * entry;
    float best = 0;
    for (int64_t chunk = 0; chunk < count; chunk++) {
        objective += tallies_[chunk].survey.objective;
        best = std::max(best, tallies_[chunk].survey.gain);
    }
    work.threshold = tolerance * best;
    if (!parallel(count, workers_, Work::descend, &work, poll)) return {0, 0, 0, true};
    Report report{objective, 0, 0, false};
    for (int64_t chunk = 0; chunk < count; chunk++) {
        const Descent& descent = tallies_[chunk].descent;
        report.objective -= descent.decrease;
        report.updates += descent.updates;
        report.largest = std::max(report.largest, descent.largest);
    }
    if (numbers.centred) {    // the average follows the rows, and is nearer to them
        const std::vector<double> now = average(side);
        for (std::size_t i = 0; i < now.size(); i++)
            report.objective -= 0.5 * numbers.l2 * double(half.rows) * (now[i] - centre[i]) * (now[i] - centre[i]);
    }
    return report;
}

void Session::row_grams(int side, Poll poll) {
    make_room(threads());
    Work work{*this, nullptr, chunks_[side].data(), half_[side].rows, side, 0};
    parallel(int64_t(chunks_[side].size()) - 1, workers_, Work::row_grams, &work, poll);
}

}  // namespace tastemix
