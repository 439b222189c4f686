"""Moves that random plans of the soak found wanting, each in a few lines."""

import pytest

import polyopt as po
from polyopt.errors import IllegalScheduleError, NotDecidedError
from polyopt.library import load_scop

PACKED = """
void f(int N, const float in[restrict N], float out[restrict N])
{
    float a[N];
    for (int i = 0; i < N; i++)
        a[i] = 3 * in[i];
    for (int i = 0; i < N; i++)
        out[i] = a[i] * a[i];
}
"""


def test_a_pack_is_not_parted_from_its_readers():
    packed = po.Plan(po.parse_c(PACKED)).pack("a", at="out.i")
    with pytest.raises(IllegalScheduleError):
        packed.distribute("out.i", at="out")


def test_a_program_without_an_order_that_advances_is_told_as_such():
    scop = load_scop("histogram_equalization")
    with pytest.raises(NotDecidedError, match="finds no order"):
        po.Plan(scop).reschedule(fusion="smart")
    assert po.auto(scop).prove()


def test_an_order_advances_around_an_element_that_all_read():
    """Bounds of i, which dependences on ``a[5]`` bound at fractions without, are what it needs."""
    scop = po.parse_c("""
    void f(double a[restrict 6])
    {
        for (int i = 0; i < 6; i++)
            if (i % 3 != 1)
                a[i] = a[i] < a[5] ? a[5] : a[i];
    }
    """)
    assert po.Plan(scop).reschedule(fusion="max").prove()
    assert po.auto(scop).prove()
