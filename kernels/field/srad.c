/* A step of speckle-reducing anisotropic diffusion. The indices of neighbours stand in arrays,
   which makes borders repeat; the diffusion coefficient is cut to [0, 1]. */

#pragma polyopt inbounds

void srad(int rows, int cols, float q0sqr, float lambda, float J[restrict rows][cols],
          float c[restrict rows][cols], float dN[restrict rows][cols],
          float dS[restrict rows][cols], float dW[restrict rows][cols],
          float dE[restrict rows][cols], const int iN[restrict rows], const int iS[restrict rows],
          const int jW[restrict cols], const int jE[restrict cols])
{
    int i, j;
    float Jc, G2, L, num, den, qsqr, cN, cS, cW, cE, D;

#pragma scop
    for (i = 0; i < rows; i++) {
        for (j = 0; j < cols; j++) {
            Jc = J[i][j];
            dN[i][j] = J[iN[i]][j] - Jc;
            dS[i][j] = J[iS[i]][j] - Jc;
            dW[i][j] = J[i][jW[j]] - Jc;
            dE[i][j] = J[i][jE[j]] - Jc;

            G2 = (dN[i][j] * dN[i][j] + dS[i][j] * dS[i][j] + dW[i][j] * dW[i][j] +
                  dE[i][j] * dE[i][j]) / (Jc * Jc);
            L = (dN[i][j] + dS[i][j] + dW[i][j] + dE[i][j]) / Jc;
            num = (0.5f * G2) - ((1.0f / 16.0f) * (L * L));
            den = 1.0f + (0.25f * L);
            qsqr = num / (den * den);

            den = (qsqr - q0sqr) / (q0sqr * (1.0f + q0sqr));
            c[i][j] = 1.0f / (1.0f + den);
            if (c[i][j] < 0.0f)
                c[i][j] = 0.0f;
            else if (c[i][j] > 1.0f)
                c[i][j] = 1.0f;
        }
    }
    for (i = 0; i < rows; i++) {
        for (j = 0; j < cols; j++) {
            cN = c[i][j];
            cS = c[iS[i]][j];
            cW = c[i][j];
            cE = c[i][jE[j]];
            D = cN * dN[i][j] + cS * dS[i][j] + cW * dW[i][j] + cE * dE[i][j];
            J[i][j] = J[i][j] + 0.25f * lambda * D;
        }
    }
#pragma endscop
}
