"""Neighbours from whole vectors: the same results wherever rows begin, and only such C is read."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np
import pytest

import polyopt as po
from polyopt.codegen.emit import emit
from polyopt.codegen.validate.translation import ReadBack
from polyopt.errors import InvalidOptionError, UnsupportedError
from polyopt.frontend.c.readback.emitted import parse_emitted
from polyopt.library import load_kernel
from tests.unit.codegen.test_cexpr import COMPILERS

if TYPE_CHECKING:
    from polyopt.codegen.signature import CProgram

ROW = """void row(int H, int N, const {type} a[restrict H][N], {type} out[restrict H][N])
{{
#pragma scop
    for (int i = 0; i < H; i++)
        for (int j = 2; j < N - 3; j++)
            out[i][j] = {value};
#pragma endscop
}}
"""
#: reads what it writes: no iteration may run twice
IN_PLACE = "0.5f * out[i][j] + a[i][j - 1] + a[i][j + 3]"
VALUES = {
    "f32": ("float", "0.25f * (a[i][j - 1] - a[i][j + 3]) / (a[i][j] + 2.0f)", 16),
    "f64": ("double", "a[i][j - 2] * 0.5 - (a[i][j + 1] + a[i][0])", 8),
}


def _row(kind: str, value: str = "", lanes: int = 0) -> po.Plan:
    type_, usual, full = VALUES[kind]
    scop = po.parse_c(ROW.format(type=type_, value=value or usual))
    return po.Plan(scop).vectorize("out.j", lanes or full, aligned=True)


def _reference(kind: str, a: np.ndarray) -> np.ndarray:
    out = np.zeros_like(a)
    n = a.shape[1]
    if n < 6:
        return out
    near = {k: a[:, 2 + k : n - 3 + k] for k in (-2, -1, 0, 1, 3)}
    if kind == "f32":
        out[:, 2 : n - 3] = np.float32(0.25) * (near[-1] - near[3]) / (near[0] + np.float32(2))
    else:
        out[:, 2 : n - 3] = near[-2] * 0.5 - (near[1] + a[:, :1])
    return out


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("kind", VALUES)
def test_every_length_and_place(kind, compiler):
    kernel = _row(kind).compile(cc=compiler)
    rng = np.random.default_rng(0)
    for length in (3, 6, 37, 63, 68, 69, 70, 85, 101, 131, 250):
        a = (1 + rng.random((3, length))).astype({"f32": "f4", "f64": "f8"}[kind])
        for shift in (0, 4, 5, 15):
            raw = np.zeros(a.size + 80, a.dtype)
            first = (-raw.ctypes.data // a.itemsize) % 16 + shift
            out = raw[first : first + a.size].reshape(a.shape)
            kernel(a, out=out)
            np.testing.assert_allclose(out, _reference(kind, a), rtol=1e-6)
            assert not raw[:first].any()
            assert not raw[first + a.size :].any()


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("contract", [True, False])
@pytest.mark.parametrize(
    ("kind", "value"), [("f32", ""), ("f64", ""), ("f32", IN_PLACE)], ids=["f32", "f64", "in place"]
)
def test_bits_are_those_of_elements(kind, value, contract, compiler):
    plan = _row(kind, value)
    options = {"cc": compiler, "contract": contract}
    wide, plain = plan.compile(**options), po.Plan(plan.scop).compile(**options)
    rng = np.random.default_rng(1)
    for length in (69, 70, 101, 104, 131, 250):
        a = (1 + rng.random((9, length))).astype({"f32": "f4", "f64": "f8"}[kind])
        one, other = np.ones_like(a), np.ones_like(a)
        wide(a, out=one)
        plain(a, out=other)
        np.testing.assert_array_equal(one, other)


def _loops(source: str) -> int:
    """The loops along a row: short ones are one, long ones three or one between vectors."""
    return len(re.findall(r"for \(int64_t j = ", source))


def test_ends_overlap_where_nothing_written_is_read():
    assert _loops(_row("f32").compile().source) == 2
    elements = _row("f32", IN_PLACE).compile().source
    assert "before1_f32x16(" in elements
    assert _loops(elements) == 4


@pytest.mark.parametrize("kind", VALUES)
def test_form(kind):
    source = _row(kind).compile().source
    lanes = VALUES[kind][2]
    assert f"j += {lanes}" in source
    assert f"ahead_{kind}x{lanes}(&out[i][" in source
    assert re.search(rf"behind\d_{kind}x{lanes}\(&a\[i\]\[j", source)
    assert str(_row(kind)).count(f"# vector {lanes}, aligned") == 1


@pytest.mark.parametrize(
    "value",
    [
        "a[i][j] * 2.0f",  # no neighbours
        "sqrtf(a[i][j] + a[i][j + 1])",
        "a[i][j] > a[i][j + 1] ? a[i][j] : a[i][j + 1]",
        "a[i][j] + a[i][j + 20]",  # further than a vector
        "a[i][2 * j % 3] + a[i][j] + a[i][j + 1]",
        "a[i][j] + a[i][j + 1] * (float)j",
        "(float)((double)a[i][j] + a[i][j + 1])",
    ],
)
def test_other_loops_stay(value):
    value = value.replace("j + 20", "j < N - 20 ? j + 20 : j") if "20" in value else value
    source = _row("f32", value).compile().source
    assert "f32x16" not in source
    assert "#pragma omp simd" in source


@pytest.mark.parametrize("kind", VALUES)
@pytest.mark.parametrize("value", ["", IN_PLACE], ids=["two arrays", "in place"])
def test_read_back_for_all_sizes(kind, value):
    plan = _row(kind, value.replace("0.5f", "0.5") if kind == "f64" else value)
    assert plan.prove(code=True).obligations
    assert ReadBack(plan.scop, emit(plan.program)).claims() > 0


def test_diamonds_are_read_back_for_all_sizes():
    """Least and largest of bounds leave the domain of such a tile in ten pieces."""
    scop = load_kernel("jacobi_2d").scop
    plan = po.auto(scop, target="avx512", sizes={"T": 200, "N": 2000})
    program = emit(plan.program)
    assert "ahead_f32x16" in program.source
    assert ReadBack(scop, program).claims() == 2


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("j_line = 17", "j_line = 16"),
        ("j_end - 15 - j_line", "j_end - j_line"),
        ("/ 16 * 16;", "/ 16 * 15;"),
        ("j += 16", "j += 8"),
        ("j_end - 2 < 64", "j_end - 2 < 16"),
        ("before1_f32x16(&a[i][j])", "before1_f32x16(&a[i][j - 1])"),
        ("behind3_f32x16(&a[i][j])", "behind3_f32x16(&a[i + 1][j])"),
        ("*(f32x16_at *)&out[i][j] = 0.25f", "*(f32x16_at *)&out[i][j] = 0.5f"),
        ("15, 16, 17,", "15, 16, 16,"),
        ("% 64 / sizeof", "% 32 / sizeof"),
        ("*(const f32x16_at *)(at - 16)", "*(const f32x16_at *)(at - 15)"),
        ("const int64_t j = 2;", "const int64_t j = 3;"),
        ("const int64_t j = 2;", "const int64_t j = 1;"),
        ("const int64_t j = j_line - 16;", "const int64_t j = j_line - 15;"),
        ("const int64_t j = j_line - 16;", "const int64_t j = j_line - 17;"),
        ("const int64_t j = j_past;", "const int64_t j = j_past + 1;"),
        ("const int64_t j = j_end - 16;", "const int64_t j = j_end - 15;"),
        ("const int64_t j = j_end - 16;", "const int64_t j = j_end - 17;"),
        ("j_line > 18", "j_line > 19"),
        ("j_line > 18", "j_line > 16"),
        ("j_past < j_end - 16", "j_past < j_end - 17"),
        ("const int64_t j = j_past;", "int32_t j = j_past;"),
        ("(f32x16_at *)&a[i][j - 1]", "(f32x16_at *)&a[i][j - 2]"),
    ],
)
def test_other_code_is_refused(old, new):
    program = emit(_row("f32").program)
    _check_refused(program, program.source, old, new, 1)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("*(f32x16_at *)&a[i][j - 1]", "before1_f32x16(&a[i][j])"),  # a row's ends have no more
        ("j] = 0.25f", "j] += 0.25f"),
        ("a[i][j + 3]", "out[i][j + 3]"),
        ("a[i][j]", "out[i][j]"),
    ],
)
def test_other_ends_are_refused(old, new):
    """Changed wherever it stands: parts that are one another's like are no right parts yet."""
    program = emit(_row("f32").program)
    _check_refused(program, program.source, old, new, -1)


