#include "rows.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>

namespace tastemix {
namespace {

constexpr int64_t chunk_cost = 8192;    // ratings, or what costs about as much
constexpr int64_t row_cost = 16;
constexpr int64_t work_unasked = 1 << 23;      // multiplications
constexpr int64_t gram_room = 1 << 22;  // floats
constexpr int64_t window = 1 << 22;     // ratings that are asked for at once

// Ask for the pages that hold entries first to last of an array in a file.
template <class T> void ask(const T* array, int64_t first, int64_t last) {
    static const auto page = std::uintptr_t(sysconf(_SC_PAGESIZE));
    const auto from = reinterpret_cast<std::uintptr_t>(array + first) / page * page;
    const auto to = reinterpret_cast<std::uintptr_t>(array + last);
    madvise(reinterpret_cast<void*>(from), to - from, MADV_WILLNEED);
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

int64_t Half::most_coded() const {
    int64_t most = 0;
    for (int64_t chunk = 0; codes && chunk < chunk_count(); chunk++)
        most = std::max(most, begin(chunk + 1) - begin(chunk));
    return most;
}

const float* Half::decoded(int64_t chunk, float* room) const {
    const int64_t first = begin(chunk), last = begin(chunk + 1);
    if (values) return values + first;
    for (int64_t entry = first; entry < last; entry++) room[entry - first] = levels[codes[entry]];
    return room;
}

void Half::read_ahead(int64_t chunk) const {
    if (!mapped) return;
    // The chunk in which a window begins asks for the one after it; the first one for its own too.
    const int64_t last = begin(chunk + 1) / window;
    for (int64_t w = chunk == 0 ? -1 : begin(chunk) / window + 1; w <= last; w++) {
        const int64_t from = (w + 1) * window, to = std::min(ratings(), from + window);
        if (from >= to) break;
        ask(indices, from, to);
        if (values) ask(values, from, to);
        else ask(codes, from, to);
    }
}

std::vector<int64_t> Half::chunked(const int64_t* pointers, int64_t rows) {
    std::vector<int64_t> bounds{0};
    int64_t cost = 0;
    for (int64_t row = 0; row < rows; row++) {
        cost += pointers[row + 1] - pointers[row] + row_cost;
        if (cost < chunk_cost && (row + 1) % chunk_rows != 0 && row + 1 < rows) continue;
        bounds.push_back(row + 1);
        cost = 0;
    }
    return bounds;
}

bool mark(int64_t* places, const int32_t* columns, const bool* gone, int64_t count, uint8_t* bits, int64_t bytes) {
    for (int64_t e = 0; e < count; e++) {
        const int64_t place = places[columns[e]]++;
        if (!gone[e]) continue;
        if (place < 0 || place / 8 >= bytes) return false;
        bits[place / 8] |= uint8_t(1 << place % 8);
    }
    return true;
}

Rows::Rows(int64_t rows, int rank_)
    : count(rows), rank(rank_), kernels(kernels_for(rank_)), data_(zeros(rows * kernels.width)) {}

void Rows::put(int64_t first, int64_t last, const float* rows) {
    for (int64_t number = first; number < last; number++)
        std::copy_n(rows + (number - first) * rank, rank, row(number));
}

void Rows::get(float* rows) const {
    for (int64_t number = 0; number < count; number++) std::copy_n(row(number), rank, rows + number * rank);
}

void Rows::take(const int32_t* numbers, int64_t some, float* rows) const {
    for (int64_t place = 0; place < some; place++) std::copy_n(row(numbers[place]), rank, rows + place * rank);
}

void Rows::put(int64_t first, const Rows& other) {
    std::copy_n(other.row(0), other.count * kernels.width, row(first));
}

void Rows::put(int64_t first, const Rows& other, const int32_t* numbers, int64_t some) {
    for (int64_t place = 0; place < some; place++)
        std::copy_n(other.row(numbers[place]), kernels.width, row(first + place));
}

std::vector<Sums> sums_of(const Rows& rows, const Half* half, const Rows* centres, bool gram, int64_t group,
                          Poll poll) {
    const int64_t width = rows.kernels.width, rank = rows.rank;
    const int64_t chunks_a_group = group / chunk_rows;
    struct Chunk {
        std::vector<double> columns;
        double squares = 0, counted = 0;
    };
    std::vector<Chunk> chunks(std::size_t(std::min(chunks_a_group, (rows.count + chunk_rows - 1) / chunk_rows)));
    // Of large Grams there are only so many at a time as there are threads, or as have room.
    const int64_t room = std::max<int64_t>(threads(), gram_room / (width * width));
    const int64_t at_once = gram ? std::min(chunks_a_group, room) : chunks_a_group;
    const Floats grams = zeros(gram ? std::min<int64_t>(at_once, int64_t(chunks.size())) * width * width : 0);
    std::vector<Sums> groups;
    for (int64_t first = 0; first < std::max<int64_t>(rows.count, 1); first += group) {
        const int64_t last = std::min(rows.count, first + group);
        const int64_t count = (last - first + chunk_rows - 1) / chunk_rows;
        int64_t wave = 0;
        const auto add = [&](int64_t place, int) {
            const int64_t number = wave + place;
            Chunk& chunk = chunks[std::size_t(number)];
            chunk.columns.assign(std::size_t(rank), 0.0);
            chunk.squares = chunk.counted = 0;
            const int64_t begin = first + number * chunk_rows, end = std::min(last, begin + chunk_rows);
            for (int64_t row = begin; row < end; row++) {
                const float* x = rows.row(row);
                const float* centre = centres ? centres->row(row) : nullptr;
                double squares = 0;
                for (int64_t i = 0; i < rank; i++) {
                    chunk.columns[std::size_t(i)] += x[i];
                    const double away = double(x[i]) - (centre ? double(centre[i]) : 0.0);
                    squares += away * away;
                }
                chunk.squares += squares;
                if (half) chunk.counted += squares * double(half->count(row));
            }
            if (gram)
                rows.kernels.gram(rows.row(begin), nullptr, end - begin, int(width), grams.get() + place * width * width,
                                  nullptr, give_up);
        };
        Sums sum{std::vector<double>(std::size_t(rank), 0.0), 0, 0,
                  std::vector<double>(std::size_t(gram ? rank * rank : 0), 0.0)};
        for (; wave < count; wave += at_once) {
            const int64_t places = std::min(at_once, count - wave);
            if (!parallel_for(places, add, poll)) return {};
            for (int64_t place = 0; place < places; place++) {
                const Chunk& chunk = chunks[std::size_t(wave + place)];
                for (std::size_t i = 0; i < std::size_t(rank); i++) sum.columns[i] += chunk.columns[i];
                sum.squares += chunk.squares;
                sum.counted += chunk.counted;
                for (int64_t r = 0; gram && r < rank; r++)
                    for (int64_t c = 0; c < rank; c++)
                        sum.gram[std::size_t(r * rank + c)] += grams[place * width * width + r * width + c];
            }
        }
        groups.push_back(std::move(sum));
    }
    return groups;
}

bool gather(const Half& half, const Rows& in, const float* weight, const float* scale, Rows& out, Poll poll) {
    const Gather g{half.pointers, half.indices, half.indices + half.ratings(), in.row(0), weight, scale, out.row(0),
                   in.kernels.width, give_up};
    const auto some = [&](int64_t chunk, int) {
        half.read_ahead(chunk);
        in.kernels.gather(g, half.chunks[std::size_t(chunk)], half.chunks[std::size_t(chunk) + 1]);
    };
    return parallel_for(half.chunk_count(), some, poll);
}

bool row_errors(const Half& half, const Rows& moving, const Rows& fixed, float shift, double low, double high,
                double* errors, Poll poll) {
    const int64_t ratings_unasked = std::max<int64_t>(work_unasked / moving.rank, 1);
    const auto add = [&](int64_t chunk, int) {
        int64_t asked = 0;
        half.read_ahead(chunk);
        for (int64_t row = half.chunks[std::size_t(chunk)]; row < half.chunks[std::size_t(chunk) + 1]; row++) {
            const float* x = moving.row(row);
            double total = 0;
            for (int64_t j = half.pointers[row]; j < half.pointers[row + 1]; j++) {
                if (++asked % ratings_unasked == 0 && give_up()) return;
                const float* y = fixed.row(half.indices[j]);
                double b[4] = {};    // added up side by side, as one sum would wait for each addition
                for (int64_t i = 0; i < moving.kernels.width; i += 4)
                    for (int64_t l = 0; l < 4; l++) b[l] += double(x[i + l]) * y[i + l];
                const double e = std::clamp(b[0] + b[1] + (b[2] + b[3]) + shift, low, high) - half.value(j);
                total += e * e;
            }
            errors[row] = total;
        }
    };
    return parallel_for(half.chunk_count(), add, poll);
}

}  // namespace tastemix
