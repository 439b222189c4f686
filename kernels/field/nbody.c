/* Accelerations of N bodies by gravity, softened so that a body does not pull on itself. */
#include <math.h>

void nbody(int N, float soft, const float pos[restrict N][3], const float mass[restrict N],
           float acc[restrict N][3])
{
    for (int i = 0; i < N; i++) {
        float ax = 0, ay = 0, az = 0;
        for (int j = 0; j < N; j++) {
            float dx = pos[j][0] - pos[i][0];
            float dy = pos[j][1] - pos[i][1];
            float dz = pos[j][2] - pos[i][2];
            float r = 1.0f / sqrtf(dx * dx + dy * dy + dz * dz + soft);
            float s = mass[j] * r * r * r;
            ax += s * dx;
            ay += s * dy;
            az += s * dz;
        }
        acc[i][0] = ax;
        acc[i][1] = ay;
        acc[i][2] = az;
    }
}
