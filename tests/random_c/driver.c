/* Makes calls in processes of their own and keeps what they leave: driver LAYOUT INPUTS OUTPUTS STATUS SECONDS
 *
 * LAYOUT holds 64-bit numbers: how many calls, then for each its function, how many arguments, and for
 * each argument where its bytes begin, how many, how many its memory has, which argument's memory it is in
 * (-1: its own), where in that, and how far from a multiple of 64 bytes. OUTPUTS has the form of INPUTS.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

typedef int64_t number;
struct argument { number at, bytes, room, base, shift, skew; };
extern void (*const batch[])(void **);
enum { MARGIN = 256, MOST = 64, POISON = 0xa5, OUTSIDE = 99 };

static char *mapped(const char *path, int output, size_t bytes)
{
    struct stat about;
    int file = open(path, output ? O_RDWR | O_CREAT : O_RDONLY, 0600);
    if (file < 0 || (output && ftruncate(file, (off_t)bytes)) || fstat(file, &about))
        exit(2);
    char *found = mmap(0, (size_t)about.st_size + 1, output ? PROT_READ | PROT_WRITE : PROT_READ,
                       output ? MAP_SHARED : MAP_PRIVATE, file, 0);
    if (found == MAP_FAILED)
        exit(2);
    return found;
}

static size_t size_of(const char *path)
{
    struct stat about;
    return stat(path, &about) ? 0 : (size_t)about.st_size;
}

/* A sanitizer watches the ends itself. */
#ifdef WATCHED
#define BEFORE 0
#define AFTER 0
#else
#define BEFORE (MARGIN + 64)
#define AFTER MARGIN
#endif

static void call(number function, number count, const struct argument *given, const char *in, char *out)
{
    char *memory[MOST];
    void *arguments[MOST];
    for (number i = 0; i < count; i++) {
        struct argument a = given[i];
        if (a.base >= 0) {
            arguments[i] = memory[a.base] + a.shift;
            continue;
        }
        size_t skew = BEFORE ? (size_t)a.skew : 0;
        char *all = aligned_alloc(64, (BEFORE + skew + (size_t)a.room + AFTER + 63) / 64 * 64);
#ifdef WATCHED
        free(all);
        all = malloc((size_t)a.room);
#endif
        if (BEFORE)
            memset(all, POISON, BEFORE + skew + (size_t)a.room + AFTER);
        memory[i] = all + BEFORE + skew;
        memcpy(memory[i], in + a.at, (size_t)a.room);
        arguments[i] = memory[i];
    }
    batch[function](arguments);
    for (number i = 0; i < count; i++) {
        struct argument a = given[i];
        memcpy(out + a.at, arguments[i], (size_t)a.bytes);
        if (a.base >= 0 || !BEFORE)
            continue;
        for (int at = 1; at <= MARGIN; at++)
            if ((unsigned char)memory[i][-at] != POISON || (unsigned char)memory[i][a.room + at - 1] != POISON)
                _exit(OUTSIDE);
    }
}

int main(int words, char **word)
{
    if (words < 6)
        return 2;
    const number *layout = (const number *)mapped(word[1], 0, 0);
    const char *in = mapped(word[2], 0, 0);
    char *out = mapped(word[3], 1, size_of(word[2]) + 1);
    number calls = *layout++;
    char *status = mapped(word[4], 1, (size_t)calls + 1);
    struct rlimit limit = {(rlim_t)atoi(word[5]), (rlim_t)atoi(word[5]) + 1};
    for (number i = 0; i < calls; i++) {
        number function = layout[0], count = layout[1];
        const struct argument *given = (const struct argument *)(layout + 2);
        layout += 2 + 6 * count;
        if (function < 0)
            continue;
        pid_t child = fork();
        if (child == 0) {
            setrlimit(RLIMIT_CPU, &limit);
            call(function, count, given, in, out);
            _exit(0);
        }
        int ended = 1;
        waitpid(child, &ended, 0);
        status[i] = (char)(WIFSIGNALED(ended) ? WTERMSIG(ended) : WEXITSTATUS(ended));
    }
    return 0;
}
