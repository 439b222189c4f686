"""What the C frontend takes in is bounded in tokens, nodes and isl operations, never in seconds."""

from __future__ import annotations

import os
import sys

import pytest

import polyopt.rewrite as rewriting
from polyopt.errors import (
    InternalError,
    NotDecidedError,
    ProgramSyntaxError,
    TooLargeError,
    UnsupportedError,
)
from polyopt.frontend.c import parse_c, read_source
from polyopt.frontend.c.regions import files as regions
from polyopt.frontend.c.regions.files import Declined, lower_regions
from polyopt.frontend.c.syntax.locations import Locator
from polyopt.frontend.c.syntax.parse import parse
from polyopt.frontend.c.syntax.preprocess import preprocess
from polyopt.frontend.c.syntax.usage import nodes
from polyopt.source import Source

LOOP = "void f(int n, double a[n]) {{ for (int i = 0; i < n; i++) a[i] = {}; }}\n"
GROWING = "".join(f"#define A{k}(x) A{k - 1}(x) + A{k - 1}(x)\n" for k in range(1, 60))
NAMES = "".join(f"#define N{k} (N{k - 1} + N{k - 1})\n" for k in range(1, 60))
TWICE = "".join(f"double g{k}(double x) {{ return g{k - 1}(x) * 2 + g{k - 1}(x); }}\n"
                for k in range(1, 60))  # fmt: skip
ROWS = "".join(f"void r{k}(double *x) {{ r{k - 1}(x); r{k - 1}(x); }}\n" for k in range(1, 60))
NESTED = "".join(f"for (int i{k} = 0; i{k} < n; i{k}++) " for k in range(60))
REMAINDERS = "(" * 12 + "i - m" + "".join(f" * 3 + n) % {7 + 2 * k}" for k in range(12))


@pytest.mark.parametrize(
    ("text", "error", "said", "line"),
    [
        (f"#define A0(x) x\n{GROWING}{LOOP.format('A59(i)')}", TooLargeError, "tokens", 61),
        (f"#define N0 1\n{NAMES}{LOOP.format('N59')}", TooLargeError, "tokens", 61),
        (f"#define N0 1\n{NAMES}#if N59 > 3\n#endif\n", TooLargeError, "tokens", 61),
        (f"double g0(double x) {{ return x + 1; }}\n{TWICE}{LOOP.format('g59(a[i])')}", TooLargeError,
         "1,000 operands", 10),
        ("double s(double x) { return x * x * x; }\n" + LOOP.format("s(" * 40 + "2" + ")" * 40),
         TooLargeError, "1,000 operands", 2),
        (f"void r0(double *x) {{ x[0] += 1; }}\n{ROWS}void f(double a[1]) {{ r59(a); }}",
         TooLargeError, "2,000 calls", 2),
        (f"void f(int n, double a[n]) {{\n{NESTED} a[i0] += 1; }}", NotDecidedError, "lowering", 1),
    ],
    ids=["macros", "names", "if", "values", "arguments", "calls", "loops"],
)  # fmt: skip
def test_what_grows_without_end_is_refused_with_its_place(monkeypatch, text, error, said, line):
    monkeypatch.setattr("polyopt.frontend.c.lower.limits.OPERATIONS", 50_000)
    monkeypatch.setattr("polyopt.frontend.c.lower.expressions.MOST_INLINED", 1_000)
    monkeypatch.setattr(sys.modules[preprocess.__module__], "MOST_EXPANDED", 10_000)
    with pytest.raises(error, match=said) as found:
        parse_c(text, function="f")
    assert found.value.diagnostic.span.line == line
    assert found.value.diagnostic.hint


def test_a_macro_that_grows_without_end_and_is_not_used_says_nothing():
    text = f"#define N0 1\n{NAMES}#define M 7\n"
    assert preprocess(Source("in.c", text), {}).integers["M"] == 7


def test_nested_remainders_are_refused(monkeypatch):
    text = ("void f(int n, int m, double a[n]) { for (int i = 0; i < n; i++)"
            f" if ({REMAINDERS} > 2) a[i] += 1; }}")  # fmt: skip
    monkeypatch.setattr("polyopt.frontend.c.lower.limits.OPERATIONS", 50_000)
    with pytest.raises(NotDecidedError, match="lowering"):
        parse_c(text)


def test_a_region_has_so_many_statements(monkeypatch):
    monkeypatch.setattr("polyopt.frontend.c.regions.extract.MAX_STATEMENTS", 20)
    text = "void f(double *restrict a) {\n#pragma scop\n" + "a[0] += 1;\n" * 21
    (found,) = lower_regions(Source("in.c", f"{text}#pragma endscop\n}}\n"), {})
    assert isinstance(found, Declined)
    assert isinstance(found.error, UnsupportedError)
    assert found.error.diagnostic.span.line == 2


