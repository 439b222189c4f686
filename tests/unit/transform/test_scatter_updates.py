"""Updates scattered to their elements: what comes of them, and what must not change places."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import pytest

import polyopt as po
from polyopt.analysis import updates
from polyopt.analysis.interpreter.interpret import interpret
from polyopt.errors import (
    IllegalScheduleError,
    InvalidOptionError,
    OrderViolatedError,
    PolyoptError,
    UnknownNameError,
)
from polyopt.ir.verify import verify
from polyopt.isl import fix_param_values, parse_set, sample
from polyopt.transform.source.proof import check_source
from polyopt.transform.source.scatter_updates import scatter_updates, turned

if TYPE_CHECKING:
    from collections.abc import Iterator

#: the largest sum of any way through pairs: what is known left of j is needed for j
CHAIN = """void f(int N, {type} c[N][N], {type} x[N]) {{
    for (int j = 0; j < N; j++) {{
        x[j] = {first};
        for (int k = 0; k < j; k++)
            x[j] = {value};
    }}
}}"""
MAXIMUM = {"first": "x[j] > c[j][j] ? x[j] : c[j][j]",
           "value": "x[j] > x[k] + c[k][j] ? x[j] : x[k] + c[k][j]"}  # fmt: skip
SUM = {"first": "x[j] + c[j][j]", "value": "x[j] - x[k] * c[k][j]"}

LOCAL = """for (int j = 0; j < N; j++) {
    int s = 0;
    for (int k = 0; k < j; k++)
        s = s + c[j][k];
    x[j] = s;
}"""


def chain(kind: str = "int", **parts: str):
    return po.parse_c(CHAIN.format(type=kind, **{**MAXIMUM, **parts}))


def arrays_of(scop, sizes, seed=0, low=-9, high=10):
    rng = np.random.default_rng(seed)
    shapes = {a.name: tuple(sizes["N"] for _ in range(a.rank)) for a in scop.arrays}
    return {
        a.name: rng.integers(low, high, shapes[a.name]).astype(a.type.numpy_name)
        for a in scop.arrays
        if a.role != "temp"
    }


@pytest.mark.parametrize(
    ("kind", "parts"),
    [(k, MAXIMUM) for k in ("int", "long", "unsigned")]
    + [(k, SUM) for k in ("int", "long", "unsigned", "signed char", "unsigned short")],
)
def test_what_is_known_updates_all_that_need_it(kind, parts, tmp_path):
    scop = chain(kind, **parts)
    plan = po.Plan(scop).scatter_updates("x_1")
    verify(plan.scop)
    assert "for k where j < k < N" in str(plan.scop)
    assert "updates      scattered in the order of all that clashes with them: x_1" in str(
        plan.prove(code=True)
    )
    kernel = plan.vectorize("x.k").compile(cache=tmp_path)
    big = int(np.iinfo(scop.array("x").type.numpy_name).max)
    for size, high in product((1, 2, 5, 37), (10, min(big, 1 << 40))):
        given = arrays_of(scop, {"N": size}, size, 0, high)
        expected = interpret(scop, {"N": size}, given)
        kernel(**given)
        np.testing.assert_array_equal(given["x"], expected["x"])


def test_the_moves_can_be_saved_and_come_before_others(tmp_path):
    scop = chain()
    plan = po.Plan(scop).scatter_updates("x_1").vectorize("x.k", 4)
    plan.save(tmp_path / "plan.json")
    again = po.Plan.load(tmp_path / "plan.json", scop)
    assert (again.moves, str(again)) == (plan.moves, str(plan))
    with pytest.raises(InvalidOptionError, match="changes the program: it has to come before"):
        po.Plan(scop).split("x.j", 4).scatter_updates("x_1")


def test_what_is_pushed_is_not_pushed_back():
    with pytest.raises(InvalidOptionError, match="does not write one element all along"):
        po.Plan(chain()).scatter_updates("x_1").scatter_updates("x_1")


@pytest.mark.parametrize(
    ("scop", "why"),
    [
        (chain("float", **SUM), "sums of floating numbers round"),
        (chain("float"), "maxima of them depend on their order where there is a NaN"),
        (chain(first="c[j][j]"), "an element is set after updates of it"),
        (chain(first="x[j] + c[j][j]"), "sums and maxima do not commute"),
        (chain(first="2 * c[j][j] - x[j]"), "what is taken from is no update"),
        (chain(value="x[j] > x[k + 1] ? x[j] : x[k + 1]"), "an operand is not known yet"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_would_change_a_result_is_refused_with_two_instances(scop, why):
    with pytest.raises(OrderViolatedError) as found:
        po.Plan(scop).scatter_updates("x_1")
    (witness,) = found.value.witnesses
    assert found.value.diagnostic.span is not None, why
    # the source has them in this order, and what was asked for in the other
    wrong = scop.with_statements(turned(scop.statement("x_1")))
    assert _time(scop, witness.source, witness) < _time(scop, witness.sink, witness)
    assert _time(wrong, _there(witness.source), witness) >= _time(
        wrong, _there(witness.sink), witness
    )
    with pytest.raises(IllegalScheduleError):
        check_source(scop, wrong)


def _there(instance):
    name, at = instance
    return (name, (*at[:-2], at[-1], at[-2])) if name == "x_1" else instance


def _time(scop, instance, witness):
    """The loops' values and the places of an instance, as the program runs them."""
    name, at = instance
    text = f"{{ {name}[{', '.join(map(str, at))}] }}"
    time = fix_param_values(
        scop.schedule.intersect_domain(parse_set(text).to_union_set()).range().as_set(),
        witness.params,
    )
    return sample(time)["set"]


