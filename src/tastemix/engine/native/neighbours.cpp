#include "neighbours.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <numeric>

namespace tastemix {
namespace {

constexpr int64_t rows_a_chunk = 16;
constexpr int64_t work_unasked = 1 << 22;   // ratings
constexpr int few_fetches = 16;         // columns of a problem
constexpr float rounding = 1e-4f;       // more than that of a few products
constexpr int64_t least_kept = 16;      // entries of a row of G, however large the catalogue

struct Entry {
    float value;
    int32_t index;
};
bool lower(const Entry& a, const Entry& b) { return a.index < b.index; }
using Names = std::vector<int32_t>;

// The items, the most rated first. Those of an item's candidates are mostly such, so that what is
// looked at of a row of G lies close together if its entries have this order.
Names by_count(const Half& by_item) {
    Names names(std::size_t(by_item.rows));
    std::iota(names.begin(), names.end(), 0);
    std::stable_sort(names.begin(), names.end(),
                     [&](int32_t i, int32_t j) { return by_item.count(i) > by_item.count(j); });
    return names;
}

// Floats that are not negative, by their first bits, in their order.
constexpr uint32_t buckets = 1 << 11;
uint32_t bucket(float value) { return std::bit_cast<uint32_t>(value) >> 20; }

// The `most` largest of the entries, by index; none is negative. Of equal ones the lower name stays.
void keep_largest(std::vector<Entry>& entries, std::size_t most, const Names& names) {
    const auto before = [&](const Entry& a, const Entry& b) {
        return a.value > b.value ||
               (a.value == b.value && names[std::size_t(a.index)] < names[std::size_t(b.index)]);
    };
    if (entries.size() > most) {
        std::array<std::size_t, buckets> counts{};
        for (const Entry& entry : entries) counts[bucket(entry.value)]++;
        uint32_t last = buckets - 1;
        std::size_t above = 0;
        while (above + counts[last] < most) above += counts[last--];
        const auto rest = std::stable_partition(
            entries.begin(), entries.end(), [&](const Entry& entry) { return bucket(entry.value) > last; });
        const auto end = std::partition(
            rest, entries.end(), [&](const Entry& entry) { return bucket(entry.value) == last; });
        std::nth_element(rest, entries.begin() + std::ptrdiff_t(most), end, before);
        entries.resize(most);
    }
    std::sort(entries.begin(), entries.end(), lower);
}

// G = AᵀA by places in `names`: all of it, or of every row the entries that are largest beside the
// diagonal. An entry is there if either of its two rows kept it, so that what is left is symmetric.
class Gram {
   public:
    Gram(const Half& by_user, const Half& by_item, int64_t most_floats)
        : names(by_count(by_item)), by_user_(by_user), by_item_(by_item), items_(by_item.rows),
          places_(std::size_t(items_)), diagonal_(std::size_t(items_)) {
        for (std::size_t place = 0; place < names.size(); place++) places_[std::size_t(names[place])] = int32_t(place);
        if (!by_user.mapped) {
            placed_.resize(std::size_t(by_user.ratings()));
            std::transform(by_user.indices, by_user.indices + by_user.ratings(), placed_.begin(),
                           [&](int32_t name) { return places_[std::size_t(name)]; });
        }
        dense_ = items_ <= most_floats / std::max<int64_t>(items_, 1);
        kept_ = std::size_t(std::max(most_floats / (2 * std::max<int64_t>(items_, 1)), least_kept));
        if (dense_) all_ = zeros(items_ * items_);
        else some_.resize(std::size_t(items_)), whole_.resize(std::size_t(items_)), least_.resize(std::size_t(items_));
    }

    bool fill(Poll poll) {
        for (int64_t i = 0; i < items_; i++) {
            float sum = 0;
            for (int64_t e = by_item_.pointers[i]; e < by_item_.pointers[i + 1]; e++)
                sum += by_item_.value(e) * by_item_.value(e);
            diagonal_[std::size_t(places_[std::size_t(i)])] = sum;
        }
        std::vector<std::vector<float>> rows(static_cast<std::size_t>(threads()));
        const int64_t chunks = (items_ + rows_a_chunk - 1) / rows_a_chunk;
        const auto fill = [&](int64_t chunk, int worker) {
            for (int64_t place = chunk * rows_a_chunk; place < std::min(items_, (chunk + 1) * rows_a_chunk); place++)
                if (dense_) add(place, names[std::size_t(place)], all_.get() + place * items_);
                else keep(place, rows[std::size_t(worker)]);
        };
        return parallel_for(chunks, fill, poll, int(rows.size())) &&
               (!dense_ || parallel_for(chunks, [&](int64_t chunk, int) { mirror(chunk); }, poll));
    }

