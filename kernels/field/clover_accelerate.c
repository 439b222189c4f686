/* Velocities of the nodes of a staggered grid, accelerated by gradients of pressure and
   viscosity. */

void clover_accelerate(int nx, int ny, double dt, const double xarea[restrict ny + 1][nx + 1],
                       const double yarea[restrict ny + 1][nx + 1],
                       const double volume[restrict ny + 1][nx + 1],
                       const double density[restrict ny + 1][nx + 1],
                       const double pressure[restrict ny + 1][nx + 1],
                       const double viscosity[restrict ny + 1][nx + 1],
                       double xvel[restrict ny + 1][nx + 1], double yvel[restrict ny + 1][nx + 1])
{
    double nodal_mass, stepbymass_s;
    double halfdt = 0.5 * dt;

    for (int k = 1; k <= ny; k++)
        for (int j = 1; j <= nx; j++) {
            nodal_mass = (density[k - 1][j - 1] * volume[k - 1][j - 1] +
                          density[k - 1][j] * volume[k - 1][j] + density[k][j] * volume[k][j] +
                          density[k][j - 1] * volume[k][j - 1]) * 0.25;
            stepbymass_s = halfdt / nodal_mass;
            xvel[k][j] -= stepbymass_s *
                          (xarea[k][j] * (pressure[k][j] - pressure[k][j - 1]) +
                           xarea[k - 1][j] * (pressure[k - 1][j] - pressure[k - 1][j - 1]));
            yvel[k][j] -= stepbymass_s *
                          (yarea[k][j] * (pressure[k][j] - pressure[k - 1][j]) +
                           yarea[k][j - 1] * (pressure[k][j - 1] - pressure[k - 1][j - 1]));
            xvel[k][j] -= stepbymass_s *
                          (xarea[k][j] * (viscosity[k][j] - viscosity[k][j - 1]) +
                           xarea[k - 1][j] * (viscosity[k - 1][j] - viscosity[k - 1][j - 1]));
            yvel[k][j] -= stepbymass_s *
                          (yarea[k][j] * (viscosity[k][j] - viscosity[k - 1][j]) +
                           yarea[k][j - 1] * (viscosity[k][j - 1] - viscosity[k - 1][j - 1]));
        }
}
