/* Verifies $name against its reference on random data, then times both.
 *
 * usage: bench [--json] [--threads N] [--runs N] [sizes...]
 */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#ifdef _OPENMP
#include <omp.h>
#endif

enum { SIZES = $n_sizes, ARRAYS = $n_arrays };
enum kind { SIGNED, UNSIGNED, FLOATING, HALF, BFLOAT };

struct array {
    const char *name;
    size_t bytes;
    enum kind kind;
    int is_in, is_out;
    double tolerance;
    size_t count;
};

static struct array arrays[ARRAYS + 1] = {
$arrays
    {0},
};
static const char *const size_names[SIZES + 1] = {$size_names};
static int64_t sizes[SIZES + 1] = {$size_values};

/* ${name}_calls.c: what the sizes have to satisfy, the elements of each array, operations, bytes that
   are read or written at least, and both functions. */
int polyopt_allowed(const int64_t *polyopt_size);
void polyopt_count_elements(const int64_t *polyopt_size, size_t *polyopt_count);
double polyopt_operations(const int64_t *polyopt_size);
double polyopt_live_bytes(const int64_t *polyopt_size);
int polyopt_run_optimised(const int64_t *polyopt_size, void *const *polyopt_data, int polyopt_threads);
int polyopt_run_reference(const int64_t *polyopt_size, void *const *polyopt_data, int polyopt_threads);

typedef int (*runner)(const int64_t *, void *const *, int);

struct variant {
    const char *name;
    runner run;
    int threads;
    void *data[ARRAYS + 1];
    double median_ms, min_ms, iqr_ms, difference;
    int runs, agrees;
};

static void stop(const char *message) {
    fprintf(stderr, "bench: %s\n", message);
    exit(2);
}

static double now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

#ifdef __linux__
int madvise(void *start, size_t bytes, int advice);
#endif

/* Large arrays in large pages, where Linux has them for those who ask: NumPy's are. */
static void *allocate(size_t bytes) {
    void *data = NULL;
    if (posix_memalign(&data, 64, bytes ? bytes : 64)) {
        stop("out of memory");
    }
#ifdef __linux__
    if (bytes >> 22) { /* MADV_HUGEPAGE, from the start of a page: a wish, no more */
        madvise((void *)(((uintptr_t)data | 65535) + 1), bytes - 65536, 14);
    }
#endif
    return data;
}

/* Floats from 0 to 1, integers from 0 to 100. */
static void fill(void *data, const struct array *a) {
    static uint64_t state = 0x9e3779b97f4a7c15u;
    for (size_t i = 0; i < a->count; i++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        uint64_t small = (state >> 32) % 101;
        double unit = (double)(state >> 40) / 16777216.0;
        if (a->kind == HALF) { /* 1/2 to 1 */
            ((uint16_t *)data)[i] = (uint16_t)(0x3800 | (state >> 40 & 0x3ff));
        } else if (a->kind == BFLOAT) {
            ((uint16_t *)data)[i] = (uint16_t)(0x3f00 | (state >> 40 & 0x7f));
        } else if (a->kind == FLOATING && a->bytes == 4) {
            ((float *)data)[i] = (float)unit;
        } else if (a->kind == FLOATING) {
            ((double *)data)[i] = unit;
        } else if (a->bytes == 1) {
            ((uint8_t *)data)[i] = (uint8_t)small;
        } else if (a->bytes == 2) {
            ((uint16_t *)data)[i] = (uint16_t)small;
        } else if (a->bytes == 4) {
            ((uint32_t *)data)[i] = (uint32_t)small;
        } else {
            ((uint64_t *)data)[i] = small;
        }
    }
}

static double half_value(uint16_t bits, enum kind kind) {
    int width = kind == HALF ? 10 : 7, all = (1 << (15 - width)) - 1;
    int exponent = bits >> width & all, fraction = bits & ((1 << width) - 1);
    double value = fraction ? NAN : INFINITY;
    if (exponent < all) {
        int least = exponent ? exponent : 1;
        value = ldexp(fraction + (exponent ? 1 << width : 0), least - (all >> 1) - width);
    }
    return bits & 0x8000 ? -value : value;
}

