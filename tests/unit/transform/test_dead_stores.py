"""Writes that nothing sees, and copies back of what is there: gone, with equal results."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import polyopt as po
from polyopt.analysis.interpreter.interpret import interpret
from polyopt.errors import (
    IllegalScheduleError,
    InvalidOptionError,
    LiveOutError,
    OrderViolatedError,
)
from polyopt.ir.scop import statements_in
from polyopt.isl import Set, fix_param_values
from polyopt.transform.source.dead_stores import without_dead_stores
from polyopt.transform.source.proof import check_source


def program(body, arguments="int N, const double a[N], double b[N]", params="const double c[N]"):
    return po.parse_c(f"void f({arguments}, {params}) {{\n{body}\n}}")


def names(scop):
    return [s.name for s in scop.statements]


ALL = "for (int i = 0; i < N; i++)"


def test_a_fill_that_is_overwritten_goes():
    scop = program(f"{ALL} b[i] = 0; {ALL} b[i] = a[i];")
    assert names(scop) == ["b_0", "b_1"]
    assert names(without_dead_stores(scop)) == ["b_1"]


def test_a_temporary_that_nothing_reads_goes_with_what_it_reads():
    scop = program(f"double t[N], u[N]; {ALL} t[i] = a[i]; {ALL} u[i] = t[i]; {ALL} b[i] = c[i];")
    assert names(without_dead_stores(scop)) == ["b"]


@pytest.mark.parametrize(
    "body",
    [
        f"{ALL} b[i] = 0; {ALL} b[i] += a[i];",
        f"{ALL} b[i] = 0; {ALL} if (a[i] > 0) b[i] = 1;",
        f"{ALL} b[i] = a[i]; for (int i = 1; i < N; i++) b[i] += b[0];",
        f"{ALL} b[i] = a[i]; for (int i = 2; i < N - 1; i++) b[i] = c[i];",
    ],
)
def test_what_is_seen_stays(body):
    scop = program(body)
    found = without_dead_stores(scop)
    assert names(found) == names(scop)
    assert found.domain.is_equal(scop.domain)


def test_of_a_fill_the_part_stays_that_nothing_overwrites():
    scop = program(f"{ALL} b[i] = a[i]; for (int i = 0; i < N / 2; i++) b[i] = c[i];")
    found = without_dead_stores(scop).statement("b_0").domain
    assert fix_param_values(found, {"N": 9}).count_val().to_python() == 5  # 4 .. 8


BACK = """
for (int t = 0; t < T; t++) {
    for (int i = 0; i < N; i++) n[i] = u[i];
    for (int i = 1; i < N - 1; i++) n[i] = u[i - 1] + u[i + 1];
    %s
    for (int i = 0; i < N; i++) u[i] = n[i];
}"""


def stencil(between):
    return program(f"double n[N];\n{BACK % between}", "int T, int N, double u[N]")


def test_a_copy_back_of_what_is_there_is_left_out():
    found = without_dead_stores(stencil(""))
    assert names(found) == ["n_1", "u"]
    (back,) = (s for s in found.statements if s.name == "u")
    box = fix_param_values(back.domain, {"N": 7, "T": 1})
    assert box.count_val().to_python() == 5


@pytest.mark.parametrize("between", ["u[0] = 7;", "n[0] = c[0];", "n[N - 1] = n[0];"])
def test_a_copy_back_of_something_else_stays(between):
    found = without_dead_stores(stencil(between))
    (*_, back) = found.statements
    box = fix_param_values(back.domain, {"N": 7, "T": 1})
    assert box.count_val().to_python() >= 6


@pytest.mark.parametrize("between", ["", "u[0] = 7;", "n[0] = c[0];", "n[N - 1] = n[0];"])
@pytest.mark.parametrize("size", [3, 4, 9])
def test_results_are_those_of_the_whole_program(between, size):
    scop = stencil(between)
    rng = np.random.default_rng(size)
    given = {"u": rng.random(size), "c": rng.random(size)}
    sizes = {"N": size, "T": 3}
    expected = interpret(scop, sizes, given)["u"]
    assert np.array_equal(interpret(without_dead_stores(scop), sizes, given)["u"], expected)


def zeros_first(a):
    result = np.zeros(a.shape)
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            result[i, j] = a[i, j] * 2
    return result


def border_of_zeros(a):
    result = np.zeros(a.shape)
    result[1:-1, 1:-1] = a[:-2, 1:-1] + a[2:, 1:-1]
    return result


def smoothed(a, steps):
    a = a.copy()
    for _ in range(steps):
        new = a.copy()
        new[1:-1, 1:-1] = 0.25 * (a[:-2, 1:-1] + a[2:, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:])
        a = new
    return a


def swapped(a, steps):
    b = a * 2
    for _ in range(steps):
        kept = b.copy()
        b[0] = kept[1]
        b[1:] = kept[:-1]
    return b


@pytest.mark.parametrize(
    ("function", "arguments"),
    [(zeros_first, ()), (border_of_zeros, ()), (smoothed, (3,)), (smoothed, (0,)), (swapped, (2,))],
)
@pytest.mark.parametrize("shape", [(3, 3), (5, 8)])
def test_functions_give_what_numpy_gives(function, arguments, shape):
    a = np.random.default_rng(0).random(shape)
    found = po.jit(fallback=False)(function)(a, *arguments)
    np.testing.assert_allclose(found, function(a, *arguments), rtol=1e-14)


def test_a_function_s_zeros_are_not_written_where_all_is_overwritten():
    function = po.jit(fallback=False)(zeros_first)
    function(np.ones((4, 5)))
    plan = function.plan
    assert names(plan.scop) == ["result_1"]
    assert names(plan.source) == ["result_0", "result_1"]
    assert [move.name for move in plan.moves][:1] == ["eliminate_dead_stores"]
    shown = {o.name: o.detail for o in plan.prove().obligations}
    assert shown["dead stores"] == "no read and no result sees what it wrote: result_0"
    said = [r for r in plan.remarks if r.move == "eliminate_dead_stores"]
    assert [(r.kind, r.subject) for r in said] == [("applied", "result_0")]


# -- the move and its proof -------------------------------------------------------------------


def test_the_proof_names_what_went_and_why():
    plan = po.Plan(stencil("")).eliminate_dead_stores()
    (shown,) = (o.detail for o in plan.prove().obligations if o.name == "dead stores")
    assert shown == (
        "no read and no result sees what it wrote: n_0;"
        " copies back of what is there: n_0, u in part"
    )
    with pytest.raises(InvalidOptionError, match="each store of f is read, or left in a result"):
        plan.eliminate_dead_stores()


def test_later_moves_of_the_program_are_proven_apart():
    scop = stencil("")
    plan = po.Plan(scop).eliminate_dead_stores().double_buffer("u")
    assert [names(stage) for stage in plan.stages] == [["n_1", "u"]]
    assert [o.name for o in plan.prove().obligations][:2] == ["dead stores", "values"]
    sizes, given = {"N": 7, "T": 4}, {"u": np.arange(7.0), "c": np.ones(7)}
    expected = interpret(scop, sizes, given)["u"]
    assert np.array_equal(interpret(plan.scop, sizes, given)["u"], expected)
    assert names(plan.undo().scop) == ["n_1", "u"]
    assert plan.undo(2).stages == ()
    assert plan.undo(2).scop is scop


def test_it_comes_after_other_moves_of_the_program_too():
    text = f"double n[N]; {ALL} b[i] = 7; {ALL} n[i] = a[i] * c[i]; {ALL} b[i] = n[i];"
    plan = po.Plan(program(text)).clone_stage("n", "b_1").eliminate_dead_stores()
    assert names(plan.scop) == ["n_again", "b_1"]
    assert [o.name for o in plan.prove().obligations][:2] == ["clones", "dead stores"]


def without(scop, name):
    nest = tuple(node for node in scop.nest if name not in [*statements_in(node)])
    statements = tuple(s for s in scop.statements if s.name != name)
    return replace(scop, statements=statements, nest=nest)


def shorter(scop, name, *, front):
    """The program with one instance less in the innermost loop of a statement."""
    own = scop.statement(name)
    kept = own.domain.lexmin() if front else own.domain.lexmax()
    return scop.with_statements(replace(own, domain=own.domain.subtract(kept)))


FILLED = f"{ALL} b[i] = 0; for (int i = 1; i < N; i++) b[i] = a[i];"


def test_a_store_that_a_result_keeps_is_missed():
    scop = program(FILLED)
    with pytest.raises(LiveOutError, match="the last value of b") as found:
        check_source(scop, without(scop, "b_0"))
    (witness,) = found.value.witnesses
    assert (witness.source, witness.sink) == (("b_0", (0,)), ("end:b", (0,)))
    assert check_source(scop, scop.with_statements(right_of(scop)))[0].name == "dead stores"


def right_of(scop):
    return next(s for s in without_dead_stores(scop).statements if s.name == "b_0")


def test_a_store_that_a_read_sees_is_missed():
    scop = program(f"double t[N]; {ALL} t[i] = a[i]; {ALL} b[i] = t[i]; {ALL} t[i] = 0;")
    assert names(without_dead_stores(scop)) == ["t_0", "b"]
    with pytest.raises(OrderViolatedError, match="b would not read what") as found:
        check_source(scop, without(scop, "t_0"))
    assert found.value.witnesses[0].source[0] == "t_0"
    assert found.value.witnesses[0].sink[0] == "b"


def test_more_than_stores_that_go_is_refused():
    scop = program(FILLED)
    made = without_dead_stores(scop)
    other = replace(made.statement("b_1"), value=made.statement("b_0").value)
    with pytest.raises(IllegalScheduleError):
        check_source(scop, made.with_statements(other))
    backwards = replace(made, nest=tuple(reversed(made.nest)))
    (shown,) = check_source(scop, backwards)  # by another rule: the nests are independent
    assert shown.name == "values"


def bounded(scop, **sizes):
    """The program for sizes that are at least so many."""
    bounds = " and ".join(f"{name} >= {value}" for name, value in sizes.items())
    least = Set(f"[{', '.join(scop.params)}] -> {{ : {bounds} }}")
    return replace(scop, context=scop.context.intersect(least))


WRONG = {
    "another value since": "u[0] = 7;",
    "another copy since": "n[0] = c[0];",
    "the other end": "n[N - 1] = n[0];",
}


@pytest.mark.parametrize("between", WRONG.values(), ids=WRONG)
def test_a_copy_back_of_something_else_is_missed(between):
    """What is no copy of the same value any more is no waste, for the proof as for the move."""
    scop = program(f"double n[N];\n{BACK % between}", "int T, int N, double u[N]")
    scop = bounded(scop, N=5, T=2)
    for front in (True, False):
        changed = shorter(scop, scop.statements[-1].name, front=front)
        sizes, given = {"N": 7, "T": 2}, {"u": np.arange(1.0, 8), "c": np.full(7, 0.5)}
        same = np.array_equal(*(interpret(s, sizes, given)["u"] for s in (scop, changed)))
        if same:
            continue
        with pytest.raises(IllegalScheduleError):
            check_source(scop, changed)


PROGRAMS = {
    "filled": FILLED,
    "twice": f"{ALL} b[i] = a[i]; {ALL} b[i] = c[i];",
    "crossed": f"{ALL} b[i] = a[i]; {ALL} b[N - 1 - i] += c[i];",
    "halves": f"{ALL} b[i] = a[i]; for (int i = 0; i < N / 2; i++) b[2 * i] = c[i];",
    "chain": f"double t[N]; {ALL} t[i] = a[i]; {ALL} t[i] = t[i] + 1; {ALL} b[i] = t[i];",
    "data": f"{ALL} b[i] = 0; {ALL} b[i] = b[(int)c[i] & 1] + a[i];",
    "choice": f"{ALL} b[i] = 0; {ALL} if (c[i] > 0.5) b[i] = a[i];",
    "there and back": f"double t[N]; {ALL} t[i] = b[i]; {ALL} b[i] = t[i];",
    "there, on, and back": f"double t[N]; {ALL} t[i] = b[i]; {ALL} b[i] += 1; {ALL} b[i] = t[i];",
    "moved": f"double t[N]; {ALL} t[i] = b[i]; {ALL} b[N - 1 - i] = t[i];",
}


@pytest.mark.parametrize("body", PROGRAMS.values(), ids=PROGRAMS)
def test_each_part_of_a_program_is_right_or_refused(body):
    """Whatever is left out: what the proof accepts gives the source's results."""
    scop = bounded(program(body), N=4)
    parts = [without(scop, s.name) for s in scop.statements if len(scop.statements) > 1]
    parts += [shorter(scop, s.name, front=f) for s in scop.statements for f in (True, False)]
    accepted = 0
    for part in (*parts, without_dead_stores(scop)):
        if part is scop:
            continue
        try:
            check_source(scop, part)
        except IllegalScheduleError:
            continue
        accepted += 1
        for size in (4, 5, 8):
            rng = np.random.default_rng(size)
            given = {n: rng.random(size) for n in "abc"}
            results = (interpret(s, {"N": size}, given)["b"] for s in (scop, part))
            assert np.array_equal(*results)
    assert accepted >= (without_dead_stores(scop) is not scop)


