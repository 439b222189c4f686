/* What instructions, caches and threads cost: nanoseconds of each, the best of several rounds. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define APART __attribute__((noinline))
#define UNROLLED 16
/* bytes that caches move at once, and that a load may lie across */
#define LINE 64
/* elements of arrays without rows */
#define LONGEST 1024
#define LANES ((int)(VECTOR_BYTES / sizeof(float)))
/* lengths of rows that are looked at */
#define LENGTHS 6
#define OF_A_ROUND 20000
/* bytes: memory is read in pieces, so many of it in a round */
#define PIECE 32768
#define READ_IN_A_ROUND (8 << 20)
/* rows of arrays, and elements of a row */
#define HEIGHT 2
#define WIDTH 160

typedef float vec __attribute__((vector_size(VECTOR_BYTES)));
typedef double wide_vec __attribute__((vector_size(VECTOR_BYTES)));
typedef float loose_vec __attribute__((vector_size(VECTOR_BYTES), aligned(4), may_alias));

/* The compiler has to have the value in a register here, and knows nothing of it afterwards. */
#if defined(__AVX512F__)
#define OPAQUE(value) __asm__ volatile("" : "+v"(value))
#elif defined(__x86_64__)
#define OPAQUE(value) __asm__ volatile("" : "+x"(value))
#elif defined(__aarch64__)
#define OPAQUE(value) __asm__ volatile("" : "+w"(value))
#else
#define OPAQUE(value) __asm__ volatile("" : "+m"(value))
#endif
#define OPAQUE_INTEGER(value) __asm__ volatile("" : "+r"(value))
#define MEMORY_IS_READ() __asm__ volatile("" : : : "memory")

static unsigned char block[8192] __attribute__((aligned(4096)));
static float numbers[LONGEST] __attribute__((aligned(4096)));
/* half a page further, and rows take less than that: a load waits for a store that is a whole
 * number of pages away */
static float results_and_more[LONGEST / 2 + LONGEST] __attribute__((aligned(4096)));
static float *const results = results_and_more + LONGEST / 2;
static double wide_numbers[LONGEST] __attribute__((aligned(4096)));
static double wide_results_and_more[LONGEST / 4 + LONGEST] __attribute__((aligned(4096)));
static double *const wide_results = wide_results_and_more + LONGEST / 4;
static int32_t places[LONGEST];
static int64_t dividends[LONGEST], divisors[LONGEST];

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* Additions of integers that wait for one another: one a cycle. */
static APART void clock_chain(int64_t steps) {
    uint64_t sum = 1, more = 3;
    OPAQUE_INTEGER(more);
    for (int64_t i = 0; i < steps; i++) {
        for (int k = 0; k < UNROLLED; k++) {
            sum += more;
            OPAQUE_INTEGER(sum);
        }
    }
}

static APART void float_chain(int64_t steps) {
    float sum = 1.0f, more = 1e-9f;
    OPAQUE(more);
    for (int64_t i = 0; i < steps; i++) {
        for (int k = 0; k < UNROLLED; k++) {
            sum += more;
            OPAQUE(sum);
        }
    }
}

static inline void loads_at(int64_t steps, int64_t offset) {
    const unsigned char *from = block + offset;
    for (int64_t i = 0; i < steps; i++) {
        OPAQUE_INTEGER(from);
        for (int k = 0; k < UNROLLED; k++) {
            loose_vec value = *(const loose_vec *)(from + k * LINE);
            OPAQUE(value);
        }
    }
}

static APART void loads(int64_t steps) { loads_at(steps, 0); }

/* All of them an element beyond a boundary that even half a vector would not lie across. */
static APART void split_loads(int64_t steps) { loads_at(steps, LINE - VECTOR_BYTES + 4); }

static APART void stores(int64_t steps) {
    vec value = (vec){0} + 1.0f;
    OPAQUE(value);
    vec *to = (vec *)(void *)block;
    for (int64_t i = 0; i < steps; i++) {
        OPAQUE_INTEGER(to);
        for (int k = 0; k < UNROLLED; k++) {
            to[k] = value;
        }
        MEMORY_IS_READ();
    }
}

/* Chains that do not wait for each other: of multiply-adds, or every second one of additions. */
static inline void sums_of(int64_t steps, int mixed) {
    vec sums[ACCUMULATORS], scale = (vec){0} + 0.999f, shift = (vec){0} + 0.001f;
    OPAQUE(scale);
    OPAQUE(shift);
    for (int k = 0; k < ACCUMULATORS; k++) {
        sums[k] = (vec){0} + (float)k;
    }
    for (int64_t i = 0; i < steps; i++) {
        for (int k = 0; k < ACCUMULATORS; k += 2) {
            sums[k] = sums[k] * scale + shift;
            sums[k + 1] = (mixed ? sums[k + 1] : sums[k + 1] * scale) + shift;
        }
    }
    for (int k = 0; k < ACCUMULATORS; k++) {
        OPAQUE(sums[k]);
    }
}

static APART void multiply_adds(int64_t steps) { sums_of(steps, 0); }

static APART void mixed_sums(int64_t steps) { sums_of(steps, 1); }

