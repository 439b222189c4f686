"""The same program as C, as loop function and as stages is the same Scop."""

# ruff: noqa: F821, UP037  (extents are texts in subscripts of annotations)

from __future__ import annotations

import functools
import math
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from polyopt.errors import InvalidOptionError
from polyopt.frontend import stages as po
from polyopt.frontend.c import parse_c
from polyopt.frontend.loops import f32, scop, u16
from polyopt.ir.same import same_scop
from polyopt.ir.scop import Scop

if TYPE_CHECKING:
    from collections.abc import Callable

KERNELS = Path(__file__).parents[3] / "kernels"
THIRD = np.float32(1) / np.float32(3)


def in_c(name: str) -> Scop:
    return parse_c(KERNELS / f"{name}.c")


def blur(img: u16["H", "W"], out: u16["H - 2", "W - 2"]):
    H, W = img.shape
    bx = np.empty((H, W - 2), dtype=np.uint16)
    for y in range(H):
        for x in range(W - 2):
            bx[y, x] = (img[y, x] + img[y, x + 1] + img[y, x + 2]) // 3
    for y in range(H - 2):
        for x in range(W - 2):
            out[y, x] = (bx[y, x] + bx[y + 1, x] + bx[y + 2, x]) // 3


def blur_returning(img: u16["H", "W"]):
    H, W = img.shape
    bx = np.empty((H, W - 2), img.dtype)
    for y in range(H):
        for x in range(W - 2):
            bx[y][x] = np.uint16(img[y][x] + img[y][x + 1] + img[y][x + 2]) // 3
    out = np.empty((H - 2, W - 2), img.dtype)
    for y in range(H - 2):
        for x in range(W - 2):
            out[y][x] = np.uint16(bx[y][x] + bx[y + 1][x] + bx[y + 2][x]) // 3
    return out


def blur_stages() -> Scop:
    img = po.input("img", "u16", ["H", "W"])
    bx = po.stage(
        "bx", ["H", "W - 2"], lambda y, x: (img[y, x] + img[y, x + 1] + img[y, x + 2]) // 3
    )
    out = po.stage(
        "out", ["H - 2", "W - 2"], lambda y, x: (bx[y, x] + bx[y + 1, x] + bx[y + 2, x]) // 3
    )
    return po.pipeline(out, name="blur")


def blur_f32(img: f32["H", "W"], out: f32["H - 2", "W - 2"]):
    H, W = img.shape
    bx = np.empty((H, W - 2), dtype=np.float32)
    for y in range(H):
        for x in range(W - 2):
            bx[y, x] = (img[y, x] + img[y, x + 1] + img[y, x + 2]) * THIRD
    for y in range(H - 2):
        for x in range(W - 2):
            out[y, x] = (bx[y, x] + bx[y + 1, x] + bx[y + 2, x]) * THIRD


def blur_f32_stages() -> Scop:
    h, w = po.size("H"), po.size("W")
    img = po.input("img", np.float32, (h, w))
    bx = po.stage("bx", (h, w - 2), lambda y, x: sum(img[y, x + k] for k in range(1, 3)))
    bx = po.stage(
        "bx", (h, w - 2), lambda y, x: (img[y, x] + img[y, x + 1] + img[y, x + 2]) * THIRD
    )
    out = po.stage(
        "out", (h - 2, w - 2), lambda y, x: (bx[y, x] + bx[y + 1, x] + bx[y + 2, x]) * THIRD
    )
    return po.pipeline([out])


def gemm(
    M: int,
    N: int,
    K: int,
    alpha: f32,
    beta: f32,
    A: f32["M", "K"],
    B: f32["K", "N"],
    C: f32["M", "N"],
):
    for i in range(M):
        for j in range(N):
            C[i, j] *= beta
        for k in range(K):
            for j in range(N):
                C[i, j] += alpha * A[i, k] * B[k, j]


def jacobi_2d(T: int, N: int, A: f32["N", "N"], B: f32["N", "N"]):
    fifth = np.float32(0.2)
    for _ in range(T):
        for i in range(1, N - 1):
            for j in range(1, N - 1):
                B[i, j] = fifth * (A[i, j] + A[i, j - 1] + A[i, j + 1] + A[i + 1, j] + A[i - 1, j])
        for i in range(1, N - 1):
            for j in range(1, N - 1):
                A[i, j] = fifth * (B[i, j] + B[i, j - 1] + B[i, j + 1] + B[i + 1, j] + B[i - 1, j])


