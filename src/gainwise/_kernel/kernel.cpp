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
    uint32_t operator()(Key key) const { return uint32_t((key >> shift & mask) ^ flip); }
};

struct Run {  // Documents with equal scores and different codes.
    int64_t begin, end;
    int64_t size() const { return end - begin; }
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
inline double by_eights(const double *values, int64_t count) {
    double sums[8] = {};
    int64_t i = 0;
    for (; i + 8 <= count; i += 8)
        for (int lane = 0; lane < 8; ++lane) sums[lane] += values[i + lane];
    for (int lane = 0; i < count; ++i, ++lane) sums[lane] += values[i];
    return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

// Sums a row in the order of `row_sums` in ranking/rows.py. Overwrites the values.
double row_sum(double *values, int64_t count) {
    while (count > 1) {
        int64_t chunks = 0;
        for (int64_t start = 0; start < count; start += 128)
            values[chunks++] = by_eights(values + start, std::min<int64_t>(128, count - start));
        count = chunks;
    }
    return count ? values[0] : 0.0;
}

// Sums numbers in the order of NumPy's reductions, here for `add.reduceat` after the first number.
double pairwise(const double *values, int64_t count) {
    if (count > 128) {
        const int64_t half = count / 16 * 8;
        return pairwise(values, half) + pairwise(values + half, count - half);
    }
    const int64_t eights = count / 8 * 8;
    double sum = eights ? by_eights(values, eights) : 0.0;
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
    int code_shift = 0, place_shift = 0;
    std::vector<Key> packed;
    std::vector<std::pair<Key, Key>> exact;
    std::vector<uint32_t> codes;  // In ranked order.
    int64_t ranked = 0;                // Number of valid codes.
    std::vector<Run> runs, open;       // Tied documents over whose orders metrics average, and candidates.
    std::vector<int64_t> ends;
    std::vector<uint32_t> chosen, lane_keys, narrow;
    int64_t disordered = 0;  // Documents whose narrow keys agree, but not their scores.
    int64_t wide = 0;        // Number of next queries that are sorted by wide keys.
    std::vector<int32_t> hits;
    std::vector<double> terms, spare, tied, lanes;

    void rank() {
        int place_bits = 1;
        while ((int64_t(1) << place_bits) <= count) ++place_bits;
        low = (Key(1) << (place_bits + data.code_bits)) - 1;
        code_shift = data.ties == ORDER ? 0 : place_bits;
        place_shift = data.ties == ORDER ? data.code_bits : 0;
        if (int64_t(packed.size()) < count) {
            packed.resize(count);
            codes.resize(count);
            terms.resize(count);
            spare.resize(count);
            ends.resize(count);
            open.resize(count + 1);
            chosen.resize(count);
            narrow.resize(count);
            hits.resize(count + 1);
        }
        disordered = 0;
        if (!(data.score_bytes == 4 ? pack<float>() : pack<double>())) {
            if (count > 1) data.sort(packed.data(), count, nullptr);
            if (count) met_nan |= packed[0] < NAN_BEFORE || packed[count - 1] >= NAN_FROM;
            while (count && packed[count - 1] >= NOT_RETRIEVED) --count;
        }
        ranked = std::min(deepest, count);
        runs.clear();
        if (ranked) ranked = find_runs(ranked);
        if (disordered > count / 8) wide = 64;
        std::transform(packed.data(), packed.data() + ranked, codes.data(), Decoder{codes_mask, flip, code_shift});
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
        int low_bits = 0;
        while (low >> low_bits) ++low_bits;
        const int bits = 32 - low_bits;
        if (bits < low_bits - data.code_bits + 6) return false;  // Too many documents would share a key.
        double most[2] = {scores[0], scores[0]}, least[2] = {scores[0], scores[0]}, odd[2] = {};
        const auto see = [&](double score, int lane) {
            most[lane] = score > most[lane] ? score : most[lane];
            least[lane] = score < least[lane] ? score : least[lane];
            odd[lane] += score * 0;  // NaN after NaN or infinity.
        };
        for (int64_t i = 1; i < count; i += 2) see(scores[i - 1], 0), see(scores[i], 1);
        see(scores[count - 1], 0);
        const double best = std::max(most[0], most[1]), range = best - std::min(least[0], least[1]);
        const double scale = range > 0 ? double((1 << bits) - 1) / range : 0.0;
        if (odd[0] + odd[1] != 0 || !(scale < 1e300) || !(range < 1e300)) return false;
        uint32_t *keys = narrow.data();
        const uint32_t flipped = uint32_t(flip);
        const int score_shift = low_bits, code_at = code_shift, place_at = place_shift;
        for (int64_t j = 0; j < count; ++j)
            keys[j] = uint32_t(int32_t((best - double(scores[j])) * scale)) << score_shift |
                      (uint32_t(labels[j]) ^ flipped) << code_at | uint32_t(j) << place_at;
        data.sort_narrow(keys, count, nullptr);
        std::copy(keys, keys + count, packed.data());
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

    uint32_t code_in(Key key) const { return Decoder{codes_mask, flip, code_shift}(key); }

    bool agree(int64_t i, int64_t j) const { return (packed[i] ^ packed[j]) <= low; }

    // Finds the runs that begin before `limit`, and corrects the order of documents whose scores differ only in the
    // lowest bits. Returns the rank up to which the order is correct: `limit`, or the end of the last of these runs.
    // There are no branches for single documents, because the processor cannot predict the end of a run. There are none
    // for runs with one code either, because their order is irrelevant.
    int64_t find_runs(int64_t limit) {
        int64_t ended = 0, begin = 0, mixed = 0;
        for (int64_t i = 1; i < limit; ++i) {
            ends[ended] = i;
            ended += !agree(i - 1, i);
        }
        while (limit < count && agree(limit - 1, limit)) ++limit;
        ends[ended++] = limit;
        if (ended == limit) return limit;  // All scores differ.
        if (data.score_bytes == 4 ? find_ends<float>(limit, ended) : find_ends<double>(limit, ended)) {
            for (int64_t i = 0; data.ties == AVERAGE && i < ended; begin = ends[i++]) {
                open[mixed] = {begin, ends[i]};
                mixed += code_in(packed[begin]) != code_in(packed[ends[i] - 1]);
            }
            runs.assign(open.begin(), open.begin() + mixed);
            return limit;
        }
        for (int64_t i = 0; i < ended; begin = ends[i++]) {
            open[mixed] = {begin, ends[i]};
            mixed += data.ties == ORDER ? open[mixed].size() > 1 : code_in(packed[begin]) != code_in(packed[ends[i] - 1]);
        }
        for (int64_t i = 0; i < mixed; ++i) compare(open[i]);
        return limit;
    }

    // Finds the ends of runs of equal scores. Returns false and changes nothing if the keys have hidden a higher score.
    template <class Score> bool find_ends(int64_t limit, int64_t &ended) {
        const Score *scores = static_cast<const Score *>(data.scores) + first;
        const Key places = low >> data.code_bits;
        const int shift = place_shift;
        double *whole = terms.data();
        bool sorted = true;
        for (int64_t i = 0; i < limit; ++i) whole[i] = scores[packed[i] >> shift & places];
        for (int64_t i = 1; i < limit; ++i) sorted &= whole[i - 1] >= whole[i];
        if (!sorted) return false;
        ended = 0;
        for (int64_t i = 1; i < limit; ++i) {
            ends[ended] = i;
            ended += whole[i - 1] != whole[i];
        }
        ends[ended++] = limit;
        return true;
    }

    // Compares the exact scores of documents whose keys agree in all bits but the lowest.
    void compare(Run run) {
        const Key key = whole_key(packed[run.begin]);
        bool same = true;
        for (int64_t i = run.begin + 1; i < run.end; ++i) same &= whole_key(packed[i]) == key;
        if (same) {
            if (data.ties == AVERAGE) runs.push_back(run);
            return;
        }
        exact.clear();
        disordered += run.size();
        for (int64_t i = run.begin; i < run.end; ++i) exact.emplace_back(whole_key(packed[i]), packed[i]);
        std::sort(exact.begin(), exact.end());
        for (int64_t i = run.begin; i < run.end; ++i) packed[i] = exact[i - run.begin].second;
        if (data.ties != AVERAGE) return;
        int64_t end;
        for (int64_t begin = run.begin; begin < run.end; begin = end) {
            end = begin + 1;
            while (end < run.end && exact[end - run.begin].first == exact[begin - run.begin].first) ++end;
            if (code_in(packed[begin]) != code_in(packed[end - 1])) runs.push_back({begin, end});
        }
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
        for (int64_t i = 0; i < depth; ++i) spare[i] = term(i);
        sum = row_sum(spare.data(), depth);
        for (; column < ask.cutoffs; ++column) write(ask, column, more ? sum + more[column] : sum);
    }

    // Sums gain times discount. Every document of a run has the mean gain of the run.
    void gains(const Ask &ask, int64_t depth) {
        const double *table = ask.table, *discount = ask.by_rank;
        const uint32_t *code = codes.data();
        if (runs.empty() || runs[0].begin >= depth)
            return write_sums(ask, depth, [=](int64_t i) { return table[code[i]] * discount[i]; });
        double *gain = terms.data();
        for (int64_t i = 0; i < depth; ++i) gain[i] = table[code[i]];
        for (const Run &run : runs) {
            if (run.begin >= depth) break;
            for (int64_t i = 0; i < run.size(); ++i) spare[i] = table[code[run.begin + i]];
            const double mean = (spare[0] + pairwise(spare.data() + 1, run.size() - 1)) / double(run.size());
            std::fill(gain + run.begin, gain + std::min(run.end, depth), mean);
        }
        write_sums(ask, depth, [=](int64_t i) { return gain[i] * discount[i]; });
    }

    // Sums precisions at relevant documents. See `TiedPrecisions` in average_precision.py for runs.
    void precisions(const Ask &ask, int64_t depth) {
        const uint32_t least = ask.code, *code = codes.data();
        const double *inverse = ask.by_rank;
        double *term = terms.data();
        int32_t relevant = 0, *up_to = hits.data();  // Number of relevant documents by number of ranks.
        for (int64_t i = 0; i < (runs.empty() ? depth : ranked); ++i) up_to[i + 1] = relevant += code[i] >= least;
        for (int64_t i = 0; i < depth; ++i) term[i] = double(up_to[i + 1] & -int32_t(code[i] >= least)) * inverse[i];
        tied.assign(ask.cutoffs, 0.0);
        for (const Run &run : runs) {
            if (run.begin >= depth) break;
            const int64_t size = run.size(), earlier = up_to[run.begin], r = up_to[run.end] - earlier;
            if (r == 0 || r == size) continue;  // Every order gives the same value.
            std::fill(term + run.begin, term + run.end, 0.0);
            const double share = double(r) / double(size), slope = double(r - 1) / double(size - 1);
            const double start = double(earlier + 1) - slope * double(run.begin + 1);
            for (int64_t column = 0; column < ask.cutoffs; ++column) {
                const int64_t places = std::max<int64_t>(std::min(ask.ranks[column] - run.begin, size), 0);
                const int64_t end = run.begin + places;
                const double harmonic = (ask.high[end] - ask.high[run.begin]) + (ask.low[end] - ask.low[run.begin]);
                tied[column] += share * (slope * double(places) + start * harmonic);
            }
        }
        write_sums(ask, depth, [=](int64_t i) { return term[i]; }, tied.data());
    }

    // Evaluates the rank of the first relevant document. See relevance.py for runs.
    void first_relevant(const Ask &ask, int64_t depth) {
        int64_t rank = 0;
        while (rank < ranked && codes[rank] < uint32_t(ask.code)) ++rank;
        const auto run = std::find_if(runs.begin(), runs.end(), [=](const Run &one) { return rank < one.end; });
        if (rank == ranked || run == runs.end() || run->begin > rank || run->begin >= depth) {
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
            write(ask, column, row_sum(terms.data(), places));
        }
    }
};

}  // namespace

EXPORT int gainwise_kernel_abi(void) { return 2; }

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
