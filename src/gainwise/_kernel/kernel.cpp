// Ranks queries and evaluates metrics with the same bits as the NumPy path in ranking/ and metrics/, for any number of
// threads. The NumPy path is the specification.
//
// A query is ranked in three steps. First, scores become integers that ascend as scores descend, with the label and
// the position of the document in their lowest bits. Second, these keys are sorted. Third, the exact scores of documents
// are compared if the remaining bits of their keys agree. Then each metric is computed from the ranked labels.
// Sums are computed in the order of the NumPy path. Compile with -ffp-contract=off, because a product that is not
// rounded before an addition gives other bits.

#include <algorithm>
#include <atomic>
#include <cstring>
#include <exception>
#include <new>
#include <stdint.h>
#include <thread>
#include <utility>
#include <vector>

#ifdef _WIN32
#define EXPORT extern "C" __declspec(dllexport)
#else
#define EXPORT extern "C" __attribute__((visibility("default")))
#endif

// These types mirror ranking/compiled.py. Increase `gainwise_kernel_abi` if one of them changes.

enum Ties : int32_t { AVERAGE, ORDER, WORST, BEST };
enum Kind : int32_t { GAINS, PRECISIONS, FIRST };
enum Outcome : int32_t { FINE, NOT_A_NUMBER, NO_MEMORY };

constexpr int64_t ALL = INT64_MAX;  // The cutoff of a metric without cutoff.

struct Data {
    const void *scores;     // Scores of all documents, query after query: double or float.
    const void *codes;      // Label codes: positions among the ascending distinct labels.
    const int64_t *starts;  // First document of each query, then the number of documents.
    int64_t queries;
    int32_t score_bytes, code_bytes, code_bits;
    Ties ties;
    int (*sort)(void *, intptr_t, void *);         // NumPy's sort of 64-bit unsigned integers.
    int (*sort_narrow)(void *, intptr_t, void *);  // NumPy's sort of 32-bit unsigned integers.
};

struct Ask {  // A metric at some cutoffs.
    Kind kind;
    int32_t code;            // PRECISIONS, FIRST: lowest code of relevant documents.
    int64_t cutoffs;         // Number of cutoffs, at least one.
    const int64_t *ranks;    // Ascending cutoffs.
    const int64_t *columns;  // Output column of each cutoff.
    const double *divisors;  // For each query and cutoff. 0 if the value is `empty`.
    double empty;            // Value of a query with divisor 0.
    const double *table;     // GAINS: gain of each code.
    const double *by_rank;   // GAINS: discounts. PRECISIONS: 1 / rank. FIRST: divisor of the probability of each rank.
    const double *high, *low;  // PRECISIONS: harmonic numbers, each as a sum of two.
};

