"""Lookups in registers, read back: as plain loops, and nothing else than what they are."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

import polyopt as po
from polyopt.codegen.validate.on_build import CodeCheck
from polyopt.codegen.validate.translation import ReadBack, check_runs
from polyopt.errors import InternalError, UnsupportedError
from polyopt.frontend.c.readback.emitted import parse_emitted
from tests.unit.codegen.test_lookups import curve


def cells():
    """Rows of a grid that change every few pixels."""
    image = po.input("img", po.f32, ("H", "W"))
    grid = po.input("grid", po.f32, ("(W + 15) // 8", 12))

    def looked_up(y, x):
        place = po.min(po.max(po.cast(po.i32, image[y, x]), 0), 10)
        return grid[(x + 3) // 8, place] * 2 + grid[(x + 3) // 8, place + 1]

    out = po.stage("out", ("H", "W"), looked_up)
    return po.pipeline(out, name="cells", context=["H >= 1", "W >= 1"])


PROGRAMS = {"curve": lambda: curve("u8", 100), "cells": cells}
#: automatic plans, for sizes that have strips
MADE = {name: po.auto(made(), sizes={"H": 100, "W": 1000}) for name, made in PROGRAMS.items()}


@pytest.mark.parametrize("name", MADE)
def test_what_is_looked_up_is_compared(name):
    plan = MADE[name]
    program = plan.emit()
    assert "lookup_" in program.source
    assert "gives the source's results in" in CodeCheck(plan.scop, program)()


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("curve", "at, table_found, x_end - x_strip)", "at, table_found, x_end - x_strip - 1)"),
        ("curve", "99)", "98)"),
        ("cells", "&at[first - x_strip]", "&at2[first - x_strip]"),
        ("cells", "x_strip], count", "x_strip], count - 1"),
        ("cells", "&grid_found2[first - x_strip]", "&grid_found[first - x_strip]"),
        ("cells", "grid[x_cell]", "grid[x_cell + 1]"),
    ],
)
def test_a_wrong_lookup_is_seen(name, old, new):
    plan = MADE[name]
    right = plan.emit()
    source = re.sub(r"\s+&", " &", right.source)
    wrong = replace(right, source=source.replace(old, new))
    assert check_runs(ReadBack(plan.scop, replace(right, source=source)))
    assert wrong.source != source
    with pytest.raises(InternalError):
        check_runs(ReadBack(plan.scop, wrong))


@pytest.mark.parametrize(
    ("name", "old", "new", "message"),
    [
        ("curve", "(table, 100,", "(table, 99,", "another length than its table's"),
        ("curve", "(table, 100,", "(&table[0], 100,", "another length than its table's"),
        ("curve", "found[k] = table[at[k]]", "found[k] = table[at[0]]", "not what it is known as"),
        ("curve", "int16_t at[64]", "int32_t at[64]", "rows of other types"),
        ("curve", "at, table_found,", "at, table,", "writes what it reads"),
        ("cells", "(grid[x_cell],", "(grid,", "no row of an array"),
    ],
)
def test_a_lookup_of_another_form_is_refused(name, old, new, message):
    plan = MADE[name]
    program = plan.emit()
    text = program.source.replace(old, new)
    assert text != program.source
    with pytest.raises(UnsupportedError, match=message):
        parse_emitted(text, program.c_name).scop(plan.scop.params)
