"""Every argument of every public function, given what makes no sense: errors of ours come out.

Whatever else comes out of a function of ``po`` is a defect: an argument that its annotation does
not allow has to be named. What is accepted may do what it says.
"""

from __future__ import annotations

import inspect
import math
from functools import partial

import numpy as np
import pytest

import polyopt as po
from polyopt import explain, graph
from polyopt.arguments import misfit
from polyopt.checking import check_file
from polyopt.errors import (
    IllegalScheduleError,
    InternalError,
    InvalidOptionError,
    PolyoptError,
    UnsupportedError,
    shown,
)
from polyopt.graph import Graph, Node, Value

BLUR = """
void blur(int H, int W, const float img[H][W], float out[H - 2][W - 2]) {
  float bx[H][W - 2];
  for (int y = 0; y < H; y++)
    for (int x = 0; x < W - 2; x++)
      bx[y][x] = img[y][x] + img[y][x + 1] + img[y][x + 2];
  for (int y = 0; y < H - 2; y++)
    for (int x = 0; x < W - 2; x++)
      out[y][x] = bx[y][x] + bx[y + 1][x] + bx[y + 2][x];
}
"""
SCALED = """
void scaled(int N, double f, int k, float a[N]) {
  for (int i = 0; i < N; i++) a[i] = a[i] * f + k;
}
"""
HOSTILE = (
    None, True, -1, 10**5000, math.nan, "", "no such", b"bytes", [[1, [2]]], {1: 2}, {"H": None},
    (None,), object(), np.zeros(3), int, slice(None, "a"), slice(0, 10**400),
)  # fmt: skip

SCOP = po.parse_c(BLUR)
PLAN = po.Plan(SCOP)
TILED = PLAN.tile("out", y=4, x=8)
GRID = po.input("g", po.f32, ["N"])
NET = Graph("n", (Value("x", (1, 4), po.f32),), {}, (Node("y", "relu", ("x",)),), ("y",))
SIZES = {"H": 9, "W": 9}


def stage(function):
    return po.stage("s", ["N"], function)


def ending(name):
    """A function that takes its last positional arguments by keyword."""
    return lambda target: lambda **given: target(given.pop(name), **given)


