"""Kernels on arrays: binding, sizes, outputs, threads, timing."""

from __future__ import annotations

import inspect
import pickle
import threading

import numpy as np
import pytest

import polyopt as po
from polyopt.codegen.ast.expr import Symbol
from polyopt.codegen.signature import Argument
from polyopt.errors import CompilerFailedError
from polyopt.ir.types import F32, I64
from polyopt.runtime.callsignature import call_signature
from polyopt.runtime.kernel import Kernel, compile_kernel
from polyopt.runtime.measuring.repeat import measure
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


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("POLYOPT_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def blur_kernel() -> Kernel:
    return compile_kernel(blur(), BLUR.context, reference=blur())


def image(height: int, width: int) -> np.ndarray:
    return np.arange(height * width, dtype=np.uint16).reshape(height, width)


def blurred(img: np.ndarray) -> np.ndarray:
    wide = img.astype(np.int64)
    return (wide[:, :-2] + wide[:, 1:-1] + wide[:, 2:]) // 3


def test_sizes_come_from_shapes_and_outputs_are_allocated(blur_kernel) -> None:
    for height, width in ((1, 3), (5, 9), (7, 64), (5, 9)):
        out = blur_kernel(image(height, width))
        assert out.dtype == np.uint16
        assert out.ctypes.data % 64 == 0
        np.testing.assert_array_equal(blurred(image(height, width)), out)


def test_outputs_can_be_given_in_every_way(blur_kernel) -> None:
    img = image(4, 8)
    for given in (
        lambda a: {"out": a},
        lambda a: {"out": (a,)},
        lambda a: {"out": {"out": a}},
    ):
        out = np.zeros((4, 6), np.uint16)
        assert blur_kernel(img, **given(out)) is out
        np.testing.assert_array_equal(blurred(img), out)


def test_keywords_and_redundant_sizes(blur_kernel) -> None:
    img = image(4, 8)
    np.testing.assert_array_equal(blurred(img), blur_kernel(**{"in": img}, W=8, threads=2))


def test_scalars_inout_and_several_results() -> None:
    kernel = compile_kernel(program(AXPY, AXPY_BODY), AXPY.context)
    assert kernel.positional == ("a", "x", "y")
    x, y = np.arange(6, dtype=np.float32), np.ones(6, np.float32)
    result, count = kernel(2, x, y)
    assert result is y
    np.testing.assert_array_equal(1 + 2 * x, y)
    assert count.shape == ()
    assert count == 6
    again = np.array(0, np.int32)
    kernel(np.float64(0), x, y, out=again)
    assert again == 6
    kernel(np.array(0.0), x, y, out={"s": again, "y": y})
    assert again == 6


def test_sizes_that_no_input_determines_are_positional() -> None:
    kernel = compile_kernel(program(FILL, FILL_BODY), FILL.context)
    assert kernel.positional == ("N", "M", "v")
    np.testing.assert_array_equal(np.full((2, 3), 7, np.uint16), kernel(2, 3, 7))
    out = np.zeros((4, 5), np.uint16)
    kernel(v=9, out=out)  # the output's shape says the sizes
    assert (out == 9).all()


def test_a_size_with_a_factor_is_solved() -> None:
    half = scop("half", "N", "N >= 1", ("a", BLUR.arrays[0].type, "in", "2*N"),
                ("b", BLUR.arrays[0].type, "out", "N"))  # fmt: skip
    body = "    for (int64_t i = 0; i < N; i++) {\n        b[i] = a[2 * i];\n    }\n    return 0;\n"
    kernel = compile_kernel(program(half, body), half.context)
    np.testing.assert_array_equal([0, 2, 4], kernel(np.arange(6, dtype=np.uint16)))


def test_calls_from_several_threads_at_once(blur_kernel) -> None:
    img = image(50, 60)
    results: list[np.ndarray] = []
    workers = [
        threading.Thread(target=lambda: results.extend(blur_kernel(img) for _ in range(50)))
        for _ in range(4)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(results) == 200
    for result in results:
        np.testing.assert_array_equal(blurred(img), result)


def test_many_shapes_do_not_pile_up(blur_kernel) -> None:
    for width in range(3, 150):
        blur_kernel(image(2, width))
    assert len(blur_kernel._layouts) <= 64


def test_failed_allocation_is_a_memory_error() -> None:
    failing = program(FILL, "    (void)v;\n    (void)out;\n    return 1;\n")
    with pytest.raises(MemoryError, match="fill"):
        compile_kernel(failing, FILL.context)(1, 1, 1)


def test_a_function_may_be_called_as_python_calls_its_own() -> None:
    scop = po.parse_c("void __f__(int N, float a[N]) { for (int i = 0; i < N; i++) a[i] = i; }")
    assert po.Plan(scop).compile()(a=np.zeros(3, np.float32)).tolist() == [0, 1, 2]


def test_benchmark_leaves_arguments_alone() -> None:
    kernel = compile_kernel(program(AXPY, AXPY_BODY), AXPY.context)
    x, y = np.ones(4, np.float32), np.zeros(4, np.float32)
    timing = kernel.benchmark(1.0, x, y, seconds=0.0, threads=1)
    assert not y.any()
    assert timing.runs >= 5
    assert 0 < timing.min_ms <= timing.median_ms
    assert "5 runs" in str(timing)


def test_measure_warms_up_first() -> None:
    calls: list[int] = []
    timing = measure(lambda: calls.append(1), 3, seconds=0.0)
    assert len(calls) == timing.runs + 1
    assert timing.threads == 3


def test_openmp_uses_the_threads_asked_for() -> None:
    count = scop("count", "N", "N >= 1", ("s", AXPY.arrays[3].type, "out", "N"))
    body = (
        "    for (int64_t i = 0; i < N; i++) {\n        s[i] = 0;\n    }\n"
        "#pragma omp parallel for num_threads(threads) schedule(static)\n"
        "    for (int64_t i = 0; i < N; i++) {\n        s[i] = threads;\n    }\n    return 0;\n"
    )
    kernel = compile_kernel(program(count, body, uses_openmp=True), count.context)
    if kernel.built.uses_openmp:
        assert (kernel(4, threads=3) == 3).all()
        assert not kernel.remarks
    single = compile_kernel(program(count, body, uses_openmp=True), count.context, openmp=False)
    assert (single(4) == 1).all()


def test_threads_from_the_environment(monkeypatch) -> None:
    count = scop("count", "N", "N >= 1", ("s", AXPY.arrays[3].type, "out", "N"))
    body = "    for (int64_t i = 0; i < N; i++) {\n        s[i] = threads;\n    }\n    return 0;\n"
    kernel = compile_kernel(program(count, body), count.context)
    monkeypatch.setenv("POLYOPT_THREADS", "5")
    assert (kernel(2) == 5).all()
    assert (kernel(2, threads=2) == 2).all()


def test_verify_finds_a_difference(blur_kernel) -> None:
    assert blur_kernel.verify() == 0
    assert blur_kernel.verify(H=1, W=3) == 0
    wrong = program(BLUR, blur().source.split("{\n", 1)[1].split("(void)threads;\n", 1)[1]
                    .rsplit("}\n", 1)[0].replace("/ 3", "/ 4"))  # fmt: skip
    kernel = compile_kernel(wrong, BLUR.context, reference=blur())
    assert kernel.verify() > 0


def test_a_reference_is_made_once_and_when_it_is_asked_for() -> None:
    made = []

    def reference():
        made.append("reference")
        return blur()

    kernel = compile_kernel(blur(), BLUR.context, reference=reference)
    assert np.array_equal(kernel(image(5, 6)), kernel(image(5, 6)))
    assert made == []
    assert kernel.verify() == kernel.verify() == 0
    assert made == ["reference"]


def test_a_kernel_names_its_arguments_to_editors(blur_kernel) -> None:
    found = inspect.signature(blur_kernel)
    listed = [(p.name, p.kind.name, p.annotation) for p in found.parameters.values()]
    assert listed == [
        ("argument_0", "POSITIONAL_OR_KEYWORD", "uint16[:, :]"),  # "in" is Python's
        ("H", "KEYWORD_ONLY", "int"),
        ("W", "KEYWORD_ONLY", "int"),
        ("out", "KEYWORD_ONLY", "array or arrays"),
        ("threads", "KEYWORD_ONLY", "int"),
    ]
    given = found.bind(image(4, 5), threads=1)
    assert blur_kernel(*given.args, **given.kwargs).shape == (4, 3)
    assert "program" in inspect.signature(Kernel).parameters


def test_a_name_that_python_keeps_for_itself_is_an_argument_by_position() -> None:
    size = Argument("n", "size", Symbol("n", I64))
    known = [size, *(Argument(name, "scalar", Symbol(name, F32)) for name in ("lambda", "x"))]
    assert list(call_signature(known, ["lambda", "x"]).parameters) == [
        "argument_0", "x", "n", "out", "threads"
    ]  # fmt: skip


def test_source_and_repr(blur_kernel) -> None:
    assert "restrict" in blur_kernel.source
    assert "blur3(in)" in repr(blur_kernel)


STEP = """
void step(int n, const float a[n], {type} out[n])
{{
    for (int i = 0; i < n; i++)
        out[i] = a[i] * 3.7f + a[0];
}}
"""


@pytest.mark.parametrize(
    ("type_", "given", "flag"),
    [
        ("float", None, "fast"),
        ("float", False, "off"),
        ("short", None, "off"),
        ("short", True, "fast"),
    ],
)
def test_multiply_adds_round_once_where_floats_come_out_or_on_request(type_, given, flag) -> None:
    kernel = po.Plan(po.parse_c(STEP.format(type=type_))).compile(contract=given)
    assert f"-ffp-contract={flag}" in kernel.built.flags
    assert f"-ffp-contract={flag}" in pickle.loads(pickle.dumps(kernel)).built.flags


def test_vector_marks_count_without_threads() -> None:
    kernel = compile_kernel(blur(), BLUR.context, openmp=False)
    assert "-fopenmp" not in kernel.built.flags
    assert "-fopenmp-simd" in kernel.built.flags


def test_c_that_does_not_compile_keeps_its_text(tmp_path) -> None:
    with pytest.raises(CompilerFailedError) as caught:
        compile_kernel(program(BLUR, "    return nonsense;\n"), BLUR.context)
    text = str(caught.value)
    assert "nonsense" in text
    kept = list((tmp_path / "cache" / "failed").glob("*.c"))
    assert len(kept) == 1
    assert str(kept[0]) in text
    assert not list((tmp_path / "cache").glob(".build-*"))


def test_a_bound_call_repeats_on_the_same_arrays(blur_kernel) -> None:
    img, out = image(5, 9), np.zeros((5, 7), np.uint16)
    call = blur_kernel.bind(img, out=out, threads=1)
    call()
    np.testing.assert_array_equal(out, blurred(img))
    img += 3
    call()
    np.testing.assert_array_equal(out, blurred(img))


def test_a_bound_call_can_move_to_other_memory(blur_kernel) -> None:
    img, other, out = image(5, 9), image(5, 9) + np.uint16(7), np.zeros((5, 7), np.uint16)
    call = blur_kernel.bind(img, out=out)
    call.replace("in", other.ctypes.data)
    call.set_threads(1)
    call()
    np.testing.assert_array_equal(out, blurred(other))