static double element(const void *data, const struct array *a, size_t i) {
    if (a->bytes == 2) {
        return half_value(((const uint16_t *)data)[i], a->kind);
    }
    return a->bytes == 4 ? (double)((const float *)data)[i] : ((const double *)data)[i];
}

/* The largest difference relative to the largest value; 1 or 0 for integers. */
static double difference(const void *one, const void *two, const struct array *a) {
    if (a->kind < FLOATING) {
        return memcmp(one, two, a->count * a->bytes) ? 1.0 : 0.0;
    }
    double most = 0.0, scale = 0.0;
    for (size_t i = 0; i < a->count; i++) {
        double x = element(one, a, i), y = element(two, a, i);
        if (x == y || (isnan(x) && isnan(y))) {
            scale = isfinite(y) && fabs(y) > scale ? fabs(y) : scale;
            continue;
        }
        if (!isfinite(x) || !isfinite(y)) {
            return INFINITY;
        }
        most = fabs(x - y) > most ? fabs(x - y) : most;
        scale = fabs(y) > scale ? fabs(y) : scale;
    }
    return scale > 0.0 ? most / scale : most;
}

static int compare_doubles(const void *one, const void *two) {
    double x = *(const double *)one, y = *(const double *)two;
    return (x > y) - (x < y);
}

/* One run on fresh inputs; its time in milliseconds. */
static double run_once(struct variant *v, void *const *pristine) {
    for (int k = 0; k < ARRAYS; k++) {
        if (arrays[k].is_in && arrays[k].is_out) {
            memcpy(v->data[k], pristine[k], arrays[k].count * arrays[k].bytes);
        }
    }
    double start = now_ms();
    if (v->run(sizes, v->data, v->threads)) {
        stop("out of memory in the kernel");
    }
    return now_ms() - start;
}

static void prepare(struct variant *v, void *const *pristine) {
    for (int k = 0; k < ARRAYS; k++) {
        v->data[k] = arrays[k].is_out ? allocate(arrays[k].count * arrays[k].bytes) : pristine[k];
        if (arrays[k].is_out) {
            memset(v->data[k], 0xa5, arrays[k].count * arrays[k].bytes);
        }
    }
    run_once(v, pristine);
}

static void check(struct variant *v, const struct variant *reference) {
    v->agrees = 1;
    v->difference = 0.0;
    for (int k = 0; k < ARRAYS; k++) {
        if (arrays[k].is_out) {
            double d = difference(v->data[k], reference->data[k], &arrays[k]);
            v->agrees &= d <= arrays[k].tolerance;
            v->difference = d > v->difference ? d : v->difference;
        }
    }
}

enum { MOST_RUNS = 10000 };

/* Variants take turns, so that a busy moment of the machine hits all of them. */
static void measure(struct variant *variants, int count, int runs, void *const *pristine) {
    double *times = allocate((size_t)count * MOST_RUNS * sizeof(double));
    double end = now_ms() + 1000.0 * count;
    int done = 0;
    while (done < MOST_RUNS && (runs ? done < runs : done < 5 || now_ms() < end)) {
        for (int i = 0; i < count; i++) {
            times[i * MOST_RUNS + done] = run_once(&variants[i], pristine);
        }
        done++;
    }
    for (int i = 0; i < count; i++) {
        double *t = times + (size_t)i * MOST_RUNS;
        qsort(t, (size_t)done, sizeof(double), compare_doubles);
        variants[i].runs = done;
        variants[i].min_ms = t[0];
        variants[i].median_ms = t[done / 2];
        variants[i].iqr_ms = t[done * 3 / 4] - t[done / 4];
    }
    free(times);
}

static void print_table(const struct variant *variants, int count) {
    double flops = polyopt_operations(sizes), bytes = polyopt_live_bytes(sizes);
    printf("$name");
    for (int k = 0; k < SIZES; k++) {
        printf("%s %s = %lld", k ? "," : ":", size_names[k], (long long)sizes[k]);
    }
    printf("\n%-10s %7s %12s %12s %9s %9s  %s\n", "variant", "threads", "median ms", "least ms",
           "GB/s", "GFLOP/s", "agrees");
    for (int i = 0; i < count; i++) {
        const struct variant *v = &variants[i];
        printf("%-10s %7d %12.4f %12.4f %9.2f ", v->name, v->threads, v->median_ms, v->min_ms,
               bytes / v->median_ms * 1e-6);
        if (flops > 0) {
            printf("%9.2f", flops / v->median_ms * 1e-6);
        } else {
            printf("%9s", "-");
        }
        printf("  %s (difference %.1e)\n", v->agrees ? "yes" : "NO", v->difference);
    }
}

