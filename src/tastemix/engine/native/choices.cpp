#include "choices.hpp"

#include <algorithm>

namespace tastemix {
namespace {

// Column sums of f(row, column) over groups of rows, each in chunks of rows; false if it was given up.
template <class F>
bool column_sums(int64_t rows, int rank, int64_t group, F&& f, std::vector<double>& groups, Poll poll) {
    const int64_t chunks = (rows + chunk_rows - 1) / chunk_rows;
    std::vector<double> parts(std::size_t(chunks * rank), 0.0);
    const auto add = [&](int64_t chunk, int) {
        double* part = parts.data() + chunk * rank;
        for (int64_t row = chunk * chunk_rows; row < std::min(rows, (chunk + 1) * chunk_rows); row++)
            f(row, part);
    };
    if (!parallel_for(chunks, add, poll)) return false;
    groups.assign(std::size_t((rows + group - 1) / group * rank), 0.0);
    for (int64_t chunk = 0; chunk < chunks; chunk++) {
        double* sum = groups.data() + chunk * chunk_rows / group * rank;
        for (int i = 0; i < rank; i++) sum[i] += parts[std::size_t(chunk * rank + i)];
    }
    return true;
}

// f(row) for every row.
template <class F> bool each_row(int64_t rows, F&& f, Poll poll) {
    const auto some = [&](int64_t chunk, int) {
        for (int64_t row = chunk * chunk_rows; row < std::min(rows, (chunk + 1) * chunk_rows); row++) f(row);
    };
    return parallel_for((rows + chunk_rows - 1) / chunk_rows, some, poll);
}

}  // namespace

Ridges::Ridges(const Half& own, int rank) : each(own.rows, rank), variances(own.rows, rank), own_(own) {}

bool Ridges::estimate(const Rows& other, const double* least, Poll poll) {
    if (!gather(own_, other, nullptr, nullptr, each, poll)) return false;
    return each_row(own_.rows, [&](int64_t row) {
        for (int i = 0; i < each.rank; i++) each.row(row)[i] += float(least[i]);
    }, poll);
}

Centres::Centres(const Half& own, int rank, int64_t group)
    : centres(own.rows, rank), suggested(own.rows, rank), own_(own), group_(group) {}

void Centres::weigh(const float* scale, const float* share) {
    scale_.assign(scale, scale + own_.rows);
    share_.assign(share, share + own_.rows);
}

bool Centres::place(const double* mean, const Rows& z, Poll poll) {
    if (!gather(own_, z, nullptr, scale_.data(), suggested, poll)) return false;
    return each_row(own_.rows, [&](int64_t row) {
        for (int i = 0; i < z.rank; i++) centres.row(row)[i] = float(mean[i]) + suggested.row(row)[i];
    }, poll);
}

bool Centres::left(const Rows& rows, std::vector<double>& groups, Poll poll) const {
    const int rank = centres.rank;
    return column_sums(own_.rows, rank, group_, [&](int64_t row, double* sum) {
        const float *x = rows.row(row), *c = centres.row(row);
        for (int i = 0; i < rank; i++) sum[i] += double(share_[std::size_t(row)]) * (double(x[i]) - c[i]);
    }, groups, poll);
}

bool Centres::leave(const Rows& rows, const float* shift, Poll poll) {
    return each_row(own_.rows, [&](int64_t row) {
        const float* x = rows.row(row);
        float *c = centres.row(row), *away = suggested.row(row);
        for (int i = 0; i < centres.rank; i++) {
            c[i] += shift[i];
            away[i] = x[i] - c[i];
        }
    }, poll);
}

bool Centres::suggest(const Rows& direction, Poll poll) {
    return gather(own_, direction, nullptr, scale_.data(), suggested, poll);
}

bool Centres::bend(std::vector<double>& groups, Poll poll) const {
    const int rank = suggested.rank;
    return column_sums(own_.rows, rank, group_, [&](int64_t row, double* sum) {
        const float* s = suggested.row(row);
        for (int i = 0; i < rank; i++) sum[i] += double(share_[std::size_t(row)]) * s[i] * s[i];
    }, groups, poll);
}

bool Centres::step(const float* length, Poll poll) {
    return each_row(own_.rows, [&](int64_t row) {
        for (int i = 0; i < centres.rank; i++) centres.row(row)[i] += length[i] * suggested.row(row)[i];
    }, poll);
}

bool Centres::spread(const Rows& rows, const Rows& variances, std::vector<double>& groups, Poll poll) const {
    const int rank = centres.rank;
    return column_sums(own_.rows, rank, group_, [&](int64_t row, double* sum) {
        if (own_.count(row) == 0) return;
        const float *x = rows.row(row), *c = centres.row(row), *v = variances.row(row);
        const bool known = std::any_of(v, v + rank, [](float entry) { return entry != 0; });
        for (int i = 0; i < rank; i++) {
            const double away = double(x[i]) - c[i];
            sum[i] += away * away + (known ? double(v[i]) : double(x[i]) * x[i]);
        }
    }, groups, poll);
}

Suggestions::Suggestions(const Half& other, int rank, int64_t group)
    : z(other.rows, rank),
      direction(other.rows, rank),
      other_(other),
      group_(group),
      inverse_(std::size_t(other.rows)),
      residual_(other.rows, rank),
      image_(other.rows, rank) {}

std::vector<double> Suggestions::weigh(const float* weight, const float* scale, float ridge) {
    ridge_ = ridge;
    std::vector<double> chunks(std::size_t((other_.rows + chunk_rows - 1) / chunk_rows), 0.0);
    for (int64_t j = 0; j < other_.rows; j++) {
        double diagonal = ridge;
        for (int64_t e = other_.pointers[j]; e < other_.pointers[j + 1]; e++) {
            const auto u = other_.indices[e];
            diagonal += double(weight[u]) * scale[u];
        }
        inverse_[std::size_t(j)] = float(1 / diagonal);
        chunks[std::size_t(j / chunk_rows)] += 1 - double(ridge) / diagonal;
    }
    return chunks;
}

bool Suggestions::begin(const Rows& away, const float* weight, std::vector<double>& groups, Poll poll) {
    if (!gather(other_, away, weight, nullptr, residual_, poll)) return false;
    return column_sums(z.count, z.rank, group_, [&](int64_t row, double* sum) {
        const float* zr = z.row(row);
        float *r = residual_.row(row), *p = direction.row(row);
        for (int i = 0; i < z.rank; i++) {
            r[i] -= ridge_ * zr[i];
            p[i] = inverse_[std::size_t(row)] * r[i];
            sum[i] += double(r[i]) * p[i];
        }
    }, groups, poll);
}

bool Suggestions::image(const Rows& suggested, const float* weight, std::vector<double>& groups, Poll poll) {
    if (!gather(other_, suggested, weight, nullptr, image_, poll)) return false;
    return column_sums(z.count, z.rank, group_, [&](int64_t row, double* sum) {
        const float* p = direction.row(row);
        float* q = image_.row(row);
        for (int i = 0; i < z.rank; i++) {
            q[i] += ridge_ * p[i];
            sum[i] += double(p[i]) * q[i];
        }
    }, groups, poll);
}

bool Suggestions::step(const float* length, std::vector<double>& groups, Poll poll) {
    return column_sums(z.count, z.rank, group_, [&](int64_t row, double* sum) {
        const float *p = direction.row(row), *q = image_.row(row);
        float *zr = z.row(row), *r = residual_.row(row);
        for (int i = 0; i < z.rank; i++) {
            zr[i] += length[i] * p[i];
            r[i] -= length[i] * q[i];
            sum[i] += double(r[i]) * inverse_[std::size_t(row)] * r[i];
        }
    }, groups, poll);
}

bool Suggestions::turn(const float* keep, Poll poll) {
    return each_row(z.count, [&](int64_t row) {
        const float* r = residual_.row(row);
        float* p = direction.row(row);
        for (int i = 0; i < z.rank; i++) p[i] = inverse_[std::size_t(row)] * r[i] + keep[i] * p[i];
    }, poll);
}

bool Suggestions::bend(std::vector<double>& groups, Poll poll) const {
    return column_sums(z.count, z.rank, group_, [&](int64_t row, double* sum) {
        const float* p = direction.row(row);
        for (int i = 0; i < z.rank; i++) sum[i] += double(ridge_) * p[i] * p[i];
    }, groups, poll);
}

bool Suggestions::finish(const float* length, Poll poll) {
    return each_row(z.count, [&](int64_t row) {
        const float* p = direction.row(row);
        for (int i = 0; i < z.rank; i++) z.row(row)[i] += length[i] * p[i];
    }, poll);
}

bool Suggestions::squares(std::vector<double>& groups, Poll poll) const {
    return column_sums(z.count, z.rank, group_, [&](int64_t row, double* sum) {
        for (int i = 0; i < z.rank; i++) sum[i] += double(z.row(row)[i]) * z.row(row)[i];
    }, groups, poll);
}

}  // namespace tastemix
