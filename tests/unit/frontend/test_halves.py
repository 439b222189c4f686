"""Arrays of 16-bit floats: every conversion, f32 between, sums in f32, and what is refused."""

# ruff: noqa: F821  (extents are texts in subscripts of annotations)

import json
import shutil
import struct
import subprocess
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import polyopt as po
from polyopt.errors import ArgumentError, InternalError, UnsupportedError
from polyopt.ir import build
from polyopt.ir.expr import Binary, Cast, Load, walk
from polyopt.ir.halves import narrowed, widened
from polyopt.ir.types import BF16, F16, F32, F64, I32
from polyopt.ir.verify import verify

from ...compilers import COMPILERS

HALVES = (po.f16, po.bf16)
EVERY = np.arange(1 << 16, dtype=np.uint16)
#: exponent bits, and those of the fraction
FORMS = {"f16": (5, 10), "bf16": (8, 7)}


def number(kind, bits):
    """The exact number that finite bits are, by the standard's formula."""
    width, fraction = FORMS[str(kind)]
    exponent, rest = bits >> fraction & (1 << width) - 1, bits & (1 << fraction) - 1
    assert exponent < (1 << width) - 1
    scale = Fraction(2) ** (max(exponent, 1) - (1 << width - 1) + 1 - fraction)
    value = (rest + (1 << fraction if exponent else 0)) * scale
    return -value if bits >> 15 else value


def is_finite(kind, bits):
    width, fraction = FORMS[str(kind)]
    return bits >> fraction & (1 << width) - 1 < (1 << width) - 1


def rounding_cases(kind):
    """Floats at halves, between two, and one bit beside both; ends, and some at random."""
    finite = EVERY[[is_finite(kind, int(bits)) for bits in EVERY]]
    floats = np.sort(widened(kind.type, elements(kind, finite)))
    middles = ((floats[1:].astype(np.float64) + floats[:-1]) / 2).astype(np.float32)
    near = np.concatenate([floats, middles])
    beside = [np.nextafter(near, np.float32(way)) for way in (-np.inf, np.inf)]
    rng = np.random.default_rng(0)
    drawn = rng.integers(0, 1 << 32, 100_000, dtype=np.uint64).astype(np.uint32).view(np.float32)
    ends = np.array(
        [np.inf, -np.inf, np.nan, 0.0, -0.0, 3e38, 65519.99, 65520.0, 1e-45], np.float32
    )
    return np.concatenate([near, *beside, drawn, ends])


def elements(kind, bits):
    return bits.view(np.float16) if kind is po.f16 else bits


def bits_of(array):
    return array.view(np.uint16)


def converted(kind):
    """Kernels of a conversion: to f32 and from it."""
    x, half = po.input("x", kind, ["N"]), po.input("half", po.f32, ["N"])
    out = po.pipeline(po.stage("out", ["N"], lambda i: x[i]), name="wide")
    back = po.stage("back", ["N"], lambda i: half[i], type=str(kind))
    return po.Plan(out).compile(), po.Plan(po.pipeline(back, name="narrow")).compile()


@pytest.mark.parametrize("kind", HALVES, ids=str)
def test_every_half_becomes_the_float_that_it_is(kind):
    wide, _ = converted(kind)
    found = wide(elements(kind, EVERY))
    for bits, value in zip(EVERY.tolist(), found.tolist(), strict=True):
        if is_finite(kind, bits):
            assert Fraction(value) == number(kind, bits)
        else:
            assert not np.isfinite(value)
    np.testing.assert_array_equal(found, widened(kind.type, elements(kind, EVERY)))
    assert np.signbit(found[~np.isnan(found)]).tolist() == [
        bool(bits >> 15) for bits in EVERY[~np.isnan(found)].tolist()
    ]


