/* What ${name}_run is given is checked here. Of headers only those of ${name}.h are read: parameters
   may be called like anything that others define. */
#include "$name.h"
$model_include
enum { polyopt_most_rank = $most_rank, polyopt_most_threads = 4096 };

/* Sizes below have no products that int64_t cannot hold, and no array has more elements. */
static const int64_t polyopt_most_size = (int64_t)1 << 48;

int ${name}_processor(void);
int ${name}_processors(void);

const char *${name}_message(int polyopt_status) {
    static const char *const polyopt_messages[] = {
$messages
    };
    int polyopt_known = (int)(sizeof polyopt_messages / sizeof *polyopt_messages);
    return polyopt_status >= 0 && polyopt_status < polyopt_known ? polyopt_messages[polyopt_status] : "no such status";
}

int ${name}_abi(void) {
    return ${guard}_ABI;
}

static const int polyopt_ranks[${guard}_ARRAYS + 1] = {$ranks};
static const char *const polyopt_names[${guard}_ARRAYS + 1] = {$names};

const char *${name}_array_name(int polyopt_array) {
    return polyopt_array >= 0 && polyopt_array < ${guard}_ARRAYS ? polyopt_names[polyopt_array] : (const char *)0;
}

int ${name}_array_rank(int polyopt_array) {
    return polyopt_array >= 0 && polyopt_array < ${guard}_ARRAYS ? polyopt_ranks[polyopt_array] : -1;
}

$helpers
static int polyopt_allowed(const int64_t *polyopt_size) {
    for (int polyopt_at = 0; polyopt_at < ${guard}_SIZES; polyopt_at++) {
        if (polyopt_size[polyopt_at] <= -polyopt_most_size || polyopt_size[polyopt_at] >= polyopt_most_size) {
            return 0;
        }
    }
$locals
    return $condition;
}

static int polyopt_shape_of(int polyopt_array, const int64_t *polyopt_size, int64_t *polyopt_extent) {
$locals
    switch (polyopt_array) {
$shapes
    default: return ${guard}_BAD_COUNT;
    }
    for (int polyopt_at = 0; polyopt_at < polyopt_ranks[polyopt_array]; polyopt_at++) {
        if (polyopt_extent[polyopt_at] < 1) {
            return ${guard}_BAD_SIZE;
        }
    }
    return ${guard}_OK;
}

int ${name}_shape(int polyopt_array, const int64_t *polyopt_size, int64_t *polyopt_extent) {
    if ((!polyopt_size && ${guard}_SIZES > 0) || !polyopt_extent) {
        return ${guard}_NULL_POINTER;
    }
    return polyopt_allowed(polyopt_size) ? polyopt_shape_of(polyopt_array, polyopt_size, polyopt_extent) : ${guard}_BAD_SIZE;
}

struct polyopt_given {
    const void *data;
    size_t count, element;
    int is_written;
};

/* Whether memory of an array is another's, too. */
static int polyopt_overlap(const struct polyopt_given *polyopt_one, const struct polyopt_given *polyopt_two) {
    uintptr_t polyopt_a = (uintptr_t)polyopt_one->data, polyopt_b = (uintptr_t)polyopt_two->data;
    return polyopt_a < polyopt_b ? polyopt_b - polyopt_a < polyopt_one->count * polyopt_one->element
                                 : polyopt_a - polyopt_b < polyopt_two->count * polyopt_two->element;
}

/* Whether an array has as many elements as its extents say. */
static int polyopt_counted(const struct polyopt_given *polyopt_array, const int64_t *polyopt_extent, int polyopt_rank) {
    size_t polyopt_count = 1, polyopt_bytes;
    for (int polyopt_at = 0; polyopt_at < polyopt_rank; polyopt_at++) {
        if (__builtin_mul_overflow(polyopt_count, (size_t)polyopt_extent[polyopt_at], &polyopt_count)) {
            return 0;
        }
    }
    return polyopt_count == polyopt_array->count && !__builtin_mul_overflow(polyopt_count, polyopt_array->element, &polyopt_bytes);
}

static int polyopt_check(const int64_t *polyopt_size, const struct polyopt_given *polyopt_arrays,
                         int64_t polyopt_extents[][polyopt_most_rank], int polyopt_threads) {
    if (polyopt_threads < 0 || polyopt_threads > polyopt_most_threads) {
        return ${guard}_BAD_THREADS;
    }
    if (!polyopt_allowed(polyopt_size)) {
        return ${guard}_BAD_SIZE;
    }
    for (int polyopt_at = 0; polyopt_at < ${guard}_ARRAYS; polyopt_at++) {
        const struct polyopt_given *polyopt_array = &polyopt_arrays[polyopt_at];
        int polyopt_status = polyopt_shape_of(polyopt_at, polyopt_size, polyopt_extents[polyopt_at]);
        if (polyopt_status) {
            return polyopt_status;
        }
        if (!polyopt_array->data) {
            return ${guard}_NULL_POINTER;
        }
        if (!polyopt_counted(polyopt_array, polyopt_extents[polyopt_at], polyopt_ranks[polyopt_at])) {
            return ${guard}_BAD_COUNT;
        }
        if ((uintptr_t)polyopt_array->data % polyopt_array->element) {
            return ${guard}_MISALIGNED;
        }
        for (int polyopt_before = 0; polyopt_before < polyopt_at; polyopt_before++) {
            int polyopt_written = polyopt_array->is_written || polyopt_arrays[polyopt_before].is_written;
            if (polyopt_written && polyopt_overlap(polyopt_array, &polyopt_arrays[polyopt_before])) {
                return ${guard}_OVERLAP;
            }
        }
    }
    return ${guard}_OK;
}

$prototypes

$run {
    const int64_t polyopt_size[${guard}_SIZES + 1] = {$size_values};
    const struct polyopt_given polyopt_arrays[${guard}_ARRAYS + 1] = {
$rows
        {(const void *)0, 0, 1, 0},
    };
    int64_t polyopt_extents[${guard}_ARRAYS + 1][polyopt_most_rank];
    int polyopt_status = polyopt_check(polyopt_size, polyopt_arrays, polyopt_extents, threads);
    if (polyopt_status) {
        return polyopt_status;
    }
$guards
    if (!${name}_processor()) {
        return ${guard}_WRONG_PROCESSOR;
    }
    threads = threads ? threads : ${name}_processors();
$calls
}
