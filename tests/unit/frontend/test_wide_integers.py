"""Integers at the ends of 64 bits and beyond: moduli, divisors, factors, bounds, steps, extents."""

# ruff: noqa: F821, UP037  (extents are texts in subscripts of annotations)

from __future__ import annotations

import ctypes
import re
import subprocess

import numpy as np
import pytest

import polyopt as po
from polyopt.analysis.interpreter.interpret import interpret
from polyopt.errors import PolyoptError, TypeMismatchError, UnsupportedError
from polyopt.frontend.c import parse_c
from polyopt.frontend.loops import i64, scop, u8
from polyopt.rewrite import rewrite

ENDS = (2**63 - 1, 2**63, 2**64 - 6, -(2**63))
BEYOND = (2**64, 2**70, -(2**63) - 1)

#: of a loop over i below n, with K in the place of the number
BODIES = (
    "A[(i + i) % K] += 3;",
    "A[i / K] += i;",
    "A[(i + 1) & K & 63] += 5;",
    "A[i] = (A[i] + i) % K;",
    "A[i] = A[i] * K + i / K;",
    "A[i] -= K;",
    "if (i > K) A[i] = 1;",
    "if (K / 2 + i < n) A[i] = 1;",
    "if (i / 16 * K < n) A[i] = 1;",
    "A[i] += i < K ? 7 : 9;",
    "for (unsigned long j = K; j <= K; j += 3) { A[i] += j; if (j > K - 3) break; }",
    "for (unsigned long j = i; j < 40; j += K / 4 + 1) A[j] += 1;",
    "for (long j = 9; j > i && j < 10; j -= K / 4 + 1) A[j] += 1;",
)


def written(number: int) -> str:
    """The number as C has it."""
    if number == -(2**63):
        return "(-9223372036854775807 - 1)"
    return f"({number}u)" if number >= 2**63 else f"({number})"


def loaded(text: str, path) -> ctypes.CDLL:
    path.write_text(text)
    command = ["gcc", "-w", "-O0", "-fwrapv", "-shared", "-fPIC", str(path), "-o", f"{path}.so"]
    subprocess.run(command, check=True)
    return ctypes.CDLL(f"{path}.so")


def test_c_with_numbers_of_any_length_gives_what_the_source_gives(tmp_path):
    bodies = [b.replace("K", written(number)) for b in BODIES for number in ENDS]
    text = "".join(
        f"void f{k}(long n, long A[restrict 128]) {{\n#pragma scop\n"
        f"for (long i = 0; i < n; i++) {{ {body} }}\n#pragma endscop\n}}\n"
        for k, body in enumerate(bodies)
    )
    done = rewrite(text)
    taken = [k for k, region in enumerate(done.regions) if region.error is None]
    refused = {bodies[k]: str(r.error) for k, r in enumerate(done.regions) if k not in taken}
    # a test that never holds is one around nothing that runs
    bodies_left = {b for b, error in refused.items() if "no statement that runs" not in error}
    # bounds and steps of an unsigned iterator that are negative as literals
    assert len(bodies_left) <= 2, refused
    libraries = loaded(text, tmp_path / "source.c"), loaded(done.text, tmp_path / "made.c")
    for k in taken:
        results = []
        for library in libraries:
            values = (ctypes.c_long * 128)(*range(-64, 64))
            getattr(library, f"f{k}")(ctypes.c_long(21), values)
            results.append(list(values))
        assert results[0] == results[1], bodies[k]


@pytest.mark.parametrize("number", BEYOND)
def test_c_names_the_literal_that_no_type_holds(number):
    with pytest.raises(UnsupportedError, match=f"the literal {abs(number)} is not taken"):
        parse_c(f"void f(int n, long A[n]) {{ for (int i = 0; i < n; i++) A[i % {number}] = 1; }}")


