"""Refusals that offer what enables the refused move: each offer is made, and right."""

from __future__ import annotations

from dataclasses import replace

import pytest

from polyopt.errors import IllegalScheduleError, InvalidOptionError
from tests.unit.transform.programs import (
    CHAIN,
    DIAGONAL,
    FACTORS,
    JACOBI,
    LAG,
    SCAN,
    TRIANGLE,
    fresh,
    plan,
    right,
)
from tests.unit.transform.test_loop_kinds import CORNER, SEIDEL

#: each iteration fills a row that only it reads
ROWS = """
void rows(int N, const float a[N][N], float b[N][N])
{
    float s[N];
    for (int i = 0; i < N; i++) {
        for (int j = 0; j < N; j++)
            s[j] = a[i][j] * 2;
        for (int j = 0; j < N; j++)
            b[i][j] = s[j] + s[N - 1 - j];
    }
}
"""
BEHIND = """
void behind(int N, const float a[N], float b[N], float c[N])
{
    for (int i = 1; i < N; i++) {
        b[i] = a[i] * 2;
        c[i] = b[i - 1] + 1;
    }
}
"""
MIRROR = """
void mirror(int N, float a[N])
{
    for (int i = 0; i < N; i++)
        a[i] = a[N - 1 - i] + 1;
}
"""
AFTER = """
void after(int N, float a[N], float b[N])
{
    for (int i = 1; i < N; i++) {
        a[i] = a[i - 1] * 2 + b[i];
        b[i] = 3 * a[i];
    }
}
"""
PLAIN = """
void plain(int N, const float a[N][N], float b[N][N])
{
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            b[i][j] = 2 * a[i][j];
}
"""
ALONG = """
void along(int N, float a[N][N])
{
    for (int i = 0; i < N; i++)
        for (int j = 1; j < N; j++)
            a[i][j] = 2 * a[i][j - 1];
}
"""
DOWN = ALONG.replace("int i = 0", "int i = 1").replace("int j = 1", "int j = 0").replace(
    "a[i][j - 1]", "a[i - 1][j]"
)  # fmt: skip

SKEWED = 'skew("A.j", by="A.i") and interchange("A.i", "A.j") first: then A.i can be a vector loop'
#: program, refused move, what its hint offers
OFFERS = {
    "privatisation": (ROWS, lambda p: p.parallelize("b.i"),
                      'store("s", at="b.i") first: then b.i can run in parallel'),
    "alignment": (BEHIND, lambda p: p.vectorize("b.i", 4),
                  'shift("c", i=-1) first: then c.i can be a vector loop'),
    "distribution": (AFTER, lambda p: p.vectorize("a.i", 4),
                     'distribute("b.i", at="b") first: then b.i can be a vector loop'),
    "index-set splitting": (MIRROR, lambda p: p.parallelize("a.i"),
                            ('split_range("a.i", at="floor((N)/2)") first: then a.i_before and a.i '
                            "can run in parallel")),
    "blocks": (LAG, lambda p: p.parallelize("a.i"),
               'split("a.i", 3) first: then a.i can run in parallel'),
    "short vectors": (LAG, lambda p: p.vectorize("a.i", 4),
                      'split("a.i", 3) first: then a.i can be a vector loop'),
    "a wavefront": (SEIDEL, lambda p: p.parallelize("A.i"),
                    ('skew("A.i", by="A.t", factor=2) and interchange("A.t", "A.i") first: then '
                    "A.t can run in parallel")),
    "a vector wavefront": (CORNER, lambda p: p.vectorize("A.j"), SKEWED),
    "interchange": (ALONG, lambda p: p.vectorize("a.j", 4),
                    'interchange("a.i", "a.j") first: then a.i can be a vector loop'),
    "inwards": (PLAIN, lambda p: p.vectorize("b.i", 4),
                'reorder("b.j", "b.i") first: then b.i can be a vector loop'),
    "inwards out of an imperfect nest": (
        TRIANGLE, lambda p: p.vectorize("o.i", 4),
        ('distribute("o.i", at="o_1") and reorder("o.j", "o.i") first: then o.i can be a vector '
        "loop")),
    "the loop inside": (DOWN, lambda p: p.vectorize("a.i"), "a.j can be a vector loop as it is"),
    "another loop": (DIAGONAL, lambda p: p.parallelize("a.i"), "a.j can run in parallel as it is"),
    "loops inside": (FACTORS, lambda p: p.parallelize("A.k"),
                     "A.i and A_1.i can run in parallel as they are"),
    "a part": (CHAIN, lambda p: p.parallelize("x.j"),
               'distribute("x.j", at="x_1") first: then x.j2 can run in parallel'),
    "sums in any order": (TRIANGLE, lambda p: p.vectorize("o.j", 4),
                          ("if its sums may be added up in any order, write "
                          "reassociate('o_1') first")),
    "a skew": (DIAGONAL, lambda p: p.interchange("a.i", "a.j"),
               'skew("a.j", by="a.i") first: then interchange("a.i", "a.j") is legal'),
    "two skews": (SEIDEL, lambda p: p.tile("A", t=2, i=4, j=4),
                  ('skew("A.i", by="A.t") and skew("A.j", by="A.t") first: then '
                  'tile("A", t=2, i=4, j=4) is legal')),
    "fusion and a skew": (JACOBI, lambda p: p.tile("a", t=4, i=4),
                          ('fuse_loops("b.i", "a.i", shift=1) and skew("a.i", by="a.t", factor=2) '
                          'first: then tile("a", t=4, i=4) is legal')),
    "distribution before tiles": (TRIANGLE, lambda p: p.tile("o", i=4, j=4),
                                  ('distribute("o.i", at="o_1") first: then '
                                  'tile("o_1", i=4, j=4) is legal')),
    "a shift of fused loops": (JACOBI, lambda p: p.fuse_loops("b.i", "a.i"),
                               "shift=1 runs the second nest late enough"),
}  # fmt: skip