# -- what users write ---------------------------------------------------------------------------


def overwritten_row(a):
    r = np.zeros(a.shape)
    r[0] = 5.0
    r[:] = a
    return r


def read_before_it_is_overwritten(a):
    r = np.zeros(a.shape)
    r[1:] = a[1:]
    s = r + 1
    r[:] = s * 2
    return r


def kept_corner(a):
    r = np.ones(a.shape)
    r[1:, :] = a[1:, :]
    r[:, 1:] = a[:, 1:] + 1
    return r


def forth_and_back(a):
    b = a.copy()
    c = b.copy()
    b[:] = c
    return b


def back_after_a_change(a):
    b = a.copy()
    c = b.copy()
    b[0] = 9.0
    b[:] = c
    return b


def change_in_the_copy(a):
    b = a.copy()
    c = b.copy()
    c[-1] = 9.0
    b[:] = c
    return b


def reversed_back(a):
    b = a.copy()
    c = b.copy()
    b[:] = c[::-1]
    return b


def in_place(a):
    a[1:-1] = a[1:-1] * 2
    a[0] = a[-1]
    a[0] = 3.0
    return a


def counts(a):
    h = np.zeros(4)
    h[:] = 0
    for i in range(a.shape[0]):
        h[i % 4] += a[i, 0]
    return h


