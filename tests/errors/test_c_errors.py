"""What C code is declined for: the kind, the very text under the caret, the reason, a hint."""

from __future__ import annotations

import sys

import pytest

from polyopt.errors import (
    InvalidOptionError,
    NonAffineError,
    ProgramSyntaxError,
    TooDeepError,
    TypeMismatchError,
    UnknownNameError,
    UnsupportedError,
    UserError,
)
from polyopt.frontend.c import parse_c

_ARGUMENTS = "int n, int m, float a[n][m], float x[n], const int idx[n], float s"


def body(text: str) -> str:
    return f"void f({_ARGUMENTS}) {{\n{text}\n}}"


def declined(text: str, kind: type[UserError], **options: str) -> UserError:
    with pytest.raises(kind) as found:
        parse_c(text, **options)  # type: ignore[arg-type]
    assert type(found.value) is kind
    assert found.value.diagnostic.span is not None
    assert found.value.diagnostic.hint
    assert "isl" not in str(found.value)
    assert found.value.__cause__ is None or kind is ProgramSyntaxError
    return found.value


def marked(error: UserError) -> str:
    """The source text under the carets."""
    span = error.diagnostic.span
    assert span is not None
    return span.source.line(span.line)[span.column - 1 : span.column - 1 + span.length]


LOOP = "for (int i = 0; i < n; i++) "

#: (body, text under the caret, part of the message)
NON_AFFINE = [
    (LOOP + "x[i*i] = 0;", "i*i", "product of two variables"),
    (LOOP + "x[i*i*m + 1] = 0;", "i*i", "product of two variables"),
    (LOOP + "x[i] = x[(i*i) % 7];", "i*i", "product of two variables"),
    (LOOP + "x[idx[i]] = 0;", "idx[i]", "'idx' is data"),
    (LOOP + "x[1 << i] = 0;", "1 << i", "shift by something that is not a constant"),
    (LOOP + "x[(unsigned char)i] = 0;", "(unsigned char)i", "may change the value"),
    (LOOP + "x[(int)(i * 0.5f)] = 0;", "0.5f", "0.5f is not an integer"),
    ("for (int i = 0; i < idx[0]; i++) x[i] = 0;", "idx[0]", "'idx' is data"),
    ("for (int i = idx[1]; i < n; i++) x[i] = 0;", "idx[1]", "start of this loop"),
    ("for (int i = 0; i * i < n; i++) x[i] = 0;", "i * i", "bound of this loop"),
    ("for (int i = n; i != m; i++) x[0] = 0;", "i != m", "does not end"),
    ("for (int i = 0; i < n / m; i++) x[i] = 0;", "n / m", "not a constant"),
    ("for (int i = 0; i < s; i++) x[i] = 0;", "s", "of type float"),
    ("for (int i = 0; i < n && x[i] > 0; i++) x[i] = 0;", "x[i]", "'x' is data"),
    ("for (int i = 0; i < n; i += m) x[i] = 0;", "m", "step of this loop is not a constant"),
    ("for (int i = 0; i < n; i--) x[i] = 0;", "i < n", "does not end"),
    ("for (int i = n; i != 0 - 2; i -= 3) x[i] = 0;", "i != 0 - 2", "does not end"),
    ("for (int i = n; i-- > idx[0];) x[i] = 0;", "idx[0]", "'idx' is data"),
    ("for (int i = n; i++ > 0;) x[0] = 0;", "i++ > 0", "does not end"),
    ("for (int i = n - m; i--;) x[0] = 0;", "i--", "does not end"),
    ("for (unsigned i = n; --i >= 0;) x[i] = 0;", "i >= 0", "never goes below zero"),
    (
        LOOP + "for (unsigned j = i; --j > 0;) x[j] = 0;",
        "i",
        "first step of this loop may go below",
    ),
    ("for (signed char c = 1; ++c < 300;) x[0] = 0;", "c < 300", "cannot hold 299"),
    ("int k = 0; " + LOOP + "{ x[k] = 0; if (x[i] > 0) k++; }", "k", "computed by the program"),
    ("int k = 0; " + LOOP + "{ x[k] = 0; if (x[i] > 0) k++; }", "k", "changed under a condition"),
    (
        "int k = 0; " + LOOP + "for (int j = 0; j < i; j++) { x[k] = 0; k++; }",
        "k",
        "what each iteration adds to it depends on 'i'",
    ),
    ("int k = n; " + LOOP + "{ x[k] = 0; k /= 2; }", "k", "it is changed by /="),
    ("int k = n; " + LOOP + "{ x[k] = 0; k = idx[i]; }", "k", "its value is idx[i]"),
    ("float t[idx[0]]; t[0] = 1; x[0] = t[0];", "idx[0]", "extent of 't'"),
]


