"""Operation counts as text that C and Python read alike."""

from __future__ import annotations

from polyopt.codegen.operations import flops_text
from polyopt.ir.scop import Loop


def test_counts_every_box_once(blur, conv) -> None:
    assert flops_text(blur) == "2 * H * (W - 2) + 2 * (H - 2) * (W - 2)"
    assert flops_text(conv) == "2 * (H - 2) * (W - 2) * 3 * 3"


def test_a_triangle_has_no_text(triangular) -> None:
    assert flops_text(triangular) == ""


def test_what_never_runs_counts_for_nothing(program) -> None:
    p = program("N")
    p.array("a", "N")
    p.array("c", "N", role="out")
    p.statement("S", "i", "0 <= i < N", "c: i", lambda b: b.sum("a: i", "a: i"))
    p.statement("T", "i", "0 <= i < N and i > N", "c: i", lambda b: b.sum("a: i", "a: i"))
    assert flops_text(p.scop(Loop("i", ("S", "T")), context="N >= 1")) == "1 * N"