def chosen(a):
    r = np.zeros(a.shape)
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            if a[i, j] > 0.5:
                r[i, j] = a[i, j]
    return r


def by_steps(a):
    x = a.copy()
    for t in range(3):
        y = np.zeros(a.shape)
        y[1:] = x[:-1]
        y[0] = x[-1] + t
        x[:] = y
    return x


def unused(a):
    t = a * 3
    t[0] = 1
    u = a + 1
    t = u * 2
    return u


TRAPS = [
    overwritten_row, read_before_it_is_overwritten, kept_corner, forth_and_back,
    back_after_a_change, change_in_the_copy, reversed_back, in_place, counts, chosen, by_steps,
    unused,
]  # fmt: skip


@pytest.mark.parametrize("function", TRAPS)
@pytest.mark.parametrize("shape", [(3, 3), (6, 9)])
def test_traps_give_what_numpy_gives(function, shape):
    a = np.random.default_rng(1).random(shape)
    mine, theirs = a.copy(), a.copy()
    found = po.jit(fallback=False)(function)(mine)
    np.testing.assert_array_equal(found, function(theirs))
    np.testing.assert_array_equal(mine, theirs)


def marked(where, size):
    r = np.zeros(size)
    r[:] = 2
    for i in range(where.shape[0]):
        r[where[i]] = 1.0
    return r


def test_a_store_to_an_element_by_data_hides_no_other():
    function = po.jit(fallback=False)(marked)
    where = np.array([1, 3, 1])
    np.testing.assert_array_equal(function(where, 5), marked(where, 5))
    assert names(function.plan.scop) == ["r_1", "r_2"]
