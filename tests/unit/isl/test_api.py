"""Parsing says what it was given; budgets stop, and leave the context as it was."""

# ruff: noqa: F821, UP037  (extents are texts in subscripts of annotations)
from __future__ import annotations

import threading

import pytest

import polyopt as po
from polyopt.errors import InternalError, NotDecidedError
from polyopt.isl import (
    IslError,
    Val,
    budget,
    context,
    exclusive,
    exclusive_property,
    parse_map,
    parse_set,
    parse_union_map,
    parse_union_set,
    stretches,
)


@pytest.mark.parametrize("parse", [parse_set, parse_map, parse_union_set, parse_union_map])
def test_malformed_text_is_named(parse):
    with pytest.raises(InternalError, match=r"malformed \w+ text: '\{ S\[i : \}'"):
        parse("{ S[i : }")


DOMAIN = parse_set("[N] -> { S[i, j, k] : 0 <= i < N and i <= j < 2 i and j <= k < N + j }")


def work():
    return DOMAIN.project_out_all_params().lexmin()


def test_a_spent_budget_is_not_an_isl_error():
    with (
        pytest.raises(NotDecidedError, match="the test: not decided within 3 isl operations"),
        budget(3, "the test"),
    ):
        work()
    assert context().get_max_operations() == 0
    assert not work().is_empty()


def test_an_inner_budget_never_extends_the_outer_one():
    with pytest.raises(NotDecidedError, match="outer"), budget(3, "outer"), budget(10**9, "inner"):
        work()


def test_enough_budget_changes_nothing():
    with budget(10**9, "the test"):
        found = work()
    assert found.is_equal(work())


def test_other_failures_are_defects():
    endless = parse_set("{ S[i] : i >= 0 }")
    with pytest.raises(InternalError, match="isl failed in the test"), budget(10**9, "the test"):
        endless.lexmax()


def test_a_stretch_ends_where_a_budget_within_begins():
    with stretches(50_000, "a search"):
        for _ in range(100):  # more than a stretch, all together
            with budget(50_000, "a step"):
                work()
    assert context().get_max_operations() == 0


def test_a_long_stretch_is_stopped():
    with (
        pytest.raises(NotDecidedError, match="a search: not decided within 3 isl operations"),
        stretches(3, "a search"),
        stretches(10**9, "a search in it"),
    ):
        work()


def test_a_budget_bounds_the_stretches_in_it():
    with pytest.raises(NotDecidedError, match="outer"), budget(3, "outer"), stretches(10**9, "in"):
        work()


def test_a_budget_in_a_stretch_leaves_it_bounded():
    def search():
        with budget(10**9, "a step"):
            work()
        work()

    with pytest.raises(NotDecidedError, match="a search"), stretches(3, "a search"):
        search()


def taken(work):
    """isl operations of some work."""
    bound = budget(10**9, "all")
    with bound:
        work()
    return bound.operations - bound.left


def test_what_is_taken_is_known_to_the_operation():
    def three():
        for number in range(3):
            Val.int_from_si(context(), number)

    assert taken(lambda: None) == 0
    assert taken(three) == 3
    assert taken(work) == taken(work) > 10


def test_inner_budgets_and_stretches_take_from_the_outer_one():
    def nested():
        for _ in range(3):
            with stretches(10**9, "a search"), budget(10**9, "a step"):
                work()

    assert taken(nested) == 3 * taken(work)
    with pytest.raises(NotDecidedError, match="all: not decided"), budget(taken(nested) - 1, "all"):
        nested()


def test_an_inner_budget_is_the_first_to_be_spent():
    with budget(10**9, "outer") as outer:
        with pytest.raises(NotDecidedError, match="inner: not decided"), budget(3, "inner"):
            work()
        assert not outer.spent
        work()
    assert outer.operations - outer.left == 3 + taken(work)