@pytest.mark.parametrize(("text", "under", "message"), NON_AFFINE)
def test_non_affine(text: str, under: str, message: str) -> None:
    error = declined(body(text), NonAffineError)
    assert marked(error) == under
    assert message in error.diagnostic.message


#: (body, text under the caret, part of the message, part of the hint)
UNSUPPORTED = [
    ("int i = 0; while (i < n) { i++; }", "while (i < n) { i++; }", "while loop", "for (int i"),
    ("int i = 0; do { i++; } while (i < n);", "do { i++; }", "do-while loop", "for (int i"),
    (LOOP + "{ if (i > 3) break; x[i] = 0; }", "break", "break", "bound"),
    (
        LOOP + "{ if (i > 3) { int k = i; x[k] = 1; if (k > 4) continue; } int k = 2; x[k] = 0; }",
        "continue",
        "continue",
        "if",
    ),
    ("x[0] = 1; goto end;", "goto", "goto", "loops"),
    ("switch (n) { case 1: x[0] = 0; }", "switch (n) { case 1: x[0] = 0; }", "switch", "if"),
    (LOOP + "foo(i);", "foo(i)", "call for its effect", "math functions"),
    (LOOP + "x[i] = foo(i);", "foo(i)", "calls of 'foo'", "sqrt"),
    ("x[0] = 1 + (x[1] = 0);", "x[1] = 0", "assignment within", "statement of its own"),
    (LOOP + "x[i] = idx[i++];", "i++", "++ within", "statement of its own"),
    ("float t = 0; *t = 0;", "*t", "pointer dereference", "subscript"),
    ("x[0] = &x[1];", "&x[1]", "address", "element"),
    ("float *p = x; x[0] = p[1];", "float *p", "no extent", "arguments only"),
    ("static float t[3]; x[0] = t[0];", "float t[3]", "static", "argument"),
    ("s = 3; x[0] = s;", "s", "argument 's' is changed", "local"),
    (LOOP + "{ i = 3; x[i] = 0; }", "i", "changed outside its loop", "another variable"),
    (
        "int i; for (i = 0; i < n && i < m; i++) x[i] = 0; x[0] = i;",
        "i",
        "outside its loop",
        "bound",
    ),
    ("for (int i = 0;; i++) x[i] = 0;", "for (int i = 0;; i++) x[i] = 0", "no end", "for (int"),
    ("for (int i = 1; i < n; i *= 2) x[i] = 0;", "i *= 2", "by a constant", "i += c"),
    ("for (int i = 1; i < n; i += 0) x[i] = 0;", "0", "step is 0", "another"),
    ("for (int i = n; i-- > 0 && i < m;) x[i] = 0;", "i--", "one comparison", "into the body"),
    ("for (int i = n; i-- > i / 2;) x[i] = 0;", "i--", "one comparison", "into the body"),
    (
        "int k = 0; " + LOOP + "if (x[i] > 0) x[k++] = 0;",
        "k++",
        "'k' has no closed form: it is changed under a condition",
        "statement",
    ),
    (
        "int i; for (i = 0; i < n && i < m; i++) x[i] = 1; for (; i < n; i++) x[i] = 0;",
        "for (; i < n; i++) x[i] = 0;",
        "not known here: the loop over it has another form",
        "for (int",
    ),
    ("int k = 0; for (int i = 0; k++ < n;) x[k] = 0;", "k++", "one comparison", "into the body"),
    ("for (int i = n; i-- > 0; i--) x[i] = 0;", "i--", "-- within", "statement of its own"),
    ("for (int i = n; i-- > 0;) x[i--] = 0;", "i--", "-- within", "statement of its own"),
    ("int i; for (i = n; i-- > 0;) x[i] = 0; x[0] = i;", "i", "outside its loop", "bound"),
    ("for (int i = 0, j = i; i < n; i++) x[i] = 0;", None, "one iterator", "for (int"),
    (LOOP + "for (i = 0; i < n; i++) x[i] = 0;", "i", "a loop around", "own iterator"),
    ("for (float t = 0; t < n; t++) x[0] = 1;", "float t=0", "not an integer", "for (int"),
    ("x[0] = 1; if (n > 3) return; x[1] = 2;", "return", "return before the end", "if"),
    ("x[0] = 1.0L;", "1.0L", "literal", "float or double"),
    ('x[0] = "a";', '"a"', "literal", "float or double"),
    (LOOP + "{ volatile float t = x[i]; x[i] = t; }", "float", "volatile or atomic", "plain"),
    (LOOP + "{ _Atomic int k[2]; k[0] = i; x[i] = k[0]; }", "int", "volatile or atomic", "plain"),
    ("float w[n] = {1, 2}; x[0] = w[0];", None, "initialiser of 'w'", "loop"),
]