def conv2d(H: int, W: int, scale: f32, A: f32["H", "W"], B: f32[3, 3], C: f32["H - 2", "W - 2"]):
    Q = np.empty((H, W), np.float32)
    for h in range(H):
        for w in range(W):
            Q[h, w] = np.floor(A[h, w] * scale + 0.5)
    for h in range(H - 2):
        for w in range(W - 2):
            C[h, w] = 0
            for kh in range(3):
                for kw in range(3):
                    C[h, w] += Q[h + kh, w + kw] * B[kh, kw]
    for h in range(H - 2):
        for w in range(W - 2):
            C[h, w] = max(C[h, w], 0)


@pytest.mark.parametrize("function", [blur, blur_f32, gemm, jacobi_2d, conv2d])
def test_loop_functions_equal_the_c_kernels(function: Callable[..., object]) -> None:
    assert same_scop(scop(function), in_c(function.__name__))


def test_the_stages_equal_the_c_kernels() -> None:
    assert same_scop(blur_stages(), in_c("blur"))
    assert same_scop(blur_f32_stages(), in_c("blur_f32"))


def test_the_signature_is_that_of_c() -> None:
    assert blur_stages().signature == scop(blur).signature == in_c("blur").signature
    assert blur_stages().name == scop(blur).name == in_c("blur").name


def test_a_returned_array_is_an_argument() -> None:
    assert same_scop(scop(blur_returning), scop(blur))


def test_other_programs_are_not_the_same() -> None:
    assert not same_scop(scop(blur), scop(blur_f32))
    assert not same_scop(scop(gemm), scop(conv2d))


def test_a_reduction_stage_is_the_loop_nest_that_one_writes() -> None:
    def conv(Q: f32["H", "W"], B: f32[3, 3], C: f32["H - 2", "W - 2"]):
        H, W = Q.shape
        for h in range(H - 2):
            for w in range(W - 2):
                C[h, w] = 0
                for kh in range(3):
                    for kw in range(3):
                        C[h, w] += Q[h + kh, w + kw] * B[kh, kw]

    q = po.input("Q", "f32", ["H", "W"])
    b = po.input("B", "f32", [3, 3])
    c = po.stage(
        "C",
        ["H - 2", "W - 2"],
        lambda h, w: po.sum(lambda kh, kw: q[h + kh, w + kw] * b[kh, kw], kh=3, kw=3),
    )
    assert same_scop(po.pipeline(c), scop(conv))


def test_borders_are_the_conditions_that_one_writes() -> None:
    def edges(a: f32["N"], clamped: f32["N"], padded: f32["N"]):
        N = len(a)
        for x in range(N):
            clamped[x] = a[max(x - 1, 0)]
        for x in range(N):
            padded[x] = a[x + 2] if x + 2 < N else 7

    a = po.input("a", "f32", "N")
    clamped, padded = po.clamped(a), po.padded(a, 7)
    stages = [
        po.stage("clamped", "N", lambda x: clamped[x - 1]),
        po.stage("padded", "N", lambda x: padded[x + 2]),
    ]
    assert same_scop(po.pipeline(stages), scop(edges))


def test_the_function_itself_is_the_reference() -> None:
    program = scop(blur)
    assert program.reference is blur
    img, out = np.arange(20, dtype=np.uint16).reshape(4, 5), np.empty((2, 3), np.uint16)
    program.reference(img, out)
    assert out[0, 0] == math.floor(sum(range(3)) / 3) + 5


def test_type_names_that_only_a_type_checker_imports() -> None:
    @scop
    def twice(a: "polyopt.f32['N']"):
        for i in range(len(a)):
            a[i] *= 2

    assert isinstance(twice, Scop)
    assert twice.array("a").role == "inout"


def test_what_is_no_function_is_named_in_a_few_words():
    """A partial application tells of all that it holds, which may be pages."""
    held = functools.partial(max, list(range(10_000)))
    with pytest.raises(InvalidOptionError, match="a stage needs a Python function") as caught:
        po.stage("s", [4], held)
    assert len(str(caught.value)) < 1_000
