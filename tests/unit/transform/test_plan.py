"""Plans are values: immutable, printable, savable, and every one is proven."""

from __future__ import annotations

import inspect
import json
from dataclasses import FrozenInstanceError, replace

import pytest

import polyopt as po
from polyopt.errors import (
    CoverageError,
    IllegalScheduleError,
    InvalidOptionError,
    NotDecidedError,
    NotPermutableError,
    OrderViolatedError,
    OutOfBoundsError,
    UninitializedError,
    UnknownNameError,
    UserError,
)
from polyopt.transform.legality.proof import program_flow
from polyopt.transform.schedule.registry import TRANSFORMATIONS
from tests.unit.transform.programs import (
    BLOCKS,
    BLUR,
    BOXES,
    CHAIN,
    DIAGONAL,
    JACOBI,
    LAG,
    PIECES,
    TRIANGLE,
    WEIGHTED,
    WINDOW,
    plan,
    right,
)

REFILLED = """void f(int N, const float a[N], float b[N])
{ for (int i = 0; i < N; i++) b[i] = 0; for (int i = 0; i < N; i++) b[i] = a[i]; }"""

#: one plan of each move
EACH = {
    "tile": (BLUR, lambda p: p.tile("out", y=4, x=8)),
    "split": (BLUR, lambda p: p.split("out.y", 4)),
    "interchange": (BLUR, lambda p: p.interchange("out.y", "out.x")),
    "reorder": (BLUR, lambda p: p.reorder("out.x", "out.y")),
    "skew": (DIAGONAL, lambda p: p.skew("a.j", by="a.i", factor=2)),
    "reverse": (BLUR, lambda p: p.reverse("out.x")),
    "diamond": (DIAGONAL, lambda p: p.diamond("a.i", "a.j", 3)),
    "shift": (BLUR, lambda p: p.shift("out", y=2)),
    "fuse_loops": (BLUR, lambda p: p.fuse_loops("bx.y", "out.y", depth=2, shift=2)),
    "distribute": (TRIANGLE, lambda p: p.distribute("o.i", at="o_1")),
    "fuse": (BLUR, lambda p: p.fuse("bx", into="out", storage="sliding")),
    "inline": (BLUR, lambda p: p.inline("bx")),
    "store": (JACOBI, lambda p: p.store("b", at="a.t")),
    "pack": (BLUR, lambda p: p.pack("img", at="bx.y")),
    "parallelize": (BLUR, lambda p: p.parallelize("out.y")),
    "vectorize": (LAG, lambda p: p.vectorize("a.i", 3)),
    "unroll": (BLUR, lambda p: p.unroll("out.x", 4)),
    "unroll_and_jam": (BLUR, lambda p: p.unroll_and_jam("out.y", 2)),
    "separate_full_tiles": (BLUR, lambda p: p.separate_full_tiles("out.y")),
    "register_tile": (BLUR, lambda p: p.register_tile("out.y")),
    "reschedule": (JACOBI, lambda p: p.reschedule(fusion="max")),
    "split_range": (JACOBI, lambda p: p.split_range("b.i", at="a.t")),
    "delay_updates": (BLOCKS, lambda p: p.delay_updates("A_1", at="A.t")),
    "separate_filter": (WINDOW, lambda p: p.separate_filter("o")),
    "separate_reduction": (BOXES, lambda p: p.separate_reduction("o_1")),
    "eliminate_dead_stores": (REFILLED, lambda p: p.eliminate_dead_stores()),
    "double_buffer": (JACOBI, lambda p: p.double_buffer("a")),
    "tabulate": (WEIGHTED, lambda p: p.tabulate("o", "x")),
    "clone_stage": (BLUR, lambda p: p.clone_stage("bx", "out")),
    "scatter_updates": (CHAIN, lambda p: p.scatter_updates("x_1")),
    "reassociate": (TRIANGLE, lambda p: p.reassociate("o_1")),
    "store_nontemporal": (BLUR, lambda p: p.store_nontemporal("out", past=1000)),
}