@pytest.mark.parametrize(("text", "under", "message", "hint"), UNSUPPORTED)
def test_unsupported(text: str, under: str | None, message: str, hint: str) -> None:
    error = declined(body(text), UnsupportedError)
    if under is not None:
        assert "".join(marked(error).split()).startswith("".join(under.split())[:9])
    assert message in error.diagnostic.message
    assert hint in error.diagnostic.hint


MISMATCHES = [
    (LOOP + "x[i] = a[i];", "a[i]", "2 dimension(s) but is used with 1"),
    (LOOP + "x[i] = x;", "x", "an array, not a number"),
    (LOOP + "x[i] = s[i];", "s[i]", "'s' is not an array"),
    (LOOP + "x[i] = n[i];", "n[i]", "'n' is not an array"),
    (LOOP + "idx[i] = 0;", "idx[i]", "'idx' is const"),
    (LOOP + "x[i] = x[i] % 3;", "x[i] % 3", "'%' is not defined on f32 and i32"),
    (LOOP + "x[i] = x[i] << 1;", "x[i] << 1", "'<<' is not defined"),
    (LOOP + "x[i] = ~x[i];", "~x[i]", "complement is not defined on f32"),
    (LOOP + "x[i] = x[x[i]];", "x[i]", "integer, not f32"),
    (LOOP + "x[i] = idx[i] / 0;", "idx[i] / 0", "division by zero"),
    ("for (int i = 0; i < 2147483647 + 1; i++) x[0] = 0;", "2147483647 + 1", "overflows: int32_t"),
    ("x[0] = sqrtf(1, 2);", "sqrtf(1, 2)", "sqrt takes 1 argument(s), not 2"),
    ("x[0] = fmaxf(1);", "fmaxf(1)", "fmaxf takes 2 arguments, not 1"),
    ("float w[2] = {1, 2, 3}; x[0] = w[0];", "{1, 2, 3}", "shape of the array"),
    ("x[0] = (void)1;", "void", "scalar type is needed"),
]


@pytest.mark.parametrize(("text", "under", "message"), MISMATCHES)
def test_type_mismatches(text: str, under: str, message: str) -> None:
    error = declined(body(text), TypeMismatchError)
    assert under in marked(error) or marked(error) in under
    assert message in error.diagnostic.message


@pytest.mark.parametrize(
    "text",
    [
        "void f(int n, volatile float x[n]) { for (int i = 0; i < n; i++) x[i] = 0; }",
        "void f(int n, float *volatile x) { for (int i = 0; i < n; i++) x[i] = 0; }",
        "typedef volatile float v; void f(int n, v x[n]) { for (int i = 0; i < n; i++) x[i] = 0; }",
    ],
)
def test_volatile_arguments(text: str) -> None:
    assert "volatile or atomic" in declined(text, UnsupportedError).diagnostic.message


