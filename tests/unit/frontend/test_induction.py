"""Scalars that loops step become functions of the iterators, and compute what a compiler has."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from typing import TYPE_CHECKING

import numpy as np
import pytest

from polyopt.analysis.interpreter.interpret import interpret
from polyopt.frontend.c import parse_c
from polyopt.frontend.c.regions.files import Declined, lower_regions
from polyopt.ir.block import Block
from polyopt.ir.verify import verify
from polyopt.isl import fix_param_values, parse_union_map, same_map
from polyopt.source import Source

if TYPE_CHECKING:
    from pathlib import Path

    from polyopt.ir.scop import Scop

_LENGTH = 160
_ARGUMENTS = f"int n, int m, int a[{_LENGTH}], int b[{_LENGTH}]"

#: bodies in which every counter is known: no statement is left to a program of its own
TAKEN = {
    "a stride": "int k = 3; for (int i = 0; i < n; i++) { a[k] = b[i]; k += 2; } a[k] = -1;",
    "downwards": "int k = 90; for (int i = 0; i < n; i++) { k -= 3; a[k] = b[k + 1]; } b[k] = 7;",
    "k-- in the subscript": "int k = n; for (int i = 0; i < n; i++) a[k--] = b[i]; a[k] = 5;",
    "++k in the subscript": "int k = 0; for (int i = 0; i < n; i++) a[++k] = b[i]; b[k] = 5;",
    "of a reading": "int k = 0; for (int i = 0; i < n; i++) a[i] = 2 * b[k++] + 1; a[k] = 0;",
    "added in place": "int k = 0; for (int i = 0; i < n; i++) a[k++] += b[i];",
    "k = k + 2, 1 + k": (
        "int k; k = 1; for (int i = 0; i < n; i++) { a[k] = 1; k = k + 2; a[k - 1] += 2; k = 1 + k; }"
    ),
    "a nest of constant trips": (
        "int k = 0; for (int i = 0; i < n; i++) for (int j = 0; j < 3; j++) { a[k] = b[j]; k++; }"
        " a[k] = 9;"
    ),
    "twice in the body": (
        "int k = 0; for (int i = 0; i < n; i++) { for (int j = 0; j < 2; j++) a[k++] = i;"
        " for (int j = 4; j >= 1; j -= 2) a[k++] = j; k++; } a[k] = 77;"
    ),
    "set in each iteration": (
        "int k; for (int i = 0; i < n; i++) { k = 5 * i; for (int j = 0; j < m; j++) a[k++] = j; }"
    ),
    "set again": (
        "int k = 1; for (int i = 0; i < n; i++) a[k++] = 1; k = 60;"
        " for (int i = 0; i < m; i++) { a[k] = 2; k += 3; }"
    ),
    "steps of loops": (
        "int k = 0; for (int i = 1; i < n; i += 3) { a[k] = i; k++; } a[k] = 5;"
        " for (int i = n; i > 2; i -= 4) { a[k] += i; k += 4; } b[k] = 6;"
    ),
    "loops that may not run": (
        "int k = 2; for (int i = m; i < 3; i++) k += 5; a[k] = 1;"
        " for (int i = n; i < m; i++) { k++; } a[k + 1] = 2;"
    ),
    "of other types": (
        "unsigned k = 0; long l = 9; for (unsigned char i = 0; i < n; i++) { a[k] = b[l]; k += 2u;"
        " l += 3; } unsigned long q = 40; for (long i = 0; i < m; ++i) a[q++] = 3;"
    ),
    "used in a bound": (
        "int k = 0; for (int i = 0; i < m; i++) { for (int j = 0; j < k; j++) a[j] += b[k]; k += 2; }"
    ),
    "used in a condition": (
        "int k = 0; for (int i = 0; i < n; i++) { if (k < 9) a[k] = 4; else a[i] -= 1; k += 2; }"
    ),
    "both branches step it": (
        "int k = 0; for (int i = 0; i < n; i++) { if (b[i] > 0) a[k++] = 1; else { a[k] = 2; k++; } }"
    ),
    "continue behind the step": (
        "int k = 0; for (int i = 0; i < n; i++) { k++; if (b[i] > 2) continue; a[k] = 4; }"
    ),
    "two, one from the other": (
        "int k = 0, l; for (int i = 0; i < n; i++) { l = k + 1; a[l] = 3; l++; a[l] += 1; k += 3; }"
    ),
    "one value for several": "int k, l; k = l = 4; for (int i = 0; i < n; i++) { a[k++] = b[l]; l += 2; }",
    "two in a header": (
        "for (int i = 0, k = 50; i < n; i++, k -= 2) a[k] = b[i]; int i, q;"
        " for (i = n, q = 1; i > 0; q += 3, --i) b[q] += i;"
    ),
    "unrolled by five": (
        "int i; for (i = 0; i + 4 < n; i += 5) { a[i] = b[i]; a[i + 4] = 1; }"
        " for (; i < n; i++) a[i] = 2 * b[i];"
    ),
    "unrolled by four, then by two": (
        "int i; for (i = 1; i <= n - 4; i += 4) a[i] = 1; for (; i <= n - 2; i += 2) a[i] = 2;"
        " for (; i < n; i++) a[i] = 3; a[i] = 4;"
    ),
    "the rest first": (
        "int i; for (i = 0; i < n % 4; i++) a[i] = 1; for (; i < n; i += 4) { a[i] = 2; a[i + 3] = b[i]; }"
    ),
    "unrolled downwards": (
        "int i; for (i = n; i > 3; i -= 3) a[i] = b[i - 2]; for (; i >= 0; i--) a[i] = 9;"
    ),
    "unrolled in a loop": (
        "int i; for (int r = 0; r < m; r++) { for (i = 0; i < n - 1; i += 2) a[i + 1] += r;"
        " for (; i < n; i++) a[i] -= r; }"
    ),
    "an iterator after its loop": (
        "int i; for (i = 2; i < n; i++) a[i] = 1; a[i] = i; for (i = i + 1; i < 20; i++) a[i] = 8;"
    ),
    "an iterator of a loop that may not run": (
        "int i; for (i = m; i < 4; i++) a[i] = 1; b[i] = i; for (i = 30; i > n; i--) a[i] = 2; a[i] = i;"
    ),
}  # fmt: skip


def _compiled(text: str, folder: Path) -> ctypes.CDLL:
    source, library = folder / "f.c", folder / "f.so"
    source.write_text(text)
    compiler = shutil.which("cc")
    assert compiler is not None
    flags = ["-O0", "-w", "-fsanitize=undefined", "-fsanitize-undefined-trap-on-error"]
    command = [compiler, *flags, "-fPIC", "-shared", str(source), "-o", str(library)]
    subprocess.run(command, check=True)
    return ctypes.CDLL(str(library))


def _same_as_compiled(scop: Scop, text: str, folder: Path) -> None:
    function = _compiled(text, folder).f
    draw = np.random.default_rng(5)
    tested = 0
    for n, m in ((1, 1), (2, 9), (3, 2), (4, 5), (12, 3), (13, 7), (14, 4)):
        given = {k: draw.integers(-9, 10, _LENGTH, dtype=np.int32) for k in "ab"}
        sizes = {name: {"n": n, "m": m}[name] for name in scop.params}
        if fix_param_values(scop.context, sizes).is_empty():  # the source's own code would run
            continue
        tested += 1
        arrays = {a.name: given[a.name] for a in scop.arrays if a.role != "temp"}
        results = interpret(scop, sizes, {k: v.copy() for k, v in arrays.items()})
        native = {key: value.copy() for key, value in given.items()}
        function(n, m, *(ctypes.c_void_p(native[key].ctypes.data) for key in "ab"))
        for key, value in results.items():
            np.testing.assert_array_equal(value, native[key], err_msg=f"{key} for {n}, {m}")
    assert tested


@pytest.mark.parametrize("name", TAKEN)
def test_counters_are_what_a_compiler_makes_of_them(name: str, tmp_path: Path) -> None:
    text = f"void f({_ARGUMENTS})\n{{\n{TAKEN[name]}\n}}\n"
    scop = parse_c(text, params=("n", "m"))
    verify(scop)
    assert not {a.name for a in scop.arrays} & {"i", "k", "l", "q"}
    _same_as_compiled(scop, text, tmp_path)


@pytest.mark.parametrize("name", TAKEN)
def test_counters_of_a_region_are_what_a_compiler_makes_of_them(name: str, tmp_path: Path) -> None:
    text = (
        f"void f({_ARGUMENTS})\n{{\n#pragma polyopt disjoint\n#pragma scop\n{TAKEN[name]}\n"
        "#pragma endscop\n}\n"
    )
    scop = parse_c(text, params=("n", "m"))
    verify(scop)
    assert not {a.name for a in scop.arrays} & {"i", "k", "l", "q"}
    _same_as_compiled(scop, text, tmp_path)


def test_counters_of_a_nest_fold_an_array() -> None:
    scop = parse_c("""
    void f(int n, int m, float *restrict a, const float b[n][m]) {
      int k = 0;
      for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++)
          a[k++] = b[i][j];
    }""")
    assert scop.array("a").rank == 2
    wanted = parse_union_map("[n, m] -> { a[i, j] -> a[i, j] : 0 <= i < n and 0 <= j < m }")
    assert same_map(scop.writes, wanted.intersect_params(scop.context))


def test_a_counter_of_rows_folds_an_array() -> None:
    scop = parse_c("""
    void f(int n, int m, float *restrict a, float *restrict b) {
      int row = 0;
      for (int i = 0; i < n; i++) {
        for (int j = 0; j < m; j++) a[row + j] = b[j];
        row += m;
      }
    }""")
    assert scop.array("a").rank == 2


def test_a_step_that_is_a_size_leaves_the_array_as_it_is_declared() -> None:
    scop = parse_c("""
    #pragma polyopt inbounds
    void f(int n, int count, int first, int inc, float a[restrict n], const float b[restrict n]) {
      int i = first;
    #pragma scop
      for (int k = 1; k <= count; k++) { a[i] += b[n - k]; i += inc; }
    #pragma endscop
    }""")
    assert scop.array("a").rank == 1


def _region(before: str, body: str, after: str = "") -> Scop:
    text = (
        f"int f(int n, double *restrict a, double *restrict b) {{\n{before}\n#pragma scop\n{body}\n"
        f"#pragma endscop\n{after}\n}}\n"
    )
    (found,) = lower_regions(Source("in.c", text), {})
    assert not isinstance(found, Declined), found.error
    return found.scop


def test_a_counter_that_was_set_before_its_region_is_a_size() -> None:
    scop = _region("int k = 7;", "for (int i = 0; i < n; i++) { a[k] = b[i]; k += 2; }")
    assert set(scop.params) == {"n", "k"}
    wanted = parse_union_map("[n, k] -> { a[i] -> a[k + 2 i] : 0 <= i < n }")
    assert same_map(scop.writes, wanted.intersect_params(scop.context))


def test_a_counter_that_is_used_after_its_region_has_its_last_value() -> None:
    scop = _region("int k;", "k = 0; for (int i = 0; i < n; i++) a[k++] = b[i];", "return k;")
    assert scop.array("k").role == "out"
    assert not any(isinstance(s.value, Block) for s in scop.statements)


def test_an_iterator_that_is_used_after_a_remainder_loop_has_its_last_value() -> None:
    body = "for (i = 0; i < n - 3; i += 4) a[i] = a[i + 3] = 1; for (; i < n; i++) a[i] = 2;"
    scop = _region("int i;", body, "return i;")
    assert scop.array("i").role == "out"


#: bodies whose counters have no affine value everywhere: they stay what they are
@pytest.mark.parametrize(
    "body",
    [
        "int k = 0; for (int i = 0; i < n; i++) { if (b[i] > 0) a[k++] = i; }",
        "int k = 0; for (int i = 0; i < n; i++) for (int j = i; j < n; j++) a[k++] = j;",
        "int k = 0; for (int i = 0; i < n; i++) { a[k] = 1; k += b[i]; }",
        "int k = 0; for (int i = 0; i < n; i++) { a[k] = 1; k = 2 * k + 1; }",
        "int k = 0; for (int i = 0; i < k + 9; i++) { a[k] = 1; k += 1; }",
        "int k = 0; for (int i = 0; i < n; i++) { if (b[i] > 3) break; k++; } a[k] = 1;",
        "int k = 0; for (int i = 0; i < n; i++) { if (b[i] > 3) continue; k++; a[k] = 1; }",
        "int k = 0; while (k < n) { a[k] = 1; k++; }",
        "int k = 0; int *p = &k; for (int i = 0; i < n; i++) { a[k] = 1; k++; }",
        "int k = 0; for (int i = 0; i < n; i++) a[k] = k++;",
        "int k = 0; for (int i = 0; i < n; i++) b[i] > 0 && a[k++];",
        "signed char k = 0; for (int i = 0; i < n; i++) { a[k] = 1; k++; }",
        "int i; for (i = 0; i < n; i += 2) { if (b[i] > 3) break; } for (; i < n; i++) a[i] = 1;",
        "int i; for (i = 0; i < n && b[i] > 3; i += 2) a[i] = 0; for (; i < n; i++) a[i] = 1;",
    ],
)  # fmt: skip
def test_counters_without_a_closed_form_are_left_alone(body: str) -> None:
    text = f"void f({_ARGUMENTS})\n{{\n#pragma scop\n{body}\n#pragma endscop\n}}\n"
    (found,) = lower_regions(Source("in.c", text), {})
    if isinstance(found, Declined):
        return
    assert any(isinstance(s.value, Block) for s in found.scop.statements)