namespace {

using Key = uint64_t;

constexpr Key SIGN = Key(1) << 63;
constexpr Key NOT_RETRIEVED = 0xFFF0000000000000;  // The key of -inf.
constexpr Key NAN_BEFORE = 0x0008000000000000, NAN_FROM = 0xFFF8000000000000;  // Keys outside belong to NaN.
constexpr int64_t FILTERED = 48;  // Shorter queries are sorted faster than filtered.
constexpr int64_t NARROW = 32;    // Shorter queries are sorted faster by wide keys.
constexpr int64_t LANES = 32;     // Smallest number of lanes of the filter, a multiple of the vector width.

struct Decoder {  // Extracts the code from a key.
    Key mask, flip;
    int shift;
    template <class K> uint32_t operator()(K key) const { return uint32_t(key >> shift & K(mask)) ^ uint32_t(flip); }
};

struct Run {  // Documents with equal scores and different codes.
    int64_t begin, end;
    int64_t size() const { return end - begin; }
};

struct TiedPrecisions {  // The factors of the sum of precisions over a run.
    int64_t begin, size;
    double share, slope, start;
};

// Ascends as scores descend. -0.0 equals 0.0.
inline Key key_of(double score) {
    const double negated = 0.0 - score;
    Key bits;
    std::memcpy(&bits, &negated, sizeof bits);
    return bits ^ (Key(int64_t(bits) >> 63) | SIGN);
}

// Inverse of `key_of`.
inline double score_of(Key key) {
    const Key bits = key ^ (key & SIGN ? SIGN : ~Key(0));
    double negated;
    std::memcpy(&negated, &bits, sizeof bits);
    return 0.0 - negated;
}

// Adds up eight sums in parallel, as NumPy does for up to 128 numbers.
template <class Term> double by_eights(Term term, int64_t begin, int64_t end) {
    double sums[8] = {};
    for (; begin + 8 <= end; begin += 8)
        for (int lane = 0; lane < 8; ++lane) sums[lane] += term(begin + lane);
    for (int lane = 0; begin < end; ++begin, ++lane) sums[lane] += term(begin);
    return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

// Sums a row in the order of `row_sums` in ranking/rows.py. Writes the sums of its chunks to `sums`.
template <class Term> double row_sum(Term term, int64_t count, double *sums) {
    const auto add_chunks = [&](auto term) {
        int64_t chunks = 0;
        for (int64_t begin = 0; begin < count; begin += 128)
            sums[chunks++] = by_eights(term, begin, std::min(begin + 128, count));
        count = chunks;
    };
    add_chunks(term);
    while (count > 1) add_chunks([=](int64_t i) { return sums[i]; });
    return count ? sums[0] : 0.0;
}

// Sums numbers in the order of NumPy's reductions, here for `add.reduceat` after the first number.
double pairwise(const double *values, int64_t count) {
    if (count > 128) {
        const int64_t half = count / 16 * 8;
        return pairwise(values, half) + pairwise(values + half, count - half);
    }
    const int64_t eights = count / 8 * 8;
    double sum = eights ? by_eights([=](int64_t i) { return values[i]; }, 0, eights) : 0.0;
    for (int64_t i = eights; i < count; ++i) sum += values[i];
    return sum;
}

// Ranks and evaluates one query after another. Each thread has its own ranker, which reuses its memory.
class Ranker {
  public:
    Ranker(const Data &data, const Ask *asks, int64_t count, double *found, int64_t columns)
        : data(data), asks(asks), asked(count), found(found), columns(columns) {
        for (const Ask *ask = asks; ask < asks + count; ++ask)
            deepest = std::max(deepest, ask->ranks[ask->cutoffs - 1]);
        codes_mask = (Key(1) << data.code_bits) - 1;
        flip = data.ties == BEST ? codes_mask : 0;  // Complements descend as codes ascend.
    }

    void evaluate(int64_t query) {
        row = query;
        first = data.starts[query];
        count = data.starts[query + 1] - first;
        rank();
        for (const Ask *ask = asks; ask < asks + asked; ++ask) {
            const int64_t depth = std::min(ask->ranks[ask->cutoffs - 1], count);
            if (ask->kind == GAINS) gains(*ask, depth);
            if (ask->kind == PRECISIONS) precisions(*ask, depth);
            if (ask->kind == FIRST) first_relevant(*ask, depth);
        }
    }

    bool met_nan = false;

  private:
    const Data &data;
    const Ask *asks;
    int64_t asked;
    double *found;
    int64_t columns;
    int64_t deepest = 0;  // The largest cutoff.
    Key codes_mask, flip;

    int64_t row = 0, first = 0;  // The current query and its first document.
    int64_t count = 0;           // Its documents, later only those that can reach the deepest rank.
    Key low = 0;                 // The bits of a key that contain code and position.
    int low_bits = 0, code_shift = 0, place_shift = 0;
    int64_t wide = 0;  // Number of next queries that are sorted by wide keys.
    std::vector<Key> packed;
    std::vector<std::pair<Key, Key>> exact;
    std::vector<uint32_t> codes;  // In ranked order.
    int64_t ranked = 0;           // Number of valid codes.
    std::vector<Run> runs;        // Tied documents over whose orders metrics average.
    int64_t run_count = 0;
    std::vector<uint32_t> chosen, lane_keys, narrow;
    std::vector<uint32_t> ties;  // Ranks with the same score as the rank before, then a zero.
    std::vector<int32_t> hits, certain;
    std::vector<uint8_t> edges;
    std::vector<TiedPrecisions> tied;
    std::vector<double> terms, spare, more, lanes;

    void rank() {
        int place_bits = 1;
        while ((int64_t(1) << place_bits) <= count) ++place_bits;
        low_bits = place_bits + data.code_bits;
        low = (Key(1) << low_bits) - 1;
        code_shift = data.ties == ORDER ? 0 : place_bits;
        place_shift = data.ties == ORDER ? data.code_bits : 0;
        if (int64_t(packed.size()) < count) {
            packed.resize(count);
            edges.resize(count + 1);
            for (auto *values : {&terms, &spare}) values->resize(count);
            for (auto *values : {&hits, &certain}) values->resize(count + 1);
            for (auto *values : {&codes, &chosen, &narrow, &ties}) values->resize(count + 1);
            runs.resize(count / 2 + 1);
            tied.resize(count / 2 + 1);
        }
        if (data.score_bytes == 4 ? pack<float>() : pack<double>()) return settle(narrow.data());
        if (count > 1) data.sort(packed.data(), count, nullptr);
        if (count) met_nan |= packed[0] < NAN_BEFORE || packed[count - 1] >= NAN_FROM;
        while (count && packed[count - 1] >= NOT_RETRIEVED) --count;
        settle(packed.data());
    }

    // Finds ties among sorted keys and extracts the codes.
    template <class K> void settle(K *keys) {
        ranked = std::min(deepest, count);
        run_count = 0;
        if (ranked) ranked = data.score_bytes == 4 ? find_runs<float>(keys, ranked) : find_runs<double>(keys, ranked);
        std::transform(keys, keys + ranked, codes.data(), decoder());
    }

    // Writes the keys. Returns whether they are sorted already.
    template <class Score> bool pack() {
        if (data.code_bytes == 1) return pack<Score, uint8_t>();
        if (data.code_bytes == 2) return pack<Score, uint16_t>();
        return pack<Score, uint32_t>();
    }

    template <class Score, class Code> bool pack() {
        const Score *scores = static_cast<const Score *>(data.scores) + first;
        const Code *labels = static_cast<const Code *>(data.codes) + first;
        if (count < FILTERED || deepest > count / 4) {
            if (count >= NARROW && --wide < 0 && pack_narrow(scores, labels)) return true;
            pack(scores, labels, [](int64_t i) { return Key(i); });
        } else {
            count = choose(scores);
            pack(scores, labels, [places = chosen.data()](int64_t i) { return Key(places[i]); });
        }
        return false;
    }

    // Sorts keys of 32 bits, in which the score is its distance from the best on a linear scale. Returns false if this
    // leaves too few bits for scores, or some are not finite.
    template <class Score, class Code> bool pack_narrow(const Score *scores, const Code *labels) {
        const int bits = 32 - low_bits;
        if (bits < low_bits - data.code_bits + 6) return false;  // Too many documents would share a key.
        double most[8], least[8], sums[8] = {};  // Of eight lanes.
        std::fill(most, most + 8, scores[0]);
        std::fill(least, least + 8, scores[0]);
        const auto see = [&](double score, int lane) {
            most[lane] = score > most[lane] ? score : most[lane];
            least[lane] = score < least[lane] ? score : least[lane];
            sums[lane] += score;
        };
        int64_t i = 0;
        for (; i + 8 <= count; i += 8)
            for (int lane = 0; lane < 8; ++lane) see(scores[i + lane], lane);
        for (int lane = 0; i < count; ++i, ++lane) see(scores[i], lane);
        const double best = *std::max_element(most, most + 8), range = best - *std::min_element(least, least + 8);
        const double scale = range > 0 ? double((1 << bits) - 1) / range : 0.0;
        const double sum = by_eights([&](int64_t lane) { return sums[lane]; }, 0, 8);
        // Without infinite scores, the sum is NaN only if a score is.
        if (!(range < 1e300) || !(scale < 1e300) || sum != sum) return false;
        uint32_t *keys = narrow.data();
        const uint32_t flipped = uint32_t(flip);
        const int score_shift = low_bits, code_at = code_shift, place_at = place_shift;
        for (int64_t j = 0; j < count; ++j)
            keys[j] = uint32_t(int32_t((best - double(scores[j])) * scale)) << score_shift |
                      (uint32_t(labels[j]) ^ flipped) << code_at | uint32_t(j) << place_at;
        data.sort_narrow(keys, count, nullptr);
        return true;
    }

    template <class Score, class Code, class Place> void pack(const Score *scores, const Code *labels, Place place_of) {
        Key *keys = packed.data();
        const Key kept = ~low, flipped = flip, code_unit = Key(1) << code_shift, place_unit = Key(1) << place_shift;
        for (int64_t i = 0; i < count; ++i) {
            const Key place = place_of(i);
            keys[i] = (key_of(scores[place]) & kept) | (labels[place] ^ flipped) * code_unit | place * place_unit;
        }
    }

    // Chooses all documents that can reach the deepest rank, with all ties. Returns their number. Documents are assigned
    // to lanes in turn. The best scores of the lanes belong to different documents, so the score at the deepest rank of
    // the query is at least as high as the score at this rank among the lanes.
    template <class Score> int64_t choose(const Score *scores) {
        int64_t width = LANES;
        while (width < 2 * deepest) width *= 2;
        if (int64_t(lanes.size()) < width) {
            lanes.resize(width);
            lane_keys.resize(width);
        }
        double *best = lanes.data();
        std::copy(scores, scores + width, best);
        for (int64_t begin = width; begin < count; begin += width)
            for (int64_t lane = 0, end = std::min(width, count - begin); lane < end; ++lane) {
                const double score = scores[begin + lane];
                best[lane] = score > best[lane] ? score : best[lane];
            }
        // The upper halves of the keys suffice. With all lower bits set, they belong to a score that is not higher.
        for (int64_t lane = 0; lane < width; ++lane) lane_keys[lane] = uint32_t(key_of(best[lane]) >> 32);
        data.sort_narrow(lane_keys.data(), width, nullptr);
        const double least = score_of(Key(lane_keys[deepest - 1]) << 32 | 0xFFFFFFFF);
        uint32_t *end = chosen.data();
        for (int64_t i = 0; i < count; ++i) {
            *end = uint32_t(i);
            end += !(scores[i] < least);  // NaN stays, so that it is noticed.
        }
        return end - chosen.data();
    }

    Decoder decoder() const { return {codes_mask, flip, code_shift}; }

    // Finds the runs that begin before `limit`, and corrects the order of documents whose scores differ only in the
    // lowest bits. Returns the rank up to which the order is correct: `limit`, or the end of the last of these runs.
    // There are no branches for single documents, because the processor cannot predict the end of a run.
    template <class Score, class K> int64_t find_runs(K *keys, int64_t limit) {
        while (limit < count && (keys[limit - 1] ^ keys[limit]) <= K(low)) ++limit;
        const int shift = low_bits;
        K closest = 0;  // Its highest bit is set if the scores of two neighbors agree.
        for (int64_t i = 1; i < limit; ++i) closest |= K((keys[i - 1] ^ keys[i]) >> shift) - 1;
        if (!(closest >> (8 * sizeof(K) - 1))) return limit;
        uint32_t *rank = ties.data();
        int64_t tied = 0;
        for (int64_t i = 1; i < limit; ++i) {
            rank[tied] = uint32_t(i);
            tied += (keys[i - 1] ^ keys[i]) >> shift == 0;
        }
        rank[tied] = 0;
        const Score *scores = static_cast<const Score *>(data.scores) + first;
        const auto score = [=, places = K(low >> data.code_bits), place_at = place_shift](int64_t i) {
            return scores[keys[i] >> place_at & places];
        };
        bool exact_ties = true;
        for (int64_t i = 0; i < tied; ++i) exact_ties &= score(rank[i]) == score(int64_t(rank[i]) - 1);
        if (!exact_ties) tied = compare(keys, tied);
        if (data.ties == AVERAGE) collect_runs(keys, tied);
        return limit;
    }

    // Sorts documents whose keys agree in all bits but the lowest by their exact scores, and removes ranks from `ties`
    // whose score differs from the one before. Returns the number of the others.
    template <class K> int64_t compare(K *keys, int64_t tied) {
        uint32_t *rank = ties.data();
        int64_t kept = 0;
        for (int64_t i = 0; i < tied;) {
            K *begin = keys + rank[i] - 1, *end = begin + 2;
            while (rank[++i] == end - keys) ++end;
            exact.clear();
            for (K *key = begin; key < end; ++key) exact.emplace_back(whole_key(*key), *key);
            std::sort(exact.begin(), exact.end());
            for (int64_t j = 0; j < end - begin; ++j) {
                begin[j] = K(exact[j].second);
                rank[kept] = uint32_t(begin - keys + j);
                kept += j && exact[j].first == exact[j - 1].first;
            }
        }
        rank[kept] = 0;
        if (sizeof(K) < sizeof(Key) && tied - kept > count / 8) wide = 64;
        return kept;
    }

    // Writes the runs of tied documents that have different codes.
    template <class K> void collect_runs(const K *keys, int64_t tied) {
        const uint32_t *rank = ties.data();
        const Decoder code_in = decoder();
        int64_t begin = int64_t(rank[0]) - 1, mixed = 0;
        for (int64_t i = 0; i < tied; ++i) {
            const int64_t end = int64_t(rank[i]) + 1, next = rank[i + 1];
            runs[mixed] = {begin, end};
            mixed += int(next != end) & int(code_in(keys[begin]) != code_in(keys[end - 1]));
            begin = next != end ? next - 1 : begin;
        }
        run_count = mixed;
    }

    Key whole_key(Key key) const {
        const Key places = low >> data.code_bits;
        const int64_t document = first + int64_t(key >> place_shift & places);
        if (data.score_bytes == 4) return key_of(static_cast<const float *>(data.scores)[document]);
        return key_of(static_cast<const double *>(data.scores)[document]);
    }

    void write(const Ask &ask, int64_t column, double value) {
        const double divisor = ask.divisors[row * ask.cutoffs + column];
        found[row * columns + ask.columns[column]] = divisor != 0 ? value / divisor : ask.empty;
    }

    // Writes the sums of a term over the first ranks at all cutoffs, plus the contribution of ties.
    template <class Term> void write_sums(const Ask &ask, int64_t depth, Term term, const double *more = nullptr) {
        double sum = 0;
        int64_t rank = 0, column = 0;
        for (; column < ask.cutoffs && ask.ranks[column] != ALL; ++column) {
            for (const int64_t end = std::min(ask.ranks[column], depth); rank < end; ++rank) sum += term(rank);
            write(ask, column, more ? sum + more[column] : sum);
        }
        if (column == ask.cutoffs) return;
        sum = row_sum(term, depth, spare.data());
        for (; column < ask.cutoffs; ++column) write(ask, column, more ? sum + more[column] : sum);
    }

    // Sums gain times discount. Every document of a run has the mean gain of the run.
    void gains(const Ask &ask, int64_t depth) {
        const double *table = ask.table, *discount = ask.by_rank;
        const uint32_t *code = codes.data();
        if (!run_count || runs[0].begin >= depth)
            return write_sums(ask, depth, [=](int64_t i) { return table[code[i]] * discount[i]; });
        double *gain = terms.data();
        for (int64_t i = 0; i < depth; ++i) gain[i] = table[code[i]];
        for (int64_t number = 0; number < run_count && runs[number].begin < depth; ++number) {
            const Run run = runs[number];
            for (int64_t i = 0; i < run.size(); ++i) spare[i] = table[code[run.begin + i]];
            const double mean = (spare[0] + pairwise(spare.data() + 1, run.size() - 1)) / double(run.size());
            std::fill(gain + run.begin, gain + std::min(run.end, depth), mean);
        }
        write_sums(ask, depth, [=](int64_t i) { return gain[i] * discount[i]; });
    }

    // Sums precisions at relevant documents. See `_sum_tied_precisions` in average_precision.py for runs.
    void precisions(const Ask &ask, int64_t depth) {
        const uint32_t least = ask.code, *code = codes.data();
        const double *inverse = ask.by_rank;
        int32_t relevant = 0, *hit = certain.data();  // 0 unless the document is relevant and outside of runs.
        int64_t mixed = 0;
        if (run_count && runs[0].begin < depth) {
            mixed = tie_precisions(ask, depth);
        } else {
            for (int64_t i = 0; i < depth; ++i) {
                relevant += code[i] >= least;
                hit[i] = relevant & -int32_t(code[i] >= least);
            }
        }
        more.resize(ask.cutoffs);
        for (int64_t column = 0; column < ask.cutoffs; ++column) {
            double sum = 0;
            for (const TiedPrecisions *run = tied.data(), *end = run + mixed; run < end; ++run) {
                const int64_t places = std::max<int64_t>(std::min(ask.ranks[column] - run->begin, run->size), 0);
                const int64_t last = run->begin + places;
                const double harmonic = (ask.high[last] - ask.high[run->begin]) + (ask.low[last] - ask.low[run->begin]);
                sum += run->share * (run->slope * double(places) + run->start * harmonic);
            }
            more[column] = sum;
        }
        write_sums(ask, depth, [=](int64_t i) { return double(hit[i]) * inverse[i]; }, more.data());
    }

    // Writes the runs with relevant and other documents to `tied`, and the ranks of certain hits. Returns the number of
    // these runs.
    int64_t tie_precisions(const Ask &ask, int64_t depth) {
        const uint32_t least = ask.code, *code = codes.data();
        uint8_t *edge = edges.data();
        std::fill(edge, edge + ranked + 1, uint8_t(0));
        const Run *end = runs.data();
        for (; end < runs.data() + run_count && end->begin < depth; ++end) {
            // Codes ascend within a run. If the first document is relevant, every order gives the same value.
            const bool uncertain = code[end->begin] < least;
            edge[end->begin] ^= uint8_t(uncertain);
            edge[end->end] ^= uint8_t(uncertain);
        }
        int32_t relevant = 0, outside = 1, *hit = certain.data(), *up_to = hits.data();
        for (int64_t i = 0; i < ranked; ++i) {
            const int32_t is_relevant = code[i] >= least;
            up_to[i + 1] = relevant += is_relevant;
            outside ^= edge[i];
            hit[i] = relevant & -(is_relevant & outside);
        }
        int64_t mixed = 0;
        for (const Run *run = runs.data(); run < end; ++run) {
            const int64_t size = run->size(), earlier = up_to[run->begin], r = up_to[run->end] - earlier;
            const double share = double(r) / double(size), slope = double(r - 1) / double(size - 1);
            tied[mixed] = {run->begin, size, share, slope, double(earlier + 1) - slope * double(run->begin + 1)};
            mixed += int(r > 0) & int(r < size);
        }
        return mixed;
    }

    // Evaluates the rank of the first relevant document. See relevance.py for runs.
    void first_relevant(const Ask &ask, int64_t depth) {
        int64_t rank = 0;
        while (rank < ranked && codes[rank] < uint32_t(ask.code)) ++rank;
        const auto end = runs.cbegin() + run_count;
        const auto run = std::find_if(runs.cbegin(), end, [=](const Run &one) { return rank < one.end; });
        if (rank == ranked || run == end || run->begin > rank || run->begin >= depth) {
            for (int64_t column = 0; column < ask.cutoffs; ++column)
                write(ask, column, rank < std::min(ask.ranks[column], ranked) ? 1.0 / ask.by_rank[rank] : 0.0);
            return;
        }
        const int64_t others = rank - run->begin, relevant = run->size() - others;
        for (int64_t column = 0; column < ask.cutoffs; ++column) {
            const int64_t places = std::max<int64_t>(std::min(ask.ranks[column] - run->begin, others + 1), 0);
            double none_before = 1.0;
            for (int64_t i = 0; i < places; ++i) {
                const double left = double(run->size() - i);
                terms[i] = none_before * (double(relevant) / left) / ask.by_rank[run->begin + i];
                none_before *= double(run->size() - i - relevant) / left;
            }
            write(ask, column, row_sum([values = terms.data()](int64_t i) { return values[i]; }, places, spare.data()));
        }
    }
};

}  // namespace

EXPORT int gainwise_kernel_abi(void) { return 3; }

// Writes the values of all queries to `found`, shape (queries, columns). Returns an `Outcome`.
EXPORT int32_t gainwise_evaluate(const Data *data, const Ask *asks, int64_t count, double *found, int64_t columns,
                                int64_t threads) {
    std::atomic<int64_t> next{0};
    std::atomic<int32_t> outcome{FINE};
    const int64_t step = std::min<int64_t>(std::max<int64_t>(data->queries / (threads * 16), 1), 64);
    const auto work = [&]() noexcept {
        try {
            Ranker ranker(*data, asks, count, found, columns);
            for (int64_t query; (query = next.fetch_add(step)) < data->queries;)
                for (const int64_t end = std::min(query + step, data->queries); query < end; ++query)
                    ranker.evaluate(query);
            if (ranker.met_nan) outcome = NOT_A_NUMBER;
        } catch (const std::bad_alloc &) {
            outcome = NO_MEMORY;
        }
    };
    std::vector<std::thread> others;
    try {
        others.reserve(threads);
        while (int64_t(others.size()) + 1 < threads) others.emplace_back(work);
    } catch (const std::exception &) {  // Continue with the threads that the system provides.
    }
    work();
    for (std::thread &other : others) other.join();
    return outcome;
}