static APART void divisions(int64_t steps) {
    vec above = (vec){0} + 1.37f, below = (vec){0} + 0.73f;
    OPAQUE(below);
    for (int64_t i = 0; i < steps; i++) {
        for (int k = 0; k < UNROLLED; k++) {
            OPAQUE(above);
            vec value = above / below;
            OPAQUE(value);
        }
    }
}

static APART void wide_divisions(int64_t steps) {
    wide_vec above = (wide_vec){0} + 1.37, below = (wide_vec){0} + 0.73;
    OPAQUE(below);
    for (int64_t i = 0; i < steps; i++) {
        for (int k = 0; k < UNROLLED; k++) {
            OPAQUE(above);
            wide_vec value = above / below;
            OPAQUE(value);
        }
    }
}

/* With some arithmetic on what is loaded, so that it has to be in vectors. */
static APART void gathers(int64_t steps) {
    float *restrict to = results;
    OPAQUE_INTEGER(to);
    for (int64_t i = 0; i < steps; i++) {
#pragma omp simd
        for (int j = 0; j < LONGEST; j++) {
            float value = numbers[places[j]];
            to[j] = value * value + value;
        }
        MEMORY_IS_READ();
    }
}

#define CALLS(name, type, into, value)             \
    static APART void name(int64_t steps) {        \
        type *to = into;                           \
        OPAQUE_INTEGER(to);                        \
        for (int64_t i = 0; i < steps; i++) {      \
            for (int j = 0; j < LONGEST; j++) {    \
                to[j] = value;                     \
            }                                      \
            MEMORY_IS_READ();                      \
        }                                          \
    }
CALLS(calls_tanhf, float, results, tanhf(numbers[j]))
CALLS(calls_logf, float, results, logf(numbers[j] + 1.0f))
CALLS(calls_expf, float, results, expf(numbers[j]))
CALLS(calls_sinf, float, results, sinf(numbers[j]))
CALLS(calls_powf, float, results, powf(numbers[j] + 1.0f, 1.7f))
CALLS(calls_exp, double, wide_results, exp(wide_numbers[j]))

static APART void integer_divisions(int64_t steps) {
    for (int64_t i = 0; i < steps; i++) {
        for (int j = 0; j < LONGEST; j++) {
            int64_t value = dividends[j] / divisors[j];
            OPAQUE_INTEGER(value);
        }
    }
}

/* Rows of a stencil, one of ``trips`` elements after the other; how long they are, the compiler
 * cannot know. */
#define ROWS(name, pragma, look)                                                          \
    static APART void name(int64_t rows, int64_t trips) {                                 \
        float *restrict to = results, scale = 0.25f;                                      \
        OPAQUE_INTEGER(to);                                                               \
        OPAQUE(scale);                                                                    \
        for (int64_t i = 0; i < rows; i++) {                                              \
            const float *from = numbers + i % HEIGHT * WIDTH;                             \
            int64_t first = 1, last = trips + 1;                                          \
            OPAQUE_INTEGER(first);                                                        \
            OPAQUE_INTEGER(last);                                                         \
            pragma for (int64_t j = first; j < last; j++) {                               \
                float value = (from[j] + from[j + WIDTH]) * scale + from[j + WIDTH + 1];  \
                look(value);                                                              \
                to[i % HEIGHT * WIDTH + j] = value;                                       \
            }                                                                             \
            MEMORY_IS_READ();                                                             \
        }                                                                                 \
    }
#define UNSEEN(value) (void)(value)
ROWS(scalar_rows, , OPAQUE)
ROWS(vector_rows, _Pragma("omp simd"), UNSEEN)

static void fill(void) {
    uint32_t state = 1;
    memset(block, 0, sizeof block);
    for (int i = 0; i < LONGEST; i++) {
        state = state * 1664525u + 1013904223u;
        places[i] = (int32_t)(state >> 8) % LONGEST;
        numbers[i] = (float)(state >> 8) / (float)(1 << 24);
        wide_numbers[i] = numbers[i];
        dividends[i] = (int64_t)(state >> 4);
        divisors[i] = (int64_t)(state >> 22) + 3;
    }
}

/* The best of the rounds that there is time for: at least two, the first to warm up. */
#define ROUNDS(budget, statement, best)                                       \
    double best = -1.0, until = now() + (budget);                             \
    for (int64_t round = 0; round < 2 || now() < until; round++) {            \
        double started = now();                                               \
        statement;                                                            \
        double took = now() - started;                                        \
        best = round && (best < 0.0 || took < best) ? took : best;            \
    }

/* Each with how many of what is counted a step has. */
static const struct {
    const char *name;
    void (*run)(int64_t);
    int each;
} kinds[] = {
    {"cycle", clock_chain, UNROLLED},
    {"latency", float_chain, UNROLLED},
    {"load", loads, UNROLLED},
    {"split_load", split_loads, UNROLLED},
    {"store", stores, UNROLLED},
    {"multiply_add", multiply_adds, ACCUMULATORS},
    {"mixed", mixed_sums, ACCUMULATORS},
    {"divide_f32", divisions, UNROLLED},
    {"divide_f64", wide_divisions, UNROLLED},
    {"gather", gathers, LONGEST},
    {"call_exp", calls_exp, LONGEST},
    {"call_expf", calls_expf, LONGEST},
    {"call_logf", calls_logf, LONGEST},
    {"call_powf", calls_powf, LONGEST},
    {"call_sinf", calls_sinf, LONGEST},
    {"call_tanhf", calls_tanhf, LONGEST},
    {"integer_divide", integer_divisions, LONGEST},
};

