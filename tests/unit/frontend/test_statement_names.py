"""Statements are called like no other array that is written, in whatever form a program comes."""

# ruff: noqa: F821, UP037  (extents are texts in subscripts of annotations)

from __future__ import annotations

import polyopt as po

TEXT = """void f(int n, const float a[n], float s[n], float s_1[n]) {
    for (int i = 0; i < n; i++) { s[i] = a[i]; s[i] += 1; }
    for (int i = 0; i < n; i++) { s_1[i] = a[i]; s_1[i] += 2; }
}"""


def in_python():
    @po.scop
    def f(a: po.f32["n"], s: po.f32["n"], s_1: po.f32["n"]):
        for i in range(a.shape[0]):
            s[i] = a[i]
            s[i] += 1
        for i in range(a.shape[0]):
            s_1[i] = a[i]
            s_1[i] += 2

    return f


def test_numbered_statements_are_no_other_array():
    for scop in (po.parse_c(TEXT), in_python()):
        names = [s.name for s in scop.statements]
        assert len(set(names)) == 4
        assert not {"s", "s_1"} & set(names)