@pytest.mark.parametrize("kind", HALVES, ids=str)
def test_floats_become_the_nearest_half_ties_to_even(kind):
    _, narrow = converted(kind)
    given = rounding_cases(kind)
    found = bits_of(narrow(given))
    expected = bits_of(narrowed(kind.type, given))
    numbers = ~np.isnan(given)
    np.testing.assert_array_equal(found[numbers], expected[numbers])
    assert np.isnan(widened(kind.type, elements(kind, found[~numbers]))).all()
    width, fraction = FORMS[str(kind)]
    largest = number(kind, ((1 << width) - 1 << fraction) - 1)
    for value, bits in zip(given[::37].tolist(), found[::37].tolist(), strict=True):
        if not np.isfinite(value) or not is_finite(kind, bits):
            assert np.isnan(value) or abs(Fraction(value) if value - value == 0 else 1e99) > largest
            continue
        error = abs(number(kind, bits) - Fraction(value))
        for other in (bits - 1, bits + 1):
            if not 0 <= other < 1 << 16 or not is_finite(kind, other) or (other ^ bits) >> 15:
                continue
            beside = abs(number(kind, other) - Fraction(value))
            assert error < beside or (error == beside and bits % 2 == 0)


def test_binary16_is_that_of_the_standard_library():
    given = rounding_cases(po.f16)[::11]
    given = given[np.abs(given) < 65520]
    expected = [struct.unpack("<H", struct.pack("<e", value))[0] for value in given.tolist()]
    assert bits_of(narrowed(F16, given)).tolist() == expected


@pytest.mark.parametrize("kind", HALVES, ids=str)
def test_stages_compute_in_f32_and_round_where_they_are_stored(kind):
    a, b = po.input("a", kind, ["N"]), po.input("b", kind, ["N"])
    scaled = po.stage("scaled", ["N"], lambda i: a[i] * b[i] + 0.1, type=str(kind))
    out = po.stage("out", ["N - 2"], lambda i: scaled[i] + scaled[i + 1] + scaled[i + 2])
    scop = po.pipeline(out, name="mean")
    assert {array.name: str(array.type) for array in scop.arrays} == {
        "a": str(kind), "b": str(kind), "scaled": str(kind), "out": "f32",
    }  # fmt: skip
    plan = po.auto(scop)
    assert any("for all sizes" in o.detail for o in plan.prove(code=True).obligations)
    rng = np.random.default_rng(1)
    x, y = (narrowed(kind.type, rng.random(1000, np.float32)) for _ in range(2))
    wide = [widened(kind.type, one) for one in (x, y)]
    stored = widened(kind.type, narrowed(kind.type, wide[0] * wide[1] + np.float32(0.1)))
    expected = stored[:-2] + stored[1:-1] + stored[2:]
    np.testing.assert_array_equal(plan.compile()(x, y), expected)


@pytest.mark.parametrize("kind", HALVES, ids=str)
@pytest.mark.parametrize("compiler", COMPILERS)
def test_sums_are_f32_and_rounded_once(kind, compiler):
    a, b = po.input("a", kind, ["N", "N"]), po.input("b", kind, ["N", "N"])
    c = po.stage("c", ["N", "N"], lambda i, j: po.sum(lambda k: a[i, k] * b[k, j], k="N"),
                 type=str(kind))  # fmt: skip
    kernel = po.auto(po.pipeline(c, name="product"), sizes={"N": 200}).compile(cc=compiler)
    rng = np.random.default_rng(2)
    x, y = (narrowed(kind.type, rng.random((200, 200), np.float32)) for _ in range(2))
    exact = widened(kind.type, x).astype(np.float64) @ widened(kind.type, y).astype(np.float64)
    found = widened(kind.type, kernel(x, y)).astype(np.float64)
    # half a unit in the last place of 32 to 64, and the rounding of f32 sums
    assert np.abs(found - exact).max() <= 64 * 2.0 ** -(FORMS[str(kind)][1] + 2) + 1e-3
    assert kernel.verify() == 0.0