static void print_kinds(double budget) {
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        int64_t steps = OF_A_ROUND / kinds[k].each + 1;
        ROUNDS(budget, kinds[k].run(steps), best)
        printf("%s %.9g\n", kinds[k].name, best / (double)(steps * kinds[k].each));
    }
}

static double row_of(void (*run)(int64_t, int64_t), int trips, double budget) {
    int64_t rows = OF_A_ROUND / trips + 1;
    ROUNDS(budget, run(rows, trips), best)
    return best / (double)rows;
}

/* An iteration is what more of them add; a start is what a row takes beyond its iterations, on
 * average of rows of several lengths, whose ends a core foresees: a row is as long as the last. */
static void print_rows(const char *name, void (*run)(int64_t, int64_t), const int trips[LENGTHS],
                       double budget) {
    double each = (row_of(run, 128, 4 * budget) - row_of(run, 32, 4 * budget)) / (128 - 32);
    double start = 0.0;
    for (int k = 0; k < LENGTHS; k++) {
        start += (row_of(run, trips[k], budget) - trips[k] * each) / LENGTHS;
    }
    printf("%s_iteration %.9g\n%s_start %.9g\n", name, each, name, start);
}

static APART void read_all(const unsigned char *from) {
    for (int64_t i = 0; i < PIECE; i += 8 * VECTOR_BYTES) {
        for (int k = 0; k < 8; k++) {
            vec value = *(const vec *)(const void *)(from + i + k * VECTOR_BYTES);
            OPAQUE(value);
        }
    }
}

/* Each thread so many pieces of its own part, from where the round before stopped. */
static void read_parts(unsigned char *all, int64_t part, int64_t first, int64_t count,
                       int threads) {
    (void)threads;
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int t = 0; t < threads; t++) {
        for (int64_t i = first; i < first + count; i++) {
            read_all(all + (t * part + i % part) * PIECE);
        }
    }
}

/* Each thread touches its own part first: that puts it into its memory. */
static void touch_parts(unsigned char *all, int64_t part, int threads) {
    (void)threads;
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int t = 0; t < threads; t++) {
        memset(all + t * part * PIECE, 1, (size_t)(part * PIECE));
    }
}

/* Nanoseconds per byte that all threads together read, each of them ``bytes`` of its own again and
 * again; nothing where there is not so much memory. */
static void print_reading(const char *name, int64_t bytes, int threads, double budget) {
    void *all = NULL;
    int64_t part = bytes / PIECE + 1, count = READ_IN_A_ROUND / PIECE;
    if (posix_memalign(&all, 4096, (size_t)(part * threads * PIECE))) {
        return;
    }
    touch_parts(all, part, threads);
    ROUNDS(budget, read_parts(all, part, round * count, count, threads), best)
    free(all);
    printf("%s %.9g\n", name, best / (double)(count * threads * PIECE));
}

static void regions(int64_t count, int threads) {
    (void)threads;
    for (int64_t i = 0; i < count; i++) {
#pragma omp parallel for num_threads(threads) schedule(static)
        for (int t = 0; t < threads; t++) {
            MEMORY_IS_READ();
        }
    }
}

static void print_region(int threads, double budget) {
    int64_t count = 50;
    ROUNDS(budget, regions(count, threads), best)
    printf("region %.9g\n", best / (double)count);
}

/* Prints nanoseconds by name. ``budget`` is nanoseconds for each measurement, ``own`` bytes that
 * one thread reads from the second-level cache, the last one and memory, ``each`` the same of each
 * of all threads. */
void polyopt_print_costs(double budget, int threads, const int64_t own[3], const int64_t each[3]) {
    static const char *const reading[] = {"read_l2", "read_last", "read_memory"};
    static const char *const shared[] = {"shared_l2", "shared_last", "shared_memory"};
    static const int few[LENGTHS] = {2, 3, 5, 8, 13, 35};
    static const int vectors[LENGTHS] = {
        LANES, LANES + LANES / 4, 2 * LANES - 1, 2 * LANES + 1, 3 * LANES - LANES / 4,
        4 * LANES - LANES / 4,
    };
    fill();
    print_kinds(budget);
    print_rows("scalar", scalar_rows, few, budget);
    print_rows("vector", vector_rows, vectors, budget);
    for (int k = 0; k < 3; k++) {
        print_reading(reading[k], own[k], 1, 4 * budget);
    }
    for (int k = 0; k < 3 && threads > 1; k++) {
        print_reading(shared[k], each[k], threads, 10 * budget);
    }
    if (threads > 1) {
        print_region(threads, 10 * budget);
    }
    fflush(stdout);
}