def test_a_budget_goes_on_where_it_was_left():
    bound = budget(int(2.5 * taken(work)), "in parts")
    for _ in range(2):
        with bound:
            work()
        work()  # not counted
    assert not bound.spent
    with pytest.raises(NotDecidedError, match="in parts"), bound:
        work()
    assert bound.spent
    with pytest.raises(NotDecidedError, match="in parts"), bound:
        Val.int_from_si(context(), 1)


def test_a_spent_budget_stays_spent_in_what_is_within():
    with budget(3, "outer") as outer:
        with pytest.raises(NotDecidedError, match="outer"), budget(10**9, "inner"):
            work()
        assert outer.spent
        with pytest.raises(NotDecidedError, match="outer"), stretches(10**9, "inner"):
            work()


@pytest.mark.parametrize(
    "error", [MemoryError(), IslError("allocation failure in isl_ctx.c")], ids=type
)
def test_memory_that_is_spent_is_told_as_such(error):
    told = "work: not decided within the memory there is"
    with pytest.raises(NotDecidedError, match=told), budget(10**9, "work"):
        raise error
    assert context().get_max_operations() == 0


def test_a_text_that_isl_could_not_make_is_a_spent_budget():
    with pytest.raises(NotDecidedError, match="the text"), budget(3, "the text"):
        str(DOMAIN)
    with pytest.raises(TypeError, match="ours"), budget(10**9, "the text"):
        raise TypeError("ours")


def _interrupted() -> None:
    """As an interrupt leaves it that comes at the first step of ``__exit__``."""
    budget(10**9, "outer").__enter__()
    budget(2, "inner").__enter__()
    raise KeyboardInterrupt


@pytest.mark.parametrize("enter", [exclusive, lambda: budget(10**9, "later")])
def test_a_bound_that_an_interrupt_left_behind_is_taken_away(enter):
    with budget(10**9, "around"):
        with pytest.raises(KeyboardInterrupt):
            _interrupted()
        with pytest.raises(IslError, match="maximal"):
            work()
        with enter():
            work()
    taken_elsewhere = []
    other = threading.Thread(target=lambda: taken_elsewhere.append(taken(work)))
    other.start()
    other.join(10)
    assert taken_elsewhere, "the lock is still held"


FILL = """
void fill(int n, float a[n])
{
#pragma scop
    for (int i = 0; i < n; i++)
        a[i] = 1.0f;
#pragma endscop
}
"""


@po.scop
def fill(n: int, a: po.f32["n"]):
    for i in range(n):
        a[i] = 1.0


def in_stages():
    image = po.input("image", po.f32, ["n"])
    return po.pipeline(po.stage("a", ["n"], lambda i: 2 * image[i]))


@pytest.mark.parametrize(
    "source", [lambda: po.parse_c(FILL), lambda: po.scop(fill.reference), in_stages]
)
def test_after_an_interrupt_a_program_comes_in_as_before(source):
    with pytest.raises(KeyboardInterrupt):
        _interrupted()
    assert po.Plan(source()).prove()


class Made:
    """Something of isl's, made when it is first asked for; ``begun`` is set just before."""

    def __init__(self, begun):
        self.begun = begun

    @exclusive_property
    def domain(self):
        self.begun.set()
        with budget(10_000, "a domain"):
            return work()


def test_of_two_threads_none_waits_for_a_property_that_waits_for_isl():
    begun, has_isl = threading.Event(), threading.Event()
    mine, its = Made(begun), Made(threading.Event())

    def other():
        with exclusive():
            has_isl.set()
            begun.wait(timeout=0.5)  # one that waits with a lock of its own has it by now
            its.domain.is_empty()

    thread = threading.Thread(target=other, daemon=True)
    thread.start()
    assert has_isl.wait(timeout=20)
    user = threading.Thread(target=lambda: mine.domain, daemon=True)
    user.start()
    for one in (thread, user):
        one.join(timeout=20)
        assert not one.is_alive()
    assert mine.domain is mine.domain
    assert mine.domain.is_equal(its.domain)
    assert isinstance(Made.domain, exclusive_property)
