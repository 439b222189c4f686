CC = cc
CFLAGS = $flags
ifneq ($$(findstring clang,$$(shell $$(CC) --version 2>/dev/null)),)
TUNING = $clang
else
TUNING = $gcc
endif
WARNINGS = -Wall -Wextra

HASH := \#
PROBE := $$(HASH)include <omp.h>\nint main(void) { return omp_get_max_threads() < 1; }\n
OPENMP := $$(shell printf '$$(PROBE)' | $$(CC) -fopenmp -x c - -o /dev/null 2>/dev/null && echo -fopenmp)
ifeq ($$(OPENMP),)
WARNINGS += -Wno-unknown-pragmas
endif
