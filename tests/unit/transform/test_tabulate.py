"""Tabulation: which parts of values are looked up, where, and what the proof refuses."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import polyopt as po
from polyopt.errors import IllegalScheduleError, InvalidOptionError, UnknownNameError
from polyopt.ir.expr import Binary, Load, RangeHint, rewrite
from polyopt.ir.verify import verify
from polyopt.isl import Map, affine_constant, affine_var, joined_values, tuple_name
from polyopt.transform.source.proof import check_source
from polyopt.transform.source.tabulate import tabulate
from tests.unit.transform.programs import assert_right

WINDOW = """
void window(int H, int W, const float a[H][W], const float c[W], float out[H][W])
{
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++)
            out[y][x] = a[y][x] * (c[x] * 3 + x) - (y * y + 1) / (c[x] * 3 + x);
}
"""
LOCAL = """
void local(int H, int W, const float a[H][W], float out[H][W])
{
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++) {
            float d = x * 0.5f;
            float far = d * d;
            out[y][x] = a[y][x] * far - d;
        }
}
"""
ROWS = """
void rows(int H, int W, int N, const int row[N], const float a[H][W], float out[N][W])
{
    for (int y = 0; y < N; y++) {
        int r = row[y] < 0 ? 0 : row[y] > H - 1 ? H - 1 : row[y];
        for (int x = 0; x < W; x++)
            out[y][x] = y * (a[r][x] * 2 + x);
    }
}
"""
BYTES = """
void bytes(int N, const unsigned char a[N], float out[N])
{
    for (int i = 0; i < N; i++)
        out[i] = (a[i] - 7) * (a[i] + 3) + i;
}
"""
CIRCLE = """
void circle(int N, const float a[N], float out[N])
{
    for (int k = 0; k < N; k++) {
        out[k] = 0;
        for (int t = 0; t < N; t++) {
            int at = (t * k) % N;
            out[k] += a[t] * (at * at - 3);
        }
    }
}
"""
SIZES = [{"H": 1, "W": 1}, {"H": 3, "W": 5}, {"H": 4, "W": 17}]


def plan(text: str, *given: str, data: bool = False) -> po.Plan:
    name, *loops = given
    return po.Plan(po.parse_c(text)).tabulate(name, *loops, data=data)


def tables(made: po.Plan) -> dict[str, tuple[str, ...]]:
    """The tables, with the loops that they are over."""
    known = {s.name for s in made.source.statements}
    return {s.name: s.iterators for s in made.scop.statements if s.name not in known}


def test_equal_parts_share_a_table():
    made = plan(WINDOW, "out", "x")
    verify(made.scop)
    assert tables(made) == {"out_table": ("x",)}
    assert [a.array for a in made.scop.statement("out").reads].count("out_table") == 2
    assert_right(made, *SIZES)


def test_tables_of_two_loops_may_follow_each_other():
    made = plan(WINDOW, "out", "x").tabulate("out", "y")
    assert tables(made) == {"out_table": ("x",), "out_table1": ("y",)}
    assert_right(made, *SIZES)


def test_locals_are_seen_through():
    made = plan(LOCAL, "out", "x")
    assert tables(made) == {"out_table": ("x",), "out_table1": ("x",)}
    assert_right(made, *SIZES)


def test_rows_that_data_choose_are_computed_once_each():
    made = plan(ROWS, "out", "x", data=True)
    assert tables(made) == {"out_table": ("k", "x")}
    assert_right(made, *({**sizes, "N": n} for sizes in SIZES for n in (1, 6)))


def test_a_function_of_bytes_is_a_table_of_256():
    made = plan(BYTES, "out", data=True)
    assert tables(made) == {"out_table": ("k",)}
    (extent,) = made.scop.array("out_table").extents
    assert extent.is_equal(affine_constant(extent.get_domain_space(), 256))
    assert_right(made, {"N": 1}, {"N": 300})


def test_a_remainder_is_a_place_in_a_table():
    made = plan(CIRCLE, "out_1", data=True)
    assert tables(made) == {"out_table": ("k",)}
    assert made.scop.array("out_table").lower  # C's remainders may be negative
    assert_right(made, {"N": 1}, {"N": 7})


def test_subscripts_that_are_looked_up_keep_their_bounds():
    made = plan(
        """