def expert(start):
    return (
        start.tile("out", y=4, x=8)
        .fuse("bx", into="out", storage="sliding")
        .parallelize("out.y_tile")
        .vectorize("out.x", 8)
    )


KEPT = tuple(sorted(name for name, found in TRANSFORMATIONS.items() if found.keeps))


@pytest.mark.parametrize("name", sorted(EACH.keys() - {*KEPT}))
def test_what_reschedule_would_undo_comes_after_it(name):
    text, move = EACH[name]
    made = move(plan(text))
    with pytest.raises(NotPermutableError, match=f"would undo .{name}") as found:
        made.reschedule()
    assert "reschedule first" in found.value.diagnostic.hint


@pytest.mark.parametrize("name", KEPT)
def test_reschedule_keeps_what_changes_no_loops(name):
    text, move = EACH[name]
    before = move(plan(text)).program
    after = move(plan(text)).reschedule().program
    assert after.copies.keys() == before.copies.keys()
    assert (after.reassociated, after.nontemporal) == (before.reassociated, before.nontemporal)


def test_every_move_is_tried_here():
    assert set(EACH) == set(TRANSFORMATIONS)


@pytest.mark.parametrize("move", sorted(EACH))
def test_a_move_leaves_the_plan_it_starts_from(move):
    text, make = EACH[move]
    start = plan(text)
    before = str(start), start.script, start.moves
    made = right(make(start))
    assert made is not start
    assert (str(start), start.script, start.moves) == before
    assert [m.name for m in made.moves] == [move]
    assert made.source is start.scop
    anew = TRANSFORMATIONS[move].kind == "source"
    assert (made.scop is start.scop, made.original is start.original) == (not anew, not anew)


#: what is no name, no number, or no such one
STRANGE = (None, [], {}, 1.5, -1, 1 << 70, True, "", "nothing", ["out"], {"y": 1})


@pytest.mark.parametrize("move", sorted(EACH))
def test_strange_arguments_are_taken_or_refused_in_plain_words(move):
    text, make = EACH[move]
    start = replace(plan(text), checked=False)
    (made,) = make(start).moves
    options = dict(made.options)
    defaults = [
        name for name, p in inspect.signature(getattr(po.Plan, move)).parameters.items()
        if p.default is not p.empty
    ]  # fmt: skip
    for value in STRANGE:
        given = [
            ((*made.args[:k], value, *made.args[k + 1 :]), options) for k in range(len(made.args))
        ]
        given += [(made.args, {**options, name: value}) for name in {*options, *defaults}]
        for args, named in given:
            said = ""
            try:
                start.replay(move, args, named)
            except UserError as error:
                said = str(error)
            assert "None" not in said


@pytest.mark.parametrize("move", sorted(EACH))
def test_a_script_makes_the_plan_again(move):
    text, make = EACH[move]
    made = make(plan(text))
    again = eval(made.script, {"po": po, "scop": made.source})  # noqa: S307
    assert str(again) == str(made)
    assert again.moves == made.moves


@pytest.mark.parametrize("move", sorted(EACH))
def test_a_file_makes_the_plan_again(move, tmp_path):
    text, make = EACH[move]
    made = make(plan(text))
    made.save(tmp_path / "plan.json")
    again = po.Plan.load(tmp_path / "plan.json", made.source)
    assert str(again) == str(made)
    assert again.script == made.script
    assert again.checked


def test_a_plan_cannot_be_changed():
    made = plan(BLUR)
    with pytest.raises(FrozenInstanceError):
        made.moves = ()  # type: ignore[misc]


def test_a_script_reads_as_one_call_a_line():
    assert plan(BLUR).script == "po.Plan(scop)"
    assert expert(plan(BLUR)).script == (
        "(\n"
        "    po.Plan(scop)\n"
        "    .tile('out', y=4, x=8)\n"
        "    .fuse('bx', into='out', storage='sliding')\n"
        "    .parallelize('out.y_tile')\n"
        "    .vectorize('out.x', 8)\n"
        ")"
    )