@pytest.mark.parametrize(
    ("text", "under"),
    [(LOOP + "x[i] = y[i];", "y"), ("for (int i = 0; i < N; i++) x[i] = 0;", "N"), ("q = 1;", "q")],
)
def test_unknown_names_list_the_known(text: str, under: str) -> None:
    error = declined(body(text), UnknownNameError)
    assert marked(error) == under
    assert "idx, " in error.diagnostic.hint


SYNTAX = [
    ("void f(int n) { int x = ; }", ";", "invalid expression"),
    ("void f(int n, float a[n] { a[0] = 1; }", "{", "did not expect '{'"),
    ("void f(float a[3]) { a[0] = 1 }", "}", "did not expect '}'"),
    ("void f(float a[3]) { a[0] = 1; ", ";", "ends too early"),
    ("void f(float a[3]) { a[0 = 1; }", ";", "did not expect ';'"),
    ("void f(float a[3]) { foo a; }", "a", "did not expect 'a'"),
    ("void f(float a[3]) { a[0] = 1 @ 2; }", "@", "Illegal character"),
    ("/* void f(float a[3]) {}", "/*", "does not end"),
    ("#ifdef\nvoid f(float a[3]) { a[0] = 1; }\n", "#ifdef", "does not make sense"),
    ('#include "no.h"\nvoid f(float a[3]) { a[0] = 1; }\n', '#include "no.h"', "'no.h'"),
    ("#if 1\nvoid f(float a[3]) { a[0] = 1; }\n", "#if 1", "Unterminated"),
    ("#error not here\nvoid f(float a[3]) { a[0] = 1; }\n", "#error not here", "not here"),
    ("int x;\n", "i", "no function"),
    (body("#pragma scop\nx[0] = 1;"), "#pragma scop", "does not end"),
    (
        "#pragma polyopt asume(n > 3)\n" + body("x[0] = 1;"),
        "#pragma polyopt asume(n > 3)",
        "pragma",
    ),
    ("#pragma polyopt assume(n > )\n" + body("x[0] = 1;"), ")", "invalid expression"),
]


@pytest.mark.parametrize(("text", "under", "message"), SYNTAX)
def test_syntax(text: str, under: str, message: str, capfd: pytest.CaptureFixture[str]) -> None:
    error = declined(text, ProgramSyntaxError)
    assert marked(error) == under
    assert message in error.diagnostic.message
    assert "pycparser" not in str(error)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("text", "under", "message"),
    [
        ("#pragma polyopt assume(n * m > 3)", "n * m", "this assumption is not affine"),
        ("#pragma polyopt assume(s > 3)", "s > 3", "this assumption is not affine"),
    ],
)
def test_assumptions_on_other_than_sizes(text: str, under: str, message: str) -> None:
    error = declined(f"{text}\n{body('x[0] = 1;')}", NonAffineError)
    assert marked(error) in under
    assert message in error.diagnostic.message


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        ("float **x", UnsupportedError, "array of pointers"),
        ("struct p *x", UnsupportedError, "a struct is not taken"),
        ("long double x[3]", UnsupportedError, "'long double' is not taken"),
        ("void *x", TypeMismatchError, "points to void"),
        ("int n, float *x, const int idx[n]", UnsupportedError, "extent of 'x' is not declared"),
    ],
)
def test_arguments(arguments: str, kind: type[UserError], message: str) -> None:
    subscript = "[0][0]" if "**" in arguments else "[0]"
    statement = "x[0] = x[idx[0]];" if "idx" in arguments else f"x{subscript} = 1;"
    error = declined(f"void f({arguments}) {{ {statement} }}", kind)
    assert message in error.diagnostic.message


def test_which_function() -> None:
    two = "void f(float a[3]) { a[0] = 1; }\nvoid g(float a[3]) { a[0] = 1; }"
    error = declined(two, UnknownNameError)
    assert "f, g" in error.diagnostic.hint
    error = declined(two, UnknownNameError, function="h")
    assert "f, g" in error.diagnostic.hint


