/* Runs $name once: inputs come from standard input, one after the other as in memory, and what is
 * written goes to standard output in the same way.
 *
 * usage: ${name}-example$usage < inputs > outputs
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "$name.h"

enum { SIZES = ${guard}_SIZES, ARRAYS = ${guard}_ARRAYS };

/* Of each array: bytes of an element, whether it is read, whether it is written. */
static const struct {
    size_t element;
    int is_read, is_written;
} arrays[ARRAYS + 1] = {
$table
    {0, 0, 0},
};

static void stop(const char *message) {
    fprintf(stderr, "$name: %s\n", message);
    exit(2);
}

static void check(int status) {
    if (status) {
        stop(${name}_message(status));
    }
}

static int64_t whole(const char *text) {
    char *end = NULL;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (end == text || *end || errno) {
        stop("a size is no whole number");
    }
    return value;
}
$number
int main(int argc, char **argv) {
    int64_t sizes[SIZES + 1] = {0}, extents[$most_rank];
    void *data[ARRAYS + 1] = {NULL};
    size_t counts[ARRAYS + 1] = {0};
    if (argc != $n_words + 1) {
        stop("usage: ${name}-example$usage < inputs > outputs");
    }
    for (int k = 0; k < SIZES; k++) {
        sizes[k] = whole(argv[$first_size + k]);
    }
$open    for (int k = 0; k < ARRAYS; k++) {
        check(${name}_shape(k, sizes, extents));
        counts[k] = 1;
        for (int axis = 0; axis < ${name}_array_rank(k); axis++) {
            counts[k] *= (size_t)extents[axis];
        }
        data[k] = calloc(counts[k], arrays[k].element);
        if (!data[k]) {
            stop("out of memory");
        }
        if (arrays[k].is_read && fread(data[k], arrays[k].element, counts[k], stdin) != counts[k]) {
            stop("the input is too short");
        }
    }
    check(${name}_run($arguments));
    for (int k = 0; k < ARRAYS; k++) {
        if (arrays[k].is_written && fwrite(data[k], arrays[k].element, counts[k], stdout) != counts[k]) {
            stop("the output cannot be written");
        }
        free(data[k]);
    }
$close    return fflush(stdout) ? 2 : 0;
}