def test_options_with_numbers_as_keys_survive_a_file(tmp_path):
    together = plan(BLUR).fuse_loops("bx.y", "out.y", shift=2)
    made = together.store("bx", at="", fold={0: 3})
    made.save(tmp_path / "plan.json")
    assert str(po.Plan.load(tmp_path / "plan.json", made.scop)) == str(made)


def test_a_plan_of_a_whole_recipe(tmp_path):
    made = right(expert(plan(BLUR)))
    made.save(tmp_path / "plan.json")
    document = json.loads((tmp_path / "plan.json").read_text())
    assert document["scop"] == "blur"
    assert [m["move"] for m in document["moves"]] == ["tile", "fuse", "parallelize", "vectorize"]
    assert right(po.Plan.load(tmp_path / "plan.json", made.scop)).script == made.script


def test_a_file_with_an_illegal_plan_is_refused(tmp_path):
    moves = [{"move": "parallelize", "args": ["a.i"], "options": {}}]
    (tmp_path / "plan.json").write_text(json.dumps({"format": 2, "moves": moves}))
    with pytest.raises(IllegalScheduleError) as caught:
        po.Plan.load(tmp_path / "plan.json", po.parse_c(DIAGONAL))
    assert caught.value.witnesses


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"moves": 3}', '{"moves": [{"move": "tile"}]}'])
def test_files_that_are_no_plans(text, tmp_path):
    (tmp_path / "plan.json").write_text(text)
    with pytest.raises(InvalidOptionError, match="is not a saved plan"):
        po.Plan.load(tmp_path / "plan.json", po.parse_c(BLUR))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[" * 100_000 + "]" * 100_000, "too deep"),
        ('{"format": 2, "moves": [], "moves": []}', "'moves' is said twice"),
        ('{"format": 2, "moves": {}}', "no list of moves"),
        ('{"format": 2, "moves": [7]}', "move 1 has no move"),
        ('{"format": 2, "moves": [{"move": [], "args": [], "options": {}}]}', "move 1 has no move"),
        ('{"format": 2, "moves": [{"move": "tile", "args": []}]}', "move 1 has no options"),
        ('{"format": 3, "moves": []}', "a plan of format 3"),
        ('{"format": true, "moves": []}', "a plan of format True"),
        ('{"moves": []}', "a plan of format 'none'"),
    ],
)
def test_files_say_what_is_wrong_with_them(text, said, tmp_path):
    (tmp_path / "plan.json").write_text(text)
    with pytest.raises(InvalidOptionError, match=said):
        po.Plan.load(tmp_path / "plan.json", po.parse_c(BLUR))


def test_a_plan_of_moves_by_their_old_names_is_to_be_made_again(tmp_path):
    move = {"move": "cut", "args": ["out.y"], "options": {"at": "1"}}
    file = tmp_path / "plan.json"
    file.write_text(json.dumps({"format": 1, "scop": "blur", "moves": [move]}))
    with pytest.raises(InvalidOptionError, match=r"is a plan of format 1\n") as caught:
        po.Plan.load(file, po.parse_c(BLUR))
    hint = caught.value.diagnostic.hint
    assert hint.startswith("this version of polyopt reads format 2, in which moves have new names")
    assert "make the plan again" in hint


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(InvalidOptionError, match="none"):
        po.Plan.load(tmp_path / "none.json", po.parse_c(BLUR))


def test_moves_that_do_not_exist_are_listed(tmp_path):
    with pytest.raises(UnknownNameError, match="no move is called 'prove'") as caught:
        plan(BLUR).replay("prove", (), {})
    assert "unroll_and_jam" in str(caught.value)


