/* A scaled vector added to another one, y = a x + y. */

void saxpy(int n, float a, const float x[restrict n], float y[restrict n])
{
    for (int i = 0; i < n; i++)
        y[i] = a * x[i] + y[i];
}
