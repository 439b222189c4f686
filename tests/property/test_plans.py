"""Random plans compute what the interpreter does, in C, or are refused in the user's words."""

from __future__ import annotations

import random
from collections import Counter
from contextlib import suppress
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from polyopt.codegen.emit import emit
from polyopt.errors import NotDecidedError, OutOfBoundsError, PolyoptError
from polyopt.frontend.c import parse_c
from polyopt.transform.legality.dependence_order import keeps_order
from polyopt.transform.legality.proof import accepts, prove
from polyopt.transform.plan import Plan

from .compile import BUILD, Subject, awkward_sizes, differences, is_allowed, is_exact, runs_of
from .plans import DRAWN, Call, Defect, Tally, check_refusal, random_call, random_plan
from .programs import random_program
from .trial import Example, build_of, check, failures_of, make_trial, tried

if TYPE_CHECKING:
    from polyopt.transform.legality.proof import Flow
    from polyopt.transform.schedule.program import ScheduledProgram

    from .compile import Build
    from .trial import Trial

#: 2,000 pairs of a program and a plan, in batches of one compilation each: of their programs, 24 or
#: less, as many as give so many pairs
BATCHES, PROGRAMS, PAIRS = 20, 24, 100
#: by turns, what makes vectors of loops that are marked so, and what is quick
BUILDS = (BUILD, replace(BUILD, flags=("-O0",)))

CORPUS = sorted(Path(__file__).with_name("corpus").glob("*.c"))


@pytest.mark.parametrize("batch", range(BATCHES))
def test_interpreter_unfused_and_scheduled_code_agree(batch):
    tally = Tally()
    trials: list[Trial] = []
    pairs = 0
    for seed in range(batch * PROGRAMS, (batch + 1) * PROGRAMS):
        if pairs < PAIRS:
            trials.append(make_trial(seed, tally))
            pairs += sum(calls != () for calls in trials[-1].plans.values())
    failures = failures_of(trials, build=BUILDS[batch % len(BUILDS)])
    assert not failures, "\n\n".join(map(str, failures))
    assert pairs >= PAIRS
    assert sum(tally.accepted.values()) > PROGRAMS
    assert len(tally.refused) > 10


def test_every_move_is_drawn_and_accepted_by_some_program():
    tally = Tally()
    for seed in range(60):
        rng = random.Random(seed)  # noqa: S311
        random_plan(parse_c(random_program(seed).text), rng, tally)
        if set(tally.accepted) >= DRAWN:
            break
    assert set(tally.accepted) == DRAWN


def test_a_seed_gives_the_same_plans():
    one, other = (make_trial(11, Tally()) for _ in range(2))
    assert one.plans == other.plans
    assert [f.source for f in one.subject.functions] == [f.source for f in other.subject.functions]


def test_the_order_of_dependences_tells_what_the_proof_does():
    """Moves that nothing checks, one after the other, whether the last were legal or not."""
    told: Counter[tuple[bool | None, bool]] = Counter()
    for seed in range(20):
        rng = random.Random(seed)  # noqa: S311
        plan = replace(Plan(parse_c(random_program(seed).text)), checked=False)
        for _ in range(6):
            call = random_call(plan, rng)
            with suppress(PolyoptError):
                plan = plan.replay(call.name, call.args, call.options)
            program, original = plan.program, plan.original
            told[keeps_order(program), _is_proven(program, original)] += 1
            assert accepts(program, original) == _is_proven(program, original), plan.script
    assert told[False, True] == 0
    assert min(told[True, True], told[False, False]) > 5


def _is_proven(program: ScheduledProgram, original: Flow) -> bool:
    try:
        prove(program, replace(original))
    except PolyoptError:
        return False
    return True


def test_sizes_are_awkward_and_stay_exact():
    several = 0
    for seed in range(20):
        program = random_program(seed)
        scop = parse_c(program.text)
        found = awkward_sizes(scop, program.sizes, seed)
        assert found[0] == program.sizes
        assert all(is_allowed(scop, sizes) and is_exact(scop, sizes) for sizes in found)
        several += len(found) > 2
    assert several > 5


