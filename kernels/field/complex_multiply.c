/* Products of complex numbers, element by element, real and imaginary parts side by side. */

void complex_multiply(int n, const float a[restrict n][2], const float b[restrict n][2],
                      float out[restrict n][2])
{
    for (int i = 0; i < n; i++) {
        out[i][0] = a[i][0] * b[i][0] - a[i][1] * b[i][1];
        out[i][1] = a[i][0] * b[i][1] + a[i][1] * b[i][0];
    }
}
