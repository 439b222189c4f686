/* Means of three elements of a ring: the last two indices are carried along. */

#pragma polyopt inbounds

void wrap_around(int n, float a[restrict n], const float b[restrict n])
{
    int im1 = n - 1;
    int im2 = n - 2;

#pragma polyopt assume(n >= 2)
    for (int i = 0; i < n; i++) {
        a[i] = (b[i] + b[im1] + b[im2]) * .333f;
        im2 = im1;
        im1 = i;
    }
}
