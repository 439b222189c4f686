"""Every message of the runtime, by what brings it about."""

from __future__ import annotations

import os

import numpy as np
import pytest

from polyopt.errors import (
    AliasError,
    ArgumentError,
    CacheError,
    CompilerFailedError,
    CompilerMissingError,
    InvalidOptionError,
)
from polyopt.runtime.cache import KernelCache
from polyopt.runtime.kernel import Kernel, compile_kernel
from polyopt.runtime.toolchain import find_toolchain
from tests.unit.runtime.programs import (
    AXPY,
    AXPY_BODY,
    BLUR,
    FILL,
    FILL_BODY,
    blur,
    program,
    scop,
)

IMAGE = np.zeros((4, 8), np.uint16)


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("POLYOPT_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def kernel() -> Kernel:
    return compile_kernel(blur(), BLUR.context)


@pytest.fixture
def axpy() -> Kernel:
    return compile_kernel(program(AXPY, AXPY_BODY), AXPY.context)


def read_only(array: np.ndarray) -> np.ndarray:
    array.flags.writeable = False
    return array


def misaligned(shape: tuple[int, ...]) -> np.ndarray:
    raw = np.zeros(2 * int(np.prod(shape)) + 1, np.uint8)
    return np.frombuffer(raw[1:].data, np.uint16).reshape(shape)


@pytest.mark.parametrize(
    ("message", "args", "named"),
    [
        ("in is a list, not a NumPy array", ([[1]],), {}),
        ("array of float32, but uint16 is needed", (IMAGE.astype(np.float32),), {}),
        ("in the other byte order", (IMAGE.astype(">u2"),), {}),
        ("in has 1 dimension, but 2 are needed", (IMAGE[0],), {}),
        ("in.shape[0] is 0: sizes have to be positive", (IMAGE[:0],), {}),
        ("the program needs W >= 3", (np.zeros((4, 2), np.uint16),), {}),
        ("blur3 needs in", (), {}),
        ("blur3 takes 1 positional argument, not 2", (IMAGE, IMAGE), {}),
        ("has no argument 'image'", (IMAGE,), {"image": IMAGE}),
        ("has no argument 'image'", (), {"image": IMAGE}),
        ("in is given twice", (IMAGE,), {"in": IMAGE}),
        ("in has shape (4, 8), but (5, 8) is needed", (IMAGE,), {"H": 5}),
        ("H is 4.5, not a whole number", (IMAGE,), {"H": 4.5}),
        ("the size H = 9223372036854775808 is too large", (IMAGE,), {"H": 2**63}),
        ("out has shape (3, 6), but (4, 6) is needed", (IMAGE,), {"out": np.zeros((3, 6), "u2")}),
        ("out is written by the kernel, but the array is read-only", (IMAGE,),
         {"out": read_only(np.zeros((4, 6), np.uint16))}),
        ("out= has 2 arrays, but blur3 has 1 outputs", (IMAGE,), {"out": (IMAGE, IMAGE)}),
        ("out= names 'in', which is not an output", (IMAGE,), {"out": {"in": IMAGE}}),
        ("threads=0 is not a number of threads", (IMAGE,), {"threads": 0}),
        ("threads=1.5 is not a number of threads", (IMAGE,), {"threads": 1.5}),
    ],
)  # fmt: skip
def test_arguments(kernel, message: str, args: tuple, named: dict) -> None:
    with pytest.raises(ArgumentError) as caught:
        kernel(*args, **named)
    assert message in str(caught.value)
    assert "isl" not in str(caught.value)


@pytest.mark.parametrize(
    ("message", "array"),
    [
        ("in is not contiguous: its strides", IMAGE.T),
        ("in is not contiguous", IMAGE[:, ::2]),
        ("in is not aligned", misaligned((4, 8))),
    ],
)
def test_a_bound_call_takes_memory_as_it_is(kernel, message: str, array: np.ndarray) -> None:
    with pytest.raises(ArgumentError) as caught:
        kernel.bind(array)
    assert message in str(caught.value)


def test_contradictions_name_both_arrays(axpy) -> None:
    with pytest.raises(ArgumentError) as caught:
        axpy(1.0, np.zeros(4, np.float32), np.zeros(6, np.float32))
    text = str(caught.value)
    assert "y has shape (6,), but (4,) is needed" in text
    assert "N = 4 from x.shape[0] = 4" in text


def test_the_context_is_checked(axpy) -> None:
    with pytest.raises(ArgumentError, match=r"the program needs N % 2 == 0"):
        axpy(1.0, np.zeros(5, np.float32), np.zeros(5, np.float32))


def test_scalars(axpy) -> None:
    arrays = np.zeros(4, np.float32), np.zeros(4, np.float32)
    with pytest.raises(ArgumentError, match="a is a str, but float64 is needed"):
        axpy("1", *arrays)
    with pytest.raises(ArgumentError, match="axpy needs a"):
        axpy(x=arrays[0], y=arrays[1])
    fill = compile_kernel(program(FILL, FILL_BODY), FILL.context)
    with pytest.raises(ArgumentError, match="v = 65536 does not fit uint16"):
        fill(1, 1, 65536)
    with pytest.raises(ArgumentError, match="v is a float, but uint16 is needed"):
        fill(1, 1, 1.5)
    with pytest.raises(ArgumentError, match="the program needs N >= 1"):
        fill(0, 1, 1)
    with pytest.raises(ArgumentError, match="the program needs M >= 1"):
        fill(1, -3, 1)
    with pytest.raises(ArgumentError, match="the size M does not follow"):
        fill(N=1, v=1)


def test_a_shape_without_whole_size() -> None:
    u16 = BLUR.arrays[0].type
    half = scop("half", "N", "N >= 1", ("a", u16, "in", "2*N"), ("b", u16, "out", "N"))
    body = "    (void)a;\n    b[0] = 0;\n    return 0;\n"
    kernel = compile_kernel(program(half, body), half.context)
    with pytest.raises(ArgumentError, match=r"a.shape\[0\] is 5, for which there is no whole N"):
        kernel(np.zeros(5, np.uint16))


def test_out_and_keyword_together(axpy) -> None:
    x, y, s = np.zeros(2, np.float32), np.zeros(2, np.float32), np.array(0, np.int32)
    with pytest.raises(ArgumentError, match="s is given twice"):
        axpy(1.0, x, y, s=s, out=s.copy())


def test_aliasing(kernel, axpy) -> None:
    memory = np.zeros(64, np.uint16)
    image = memory[:32].reshape(4, 8)
    with pytest.raises(AliasError, match="out and in share memory"):
        kernel(image, out=memory[31:55].reshape(4, 6))
    kernel(image, out=memory[32:56].reshape(4, 6))
    x = np.zeros(4, np.float32)
    with pytest.raises(AliasError, match="y and x share memory"):
        axpy(1.0, x, x)


def test_threads_from_the_environment(kernel, monkeypatch) -> None:
    monkeypatch.setenv("POLYOPT_THREADS", "many")
    with pytest.raises(ArgumentError, match="POLYOPT_THREADS='many'"):
        kernel(IMAGE)


def test_no_compiler(monkeypatch, tmp_path) -> None:
    with pytest.raises(CompilerMissingError, match="'nocc' was not found"):
        find_toolchain("nocc")
    monkeypatch.setenv("POLYOPT_CC", "/nowhere/gcc")
    with pytest.raises(CompilerMissingError, match="POLYOPT_CC"):
        find_toolchain()
    monkeypatch.delenv("POLYOPT_CC")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(CompilerMissingError, match="no C compiler was found"):
        find_toolchain()


def fake_compiler(tmp_path, script: str) -> str:
    path = tmp_path / "fakecc"
    path.write_text(f'#!/bin/sh\n[ "$1" = --version ] && echo fake 1.0 && exit 0\n{script}\n')
    path.chmod(0o755)
    return str(path)


def test_a_compiler_that_fails(tmp_path) -> None:
    cc = fake_compiler(tmp_path, "for i in 1 2 3 4 5 6 7 8 9 10 11 12; do echo bad $i >&2; "
                       "echo worse >&2; done; exit 3")  # fmt: skip
    with pytest.raises(CompilerFailedError) as caught:
        compile_kernel(blur(), BLUR.context, cc=cc)
    assert "bad 1" in str(caught.value)
    assert "(4 more lines)" in str(caught.value)


def test_a_compiler_that_hangs(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("POLYOPT_CC_TIMEOUT", "0.2")
    cc = fake_compiler(tmp_path, "exec sleep 20")
    with pytest.raises(CompilerFailedError, match=r"did not finish within 0.2 s"):
        compile_kernel(blur(), BLUR.context, cc=cc)
    assert KernelCache().list() == []
    monkeypatch.setenv("POLYOPT_CC_TIMEOUT", "soon")
    with pytest.raises(InvalidOptionError, match="not a number of seconds"):
        compile_kernel(blur(), BLUR.context, cc=cc)


def test_a_compiler_that_makes_nothing(tmp_path) -> None:
    cc = fake_compiler(tmp_path, "exit 0")
    with pytest.raises(CacheError, match="could not be stored"):
        compile_kernel(blur(), BLUR.context, cc=cc)


def test_a_compiler_that_cannot_run(tmp_path) -> None:
    path = tmp_path / "notcc"
    path.write_text("\x7fELF nonsense")
    path.chmod(0o755)
    with pytest.raises(CompilerFailedError, match="could not be run"):
        find_toolchain(str(path))


def test_openmp_that_is_not_there(tmp_path) -> None:
    with pytest.raises(InvalidOptionError, match="does not compile OpenMP"):
        compile_kernel(blur(), BLUR.context, cc=fake_compiler(tmp_path, "exit 1"), openmp=True)


def test_unusable_caches(tmp_path, monkeypatch) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    with pytest.raises(CacheError, match="POLYOPT_CACHE"):
        compile_kernel(blur(), BLUR.context, cache=blocked / "cache")
    public = tmp_path / "public"
    public.mkdir()
    public.chmod(0o777)
    with pytest.raises(CacheError, match="can be written by everyone"):
        compile_kernel(blur(), BLUR.context, cache=public)
    owner = os.geteuid() + 1
    monkeypatch.setattr(os, "geteuid", lambda: owner)
    with pytest.raises(CacheError, match="belongs to another user"):
        compile_kernel(blur(), BLUR.context, cache=tmp_path / "mine")


def test_a_cache_without_write_permission(tmp_path, monkeypatch) -> None:
    def refuse(*_args: object, **_named: object) -> str:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("polyopt.runtime.cache.tempfile.mkdtemp", refuse)
    with pytest.raises(CacheError, match="cannot be written: Permission denied"):
        compile_kernel(blur(), BLUR.context, cache=tmp_path / "c")
    monkeypatch.setattr("polyopt.runtime.cache.os.open", refuse)
    with pytest.raises(CacheError, match="cannot be written: Permission denied"):
        compile_kernel(blur(), BLUR.context, cache=tmp_path / "c")


def test_without_a_reference(kernel, tmp_path) -> None:
    with pytest.raises(InvalidOptionError, match="without a reference"):
        kernel.verify()
    with pytest.raises(InvalidOptionError, match="without a reference"):
        kernel.export(tmp_path / "dist")


def test_export_to_an_impossible_place(tmp_path) -> None:
    (tmp_path / "file").write_text("")
    kernel = compile_kernel(blur(), BLUR.context, reference=blur())
    with pytest.raises(InvalidOptionError, match="cannot be written"):
        kernel.export(tmp_path / "file" / "dist")
    with pytest.raises(ArgumentError, match="there is no size 'N'"):
        kernel.export(tmp_path / "dist", N=3)
    with pytest.raises(ArgumentError, match="the program needs W >= 3"):
        kernel.export(tmp_path / "dist", W=2)
