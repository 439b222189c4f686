/* What bench.c asks of $name, without the names of headers beside those of its sizes. */
#include "$name.h"

int polyopt_allowed(const int64_t *polyopt_size);
void polyopt_count_elements(const int64_t *polyopt_size, __SIZE_TYPE__ *polyopt_count);
double polyopt_operations(const int64_t *polyopt_size);
double polyopt_live_bytes(const int64_t *polyopt_size);
int polyopt_run_optimised(const int64_t *polyopt_size, void *const *polyopt_data, int polyopt_threads);
int polyopt_run_reference(const int64_t *polyopt_size, void *const *polyopt_data, int polyopt_threads);

$helpers
/* What the sizes have to satisfy. */
int polyopt_allowed(const int64_t *polyopt_size) {
$locals
    return $condition;
}

void polyopt_count_elements(const int64_t *polyopt_size, __SIZE_TYPE__ *polyopt_count) {
$locals
$counts
}

double polyopt_operations(const int64_t *polyopt_size) {
$locals
    return $flops;
}

/* Every input read once, every output written once. */
double polyopt_live_bytes(const int64_t *polyopt_size) {
$locals
    return $bytes;
}

int polyopt_run_optimised(const int64_t *polyopt_size, void *const *polyopt_data, int polyopt_threads) {
    (void)polyopt_size;
    return $name($arguments);
}

int polyopt_run_reference(const int64_t *polyopt_size, void *const *polyopt_data, int polyopt_threads) {
    (void)polyopt_size;
    return ${name}_reference($arguments);
}
