/* A scaled vector added to another one, of which an array says which elements to take. */

#pragma polyopt inbounds

void gather_axpy(int n, float s, const int ip[restrict n], const float b[restrict n],
                 float a[restrict n])
{
    for (int i = 0; i < n; i++)
        a[i] += b[ip[i]] * s;
}