@pytest.mark.parametrize(
    ("text", "name", "said"),
    [
        ("for (int j = 0; j < N; j++) x[j] = x[j] + c[j][j];", "x", "not inside two loops"),
        ("for (int j = 0; j < N; j++) for (int k = 0; k < N; k++) x[k] = x[k] + c[j][k];", "x",
         "does not write one element all along"),
        (LOCAL, "s_1", "a local of the loops"),
    ],
)  # fmt: skip
def test_what_is_no_update_in_two_loops_is_refused(text, name, said):
    scop = po.parse_c(f"void f(int N, int c[N][N], int x[N + 2]) {{ {text} }}")
    with pytest.raises(InvalidOptionError, match=said):
        po.Plan(scop).scatter_updates(name)


def test_names_are_checked():
    with pytest.raises(UnknownNameError, match="no statement is called 'y'"):
        po.Plan(chain()).scatter_updates("y")
    with pytest.raises(InvalidOptionError, match="needs a statement"):
        po.Plan(chain()).scatter_updates()


def test_a_program_turned_otherwise_is_not_its_source():
    scop = chain()
    right = scatter_updates(scop, "x_1")
    assert [o.name for o in check_source(scop, right)] == ["updates"]
    moved = right.statement("x_1")
    fewer = moved.domain.intersect(parse_set("[N] -> { x_1[j, k] : k > j + 1 }"))
    other = replace(moved, value=replace(moved.value, op="min"))
    twice = (*right.statements[:1], other, moved)
    for wrong in (
        right.with_statements(replace(moved, domain=fewer)),
        right.with_statements(other),
        replace(right, statements=twice),
        replace(right, context=parse_set("[N] -> { : N >= 0 }")),
    ):
        with pytest.raises(IllegalScheduleError, match="not its source"):
            check_source(scop, wrong)


# -- random nests ---------------------------------------------------------------------------------

_OPS = ("x[{i}] + {v}", "x[{i}] - {v}", "x[{i}] > {v} ? x[{i}] : {v}", "x[{i}] ^ {v}", "{v}")
_READS = ("x[k]", "x[k] + c[k][j]", "c[k][j]", "x[k + 1]", "x[j + 1]", "x[k] - c[j][k]", "y[k]")


def random_nest(seed: int):
    """Loops j and k around an update, with statements before and after the inner one."""
    rng = random.Random(seed)  # noqa: S311

    def statement(at: str) -> str:
        target = rng.choice(("x", "x", "x", "y"))
        value = rng.choice(_OPS).format(i=at, v=f"({rng.choice(_READS).replace('k', at)})")
        return f"{target}[{at}] = {value.replace('x[' + at + '] ', target + '[' + at + '] ')};"

    first, last = ("0", "j") if rng.random() < 0.6 else ("j + 1", "N")
    update = rng.choice(_OPS[:4]).format(i="j", v=f"({rng.choice(_READS)})")
    before = " ".join(statement("j") for _ in range(rng.choice((0, 1, 1, 2))))
    after = statement("j") if rng.random() < 0.3 else ""
    down = rng.random() < 0.3
    outer = "int j = N - 1; j >= 0; j--" if down else "int j = 0; j < N; j++"
    return po.parse_c(
        f"void f(int N, int c[N + 1][N + 1], int x[N + 1], int y[N + 1]) {{\n"
        f"    for ({outer}) {{\n        {before}\n"
        f"        for (int k = {first}; k < {last}; k++)\n            x[j] = {update};\n"
        f"        {after}\n    }}\n}}"
    )


def pushed_of(scop):
    """The program with its update in the inner loop scattered; ``None`` where that is refused."""
    name = next(s.name for s in scop.statements if len(s.iterators) == 2)
    try:
        return po.Plan(scop).scatter_updates(name).scop
    except PolyoptError:
        return None


def results(scop, size, seed):
    rng = np.random.default_rng(seed)
    arrays = {
        a.name: rng.integers(-99, 99, (size + 1,) * a.rank).astype(np.int32) for a in scop.arrays
    }
    found = interpret(scop, {"N": size}, arrays)
    return {name: value.tolist() for name, value in found.items()}


def differing(seeds) -> Iterator[bool]:
    """Of each random nest that may be scattered, whether it then computes otherwise."""
    for seed in seeds:
        scop = random_nest(seed)
        made = pushed_of(scop)
        if made is not None:
            yield any(results(scop, n, seed) != results(made, n, seed) for n in (1, 4, 7))


def test_random_nests_compute_the_same():
    found = list(differing(range(60)))
    assert not any(found)
    assert 5 < len(found) < 55


@pytest.mark.parametrize("broken", ["all commute", "maxima and sums commute"])
def test_a_wrong_analysis_is_found(broken, monkeypatch):
    if broken == "all commute":
        monkeypatch.setattr(updates, "_commute", lambda *_: True)
    else:
        monkeypatch.setitem(updates._KINDS, "max", "sum")
    assert any(differing(range(60)))


def test_threads_may_push_at_once():
    plans = [po.Plan(chain(**parts)) for parts in (MAXIMUM, SUM, MAXIMUM, SUM)]
    with ThreadPoolExecutor(len(plans)) as pool:
        made = list(pool.map(lambda p: [p.scatter_updates("x_1") for _ in range(6)], plans))
    assert all("updates" in [o.name for o in p.prove().obligations] for row in made for p in row)


def test_plans_before_and_after_are_compared():
    plan = po.Plan(chain())
    assert "scatter_updates('x_1')" in str(plan.diff(plan.scatter_updates("x_1")))
