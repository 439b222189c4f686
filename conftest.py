"""What holds for every test: fixed examples, verified stages, patient threads, a kernel cache of
its own."""

from __future__ import annotations

import gc
import os
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from hypothesis import settings

if TYPE_CHECKING:
    import pytest

settings.register_profile("fixed", derandomize=True, deadline=None, database=None, print_blob=True)
settings.register_profile("explore", deadline=None, print_blob=True)
settings.load_profile(os.environ.get("POLYOPT_HYPOTHESIS", "fixed"))

os.environ.setdefault("POLYOPT_CHECK", "1")

# workers share the cores: threads that wait for the others sleep instead of spinning on them
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

# tests make many small values that live as long as a plan: looking for garbage among them every
# 700 objects takes a seventh of the time
gc.set_threshold(100_000, 20, 50)


def pytest_configure(config: pytest.Config) -> None:
    """Give the run a kernel cache that ends with it; workers inherit the one they start in."""
    if "POLYOPT_CACHE" not in os.environ:
        folder = TemporaryDirectory(prefix="polyopt-test-")
        os.environ["POLYOPT_CACHE"] = folder.name
        config.add_cleanup(folder.cleanup)