    float diagonal(int64_t i) const { return diagonal_[std::size_t(i)]; }

    int64_t entries(int64_t i) const { return dense_ ? items_ : int64_t(some_[std::size_t(i)].size()); }

    // f(j, G_ij) for the entries of a row.
    template <class F> void each(int64_t i, F&& f) const {
        if (dense_)
            for (int64_t j = 0; j < items_; j++) f(int32_t(j), all_[i * items_ + j]);
        else
            for (const Entry& entry : some_[std::size_t(i)]) f(entry.index, entry.value);
    }

    bool dense() const { return dense_; }

    // out[c] = G_i,columns[c]; the columns are in order.
    void gather(int32_t i, const std::vector<int32_t>& columns, float* out) const {
        if (dense_) {
            const float* row = all_.get() + i * items_;
            for (std::size_t c = 0; c < columns.size(); c++) out[c] = row[columns[c]];
            return;
        }
        auto at = some_[std::size_t(i)].begin();
        const auto end = some_[std::size_t(i)].end();
        for (std::size_t c = 0; c < columns.size(); c++) {
            while (at != end && at->index < columns[c]) ++at;
            if (at != end && at->index == columns[c]) out[c] = at->value;
            else out[c] = may_be_kept_by(columns[c], i) ? kept_by(columns[c], i) : 0;
        }
    }

    const Names names;

   private:
    // Add the entries of a row for the items of names from `first` on.
    void add(int64_t place, int64_t first, float* row) const {
        const int32_t* const names_of = by_user_.indices;
        const auto placed = [&](int64_t f) { return placed_[std::size_t(f)]; };
        const auto looked_up = [&](int64_t f) { return places_[std::size_t(names_of[f])]; };
        const auto value = [values = by_user_.values](int64_t f) { return values[f]; };
        const auto decoded = [codes = by_user_.codes, levels = by_user_.levels](int64_t f) { return levels[codes[f]]; };
        if (placed_.empty()) {
            if (by_user_.values) add(place, first, row, looked_up, value);
            else add(place, first, row, looked_up, decoded);
        } else {
            if (by_user_.values) add(place, first, row, placed, value);
            else add(place, first, row, placed, decoded);
        }
    }

    template <class Place, class Value>
    void add(int64_t place, int64_t first, float* row, Place at, Value value) const {
        const int32_t i = names[std::size_t(place)];
        int64_t work = work_unasked;
        for (int64_t e = by_item_.pointers[i]; e < by_item_.pointers[i + 1]; e++) {
            const int32_t u = by_item_.indices[e];
            const float a = by_item_.value(e);
            const int64_t end = by_user_.pointers[u + 1];
            int64_t f = by_user_.pointers[u];
            if (first > 0)
                f = std::lower_bound(by_user_.indices + f, by_user_.indices + end, int32_t(first)) - by_user_.indices;
            work -= end - f;
            if (work <= 0) {
                if (give_up()) return;
                work = work_unasked;
            }
            for (; f < end; f++) row[at(f)] += a * value(f);
        }
    }

    // Both entries of each pair, of which one is there, in the rows of a chunk left of the diagonal
    // and in the columns above it, a square at a time.
    void mirror(int64_t chunk) {
        const int64_t begin = chunk * rows_a_chunk, end = std::min(items_, begin + rows_a_chunk);
        for (int64_t left = 0; left < end; left += rows_a_chunk)
            for (int64_t j = left; j < std::min(end, left + rows_a_chunk); j++)
                for (int64_t i = std::max(begin, j + 1); i < end; i++)
                    all_[i * items_ + j] = all_[j * items_ + i] += all_[i * items_ + j];
    }