@pytest.mark.parametrize("other", ["f32x8", "f64x8"])
def test_vectors_of_another_length_are_refused(other):
    program = emit(_row("f32").program)
    known = f"typedef float {other}_at __attribute__((vector_size(32), aligned(4)));\n"
    known += f"typedef float {other} __attribute__((vector_size(32)));\n"
    text = program.source.replace("typedef float f32x16", known + "typedef float f32x16", 1)
    for count in (1, -1):
        _check_refused(program, text, "(f32x16_at *)&a[i][j", f"({other}_at *)&a[i][j", count)


def test_no_iteration_that_reads_what_it_writes_runs_twice():
    """Right vectors with right ends, of a loop that may not have them."""
    program = emit(_row("f32", "0.5f * a[i][j] + a[i][j - 1] + a[i][j + 3]").program)
    text = re.sub(r"(0\.5f \* (?:\*\(f32x16_at \*\)&)?)a", r"\1out", program.source)
    with pytest.raises(UnsupportedError, match="runs twice reads what it writes"):
        parse_emitted(text, program.name).scop(("H", "N"))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("for (int64_t j = j_past", "for (int64_t j = j_line"),
        ("for (int64_t j = j_past", "for (int64_t j = j_past - 1"),
        ("j < j_line; j++", "j <= j_line; j++"),
        ("j < j_line; j++", "j < j_line; j += 2"),
    ],
)
def test_other_ends_by_elements_are_refused(old, new):
    program = emit(_row("f32", IN_PLACE).program)
    _check_refused(program, program.source, old, new, 1)


