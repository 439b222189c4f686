/* A step of temperatures in layers: seven points, indices of neighbours that stay inside computed
   first, the arrays folded by hand. */

void hotspot_3d(int nx, int ny, int nz, float cc, float cw, float cn, float ct, float step,
                float amb, const float *restrict p, const float *restrict t, float *restrict out)
{
    float ce = cw, cs = cn, cb = ct;

#pragma scop
    for (int z = 0; z < nz; z++)
        for (int y = 0; y < ny; y++)
            for (int x = 0; x < nx; x++) {
                int c = x + y * nx + z * nx * ny;
                int w = (x == 0) ? c : c - 1;
                int e = (x == nx - 1) ? c : c + 1;
                int n = (y == 0) ? c : c - nx;
                int s = (y == ny - 1) ? c : c + nx;
                int b = (z == 0) ? c : c - nx * ny;
                int a = (z == nz - 1) ? c : c + nx * ny;
                out[c] = cc * t[c] + cn * t[n] + cs * t[s] + ce * t[e] + cw * t[w] + ct * t[a] +
                         cb * t[b] + step * p[c] + ct * amb;
            }
#pragma endscop
}