    void keep(int64_t i, std::vector<float>& row) {
        row.resize(std::size_t(items_));
        add(i, 0, row.data());
        if (give_up()) return;
        const int32_t name = names[std::size_t(i)];
        std::vector<Entry> found;
        const auto look = [&](int32_t j) {
            float& value = row[std::size_t(j)];
            if (value != 0 && j != i) found.push_back({value, j});
            value = 0;
        };
        int64_t rated = 0;    // by those who rated the item
        for (int64_t e = by_item_.pointers[name]; e < by_item_.pointers[name + 1]; e++)
            rated += by_user_.count(by_item_.indices[e]);
        if (rated >= items_) {
            for (int64_t j = 0; j < items_; j++) look(int32_t(j));
        } else {
            for (int64_t e = by_item_.pointers[name]; e < by_item_.pointers[name + 1]; e++) {
                const int32_t u = by_item_.indices[e];
                for (int64_t f = by_user_.pointers[u]; f < by_user_.pointers[u + 1]; f++)
                    look(places_[std::size_t(by_user_.indices[f])]);
            }
        }
        whole_[std::size_t(i)] = found.size() <= kept_;
        if (!whole_[std::size_t(i)]) {
            for (Entry& entry : found) entry.value *= entry.value / diagonal(entry.index);
            keep_largest(found, kept_, names);
            least_[std::size_t(i)] = std::min_element(found.begin(), found.end(), [](const Entry& a, const Entry& b) {
                return a.value < b.value;
            })->value;
            for (Entry& entry : found) entry.value = std::sqrt(entry.value * diagonal(entry.index));
        } else std::sort(found.begin(), found.end(), lower);
        found.push_back({diagonal(i), int32_t(i)});
        std::inplace_merge(found.begin(), found.end() - 1, found.end(), lower);
        found.shrink_to_fit();
        some_[std::size_t(i)] = std::move(found);
    }

    // Whether a row may have kept an entry that the row of its column left out, by what both kept.
    bool may_be_kept_by(int32_t row, int32_t column) const {
        const float here = least_[std::size_t(row)] * diagonal(column), there = least_[std::size_t(column)] * diagonal(row);
        return !whole_[std::size_t(column)] && here <= there * (1 + rounding);
    }

    float kept_by(int32_t row, int32_t column) const {
        const auto& entries = some_[std::size_t(row)];
        const auto found = std::lower_bound(entries.begin(), entries.end(), Entry{0, column}, lower);
        return found != entries.end() && found->index == column ? found->value : 0;
    }

    const Half &by_user_, &by_item_;
    const int64_t items_;
    std::vector<int32_t> places_;    // by name
    std::vector<int32_t> placed_;    // the place of every rated item, user by user; empty where they are in files
    bool dense_;
    std::size_t kept_;
    std::vector<float> diagonal_;
    Floats all_;
    std::vector<std::vector<Entry>> some_;
    std::vector<uint8_t> whole_;     // rows that kept all entries
    std::vector<float> least_;       // of the others, by what they were chosen by
};

// The problem of one item over its candidates. Kept by a thread from item to item.
struct Problem {
    const Gram& gram;
    const NeighbourTerms& terms;
    const Kernels kernels = kernels_for(1);
    std::vector<Entry> gains{};
    std::vector<int32_t> candidates{};
    std::vector<float> x{}, gradient{}, diagonal{}, inverse{}, columns{};
    std::vector<uint8_t> there{};
    int fetches = 0;
    std::vector<int32_t> slots = std::vector<int32_t>(gram.dense() ? 0 : gram.names.size(), -1);    // of candidates

    static const float* column(void* context, int r) { return static_cast<Problem*>(context)->fetched(std::size_t(r)); }

    const float* fetched(std::size_t r) {
        float* at = columns.data() + r * x.size();
        if (!there[r] && !gram.dense() && ++fetches > few_fetches) fetch_all();
        if (!there[r]) {
            gram.gather(candidates[r], candidates, at);
            std::fill(at + candidates.size(), at + x.size(), 0.0f);
            at[r] += ridge(candidates[r]);
            there[r] = 1;
        }
        return at;
    }

