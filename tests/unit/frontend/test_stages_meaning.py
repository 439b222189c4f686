"""Pipelines of stages compute what NumPy computes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from polyopt.analysis.interpreter.interpret import interpret
from polyopt.errors import InvalidOptionError
from polyopt.frontend import stages as po
from polyopt.frontend.loops import f32, u8
from polyopt.ir.same import same_scop
from polyopt.ir.verify import verify
from polyopt.isl import parse_set

if TYPE_CHECKING:
    from polyopt.ir.scop import Scop


def run(scop: Scop, sizes: dict[str, int], **arrays: object) -> dict[str, np.ndarray]:
    verify(scop)
    return interpret(scop, sizes, arrays)


def numbers(*shape: int, dtype: object = np.float32, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    kind = np.dtype(dtype)
    if kind.kind == "f":
        return rng.normal(size=shape).astype(kind)
    return rng.integers(0 if kind.kind == "u" else -100, 100, shape).astype(kind)


def expect(found: np.ndarray, expected: np.ndarray) -> None:
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)


@pytest.fixture
def img() -> po.Input:
    return po.input("img", "u16", ["H", "W"])


@pytest.fixture
def row() -> po.Input:
    return po.input("row", "f32", "N")


def test_two_stages(img) -> None:
    bx = po.stage(
        "bx", ["H", "W - 2"], lambda y, x: (img[y, x] + img[y, x + 1] + img[y, x + 2]) // 3
    )
    out = po.stage(
        "out", ["H - 2", "W - 2"], lambda y, x: (bx[y, x] + bx[y + 1, x] + bx[y + 2, x]) // 3
    )
    scop = po.pipeline(out, name="blur")
    assert scop.name == "blur"
    assert scop.signature == ("H", "W", "img", "out")
    assert [(a.name, a.role) for a in scop.arrays] == [
        ("img", "in"),
        ("out", "out"),
        ("bx", "temp"),
    ]
    data = numbers(6, 7, dtype=np.uint16)
    wide = (data[:, :-2] + data[:, 1:-1] + data[:, 2:]) // np.uint16(3)
    expect(
        run(scop, {"H": 6, "W": 7}, img=data)["out"],
        (wide[:-2] + wide[1:-1] + wide[2:]) // np.uint16(3),
    )


def test_extents_in_every_form() -> None:
    n = po.size("N")
    row = po.input("row", np.float32, n + 2)
    a = po.stage("a", [(1, n + 1)], lambda x: row[x - 1] + row[x + 1])
    b = po.stage("b", [("2", "N")], lambda x: a[x - 1] + a[x + 1])
    c = po.stage("c", [range(3, 5), 2], lambda x, y: b[x] + y)
    scop = po.pipeline([b, c], context="N >= 5")
    assert scop.params == ("N",)
    data = numbers(9)
    found = run(scop, {"N": 7}, row=data)
    first = data[:-2] + data[2:]
    second = first[:-2] + first[2:]
    expect(found["b"], second)
    expect(found["c"], second[1:3, None] + np.arange(2, dtype=np.float32))


def test_types_follow_numpy() -> None:
    p = po.input("p", u8, "N")
    r = po.input("r", f32, "N")
    alpha = po.scalar("alpha", "f32")
    formulas = {
        "a": lambda p, r, a: p + p,
        "b": lambda p, r, a: p / 2,
        "c": lambda p, r, a: r * 0.5 + a,
        "d": lambda p, r, a: p * 0.5,
        "e": lambda p, r, a: p + r,
        "f": lambda p, r, a: -p // 7 + ~p % 5,
        "g": lambda p, r, a: (p << 1) ^ (3 & p | 8),
        "h": lambda p, r, a: np.float32(2) * r - 1 / r,
        "i": lambda p, r, a: p**2,
        "j": lambda p, r, a: abs(r) + np.sqrt(abs(r)),
        "k": lambda p, r, a: np.maximum(r, a) + np.minimum(p, 7),
        "l": lambda p, r, a: (
            300 - p.astype(np.int32) if isinstance(p, np.ndarray) else 300 - po.cast("i32", p)
        ),
    }
    stages = [
        po.stage(f"s{name}", "N", lambda x, f=f: f(p[x], r[x], alpha))
        for name, f in formulas.items()
    ]
    scop = po.pipeline(stages)
    data = {"p": numbers(30, dtype=np.uint8), "r": numbers(30), "alpha": np.float32(0.3)}
    found = run(scop, {"N": 30}, **data)
    for name, formula in formulas.items():
        expect(found[f"s{name}"], formula(data["p"], data["r"], data["alpha"]))


def test_iterators_and_sizes_are_numbers_too(row) -> None:
    n = po.size("N")
    ramp = po.stage("ramp", "N", lambda x: row[x] * x + (n - x) // 2)
    plain = po.stage("plain", "N", lambda x: x * x)
    scop = po.pipeline([ramp, plain])
    data, x = numbers(6), np.arange(6)
    found = run(scop, {"N": 6}, row=data)
    expect(found["ramp"], data * x.astype(np.float32) + ((6 - x) // 2).astype(np.float32))
    expect(found["plain"], x * x)


def test_an_explicit_type(row) -> None:
    short = po.stage("short", "N", lambda x: row[x] * 10, type="i8")
    data = numbers(6)
    expect(
        run(po.pipeline(short), {"N": 6}, row=data)["short"],
        (data * np.float32(10)).astype(np.int8),
    )


def test_a_reduction_is_an_init_and_an_update(img) -> None:
    w = po.input("w", "u16", [3, 3])
    out = po.stage(
        "out",
        ["H - 2", "W - 2"],
        lambda y, x: po.sum(lambda ky, kx: w[ky, kx] * img[y + ky, x + kx], ky=3, kx=3),
    )
    scop = po.pipeline(out)
    assert [s.name for s in scop.statements] == ["out_0", "out_1"]
    assert [a.name for a in scop.arrays] == ["img", "w", "out"], "inputs as they are defined"
    assert scop.statement("out_1").reduction == "add"
    assert scop.statement("out_1").iterators == ("y", "x", "ky", "kx")
    assert len(scop.nest) == 1
    data, weights = numbers(5, 6, dtype=np.uint16), numbers(3, 3, dtype=np.uint16, seed=1)
    expected = sum(
        weights[a, b] * data[a : a + 3, b : b + 4] for a in range(3) for b in range(3)
    ).astype(np.uint16)
    expect(run(scop, {"H": 5, "W": 6}, img=data, w=weights)["out"], expected)


@pytest.mark.parametrize("dtype", [np.float32, np.int16, np.uint8])
def test_every_reduction(dtype) -> None:
    row = po.input("row", dtype, ["N", "M"])
    kinds = {"sum": po.sum, "max": po.max, "min": po.min, "product": po.product}
    stages = [
        po.stage(name, "N", lambda i, f=f: f(lambda k: row[i, k], over={"k": (1, "M")}))
        for name, f in kinds.items()
    ]
    data = numbers(4, 6, dtype=dtype)
    found = run(po.pipeline(stages), {"N": 4, "M": 6}, row=data)
    part = data[:, 1:]
    total = np.zeros(4, dtype)
    product = np.ones(4, dtype)
    for column in part.T:
        total, product = total + column, product * column
    expect(found["sum"], total)
    expect(found["product"], product)
    expect(found["max"], part.max(axis=1))
    expect(found["min"], part.min(axis=1))


def test_a_maximum_over_nothing_is_the_lowest() -> None:
    row = po.input("row", "f32", "N")
    stages = [
        po.stage("high", "N", lambda i: po.max(lambda k: row[k], k=i)),
        po.stage("low", "N", lambda i: po.min(lambda k: po.cast("i16", row[k]), k=i)),
    ]
    found = run(po.pipeline(stages), {"N": 2}, row=numbers(2))
    assert found["high"][0] == -np.inf
    assert found["low"][0] == 32767


def test_a_reduction_inside_an_expression(row) -> None:
    mean = po.stage("mean", "N - 4", lambda x: po.sum(lambda k: row[x + k], k=5) / 5 + row[x] * 2)
    scop = po.pipeline(mean)
    assert [s.name for s in scop.statements] == ["mean_sum_0", "mean_sum_1", "mean"]
    local = scop.array("mean_sum")
    assert (local.role, local.private, local.rank) == ("temp", 1, 1)
    data = numbers(9)
    total = np.zeros(5, np.float32)
    for k in range(5):
        total = total + data[k : k + 5]
    expect(run(scop, {"N": 9}, row=data)["mean"], total / np.float32(5) + data[:5] * np.float32(2))


def test_reductions_of_reductions() -> None:
    a = po.input("a", "i32", ["N", "N"])
    out = po.stage(
        "out",
        "N",
        lambda i: (
            po.max(lambda j: po.sum(lambda k: a[j, k], k=(0, i + 1)) * j, j="N")
            - po.min(lambda j: a[i, j], j="N")
        ),
    )
    data = numbers(4, 4, dtype=np.int32)
    expected = [
        max(int(data[j, : i + 1].sum()) * j for j in range(4)) - int(data[i].min())
        for i in range(4)
    ]
    expect(run(po.pipeline(out), {"N": 4}, a=data)["out"], np.array(expected, np.int32))


MODES = {
    "clamped": (po.clamped, "edge"),
    "mirrored": (po.mirrored, "symmetric"),
    "reflected": (lambda f: po.mirrored(f, edge=False), "reflect"),
    "wrapped": (po.wrapped, "wrap"),
    "padded": (po.padded, "constant"),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("extents", [["H", "W"], [5, 4]])
def test_borders(mode: str, extents: list[object]) -> None:
    wrap, numpy_mode = MODES[mode]
    img = po.input("img", "f32", extents)
    f = wrap(img)
    out = po.stage("out", extents, lambda y, x: f[y - 2, x + 1] + f[y + 3, x - 3] * 2)
    data = numbers(5, 4)
    wide = np.pad(data, 3, mode=numpy_mode)
    expected = wide[1:6, 4:8] + wide[6:11, 0:4] * np.float32(2)
    sizes = {"H": 5, "W": 4} if extents == ["H", "W"] else {}
    scop = po.pipeline(out)
    expect(run(scop, sizes, img=data)["out"], expected)
    assert all(read.exact for s in scop.statements for read in s.reads)


def test_borders_of_a_range_that_begins_elsewhere(row) -> None:
    inner = po.stage("inner", [(2, "N - 1")], lambda x: row[x] * 2)
    stages = [
        po.stage(name, "N", lambda x, wrap=wrap: wrap(inner)[x])
        for name, (wrap, _) in MODES.items()
    ]
    data = numbers(9)
    found = run(po.pipeline(stages), {"N": 9}, row=data)
    part = data[2:8] * np.float32(2)
    for name, (_, mode) in MODES.items():
        expect(found[name], np.pad(part, (2, 1), mode=mode))


def test_reads_that_stay_inside_need_no_border_rule(row) -> None:
    f = po.clamped(row)
    out = po.stage("out", [(1, "N - 1")], lambda x: f[x - 1] + f[x + 1])
    plain = po.stage("out", [(1, "N - 1")], lambda x: row[x - 1] + row[x + 1])

    assert same_scop(po.pipeline(out), po.pipeline(plain))


def test_padding_takes_the_type_of_the_array() -> None:
    img = po.input("img", "u8", "N")
    f = po.padded(img, 255)
    data = numbers(4, dtype=np.uint8)
    out = po.stage("out", "N", lambda x: f[x - 1] // 2)
    expect(
        run(po.pipeline(out), {"N": 4}, img=data)["out"],
        np.concatenate([[255], data[:-1]]).astype(np.uint8) // np.uint8(2),
    )


def test_indices_from_data() -> None:
    img = po.input("img", "i16", "N")
    lut = po.input("lut", "f32", 64)
    border = po.clamped(lut)
    out = po.stage("out", "N", lambda x: lut[po.clamp(img[x], 0, 63)])
    assumed = po.stage("assumed", "N", lambda x: lut[po.assume(img[x] // 4 + 30, 0, 63)])
    bordered = po.stage("bordered", "N", lambda x: border[img[x] + x])
    scop = po.pipeline([out, assumed, bordered])
    data, table = numbers(20, dtype=np.int16), numbers(64)
    found = run(scop, {"N": 20}, img=data, lut=table)
    expect(found["out"], table[np.clip(data, 0, 63)])
    expect(found["assumed"], table[np.clip(data // 4 + 30, 0, 63)])
    expect(found["bordered"], table[np.clip(data + np.arange(20), 0, 63)])
    inside = [r.relation.range().is_subset(scop.array("lut").elements(scop.params))
              for s in scop.statements for r in s.reads if r.array == "lut"]  # fmt: skip
    assert inside == [True, True, True]


def test_choices(row) -> None:
    n = po.size("N")
    stages = [
        po.stage("a", "N", lambda x: po.select((x > 0) & (x < n - 1), row[x], 0)),
        po.stage("b", "N", lambda x: po.select((row[x] > 0) | (x == 0), row[x], -row[x])),
        po.stage("c", "N", lambda x: po.select(~(row[x] > 0), 1, 2)),
        po.stage("d", "N", lambda x: po.select(x >= 2, row[x - 2], 5)),
        po.stage("e", "N", lambda x: row[po.select(x % 2 == 0, x, n - 1 - x)]),
        po.stage("f", "N", lambda x: po.max(row[x], 0, x) - po.min(x, 3)),
    ]
    data, x = numbers(8), np.arange(8)
    found = run(po.pipeline(stages), {"N": 8}, row=data)
    expect(found["a"], np.where((x > 0) & (x < 7), data, np.float32(0)))
    expect(found["b"], np.where((data > 0) | (x == 0), data, -data))
    expect(found["c"], np.where(data > 0, 2, 1))
    expect(found["d"], np.concatenate([[5, 5], data[:-2]]).astype(np.float32))
    expect(found["e"], data[np.where(x % 2 == 0, x, 7 - x)])
    expect(
        found["f"],
        np.maximum(np.maximum(data, np.float32(0)), x.astype(np.float32))
        - np.minimum(x, 3).astype(np.float32),
    )


def test_math(row) -> None:
    out = po.stage("out", "N", lambda x: po.exp(row[x]) + po.sqrt(abs(row[x])) * po.tanh(0.5))
    data = numbers(5)
    found = run(po.pipeline(out), {"N": 5}, row=data)["out"]
    assert found.dtype == np.float64
    expected = (np.exp(data) + 0.0) + np.sqrt(np.abs(data)) * np.tanh(0.5)
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_a_hundred_stages_in_a_loop(row) -> None:
    f: po.Grid = row
    for k in range(100):
        g = po.clamped(f)
        f = po.stage(f"s{k}", "N", lambda x, g=g: (g[x - 1] + g[x + 1]) * 0.5)
    scop = po.pipeline(f)
    assert len(scop.statements) == 100
    assert [s.name for s in scop.statements] == [f"s{k}" for k in range(100)]
    data = numbers(4)
    expected = data
    for _ in range(100):
        wide = np.pad(expected, 1, mode="edge")
        expected = (wide[:-2] + wide[2:]) * np.float32(0.5)
    expect(run(scop, {"N": 4}, row=data)["s99"], expected)


def test_stages_that_no_output_needs_are_left_out(row) -> None:
    used = po.stage("used", "N", lambda x: row[x] + 1)
    po.stage("unused", "N", lambda x: used[x] + 1)
    out = po.stage("out", "N", lambda x: used[x] * 2)
    assert [s.name for s in po.pipeline(out).statements] == ["used", "out"]


def test_an_output_may_feed_a_stage(row) -> None:
    first = po.stage("first", "N", lambda x: row[x] + 1)
    second = po.stage("second", "N", lambda x: first[x] * 2)
    scop = po.pipeline([second, first])
    assert [(a.name, a.role) for a in scop.arrays] == [
        ("row", "in"),
        ("second", "out"),
        ("first", "out"),
    ]
    assert [s.name for s in scop.statements] == ["first", "second"]


def test_sizes_are_in_order_of_appearance_and_the_context_holds() -> None:
    a = po.input("a", "f32", ["K", "H - 1"])
    out = po.stage("out", ["H - 5", "B"], lambda y, b: a[0, y] * po.size("S"))
    scop = po.pipeline(out, context=["B % 4 == 0", po.size("S") <= 9])
    assert scop.params == ("K", "H", "B", "S")

    expected = "[K, H, B, S] -> { : K >= 1 and H >= 6 and B >= 4 and B mod 4 = 0 and S <= 9 }"
    assert scop.context.is_equal(parse_set(expected))


def test_places_of_statements_and_loads(img) -> None:
    out = po.stage("out", ["H", "W"], lambda y, x: img[y, x] + 1)
    statement = po.pipeline(out).statements[0]
    span, load = statement.span, statement.reads[0].span
    assert span is not None
    assert load is not None
    text = load.source.line(load.line)
    assert text[load.column - 1 : load.column - 1 + load.length] == "img[y, x]"
    assert text[span.column - 1 : span.column - 1 + span.length] == "img[y, x] + 1"


def test_a_stage_without_dimensions(row) -> None:
    total = po.stage("total", [], lambda: po.sum(lambda k: row[k], k="N"))
    out = po.stage("out", "N", lambda x: row[x] - total.as_term())
    data = numbers(5)
    found = run(po.pipeline([total, out]), {"N": 5}, row=data)
    expected = np.float32(0)
    for value in data:
        expected = expected + value
    expect(found["total"], np.asarray(expected))
    expect(found["out"], data - expected)


def test_outputs_come_one_by_one_or_as_a_sequence() -> None:
    x = po.input("x", f32, "N")
    double = po.stage("double", "N", lambda i: x[i] + x[i])
    total = po.stage("total", 1, lambda _: po.sum(lambda i: x[i], i="N"))
    one = po.pipeline(double, total, name="both")
    assert [a.name for a in one.arrays if a.role == "out"] == ["double", "total"]
    assert same_scop(one, po.pipeline([double, total], name="both"))
    with pytest.raises(InvalidOptionError, match="each once"):
        po.pipeline(double, double)


@pytest.mark.parametrize("shape", [(4,), (2, 3), (2, 3, 4)])
def test_functions_of_any_number_of_indices_make_stages_of_any_rank(shape: tuple[int, ...]) -> None:
    x = po.input("x", f32, shape)
    y = po.stage("y", shape, lambda *i: x[i] + x[i], indices=[f"a{d}" for d in range(len(shape))])
    over = {f"k{d}": extent for d, extent in enumerate(shape)}
    z = po.stage("z", [2], lambda *i: po.max(lambda *k: y[k], over=over) + i[0])
    scop = po.pipeline([y, z])
    given = numbers(*shape)
    found = run(scop, {}, x=given)
    expect(found["y"], given + given)
    expect(found["z"], np.float32((given + given).max()) + np.arange(2, dtype=np.float32))
    assert scop.statement("y").iterators == tuple(f"a{d}" for d in range(len(shape)))