void gather(int H, int W, float s, const float a[H][W], float out[H][W])
{
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++) {
            int at = (int)(x * s);
            int to = at < 0 ? 0 : at > W - 1 ? W - 1 : at;
            out[y][x] = a[y][to];
        }
}
""",
        "out",
        "x",
    )
    (lookup,) = made.scop.statement("out").value.index[1:]
    while not isinstance(lookup, RangeHint):
        (lookup,) = lookup.children
    assert_right(made, *SIZES)


def test_what_only_a_choice_evaluates_is_left_where_it_might_fail():
    text = """
void edge(int H, int W, const float a[W], const float b[H][W], float out[H][W])
{
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++)
            out[y][x] = x > 0 ? b[y][x] + 2 * a[x - 1] * a[x - 1] : 0;
}
"""
    with pytest.raises(InvalidOptionError, match="depends on x alone"):
        plan(text, "out", "x")
    made = plan(text.replace("a[x - 1]", "a[x]"), "out", "x")
    assert_right(made, *SIZES)


@pytest.mark.parametrize(
    ("part", "loops"),
    [
        ("out[y][0] * 2 + x", ("x",)),
        ("a[y][x]", ("x",)),
        ("a[y][x] * 2", ("x",)),
        ("H * 3 + 1", ("y",)),
    ],
    ids=["written in its nest", "nothing but a load", "of both loops", "of no loop"],
)
def test_parts_that_are_no_tables(part, loops):
    text = WINDOW.replace("a[y][x] * (c[x] * 3 + x) - (y * y + 1) / (c[x] * 3 + x)", part)
    with pytest.raises(InvalidOptionError, match="computes nothing"):
        plan(text, "out", *loops)


def test_names_that_are_none_are_refused():
    with pytest.raises(UnknownNameError, match="no statement is called"):
        plan(WINDOW, "output", "x")
    with pytest.raises(UnknownNameError, match="no loop of out is called"):
        plan(WINDOW, "out", "z")
    with pytest.raises(InvalidOptionError, match="on sizes alone"):
        plan(WINDOW, "out")


def test_a_table_comes_before_other_moves():
    with pytest.raises(InvalidOptionError, match="before other moves"):
        po.Plan(po.parse_c(WINDOW)).tile("out", x=4).tabulate("out", "x")


# -- the proof knows nothing of how it was made ----------------------------------------------------


def made_of(text: str, name: str, *loops: str, data: bool = False) -> tuple[po.Scop, po.Scop]:
    source = po.parse_c(text)
    made = tabulate(source, name, *loops, data=data)
    check_source(source, made)
    return source, made


def refused(source: po.Scop, made: po.Scop, why: str) -> None:
    with pytest.raises(IllegalScheduleError, match=why):
        check_source(source, made)


def test_the_proof_refuses_a_table_of_other_values():
    source, made = made_of(WINDOW, "out", "x")
    table = made.statement("out_table")

    def less(expr):
        is_sum = isinstance(expr, Binary) and expr.op == "add"
        return replace(expr, op="sub") if is_sum else expr

    other = replace(table, value=rewrite(table.value, less))
    refused(source, made.with_statements(other), "is not its source")


def test_the_proof_refuses_a_table_with_an_element_less():
    source, made = made_of(WINDOW, "out", "x")
    table = made.statement("out_table")
    first = table.domain.lexmin()
    few = replace(table, domain=table.domain.subtract(first))
    refused(source, made.with_statements(few), "an element of out_table is not computed")


def test_the_proof_refuses_a_table_that_is_made_too_late():
    source, made = made_of(WINDOW, "out", "x")
    late = replace(made, nest=tuple(reversed(made.nest)))
    refused(source, late, "not computed before it is read")


def test_the_proof_refuses_what_changes_between_table_and_lookup():
    text = WINDOW.replace("const float c[W]", "float c[W]").replace(
        "    for (int y", "    for (int x = 0; x < W; x++)\n        c[x] = x;\n    for (int y", 1
    )
    source, made = made_of(text, "out", "x")
    first, table, rest = made.nest
    refused(
        source, replace(made, nest=(table, first, rest)), "writes what out_table holds values of"
    )


def test_the_proof_refuses_rows_that_are_not_all_there():
    source, made = made_of(ROWS, "out", "x", data=True)
    table = made.statement("out_table")
    few = replace(table, domain=table.domain.subtract(table.domain.lexmax()))
    refused(source, made.with_statements(few), "is not computed")


def test_the_proof_refuses_rows_that_are_not_there_at_all():
    source, made = made_of(ROWS, "out", "x", data=True)
    table = made.statement("out_table")
    more = replace(table, domain=table.domain.union(_moved(table.domain, 1)))
    refused(source, made.with_statements(more), "an element of a that it reads is not there")


def _moved(domain, by):
    space = domain.get_space()
    parts = [affine_var(space, 0).add(affine_constant(space, by)), affine_var(space, 1)]
    there = Map.from_pw_multi_aff(joined_values(parts, tuple_name(domain)))
    return domain.apply(there)


def test_the_proof_refuses_other_bounds_than_those_of_the_source():
    source, made = made_of(
        """
