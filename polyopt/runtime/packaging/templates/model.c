/* Models of $name: weights mapped from a file, and memory for tensors between kernels.
 *
 * The file: ${magic}, then unsigned integers of 4 bytes: version ${version} and 0x01020304 in the order
 * of bytes of the rest, and of 8: bytes of the file, bytes before the first weight, and the CRC-32
 * of the weights; then 32 bytes that are the same in file and library
 * (SHA-256 over names, types, shapes and contents). Weights start at multiples of 64.
 */
#define _DEFAULT_SOURCE
#define _DARWIN_C_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "$name.h"
#include "${name}_model.h"

int ${name}_processor(void);

struct ${name}_mapping {
    void *start;
    size_t bytes;
    int users;
};

struct file_header {
    char magic[8];
    uint32_t version, order;
    uint64_t bytes, start, sum;
    unsigned char identity[32];
};

static const unsigned char expected[32] = {$identity};
static const uint64_t expected_bytes = $file_bytes;

static int check_header(const struct file_header *found, uint64_t bytes) {
    if (memcmp(found->magic, "$magic", sizeof found->magic)) {
        return ${guard}_NOT_WEIGHTS;
    }
    if (found->order != 0x01020304) {
        return ${guard}_OTHER_BYTE_ORDER;
    }
    if (found->version != $version) {
        return ${guard}_OTHER_VERSION;
    }
    if (found->bytes != bytes) {
        return ${guard}_TRUNCATED;
    }
    int same = !memcmp(found->identity, expected, sizeof expected) && bytes == expected_bytes;
    return same && found->start == $start ? ${guard}_OK : ${guard}_OTHER_WEIGHTS;
}

/* The file's size, checked; the header is read rather than mapped, so that any file may be tried. */
static int check_file(int file, uint64_t *bytes) {
    struct stat status;
    struct file_header found;
    if (fstat(file, &status) || !S_ISREG(status.st_mode)) {
        return ${guard}_NO_FILE;
    }
    *bytes = (uint64_t)status.st_size;
    ssize_t count = read(file, &found, sizeof found);
    if (count < 0) {
        return ${guard}_NO_FILE;
    }
    size_t magic = sizeof found.magic;
    if ((size_t)count < sizeof found) {
        int ours = (size_t)count >= magic && !memcmp(found.magic, "$magic", magic);
        return ours ? ${guard}_TRUNCATED : ${guard}_NOT_WEIGHTS;
    }
    return check_header(&found, *bytes);
}

static int map(const char *path, struct ${name}_mapping *mapping) {
    uint64_t bytes = 0;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        return ${guard}_NO_FILE;
    }
    int status = check_file(file, &bytes);
    if (!status) {
        mapping->bytes = (size_t)bytes;
        mapping->start = mmap(NULL, mapping->bytes, PROT_READ, MAP_SHARED, file, 0);
        status = mapping->start == MAP_FAILED ? ${guard}_NO_FILE : ${guard}_OK;
    }
    close(file);
    return status;
}

/* -- where tensors are -------------------------------------------------------------------------- */

/* A tensor from the step that writes it to the last that reads it: its bytes are a number, times
   sizes with exponents. */
struct lifetime {
    size_t bytes;
    int first, last;
    unsigned char exponents[$n_sizes + 1];
};

static const struct lifetime lifetimes[${guard}_TENSORS + 1] = {
$lifetimes
    {0, 0, 0, {0}},
};

/* Bytes of a tensor, to the next multiple of 64; 0 where there are too many. */
static size_t bytes_of(const struct lifetime *tensor, const int64_t *sizes) {
    size_t bytes = tensor->bytes;
    for (int size = 0; size < $n_sizes; size++) {
        for (int power = 0; power < tensor->exponents[size]; power++) {
            if (__builtin_mul_overflow(bytes, (size_t)sizes[size], &bytes)) {
                return 0;
            }
        }
    }
    return bytes > SIZE_MAX / 4 ? 0 : (bytes + 63) / 64 * 64;
}

/* The lowest place that is free while a tensor lives: behind each that is in the way. */
static size_t lowest_place(int tensor, const int *order, int placed, const size_t *bytes, const size_t *places) {
    size_t place = 0;
    for (int at = 0; at < placed; at++) {
        int other = order[at];
        int together = lifetimes[tensor].first <= lifetimes[other].last && lifetimes[other].first <= lifetimes[tensor].last;
        if (together && place < places[other] + bytes[other] && places[other] < place + bytes[tensor]) {
            place = places[other] + bytes[other];
            at = -1; /* those before may be in the way there */
        }
    }
    return place;
}

/* Places for tensors, the largest first; bytes in all. SIZE_MAX where there are too many. */
static size_t plan(const int64_t *sizes, size_t *places) {
    size_t bytes[${guard}_TENSORS + 1], end = 0;
    int order[${guard}_TENSORS + 1];
    for (int tensor = 0; tensor < ${guard}_TENSORS; tensor++) {
        int at = tensor;
        bytes[tensor] = bytes_of(&lifetimes[tensor], sizes);
        if (!bytes[tensor]) {
            return SIZE_MAX;
        }
        for (; at > 0 && bytes[order[at - 1]] < bytes[tensor]; at--) {
            order[at] = order[at - 1];
        }
        order[at] = tensor;
    }
    for (int at = 0; at < ${guard}_TENSORS; at++) {
        int tensor = order[at];
        places[tensor] = lowest_place(tensor, order, at, bytes, places);
        size_t after = places[tensor] + bytes[tensor];
        if (after > SIZE_MAX / 2) {
            return SIZE_MAX;
        }
        end = after > end ? after : end;
    }
    return end;
}

