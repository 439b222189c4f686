"""What compilers say of vector loops: read, kept with the kernel, and shown."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest

import polyopt as po
from polyopt.codegen.printers.vector_loops import VectorLoop
from polyopt.explain import compiler_remarks
from polyopt.runtime.reports.clang import read_clang
from polyopt.runtime.reports.gcc import read_gcc
from polyopt.runtime.reports.notes import REPORT, CompilerReport, read_report, write_report
from polyopt.runtime.reports.vector_loops import facts
from polyopt.runtime.toolchain import Toolchain, find_toolchain
from tests.compilers import COMPILERS

#: a loop in lines 10 to 14, one in 20 to 24 that another function has as well, and that one
LOOPS = (
    VectorLoop("out.x", 10, 14, "f", ("out",)),
    VectorLoop("bx.x", 20, 24, "g", ("bx",)),
    VectorLoop("by.x", 30, 34, "h", ("by",)),
)


def told(report: str):
    return facts(LOOPS, read_gcc(report, "gcc 12"))


def test_the_widest_vectors_count_wherever_in_the_loop_gcc_reports_them():
    (one, *_) = told(
        "k.c:12:54: optimized: loop vectorized using 32 byte vectors\n"
        "k.c:12:54: optimized: loop vectorized using 16 byte vectors\n"
        "k.c:12:43: missed: couldn't vectorize loop\n"
        "k.c:13:59: missed: not vectorized: complicated access pattern.\n"
    )
    assert (one.outcome, one.bytes, one.reason) == ("vectors", 32, "")
    assert str(one) == "out.x, line 10: vectors of 32 bytes"


@pytest.mark.parametrize(
    ("line", "outcome"),
    [
        ("k.c:11:9: optimized: basic block part vectorized using 16 byte vectors", "straight-line"),
        ("k.c:11:9: optimized: Loop 2 distributed: split to 0 loops and 1 library calls.", "call"),
        (
            "k.c:11:9: optimized: Loop 2 distributed: split to 1 loops and 1 library calls.",
            "unknown",
        ),
        ("k.c:15:9: optimized: loop vectorized using 16 byte vectors", "unknown"),
    ],
)
def test_vectors_of_other_kinds(line, outcome):
    missed = "k.c:11:9: optimized: loop with 4 iterations completely unrolled\n"
    assert told(missed + line)[0].outcome == outcome


def test_the_reason_is_that_of_the_widest_vectors_with_the_function_that_it_is_about():
    (one, *_) = told(
        "k.c:12:24: missed:   Unknown misalignment, naturally aligned\n"
        "k.c:12:24: missed:   function is not vectorizable.\n"
        "k.c:12:24: missed:   not vectorized: relevant stmt not supported: _1 = pow (_2, x_3);\n"
        "k.c:12:24: missed:  bad operation or unsupported loop bound.\n"
        "k.c:13:24: missed:   not vectorized: no vectype for stmt: _5 = *_6;\n"
        "k.c:12:35: missed: couldn't vectorize loop\n"
    )
    assert (one.outcome, one.reason) == ("none", "function is not vectorizable: pow")
    assert "no vector form" in one.hint


def test_what_is_said_of_the_loop_around_counts_last():
    (one, *_) = told(
        "k.c:12:18: missed: not vectorized: multiple nested loops.\n"
        "k.c:13:24: missed:   not vectorized: no vectype for stmt: _59 = .MASK_LOAD (_5, 32B, _6);\n"
    )
    assert one.reason == "no vectype for stmt: .MASK_LOAD"


def test_a_function_that_is_the_code_of_another_one():
    found = told(
        "k.c:18:13: optimized: Semantic equality hit:g/3->h/5\n"
        "k.c:21:9: optimized: loop vectorized using 32 byte vectors\n"
    )
    assert [fact.outcome for fact in found] == ["unknown", "vectors", "vectors"]
    assert found[2].line == 30
    assert found.total == "2 of 3 vectorized"


CLANG = """\
k.c:10:5: remark: the cost-model indicates that interleaving is not beneficial [-Rpass-analysis=loop-vectorize]
k.c:10:5: remark: vectorized loop (vectorization width: 8, interleaved count: 1) [-Rpass=loop-vectorize]
k.c:22:9: remark: loop not vectorized: cannot identify array bounds [-Rpass-analysis=loop-vectorize]
k.c:20:5: remark: loop not vectorized (Force=true) [-Rpass-missed=loop-vectorize]
k.c:20:5: warning: loop not vectorized: the optimizer was unable to perform the requested transformation [-Wpass-failed=transform-warning]
k.c:31:9: remark: Stores SLP vectorized with cost -3 and with tree size 3 [-Rpass=slp-vectorizer]
"""


def test_clang_says_it_in_remarks():
    one, two, three = facts(LOOPS, read_clang(CLANG, "clang version 19.1.7"))
    assert (one.outcome, one.lanes, one.said) == ("vectors", 8, "8 lanes")
    assert (two.outcome, two.reason) == ("none", "cannot identify array bounds")
    assert three.outcome == "straight-line"


def test_clang_s_remarks_at_the_pragma_are_about_the_loop_after_it():
    said = "k.c:19:1: remark: vectorized loop (vectorization width: 4, interleaved count: 1)\n"
    found = facts(LOOPS, read_clang(said, "Debian clang version 14.0.6"))
    assert [fact.outcome for fact in found] == ["unknown", "vectors", "unknown"]


def test_clang_without_a_reason():
    said = "k.c:10:5: remark: loop not vectorized [-Rpass-missed=loop-vectorize]\n"
    assert facts(LOOPS, read_clang(said, "clang"))[0].reason == "it does not say why"


def test_without_a_report_nothing_is_known():
    found = facts(LOOPS, None)
    assert {fact.outcome for fact in found} == {"unknown"}
    assert not found.missed
    assert "without a report" in found[0].reason


@pytest.mark.parametrize("version", ["cc (GCC) 4.8.5", "tcc version 0.9.27", "unknown"])
def test_compilers_that_we_cannot_read_are_not_asked(version):
    assert not Toolchain(("true",), version).reports


def test_reports_are_kept_and_read_again(tmp_path):
    report = read_clang(CLANG, "clang version 19.1.7")
    write_report(report, tmp_path)
    assert read_report(tmp_path) == report


@pytest.mark.parametrize("text", ["", "{", "[]", '{"compiler": "x", "notes": [{"kind": "new"}]}',
                                  '{"compiler": "x", "notes": [{"line": 1, "kind": "new"}]}'])  # fmt: skip
def test_a_damaged_report_is_none(tmp_path, text):
    (tmp_path / REPORT).write_text(text)
    assert read_report(tmp_path) is None


POWERS = """
void powers(int n, const double x[n], const double y[n], double out[n], double twice[n])
{
    for (int i = 0; i < n; i++)
        out[i] = pow(x[i], y[i]);
    for (int i = 0; i < n; i++)
        twice[i] = 2.0 * x[i];
}
"""


@pytest.fixture(scope="module")
def powers(tmp_path_factory):
    """A kernel of two vector loops: compilers have no vectors of the C library's ``pow``."""
    plan = po.Plan(po.parse_c(POWERS)).vectorize("out.i").vectorize("twice.i")
    return plan.compile(libm=True, cache=tmp_path_factory.mktemp("cache"))


