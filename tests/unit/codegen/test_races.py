"""What emitted C shares among threads and lanes is read off the text, and shown for all sizes."""

from dataclasses import replace

import pytest

import polyopt as po
from polyopt.codegen.validate.translation import ReadBack, check_code
from polyopt.errors import InternalError

THREADS = "#pragma omp parallel for num_threads(threads) schedule(dynamic, 1 + (n) / (8 * threads))"
SCAN = (
    "void f(int n, float x[n], float y[n]) { for (int i = 1; i < n; i++) y[i] = y[i - 1] + x[i]; }"
)
LAG = (
    "void f(int n, float x[n], float y[n]) { for (int i = 4; i < n; i++) y[i] = y[i - 4] + x[i]; }"
)
LAST = "void f(int n, float x[n], float y[1]) { for (int i = 0; i < n; i++) y[0] = x[i]; }"
SUMS = """
void f(int n, float x[n][n], float y[n]) {
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            y[j] = y[j] + x[i][j];
}
"""
OWN = """
void f(int n, float x[n][4], float y[n]) {
    for (int i = 0; i < n; i++) {
        float s[2];
        for (int j = 0; j < 2; j++)
            s[j] = x[i][j] * x[i][j + 2];
        y[i] = s[0] - s[1];
    }
}
"""


def marked(text, pragma):
    """A program and its C, with a pragma before its first loop."""
    scop = po.parse_c(text)
    made = po.Plan(scop).emit()
    first = made.source.index("for (int64_t")
    return scop, replace(made, source=f"{made.source[:first]}{pragma}\n{made.source[first:]}")


@pytest.mark.parametrize(
    ("text", "pragma"),
    [
        (SCAN, THREADS), (SCAN, "#pragma omp simd"), (LAST, THREADS), (LAG, "#pragma omp simd"),
        (LAG, "#pragma omp simd safelen(5)"), (SUMS, THREADS), (SUMS, "#pragma omp simd safelen(2)"),
    ],
)  # fmt: skip
def test_iterations_that_clash(text, pragma):
    with pytest.raises(InternalError, match="iterations of i that clash in y"):
        check_code(*marked(text, pragma))


@pytest.mark.parametrize(
    ("text", "pragma", "loops"),
    [
        (LAG, "#pragma omp simd safelen(4)", 1), (LAG, "#pragma omp simd safelen(1) simdlen(1)", 0),
        (SCAN, "#pragma omp simd safelen(1) simdlen(1)", 0), (OWN, THREADS, 1),
    ],
)  # fmt: skip
def test_iterations_that_do_not(text, pragma, loops):
    scop, program = marked(text, pragma)
    assert ReadBack(scop, program).loops_apart() == loops
    assert "for all sizes" in check_code(scop, program).detail