def test_a_spent_budget_is_a_refusal_and_an_error_of_isl_is_none():
    with pytest.raises(NotDecidedError) as spent:
        Plan(parse_c(CHAIN)).prove(operations=1)
    check_refusal(spent.value, ())
    with pytest.raises(Defect, match="isl_map"):
        check_refusal(NotDecidedError("isl_map failed"), ())


@cache
def all_are_well() -> bool:
    """Whether nothing of the corpus fails: told by one compilation for each build."""
    builds: dict[Build, list[Trial]] = {}
    try:
        for number, path in enumerate(CORPUS):
            example = Example.load(path)
            trial = tried(example, f"corpus{number}")
            builds.setdefault(build_of(example), []).append(trial)
        return not any(failures_of(trials, build=build) for build, trials in builds.items())
    except PolyoptError:
        return False


@pytest.mark.xdist_group("corpus")
@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.stem)
def test_what_failed_once_does_not_fail_again(path):
    failure = None if all_are_well() else check(Example.load(path))
    assert failure is None, str(failure)


CHAIN = """
void chain(int N, const int16_t in0[restrict N + 2], int16_t out[restrict N])
{
    int16_t mid[N + 1];
    for (int i = 0; i < N + 1; i++)
        mid[i] = in0[i] + in0[i + 1];
    for (int i = 0; i < N; i++)
        out[i] = mid[i] + mid[i + 1];
}
"""


def wrong_variants():
    """Functions that do not do what the chain does, in ways that only running shows."""
    scop = parse_c(CHAIN)
    unproven = replace(Plan(scop), checked=False)
    short = unproven.fuse("mid", into="out", storage="sliding").store("mid", fold={0: 1})
    yield "fold", emit(short.program, name="chain_fold")
    early = unproven.fuse_loops("mid.i", "out.i")
    yield "order", emit(early.program, name="chain_order")
    good = emit(unproven.program, name="chain_text")
    for name, old, new in (
        ("nothing", "out[i] = ", "if (i) out[i] = "),
        ("outside", "out[i] = ", "out[N] = out[i] = "),
        ("before", "out[i] = ", "out[-1] = out[i] = "),
        ("status", "return 0;", "return 1;"),
        ("crash", "return 0;", "*(volatile int *)8 = 1; return 0;"),
    ):
        assert old in good.source
        yield name, replace(good, source=good.source.replace(old, new))


@pytest.mark.parametrize(
    ("name", "function"), list(wrong_variants()), ids=lambda value: str(value)[:7]
)
def test_the_comparison_sees_wrong_code(name, function):
    scop = parse_c(CHAIN)
    runs = runs_of(scop, [{"N": 1}, {"N": 7}], seed=1)
    right = emit(Plan(scop).program, name="chain_right")
    found = differences([Subject(scop, runs, [right, function])])
    assert [wrong.function for wrong in found] == [function.c_name]


def test_an_example_survives_its_file(tmp_path):
    calls = (
        Call("tile", ("out",), {"i": 3}),
        Call("fuse", ("mid",), {"into": "out", "storage": "sliding"}),
        Call("store", ("mid",), {"fold": {0: 4}}),
    )
    example = Example(CHAIN, {"N": 5}, calls)
    example.save(tmp_path / "example.c", "found once\nmended")
    loaded = Example.load(tmp_path / "example.c")
    assert (loaded.sizes, loaded.calls) == (example.sizes, calls)
    assert loaded.text.endswith(example.text.lstrip())
    assert check(loaded) is None


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        ("int16_t out", "uint8_t out", None),
        ("in0[i] + in0[i + 1]", "in0[i] - 1e6f", "program"),
        ("in0[i] + in0[i + 1]", "in0[i] % (in0[i + 1] - in0[i + 1])", "program"),
    ],
)
def test_a_program_whose_values_c_leaves_open_is_told_from_a_wrong_plan(old, new, kind):
    failure = check(Example(CHAIN.replace(old, new), {"N": 5}, ()))
    assert (failure and failure.kind) == kind


def test_no_example_is_made_so_small_that_it_leaves_its_arrays():
    outside = Example(CHAIN.replace("mid[N + 1]", "mid[N]"), {"N": 5}, ())
    with pytest.raises(OutOfBoundsError):
        check(outside)
