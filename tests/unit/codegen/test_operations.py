"""Operation counts as text that C and Python read alike."""

from __future__ import annotations

from polyopt.codegen.operations import flops_text


def test_counts_every_box_once(blur, conv) -> None:
    assert flops_text(blur) == "2 * H * (W - 2) + 2 * (H - 2) * (W - 2)"
    assert flops_text(conv) == "2 * (H - 2) * (W - 2) * 3 * 3"


def test_a_triangle_has_no_text(triangular) -> None:
    assert flops_text(triangular) == ""