static int prepare(struct ${name}_model *model, const int64_t *sizes) {
    if (model->is_planned && !memcmp(model->sizes, sizes, sizeof(int64_t) * $n_sizes)) {
        return ${guard}_OK;
    }
    model->is_planned = 0;
    size_t bytes = plan(sizes, model->places);
    if (bytes == SIZE_MAX) {
        return ${guard}_OUT_OF_MEMORY;
    }
    if (bytes > model->bytes) {
        void *memory = NULL;
        free(model->memory);
        model->memory = NULL;
        model->bytes = 0;
        if (posix_memalign(&memory, 64, bytes)) {
            return ${guard}_OUT_OF_MEMORY;
        }
        model->memory = memory;
        model->bytes = bytes;
    }
    memcpy(model->sizes, sizes, sizeof(int64_t) * $n_sizes);
    model->is_planned = 1;
    return ${guard}_OK;
}

int ${name}_begin(struct ${name}_model *model, const int64_t *sizes) {
    if (__atomic_exchange_n(&model->is_busy, 1, __ATOMIC_ACQUIRE)) {
        return ${guard}_BUSY;
    }
    int status = prepare(model, sizes);
    if (status) {
        ${name}_end(model);
    }
    return status;
}

void ${name}_end(struct ${name}_model *model) {
    __atomic_store_n(&model->is_busy, 0, __ATOMIC_RELEASE);
}

/* -- models ------------------------------------------------------------------------------------- */

static int made(struct ${name}_mapping *mapping, ${name}_model **model) {
    struct ${name}_model *found = calloc(1, sizeof *found);
    if (!found) {
        return ${guard}_OUT_OF_MEMORY;
    }
    found->mapping = mapping;
    found->weights = (const unsigned char *)mapping->start + $start;
    __atomic_add_fetch(&mapping->users, 1, __ATOMIC_RELAXED);
    *model = found;
    return ${guard}_OK;
}

int ${name}_open(const char *path, ${name}_model **model) {
    if (!path || !model) {
        return ${guard}_NULL_POINTER;
    }
    *model = NULL;
    if (!${name}_processor()) {
        return ${guard}_WRONG_PROCESSOR;
    }
    struct ${name}_mapping *mapping = calloc(1, sizeof *mapping);
    if (!mapping) {
        return ${guard}_OUT_OF_MEMORY;
    }
    int status = map(path, mapping);
    if (status) {
        free(mapping);
        return status;
    }
    status = made(mapping, model);
    if (status) {
        munmap(mapping->start, mapping->bytes);
        free(mapping);
    }
    return status;
}

int ${name}_share(${name}_model *from, ${name}_model **model) {
    if (!from || !model) {
        return ${guard}_NULL_POINTER;
    }
    *model = NULL;
    return made(from->mapping, model);
}

static uint32_t crc32(const unsigned char *data, size_t bytes) {
    uint32_t table[256], sum = 0xffffffffu;
    for (uint32_t byte = 0; byte < 256; byte++) {
        table[byte] = byte;
        for (int bit = 0; bit < 8; bit++) {
            table[byte] = table[byte] >> 1 ^ (table[byte] & 1 ? 0xedb88320u : 0);
        }
    }
    for (size_t at = 0; at < bytes; at++) {
        sum = sum >> 8 ^ table[(sum ^ data[at]) & 255];
    }
    return ~sum;
}

int ${name}_verify(const ${name}_model *model) {
    if (!model) {
        return ${guard}_NULL_POINTER;
    }
    const unsigned char *file = model->mapping->start;
    const struct file_header *header = model->mapping->start;
    return crc32(file + $start, model->mapping->bytes - $start) == header->sum ? ${guard}_OK : ${guard}_DAMAGED;
}

void ${name}_close(${name}_model *model) {
    if (!model) {
        return;
    }
    struct ${name}_mapping *mapping = model->mapping;
    if (!__atomic_sub_fetch(&mapping->users, 1, __ATOMIC_ACQ_REL)) {
        munmap(mapping->start, mapping->bytes);
        free(mapping);
    }
    free(model->memory);
    free(model);
}

int ${name}_reserve(${name}_model *model, const int64_t *sizes) {
    static const int64_t none[1] = {0};
    int64_t extents[$most_rank];
    if (!model || (!sizes && $n_sizes > 0)) {
        return ${guard}_NULL_POINTER;
    }
    int status = ${name}_shape(0, sizes, extents);
    if (status) {
        return status;
    }
    status = ${name}_begin(model, sizes ? sizes : none);
    if (!status) {
        ${name}_end(model);
    }
    return status;
}

size_t ${name}_memory(const ${name}_model *model) {
    return model ? model->bytes : 0;
}