def test_loops_read_write_and_cast_halves():
    @po.scop
    def blend(x: po.f16["N"], y: po.bf16["N"], alpha: po.f32):
        for i in range(len(x)):
            y[i] = x[i] * alpha + po.f16(y[i] * 3.0)

    x, y = (
        np.linspace(-2, 2, 50, dtype=np.float16),
        narrowed(BF16, np.linspace(0, 1, 50, dtype=np.float32)),
    )
    kept = widened(F16, narrowed(F16, widened(BF16, y) * np.float32(3)))
    expected = narrowed(BF16, x.astype(np.float32) * np.float32(0.3) + kept)
    po.Plan(blend).compile()(x, y, 0.3)
    near = np.abs(y.astype(np.int64) - expected.astype(np.int64))
    assert near.max() <= 1  # alpha * x may be joined with the addition
    assert (near == 0).mean() > 0.9


def test_types_of_python_give_the_number_that_is_a_half():
    assert po.f16(0.1) == np.float32(np.float16(0.1))
    assert po.bf16(1.00390625) == 1.0
    assert type(po.bf16(3)) is np.float32
    assert po.f16.dtype == np.float16
    assert po.bf16.dtype == np.uint16


# -- what is refused ----------------------------------------------------------------------------


def test_scalars_of_halves_are_refused():
    with pytest.raises(UnsupportedError, match="the scalar 'a' is of type f16, which only arrays"):
        po.scalar("a", "f16")

    def scaled(a: po.bf16, x: po.f32["N"]):
        for i in range(len(x)):
            x[i] = a * x[i]

    with pytest.raises(UnsupportedError, match="the scalar 'a' is of type bf16") as caught:
        po.scop(scaled)
    assert "f32" in caught.value.diagnostic.hint


@pytest.mark.parametrize(
    ("kind", "given"), [(po.f16, np.uint16), (po.bf16, np.float16), (po.bf16, np.float32)]
)
def test_arrays_of_other_types_are_refused(kind, given):
    wide, _ = converted(kind)
    with pytest.raises(ArgumentError, match="is needed"):
        wide(np.zeros(8, given))


def test_programs_that_compute_with_halves_are_malformed():
    scop = po.pipeline(
        po.stage("out", ["N"], lambda i: po.input("x", po.f16, ["N"])[i] * 2, type="f16")
    )
    (statement,) = scop.statements
    load = next(node for node in walk(statement.value) if isinstance(node, Load))
    wrong = replace(statement, value=Binary(F16, "add", load, load))
    with pytest.raises(InternalError, match="computes with"):
        verify(scop.with_statements(wrong))


# -- expressions --------------------------------------------------------------------------------


def half_load(kind):
    return Load(kind, "x", ())


def test_conversions_go_by_f32_and_only_exact_ones_are_dropped():
    f16, bf16 = half_load(F16), half_load(BF16)
    assert build.cast(F16, build.cast(F32, f16)) is f16
    for outer, inner, middle in [
        (F64, f16, F32),
        (I32, f16, F32),
        (BF16, f16, F32),
        (F16, bf16, F32),
    ]:
        found = build.cast(outer, inner)
        assert isinstance(found, Cast)
        assert (found.type, found.operand.type) == (outer, middle)
    rounded = build.cast(F32, build.cast(F16, Load(F32, "y", ())))
    assert isinstance(rounded, Cast)
    assert rounded.operand.type == F16
    assert build.const(F16, 1 / 3).value == float(np.float16(1 / 3))
    assert build.const(BF16, 258).value == 258.0
    assert build.const(BF16, 257).value == 256.0


# -- exported -----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", HALVES, ids=str)
def test_exported_benchmarks_read_halves(tmp_path, kind):
    a = po.input("a", kind, ["N"])
    pair = po.stage("pair", ["N - 1"], lambda i: a[i] * 0.3 + a[i + 1], type=str(kind))
    kernel = po.auto(po.pipeline(pair, name="pair")).compile()
    out = kernel.export(tmp_path / "dist", N=5000)
    make = shutil.which("make")
    assert make is not None
    subprocess.run([make, "-s"], cwd=out, check=True, capture_output=True)
    done = subprocess.run([out / "bench", "--json", "--runs", "2"], capture_output=True, text=True,
                          check=True)  # fmt: skip
    assert all(row["agrees"] for row in json.loads(done.stdout)["rows"])
    header = (out / "pair.h").read_text()
    assert header.count("typedef uint16_t") == 1
    assert f"typedef uint16_t {kind}_bits;" in header
