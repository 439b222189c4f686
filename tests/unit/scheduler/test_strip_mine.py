"""Outermost vector loops are shared by threads in strips, where there is work for all of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import polyopt as po
from polyopt.codegen.target import target
from polyopt.errors import InvalidOptionError

SQUARES = """
void squares(long n, const %(type)s a[restrict n], %(type)s b[restrict n], %(type)s c[restrict n])
{
    for (long i = 0; i < n; i++) {
        b[i] = a[i] * a[i] + 1;
        c[i] = b[i] - a[i];
    }
}
"""
CARRIED = """
void carried(long n, double b[restrict n + 100])
{
    for (long i = 0; i < n; i++)
        b[i + 100] = b[i] + 1;
}
"""
MACHINE = replace(target("avx2"), cores=4)


def marks(plan):
    return {
        name: tuple(loop.mark for loop in place.loops)
        for name, place in plan.program.places.items()
    }


@pytest.mark.parametrize("kind", ["double", "float", "unsigned char"])
def test_strips_of_whole_lines_are_for_threads(kind):
    scop = po.parse_c(SQUARES % {"type": kind})
    plan = po.auto(scop, sizes={"n": 20_000_000}, target=MACHINE)
    plan.prove()
    assert marks(plan) == dict.fromkeys(plan.program.places, ("parallel", "vector"))
    (width,) = [r.numbers["iterations"] for r in plan.remarks if r.move == "split"]
    assert width * scop.arrays[0].type.bytes % 64 == 0


def test_remainders_are_in_the_last_strip():
    scop = po.parse_c(SQUARES % {"type": "double"})
    plan = po.auto(scop, sizes={"n": 20_000_000}, target=MACHINE)
    (width,) = [int(r.numbers["iterations"]) for r in plan.remarks if r.move == "split"]
    kernel = plan.compile()
    for n in (1, width - 1, width, width + 1, 9 * width + 5):
        a = np.arange(n, dtype=np.float64)
        b, c = kernel(a=a)
        assert np.array_equal(b, a * a + 1)
        assert np.array_equal(c, a * a + 1 - a)


def test_with_little_work_a_vector_loop_stays_as_it_is_and_a_remark_says_why():
    scop = po.parse_c(SQUARES % {"type": "double"})
    plan = po.auto(scop, sizes={"n": 10_000}, target=MACHINE)
    assert marks(plan) == dict.fromkeys(plan.program.places, ("vector",))
    assert [r.kind for r in plan.remarks if r.move == "parallelize"] == ["refused"]


@pytest.mark.parametrize("kind", ["double", "float", "unsigned char"])
def test_each_call_decides_where_nobody_gave_the_size(kind):
    """The strips of the shortest loop that threads start for are several for each."""
    scop = po.parse_c(SQUARES % {"type": kind})
    plan = po.auto(scop, target=MACHINE)
    plan.prove()
    assert marks(plan) == dict.fromkeys(plan.program.places, ("parallel", "vector"))
    (width,) = [r.numbers["iterations"] for r in plan.remarks if r.move == "split"]
    assert width * scop.arrays[0].type.bytes == MACHINE.l1_bytes
    assert "threads = 1; /* too little work to share */" in plan.emit().source


@pytest.mark.parametrize(("length", "tested"), [(512, True), (1024, False)])
def test_work_beyond_an_int_of_c_is_enough(length, tested):
    """Its literals' product would overflow, and threads would not start."""
    text = f"""
    void f(const float a[restrict {length}][1024], const float b[restrict 1024][1024],
           float c[restrict {length}][1024])
    {{
        for (int i = 0; i < {length}; i++)
            for (int j = 0; j < 1024; j++)
                for (int k = 0; k < 1024; k++)
                    c[i][j] += a[i][k] * b[k][j] + 1;
    }}
    """
    plan = po.auto(po.parse_c(text), target=MACHINE)
    assert "parallel" in str(plan)
    assert ("too little work to share" in plan.emit().source) == tested


@pytest.mark.parametrize("policy", ["passive", "active"])
def test_a_call_with_little_work_starts_no_threads(policy):
    """Also where its sizes are numbers: loops around others are shared whatever their length."""
    text = """void f(const float a[16][16], float c[16][16])
    { for (int i = 0; i < 16; i++) for (int j = 0; j < 16; j++) c[i][j] = a[i][j] * 2 + 1; }"""
    source = po.auto(po.parse_c(text), target=MACHINE, wait_policy=policy).emit().source
    assert ("too little work to share" in source) == ("omp parallel" in source)


@pytest.mark.parametrize(("length", "policy", "shared"), [
    (1 << 16, "passive", False), (1 << 16, "active", True), (1 << 21, "passive", True),
    (256, "active", False),
])  # fmt: skip
def test_threads_that_spin_share_shorter_loops(length, policy, shared):
    """None has to be woken: a region starts them at once."""
    text = (
        f"void f(float a[{length}]) {{ for (int i = 0; i < {length}; i++) a[i] = a[i] * 2 + 1; }}"
    )
    plan = po.auto(po.parse_c(text), target=MACHINE, wait_policy=policy)
    assert ("omp parallel" in plan.emit().source) == shared


def test_a_wait_policy_that_openmp_has_not_is_refused():
    """By name, with those that it has."""
    scop = po.parse_c("void f(float a[9]) { for (int i = 0; i < 9; i++) a[i] += 1; }")
    for search in (po.auto, po.candidates):
        with pytest.raises(InvalidOptionError, match="no wait policy 'spin'") as caught:
            search(scop, wait_policy="spin")
        assert "passive, active" in str(caught.value)


@pytest.mark.parametrize(
    ("step", "value", "shared"),
    [("i++", "a[i]", True), ("i++", "a[i] * 2", True), ("i += 2", "a[i] * 2", False)],
    ids=["copies", "values", "every second"],
)
def test_what_no_call_can_decide_is_not_shared(step, value, shared):
    """Of a loop in steps the C has no count of its work: threads would start in every call."""
    text = f"""
    void f(long n, const float a[restrict n], float b[restrict n])
    {{
        for (long i = 0; i < n; {step}) b[i] = {value};
    }}
    """
    plan = po.auto(po.parse_c(text), target=MACHINE)
    assert ("parallel" in str(plan)) == shared
    assert ("too little work to share" in plan.emit().source) == shared


SHORT = {
    "of few iterations": """
    void few(long n, const double a[restrict n], double c[restrict n],
             const double b[restrict 40], double d[restrict 40])
    {
        for (long i = 0; i < n; i++) c[i] = a[i] + 1;
        for (long i = 0; i < 40; i++) d[i] = b[i] * 2;
    }
    """,
    "beside a square": """
    void line(long n, const double a[restrict n][n], double c[restrict n][n],
              const double b[restrict n], double d[restrict n])
    {
        for (long i = 0; i < n; i++) for (long j = 0; j < n; j++) c[i][j] = a[i][j] + 1;
        for (long i = 0; i < n; i++) d[i] = b[i] * 2;
    }
    """,
}


@pytest.mark.parametrize("text", SHORT.values(), ids=SHORT)
def test_a_loop_that_stays_short_in_calls_with_much_work_is_not_shared(text):
    found = marks(po.auto(po.parse_c(text), target=MACHINE))
    assert ["parallel" in place for place in found.values()] == [True, False]


def test_a_loop_whose_vectors_need_one_another_is_not_shared():
    plan = po.auto(po.parse_c(CARRIED), sizes={"n": 20_000_000}, target=MACHINE)
    assert "parallel" not in str(plan)
    plan.prove()