void gather(int H, int W, float s, const float a[H][W], float out[H][W])
{
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++) {
            int at = (int)(x * s);
            out[y][x] = a[y][at < 0 ? 0 : at > W - 1 ? W - 1 : at];
        }
}
""",
        "out",
        "x",
    )
    reader = made.statement("out")

    def nearer(expr):
        return replace(expr, high=expr.low) if isinstance(expr, RangeHint) else expr

    other = replace(reader, value=rewrite(reader.value, nearer))
    refused(source, made.with_statements(other), "is not its source")


def test_the_proof_refuses_divisions_that_the_source_does_not_make():
    text = """
void share(int H, int W, const int a[W], const int b[H][W], int out[H][W])
{
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++)
            out[y][x] = b[y][x] > 0 ? b[y][x] * (7 / a[x] + x) : 0;
}
"""
    source = po.parse_c(text)
    with pytest.raises(InvalidOptionError, match="computes nothing"):
        tabulate(source, "out", "x")
    always, _ = made_of(text.replace("b[y][x] > 0 ? ", "").replace(" : 0;", ";"), "out", "x")
    made = tabulate(always, "out", "x")
    table = made.statement("out_table")
    own = source.statement("out")
    (lookup,) = (n for n in _nodes(made.statement("out").value) if _is_of(n, "out_table"))

    def looked_up(expr):
        is_sum = isinstance(expr, Binary) and expr.op == "add"
        return lookup if is_sum else expr

    now = replace(own, value=rewrite(own.value, looked_up))
    wrong = replace(made, statements=(table, now), context=source.context)
    wrong = replace(wrong, arrays=(*source.arrays, made.array("out_table")))
    refused(source, wrong, "does what may fail where its source does not")


def _nodes(expr):
    yield expr
    for child in expr.children:
        yield from _nodes(child)


def _is_of(node, array):
    return isinstance(node, Load) and node.array == array


def test_results_keep_their_bits():
    made = plan(WINDOW, "out", "x")
    rng = np.random.default_rng(3)
    given = {"a": rng.random((9, 40), np.float32), "c": rng.random(40, np.float32) + 1}
    expected = po.Plan(made.source).compile(contract=False)(**given)
    assert np.array_equal(made.compile(contract=False)(**given), expected)
