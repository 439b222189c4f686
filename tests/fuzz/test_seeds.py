"""Inputs that a fuzzer found, or that lead it: each is taken, or refused in the user's words."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from polyopt.errors import InternalError
from tests.fuzz import targets
from tests.fuzz.targets import TARGETS

SEEDS = sorted(Path(__file__).with_name("seeds").glob("*/*"))


@pytest.mark.parametrize("path", SEEDS, ids=lambda p: f"{p.parent.name}-{p.name}")
def test_a_seed_is_taken_or_refused(path):
    TARGETS[path.parent.name](path.read_bytes())


@pytest.mark.parametrize("target", TARGETS)
def test_random_choices_are_taken_or_refused(target):
    rng = random.Random(f"fuzz {target}")  # noqa: S311
    for _ in range(40):
        TARGETS[target](b"\0" + rng.randbytes(60))


@pytest.mark.parametrize("error", [InternalError("isl"), ValueError("not ours")])
def test_a_defect_is_seen(error, monkeypatch):
    def broken(_text):
        raise error

    monkeypatch.setattr(targets, "parse_c", broken)
    with pytest.raises(type(error)):
        TARGETS["c"](b"void f(void) { }")
