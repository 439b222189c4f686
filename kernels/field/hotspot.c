/* A step of the temperatures of a chip: each cell takes in power, and heat from its neighbours that
   are there and from the air. Corners, edges and the inside are told one by one. */

void hotspot(int row, int col, float cap_1, float rx_1, float ry_1, float rz_1, float amb,
             const float power[restrict row][col], const float temp[restrict row][col],
             float result[restrict row][col])
{
    float delta;
    int r, c;

#pragma scop
    for (r = 0; r < row; r++) {
        for (c = 0; c < col; c++) {
            if (r == 0 && c == 0) {
                delta = cap_1 * (power[0][0] + (temp[0][1] - temp[0][0]) * rx_1 +
                                 (temp[1][0] - temp[0][0]) * ry_1 + (amb - temp[0][0]) * rz_1);
            } else if (r == 0 && c == col - 1) {
                delta = cap_1 * (power[0][c] + (temp[0][c - 1] - temp[0][c]) * rx_1 +
                                 (temp[1][c] - temp[0][c]) * ry_1 + (amb - temp[0][c]) * rz_1);
            } else if (r == row - 1 && c == col - 1) {
                delta = cap_1 * (power[r][c] +
                                 (temp[r][c - 1] - temp[r][c]) * rx_1 +
                                 (temp[r - 1][c] - temp[r][c]) * ry_1 +
                                 (amb - temp[r][c]) * rz_1);
            } else if (r == row - 1 && c == 0) {
                delta = cap_1 * (power[r][0] + (temp[r][1] - temp[r][0]) * rx_1 +
                                 (temp[r - 1][0] - temp[r][0]) * ry_1 +
                                 (amb - temp[r][0]) * rz_1);
            } else if (r == 0) {
                delta = cap_1 * (power[0][c] +
                                 (temp[0][c + 1] + temp[0][c - 1] - 2.0f * temp[0][c]) * rx_1 +
                                 (temp[1][c] - temp[0][c]) * ry_1 + (amb - temp[0][c]) * rz_1);
            } else if (c == col - 1) {
                delta = cap_1 * (power[r][c] +
                                 (temp[r + 1][c] + temp[r - 1][c] -
                                  2.0f * temp[r][c]) * ry_1 +
                                 (temp[r][c - 1] - temp[r][c]) * rx_1 +
                                 (amb - temp[r][c]) * rz_1);
            } else if (r == row - 1) {
                delta = cap_1 * (power[r][c] +
                                 (temp[r][c + 1] + temp[r][c - 1] -
                                  2.0f * temp[r][c]) * rx_1 +
                                 (temp[r - 1][c] - temp[r][c]) * ry_1 +
                                 (amb - temp[r][c]) * rz_1);
            } else if (c == 0) {
                delta = cap_1 * (power[r][0] +
                                 (temp[r + 1][0] + temp[r - 1][0] -
                                  2.0f * temp[r][0]) * ry_1 +
                                 (temp[r][1] - temp[r][0]) * rx_1 +
                                 (amb - temp[r][0]) * rz_1);
            } else {
                delta = cap_1 * (power[r][c] +
                                 (temp[r + 1][c] + temp[r - 1][c] -
                                  2.0f * temp[r][c]) * ry_1 +
                                 (temp[r][c + 1] + temp[r][c - 1] -
                                  2.0f * temp[r][c]) * rx_1 +
                                 (amb - temp[r][c]) * rz_1);
            }
            result[r][c] = temp[r][c] + delta;
        }
    }
#pragma endscop
}