@pytest.mark.parametrize("name", ["pipe", "/dev/zero", "folder"])
def test_what_is_no_file_is_not_included(tmp_path, name):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    (tmp_path / "in.c").write_text(f'\n#include "{name}"\n{LOOP.format(1)}')
    with pytest.raises(ProgramSyntaxError, match=name) as found:
        parse_c(tmp_path / "in.c")
    assert found.value.diagnostic.span.line == 2


def test_a_file_does_not_include_itself_without_end(tmp_path):
    (tmp_path / "own.h").write_text('#include "own.h"\n#include "own.h"\n')
    (tmp_path / "in.c").write_text(f'\n\n#include "own.h"\n{LOOP.format(1)}')
    with pytest.raises(TooLargeError, match="50 deep") as found:
        parse_c(tmp_path / "in.c")
    assert found.value.diagnostic.span.line == 3


def test_included_files_are_bounded_together(tmp_path, monkeypatch):
    monkeypatch.setattr(sys.modules[preprocess.__module__], "MOST_FILES", 20)
    (tmp_path / "h0").write_text("\n")
    for k in range(1, 9):
        (tmp_path / f"h{k}").write_text(f'#include "h{k - 1}"\n#include "h{k - 1}"\n')
    (tmp_path / "in.c").write_text(f'#include "h8"\n{LOOP.format(1)}')
    with pytest.raises(TooLargeError, match="are included"):
        parse_c(tmp_path / "in.c")


def test_bytes_of_other_encodings_are_included(tmp_path):
    (tmp_path / "latin.h").write_bytes(b"/* \xe4\xf6\xfc */\n#define ONE 1\n")
    (tmp_path / "in.c").write_text(f'#include "latin.h"\n{LOOP.format("ONE")}')
    assert parse_c(tmp_path / "in.c").name == "f"


def test_a_file_without_end_is_not_read():
    with pytest.raises(ProgramSyntaxError, match="is not text"):
        read_source("/dev/zero")


def test_places_on_a_long_line_are_found_in_one_comparison(monkeypatch):
    made = []
    matcher = "polyopt.frontend.c.syntax.locations.SequenceMatcher"

    class Counted:
        def __init__(self, *sequences):
            made.append([len(part) for part in sequences[1:3]])

        def get_opcodes(self):
            return []

    monkeypatch.setattr(matcher, Counted)
    swap = "#define X(i) { double t = x[i]; x[i] = x[i + 1]; x[i + 1] = t; }\n"
    for count, compared in ((99, 1), (400, 0)):  # of lines that are too long none
        made.clear()
        text = f"{swap}void f(double *x) {{ {' '.join(f'X({k})' for k in range(count))} }}\n"
        program = preprocess(Source("in.c", text), {})
        locator = Locator(program)
        lines = {locator.span(node).line for node in nodes(parse(program, locator)) if node.coord}
        assert 2 in lines
        assert len(made) == compared


@pytest.mark.parametrize(
    "error", [InternalError("isl failed: isl_map_coalesce"), ValueError("not foreseen")]
)
@pytest.mark.parametrize("where", ["plan", "lowering"])
def test_a_defect_in_one_region_leaves_the_others(monkeypatch, tmp_path, error, where):
    part = "#pragma scop\nfor (int i = 0; i < n; i++) a[i] = {};\n#pragma endscop\n"
    text = "void f(int n, double *restrict a) {\n" + part.format(1) + part.format(2) + "}\n"
    (tmp_path / "in.c").write_text(text)
    module, name = (rewriting, "plan_of") if where == "plan" else (regions, "lower_region")
    plain = getattr(module, name)

    def failing(*given):
        failing.calls += 1
        if failing.calls == 1:
            raise error
        return plain(*given)

    failing.calls = 0
    monkeypatch.setattr(module, name, failing)
    first, second = rewriting.rewrite(tmp_path / "in.c").regions
    assert isinstance(first.error, InternalError)
    assert str(error.args[0] if isinstance(error, ValueError) else error.diagnostic.message) in str(
        first.error
    )
    assert second.error is None
    assert "a[i] = 2.0" in second.code


MATMUL = """void f(int n, double A[restrict n][n], double B[restrict n][n], double C[restrict n][n]) {
#pragma scop
for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) for (int k = 0; k < n; k++)
    C[i][j] += A[i][k] * B[k][j];
#pragma endscop
}
"""


def test_a_search_without_budget_leaves_the_source_order(tmp_path, monkeypatch):
    monkeypatch.setattr(rewriting, "SEARCH_OPERATIONS", 1)
    (tmp_path / "in.c").write_text(MATMUL)
    (region,) = rewriting.rewrite(tmp_path / "in.c").regions
    assert region.error is None
    assert region.plan.moves == ()
    assert "C[i][j] = C[i][j] + A[i][k] * B[k][j];" in region.code


def test_code_beyond_its_budget_stays_as_it_is(tmp_path, monkeypatch):
    monkeypatch.setattr(rewriting, "CODE_OPERATIONS", 100)
    (tmp_path / "in.c").write_text(MATMUL)
    done = rewriting.rewrite(tmp_path / "in.c")
    assert isinstance(done.regions[0].error, NotDecidedError)
    assert done.text == MATMUL
