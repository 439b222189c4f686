"""Kernels compiled once for all tests of sections; rounding is the same in each of them."""

import numpy as np
import pytest

import polyopt as po

BLUR = """
void blur(int H, int W, const float img[restrict H][W], float out[restrict H - 4][W - 4]) {
  float rows[H - 4][W];
  for (int y = 0; y < H - 4; y++)
    for (int x = 0; x < W; x++)
      rows[y][x] = (img[y][x] + img[y + 2][x] + img[y + 4][x]) * 0.3f;
  for (int y = 0; y < H - 4; y++)
    for (int x = 0; x < W - 4; x++)
      out[y][x] = (rows[y][x] + rows[y][x + 2] + rows[y][x + 4]) * 0.3f;
}
"""


def resampled():
    """Down by two behind a mirror, up by two behind a clamp: borders of every kind."""
    rows, columns = po.size("H"), po.size("W")
    img = po.input("img", po.f32, ["H", "W"])
    edge = po.mirrored(img)
    down = po.stage(
        "down",
        [(rows + 1) // 2, (columns + 1) // 2],
        lambda y, x: (
            (edge[2 * y - 1, 2 * x] + 2 * edge[2 * y, 2 * x] + edge[2 * y + 1, 2 * x + 1]) / 4
        ),
    )
    kept = po.clamped(down)
    up = po.stage(
        "up",
        [rows, columns],
        lambda y, x: (kept[y // 2, x // 2] + kept[(y + 1) // 2, (x + 1) // 2]) / 2 + img[y, x],
    )
    return po.pipeline(up, name="resampled", context=["H >= 2", "W >= 2"])


@pytest.fixture(scope="session")
def image():
    return np.random.default_rng(7).random((37, 41), dtype=np.float32)


@pytest.fixture(scope="session")
def blur():
    return (
        po.Plan(po.parse_c(BLUR)).tile("out", y=8).fuse("rows", into="out").compile(contract=False)
    )


@pytest.fixture(scope="session")
def pyramid():
    return po.auto(resampled(), target="generic").compile(target="generic", contract=False)