@pytest.mark.parametrize(
    "moves",
    [
        [{"move": "tile", "args": ["out"], "options": {"y": "many"}}],
        [{"move": "split", "args": ["out.y"], "options": {}}],
        [{"move": "split", "args": ["out.y", 4, 5], "options": {}}],
        [{"move": "fuse", "args": ["bx"], "options": {"onto": "out"}}],
        [{"move": "tile", "args": 3, "options": {}}],
    ],
)
def test_moves_with_wrong_arguments_are_the_file_s_mistake(moves, tmp_path):
    (tmp_path / "plan.json").write_text(json.dumps({"format": 2, "moves": moves}))
    with pytest.raises(InvalidOptionError):
        po.Plan.load(tmp_path / "plan.json", po.parse_c(BLUR))


def test_loops_names_those_that_all_statements_of_a_space_share():
    assert plan(TRIANGLE).loops("o") == ("o.i",)
    assert plan(TRIANGLE).loops("o_1") == ("o.i", "o.j")
    with pytest.raises(UnknownNameError, match="there are: o, o_0, o_1, s"):
        plan(TRIANGLE).loops("p")


# -- what plans promise -------------------------------------------------------------------------


def test_a_proof_names_what_it_shows():
    text = str(expert(plan(BLUR)).prove())
    assert text.splitlines()[0] == "proved: the plan's dataflow is the source's"
    for word in ("dataflow", "live-out", "storage", "parallel", "vector"):
        assert f"\n  {word} " in text


def test_a_proof_is_made_once():
    made = expert(plan(BLUR))
    assert made.prove() is made.prove()


def test_a_proof_that_its_budget_does_not_reach():
    made = expert(replace(plan(BLUR), checked=False))
    with pytest.raises(NotDecidedError, match="not decided within"):
        made.prove(operations=100)
    assert made.prove()


def test_a_wrong_order_of_many_pieces_is_disproved_within_the_budget():
    start = plan(PIECES)
    with pytest.raises(OrderViolatedError, match="a read of a0 would run before") as caught:
        start.fuse_loops("a0.j", "a0_1.i")
    (witness,) = caught.value.witnesses
    # column by column, the first statement overwrites what the second has written row by row
    (writer, (row, column)), reader = witness.source, witness.sink
    assert writer == "a0_1"
    assert row < column <= witness.params["N"]
    assert column % 3 != 1
    assert reader == ("a1", (row, column))


def test_unchecked_moves_are_found_by_the_proof():
    start = replace(plan(DIAGONAL), checked=False)
    made = start.interchange("a.i", "a.j")
    with pytest.raises(IllegalScheduleError):
        made.prove()
    with pytest.raises(IllegalScheduleError):
        made.emit()


def test_the_source_s_flow_is_the_identity_plan_s_flow():
    made = plan(TRIANGLE)
    assert program_flow(made.program).seen.is_equal(made.original.seen)


def test_recomputing_does_not_change_the_flow_of_the_source():
    made = plan(BLUR).tile("out", y=4, x=4).fuse("bx", into="out")
    assert program_flow(made.program).seen.is_equal(made.original.seen)


def test_programs_are_sound_before_they_are_plans():
    outside = "void f(int N, const float a[N], float o[N]) { for (int i = 0; i < N; i++) o[i] = a[i + 1]; }"
    with pytest.raises(OutOfBoundsError):
        plan(outside)
    unset = "void f(int N, float o[N]) { float t[N]; for (int i = 0; i < N; i++) o[i] = t[i]; }"
    with pytest.raises(UninitializedError):
        plan(unset)


def test_a_refused_move_changes_nothing():
    start = plan(BLUR)
    with pytest.raises(CoverageError):
        start.store("bx", at="out.y")
    assert str(start) == str(plan(BLUR))
    right(start)


def test_a_long_expression_goes_on_in_further_lines_and_loses_nothing():
    terms = " + ".join(f"a[i + {k}]" for k in range(30))
    text = f"void f(int N, const float a[N + 30], float o[N]) {{ for (int i = 0; i < N; i++) o[i] = {terms}; }}"
    _loop, *statement = str(plan(text)).splitlines()
    assert len(statement) > 2
    assert all(len(line) <= 100 for line in statement)
    joined = " ".join(line.strip() for line in statement)
    assert joined == f"o: o[i] = {terms}".replace("[i + 0]", "[i]")
