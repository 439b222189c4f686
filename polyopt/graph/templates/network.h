#ifndef ${guard}_H
#define ${guard}_H

/* Bytes of weights.bin, and of the memory for tensors between kernels; both start at multiples of 64. */
#define ${guard}_WEIGHTS $weights
#define ${guard}_MEMORY $memory

/* Runs the network; 0, or 1 when memory ran out. It keeps nothing between calls.
 *
$described
 */
int $name(const void *weights, void *memory, $parameters, int threads);

#endif
