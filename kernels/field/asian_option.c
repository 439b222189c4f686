/* Payoffs of Asian options by Monte Carlo: each path takes its steps from a table of normal random
   numbers and pays what its mean is above the strike; then the mean of all payoffs. */
#include <math.h>

void asian_option(int P, int T, float spot, float strike, float drift, float volatility,
                  const float z[restrict T][P], float payoff[restrict P], float price[restrict 1])
{
    for (int p = 0; p < P; p++) {
        float s = spot, sum = 0.0f;
        for (int t = 0; t < T; t++) {
            s *= expf(drift + volatility * z[t][p]);
            sum += s;
        }
        float mean = sum / T;
        payoff[p] = mean > strike ? mean - strike : 0.0f;
    }
    double total = 0.0;
    for (int p = 0; p < P; p++)
        total += payoff[p];
    price[0] = (float)(total / P);
}
