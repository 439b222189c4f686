#include "$name.h"

#include <stdint.h>
#include <string.h>

/* Weights, and tensors between kernels, by bytes from the start. */
#define ${name}_weight(start) ((const void *)((const char *)weights + (start)))
#define ${name}_tensor(start) ((void *)((char *)memory + (start)))

$prototypes

int $name(const void *weights, void *memory, $parameters, int threads) {
    (void)weights;
    (void)memory;
    (void)threads;
$calls
    return 0;
}
