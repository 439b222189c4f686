"""A transformation that is registered is replayed, saved and loaded; nothing else is."""

import inspect
import json
from dataclasses import replace

import pytest

import polyopt as po
from polyopt.errors import (
    InvalidOptionError,
    NotPermutableError,
    OrderViolatedError,
    UnknownNameError,
)
from polyopt.transform.plan import Plan
from polyopt.transform.schedule.query import find_loop
from polyopt.transform.schedule.registry import TRANSFORMATIONS, registered, transformation
from polyopt.transform.schedule.tree import replace_loop
from polyopt.transform.source.clone_stage import clone_stage

SUMS = """
void sums(int n, float a[n], float s[n]) {
    for (int i = 0; i < n; i++) a[i] = 2 * a[i];
    for (int i = 1; i < n; i++) s[i] = s[i - 1] + a[i];
}
"""
BLUR = """
void blur(int n, const float a[n + 2], float o[n], float p[n]) {
    float b[n + 2];
    for (int i = 0; i < n + 2; i++) b[i] = 2 * a[i];
    for (int i = 0; i < n; i++) o[i] = b[i] + b[i + 2];
    for (int i = 0; i < n; i++) p[i] = b[i] - b[i + 2];
}
"""


def backwards(program, loop: str):
    """Loop reversal, once more."""
    node = find_loop(program, loop)
    values = {copy: value.neg() for copy, value in node.values.items()}
    return replace(
        program,
        tree=replace_loop(program.tree, node.name, lambda n: (replace(n, values=values),)),
    )


@pytest.fixture
def plan():
    return Plan(po.parse_c(SUMS))


def test_a_new_transformation_is_replayed_saved_and_loaded(plan, tmp_path):
    transformation("loops")(backwards)
    made = plan.replay("backwards", ["a.i"], {}).tile("s", i=4)
    assert "a[-i]" in made.emit().source
    made.save(tmp_path / "plan.json")
    again = Plan.load(tmp_path / "plan.json", po.parse_c(SUMS))
    assert again.moves == made.moves
    assert again.emit().source == made.emit().source


def test_its_script_is_python_that_makes_it(plan):
    transformation("loops")(backwards)
    made = plan.replay("backwards", ["a.i"], {}).tile("s", i=4)
    again = eval(made.script, {"po": po, "scop": plan.scop})  # noqa: S307
    assert again.moves == made.moves


def test_it_is_checked_like_any_other(plan):
    transformation("loops")(backwards)
    with pytest.raises(OrderViolatedError, match="a read of s would run before the write"):
        plan.replay("backwards", ["s.i"], {})


@pytest.mark.parametrize("hint", ["", "leave it as it is"])
def test_a_refusal_advises_what_the_declaration_says(plan, hint):
    transformation("loops", hint=hint)(backwards)
    with pytest.raises(OrderViolatedError) as caught:
        plan.replay("backwards", ["s.i"], {})
    assert caught.value.witnesses
    assert caught.value.diagnostic.hint.startswith(hint or "shift() the reader")


@pytest.mark.parametrize(
    ("args", "options", "said"),
    [
        ([], {}, "backwards: missing a required argument: 'loop'"),
        (["a.i", "s.i"], {}, "backwards: too many positional arguments"),
        (["a.i"], {"by": 2}, "backwards: got an unexpected keyword argument 'by'"),
        (["a.k"], {}, "no loop is called"),
        ([7], {}, "a loop is known by its name, not by 7"),
    ],
)
def test_what_it_does_not_take_is_refused(plan, args, options, said):
    transformation("loops")(backwards)
    with pytest.raises((InvalidOptionError, UnknownNameError)) as caught:
        plan.replay("backwards", args, options)
    assert said in str(caught.value)


def test_one_that_changes_the_program_comes_before_others(tmp_path):
    @transformation("source")
    def for_the_last_reader(scop, array: str):
        reader = [s.name for s in scop.statements if any(a.array == array for a in s.reads)][-1]
        return clone_stage(scop, array, reader)

    plan = Plan(po.parse_c(BLUR))
    made = plan.replay("for_the_last_reader", ["b"], {}).tile("o", i=4)
    assert [array.name for array in made.scop.arrays if array not in plan.scop.arrays] == [
        "b_again"
    ]
    made.save(tmp_path / "plan.json")
    assert Plan.load(tmp_path / "plan.json", plan.scop).moves == made.moves
    with pytest.raises(InvalidOptionError, match="it has to come before other moves"):
        plan.tile("o", i=4).replay("for_the_last_reader", ["b"], {})


def test_only_what_keeps_under_any_order_comes_before_rescheduling(plan):
    transformation("loops")(backwards)
    made = plan.replay("backwards", ["a.i"], {})
    with pytest.raises(NotPermutableError, match="would undo"):
        made.reschedule()


@pytest.mark.parametrize(
    "name", ["prove", "save", "emit", "_move", "__init__", "program", "backwards"]
)
def test_a_saved_plan_names_nothing_that_is_not_registered(plan, tmp_path, name):
    plan.tile("s", i=4).save(tmp_path / "plan.json")
    saved = json.loads((tmp_path / "plan.json").read_text())
    saved["moves"][0] = {"move": name, "args": [], "options": {}}
    (tmp_path / "plan.json").write_text(json.dumps(saved))
    with pytest.raises(UnknownNameError, match=f"no move is called '{name}'"):
        Plan.load(tmp_path / "plan.json", plan.scop)


def test_a_method_of_the_name_is_not_what_is_replayed(plan):
    def prove(program, loop: str):
        return backwards(program, loop)

    transformation("loops")(prove)
    assert plan.replay("prove", ["a.i"], {}).moves[0].args == ("a.i",)


def test_a_name_is_given_once():
    def tile(program):
        return program

    with pytest.raises(InvalidOptionError, match="called 'tile' already") as caught:
        transformation("loops")(tile)
    assert "polyopt.transform.loops.tile" in str(caught.value)
    assert registered("tile").function is not tile


def test_a_module_that_is_loaded_again_registers_anew():
    transformation("loops")(backwards)
    transformation("storage")(backwards)
    assert registered("backwards").kind == "storage"


@pytest.mark.parametrize("name", sorted(TRANSFORMATIONS))
def test_those_of_the_package_are_documented_methods(name):
    method = inspect.getattr_static(Plan, name)
    assert method.__doc__
    assert registered(name).is_own
    assert inspect.signature(method).return_annotation == "Plan"
