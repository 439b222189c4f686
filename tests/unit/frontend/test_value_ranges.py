"""Value ranges: subscripts that data decide are in bounds by locals and conditions around, or not."""

from __future__ import annotations

import numpy as np
import pytest

import polyopt as po
from polyopt.errors import OutOfBoundsError

LOOP = """
void look({sizes}int n, const int k[n], const float a[n], float b[n])
{{
    for (int i = 0; i < n; i++) {{
        {body}
        b[i] = a[j];
    }}
}}
"""
WITHIN = (
    "int j = k[i] < 0 ? 0 : k[i] > n - 1 ? n - 1 : k[i];",
    "int j = k[i]; if (j < 0) j = 0; if (j > n - 1) j = n - 1;",
    "int j = k[i]; if (j < 0) j = 0; if (j >= n) j = n - 1;",
    "int j = k[i]; if (j < 0) j = 0; else if (j >= n) j = n - 1;",
    "int j = k[i]; if (!(j >= 0)) { j = 0; } else { if (n <= j) { j = n - 1; } }",
    "int j = k[i]; j = j < 0 ? 0 : j >= n ? n - 1 : j;",
    "int j = k[i]; if (j < 0 || j >= n) j = 0;",
    "int j = k[i]; if (j < 0 || j >= n) continue;",
    "int j = k[i]; j = (j >= 0 && j < n) ? j : n / 2 - n / 2;",
    "int j = k[i] % n; if (j < 0) j += n;",
    "int j = k[i] % n; j = j < 0 ? -j : j;",
    "int j = ((k[i] % n) + n) % n;",
    "unsigned j = (unsigned)k[i] % n;",
    "int j = k[i]; if (j != 0) j = n - 1;",
    "int s = k[i]; int low = s < 0 ? 0 : s; int j = low < n ? low : n - 1;",
    "int low = 0; int j = k[i]; if (j < low) j = low; if (j > n - 1) j = n - 1;",
)
OUTSIDE = (
    "int j = k[i];",
    "int j = k[i] < 0 ? 0 : k[i];",
    "int j = k[i] < 0 ? 0 : k[i] > n ? n : k[i];",
    "int j = k[i]; if (j < 0 || j > n) continue;",
    "int j = k[i]; if (j < 0 && j >= n) j = 0;",
    "int j = k[i]; if (j < 0) j = 0; else if (j > n) j = n - 1;",
    "int j = k[i]; if (j < 0) j = 0; if (j >= n) j = n - 1; j = j + 1;",
    "int j = k[i]; if (j < 0) j = 0; if (j >= n) j = n - 1; j = k[i];",
    "int j = k[i] % n;",
    "int j = k[i] % (n + 1); if (j < 0) j = 0;",
    "int j = k[i]; int s = j; if (s < 0) s = 0; if (s >= n) s = n - 1;",
    "int j = k[i]; if (i > 0) { if (j < 0) j = 0; if (j >= n) j = n - 1; }",
    "int j = k[i]; if (j < 0 || j >= n) j = k[0];",
    "int j = k[i]; int was = j; j = k[0]; if (was < 0 || was >= n) continue;",
)


def program(body: str) -> po.Scop:
    return po.parse_c(LOOP.format(body=body, sizes=""))


@pytest.mark.parametrize("body", WITHIN)
def test_subscripts_are_in_bounds(body):
    kernel = po.auto(program(body)).compile()
    given = np.array([-7, -1, 0, 1, 2, 3, 99, 5], np.int32)
    values = np.arange(8, dtype=np.float32)
    if "continue" in body:
        kernel(k=given, a=values, b=np.zeros(8, np.float32))
        return
    looked_up = kernel(k=given, a=values)
    assert set(looked_up) <= set(values)
    inside = slice(2, 4) if "!=" in body else slice(2, 6)
    expected = [0, 7] if "!=" in body else [0, 1, 2, 3]
    assert looked_up[inside].tolist() == expected


@pytest.mark.parametrize("body", OUTSIDE)
def test_subscripts_may_be_out_of_bounds(body):
    with pytest.raises(OutOfBoundsError, match="may leave `a`"):
        po.auto(program(body))


def test_loops_between_forget_what_locals_hold():
    text = """
void look(int n, int m, const int k[n], const float a[n], float b[n])
{
    for (int i = 0; i < n; i++) {
        int j = 0;
        for (int t = 0; t < m; t++)
            j = j + k[i];
        b[i] = a[j];
    }
}
"""
    with pytest.raises(OutOfBoundsError, match="may leave `a`"):
        po.auto(po.parse_c(text))


def test_python_s_loops_have_them_too():
    @po.scop
    def look(k: po.i32["n"], a: po.f32["n"], b: po.f32["n"]):  # noqa: F821, UP037
        n = k.shape[0]
        for i in range(n):
            j = k[i]
            j = max(j, 0)
            if j >= n:
                j = n - 1
            b[i] = a[j]

    given = np.array([-7, 0, 1, 99], np.int32)
    result = po.auto(look).compile()(k=given, a=np.arange(4, dtype=np.float32))
    assert np.asarray(result).tolist() == [0, 0, 1, 3]


def test_stages_that_choose_places_have_them_too():
    h, w = po.size("H"), po.size("W")
    place = po.input("place", po.f32, [h, w])
    at = po.stage("at", [h, w], lambda y, x: po.clamp(po.cast(po.i32, place[y, x]), 0, w - 1))
    row = po.input("row", po.f32, [w])
    out = po.stage("out", [h, w], lambda y, x: row[at[y, x]])
    kernel = po.auto(po.pipeline(out)).compile()
    result = kernel(place=np.array([[-5, 1, 9]], np.float32), row=np.arange(3, dtype=np.float32))
    assert result.tolist() == [[0, 1, 2]]


@pytest.mark.parametrize("first", ["0", "1"])
def test_what_some_steps_of_a_loop_write_is_not_what_all_read(first):
    text = f"""
void look(int n, int m, const int k[n], const float a[n], float b[n][m])
{{
    for (int i = 0; i < n; i++) {{
        int j = k[i];
        for (int t = {first}; t < m; t++) {{
            if (t % 2 == 0)
                j = 0;
            b[i][t] = a[j];
        }}
    }}
}}
"""
    with pytest.raises(OutOfBoundsError, match="may leave `a`"):
        po.auto(po.parse_c(text))