@pytest.mark.parametrize(
    ("type_", "step"),
    [("int", "+= 4294967293u"), ("long", "+= 9223372036854775808u"), ("int", "-= 2147483648u"),
     ("unsigned long", "+= 18446744073709551615u"), ("unsigned char", "+= 255")],
)  # fmt: skip
def test_a_step_that_goes_the_other_way_to_a_computer_is_refused(type_, step):
    text = f"void f(int A[restrict 9]) {{\n for ({type_} i = 5; i < 7; i {step}) A[i & 7] = 1; }}"
    with pytest.raises(UnsupportedError, match="more than an iterator of type") as caught:
        parse_c(text)
    assert caught.value.diagnostic.span.line == 2


K = 0


def moduli(A: u8["n"], B: i64["n"]):
    (n,) = A.shape
    for i in range(n):
        A[i % K] = i
        B[i] = B[i // K] + 1


def compared(A: u8["n"], B: i64["n"]):
    (n,) = A.shape
    for i in range(n):
        if i + K > 3 * n:
            A[i] = 1
        if i * K < 7 * n:
            B[i] = 2


def bounded(A: u8["n"], B: i64["n"]):
    (n,) = A.shape
    for i in range(n):
        for _j in range(K, n):
            A[i] = 1
        for j in range(i, n, K):
            B[j] = 4


@pytest.mark.parametrize("number", [n for n in (*ENDS, *BEYOND) if n > 0])
@pytest.mark.parametrize("function", [moduli, compared, bounded])
def test_python_loops_with_numbers_of_any_length_are_what_python_gives(
    function, number, monkeypatch
):
    monkeypatch.setitem(function.__globals__, "K", number)
    program = scop(function)
    arrays = {"A": np.arange(9, dtype=np.uint8), "B": np.arange(9, dtype=np.int64)}
    found = interpret(program, {"n": 9}, {k: v.copy() for k, v in arrays.items()})
    function(**arrays)
    for name, values in arrays.items():
        np.testing.assert_array_equal(found[name], values)
    emitted_or_refused(po.auto(program))


def emitted_or_refused(plan: po.Plan) -> None:
    """The C has no number that 64 bits do not hold; a plan that needs one says so."""
    try:
        text = plan.emit().source
    except UnsupportedError as error:
        assert "64 bits do not hold" in str(error)  # noqa: PT017  (both are fine)
        return
    body = text.partition("#include")[2]
    assert all(int(found) < 2**63 for found in re.findall(r"(?<![\w.])\d+(?![\w.])", body))


@pytest.mark.parametrize("number", [*ENDS, *BEYOND])
def test_stages_take_numbers_of_any_length_in_subscripts_and_extents(number):
    a = po.input("a", "i64", ["n"])
    outs = [
        po.stage("moved", ["n"], lambda i: a[po.clamp(i + number, 0, 0)]),
        po.stage("chosen", ["n"], lambda i: po.select(i * number < 7, a[i], 1)),
        po.stage("long", ["n", f"n + {number}"], lambda i, j: a[i] + j),
    ]
    if number > 0:
        outs.append(po.stage("folded", ["n"], lambda i: a[i % number] + a[i // number]))
    for out in outs:
        emitted_or_refused(po.auto(po.pipeline(out)))


@pytest.mark.parametrize("number", [n for n in (*ENDS, *BEYOND) if not -(2**63) <= n < 2**63])
def test_values_of_stages_have_a_type(number):
    a = po.input("a", "i64", ["n"])
    with pytest.raises(TypeMismatchError):
        po.pipeline(po.stage("out", ["n"], lambda i: a[i] * number))


@pytest.mark.parametrize("number", [*ENDS, *BEYOND])
def test_moves_name_the_number_that_is_too_large(number):
    plan = po.Plan(
        parse_c(
            "void f(int n, float A[n][n]) { for (int i = 1; i < n; i++) for (int j = 1; j < n; j++)"
            " A[i][j] = A[i - 1][j] + A[i][j - 1]; }"
        )
    )
    for move in (
        lambda: plan.tile("A", i=number, j=number),
        lambda: plan.split("A.i", number),
        lambda: plan.skew("A.j", "A.i", number),
        lambda: plan.shift("A", i=number),
        lambda: plan.unroll("A.j", number),
        lambda: plan.diamond("A.i", "A.j", number),
    ):
        with pytest.raises(PolyoptError, match=r"is too large|positive whole number"):
            move()
