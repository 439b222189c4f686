"""Short loops stand on either side of what tests outside them decide."""

import polyopt as po

TWICE = """
void twice(int n, double x[n][4], double out[n][4]) {
    for (int y = 0; y < n; y++)
        for (int k = 0; k < 4; k++)
            out[y][k] = 2 * (y >= 1 && y <= 7 ? x[y - 1][k] : -1) + (y >= 2 && y <= 6 ? x[y - 2][k] : 0);
}
"""


def lines(text):
    return [line.strip() for line in po.Plan(po.parse_c(text)).emit().source.splitlines()]


def test_each_side_has_a_loop_of_its_own():
    found = [line for line in lines(TWICE) if line.startswith(("if", "} else", "for", "out["))]
    assert found == [
        "for (int64_t y = 0; y < n; y++) {",
        "if (inside) {",
        "if (inside2) {",
        "for (int64_t k = 0; k <= 3; k++) {",
        "out[y][k] = 2.0 * x[y - 1][k] + x[y - 2][k];",
        "} else {",
        "for (int64_t k = 0; k <= 3; k++) {",
        "out[y][k] = 2.0 * x[y - 1][k] + 0.0;",
        "} else {",
        "if (inside2) {",
        "for (int64_t k = 0; k <= 3; k++) {",
        "out[y][k] = 2.0 * (-1.0) + x[y - 2][k];",
        "} else {",
        "for (int64_t k = 0; k <= 3; k++) {",
        "out[y][k] = 2.0 * (-1.0) + 0.0;",
    ]


def test_long_and_open_loops_keep_their_choice():
    for count in ("100", "n"):
        text = TWICE.replace("[4]", f"[{count}]").replace("k < 4", f"k < {count}")
        assert not any(line.startswith("if (inside") for line in lines(text))
