/*
 * Memory for the buffers of kernels, kept from call to call: fresh memory costs a fault per page,
 * and where the C library gives it back between two calls, the next one pays again.
 *
 * All kernels of a process share it. What is kept and what is in use together are never more than
 * was in use at once since it was last trimmed, as it is when a kernel is gone.
 */
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#ifdef __linux__
#include <sys/mman.h>
#endif

enum { LINE = 64, MOST = 64 };

typedef struct {
    size_t bytes;
} Block;

static Block *kept[MOST];
static size_t count, in_use, in_store, peak;
static char locked;

static void lock(void) {
    while (__atomic_test_and_set(&locked, __ATOMIC_ACQUIRE)) {
    }
}

static void unlock(void) { __atomic_clear(&locked, __ATOMIC_RELEASE); }

/* A fork in the middle of another thread's change would leave the child with the lock held by a
 * thread that it has not: the fork waits for the change, and both sides go on with an open lock. */
__attribute__((constructor)) static void prepare(void) { pthread_atfork(lock, unlock, unlock); }

static Block *take(size_t place) {
    Block *found = kept[place];
    kept[place] = kept[--count];
    in_store -= found->bytes;
    return found;
}

/* The smallest block of at least so many bytes, or the smallest one of all; MOST if there is none. */
static size_t smallest(size_t bytes) {
    size_t best = MOST;
    for (size_t k = 0; k < count; k++) {
        if (kept[k]->bytes >= bytes && (best == MOST || kept[k]->bytes < kept[best]->bytes)) {
            best = k;
        }
    }
    return best;
}

static Block *fresh(size_t bytes) {
    Block *made = aligned_alloc(LINE, bytes);
    if (!made) {
        return NULL;
    }
    made->bytes = bytes;
#ifdef __linux__
    if (bytes >> 22) { /* large pages: a wish, no more */
        madvise((void *)(((uintptr_t)made | 65535) + 1), bytes - 65536, MADV_HUGEPAGE);
    }
#endif
    return made;
}

/* Give all that is kept back to the C library. */
void pool_trim(void) {
    Block *gone[MOST];
    size_t left = 0;
    lock();
    while (count) {
        gone[left++] = take(0);
    }
    peak = in_use;
    unlock();
    for (size_t k = 0; k < left; k++) {
        free(gone[k]);
    }
}

void *pool_allocate(size_t bytes) {
    if (bytes > SIZE_MAX - 2 * LINE) {
        return NULL;
    }
    const size_t size = (bytes + LINE - 1) / LINE * LINE + LINE;
    Block *gone[MOST], *found = NULL;
    size_t left = 0;
    lock();
    const size_t place = smallest(size);
    if (place != MOST) {
        found = take(place);
        in_use += found->bytes;
    } else {
        in_use += size;
        peak = in_use > peak ? in_use : peak;
        while (count && in_use + in_store > peak) {
            gone[left++] = take(smallest(0));
        }
    }
    unlock();
    for (size_t k = 0; k < left; k++) {
        free(gone[k]);
    }
    if (place != MOST) {
        return (char *)found + LINE;
    }
    found = fresh(size);
    if (!found) { /* what is kept may be what is missing */
        pool_trim();
        found = fresh(size);
    }
    if (!found) {
        lock();
        in_use -= size;
        unlock();
        return NULL;
    }
    return (char *)found + LINE;
}

void pool_release(void *memory) {
    if (!memory) {
        return;
    }
    Block *block = (Block *)((char *)memory - LINE);
    lock();
    in_use -= block->bytes;
    const int stays = count < MOST && in_use + in_store + block->bytes <= peak;
    if (stays) {
        kept[count++] = block;
        in_store += block->bytes;
    }
    unlock();
    if (!stays) {
        free(block);
    }
}

/* Bytes in use, kept, and the most that were in use at once since the last trim. */
void pool_usage(size_t usage[3]) {
    lock();
    usage[0] = in_use;
    usage[1] = in_store;
    usage[2] = peak;
    unlock();
}
