/* $title
 *
 * Functions return a status: 0, or what ${name}_message tells of. They keep nothing of what they
 * are given. Numbers of statuses, and functions that are there, stay; new ones may be added.
 */
#ifndef ${guard}_H
#define ${guard}_H

#include <stddef.h>
#include <stdint.h>

/* Changes where programs have to be compiled anew. */
#define ${guard}_ABI 1

#if defined(__GNUC__)
#define ${guard}_API __attribute__((visibility("default")))
#else
#define ${guard}_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

enum ${name}_status {
$statuses
};

enum { ${guard}_SIZES = $n_sizes, ${guard}_ARRAYS = $n_arrays };

/* What a status says, in English. */
${guard}_API const char *${name}_message(int status);

/* The ${guard}_ABI that the library was compiled with. */
${guard}_API int ${name}_abi(void);

/* An array's name, and its number of dimensions; arrays are counted in the order of ${name}_run.
   NULL and -1 for those that are not there. */
${guard}_API const char *${name}_array_name(int array);
${guard}_API int ${name}_array_rank(int array);

/* The extents of an array, ${name}_array_rank of them, for sizes in the order of ${name}_run. */
${guard}_API int ${name}_shape(int array, const int64_t *sizes, int64_t *extents);
$models
/* Computes. Arrays are contiguous, the last index runs fastest; of each the number of elements is
 * given as well. 0 threads are as many as there are processors. Several calls may run at once.
 *
$described
 */
${guard}_API $run;

#ifdef __cplusplus
}
#endif

#endif
