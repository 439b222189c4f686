"""Names that standard headers have, as a program's own where it includes none of them."""

from __future__ import annotations

import random
import re
import subprocess
from itertools import cycle

import pytest

from polyopt.errors import PolyoptError
from polyopt.frontend.c import parse_c
from polyopt.frontend.c.syntax.declared_names import declared_names
from polyopt.rewrite import rewrite

HEADERS = ("limits", "stdint", "float", "math", "stddef", "stdio", "stdlib", "stdbool", "errno")
#: types, and what the compiler's list has that the printer or the frontend knows
KNOWN = [
    "int8_t",
    "uint64_t",
    "size_t",
    "bool",
    "wchar_t",
    "FILE",
    "time_t",
    "va_list",
    "intptr_t",
    "ulong",
    "NAN",
    "INFINITY",
    "INT_MAX",
    "INT32_MIN",
    "INT64_MIN",
    "UINT64_MAX",
    "DBL_MAX",
    "M_PI",
    "offsetof",
    "NULL",
    "HUGE_VAL",
    "CHAR_BIT",
]

#: a program with X in the place of the name
FORMS = (
    "void f(int n, float X[n]) {\n@for (int i = 0; i < n; i++) X[i] = 1;\n@@}",
    ("void f(int n, float *r) {\nint X[n]; int i;\n@for (i = 0; i < n; i++) X[i] = 3;\n@@"
    "r[0] = X[n - 1];\n}"),
    ("void f(int X, signed char A[X]) {\n@for (int i = 0; i < X; i++) A[i] = (signed char)(A[i] * 77);"
    "\n@@}"),
    "void f(int n, float A[n]) {\n@for (int X = 0; X < n; X++) A[X] = X;\n@@}",
    "void f(int n, float A[n], float *r) {\nint X;\n@for (X = 0; X < n; X++) A[X] = X;\n@@r[0] = X;\n}",
    "void f(int n, float A[n]) {\nfloat t = 2, X = 1;\n@for (int i = 0; i < n; i++) A[i] = X + t;\n@@}",
    "void f(int n, float (*X)[n]) {\n@for (int i = 0; i < n; i++) X[i][0] = 1;\n@@}",
    "void f(int n, float (*const restrict X)[n]) {\n@for (int i = 0; i < n; i++) X[i][0] = 1;\n@@}",
    "void f(int n, real X[n]) {\n@for (int i = 0; i < n; i++) X[i] = 1 / 3.0;\n@@}",
    "void f(int n, float A[n]) {\n@for (int i = 0; i < n; i++) { float X = A[i]; A[i] = X * X; }\n@@}",
    ("struct f { int q; float X[9]; };\nvoid g_f(struct f *p) {\n@for (int i = 0; i < 9; i++)"
    " p->X[i] = 1;\n@@}"),
)  # fmt: skip

#: of a file's scope
OUTER = (
    "typedef float X;\nvoid f(int n, X A[n]) { for (int i = 0; i < n; i++) A[i] = A[i] * 2; }",
    "enum e { Q, X };\nvoid f(int n, int A[n]) { for (int i = 0; i < n; i++) A[i] = X; }",
    "struct X { int a; };\nvoid f(int n, int A[n]) { for (int i = 0; i < n; i++) A[i] = 1; }",
    "float r, *t, X[9];\nvoid f(int n, int A[n]) { for (int i = 0; i < n; i++) A[i] = 1; }",
    (
        "static int X(int a) { return a + 1; }\n"
        "void f(int n, int A[n]) { for (int i = 0; i < n; i++) A[i] = X(i); }"
    ),
)


def in_place(form: str, name: str, number: int) -> str:
    text = form.replace("@@", "#pragma endscop\n").replace("@", "#pragma scop\n")
    return re.sub(r"\bX\b", name, re.sub(r"\b(g_)?f\b", rf"\g<0>{number}", text))


@pytest.fixture(scope="module")
def macros() -> list[str]:
    """What the compiler's headers define, as names without a meaning of the compiler's own."""
    text = "".join(f"#include <{header}.h>\n" for header in HEADERS)
    command = ["gcc", "-std=gnu11", "-dM", "-E", "-"]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
    return sorted(set(re.findall(r"^#define ([A-Za-z]\w*)", done.stdout, re.MULTILINE)))


def test_a_file_with_names_of_headers_is_emitted_as_c_that_compiles(macros, tmp_path):
    drawn = random.Random(7).sample([m for m in macros if m not in {"linux", "unix"}], 30)  # noqa: S311
    forms = cycle(FORMS)
    parts = [in_place(form, name, k) for k, (name, form) in enumerate(
        [(name, next(forms)) for name in [*KNOWN * 3, *drawn]]
    )]  # fmt: skip
    text = "typedef double real;\n" + "\n".join(parts) + "\n"
    done = rewrite(text)
    assert [str(region.error) for region in done.regions if region.error is not None] == []
    assert len(done.regions) == len(parts)
    path = tmp_path / "made.c"
    path.write_text(done.text)
    command = ["gcc", "-std=gnu11", "-w", "-fopenmp", "-fsyntax-only", str(path)]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr


@pytest.mark.parametrize("form", OUTER)
def test_names_of_headers_at_a_files_scope_are_the_programs_own(form):
    for name in KNOWN:
        try:
            assert parse_c(in_place(form, name, 1)).statements
        except PolyoptError as error:
            pytest.fail(f"{name}: {error}")


@pytest.mark.parametrize(
    "text",
    [
        "#define BIG INT_MAX\nstatic size_t f(const size_t n, size_t *p, const int8_t q);",
        "int a = INT_MAX, b = INT_MAX; EXPORT size_t g(void); real x = M_PI * y, *z = NULL;",
        "for (i = 0; i * INT_MAX < n; i++) a[i] = i * M_PI;",
        "int q[] = { a * INT_MAX, b * M_PI }; int r[] = {1, INT_MAX};",
        "enum { A = INT_MAX, B }; enum e k = INT_MAX;",
        "x = y ? NULL : NULL; case INT_MAX: f(a, INT_MAX); f(a * M_PI, NULL); return INT_MAX;",
        "typedef size_t idx; typedef int8_t b8, c8; sizeof size_t; (size_t)a; FILE *f = NULL;",
        "x = (size_t) INT_MAX; if (a) return INT_MAX; else x = INT_MAX; a[i] * M_PI; f(x) * M_PI;",
        "void f(int n, size_t a[n], const bool *restrict b, FILE *c) { double t = n * M_PI; }",
    ],
)
def test_uses_of_names_of_headers_declare_none(text):
    assert declared_names(text).isdisjoint(KNOWN)
