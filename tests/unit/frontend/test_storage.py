"""Storage classes and linkage: whose value lasts, and to what a pointer may point."""

import pytest

from polyopt.frontend.c.regions.files import Declined, lower_regions
from polyopt.source import Source


def region(inside, body, *, before="", after="", arguments="int n, double *restrict a"):
    text = f"{before}\nvoid f({arguments}) {{\n{inside}\n#pragma scop\n{body}\n#pragma endscop\n"
    (found,) = lower_regions(Source("in.c", f"{text}{after}\n}}\n"), {})
    assert not isinstance(found, Declined), found.error
    return found


@pytest.mark.parametrize(
    ("before", "inside", "lasts"),
    [
        ("", "int t;", False), ("", "register int t;", False), ("", "auto int t;", False),
        ("", "static int t;", True), ("int t;", "", True), ("static int t;", "", True),
        ("extern int t;", "", True), ("", "extern int t;", True), ("int t;", "extern int t;", True),
        ("static int t;", "extern int t;", True), ("int t;", "int t;", False),
        ("int t;", "int t; { extern int t;", True), ("int t;", "extern int t; { int t;", False),
        ("", "extern _Thread_local int t;", True), ("", "static _Thread_local int t;", True),
    ],
)  # fmt: skip
def test_a_value_lasts_by_its_storage(before, inside, lasts):
    found = region(
        inside, "for (int i = 0; i < n; i++) { t = i; a[i] = t; }",
        before=before, after="}" * inside.count("{"),
    )  # fmt: skip
    assert ("t" in found.elements) is lasts


@pytest.mark.parametrize("inside", ["extern int t;", "static int t;"])
def test_an_iterator_that_lasts_has_its_last_value(inside):
    found = region(inside, "for (t = 0; t < n; t++) a[t] = 1;")
    assert "t" in {statement.array for statement in found.scop.statements}


@pytest.mark.parametrize(
    ("inside", "after", "apart"),
    [
        ("double t[9];", "", ()), ("static double t[9];", "", ()),
        ("static double t[9];", "a[0] = t[1];", ()), ("extern double t[9];", "", (("t", "a"),)),
        ("static double t[9];", "keep(t);", (("t", "a"),)),
        ("static double t[9];", "keep(&t[1]);", (("t", "a"),)),
        ("static double t;", "keep(&t);", (("t", "a"),)),
    ],
)  # fmt: skip
def test_what_an_argument_may_point_to(inside, after, apart):
    element = "t[i]" if "[" in inside else "t"
    found = region(
        inside, f"for (int i = 0; i < 9; i++) a[i] = {element};", before="void keep(double *);",
        after=after, arguments="double *a",
    )  # fmt: skip
    assert {frozenset(pair) for pair in found.apart} == {frozenset(pair) for pair in apart}
