"""The kernels with their plans, made once for all tests that a process runs.

Tests of one kernel run in one process: see ``grouped``.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import pytest

import polyopt as po
from polyopt import library
from polyopt.bench.suites import KERNELS as ALL
from polyopt.bench.suites import members
from polyopt.transform.plan import Plan
from tests.unit.codegen.reparse import parsed_again

if TYPE_CHECKING:
    from collections.abc import Iterable

    from polyopt.codegen.signature import CProgram
    from polyopt.library import LibraryKernel

#: all but those of the field, which have their own tests: test_field.py
KERNELS = members(ALL)
RECIPES = frozenset(library.recipe_names())


@cache
def load_kernel(name: str) -> LibraryKernel:
    """The kernel of that name, read once."""
    return library.load_kernel(name)


@cache
def plan_of(name: str, variant: str) -> Plan:
    """Its plan: ``unfused``, ``auto`` or ``expert``."""
    scop = load_kernel(name).scop
    if variant == "unfused":
        return Plan(scop)
    return po.auto(scop) if variant == "auto" else library.recipe(name)(scop)


@cache
def emitted(name: str, variant: str) -> CProgram:
    """The C of that plan, as a function ``name_variant``: its text is the tree it is printed from."""
    plan = plan_of(name, variant)
    return parsed_again(lambda: plan.emit(name=f"{name}_{variant}"))


def grouped(cases: Iterable[str | tuple[str, ...]]) -> list[object]:
    """Parameters of tests whose first one is a kernel's name, each in the kernel's group."""
    return [
        pytest.param(*([case] if isinstance(case, str) else case), marks=_group(case))
        for case in cases
    ]


def _group(case: str | tuple[str, ...]) -> pytest.MarkDecorator:
    return pytest.mark.xdist_group(case if isinstance(case, str) else case[0])
