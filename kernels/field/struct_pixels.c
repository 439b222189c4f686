/* Brightness and saturation of pixels that are structures, as bytes. */
#include <stdint.h>

typedef struct {
    uint8_t r, g, b;
} pixel;

#define MAX(a, b) ((a) > (b) ? (a) : (b))
#define MIN(a, b) ((a) < (b) ? (a) : (b))

void struct_pixels(int H, int W, const pixel img[restrict H][W], uint8_t luma[restrict H][W],
                   uint8_t chroma[restrict H][W])
{
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++) {
            uint8_t r = img[y][x].r, g = img[y][x].g, b = img[y][x].b;
            luma[y][x] = (77 * r + 150 * g + 29 * b) >> 8;
            chroma[y][x] = MAX(MAX(r, g), b) - MIN(MIN(r, g), b);
        }
}
