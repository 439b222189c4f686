"""Reduction clauses of emitted C are read beside the loops below them: one that does not fit is
wrong, and one that may is not taken for wrong."""

from __future__ import annotations

from dataclasses import replace

import pytest
from pycparser import CParser

import polyopt as po
from polyopt.codegen.validate.on_build import CodeCheck
from polyopt.errors import InternalError
from polyopt.frontend.c.readback.lanes import is_extreme

ROWS = """
void f(int N, int M, const {type} a[N][M], {type} y[N])
{{
    for (int i = 0; i < N; i++) {{
        y[i] = a[i][0];
        for (int j = 0; j < M; j++)
            y[i] = {update};
    }}
}}
"""
SUM, PRODUCT = "y[i] + a[i][j]", "y[i] * a[i][j]"
GREATEST = "a[i][j] < y[i] || y[i] != y[i] ? y[i] : a[i][j]"
LEAST = "a[i][j] < y[i] ? a[i][j] : y[i]"


def checked(update, type_, *changes):
    """What the check at each build says of the C of a reduction of rows, changed by hand."""
    scop = po.parse_c(ROWS.format(update=update, type=type_))
    program = po.Plan(scop).reassociate("y_1").vectorize("y.j").emit()
    source = program.source
    for before, after in changes:
        assert before in source
        source = source.replace(before, after)
    return CodeCheck(scop, replace(program, source=source))()


@pytest.mark.parametrize(
    ("update", "type_"),
    [
        (SUM, "double"), (PRODUCT, "double"), (GREATEST, "double"),
        (SUM, "int"), (PRODUCT, "unsigned"), (LEAST, "long"),
    ],
)  # fmt: skip
def test_a_clause_that_fits_is_shown(update, type_):
    assert "for all sizes (" in checked(update, type_)


STORED = "y_sum = y_sum + a[i][j];"
#: an element by itself, with the helper that the C brings along
KEPT, ELEMENT = "y_sum = min_i32(a[i][j], y_sum);", "min_i32(a[i][j], a[i][j])"
CHOICE = f"y_sum = y_sum > {ELEMENT} ? {ELEMENT} : y_sum;"
LANES = "#pragma omp simd reduction(+ : y_sum)"
THREADS = "#pragma omp parallel for num_threads(threads) reduction(+ : y_sum)"


@pytest.mark.parametrize(
    ("update", "type_", "before", "after", "said"),
    [
        (SUM, "double", "reduction(+", "reduction(*", "updated by + and joined by *"),
        (SUM, "int", "reduction(+", "reduction(max", "updated by + and joined by max"),
        (SUM, "long", "reduction(+", "reduction(|", "updated by + and joined by |"),
        (SUM, "double", STORED, "y_sum = y_sum * a[i][j];", "updated by * and joined by +"),
        (SUM, "double", STORED, "y_sum *= a[i][j];", "updated by * and joined by +"),
        (SUM, "double", STORED, "y_sum = y_sum / a[i][j];", "updated by / and joined by +"),
        (SUM, "double", STORED, STORED + " y_sum = y_sum * 2.0;", "updated by * and joined by +"),
        (SUM, "double", LANES, THREADS.replace("+", "*"), "updated by + and joined by *"),
        (PRODUCT, "int", "reduction(*", "reduction(+", "updated by * and joined by +"),
        (GREATEST, "double", "a[i][j] < y_sum", "a[i][j] > y_sum",
         "updated by min_or_nan and joined by max_or_nan"),
        (LEAST, "int", "reduction(min", "reduction(max", "updated by min and joined by max"),
    ],
)  # fmt: skip
def test_an_update_by_another_operation_than_its_clause_s_is_wrong(
    update, type_, before, after, said
):
    with pytest.raises(InternalError) as refused:
        checked(update, type_, (before, after))
    assert f"y_sum is {said}" in str(refused.value)
    assert "for (int64_t j" in str(refused.value)  # the place