def test_unsigned_loops_that_never_end() -> None:
    text = "void f(size_t n, float x[n]) { for (size_t i = n - 1; i >= 0; i--) x[i] = 0; }"
    error = declined(text, NonAffineError)
    assert "never goes below zero" in error.diagnostic.message
    assert "signed" in error.diagnostic.hint


def test_a_place_within_a_macro() -> None:
    text = "#define SQUARE(v) ((v) * (v))\n" + body(LOOP + "x[SQUARE(i) + 1] = 0;")
    error = declined(text, NonAffineError)
    assert error.diagnostic.span is not None
    assert error.diagnostic.span.line == 3
    assert marked(error) in "SQUARE(i)"


N = 10_000
DEEP = {
    "parentheses": "x[0] = " + "(" * N + "1" + ")" * N + ";",
    "loops": f"{LOOP}\n" * N + "x[0] = 1;",
    "blocks of loops": (LOOP + "{") * N + "x[0] = 1;" + "}" * N,
    "blocks": "{" * N + "x[0] = 1;" + "}" * N,
    "conditions": "if (n > 3) " * N + "x[0] = 1;",
    "else": "if (n > 3) x[0] = 1; else " * N + "x[0] = 1;",
    "sums": "x[0] = 1" + " + x[1]" * N + ";",
    "signs": "x[0] = " + "-+" * N + "1;",
    "choices": "x[0] = " + "n > 3 ? 1 : " * N + "1;",
    "conjunctions": "if (n > 3" + " && n > 2" * N + ") x[0] = 1;",
    "subscripts": "x[0] = " + "x[" * N + "1" + "]" * N + ";",
    "casts": "x[0] = " + "(int)" * N + "1;",
    "calls": "x[0] = " + "sqrtf(" * N + "1" + ")" * N + ";",
    "products": "for (int i = 0; i < n" + " * 2" * N + "; i++) x[0] = 1;",
}


@pytest.mark.parametrize("name", DEEP)
def test_deep_nesting(name: str) -> None:
    limit = sys.getrecursionlimit()
    error = declined(body(DEEP[name]), TooDeepError)
    assert any(word in error.diagnostic.message for word in ("deep", "levels", "operators"))
    assert sys.getrecursionlimit() == limit


def test_expressions_of_very_many_operators() -> None:
    error = declined(body("x[0] = 1;\nx[1] = 1" + " + x[1]" * 6000 + ";"), TooDeepError)
    assert "5,000 operators" in error.diagnostic.message
    span = error.diagnostic.span
    assert span is not None
    assert span.line == 3


def test_functions_of_very_many_statements() -> None:
    error = declined(body("x[0] = x[0] + 1;\n" * 1001), UnsupportedError)
    assert error.diagnostic.message == "f has 1,001 statements, and 1,000 are taken"
    some = "x[0] = 1;\n" * 600
    marked = body(f"{some}#pragma scop\nx[1] = 2;\n#pragma endscop\n{some}")
    assert len(parse_c(marked).statements) == 1


def test_arrays_of_very_many_dimensions() -> None:
    # the parser takes quadratic time for them, and the stack of Python more than a thousand
    error = declined(f"void f(float x{'[2]' * 2000}) {{ x[0] = 1; }}", TooDeepError)
    assert "dimensions" in error.diagnostic.message


@pytest.mark.parametrize("depth", [20, 40])
def test_usual_nesting_is_fine(depth: int) -> None:
    text = "if (n > 3) " * depth + f"x[0] = {'(' * depth}{'1+' * depth}x[1]{')' * depth};"
    assert len(parse_c(body(text)).statement("x").reads) == 1


def test_files() -> None:
    with pytest.raises(ProgramSyntaxError, match="there is no file"):
        parse_c("no-such-file.c")
    with pytest.raises(ProgramSyntaxError, match="cannot read"):
        parse_c(".")


def test_defines() -> None:
    with pytest.raises(InvalidOptionError, match="name of a macro"):
        parse_c(body("x[0] = 1;"), defines={"3N": 1})
