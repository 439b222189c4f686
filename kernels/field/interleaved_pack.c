/* Two streams packed into one, of which each has every second place. */

void interleaved_pack(int n, float a[restrict 2 * n], const float b[restrict n],
                      const float c[restrict n], const float d[restrict n],
                      const float e[restrict n])
{
    for (int i = 0; i < n; i++) {
        a[2 * i] = b[i] + d[i] * e[i];
        a[2 * i + 1] = c[i] + d[i] * e[i];
    }
}
