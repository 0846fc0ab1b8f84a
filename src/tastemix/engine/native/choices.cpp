#include "choices.hpp"

#include <algorithm>
#include <cmath>

namespace tastemix {
namespace {

// Column sums of f(row, column) over all rows, in chunks of rows; false if it was given up.
template <class F> bool column_sums(int64_t rows, int rank, F&& f, std::vector<double>& total, Poll poll) {
    const int64_t chunks = (rows + chunk_rows - 1) / chunk_rows;
    std::vector<double> parts(std::size_t(chunks * rank), 0.0);
    const auto add = [&](int64_t chunk, int) {
        double* part = parts.data() + chunk * rank;
        for (int64_t row = chunk * chunk_rows; row < std::min(rows, (chunk + 1) * chunk_rows); row++)
            f(row, part);
    };
    if (!parallel_for(chunks, add, poll)) return false;
    total.assign(std::size_t(rank), 0.0);
    for (int64_t chunk = 0; chunk < chunks; chunk++)
        for (int i = 0; i < rank; i++) total[std::size_t(i)] += parts[std::size_t(chunk * rank + i)];
    return true;
}

// f(row) for every row.
template <class F> bool each_row(int64_t rows, F&& f, Poll poll) {
    const auto some = [&](int64_t chunk, int) {
        for (int64_t row = chunk * chunk_rows; row < std::min(rows, (chunk + 1) * chunk_rows); row++) f(row);
    };
    return parallel_for((rows + chunk_rows - 1) / chunk_rows, some, poll);
}

constexpr double least_left = 0.2;    // of the rows, however many numbers Z has

std::vector<float> ratios(const std::vector<double>& a, const std::vector<double>& b) {
    std::vector<float> out(a.size());
    for (std::size_t i = 0; i < a.size(); i++) out[i] = b[i] > 0 ? float(a[i] / b[i]) : 0;
    return out;
}

}  // namespace

Ridges::Ridges(const Half& own, int rank) : each(own.rows, rank), variances(own.rows, rank), own_(own) {}

bool Ridges::estimate(const Rows& other, const double* least, Poll poll) {
    if (!gather(own_, other, nullptr, nullptr, each, poll)) return false;
    return each_row(own_.rows, [&](int64_t row) {
        for (int i = 0; i < each.rank; i++) each.row(row)[i] += float(least[i]);
    }, poll);
}

Choices::Choices(const Half& own, const Half& other, int rank)
    : mean(std::size_t(rank), 0.0),
      z(own.columns, rank),
      centres(own.rows, rank),
      own_(own),
      other_(other),
      suggested_(own.rows, rank),
      residual_(own.columns, rank),
      direction_(own.columns, rank),
      image_(own.columns, rank) {}

void Choices::set(float l2, float l2_per_rating, float ridge, float shrinkage, bool alike) {
    if (l2 == l2_ && l2_per_rating == l2_per_rating_ && ridge == ridge_ && shrinkage == shrinkage_ && alike == alike_)
        return;
    l2_ = l2, l2_per_rating_ = l2_per_rating, ridge_ = ridge, shrinkage_ = shrinkage, alike_ = alike;
    const auto rows = std::size_t(own_.rows);
    scale_.resize(rows), weight_.resize(rows), share_.resize(rows);
    mean_ridge_ = 0;
    const auto pull = [&](int64_t row) {
        if (alike) return own_.count(row) > 0 ? 1.0 : 0.0;
        return double(l2) + double(l2_per_rating) * double(own_.count(row));
    };
    for (int64_t row = 0; row < own_.rows; row++) mean_ridge_ += pull(row);
    mean_ridge_ /= double(std::max<int64_t>(own_.rows, 1));
    total_weight_ = 0;
    for (std::size_t row = 0; row < rows; row++) {
        const auto count = double(own_.count(int64_t(row)));
        scale_[row] = float(1 / std::sqrt(std::max(count + double(shrinkage), 1.0)));
        share_[row] = float(alike ? pull(int64_t(row)) : pull(int64_t(row)) / mean_ridge_);
        weight_[row] = scale_[row] * share_[row];
        total_weight_ += share_[row];
    }
    inverse_.resize(std::size_t(other_.rows));
    freedom_ = 0;
    for (int64_t j = 0; j < other_.rows; j++) {
        double diagonal = ridge;
        for (int64_t e = other_.pointers[j]; e < other_.pointers[j + 1]; e++) {
            const auto u = std::size_t(other_.indices[e]);
            diagonal += double(weight_[u]) * scale_[u];
        }
        inverse_[std::size_t(j)] = float(1 / diagonal);
        freedom_ += 1 - double(ridge) / diagonal;
    }
}

bool Choices::place(Poll poll) {
    if (!gather(own_, z, nullptr, scale_.data(), suggested_, poll)) return false;
    return each_row(own_.rows, [&](int64_t row) {
        for (int i = 0; i < z.rank; i++) centres.row(row)[i] = float(mean[std::size_t(i)]) + suggested_.row(row)[i];
    }, poll);
}

double Choices::penalty(Poll poll) const {
    std::vector<double> squares;
    column_sums(z.count, z.rank, [&](int64_t row, double* sum) {
        for (int i = 0; i < z.rank; i++) sum[i] += double(z.row(row)[i]) * z.row(row)[i];
    }, squares, poll);
    double total = 0;
    for (const double entry : squares) total += entry;
    return 0.5 * double(ridge_) * mean_ridge_ * total;
}

std::vector<double> Choices::spread(const Rows& rows, const Rows& variances, Poll poll) const {
    std::vector<double> squares;
    column_sums(own_.rows, z.rank, [&](int64_t row, double* sum) {
        if (own_.count(row) == 0) return;
        const float *x = rows.row(row), *c = centres.row(row), *v = variances.row(row);
        const bool known = std::any_of(v, v + z.rank, [](float entry) { return entry != 0; });
        for (int i = 0; i < z.rank; i++) {
            const double away = double(x[i]) - c[i];
            sum[i] += away * away + (known ? double(v[i]) : 0.25 * double(x[i]) * x[i]);
        }
    }, squares, poll);
    const double left = std::max(total_weight_ - freedom_, least_left * total_weight_);
    for (double& entry : squares) entry = left > 0 ? entry / left : 0;
    return squares;
}

bool Choices::follow(const Rows& rows, int iterations, Poll poll) {
    const int rank = z.rank;
    // μ, given Z: the weighted mean of what Z leaves. The centres are moved along.
    std::vector<double> left;
    if (!column_sums(own_.rows, rank, [&](int64_t row, double* sum) {
            const float *x = rows.row(row), *c = centres.row(row);
            for (int i = 0; i < rank; i++) sum[i] += double(share_[std::size_t(row)]) * (double(x[i]) - c[i]);
        }, left, poll)) return false;
    std::vector<float> shift(static_cast<std::size_t>(rank));
    for (int i = 0; i < rank; i++) {
        const double before = mean[std::size_t(i)];
        if (total_weight_ > 0) mean[std::size_t(i)] = double(float(before + left[std::size_t(i)] / total_weight_));
        shift[std::size_t(i)] = float(mean[std::size_t(i)] - before);
    }
    // r = BᵀD (X − μ − BZ) − ρZ and the first direction, r over the diagonal.
    if (!each_row(own_.rows, [&](int64_t row) {
            const float* x = rows.row(row);
            float *c = centres.row(row), *away = suggested_.row(row);
            for (int i = 0; i < rank; i++) {
                c[i] += shift[std::size_t(i)];
                away[i] = x[i] - c[i];
            }
        }, poll)) return false;
    if (!gather(other_, suggested_, weight_.data(), nullptr, residual_, poll)) return false;
    std::vector<double> power;
    if (!column_sums(z.count, rank, [&](int64_t row, double* sum) {
            const float* zr = z.row(row);
            float *r = residual_.row(row), *p = direction_.row(row);
            for (int i = 0; i < rank; i++) {
                r[i] -= ridge_ * zr[i];
                p[i] = inverse_[std::size_t(row)] * r[i];
                sum[i] += double(r[i]) * p[i];
            }
        }, power, poll)) return false;
    for (int iteration = 0; iteration < iterations; iteration++) {
        if (!gather(own_, direction_, nullptr, scale_.data(), suggested_, poll)) return false;
        if (!gather(other_, suggested_, weight_.data(), nullptr, image_, poll)) return false;
        std::vector<double> curvature, next;
        if (!column_sums(z.count, rank, [&](int64_t row, double* sum) {
                const float* p = direction_.row(row);
                float* q = image_.row(row);
                for (int i = 0; i < rank; i++) {
                    q[i] += ridge_ * p[i];
                    sum[i] += double(p[i]) * q[i];
                }
            }, curvature, poll)) return false;
        const std::vector<float> step = ratios(power, curvature);
        if (!each_row(own_.rows, [&](int64_t row) {
                for (int i = 0; i < rank; i++) centres.row(row)[i] += step[std::size_t(i)] * suggested_.row(row)[i];
            }, poll)) return false;
        if (!column_sums(z.count, rank, [&](int64_t row, double* sum) {
                const float *p = direction_.row(row), *q = image_.row(row);
                float *zr = z.row(row), *r = residual_.row(row);
                for (int i = 0; i < rank; i++) {
                    zr[i] += step[std::size_t(i)] * p[i];
                    r[i] -= step[std::size_t(i)] * q[i];
                    sum[i] += double(r[i]) * inverse_[std::size_t(row)] * r[i];
                }
            }, next, poll)) return false;
        const std::vector<float> keep = ratios(next, power);
        power = next;
        if (!each_row(z.count, [&](int64_t row) {
                const float* r = residual_.row(row);
                float* p = direction_.row(row);
                for (int i = 0; i < rank; i++)
                    p[i] = inverse_[std::size_t(row)] * r[i] + keep[std::size_t(i)] * p[i];
            }, poll)) return false;
    }
    return true;
}

}  // namespace tastemix
