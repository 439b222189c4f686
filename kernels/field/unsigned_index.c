/* A picture upside down and mirrored, with unsigned indices into flat arrays. */
#include <stddef.h>
#include <stdint.h>

void unsigned_index(unsigned height, unsigned width, const uint8_t *restrict src,
                    uint8_t *restrict dst)
{
    for (unsigned y = 0; y < height; y++) {
        for (unsigned x = 0; x < width; x++) {
            size_t from = (size_t)y * width + x;
            size_t to = (size_t)(height - 1 - y) * width + (width - 1 - x);
            dst[to] = src[from];
        }
    }
}