def _check_refused(program: CProgram, text: str, old: str, new: str, count: int) -> None:
    """What was written is read, and with so many changes (-1: all) it is not."""
    assert old in text
    parse_emitted(text, program.name).scop(("H", "N"))
    with pytest.raises(UnsupportedError):
        parse_emitted(text.replace(old, new, count), program.name).scop(("H", "N"))


def test_options(tmp_path):
    plan = _row("f32")
    plan.save(tmp_path / "row.json")
    again = po.Plan.load(tmp_path / "row.json", plan.scop)
    assert again.compile().source == plan.compile().source
    with pytest.raises(InvalidOptionError, match="no aligned vectors of 3 lanes"):
        plan.vectorize("out.j", 3, aligned=True)
    with pytest.raises(InvalidOptionError, match="no aligned vectors of 0 lanes"):
        plan.vectorize("out.j", aligned=True)


def test_automatic_plans_say_why():
    type_, value, _ = VALUES["f32"]
    scop = po.parse_c(ROW.format(type=type_, value=value))
    wide = po.auto(scop, target="avx512", sizes={"H": 100, "N": 5000})
    assert any("whole vectors" in r.reason and r.kind == "applied" for r in wide.remarks)
    short = po.auto(scop, target="avx512", sizes={"H": 100, "N": 100})
    assert any("too short" in r.reason and r.kind == "refused" for r in short.remarks)
    narrow = po.auto(scop, target="avx2", sizes={"H": 100, "N": 5000})
    assert not any("whole vectors" in r.reason for r in narrow.remarks)
