"""What the order of dependences says of a program, and that each kind of them is looked at."""

from dataclasses import replace

import pytest

import polyopt as po
from polyopt.errors import PolyoptError
from polyopt.frontend.c import parse_c
from polyopt.transform.legality.dependence_order import keeps_order
from polyopt.transform.legality.proof import accepts, check, prove
from polyopt.transform.plan import Plan

FLOW = """
void flow(int N, float a[restrict N], float b[restrict N])
{
    for (int i = 0; i < N; i++)
        a[i] = i;
    for (int k = 0; k < N; k++)
        b[k] = a[N - 1 - k];
}
"""

#: what is read is overwritten later
ANTI = """
void anti(int N, float a[restrict N], float b[restrict N])
{
    for (int i = 0; i < N; i++)
        b[i] = a[N - 1 - i];
    for (int k = 0; k < N; k++)
        a[k] = k;
}
"""

#: what is written is overwritten later, and nothing reads it in between
OUTPUT = """
void output(int N, float a[restrict N])
{
    for (int i = 0; i < N; i++)
        a[i] = i;
    for (int k = 0; k < N; k++)
        a[N - 1 - k] = k;
}
"""

DIAGONAL = """
void diagonal(int N, float a[restrict N][N])
{
    for (int i = 1; i < N; i++)
        for (int j = 0; j < N - 1; j++)
            a[i][j] = a[i - 1][j + 1];
}
"""


def unchecked(text: str) -> Plan:
    return replace(Plan(parse_c(text)), checked=False)


def loops(plan: Plan) -> list[str]:
    return [loop.name for loop in plan.program.tree]


@pytest.mark.parametrize(("text", "expected"), [(FLOW, False), (ANTI, None), (OUTPUT, None)])
def test_each_kind_of_dependence_that_is_turned_around_is_seen(text, expected):
    plan = unchecked(text)
    together = plan.fuse_loops(*loops(plan))

    assert keeps_order(plan.program) is True
    assert keeps_order(together.program) is expected
    assert not accepts(together.program, together.original)
    with pytest.raises(PolyoptError):
        check(together.program, together.original)


BOTH = """
void both(int N, float a[restrict N], float c[restrict N])
{
    for (int i = 0; i < N; i++)
        a[i] = c[i];
    for (int k = 0; k < N; k++)
        c[N - 1 - k] = a[k];
}
"""


def test_two_dependences_of_the_same_copies_are_looked_at_apart():
    """In one loop the flow of ``a`` is kept, and what is read of ``c`` was overwritten before."""
    plan = unchecked(BOTH)

    assert keeps_order(plan.fuse_loops(*loops(plan)).program) is None


def test_what_stands_before_comes_before():
    plan = unchecked(FLOW)
    turned = replace(plan.program, tree=plan.program.tree[::-1])

    assert keeps_order(turned) is False


def test_time_is_compared_level_by_level():
    plan = unchecked(DIAGONAL)
    (outer,) = loops(plan)
    inner = plan.program.tree[0].body[0].name

    assert keeps_order(plan.tile("a", j=4).program) is True
    assert keeps_order(plan.interchange(outer, inner).program) is False
    assert keeps_order(plan.skew(inner, by=outer).interchange(outer, inner).program) is True


def test_two_instances_at_one_time_are_in_no_order():
    """A loop that has one value for all iterations, which no move makes."""
    plan = unchecked(DIAGONAL)
    (outer,) = plan.program.tree
    inner = outer.body[0]
    same = {name: value.sub(value) for name, value in outer.values.items()}
    still = replace(inner, values={n: v.sub(v) for n, v in inner.values.items()})
    stopped = replace(plan.program, tree=(replace(outer, values=same, body=(still,)),))

    assert keeps_order(stopped) is False


CHAIN = """
void chain(int N, const float x[restrict N + 2], float out[restrict N])
{
    float mid[N + 1];
    for (int i = 0; i < N + 1; i++)
        mid[i] = x[i] * x[i + 1];
    for (int i = 0; i < N; i++)
        out[i] = mid[i] + mid[i + 1];
}
"""


def test_what_runs_twice_or_lies_elsewhere_is_left_to_the_proof():
    plan = po.Plan(parse_c(CHAIN))

    assert keeps_order(plan.program) is True
    assert keeps_order(plan.inline("mid").program) is None
    fused = plan.tile("out", i=4).fuse("mid", into="out")
    assert keeps_order(fused.program) is None
    assert accepts(fused.program, fused.original)


def test_storage_that_is_too_small_is_left_to_the_proof():
    """Each iteration of a common loop makes an element, and reads this one and the one before."""
    plan = unchecked(CHAIN)
    plan = plan.fuse_loops(*loops(plan), shift=1)
    short = plan.store("mid", at=loops(plan)[0], fold={0: 1})

    assert keeps_order(plan.program) is True
    assert keeps_order(short.program) is None
    assert not accepts(short.program, short.original)


PRODUCT = """
void product(int N, const float x[restrict N][N], const float y[restrict N][N],
             float out[restrict N][N])
{
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            out[i][j] = 0;
            for (int k = 0; k < N; k++)
                out[i][j] += x[i][k] * y[k][j];
        }
}
"""


def backwards(tree):
    """The tree with the parts of every body in the opposite order."""
    return tuple(
        node if isinstance(node, str) else replace(node, body=backwards(node.body))
        for node in reversed(tree)
    )


def test_what_fills_packs_is_nothing_that_the_source_does():
    packed = unchecked(PRODUCT).pack("x", at="out_0.i").program
    turned = replace(packed, tree=backwards(packed.tree))

    assert any(copy.fills for copy in packed.copies.values())
    assert keeps_order(packed) is None
    assert keeps_order(turned) is False


def test_an_instance_that_never_runs_is_left_to_the_proof():
    plan = unchecked(CHAIN)
    copy = plan.program.copies["mid"]
    less = replace(copy, domain=copy.domain.subtract(copy.domain.lexmin()))
    program = replace(plan.program, copies={**plan.program.copies, "mid": less})

    assert keeps_order(program) is None
    with pytest.raises(PolyoptError):
        prove(program, plan.original)


def test_a_mark_is_looked_at_where_the_order_is_kept():
    plan = unchecked(DIAGONAL)
    marked = plan.parallelize(*loops(plan))

    assert keeps_order(marked.program) is True
    assert not accepts(marked.program, marked.original)


def test_what_is_accepted_is_not_taken_for_proven():
    plan = po.Plan(parse_c(DIAGONAL)).tile("a", j=4)
    before = len(plan.original.shown)

    assert accepts(plan.program, plan.original)
    assert len(plan.original.shown) == before
    plan.prove()
    assert len(plan.original.shown) == before + 1


def test_plans_made_from_one_share_its_dependences_and_no_others_do():
    plan = unchecked(DIAGONAL)
    moved = plan.interchange(*plan.loops("a")).tile("a", j=4)
    assert moved.program.dependences is plan.program.dependences
    assert Plan(plan.scop).program.dependences is not plan.program.dependences