def names(moves):
    return [(move.name, move.args) for move in moves]


def refused(start, move) -> IllegalScheduleError:
    with pytest.raises(IllegalScheduleError) as found:
        move(start)
    return found.value


@pytest.mark.parametrize("name", OFFERS)
def test_what_a_refusal_offers_is_legal_and_right(name):
    text, move, hint = OFFERS[name]
    start = plan(text)
    refusal = refused(start, move)
    assert refusal.diagnostic.hint == hint
    made = right(start.accept(refusal))
    assert names(made.moves) == names(refusal.offer)
    assert made.checked


@pytest.mark.parametrize("name", OFFERS)
def test_an_offer_ends_with_the_move_that_was_refused_or_its_like(name):
    text, move, _hint = OFFERS[name]
    start = plan(text)
    offer = refused(start, move).offer
    asked = move(_Asked())
    assert offer[-1].name == asked


class _Asked:
    """Says which move is asked for."""

    def __getattr__(self, name):
        return lambda *_args, **_options: name


@pytest.mark.parametrize(("text", "loop"), [(SCAN, "c.i"), (SCAN.replace("i - 1", "i / 2"), "c.i")])
def test_where_nothing_helps_nothing_is_offered(text, loop):
    start = plan(text)
    refusal = refused(start, lambda p: p.parallelize(loop))
    assert refusal.offer == ()
    with pytest.raises(InvalidOptionError, match="offers no moves"):
        start.accept(refusal)


def test_an_offer_goes_on_from_the_moves_that_were_made():
    start = plan(SEIDEL).split("A.t", 2)
    refusal = refused(start, lambda p: p.parallelize("A.j"))
    made = right(start.accept(refusal))
    assert names(made.moves) == names((*start.moves, *refusal.offer))


def test_without_budget_nothing_is_offered(monkeypatch):
    monkeypatch.setattr("polyopt.transform.hints.BUDGET", 10)
    refusal = refused(fresh(ROWS), lambda p: p.parallelize("b.i"))
    assert refusal.offer == ()
    assert "mark a loop that carries no dependence" in refusal.diagnostic.hint


def test_plans_that_are_proven_at_their_end_look_for_no_offers(monkeypatch):
    def never(*_args):
        raise AssertionError

    monkeypatch.setattr("polyopt.transform.plan.advised", never)
    with pytest.raises(IllegalScheduleError):
        replace(plan(JACOBI), checked=False).tile("a", t=4, i=4)
