"""Double buffering: which loops' steps take turns, what comes of them, and what the proof refuses."""

from __future__ import annotations

from dataclasses import replace

import pytest

import polyopt as po
from polyopt.errors import IllegalScheduleError, InvalidOptionError, UnknownNameError
from polyopt.ir.build import const
from polyopt.ir.expr import Const, rewrite
from polyopt.ir.verify import verify
from polyopt.transform.source.double_buffer import double_buffer
from polyopt.transform.source.proof import check_source
from tests.unit.transform.programs import assert_right

STEPS = """
void steps(int T, int N, float a[N + 2]{arguments})
{{
    {locals}
    for (int t = {first}; t < {last}; t++) {{
        {own}
        for (int i = {low}; i <= N; i++)
            b[i] = {value};
        for (int i = 1; i <= N; i++)
            {back};
        {after}
    }}
}}
"""
#: a stencil whose ends stay, an argument to copy from, steps that start anywhere and say which they
#: are, and ends that every step sets anew
FORMS = {
    "ends stay": {},
    "seen": {"locals": "", "arguments": ", float b[N + 2]"},
    "from any step": {"first": "2", "value": "a[i - 1] + t * a[i + 1]"},
    "ends anew": {"after": "if (N > 0) { a[0] = a[1] + 1; a[N + 1] = a[N]; }"},
    "in place": {"value": "3 * a[i] + 1"},
    "each step's own": {"locals": "", "own": "float b[N + 2];"},
}
WAVE = """
void wave(int T, int N, float old[N], float now[N])
{
    float new[N];
    for (int t = 0; t < T; t++) {
        for (int i = 1; i < N - 1; i++) {
            float here = 2 * now[i] - old[i];
            new[i] = here + now[i - 1] + now[i + 1];
        }
        for (int i = 1; i < N - 1; i++) {
            old[i] = now[i];
            now[i] = new[i];
        }
    }
}
"""
NESTS = """
void nests(int T, int N, const float from[N][N], float to[N][N])
{
    float a[N][N], b[N][N];
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            a[i][j] = from[i][j];
            b[i][j] = 0;
        }
    for (int t = 0; t < T; t++) {
        for (int i = 1; i < N - 1; i++)
            for (int j = 1; j < N - 1; j++)
                b[i][j] = a[i - 1][j] + a[i][j + 1];
        for (int i = 1; i < N - 1; i++)
            for (int j = 1; j < N - 1; j++)
                a[i][j] = b[i][j];
    }
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            to[i][j] = a[i][j] + b[i][j];
}
"""


def program(**parts: str) -> po.Scop:
    usual = {
        "arguments": "", "locals": "float b[N + 2];", "own": "", "first": "0", "last": "T", "after": "",
        "value": "a[i - 1] + a[i + 1]", "low": "1", "back": "a[i] = b[i]",
    }  # fmt: skip
    return po.parse_c(STEPS.format(**usual | parts))


def statements(plan: po.Plan) -> list[str]:
    return [s.name for s in plan.scop.statements]


@pytest.mark.parametrize("form", FORMS)
def test_steps_take_turns(form):
    plan = po.Plan(program(**FORMS[form])).double_buffer("a")
    verify(plan.scop)
    assert plan.prove().obligations[0].name == "values"
    assert_right(plan, *({"T": steps, "N": n} for steps in range(7) for n in (1, 2, 5)))


def test_nothing_is_copied_in_steps_that_take_turns():
    plan = po.Plan(program(**FORMS["in place"])).double_buffer("a")
    assert statements(plan) == ["b", "b_2", "b_left", "a_left"]
    assert [s.array for s in plan.scop.statements] == ["b", "a", "b", "a"]


def test_an_array_of_each_step_is_one_for_all():
    plan = po.Plan(program(**FORMS["each step's own"])).double_buffer("a")
    assert statements(plan) == ["b_edge", "b", "b_2", "b_left", "a_left"]
    assert plan.scop.array("b").private == 0


def test_a_fixed_number_of_steps_leaves_none():
    plan = po.Plan(program(last="6")).double_buffer("a")
    assert statements(plan) == ["b_edge", "b", "b_2"]


