/* A model from inside: what its kernels read and write. Not part of the interface. */
#ifndef ${guard}_MODEL_H
#define ${guard}_MODEL_H

#include <stddef.h>
#include <stdint.h>

enum { ${guard}_TENSORS = $n_tensors };

struct ${name}_mapping;

struct ${name}_model {
    const unsigned char *weights; /* the first of them */
    struct ${name}_mapping *mapping;
    unsigned char *memory; /* of tensors between kernels */
    size_t bytes;
    int64_t sizes[$n_sizes + 1]; /* for which the places are */
    int is_planned, is_busy;
    size_t places[$n_tensors + 1]; /* bytes from the start of the memory */
};

/* Claims a model for a call with these sizes, and finds a place for each tensor; and its end. */
int ${name}_begin(struct ${name}_model *model, const int64_t *sizes);
void ${name}_end(struct ${name}_model *model);

#endif
