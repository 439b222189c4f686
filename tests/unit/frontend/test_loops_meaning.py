"""A loop function read as a program computes what the same function computes in plain Python."""

# ruff: noqa: F821, UP037  (extents are texts in subscripts of annotations)

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest

from polyopt.analysis.interpreter.interpret import interpret
from polyopt.frontend.loops import f32, f64, i16, i32, i64, scop, u8, u16
from polyopt.ir.verify import verify

if TYPE_CHECKING:
    from collections.abc import Callable

OFFSET = 3
GAIN = 0.5
THIRD = np.float32(1) / np.float32(3)
WEIGHTS = (1, 2, 1)
TABLE = np.array([[1, 2], [3, 4]], np.int32)


def check(function: Callable[..., object], sizes: dict[str, int], **arguments: object) -> None:
    """Interpreted and plain results are equal, bit for bit, in value and in type."""
    program = scop(function)
    verify(program)
    before = {k: v.copy() if isinstance(v, np.ndarray) else v for k, v in arguments.items()}
    with np.errstate(all="ignore"):
        returned = function(**arguments)
    arrays = {k: v for k, v in before.items() if k not in program.params}
    found = interpret(program, sizes, arrays)
    outs = [a.name for a in program.arrays if a.is_live_out]
    plain = {n: v for n, v in arguments.items() if n in outs}
    results = returned if isinstance(returned, tuple) else (returned,)
    plain |= dict(zip([n for n in outs if n not in plain], results, strict=False))
    assert sorted(plain) == sorted(outs)
    assert outs
    for name, value in plain.items():
        expected = np.asarray(value)
        assert found[name].dtype == expected.dtype
        np.testing.assert_array_equal(found[name], expected)


