"""What is printed, parsed again, is the tree; and a text that is another program is told from it."""

from dataclasses import replace
from unittest.mock import patch

import pytest

import polyopt as po
from polyopt.codegen import emit as emission
from polyopt.codegen.printers.c import print_c
from tests.unit.codegen.reparse import check_text, parsed_again

TEXT = """
#include <math.h>
void mixed(int N, const float a[restrict N + 2], const int k[restrict N], const float *s,
           float out[restrict N], int hist[restrict N])
{
    float mid[N + 1];
    for (int i = 0; i < N + 1; i++)
        mid[i] = a[i] - (a[i + 1] - *s) * -0.5f;
    for (int i = 0; i < N; i++)
        out[i] = sqrtf(mid[i] * mid[i + 1]) > 1.5f ? mid[i] / (3.0f * mid[i + 1]) : (float)(k[i] >> 2 & 7u);
    for (int i = 0; i < N; i++)
        hist[i] = k[i] % 3 == 0 && !(k[i] < -4) ? -(k[i] - 1) : k[i] - 2147483647 - 1;
}
"""


@pytest.fixture
def printed():
    """The tree of a plan with a buffer per thread, vectors and a task; and its text."""
    plan = po.Plan(po.parse_c(TEXT)).tile("out", i=4096).fuse("mid", into="out")
    plan = plan.parallelize("out.i_tile").vectorize("out.i").vectorize("hist.i")
    with patch.object(emission, "print_c", side_effect=print_c) as printing:
        made = plan.emit()
    return printing.call_args.args[0], made.source


def test_the_text_is_the_tree(printed):
    assert check_text(*printed) > 8


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("- (a[i + 1] - s[0])", "- a[i + 1] - s[0]"),
        ("-0.5f", "0.5f"),
        ("-0.5f", "-0.5"),
        ("& 7", "& 7u"),
        ("& 7", "| 7"),
        ("/ (3.0f * ", "/ 3.0f * ("),
        ("-(k[i] - 1)", "-k[i] - 1"),
        ("k[i] < -4", "k[i] < 4"),
        ("!(", "("),
        ("&&", "||"),
        ("#pragma omp simd", "#pragma omp simd safelen(8)"),
        ("num_threads(threads)", "num_threads(2)"),
        ("int64_t i_tile = 0", "int64_t i_tile = 1"),
        ("i_tile++", "i_tile += 2"),
        ("i++", "i--"),
        ("float mid_tile", "double mid_tile"),
        ("mid_tile[4097]", "mid_tile[4096]"),
        ("mid_tile[i", "a[i"),
        ("out[i] =", "out[i] +="),
        ("return 0;", "out[0] = 0.0f;\n    return 0;"),
        ("const float a[restrict", "const double a[restrict"),
    ],
)
def test_another_text_is_told_from_it(printed, old, new):
    function, source = printed
    assert old in source, source
    with pytest.raises(AssertionError):
        check_text(function, source.replace(old, new))


def test_a_name_that_hides_another_is_seen():
    def hiding(function, **options):
        made = print_c(function, **options)
        text = made.text.replace("int64_t j =", "int64_t i =").replace("; j", "; i")
        return replace(made, text=text)

    text = """
    void f(int N, float a[restrict N][N]) {
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++)
                a[i][j] += 1.0f;
    }
    """
    plan = po.Plan(po.parse_c(text))
    parsed_again(plan.emit)
    with patch("tests.unit.codegen.reparse.print_c", hiding), pytest.raises(AssertionError):
        parsed_again(plan.emit)
