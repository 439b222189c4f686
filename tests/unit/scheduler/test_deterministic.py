"""The same program, target and sizes give the same plan and C in every process: Python orders sets of
names anew in each."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import cache

import pytest

PROGRAM = """
import sys
import polyopt as po
from tests.unit.scheduler.test_folded import MIRROR, TORUS, planned
for text, sizes in ((MIRROR, {"T": 200, "N": 100_000}), (TORUS, {"T": 100, "N": 200, "M": 200})):
    plan = planned(text, **sizes)
    print(plan.script, *plan.remarks, plan.emit().source, sep="\\n")
for name in ("harris", "gemver", "conv_bn_relu", "correlation", "durbin", "nussinov"):
    kernel = po.load_kernel(name)
    found = po.candidates(kernel.scop, target="avx2", sizes=kernel.sizes["bench"])
    print(found, found.rows[0].plan.script, *found.rows[0].plan.remarks, sep="\\n")
"""


@cache
def said(seed: int) -> str:
    """What a process whose sets are in the order of a seed prints."""
    environment = {**os.environ, "PYTHONHASHSEED": str(seed)}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env=environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return done.stdout


@pytest.mark.parametrize("seed", [1, 2])
def test_a_plan_does_not_hang_on_the_order_of_sets(seed):
    assert said(seed) == said(0)