static void print_json(const struct variant *variants, int count) {
    double flops = polyopt_operations(sizes), bytes = polyopt_live_bytes(sizes);
    printf("{\"kernel\": \"$name\", \"sizes\": {");
    for (int k = 0; k < SIZES; k++) {
        printf("%s\"%s\": %lld", k ? ", " : "", size_names[k], (long long)sizes[k]);
    }
    printf("}, \"rows\": [");
    for (int i = 0; i < count; i++) {
        const struct variant *v = &variants[i];
        printf("%s\n  {\"variant\": \"%s\", \"threads\": %d, \"median_ms\": %.6g, \"min_ms\": %.6g, "
               "\"iqr_ms\": %.6g, \"runs\": %d, \"bandwidth_gbs\": %.6g, \"gflops\": ",
               i ? "," : "", v->name, v->threads, v->median_ms, v->min_ms, v->iqr_ms, v->runs,
               bytes / v->median_ms * 1e-6);
        if (flops > 0) {
            printf("%.6g", flops / v->median_ms * 1e-6);
        } else {
            printf("null");
        }
        printf(", \"agrees\": %s, \"difference\": ", v->agrees ? "true" : "false");
        if (isfinite(v->difference)) {
            printf("%.6g}", v->difference);
        } else {
            printf("null}");
        }
    }
    printf("\n]}\n");
}

static int64_t number(const char *text) {
    char *end = NULL;
    long long value = strtoll(text, &end, 10);
    if (end == text || *end || value < 1) {
        fprintf(stderr, "bench: %s is not a positive number\n", text);
        exit(2);
    }
    return value;
}

int main(int argc, char **argv) {
    int json = 0, runs = 0, given = 0, threads = 1;
#ifdef _OPENMP
    threads = omp_get_max_threads();
#endif
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--json")) {
            json = 1;
        } else if (!strcmp(argv[i], "--threads") && i + 1 < argc) {
            threads = (int)number(argv[++i]);
        } else if (!strcmp(argv[i], "--runs") && i + 1 < argc) {
            runs = (int)number(argv[++i]);
        } else if (given < SIZES) {
            sizes[given++] = number(argv[i]);
        } else {
            stop("usage: bench [--json] [--threads N] [--runs N] [sizes...]");
        }
    }
    if (given && given < SIZES) {
        stop("give all sizes, or none");
    }
    if (!polyopt_allowed(sizes)) {
        stop("these sizes are not allowed");
    }
    size_t counts[ARRAYS + 1] = {0};
    polyopt_count_elements(sizes, counts);
    void *pristine[ARRAYS + 1] = {NULL};
    for (int k = 0; k < ARRAYS; k++) {
        arrays[k].count = counts[k];
        if (arrays[k].is_in) {
            pristine[k] = allocate(counts[k] * arrays[k].bytes);
            fill(pristine[k], &arrays[k]);
        }
    }
    struct variant variants[] = {
        {.name = "reference", .run = polyopt_run_reference, .threads = 1},
        {.name = "optimised", .run = polyopt_run_optimised, .threads = 1},
        {.name = "optimised", .run = polyopt_run_optimised, .threads = threads},
    };
    int count = threads > 1 ? 3 : 2;
    for (int i = 0; i < count; i++) {
        prepare(&variants[i], pristine);
        check(&variants[i], &variants[0]);
    }
    measure(variants, count, runs, pristine);
    (json ? print_json : print_table)(variants, count);
    int agrees = 1;
    for (int i = 0; i < count; i++) {
        agrees &= variants[i].agrees;
        for (int k = 0; k < ARRAYS; k++) {
            if (arrays[k].is_out) {
                free(variants[i].data[k]);
            }
        }
    }
    for (int k = 0; k < ARRAYS; k++) {
        free(pristine[k]);
    }
    return agrees ? 0 : 1;
}