def test_lines_are_those_of_the_printed_loops(powers):
    lines = powers.source.splitlines()
    for loop in powers.program.vector_loops:
        assert lines[loop.first - 2] == "#pragma omp simd"
        assert lines[loop.first - 1].lstrip().startswith("for (")
        assert lines[loop.last - 1].strip() == "}"
        assert loop.function == "powers"
    assert [loop.writes for loop in powers.program.vector_loops] == [("out",), ("twice",)]


def test_a_call_without_a_vector_form_is_a_remark_with_its_reason(powers):
    out, twice = powers.vector_loops
    assert twice.is_vectorized
    assert out.outcome == "none"
    assert any(word in out.reason for word in ("pow", "call"))  # gcc's words, clang's
    (remark,) = compiler_remarks(powers, {"n": 100})
    assert (remark.kind, remark.move, remark.subject) == ("refused", "vectorize", "out.i")
    assert out.reason in remark.reason
    assert f"line {out.line} of the C" in remark.reason
    assert remark.hint == out.hint != ""
    assert remark.numbers == {"iterations": 100}
    assert remark.span is not None
    assert remark.span.line == 5
    assert powers.remarks == (str(out),)


def test_explanations_of_kernels_have_both_the_plan_s_reasons_and_the_compiler_s(powers):
    rows = powers.explain(sizes={"n": 100}).where(move="vectorize")
    assert [row.kind for row in rows] == ["applied", "applied", "refused"]
    (alone,) = powers.explain("twice.i", sizes={"n": 100})
    assert alone.kind == "applied"
    assert "no vectors" in str(powers.explain(sizes={"n": 100}))


