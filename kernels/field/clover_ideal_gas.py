"""The equation of state of an ideal gas on a grid with halos. Class: C as people write it."""

from __future__ import annotations

import numpy as np

SIZES = {
    "bench": {"x_cells": 1600, "y_cells": 1200},
    "demo": {"x_cells": 300, "y_cells": 400},
    "test": {"x_cells": 13, "y_cells": 7},
    "tiny": {"x_cells": 1, "y_cells": 1},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """``density``, ``energy``, ``pressure``, ``soundspeed`` f64 ``[y_cells + 4][x_cells + 4]``."""
    shape = sizes["y_cells"] + 4, sizes["x_cells"] + 4
    names = ("density", "energy", "pressure", "soundspeed")
    return dict(zip(names, rng.uniform(0.5, 3, (4, *shape)), strict=True))


def reference(
    *,
    density: np.ndarray,
    energy: np.ndarray,
    pressure: np.ndarray,
    soundspeed: np.ndarray,
    **_sizes: int,
) -> dict[str, np.ndarray]:
    """``pressure`` and ``soundspeed``, their halos as they were."""
    pressure, soundspeed, inner = pressure.copy(), soundspeed.copy(), (slice(2, -2),) * 2
    pressure[inner] = 0.4 * (density * energy)[inner]
    # the square of the speed is 1.4 p / rho
    soundspeed[inner] = np.sqrt(1.4 * pressure[inner] / density[inner])
    return {"pressure": pressure, "soundspeed": soundspeed}
