/* The equation of state of an ideal gas on a staggered grid: pressure and speed of sound from
   density and energy. Cells have two more on each side, which the macro takes into account. */
#include <math.h>

#define AT(a, j, k) a[(k) + 2][(j) + 2]

void clover_ideal_gas(int x_cells, int y_cells,
                      const double density[restrict y_cells + 4][x_cells + 4],
                      const double energy[restrict y_cells + 4][x_cells + 4],
                      double pressure[restrict y_cells + 4][x_cells + 4],
                      double soundspeed[restrict y_cells + 4][x_cells + 4])
{
    double sound_speed_squared, v, pressurebyenergy, pressurebyvolume;

#pragma scop
    for (int k = 0; k < y_cells; k++) {
        for (int j = 0; j < x_cells; j++) {
            v = 1.0 / AT(density, j, k);
            AT(pressure, j, k) = (1.4 - 1.0) * AT(density, j, k) * AT(energy, j, k);
            pressurebyenergy = (1.4 - 1.0) * AT(density, j, k);
            pressurebyvolume = -AT(density, j, k) * AT(pressure, j, k);
            sound_speed_squared =
                v * v * (AT(pressure, j, k) * pressurebyenergy - pressurebyvolume);
            AT(soundspeed, j, k) = sqrt(sound_speed_squared);
        }
    }
#pragma endscop
}
