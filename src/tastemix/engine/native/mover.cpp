#include "mover.hpp"

#include <algorithm>

namespace tastemix {
namespace {

std::vector<double> of_chunks(const Half& half) {
    return std::vector<double>(std::size_t((half.rows + chunk_rows - 1) / chunk_rows), 0.0);
}

std::size_t place_of(const Half& half, int64_t chunk) { return std::size_t(half.chunks[std::size_t(chunk)] / chunk_rows); }

}  // namespace

void Workspace::make_room(int64_t rows, int width, int64_t chunks, int workers, int64_t coded) {
    if (rows * width > floats_) {
        gradient.reset();
        gradient = zeros(floats_ = rows * width);
    }
    if (workers * coded > values_) values = zeros(values_ = workers * coded);
    if (rows > rows_) {
        gain = zeros(rows);
        noise = zeros(rows);
        rows_ = rows;
    }
    if (workers * scratch_floats(width) > scratch_) scratch = zeros(scratch_ = workers * scratch_floats(width));
    if (std::size_t(chunks) > surveys.size()) {
        surveys.resize(std::size_t(chunks));
        descents.resize(std::size_t(chunks));
    }
}

void Workspace::release() {
    for (Floats* each : {&gradient, &gain, &noise}) each->reset();
    floats_ = rows_ = 0;
}

Mover::Mover(const Half& half, Rows& moving, float shift, Workspace& work)
    : half_(half), moving_(moving), shift_(shift), work_(work), most_coded_(half.most_coded()) {
    const int64_t width = moving.kernels.width;
    movable_ = zeros(width);
    std::fill_n(movable_.get(), moving.rank, 1.0f);
    linear_ = zeros(width);
}

bool Mover::survey(const Rows& fixed, const Terms& terms, const Pulled& pulled, Surveyed& out, Poll poll) {
    const Kernels& kernels = moving_.kernels;
    const int64_t width = kernels.width, rank = moving_.rank, count = half_.chunk_count();
    const int workers = int(std::min<int64_t>(threads(), count));
    work_.make_room(half_.rows, kernels.width, count, workers, most_coded_);
    const float w = terms.weight, prior = terms.dynamic ? 0 : terms.prior;
    if (w != 0 && !gram_) gram_ = zeros(width * width);
    for (int64_t r = 0; w != 0 && r < rank; r++) std::copy_n(terms.gram + r * rank, rank, gram_.get() + r * width);
    std::copy_n(terms.linear, rank, linear_.get());

    step_ = HalfStep{};
    step_.pointers = half_.pointers;
    step_.indices = half_.indices;
    step_.indices_end = half_.indices + half_.ratings();
    step_.moving = moving_.row(0);
    step_.fixed = fixed.row(0);
    step_.centres = pulled.centres ? pulled.centres->row(0) : nullptr;
    step_.ridges = pulled.ridges ? pulled.ridges->row(0) : nullptr;
    step_.variances = pulled.variances ? pulled.variances->row(0) : nullptr;
    step_.variance = pulled.variance;
    step_.gram = gram_.get();
    step_.linear = linear_.get();
    step_.movable = movable_.get();
    step_.gradient = work_.gradient.get();
    step_.gain = work_.gain.get();
    step_.noise = work_.noise.get();
    step_.shift = shift_;
    step_.pull = terms.dynamic ? 1 : 1 - w;
    step_.target = w * prior;
    step_.own = 1 - w;
    step_.l2 = terms.l2;
    step_.l2_per_rating = terms.l2_per_rating;
    step_.shared = w != 0;
    step_.gradient_gram = w != 0 && !terms.dynamic;
    step_.width = kernels.width;
    step_.stop = give_up;

    const auto look = [&](int64_t chunk, int worker) {
        half_.read_ahead(chunk);
        HalfStep step = step_;    // whose values begin where those of the first rating would
        step.values = half_.decoded(chunk, work_.values.get() + worker * most_coded_) - half_.begin(chunk);
        kernels.survey(step, half_.chunks[std::size_t(chunk)], half_.chunks[std::size_t(chunk) + 1],
                       work_.scratch.get() + worker * scratch_floats(kernels.width),
                       &work_.surveys[std::size_t(chunk)]);
    };
    if (!parallel_for(count, look, poll, workers)) return false;
    out = {of_chunks(half_), 0};
    for (int64_t chunk = 0; chunk < count; chunk++) {
        out.objective[place_of(half_, chunk)] += work_.surveys[std::size_t(chunk)].objective;
        out.gain = std::max(out.gain, work_.surveys[std::size_t(chunk)].gain);
    }
    return true;
}

bool Mover::descend(float threshold, int64_t max_updates, Descended& out, Poll poll) {
    const Kernels& kernels = moving_.kernels;
    const int64_t count = half_.chunk_count();
    const int workers = int(std::min<int64_t>(threads(), count));
    work_.make_room(half_.rows, kernels.width, count, workers, 0);
    step_.max_updates = max_updates;
    const auto move = [&](int64_t chunk, int worker) {
        if (step_.own != 0) half_.read_ahead(chunk);
        kernels.descend(step_, half_.chunks[std::size_t(chunk)], half_.chunks[std::size_t(chunk) + 1], threshold,
                        work_.scratch.get() + worker * scratch_floats(kernels.width),
                        &work_.descents[std::size_t(chunk)]);
    };
    if (!parallel_for(count, move, poll, workers)) return false;
    out = {of_chunks(half_), 0, 0};
    for (int64_t chunk = 0; chunk < count; chunk++) {
        const Descent& part = work_.descents[std::size_t(chunk)];
        out.decrease[place_of(half_, chunk)] += part.decrease;
        out.updates += part.updates;
        out.largest = std::max(out.largest, part.largest);
    }
    return true;
}

void Mover::row_grams(const Rows& fixed, Poll poll) {
    const Kernels& kernels = moving_.kernels;
    const int workers = int(std::min<int64_t>(threads(), half_.chunk_count()));
    work_.make_room(half_.rows, kernels.width, half_.chunk_count(), workers, 0);
    const auto form = [&](int64_t chunk, int worker) {
        float* out = work_.scratch.get() + worker * scratch_floats(kernels.width);
        for (int64_t row = half_.chunks[std::size_t(chunk)]; row < half_.chunks[std::size_t(chunk) + 1]; row++)
            kernels.gram(fixed.row(0), half_.indices + half_.pointers[row], half_.count(row), kernels.width, out,
                         out + int64_t(kernels.width) * kernels.width, give_up);
    };
    parallel_for(half_.chunk_count(), form, poll, workers);
}

}  // namespace tastemix