def test_three_states_take_turns_in_three_arrays():
    plan = po.Plan(po.parse_c(WAVE)).double_buffer("old", "now")
    made = {s.name: s for s in plan.scop.statements}
    assert [made[n].array for n in ("new", "new_2", "new_3")] == ["new", "old_other", "now"]
    assert [made[n].array for n in ("here", "here_21", "here_31")] == ["here_1", "here_2", "here_3"]
    assert_right(plan, *({"T": steps, "N": n} for steps in range(9) for n in (2, 3, 6)))


def test_one_of_two_copies_may_be_kept():
    plan = po.Plan(po.parse_c(WAVE)).double_buffer("now")
    assert "old_2" in statements(plan)
    assert_right(plan, *({"T": steps, "N": n} for steps in range(6) for n in (3, 6)))


def test_what_is_read_after_the_loop_is_as_it_was():
    plan = po.Plan(po.parse_c(NESTS)).double_buffer("a")
    assert "b_other" in {a.name for a in plan.scop.arrays}
    assert_right(plan, *({"T": steps, "N": n} for steps in range(6) for n in (2, 3, 6)))


@pytest.mark.parametrize(
    "parts",
    [
        {
            "value": "b[i] + a[i]",
            "locals": "float b[N + 2]; for (int k = 0; k < N + 2; k++) b[k] = k;",
        },
        {
            "value": "a[i] + b[0]",
            "locals": "float b[N + 2]; b[0] = 0;",
            "after": "b[0] = a[0] + 1;",
        },
    ],
    ids=["sums up", "keeps more"],
)
def test_arrays_that_hold_more_than_steps_make_are_refused(parts):
    with pytest.raises(IllegalScheduleError, match="is not its source"):
        po.Plan(program(**parts)).double_buffer("a")


@pytest.mark.parametrize(
    ("parts", "array"),
    [
        ({"back": "a[i] = b[i - 1]", "value": "a[i] + 1", "low": "0"}, "a"),
        ({"back": "a[i] = 2 * b[i]"}, "a"),
        ({}, "b"),
        ({"locals": "float b[N + 3];"}, "a"),
    ],
    ids=["moved", "scaled", "not copied", "other extents"],
)
def test_loops_that_copy_nothing_back_are_refused(parts, array):
    with pytest.raises(InvalidOptionError, match="no loop copies"):
        po.Plan(program(**parts)).double_buffer(array)


def test_steps_that_go_down_are_refused():
    text = STEPS.replace("t = {first}; t < {last}; t++", "t = T; t > 0; t--").format(
        arguments="",
        locals="float b[N + 2];",
        own="",
        low="1",
        value="a[i] + t",
        back="a[i] = b[i]",
        after="",
    )
    with pytest.raises(InvalidOptionError, match="does not go upwards one by one"):
        po.Plan(po.parse_c(text)).double_buffer("a")


def test_names_that_are_none_are_refused():
    with pytest.raises(UnknownNameError, match="no array is called"):
        po.Plan(program()).double_buffer("c")
    with pytest.raises(InvalidOptionError, match="needs an array"):
        po.Plan(program()).double_buffer()


# -- the proof knows nothing of how it was made ----------------------------------------------------


def test_the_proof_refuses_steps_that_are_not_the_source_s():
    source = program()
    made = double_buffer(source, "a")
    check_source(source, made)

    def one_more(expr):
        return const(7.0, expr.type) if isinstance(expr, Const) else expr

    step = made.statement("b_2")
    other = replace(step, value=rewrite(step.value, one_more), array="b")
    with pytest.raises(IllegalScheduleError, match="is not its source"):
        check_source(source, made.with_statements(other))


@pytest.mark.parametrize("lost", ["b_edge", "b_left", "a_left"])
def test_the_proof_refuses_a_statement_less(lost):
    source = program()
    made = double_buffer(source, "a")
    few = made.statement(lost)
    none = replace(few, domain=few.domain.subtract(few.domain))
    with pytest.raises(IllegalScheduleError, match="is not its source"):
        check_source(source, made.with_statements(none))
