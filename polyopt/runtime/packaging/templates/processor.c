/* What the processor can do, and how many there are. This file is compiled as the kernels are: what
   the compiler may use in them it says here. */
#include <stddef.h>
#ifdef _OPENMP
#include <omp.h>
#endif

int ${name}_processor(void);
int ${name}_processors(void);

/* Whether this is a processor that the kernels run on. */
int ${name}_processor(void) {
    int can = 1;
#if defined(__x86_64__) || defined(__i386__)
#ifdef __SSE4_2__
    can = can && __builtin_cpu_supports("sse4.2");
#endif
#ifdef __AVX__
    can = can && __builtin_cpu_supports("avx");
#endif
#ifdef __AVX2__
    can = can && __builtin_cpu_supports("avx2");
#endif
#ifdef __FMA__
    can = can && __builtin_cpu_supports("fma");
#endif
#ifdef __BMI__
    can = can && __builtin_cpu_supports("bmi");
#endif
#ifdef __BMI2__
    can = can && __builtin_cpu_supports("bmi2");
#endif
#ifdef __AVX512F__
    can = can && __builtin_cpu_supports("avx512f");
#endif
#ifdef __AVX512BW__
    can = can && __builtin_cpu_supports("avx512bw");
#endif
#ifdef __AVX512DQ__
    can = can && __builtin_cpu_supports("avx512dq");
#endif
#ifdef __AVX512VL__
    can = can && __builtin_cpu_supports("avx512vl");
#endif
#ifdef __AVX512VBMI__
    can = can && __builtin_cpu_supports("avx512vbmi");
#endif
#ifdef __AVX512VNNI__
    can = can && __builtin_cpu_supports("avx512vnni");
#endif
#endif
    return can;
}

/* Threads of a call that asks for none. */
int ${name}_processors(void) {
#ifdef _OPENMP
    return omp_get_max_threads();
#else
    return 1;
#endif
}
