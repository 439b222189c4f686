"""Every verb that answers questions takes every kernel: no verb knows of programs that it cannot.

At tiny sizes, where many statements run once or never. What verbs share is made once: the program,
its plan, its reasons, its trade-off, of which a few plans are enough.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from polyopt.bench.suites import KERNELS, members
from polyopt.cli import cli
from polyopt.cli.program import PlanChoice, Program
from polyopt.explain import bill, explain
from polyopt.explain.choices.tradeoff import tradeoff
from polyopt.ir.scop import Scop
from polyopt.isl import dim_type, fix_param_values, sets_of, tuple_name
from polyopt.library import load_kernel, load_scop
from polyopt.scheduler import auto
from polyopt.transform.plan import Plan
from tests.remarks.check import missing

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path


#: statements from which the automatic plan takes longer than a test should: the source's order is
#: enough to see that a verb takes the program
LARGE = 10
VERBS = {
    "deps": (),
    "scop": (),
    "emit": ("--size", "tiny"),
    "prove": ("--size", "tiny"),
    "explain": ("--size", "tiny"),
    "view": ("--size", "tiny"),
    "tradeoff": ("--size", "tiny"),
    "report": ("--size", "tiny", "--no-measure", "-o", "page.html"),
}


def _once(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, remembering its result for the same objects and options."""
    known: dict[str, Any] = {}  # with what is known by its id, which has to stay

    def called(*args: Any, progress: object = None, **options: Any) -> Any:
        given = [value for value in (*args, *options.values()) if value is not None]
        key = str([id(v) if isinstance(v, Plan | Scop) else repr(v) for v in given])
        if key not in known:
            known[key] = args, function(*args, **options)
        return known[key][1]

    return called


@pytest.fixture
def shared() -> Any:
    """The plans that verbs have asked for, and what explains them.

    For one kernel: what is known of all would fill memory, and be looked through for garbage.
    """
    with pytest.MonkeyPatch.context() as patched:
        choose, known = PlanChoice.plan, dict[str, Plan]()

        def chosen(choice: PlanChoice, program: Program, sizes: Mapping[str, int]) -> Plan:
            key = repr((choice, program.name, sizes))
            return known.get(key) or known.setdefault(key, choose(choice, program, sizes))

        patched.setattr(PlanChoice, "plan", chosen)
        explained = _once(explain)
        for module, name, value in (
            ("cli.program", "load_scop", _once(load_scop)),
            ("explain", "explain", explained),
            ("cli.views.webpage", "explain", explained),
            ("explain.choices.tradeoff", "tradeoff", _once(tradeoff)),
            ("explain.choices.tradeoff", "LEAST", 3),
            ("explain.choices.tradeoff", "MOST", 3),
        ):
            patched.setattr(import_module(f"polyopt.{module}"), name, value)
        yield known, explained


@pytest.mark.parametrize("name", members(KERNELS))
def test_every_verb_takes_it(
    name: str, shared: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    scop, sizes = load_scop(name), load_kernel(name).sizes["tiny"]
    plan = ("--unfused",) if len(scop.statements) >= LARGE else ()
    calls = [
        (*verb.split(), name, *options, *(plan if options else ()))
        for verb, options in VERBS.items()
    ]
    element = _computed(scop, sizes)
    if plan:  # each plan of a trade-off takes some seconds
        monkeypatch.setattr("polyopt.explain.choices.tradeoff.LEAST", 1)
        monkeypatch.setattr("polyopt.explain.choices.tradeoff.MOST", 1)
    if element:
        calls.append(("why", name, element, "--size", "tiny", *plan))
    for call in calls:
        result = CliRunner().invoke(cli, call)
        assert result.exit_code == 0, (call, result.output)
        assert result.stdout or call[0] == "report", call
    if plan:  # what tests/unit/explain asks of others: every pair and every loop has a remark
        ((source, *_), explained) = shared[0].values(), shared[1]
        assert missing(source, explained(source, dict(sizes))) == []


def test_instances_at_the_largest_sizes_are_counted_exactly() -> None:
    kernel = load_kernel("camera_pipe")
    sizes = kernel.sizes["bench"]
    plan = auto(kernel.scop, target="avx2", sizes=sizes)
    assert bill(plan, sizes).estimated == frozenset()


def _computed(scop: Scop, sizes: Mapping[str, int]) -> str:
    """An element of a result that some statement writes; nothing where none does."""
    results = {a.name for a in scop.arrays if a.is_live_out}
    for part in sets_of(scop.writes.range()):
        found = fix_param_values(part, dict(sizes))
        if tuple_name(part) in results and not found.is_empty():
            point = found.sample_point()
            index = [
                point.get_coordinate_val(dim_type.set, k) for k in range(part.dim(dim_type.set))
            ]
            return (
                f"{tuple_name(part)}[{', '.join(map(str, index))}]" if index else tuple_name(part)
            )
    return ""