#: by name, a function with arguments that it takes; each is replaced in turn
CALLS = {
    "auto": (po.auto, {"scop": SCOP, "sizes": SIZES, "fusion": "output", "target": "native"}),
    "affine": (po.affine, {"scop": SCOP, "fusion": "smart"}),
    "parse_c": (po.parse_c, {"source": BLUR, "function": "blur", "defines": {"A": 1},
                             "params": ("H",)}),
    "load_kernel": (po.load_kernel, {"name": "blur"}),
    "same_scop": (po.same_scop, {"one": SCOP, "other": SCOP}),
    "scop": (po.scop, {"function": len}),
    "cuts": (po.cuts, {"kernel": ()}),
    "input": (po.input, {"name": "img", "type": po.f32, "extents": ["H", "W"]}),
    "scalar": (po.scalar, {"name": "s", "type": "f32"}),
    "size": (po.size, {"name": "H"}),
    "stage": (po.stage, {"name": "s", "extents": ["N"], "function": lambda i: GRID[i],
                         "type": po.f32, "indices": ["i"]}),
    "pipeline": (ending("outputs")(po.pipeline),
                 {"outputs": stage(lambda i: GRID[i]), "name": "p", "context": "N > 3"}),
    "clamped": (po.clamped, {"grid": GRID}),
    "mirrored": (po.mirrored, {"grid": GRID, "edge": True}),
    "padded": (po.padded, {"grid": GRID, "value": 0}),
    "wrapped": (po.wrapped, {"grid": GRID}),
    "index": (lambda v: stage(lambda i: GRID[v]), {"v": 0}),
    "sum of": (lambda v: stage(lambda i: GRID[i] + v), {"v": 0}),
    "quotient of": (lambda v: stage(lambda i: GRID[i // v]), {"v": 2}),
    "power of": (lambda v: stage(lambda i: GRID[i] ** v), {"v": 2}),
    "less": (lambda v: stage(lambda i: po.select(GRID[i] < v, 1.0, 2.0)), {"v": 2}),
    "clamp": (lambda v, w: stage(lambda i: po.clamp(GRID[i], v, w)), {"v": 0, "w": 1}),
    "cast": (lambda v: stage(lambda i: po.cast(v, GRID[i])), {"v": "f32"}),
    "select": (lambda c, v: stage(lambda i: po.select(c, v, GRID[i])), {"c": 1, "v": 1}),
    "sqrt": (lambda v: stage(lambda i: po.sqrt(v)), {"v": 2.0}),
    "pow": (lambda v: stage(lambda i: po.pow(GRID[i], v)), {"v": 2.0}),
    "max": (lambda v: stage(lambda i: po.max(GRID[i], v)), {"v": 2.0}),
    "sum": (lambda f, over, k: stage(lambda i: po.sum(f, over=over, k=k)),
            {"f": lambda k: GRID[k], "over": {}, "k": 3}),
    "compile_model": (graph.compile_model, {"model": (), "sizes": {"n": 1}, "passes": []}),
    "Plan": (po.Plan, {"scop": SCOP}),
    "tile": (lambda space, y: PLAN.tile(space, y=y), {"space": "out", "y": 4}),
    "split": (PLAN.split, {"loop": "out.y", "size": 4}),
    "interchange": (PLAN.interchange, {"one": "out.y", "other": "out.x"}),
    "reorder": (lambda v: PLAN.reorder(v, "out.y"), {"v": "out.x"}),
    "skew": (PLAN.skew, {"loop": "out.x", "by": "out.y", "factor": 1}),
    "diamond": (PLAN.diamond, {"time": "out.y", "space": "out.x", "size": 4}),
    "shift": (lambda space, y: PLAN.shift(space, y=y), {"space": "out", "y": 4}),
    "fuse_loops": (PLAN.fuse_loops, {"one": "bx.y", "other": "out.y", "depth": 1, "shift": 2}),
    "distribute": (PLAN.distribute, {"loop": "out.y", "at": "out"}),
    "split_range": (PLAN.split_range, {"loop": "out.x", "at": "out.y"}),
    "delay_updates": (PLAN.delay_updates, {"space": "out", "at": "out.y"}),
    "reschedule": (PLAN.reschedule, {"fusion": "smart", "loop": "out.y"}),
    "double_buffer": (lambda a: PLAN.double_buffer("out", a), {"a": "bx"}),
    "eliminate_dead_stores": (PLAN.eliminate_dead_stores, {}),
    "tabulate": (lambda s, v: PLAN.tabulate(s, v, data=True), {"s": "out", "v": "x"}),
    "separate_filter": (lambda v: PLAN.separate_filter("bx", v), {"v": "out"}),
    "separate_reduction": (lambda v: PLAN.separate_reduction("bx", v), {"v": "out"}),
    "clone_stage": (lambda a, r: PLAN.clone_stage(a, r, r), {"a": "bx", "r": "out"}),
    "scatter_updates": (lambda s: PLAN.scatter_updates("out", s), {"s": "out"}),
    "fuse": (TILED.fuse, {"producer": "bx", "into": "out", "at": "out.x_tile",
                          "storage": "scratch", "keep": None}),
    "inline": (PLAN.inline, {"producer": "bx"}),
    "store": (TILED.store, {"array": "bx", "at": "out.y_tile", "fold": {0: 3}, "extents": None}),
    "pack": (TILED.pack, {"array": "img", "at": "out.y_tile", "read": None, "order": None}),
    "parallelize": (PLAN.parallelize, {"loop": "out.y", "schedule": "static"}),
    "vectorize": (PLAN.vectorize, {"loop": "out.x", "width": 8, "aligned": True}),
    "unroll": (PLAN.unroll, {"loop": "out.x", "factor": 2}),
    "unroll_and_jam": (PLAN.unroll_and_jam, {"loop": "out.y", "factor": 2}),
    "separate_full_tiles": (TILED.separate_full_tiles, {"loop": "out.y"}),
    "register_tile": (TILED.register_tile, {"loop": "out.y"}),
    "store_nontemporal": (lambda a, past: PLAN.store_nontemporal(a, past=past),
                          {"a": "out", "past": 0}),
    "reassociate": (lambda v: PLAN.reassociate("out", v), {"v": "out"}),
    "prove": (PLAN.prove, {"operations": 10**7}),
    "loops": (PLAN.loops, {"space": "out"}),
    "undo": (TILED.undo, {"moves": 1}),
    "code": (PLAN.code, {"libm": False}),
    "each": (lambda p, q, x: PLAN.each(p, q, exclude=x), {"p": "*.x", "q": "out.*", "x": ["bx.*"]}),
    "each loop": (lambda w, a: PLAN.each("*.x").vectorize(w, aligned=a), {"w": 8, "a": False}),
    "each space": (lambda into, at: TILED.each("bx").fuse(into, at=at),
                   {"into": "out", "at": "out.y_tile"}),
    "apply": (ending("schedule")(PLAN.apply), {"schedule": lambda plan, n: plan.split("out.y", n),
                                               "n": 4}),
    "accept": (PLAN.accept, {"refusal": IllegalScheduleError("no")}),
    "tune": (po.tune, {"program": SCOP, "schedule": lambda plan, n: plan.split("out.y", n),
                       "space": {"n": [2, 4]}, "sizes": SIZES, "threads": 1, "seconds": 0.001,
                       "budget": 0.0, "most": 1, "seed": 0, "target": "generic"}),
    "load_schedule": (po.load_schedule, {"name": "blur"}),
    "check_file": (check_file, {"path": "nowhere.c", "reading": None}),
    "load": (po.Plan.load, {"path": "nowhere.json", "scop": SCOP}),
    "replay": (PLAN.replay, {"name": "tile", "args": ["out"], "options": {"y": 4}}),
    "emit": (PLAN.emit, {"name": "blur"}),
    "compile": (PLAN.compile, {"target": "no such", "cc": "no-such-compiler"}),
    "cost": (PLAN.cost, {"sizes": SIZES, "target": "native"}),
    "explain": (PLAN.explain, {"subject": "bx", "sizes": SIZES}),
    "diff": (PLAN.diff, {"other": TILED, "sizes": SIZES, "target": "native"}),
    "why": (PLAN.why, {"element": "out[1, 1]", "sizes": SIZES}),
    "array": (SCOP.array, {"name": "bx"}),
    "fills": (SCOP.fills, {"array": "out"}),
    "statement": (SCOP.statement, {"name": "out"}),
    "Value": (Value, {"name": "x", "shape": (1, 4), "dtype": po.f32}),
    "Node": (lambda **k: graph.verify(Graph("n", NET.inputs, {}, (Node(**k),), ("y",))),
             {"name": "y", "op": "relu", "inputs": ("x",), "attributes": ()}),
    "Graph": (lambda **k: graph.verify(Graph(**k)),
              {"name": "n", "inputs": NET.inputs, "constants": {}, "nodes": NET.nodes,
               "outputs": ("y",)}),
    "at": (lambda v: NET.at(n=v), {"v": 1}),
    "load_onnx": (graph.load_onnx, {"model": b"x", "sizes": {"n": 1}, "usual": {"n": 1}}),
    "run_passes": (graph.run_passes, {"graph": NET, "passes": [], "seed": 0}),
    "default_passes": (graph.default_passes, {"target": "native"}),
    "choose_groups": (graph.choose_groups, {"graph": NET, "fusion": None}),
    "in_place": (graph.in_place, {"graph": NET}),
    "same_graph": (graph.same_graph, {"one": NET, "other": NET}),
    "forget": (graph.forget, {"name": "no such operator"}),
    "operator": (ending("name")(graph.operator), {"name": "relu", "form_of": ""}),
    "Fusion": (graph.Fusion, {"level": "off"}),
    "draw_dependences": (explain.draw_dependences,
                         {"scop": SCOP, "source": "bx", "sink": "out", "sizes": SIZES}),
    "draw_domain": (explain.draw_domain, {"program": PLAN, "statement": "bx", "sizes": SIZES}),
    "draw_graph": (explain.draw_graph, {"plan": PLAN, "sizes": SIZES}),
    "draw_tiles": (explain.draw_tiles, {"plan": TILED, "space": "out", "sizes": SIZES}),
    "draw_tree": (explain.draw_tree, {"plan": PLAN}),
    "draw_windows": (explain.draw_windows, {"plan": PLAN, "sizes": SIZES}),
    "formulas": (explain.formulas, {"plan": PLAN}),
    "roofs_of": (explain.roofs_of, {"bandwidth_gbs": {1: 1.0}, "peak_gflops": {1: 2.0}}),
}  # fmt: skip


def ours(function, *args, **given):
    """The text of what happens: nothing, or an error of ours that is no defect."""
    try:
        function(*args, **given)
    except InternalError as error:
        pytest.fail(str(error))
    except PolyoptError as error:
        return str(error)
    return "nothing"


#: what plans anything costs seconds, and an argument that is left out is as good as one of None
SLOW = {"auto": {"sizes", "target", "fusion"}, "affine": {"fusion"}}


@pytest.mark.parametrize("name", CALLS)
def test_what_makes_no_sense_is_an_error_of_ours(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    function, base = CALLS[name]
    for argument in base:
        for value in HOSTILE:
            if value is None and argument in SLOW.get(name, ()):
                continue
            assert ours(partial(function, **{**base, argument: value}))
    assert list(tmp_path.iterdir()) == []


@pytest.fixture(scope="module")
def kernels():
    return PLAN.compile(), po.Plan(po.parse_c(SCALED)).compile()


def test_calls_of_kernels_with_what_makes_no_sense(kernels, tmp_path):
    blur, scaled = kernels
    img, out = np.zeros((6, 7), np.float32), np.zeros((4, 5), np.float32)
    calls = [
        (blur, img), (lambda v: blur(img, out=v), out), (lambda v: blur(img, H=v), 6),
        (lambda v: blur(img, threads=v), 1), (lambda v: blur.update(v, img, out=out), {}),
        (lambda v: blur.update({"img": v}, img, out=out), 1),
        (lambda v: blur.update({"img": (v, slice(1, 2))}, img, out=out), 1),
        (lambda v: blur.update({"img": 1}, v, out=out), img),
        (lambda v: scaled(N=3, f=v, k=2, a=np.zeros(3, np.float32)), 1.0),
        (lambda v: scaled(N=3, f=1.0, k=v, a=np.zeros(3, np.float32)), 1),
        (lambda v: scaled(N=v, f=1.0, k=1, a=np.zeros(3, np.float32)), 3),
        (lambda v: blur.shapes(H=v, W=9), 9), (lambda v: blur.sizes_of({"img": v}, H=9), (9, 9)),
        (blur.sizes_of, {"img": (9, 9)}), (blur.thread_count, 1),
        (lambda v: blur.verify(v, H=9, W=9), 0), (lambda v: blur.verify(0, H=v, W=9), 9),
        (lambda v: blur.bind(img, threads=v), 1),
        (lambda v: po.map_blocks(v, img), blur), (lambda v: po.map_blocks(blur, v), img),
        (lambda v: po.map_blocks(blur, img, blocks=v), (9, 9)),
        (lambda v: po.map_blocks(blur, img, memory=v, workers=1), "1 MiB"),
        (lambda v: po.map_blocks(blur, img, workers=v), 1),
        (lambda v: po.map_blocks(blur, img, out=v, workers=1), out),
    ]  # fmt: skip
    for function, fine in calls:
        function(fine)
        for value in HOSTILE:
            assert ours(function, value)


@pytest.mark.parametrize(
    ("region", "message"),
    [
        (np.s_[1, ...], "has Ellipsis in it: a dimension is a slice or an index"),
        ([1, 2], r"has \[1, 2\] in it"),
        (None, "has None in it"),
        (np.s_[9], "has the index 9, and there are 6 elements"),
    ],
)
def test_regions_that_are_none_are_named(kernels, region, message):
    img, out = np.zeros((6, 7), np.float32), np.zeros((4, 5), np.float32)
    with pytest.raises(PolyoptError, match=message):
        kernels[0].update({"img": region}, img, out=out)
    with pytest.raises(PolyoptError, match="says by name which parts"):
        kernels[0].update(np.s_[1:2], img, out=out)


# -- what the errors say ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ask", "message", "hint"),
    [
        (lambda: po.load_kernel(None), "load_kernel: name is None", "str"),
        (lambda: PLAN.cost(sizes=[1]), r"sizes is \[1\]", "Mapping[str, int]"),
        (lambda: explain.draw_tree(SCOP), "draw_tree: plan is ", "Plan"),
        (lambda: graph.verify(Graph("n", 3, {}, (), ())), "verify: graph.inputs is 3",
         "tuple[Value, ...]"),
        (lambda: po.parse_c(BLUR, params=[[1]]), r"parse_c: params is \[\[1\]\]", "str"),
        (lambda: po.parse_c(10**5000), "parse_c: a number in source is too large", "64 bits"),
    ],
)  # fmt: skip
def test_an_argument_that_does_not_fit_is_named(ask, message, hint):
    with pytest.raises(InvalidOptionError, match=message) as caught:
        ask()
    assert hint in caught.value.diagnostic.hint


def test_where_all_arguments_fit_the_exception_is_ours_to_mend():
    def broken(one: int, *more: str, named: float | None = None) -> None:
        raise KeyError(one, more, named)

    assert misfit(broken, (1, "a"), {"named": 0.5}) is None
    assert "more is 2" in str(misfit(broken, (1, "a", 2), {}))
    assert "named is 'x'" in str(misfit(broken, (1,), {"named": "x"}))
    assert misfit(broken, (), {}) is None


def test_values_are_shown_in_short_whatever_they_are():
    class Odd:
        def __repr__(self):
            raise RuntimeError

    assert shown(Odd()) == "a Odd"
    assert shown(10**5000) == "a int"
    assert len(shown("x" * 1000)) < 70


def test_what_is_checked_looks_as_it_is_written():
    assert str(inspect.signature(po.load_kernel)) == "(name: 'str') -> 'LibraryKernel'"
    assert list(inspect.signature(po.Plan.tile).parameters) == ["self", "space", "sizes"]


@pytest.mark.parametrize(
    ("function", "message", "hint"),
    [
        (lambda i: sums[i - 1] + GRID[i], "raises NameError: name 'sums'", "a recurrence"),  # noqa: F821
        (lambda i: po.argmax(lambda k: GRID[k], k=3), "raises AttributeError", "po.max"),
        (lambda i: po.sum(lambda k: GRID.place + k, k=3), "of a reduction raises", "po.max"),
        (lambda i: GRID[i] + {}["no"], "raises KeyError", ""),
    ],
)
def test_a_stage_whose_function_fails_says_where(function, message, hint):
    with pytest.raises(UnsupportedError, match=message) as caught:
        po.stage("sums", ["N"], function)
    assert caught.value.diagnostic.span.source.name == __file__
    assert hint in caught.value.diagnostic.hint
