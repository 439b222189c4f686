/* Orthogonalisation of one vector against another: y -= (x . y) / (x . x) x, and the norm of
   what is left. */
#include <math.h>

void dot_axpy(int n, const double x[restrict n], double y[restrict n], double norm[restrict 1])
{
    double xy = 0, xx = 0, yy = 0;

    for (int i = 0; i < n; i++)
        xy += x[i] * y[i];
    for (int i = 0; i < n; i++)
        xx += x[i] * x[i];
    double factor = xy / xx;
    for (int i = 0; i < n; i++)
        y[i] -= factor * x[i];
    for (int i = 0; i < n; i++)
        yy += y[i] * y[i];
    norm[0] = sqrt(yy);
}
