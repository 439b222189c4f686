"""What the Scop computes is what a C compiler makes of the same text, element by element."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from typing import TYPE_CHECKING

import numpy as np
import pytest

from polyopt.analysis.interpreter.interpret import interpret
from polyopt.analysis.sets.points import parameter_value
from polyopt.frontend.c import parse_c
from polyopt.ir.verify import verify

if TYPE_CHECKING:
    from pathlib import Path

    from polyopt.isl import PwAff

#: name -> (arguments after ``int n, int m``, body); sizes 7 and 5
PROGRAMS = {
    "truncating division": (
        "int a[n]",
        "for (int i = 0; i < n; i++) a[i] = (i - 3) / 2 + 10 * ((i - 3) % 2) + 100 * (-i / 3);",
    ),
    "division in bounds and guards": (
        "int a[n]",
        (
            "for (int i = 0; i < n; i++) a[i] = 0;\n"
            "for (int i = (m - 7) / 2; i < n - (7 - m) % 2; i++) if (i >= 0 && (i - 4) / 3 == 0)"
            " a[i] += 1;"
        ),
    ),
    "negative modulo": (
        "int a[n]",
        (
            "for (int i = 0; i < n; i++) { a[i] = 0; if ((i - 5) % 3 == -1) a[i] = 1;"
            " if ((i - 5) % 3 == 2) a[i] = 2; if (i % 3) a[i] += 4; }"
        ),
    ),
    "steps and several bounds": (
        "int a[n]",
        (
            "for (int i = 0; i < n; i++) a[i] = 1;\n"
            "for (int i = 1; i < n && i <= m; i += 2) a[i] = 2;\n"
            "for (int i = n - 1; i > 0 && i >= m - 3; i -= 3) a[i] += 10;\n"
            "for (int i = n - 1; i >= 0; i = i - 4) a[i] *= 3;"
        ),
    ),
    "a condition that fails and holds again": (
        "int a[n]",
        (
            "for (int i = 0; i < n; i++) a[i] = 0;\n"
            "for (int i = 0; (i < 2 || i > 4) && i < n; i++) a[i] = 1;\n"
            "for (int i = 0; i % 4 != 3 && i < n; i += 1) a[i] += 2;\n"
            "for (int i = 0; i != n; i++) a[i] += 4;"
        ),
    ),
    "tests that step": (
        "int a[n][m]",
        (
            "unsigned k = m; unsigned long q = n;\n"
            "for (int i = n; i-- > 0;) for (int j = -1; ++j < m;) a[i][j] = 100 * i + j;\n"
            "for (int i = n; --i > 1;) for (int j = 0; j++ < m - 1;) a[i][j] += a[i - 1][j - 1];\n"
            "for (int i = n; 2 <= i--;) a[i][0] *= 3;\n"
            "for (unsigned j = k; j--;) a[0][j] -= j;\n"
            "for (unsigned long i = q; --i != 0;) a[i][1] = -i;\n"
            "for (int i = 3; i-- > 3;) a[i][2] = 7;\n"
            "for (int i = 0; i++ != n - 1;) { if (i == m) continue; a[i][3] = i; }"
        ),
    ),
    "bounds by ternaries and macros": (
        "int a[n][m]",
        (
            "#define MIN(a, b) ((a) < (b) ? (a) : (b))\n#define MAX(a, b) ((a) > (b) ? (a) : (b))\n"
            "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) a[i][j] = 0;\n"
            "for (int i = 0; i < n; i++) for (int j = MAX(0, i - 2); j < MIN(m, i + 2); j++)"
            " a[i][j] = i * 10 + j;\n"
            "for (int i = 0; i < (n < m ? n : m); ++i) a[i][i > 2 ? i - 1 : 0] += 1000;"
        ),
    ),
    "macros called like parts of numbers": (
        "float x[n], double d[n], long l[n]",
        (
            "#define TWICE(f) (2.0f * (f))\n#define e5 9\n#define L 7\n#define U(u) (3u + (u))\n"
            "#define JOINED(a, b) a##b\n#if 10LL > 3 && 0x1Ful == 31\n#define x1 2\n#endif\n"
            "for (int i = 0; i < n; i++) { x[i] = TWICE(-x[i]) + 1e5f * JOINED(1, .5f);\n"
            "d[i] -= 2.e-3 + .5 + 1. + 0x1p3; l[i] = U(l[i]) + 10L + 0x1fUL * x1 + L; }"
        ),
    ),
    "integer promotions": (
        (
            "unsigned char u[n], signed char c[n], unsigned short s[n], int a[n], long l[n],"
            " unsigned w[n]"
        ),
        (
            "for (int i = 0; i < n; i++) { a[i] = u[i] + c[i] * s[i]; l[i] = a[i] * 3L - w[i];"
            " u[i] += c[i]; s[i] = u[i] << 9; c[i] = s[i] >> 3; w[i] = -c[i] / 2u;"
            " a[i] ^= ~u[i] & 0x7f | i; }"
        ),
    ),
    "comparisons and conversions": (
        "float x[n], int a[n], unsigned w[n], double d[n]",
        (
            "for (int i = 0; i < n; i++) { a[i] = (x[i] > 0) + (a[i] < w[i]) * 2 + (i > 2) * 4"
            " + !a[i] * 8; d[i] = (int)(x[i] * 3) + 0.5f * i; x[i] = d[i] > 1 && x[i] < 2 || i == 3;"
            " w[i] = (unsigned char)(a[i] * 77) + -i; }"
        ),
    ),
    "math": (
        "float x[n], double d[n], int a[n]",
        (
            "for (int i = 0; i < n; i++) { x[i] = fmaxf(sqrtf(fabsf(x[i])), 0.25f) + floorf(x[i]);"
            " d[i] = fmin(d[i], 0.5) + trunc(d[i] * 3) + ceil(x[i]); a[i] = abs(a[i]) % 5; }"
        ),
    ),
    "privatised accumulators": (
        "float a[n][m], float x[n]",
        (
            "for (int i = 0; i < n; i++) { float s = 0, t; t = 1; for (int j = 0; j < m; j++)"
            " { float p = a[i][j] * 2; s += p; t *= p; a[i][j] = p - 1; } x[i] = s + t; }"
        ),
    ),
    "local arrays": (
        "float x[n]",
        (
            "float w[3] = {0.25f, 0.5f}; float z[2][2] = {{1, 2}, {3, 4}}; float t[n + 2];\n"
            "for (int i = 0; i < n + 2; i++) t[i] = i == 0 || i == n + 1 ? 0 : x[i - 1];\n"
            "for (int i = 0; i < n; i++) { float b[3]; for (int k = 0; k < 3; k++)"
            " b[k] = w[k] * t[i + k]; x[i] = b[0] + b[1] + b[2] + z[i % 2][1]; }"
        ),
    ),
    "names for affine values": (
        "int a[n]",
        (
            "const int r = 2; int half = n / 2; int last; last = n - 1; int i;\n"
            "for (i = 0; i <= last; i++) { int k = last - i; a[k] = half * i + r; }\n"
            "for (i = half - r; i < half + r; i++) { int q = i * i; a[i] += q; }"
        ),
    ),
    "data conditions": (
        "int a[n], int b[n], int c[n]",
        (
            "for (int i = 0; i < n; i++) { if (i > 0 && a[i - 1] > 0) b[i] = a[i]; else b[i] -= 7;"
            " if (b[i] > 0) { a[i] = -1; b[i] = 5; c[i] = 9; } else if (c[i] < 0) c[i] = 1;"
            " if (a[i] > b[i] || (i < n - 1 && a[i + 1] == 2)) { int t = a[i]; a[i] = b[i];"
            " b[i] = t; } if (!(c[i] > 1)) for (int j = 0; j < i; j++) c[j]++; }"
        ),
    ),
    "data conditions around loops that change them": (
        "int a[n]",
        (
            "for (int i = 0; i < n - 1; i++) if (a[i] > 0) { for (int j = 0; j < n; j++) a[j]--;"
            " a[i + 1] += 2; } else { a[i]++; if (a[i + 1] < 0) { a[i] += 3; a[i + 1] = 4; } }"
        ),
    ),
    "indirect reads": (
        "const int p[n], const unsigned char u[n], int t[256], int a[n]",
        (
            "for (int i = 0; i < n; i++) a[i] = t[u[i]] + t[p[i] < 0 ? 0 : p[i] > n - 1 ? n - 1 :"
            " p[i]] + t[min(max(p[i] * 3, 0), 255)];"
        ),
    ),
    "guards that read": (
        "int a[n], int b[n]",
        (
            "for (int i = 0; i < n; i++) b[i] = (i > 0 ? a[i - 1] : 0) + (i < n - 1 && a[i + 1] > 0)"
            " + (i == 0 || a[i - 1] < 0) * 2;"
        ),
    ),
    "shifts and masks of iterators": (
        "int a[n]",
        (
            "for (int i = 0; i < n; i++) a[i] = 0;\n"
            "for (int i = 0; i < n; i++) a[i >> 1] += (i & 3) == 1 ? 1 << i : -(i << 1);"
        ),
    ),
    "unsigned sizes": (
        "int a[n]",
        (
            "unsigned long k = n;\nfor (unsigned long i = 1; i < k - 1; i++) a[i] = i - 1;\n"
            "for (unsigned long i = k - 1; i > 0; i--) a[i] += a[i - 1];"
        ),
    ),
    "scopes": (
        "int a[n]",
        (
            "for (int i = 0; i < n; i++) { int t = a[i]; { int t = 5; a[i] = t; } a[i] += t; }\n"
            "for (int i = 0; i < 2; i++) { for (int i = 0; i < n; i++) a[i] += 1; }\n"
            "for (int i = 0; i < n; i++) { int t = a[i]; t *= 2; a[i] = t; }"
        ),
    ),
    "increments": (
        "int a[n]",
        (
            "for (int i = 0; i < n; i++) { a[i]++; ++a[i]; if (i > 2) a[i]--; a[i] <<= 1; a[i] %= 5;"
            " a[i] |= 8; ; }"
        ),
    ),
    "truth of constants": (
        "double x[n], _Bool z[n], int a[n]",
        (
            "for (int i = 0; i < n; i++) {\n"
            "    _Bool b = 0.5, c = 256, d = -0.0, e = 0.0 / 0.0, f = 1e-320, g = (int)0.5;\n"
            "    _Bool h = x[i], k = z[i]; h += 0.25; k -= 1;\n"
            "    a[i] = b + 2 * c + 4 * d + 8 * e + 16 * f + 32 * g + 64 * h + 128 * k\n"
            "        + 256 * (_Bool)0.25 + 512 * (_Bool)x[i] + 1024 * !0.5 + 2048 * (-0.0 || e);\n"
            "    if (0.5) a[i] += 4096;\n"
            "    b = i ? 0.5 : 0.0; c ^= 3; a[i] += 8192 * b + 16384 * c + 32768 * (_Bool)-f;\n"
            "    z[i] = 1e-9;\n"
            "    if (x[i] > 1) z[i] = x[i] * 1e-200 * 1e-200;\n"
            "}"
        ),
    ),
    "pointers": (
        "int *restrict p, int (*q)[m]",
        "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) { p[i] += q[i][j]; }",
    ),
}

_SIZES = {"n": 7, "m": 5}
_HEAD = "#include <math.h>\n#include <stdlib.h>\n"
_EXTREMA = (
    "static inline int min(int a, int b) { return a < b ? a : b; }\n"
    "static inline int max(int a, int b) { return a > b ? a : b; }\n"
)


def program(name: str) -> str:
    arguments, body = PROGRAMS[name]
    return f"void f(int n, int m, {arguments})\n{{\n{body}\n}}\n"


def compiled(text: str, folder: Path) -> ctypes.CDLL:
    source, library = folder / "f.c", folder / "f.so"
    source.write_text(_HEAD + (_EXTREMA if "min(max" in text else "") + text)
    compiler = shutil.which("cc")
    assert compiler is not None
    flags = ["-O0", "-w", "-ffp-contract=off", "-fwrapv", "-fPIC", "-shared"]
    command = [compiler, *flags, str(source), "-o", str(library), "-lm"]
    subprocess.run(command, check=True)
    return ctypes.CDLL(str(library))


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_interpreter_agrees_with_the_compiler(name: str, tmp_path: Path) -> None:
    text = program(name)
    scop = parse_c(text)
    verify(scop)
    draw = np.random.default_rng(3)
    given: dict[str, np.ndarray] = {}
    for array in scop.arrays:
        if array.role == "temp" or array.name in _SIZES:
            continue
        shape = tuple(_at_sizes(extent) for extent in array.extents)
        dtype = np.dtype(array.type.numpy_name)
        if dtype.kind == "f":
            given[array.name] = draw.uniform(-2, 3, shape).astype(dtype)
        else:
            least = 0 if dtype.kind == "u" else -9
            given[array.name] = draw.integers(least, 10, shape).astype(dtype)
    numbers = {
        a.name: np.asarray(_SIZES[a.name], "int32")
        for a in scop.arrays
        if a.rank == 0 and a.name in _SIZES
    }
    sizes = {p: _SIZES[p] for p in scop.params}
    results = interpret(scop, sizes, {**given, **numbers})
    native = {key: value.copy() for key, value in given.items()}
    arguments = [
        ctypes.c_int(_SIZES[key]) if key in _SIZES else ctypes.c_void_p(native[key].ctypes.data)
        for key in scop.signature
    ]
    compiled(text, tmp_path).f(*arguments)
    assert results
    for key, value in results.items():
        np.testing.assert_array_equal(value, native[key], err_msg=key)
    for array in scop.arrays:
        if array.role == "in" and array.name in given:
            np.testing.assert_array_equal(given[array.name], native[array.name])


def _at_sizes(extent: PwAff) -> int:
    return parameter_value(extent, _SIZES)
