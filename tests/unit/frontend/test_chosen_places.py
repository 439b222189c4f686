"""Folded arrays at places that are chosen: the same elements, of an array with its dimensions."""

from __future__ import annotations

import numpy as np
import pytest

import polyopt as po

PROGRAM = """
void step(int nx, int ny, const float *restrict t, float *restrict out)
{{
#pragma scop
    for (int y = 0; y < ny; y++)
        for (int x = 0; x < nx; x++) {{
            int c = x + y * nx;
            {places}
            out[c] = {value};
        }}
#pragma endscop
}}
"""
NAMED = "int w = x == 0 ? c : c - 1; int s = (y == ny - 1) ? c : c + nx;"
FORMS = {
    "named": (NAMED, "t[c] + 2 * t[w] + 4 * t[s]"),
    "in place": ("", "t[c] + 2 * t[x == 0 ? c : c - 1] + 4 * t[y == ny - 1 ? c : c + nx]"),
    "twice": (
        NAMED + " int again = w;",
        "t[c] + 2 * t[again] + 4 * t[s]",
    ),
    "nested": (
        NAMED + " int one = x == 0 ? (y == 0 ? c : c - nx) : c - 1;",
        "t[c] + 2 * t[w] + 4 * t[s] + 0 * t[one]",
    ),
}  # fmt: skip


def expected(t: np.ndarray) -> np.ndarray:
    west = np.concatenate([t[:, :1], t[:, :-1]], axis=1)
    south = np.concatenate([t[1:], t[-1:]])
    return t + 2 * west + 4 * south


@pytest.mark.parametrize("form", FORMS)
def test_choices_of_places_are_choices_of_elements(form):
    places, value = FORMS[form]
    scop = po.parse_c(PROGRAM.format(places=places, value=value))
    assert [scop.array(name).rank for name in ("t", "out")] == [2, 2]
    kernel = po.auto(scop).compile()
    rng = np.random.default_rng(0)
    for shape in ((1, 1), (1, 7), (5, 1), (4, 9), (20, 70)):
        t = rng.random(shape, dtype=np.float32)
        np.testing.assert_allclose(kernel(t), expected(t), rtol=1e-6)


OTHERS = {
    "data": "t[t[c] > 0.5f ? c : c - 1]",
    "another row": "t[y == 0 ? c : c - 1]",
    "folded": "t[c == 0 ? c : c - 1]",
}


@pytest.mark.parametrize("value", OTHERS.values(), ids=OTHERS)
def test_choices_that_go_on_in_other_rows_leave_the_array_flat(value):
    text = PROGRAM.format(places="", value=value)
    assert po.parse_c(text).array("t").rank == 1


def test_what_is_written_at_a_chosen_place_is_not_chosen():
    text = PROGRAM.format(places="", value="1").replace("out[c] =", "out[x == 0 ? c : c - 1] =")
    assert po.parse_c(text).array("out").rank == 1