def test_the_table(powers):
    head, out, twice = str(powers.vector_loops).splitlines()
    assert head.split() == ["loop", "writes", "line", "is", "now", "why"]
    assert out.startswith("out.i  ")
    assert "no vectors" in out
    assert "vectors of" in twice or "lanes" in twice
    assert "<td" in powers.vector_loops._repr_html_()
    assert "1 of 2 vectorized" in powers._repr_html_()


def test_a_cached_kernel_has_its_facts(powers):
    again = powers.plan.compile(libm=True, cache=powers.built.cache.directory)
    assert again.built.library == powers.built.library
    assert again.vector_loops == powers.vector_loops


def test_an_entry_without_a_report_is_no_failure(powers, tmp_path):
    kernel = powers.plan.compile(libm=True, cache=tmp_path)
    (kernel.built.library.parent / REPORT).unlink()
    again = powers.plan.compile(libm=True, cache=tmp_path)
    assert {fact.outcome for fact in again.vector_loops} == {"unknown"}
    assert again.remarks == ()


def test_the_report_changes_nothing_in_the_library(powers, tmp_path):
    source = tmp_path / "kernel.c"
    source.write_text(powers.source)
    flags, compiler = powers.built.flags, find_toolchain()
    compiler.compile_library(source, tmp_path / "one.so", flags)
    report = compiler.compile_reported(source, tmp_path / "two.so", flags)
    assert (tmp_path / "one.so").read_bytes() == (tmp_path / "two.so").read_bytes()
    assert isinstance(report, CompilerReport)


@pytest.mark.parametrize("cc", COMPILERS)
def test_compilers_report_the_same_loops(powers, tmp_path, cc):
    kernel = powers.plan.compile(libm=True, cc=cc, cache=tmp_path)
    out, twice = kernel.vector_loops
    # clang before LLVM 15 makes vectors around calls of one element each where it is told to
    assert out.outcome == ("vectors" if _scalarises_calls(kernel) else "none")
    assert twice.outcome == "vectors"


@pytest.mark.parametrize("type_", ["float", "double"])
@pytest.mark.parametrize("exponent", ["g", "g[i]", "2.5"])
def test_powers_are_vectors_for_exponents_of_all_kinds(tmp_path, type_, exponent):
    """A choice by what is the same for all lanes keeps gcc from vectors of the whole loop."""
    given = f"{type_} g" if exponent != "g[i]" else f"const {type_} g[n]"
    call = "powf" if type_ == "float" else "pow"
    source = (
        f"void powers(int n, {given}, const {type_} x[n], {type_} out[n]) {{\n"
        f"  for (int i = 0; i < n; i++) out[i] = {call}(x[i], ({type_}){exponent});\n}}\n"
    )
    kernel = po.auto(po.parse_c(source)).compile(cache=tmp_path, check=False)
    (loop,) = kernel.vector_loops
    assert loop.outcome == "vectors"


def _scalarises_calls(kernel) -> bool:
    found = re.search(r"clang version (\d+)", kernel.built.toolchain.version)
    return found is not None and int(found[1]) < 15


def test_facts_are_json(powers):
    out = powers.vector_loops[0]
    assert json.loads(json.dumps(out.as_dict())) == {
        "loop": "out.i", "line": out.line, "writes": ["out"], "outcome": "none", "bytes": 0,
        "lanes": 0, "reason": out.reason, "hint": out.hint,
    }  # fmt: skip


def test_kernels_without_vector_loops():
    found = facts((), CompilerReport("gcc", ()))
    assert str(found) == "no loop is marked as a vector loop"


def test_a_loop_of_a_plan_is_named_once_for_all_its_loops_in_c(powers):
    # as whole tiles and what is left of them are
    loop = powers.program.vector_loops[0]
    twin = replace(loop, first=loop.last + 30, last=loop.last + 32)
    kernel = powers.plan.compile(libm=True, cache=powers.built.cache.directory)
    kernel.program = replace(kernel.program, vector_loops=(loop, twin))
    (remark,) = compiler_remarks(kernel)
    assert remark.reason.endswith(f"line {loop.first} of the C, 1 of 2 loops")
