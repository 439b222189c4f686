/* Runs $name on the inputs of check.bin, compares with the outputs there, and times.
 *
 * usage: $name-run [--json] [--threads N] [--runs N] [--input FILE --output FILE]
 * FILEs hold the polyopt_tensors' elements one after the other, as in memory.
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

#include "$name.h"

enum { polyopt_inputs = $inputs, polyopt_outputs = $outputs, polyopt_all = polyopt_inputs + polyopt_outputs, polyopt_most_runs = 10000 };

enum kind { polyopt_whole, polyopt_float, polyopt_half, polyopt_bfloat };

struct tensor {
    const char *name;
    size_t bytes, element;
    enum kind kind;
    double tolerance;
};

static const struct tensor polyopt_tensors[polyopt_all] = {
$table
};

static void polyopt_stop(const char *message, const char *about) {
    fprintf(stderr, "$name: %s%s\n", message, about);
    exit(2);
}

static void *polyopt_allocate(size_t bytes) {
    void *data = NULL;
    if (posix_memalign(&data, 64, bytes ? bytes : 64)) {
        polyopt_stop("out of memory", "");
    }
    return data;
}

static void polyopt_read_exactly(FILE *file, void *data, size_t bytes, const char *path) {
    if (fread(data, 1, bytes, file) != bytes) {
        polyopt_stop("too short: ", path);
    }
}

static FILE *polyopt_opened(const char *path, const char *how) {
    FILE *file = fopen(path, how);
    if (!file) {
        polyopt_stop("cannot open ", path);
    }
    return file;
}

static double polyopt_now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static double polyopt_half_value(uint16_t bits, enum kind kind) {
    int width = kind == polyopt_half ? 10 : 7, all = (1 << (15 - width)) - 1;
    int exponent = bits >> width & all, fraction = bits & ((1 << width) - 1);
    double value = fraction ? NAN : INFINITY;
    if (exponent < all) {
        int least = exponent ? exponent : 1;
        value = ldexp(fraction + (exponent ? 1 << width : 0), least - (all >> 1) - width);
    }
    return bits & 0x8000 ? -value : value;
}

static double polyopt_element(const void *data, const struct tensor *t, size_t i) {
    if (t->element == 2) {
        return polyopt_half_value(((const uint16_t *)data)[i], t->kind);
    }
    return t->element == 4 ? (double)((const float *)data)[i] : ((const double *)data)[i];
}

/* The largest difference relative to the largest value; 1 or 0 for integers. */
static double polyopt_difference(const void *found, const void *expected, const struct tensor *t) {
    if (t->kind == polyopt_whole) {
        return memcmp(found, expected, t->bytes) ? 1.0 : 0.0;
    }
    double most = 0.0, scale = 0.0;
    for (size_t i = 0; i < t->bytes / t->element; i++) {
        double x = polyopt_element(found, t, i), y = polyopt_element(expected, t, i);
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

static int polyopt_compare_doubles(const void *one, const void *two) {
    double x = *(const double *)one, y = *(const double *)two;
    return (x > y) - (x < y);
}

static int polyopt_number(const char *text) {
    char *end = NULL;
    long value = strtol(text, &end, 10);
    if (end == text || *end || value < 1 || value > polyopt_most_runs) {
        polyopt_stop("no number from 1 to 10000: ", text);
    }
    return (int)value;
}

static void polyopt_run(const void *weights, void *memory, void *const *data, int threads) {
    if ($name(weights, memory, $arguments, threads)) {
        polyopt_stop("out of memory in a kernel", "");
    }
}

int main(int argc, char **argv) {
    int json = 0, runs = 0, threads = 1;
    const char *input = NULL, *output = NULL;
#ifdef _OPENMP
    threads = omp_get_max_threads();
#endif
    for (int i = 1; i < argc; i++) {
        int more = i + 1 < argc;
        if (!strcmp(argv[i], "--json")) {
            json = 1;
        } else if (!strcmp(argv[i], "--threads") && more) {
            threads = polyopt_number(argv[++i]);
        } else if (!strcmp(argv[i], "--runs") && more) {
            runs = polyopt_number(argv[++i]);
        } else if (!strcmp(argv[i], "--input") && more) {
            input = argv[++i];
        } else if (!strcmp(argv[i], "--output") && more) {
            output = argv[++i];
        } else {
            polyopt_stop("usage: [--json] [--threads N] [--runs N] [--input FILE --output FILE]", "");
        }
    }
    if (!input != !output) {
        polyopt_stop("--input and --output go together", "");
    }
    void *weights = polyopt_allocate(${guard}_WEIGHTS), *memory = polyopt_allocate(${guard}_MEMORY);
    FILE *file = polyopt_opened("weights.bin", "rb");
    polyopt_read_exactly(file, weights, ${guard}_WEIGHTS, "weights.bin");
    fclose(file);
    void *data[polyopt_all], *expected[polyopt_all] = {NULL};
    const char *path = input ? input : "check.bin";
    file = polyopt_opened(path, "rb");
    for (int k = 0; k < polyopt_all; k++) {
        data[k] = polyopt_allocate(polyopt_tensors[k].bytes);
        if (k < polyopt_inputs) {
            polyopt_read_exactly(file, data[k], polyopt_tensors[k].bytes, path);
        } else if (!input) {
            expected[k] = polyopt_allocate(polyopt_tensors[k].bytes);
            polyopt_read_exactly(file, expected[k], polyopt_tensors[k].bytes, path);
        }
    }
    fclose(file);
    polyopt_run(weights, memory, data, threads);
    if (output) {
        file = polyopt_opened(output, "wb");
        for (int k = polyopt_inputs; k < polyopt_all; k++) {
            if (fwrite(data[k], 1, polyopt_tensors[k].bytes, file) != polyopt_tensors[k].bytes) {
                polyopt_stop("cannot write ", output);
            }
        }
        if (fclose(file)) {
            polyopt_stop("cannot write ", output);
        }
        return 0;
    }
    double worst = 0.0;
    int agrees = 1;
    for (int k = polyopt_inputs; k < polyopt_all; k++) {
        double d = polyopt_difference(data[k], expected[k], &polyopt_tensors[k]);
        worst = d > worst ? d : worst;
        agrees &= d <= polyopt_tensors[k].tolerance;
    }
    int done = 0;
    double *times = polyopt_allocate(polyopt_most_runs * sizeof(double)), end = polyopt_now_ms() + 1000.0;
    while (done < polyopt_most_runs && (runs ? done < runs : done < 5 || polyopt_now_ms() < end)) {
        double start = polyopt_now_ms();
        polyopt_run(weights, memory, data, threads);
        times[done++] = polyopt_now_ms() - start;
    }
    qsort(times, (size_t)done, sizeof(double), polyopt_compare_doubles);
    double median = times[done / 2];
    if (json) {
        printf("{\"network\": \"$name\", \"threads\": %d, \"median_ms\": %.6g, \"min_ms\": %.6g, "
               "\"runs\": %d, \"agrees\": %s, \"difference\": %.6g}\n",
               threads, median, times[0], done, agrees ? "true" : "false",
               isfinite(worst) ? worst : 1e300);
    } else {
        printf("$name, %d thread%s: %.4f ms, least %.4f ms, of %d runs; agrees: %s (difference %.1e)\n",
               threads, threads == 1 ? "" : "s", median, times[0], done, agrees ? "yes" : "NO", worst);
    }
    for (int k = 0; k < polyopt_all; k++) {
        free(data[k]);
        free(expected[k]);
    }
    free(times);
    free(memory);
    free(weights);
    return agrees ? 0 : 1;
}
