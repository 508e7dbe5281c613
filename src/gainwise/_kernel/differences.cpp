// Compares all rows with each other with the same bits as the NumPy path in differences.py.
// Compile with -ffp-contract=off, because a difference that is not rounded gives other bits.

#include <algorithm>
#include <stdint.h>

#ifdef _WIN32
#define EXPORT extern "C" __declspec(dllexport)
#else
#define EXPORT extern "C" __attribute__((visibility("default")))
#endif

// The loops of this file take half the time with the instructions of newer processors, which are chosen at run time.
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__GLIBC__)
#define FOR_EACH_PROCESSOR __attribute__((target_clones("avx2", "default")))
#else
#define FOR_EACH_PROCESSOR
#endif

namespace {

constexpr int64_t WIDTH = 64;  // So many columns of all rows fit into the cache of a processor.

// Both arrays begin at the first of these columns. Every pair is computed once for both of its directions.
FOR_EACH_PROCESSOR
void compare_columns(const double *values, const double *scale, double *largest, int64_t rows, int64_t columns,
                     int64_t width) {
    double largest_of_row[WIDTH];
    for (int64_t k = 0; k < rows; ++k) {
        const double *row = values + k * columns;
        std::copy(largest + k * columns, largest + k * columns + width, largest_of_row);
        for (int64_t j = k + 1; j < rows; ++j) {
            const double *other = values + j * columns, factor = scale[k * rows + j];
            double *largest_of_other = largest + j * columns;
            for (int64_t i = 0; i < width; ++i) {
                const double difference = (other[i] - row[i]) * factor;
                largest_of_row[i] = std::max(largest_of_row[i], difference);
                largest_of_other[i] = std::max(largest_of_other[i], -difference);
            }
        }
        std::copy(largest_of_row, largest_of_row + width, largest + k * columns);
    }
}

}  // namespace

// Raises `largest[k]`, shape (rows, columns), to the largest `(values[j] - values[k]) * scale[k, j]` of any row j. `scale`
// is symmetric.
EXPORT void gainwise_find_largest_differences(const double *values, const double *scale, double *largest, int64_t rows,
                                              int64_t columns) {
    for (int64_t begin = 0; begin < columns; begin += WIDTH)
        compare_columns(values + begin, scale, largest + begin, rows, columns, std::min(WIDTH, columns - begin));
}

// Writes the number of columns in which row j is larger than row k to `counts[k, j]`, shape (rows, rows).
EXPORT FOR_EACH_PROCESSOR void gainwise_count_larger(const int16_t *values, int32_t *counts, int64_t rows,
                                                     int64_t columns) {
    for (int64_t k = 0; k < rows; ++k) {
        const int16_t *row = values + k * columns;
        for (int64_t j = k + 1; j < rows; ++j) {
            const int16_t *other = values + j * columns;
            int32_t larger = 0, smaller = 0;
            for (int64_t begin = 0; begin < columns; begin += INT16_MAX) {
                int16_t other_larger = 0, row_larger = 0;  // As narrow as the values, which makes the loop fast.
                for (int64_t i = begin, end = std::min<int64_t>(begin + INT16_MAX, columns); i < end; ++i) {
                    other_larger += int16_t(other[i] > row[i]);
                    row_larger += int16_t(row[i] > other[i]);
                }
                larger += other_larger;
                smaller += row_larger;
            }
            counts[k * rows + j] = larger;
            counts[j * rows + k] = smaller;
        }
    }
}
