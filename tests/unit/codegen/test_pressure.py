"""Vector loops with more values than registers, and what gcc is told about them."""

from __future__ import annotations

import numpy as np
import pytest

import polyopt as po
from polyopt.codegen.emit import SPARE_STACK
from polyopt.runtime.export import compiler_settings
from polyopt.runtime.toolchain import Toolchain

WIDE = ("-march=native", "-mprefer-vector-width=512")


def squares(taps: int, uses: int) -> po.Plan:
    """A row of sums of so many products, each of whose operands is used so often."""
    x = po.input("x", po.f32, ["N", 64])
    terms = "xyz"[:uses]

    def value(i, c):
        found = [x[i + k, c] for k in range(taps)]
        return sum(((v if uses == 1 else v * v) for v in found[1:]), start=found[0])

    out = po.stage(f"out_{terms}", [f"N - {taps - 1}", 64], value)
    plan = po.Plan(po.pipeline(out, context=[f"N >= {taps}"]))
    return plan.vectorize(f"{out.name}.c")


@pytest.mark.parametrize(("taps", "uses", "asked"), [(34, 2, True), (34, 1, False), (8, 2, False)])
def test_only_loops_with_more_shared_values_than_registers_ask(taps, uses, asked):
    assert set(SPARE_STACK) <= set(squares(taps, uses).emit().flags) or not asked
    assert set(SPARE_STACK).isdisjoint(squares(taps, uses).emit().flags) or asked


def gcc(folder, tuned: str, *, knows: bool = True) -> Toolchain:
    """What says that it is gcc and tunes for a processor, and may not know our options."""
    fake = folder / "cc"
    known = "" if knows else "*-mtune-ctrl*) exit 1 ;; "
    fake.write_text(
        f'#!/bin/sh\ncase "$*" in *--help=target*) echo "  -mtune=    {tuned}"; exit ;; {known}esac\n'
    )
    fake.chmod(0o755)
    return Toolchain((str(fake),), "cc (GCC) 12")


@pytest.mark.parametrize(
    ("tuned", "knows", "machine", "told"),
    [
        ("znver3", True, WIDE, True),
        ("znver3", False, WIDE, False),
        ("znver4", True, WIDE, False),
        ("icelake-server", True, WIDE, False),
        ("icelake-server", True, ("-march=native",), False),
        ("znver3", True, (), False),
    ],
)
def test_gcc_is_told_where_it_takes_the_processor_for_an_older_one(
    tmp_path, tuned, knows, machine, told
):
    flags = gcc(tmp_path, tuned, knows=knows).flags((*machine, *SPARE_STACK))
    assert set(SPARE_STACK) <= set(flags) or not told
    assert set(SPARE_STACK).isdisjoint(flags) or told


@pytest.mark.parametrize("tuned", ["znver2", "znver3", "znver4"])
def test_gcc_is_told_for_narrower_vectors_though_nothing_asks(tmp_path, tuned):
    flags = gcc(tmp_path, tuned).flags(("-march=native",))
    assert set(SPARE_STACK) <= set(flags) or tuned == "znver4"
    assert set(SPARE_STACK).isdisjoint(flags) or tuned != "znver4"


def test_clang_and_exported_makefiles_are_not_told(tmp_path):
    clang = Toolchain(("true",), "clang 14")
    assert set(SPARE_STACK).isdisjoint(clang.flags((*WIDE, *SPARE_STACK)))
    flags = gcc(tmp_path, "znver3").flags((*WIDE, *SPARE_STACK))
    assert set(SPARE_STACK) <= set(flags)
    assert "-mtune" not in compiler_settings([flags])


def test_crowded_loops_compute_the_same():
    x = np.random.default_rng(3).random((40, 64), np.float32)
    out = squares(34, 2).compile()(x=x)
    expected = [x[i] + (x[i + 1 : i + 34].astype(np.float64) ** 2).sum(axis=0) for i in range(7)]
    assert np.allclose(out, expected, rtol=1e-5)