    // What is left of the columns. Of few it takes less time to look up each entry that its own row
    // did not keep, of many to go through the rows of all candidates, each of which tells of both
    // entries of a pair.
    void fetch_all() {
        const std::size_t width = x.size(), count = candidates.size();
        for (std::size_t r = 0; r < count; r++) {
            slots[std::size_t(candidates[r])] = int32_t(r);
            if (!there[r]) std::fill_n(columns.data() + r * width, width, 0.0f);
        }
        for (std::size_t r = 0; r < count; r++)
            gram.each(candidates[r], [&](int32_t j, float value) {
                const int32_t slot = slots[std::size_t(j)];
                if (slot < 0) return;
                if (!there[r]) columns[r * width + std::size_t(slot)] = value;    // that of its own row counts
                float& other = columns[std::size_t(slot) * width + r];
                if (!there[std::size_t(slot)] && other == 0) other = value;
            });
        for (std::size_t r = 0; r < count; r++) {
            slots[std::size_t(candidates[r])] = -1;
            if (!there[r]) columns[r * width + r] += ridge(candidates[r]);
            there[r] = 1;
        }
    }

    float ridge(int32_t j) const { return terms.l2 + terms.l2_per_rating * gram.diagonal(j); }

    void choose(int64_t i) {
        gains.resize(std::size_t(gram.entries(i)));
        std::size_t count = 0;    // counted up without a branch
        gram.each(i, [&](int32_t j, float value) {
            const float slope = value - terms.l1;
            gains[count] = {slope * slope / (gram.diagonal(j) + ridge(j)), j};
            count += j != i && slope > 0;
        });
        gains.resize(count);
        keep_largest(gains, std::size_t(terms.candidates), gram.names);
        candidates.resize(gains.size());
        for (std::size_t c = 0; c < gains.size(); c++) candidates[c] = gains[c].index;
    }

    void solve(int64_t i) {
        choose(i);
        const auto lanes = std::size_t(kernels.lanes), width = (candidates.size() + lanes - 1) / lanes * lanes;
        x.assign(width, 0), gradient.assign(width, 0), diagonal.assign(width, 1), inverse.assign(width, 0);
        there.assign(width, 0);
        fetches = 0;
        if (columns.size() < width * candidates.size()) columns.resize(width * candidates.size());
        gram.gather(int32_t(i), candidates, gradient.data());
        for (std::size_t c = 0; c < candidates.size(); c++) {
            gradient[c] = terms.l1 - gradient[c];
            diagonal[c] = gram.diagonal(candidates[c]) + ridge(candidates[c]);
            inverse[c] = 1 / diagonal[c];
        }
        const float enough = std::max(terms.tolerance, rounding_gain) * gram.diagonal(i);
        kernels.nonnegative({x.data(), gradient.data(), diagonal.data(), inverse.data(), int(width), enough,
                             terms.max_updates},
                            column, this);
    }
};

}  // namespace

bool neighbours(const Half& by_user, const Half& by_item, const NeighbourTerms& terms, Links& links, Poll poll) {
    Gram gram(by_user, by_item, terms.gram_floats);
    if (!gram.fill(poll)) return false;
    const int64_t items = by_item.rows;
    std::vector<std::vector<Entry>> found(static_cast<std::size_t>(items));
    std::vector<Problem> problems(static_cast<std::size_t>(threads()), Problem{gram, terms});
    const auto solve = [&](int64_t place, int worker) {
        Problem& problem = problems[std::size_t(worker)];
        problem.solve(place);
        auto& row = found[std::size_t(gram.names[std::size_t(place)])];
        for (std::size_t c = 0; c < problem.candidates.size(); c++)
            if (problem.x[c] > 0) row.push_back({problem.x[c], gram.names[std::size_t(problem.candidates[c])]});
        std::sort(row.begin(), row.end(), lower);
    };
    if (!parallel_for(items, solve, poll, int(problems.size()))) return false;
    links.pointers.assign(1, 0);
    for (const auto& row : found) {
        for (const Entry& entry : row) {
            links.indices.push_back(entry.index);
            links.weights.push_back(entry.value);
        }
        links.pointers.push_back(int64_t(links.indices.size()));
    }
    return true;
}

}  // namespace tastemix
