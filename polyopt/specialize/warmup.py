"""Warm-up: what every first kernel needs of the compiler is asked for beside the search."""

from __future__ import annotations

import contextlib
from functools import cache
from threading import Thread

from polyopt.codegen.target import core_count
from polyopt.codegen.target import target as find_target
from polyopt.errors import PolyoptError
from polyopt.runtime.memory import pool
from polyopt.runtime.toolchain import find_toolchain


@cache
def get_ready(target: str) -> None:
    """Begin to find out what the compiler is, which options it takes for a target, and to build the
    pool of buffers, in a thread. What it finds is kept where a build looks for it."""
    Thread(target=_look, args=(target,), name="polyopt compiler", daemon=True).start()


def _look(target: str) -> None:
    with contextlib.suppress(PolyoptError):  # whoever needs it hears of that
        toolchain = find_toolchain()
        toolchain.flags(find_target(target).flags, openmp=toolchain.has_openmp)
        if core_count() > 1:  # on one core it would only come sooner than it is needed
            pool.get_ready()