@pytest.mark.parametrize(
    ("after", "said"),
    [
        ("y_sum = a[i][j];", "y_sum is set to what is no update of it"),
        (f"{STORED} a[i][j] = y_sum;", "y_sum, of which each has a part, is read"),
        (f"{STORED} double t = 2.0 * y_sum; a[i][j] = t;", "y_sum, of which each has a part"),
        (f"if (y_sum > 3.0) {{ {STORED} }}", "y_sum, of which each has a part, is read"),
        ("a[i][j] = 2.0;", "nothing updates y_sum, which is joined by +"),
        (f"{STORED} y[i] = y[i] + 1.0;", "all of them write y[i], which no clause names"),
        (f"{STORED} y[0] = 1.0;", "all of them write y[0], which no clause names"),
    ],
)
def test_what_else_a_loop_does_with_what_lanes_have_of_their_own_is_wrong(after, said):
    with pytest.raises(InternalError) as refused:
        checked(SUM, "double", (STORED, after))
    assert said in str(refused.value)


@pytest.mark.parametrize("before", [THREADS, THREADS.replace("parallel for", "parallel for simd")])
def test_a_clause_of_threads_is_read_as_well(before):
    """It is never emitted: one that fits is not compared."""
    assert "is not compared" in checked(SUM, "double", (LANES, before))


@pytest.mark.parametrize(
    ("update", "type_", "before", "after"),
    [
        (SUM, "double", STORED, "y_sum = y_sum + a[i][j] + 1.0;"),
        (SUM, "double", STORED, "y_sum += a[i][j];"),
        (SUM, "double", STORED, "double t = y_sum + a[i][j]; y_sum = t;"),
        (SUM, "double", LANES, "#pragma omp simd reduction(- : y_sum)"),
        (LEAST, "int", KEPT, f"if (y_sum > a[i][j]) {{ y_sum = {ELEMENT}; }}"),
        (LEAST, "int", KEPT, CHOICE),
    ],
)
def test_updates_that_may_fit_their_clause_are_not_said_to_be_wrong(update, type_, before, after):
    assert "is not compared" in checked(update, type_, (before, after))


@pytest.mark.parametrize("declared", ["", "double u[8];\n"])
def test_rows_that_lanes_update_are_in_no_clause(declared):
    """Each lane adds to a whole row that is not its own."""
    local, result = ("u", "u[0]") if declared else ("out", "0.0")
    scop = po.parse_c(f"""void f(int N, const double a[N][8], double out[8], double s[1]) {{
        {declared}
        s[0] = 0;
        for (int j = 0; j < 8; j++)
            {local}[j] = 0;
        for (int i = 0; i < N; i++) {{
            s[0] += a[i][0];
            for (int j = 0; j < 8; j++)
                {local}[j] += a[i][j];
        }}
        s[0] += {result};
    }}""")
    program = po.Plan(scop).emit()
    head = "    for (int64_t i = 0;"
    source = program.source.replace(
        head, f"double t = s[0];\n#pragma omp simd reduction(+ : t)\n{head}"
    )
    source = source.replace("s[0] = s[0] + a[i][0];", "t = t + a[i][0];")
    last = "    s[0] = s[0] +"
    assert last in source
    source = source.replace(last, f"    s[0] = t;\n{last}")
    with pytest.raises(InternalError, match=f"clash in {local}"):
        CodeCheck(scop, replace(program, source=source))()


@pytest.mark.parametrize(
    ("value", "is_one"), [("a", True), ("b + a", True), ("s + a", False), ("2.0 * s", False)]
)
def test_an_extreme_is_of_a_value_without_the_variable(value, is_one):
    """Lanes of ``s < s + a ? s + a : s`` would each add up their own part."""
    text = f"void f(void) {{ s = s < {value} ? {value} : s; }}"
    (node,) = CParser().parse(text).ext[0].body.block_items
    assert is_extreme(node, "s", "max_or_nan") == is_one