def numbers(*shape: int, dtype: object = np.float32, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    kind = np.dtype(dtype)
    if kind.kind == "f":
        return rng.normal(size=shape).astype(kind)
    low, high = (0, 200) if kind.kind == "u" else (-100, 100)
    return rng.integers(low, high, shape).astype(kind)


def test_blur() -> None:
    def blur(img: u16["H", "W"], out: u16["H - 2", "W - 2"]):
        H, W = img.shape
        bx = np.empty((H, W - 2), dtype=np.uint16)
        for y in range(H):
            for x in range(W - 2):
                bx[y, x] = (img[y, x] + img[y, x + 1] + img[y, x + 2]) // 3
        for y in range(H - 2):
            for x in range(W - 2):
                out[y, x] = (bx[y, x] + bx[y + 1, x] + bx[y + 2, x]) // 3

    check(
        blur, {"H": 5, "W": 7}, img=numbers(5, 7, dtype=np.uint16), out=np.empty((3, 5), np.uint16)
    )


def test_gemm_with_a_returned_local() -> None:
    def gemm(A: f32["N", "K"], B: f32["K", "M"]):
        N, K = A.shape
        M = B.shape[1]
        C = np.zeros((N, M), np.float32)
        for i in range(N):
            for j in range(M):
                for k in range(K):
                    C[i, j] += A[i, k] * B[k, j]
        return C

    check(gemm, {"N": 3, "K": 4, "M": 5}, A=numbers(3, 4), B=numbers(4, 5, seed=1))


def test_returned_arrays_become_arguments() -> None:
    def both(a: f32["N"]):
        N = len(a)
        twice = np.empty(N, np.float32)
        thrice = np.empty_like(a)
        for i in range(N):
            twice[i] = a[i] * 2
            thrice[i] = a[i] * 3
        return thrice, twice

    program = scop(both)
    assert program.signature == ("N", "a", "thrice", "twice")
    assert [(a.name, a.role) for a in program.arrays] == [
        ("a", "in"),
        ("thrice", "out"),
        ("twice", "out"),
    ]
    check(both, {"N": 4}, a=numbers(4))


def test_loops_of_every_kind() -> None:  # noqa: C901
    def walk(n: int, out: i64["n + 20"]):
        for i in range(n + 20):
            out[i] = 0
        for i in range(2, n, 3):
            out[i] += i
        for i in range(n - 1, -1, -2):
            out[i] = out[i + 1] * 2 + i
        for i in reversed(range(1, n)):
            out[i] = out[i - 1] + out[i]
        for i in range(0, n, 4):
            for j in range(i, min(i + 4, n)):
                out[j] += i * 10 + (j - i)
        for _ in range(3):
            for _ in range(2):
                out[0] += 1

    for n in (1, 2, 5, 12):
        check(walk, {"n": n}, n=n, out=np.empty(n + 20, np.int64))


def test_affine_conditions() -> None:
    def sieve(n: int, out: i32["n", "n"]):
        for i in range(n):
            for j in range(n):
                if i < j <= i + 2 and not (i % 2 == 1):  # noqa: SIM201
                    out[i, j] = 1
                elif i == j or (i + j) // 3 == 2:
                    out[i, j] = 2
                elif i != 0 and j > 0:
                    out[i, j] = 3
                else:
                    out[i, j] = -1

    check(sieve, {"n": 7}, n=7, out=np.empty((7, 7), np.int32))


def test_conditional_expressions_on_iterators_give_affine_subscripts() -> None:
    def shift(a: f32["N"], out: f32["N"]):
        N = len(a)
        for i in range(N):
            left = i - 1 if i > 0 else 0
            out[i] = a[left] + a[min(i + 1, N - 1)] + a[max(i - 2, 0)] + a[abs(i - 1)] + a[-1]

    program = scop(shift)
    assert all(access.exact for access in program.statements[0].reads)
    check(shift, {"N": 6}, a=numbers(6), out=np.empty(6, np.float32))


def test_a_read_behind_an_affine_test_happens_only_there() -> None:
    def edge(a: f32["N"], out: f32["N"]):
        for i in range(len(a)):
            out[i] = a[i - 1] if i >= 1 else 7
            if i >= 2 and a[i - 2] > 0:
                out[i] = 1

    check(edge, {"N": 6}, a=numbers(6), out=np.empty(6, np.float32))


def test_data_dependent_choices() -> None:
    def threshold(a: f32["N"], b: f32["N"], out: f32["N"]):
        for i in range(len(a)):
            out[i] = a[i] if a[i] > b[i] else -b[i]
            if a[i] > 0 and not b[i] > 0:
                out[i] = 0
            if a[i] > 1:
                b[i] = a[i]
            elif a[i] < -1:
                b[i] = -a[i]

    check(threshold, {"N": 30}, a=numbers(30), b=numbers(30, seed=2), out=np.empty(30, np.float32))


def test_both_branches_of_a_data_test_make_one_write() -> None:
    def choose(a: f32["N"], out: f32["N"]):
        for i in range(len(a)):
            if a[i] > 1:
                out[i] = 1
            elif a[i] < -1:
                out[i] = -1
            else:
                out[i] = a[i]

    program = scop(choose)
    assert [s.name for s in program.statements] == ["out"]
    assert program.array("out").role == "out"
    check(choose, {"N": 20}, a=numbers(20), out=np.empty(20, np.float32))


def test_a_test_that_its_branch_changes_is_taken_once() -> None:
    def flip(a: f32["N"], b: f32["N"]):
        for i in range(len(a)):
            if a[i] > 0:
                a[i] = -1
                b[i] = 5
            else:
                b[i] = a[i]
                a[i] = 3

    check(flip, {"N": 9}, a=numbers(9), b=numbers(9, seed=3))


def test_loops_inside_a_data_test() -> None:
    def rows(a: f32["N", "M"], flag: i32["N"]):
        N, M = a.shape
        for i in range(N):
            if flag[i] > 0:
                for j in range(M):
                    a[i, j] *= 2
                if flag[i] > 50:
                    for j in range(M):
                        a[i, j] += 1

    check(rows, {"N": 6, "M": 3}, a=numbers(6, 3), flag=numbers(6, dtype=np.int32))


def test_local_scalars_take_numpys_type() -> None:
    def dot(a: f32["N", "M"], out: f32["N"]):
        N, M = a.shape
        for i in range(N):
            total = 0.0
            biggest = a[i, 0]
            for j in range(M):
                total += a[i, j]
                biggest = max(biggest, a[i, j])
            out[i] = total * biggest

    program = scop(dot)
    assert program.array("total").type.name == "f32"
    assert program.array("total").private == 1
    check(dot, {"N": 4, "M": 5}, a=numbers(4, 5), out=np.empty(4, np.float32))


def test_a_counter_stays_a_python_number() -> None:
    def count(a: u8["N"], out: u8["2"]):
        positive = 0
        for i in range(len(a)):
            if a[i] > 100:
                positive += 1
        out[0] = positive
        out[1] = positive * 2 + a[0]

    program = scop(count)
    assert program.array("positive").type.name == "i64"
    check(count, {"N": 30}, a=numbers(30, dtype=np.uint8), out=np.empty(2, np.uint8))


def test_locals_of_two_loops_are_two_variables() -> None:
    def twice(a: f32["N"], out: f32["N"]):
        N = len(a)
        for i in range(N):
            t = a[i] + 1
            out[i] = t * t
        for i in range(2, N):
            t = out[i] - 1
            out[i] = t * a[i]

    program = scop(twice)
    assert [a.name for a in program.arrays if a.role == "temp"] == ["t", "t_2"]
    check(twice, {"N": 6}, a=numbers(6), out=np.empty(6, np.float32))


def test_local_arrays_inside_loops_are_one_per_iteration() -> None:
    def rows(a: f32["N", "M"], out: f32["N", "M"]):
        N, M = a.shape
        for i in range(1, N):
            row = np.zeros(M, dtype=a.dtype)
            for j in range(M):
                row[j] += a[i, j] - a[i - 1, j]
            for j in range(M):
                out[i, j] = row[M - 1 - j]
        for j in range(M):
            out[0, j] = np.full(1, 0)[0] if False else 0

    program = scop(rows)
    assert program.array("row").private == 1
    assert program.array("row").rank == 2
    check(rows, {"N": 4, "M": 3}, a=numbers(4, 3), out=np.empty((4, 3), np.float32))


def test_fills() -> None:
    def fills(n: int):
        a = np.zeros((n, 2), np.int16)
        b = np.ones(n)
        c = np.full((n,), 2.5, dtype="float32")
        d = np.full_like(c, 4)
        for i in range(n):
            a[i, 1] += i
        return a, b, c, d

    check(fills, {"n": 4}, n=4)


def test_types_follow_numpy() -> None:
    def mix(p: u8["N"], q: i16["N"], r: f32["N"], out: f64["N", "16"]):
        for i in range(len(p)):
            out[i, 0] = p[i] + p[i]
            out[i, 1] = p[i] * q[i]
            out[i, 2] = p[i] / 2
            out[i, 3] = r[i] / 3
            out[i, 4] = p[i] * 0.1
            out[i, 5] = r[i] * 0.1
            out[i, 6] = p[i] + r[i]
            out[i, 7] = q[i] // 7 + q[i] % 7
            out[i, 8] = np.int32(p[i]) * 1000 - q[i]
            out[i, 9] = r[i] + i
            out[i, 10] = np.float32(i) / np.float32(3)
            out[i, 11] = i / 4 + i**2
            out[i, 12] = p[i] ** 2
            out[i, 13] = -q[i] + ~p[i]
            out[i, 14] = (p[i] & 15) | (q[i] << 1) ^ 3
            out[i, 15] = int(r[i] * 10) + float(q[i]) + (p[i] > 100)

    check(
        mix,
        {"N": 40},
        p=numbers(40, dtype=np.uint8),
        q=numbers(40, dtype=np.int16),
        r=numbers(40),
        out=np.empty((40, 16)),
    )


def test_functions() -> None:
    def functions(a: f32["N"], b: f32["N"], out: f64["N", "20"]):
        for i in range(len(a)):
            out[i, 0] = np.sqrt(abs(a[i]))
            out[i, 1] = math.sqrt(abs(b[i]))
            out[i, 2] = np.minimum(a[i], b[i])
            out[i, 3] = np.maximum(a[i], 0)
            out[i, 4] = np.clip(a[i], -0.5, 0.5)
            out[i, 5] = np.where(a[i] < b[i], a[i], b[i])
            out[i, 6] = np.floor(a[i])
            out[i, 7] = math.floor(b[i]) // 2
            out[i, 8] = np.abs(a[i])
            out[i, 9] = max(a[i], b[i], 0.25)
            out[i, 10] = np.sign(b[i])
            out[i, 11] = np.square(a[i])
            out[i, 12] = a[i].astype(np.int32)
            out[i, 13] = f32(i) * THIRD
            out[i, 14] = np.logical_and(a[i] > 0, b[i] > 0)
            out[i, 15] = np.trunc(a[i] * 3) + np.rint(b[i] * 2)
            out[i, 16] = math.fabs(a[i]) + math.ceil(a[i])
            out[i, 17] = np.add(a[i], np.multiply(b[i], 2))
            out[i, 18] = np.pi * a[i]
            out[i, 19] = 1 if np.not_equal(a[i], b[i]) and a[i] <= b[i] <= 1 else 2

    check(
        functions,
        {"N": 12},
        a=numbers(12),
        b=numbers(12, seed=5),
        out=np.empty((12, 20)),
    )


def test_functions_that_are_right_beside_zero() -> None:
    def small(a: f32["N"], out: f64["N", "4"]):
        for i in range(len(a)):
            out[i, 0] = np.log1p(a[i])
            out[i, 1] = np.expm1(a[i])
            out[i, 2] = math.log1p(a[i])
            out[i, 3] = math.expm1(a[i])

    near = [0.0, 1e-30, -1e-12, 1e-7, -3e-4, 0.25, -0.75]
    a = np.array([*near, 3.0, 80.0], np.float32)
    found = interpret(scop(small), {"N": len(a)}, {"a": a})["out"]
    wide = a.astype(np.float64)
    for k, function in enumerate((np.log1p, np.expm1)):
        np.testing.assert_allclose(found[:, k], function(wide), rtol=3e-7)
        assert (found[:, k] == found[:, k].astype(np.float32)).all()
        np.testing.assert_allclose(found[:, k + 2], function(wide), rtol=1e-15)


def test_constants_of_the_module_and_of_the_closure() -> None:
    inner = 2

    def weigh(a: f32["N"], out: f64["N"]):
        for i in range(1, len(a) - 1):
            out[i] = a[i - 1] * WEIGHTS[0] + a[i] * WEIGHTS[-2] + a[i + 1] * WEIGHTS[2]
            out[i] += OFFSET * GAIN * inner + TABLE[1, 0]
        for i in range(0, len(a), len(a) - 1 if inner == 3 else 1):
            if OFFSET > 2:
                out[i] -= 1
            else:
                out[i] = 0

    check(weigh, {"N": 6}, a=numbers(6), out=np.ones(6))


def clip255(value, low=None):
    """A helper of one expression."""
    return min(max(value, 0), 255)


def test_helpers_of_one_return_are_read_through() -> None:
    def tone(a: i32["N"], out: u8["N"]):
        for i in range(len(a)):
            out[i] = square(a[i]) % 256

    def square(v):
        return lift(v) * lift(v)

    def lift(v):
        return v + OFFSET

    check(tone, {"N": 9}, a=numbers(9, dtype=np.int32), out=np.empty(9, np.uint8))


def test_a_table_indexed_by_data() -> None:
    def tone(a: u8["N"], lut: f32["256"], out: f32["N"]):
        for i in range(len(a)):
            out[i] = lut[a[i]] + lut[min(max(int(a[i]) - 5, 0), 255)]

    program = scop(tone)
    assert [r.exact for r in program.statements[0].reads if r.array == "lut"] == [False, False]
    check(
        tone,
        {"N": 9},
        a=numbers(9, dtype=np.uint8),
        lut=numbers(256),
        out=np.empty(9, np.float32),
    )


def test_scalar_arguments() -> None:
    def axpy(n: int, alpha: f32, beta: float, x: f32["n"], y: f32["n"]):
        for i in range(n):
            y[i] = alpha * x[i] + beta * y[i]

    program = scop(axpy)
    assert program.params == ("n",)
    assert program.signature == ("n", "alpha", "beta", "x", "y")
    assert [(a.name, a.role) for a in program.arrays] == [
        ("alpha", "in"),
        ("beta", "in"),
        ("x", "in"),
        ("y", "inout"),
    ]
    check(
        axpy,
        {"n": 4},
        n=4,
        alpha=np.float32(0.3),
        beta=0.7,
        x=numbers(4),
        y=numbers(4, seed=1),
    )


def test_rows_and_subscripts_in_steps() -> None:
    def rows(a: f32["N", "M"], out: f32["N", "M"]):
        N, M = a.shape
        for i in range(N):
            row = a[i]
            for j in range(M):
                out[i][j] = row[j] + a[i][M - 1 - j] + len(row) + a[0].shape[0] + a.ndim

    check(rows, {"N": 3, "M": 4}, a=numbers(3, 4), out=np.empty((3, 4), np.float32))


def test_a_scalar_result() -> None:
    def total(a: f64["N"]):
        result = 0.0
        for i in range(len(a)):
            result += a[i]
        return result

    program = scop(total)
    assert program.array("result").rank == 0
    assert program.array("result").role == "out"
    check(total, {"N": 5}, a=numbers(5, dtype=np.float64))


def test_in_place_stencil() -> None:
    def seidel(n: int, steps: int, a: f64["n", "n"]):
        for _ in range(steps):
            for i in range(1, n - 1):
                for j in range(1, n - 1):
                    a[i, j] = (a[i - 1, j] + a[i, j - 1] + a[i, j] + a[i + 1, j]) * 0.25

    check(seidel, {"n": 6, "steps": 3}, n=6, steps=3, a=numbers(6, 6, dtype=np.float64))


@pytest.mark.parametrize("n", [1, 2, 7])
def test_triangles(n: int) -> None:
    def triangle(n: int, a: f32["n", "n"]):
        for i in range(n):
            for j in range(i, -1, -1):
                for k in range(j, i + 1):
                    a[i, j] += a[k, j] * 0.5
            low = i // 2
            a[i, low] = i * low

    check(triangle, {"n": n}, n=n, a=numbers(n, n))


def test_a_value_carried_from_one_iteration_to_the_next() -> None:
    def carry(a: f32["N"], out: f32["N"]):
        last = a[0]
        for i in range(len(a)):
            if a[i] > 0:
                last = a[i]
            out[i] = last

    check(carry, {"N": 12}, a=numbers(12), out=np.empty(12, np.float32))


def test_locals_of_one_branch() -> None:
    def branches(a: f32["N"], b: f32["N"]):
        for i in range(len(a)):
            if a[i] > 0:
                t = a[i] * 2
                a[i] = t * t
                b[i] = t
            else:
                t = b[i] - 1
                b[i] = t + a[i]

    check(branches, {"N": 12}, a=numbers(12), b=numbers(12, seed=1))


def test_arrays_called_like_ours() -> None:
    def names(cond: f32["N"], b: f32["N"]):
        for i in range(len(cond)):
            if cond[i] > 0:
                cond[i] = 0
                if b[i] > 0:
                    b[i] = cond[i] - 1
                    cond[i] = 4

    check(names, {"N": 12}, cond=numbers(12), b=numbers(12, seed=1))
