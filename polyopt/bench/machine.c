/* What a machine can do at most: streaming bandwidth and fused multiply-adds. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#ifdef __AVX__
#include <immintrin.h>
#endif

typedef float vec __attribute__((vector_size(VECTOR_BYTES)));

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* One stream per thread, ordinary stores: the line is read before it is written. */
static void copy_plain(vec *restrict to, const vec *restrict from, int64_t count, int threads) {
    (void)threads;
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t i = 0; i < count; i++) {
        to[i] = from[i];
    }
}

/* The same with stores that pass the caches by, where the machine has them. */
static void copy_around(vec *restrict to, const vec *restrict from, int64_t count, int threads) {
    (void)threads;
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t i = 0; i < count; i++) {
#if defined(__AVX512F__) && VECTOR_BYTES == 64
        _mm512_stream_ps((float *)(to + i), (__m512)from[i]);
#elif defined(__AVX__) && VECTOR_BYTES == 32
        _mm256_stream_ps((float *)(to + i), (__m256)from[i]);
#else
        to[i] = from[i];
#endif
    }
}

/* Several streams per thread at once, as a stencil over rows has. */
static void copy_streams(vec *restrict to, const vec *restrict from, int64_t count, int threads) {
    (void)threads;
    int64_t part = count / 4;
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t i = 0; i < part; i++) {
        to[i] = from[i];
        to[i + part] = from[i + part];
        to[i + 2 * part] = from[i + 2 * part];
        to[i + 3 * part] = from[i + 3 * part];
    }
}

/* The C library's copy, one block per thread. */
static void copy_library(vec *restrict to, const vec *restrict from, int64_t count, int threads) {
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int t = 0; t < threads; t++) {
        int64_t first = count * t / threads, last = count * (t + 1) / threads;
        memcpy(to + first, from + first, (size_t)(last - first) * sizeof(vec));
    }
}

static void (*const ways[])(vec *restrict, const vec *restrict, int64_t, int) = {
    copy_plain, copy_around, copy_streams, copy_library};

/* One copy between blocks on cache line boundaries, of whole vectors. */
void polyopt_copy(int way, void *to, const void *from, int64_t bytes, int threads) {
    ways[way](to, from, bytes / (int64_t)sizeof(vec), threads);
}

/* GB/s of live bytes, read and written once each: the best of all ways and rounds. Says which
 * way that was. */
double polyopt_bandwidth(int64_t bytes, int rounds, int threads, int *best_way) {
    int64_t count = bytes / (int64_t)sizeof(vec);
    void *from = NULL, *to = NULL;
    double best = 0.0;
    if (!posix_memalign(&from, 4096, (size_t)bytes) && !posix_memalign(&to, 4096, (size_t)bytes)) {
        memset(from, 1, (size_t)bytes);
        memset(to, 2, (size_t)bytes);
        for (int round = 0; round < rounds; round++) {
            for (int way = 0; way < 4; way++) {
                double start = now();
                ways[way](to, from, count, threads);
                double rate = 2.0 * (double)bytes / (now() - start) * 1e-9;
                if (rate > best) {
                    best = rate;
                    *best_way = way;
                }
            }
        }
    }
    free(from);
    free(to);
    return best;
}

/* GFLOP/s of independent chains of multiply-adds in registers: the best round. */
double polyopt_peak(int64_t steps, int rounds, int threads) {
    double best = 0.0;
    volatile float sink = 0.0f;
    int64_t repeats = steps / ACCUMULATORS;
    for (int round = 0; round < rounds; round++) {
        double start = now();
#pragma omp parallel for num_threads(threads) schedule(static)
        for (int t = 0; t < threads; t++) {
            vec acc[ACCUMULATORS];
            vec scale = (vec){0} + 0.999f + (float)t * 1e-9f;
            vec shift = (vec){0} + 0.001f;
            for (int k = 0; k < ACCUMULATORS; k++) {
                acc[k] = (vec){0} + (float)k;
            }
            for (int64_t i = 0; i < repeats; i++) {
                for (int k = 0; k < ACCUMULATORS; k++) {
                    acc[k] = acc[k] * scale + shift;
                }
            }
            vec sum = acc[0];
            for (int k = 1; k < ACCUMULATORS; k++) {
                sum += acc[k];
            }
            sink = sum[0];
        }
        double work = 2.0 * (double)repeats * ACCUMULATORS * (double)(sizeof(vec) / sizeof(float));
        double rate = work * threads / (now() - start) * 1e-9;
        best = rate > best ? rate : best;
    }
    (void)sink;
    return best;
}
