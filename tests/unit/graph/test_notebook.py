"""Networks in Jupyter: well-formed HTML that stays small, for every value people look at."""

from __future__ import annotations

import pytest

from polyopt.graph import DEFAULT_PASSES, compile_graph, explain_network, notebook, run_passes
from polyopt.graph.draw import draw_graph
from polyopt.graph.execution.profile import Profile, ProfileRow
from tests.unit.explain.test_jupyter import shown


@pytest.fixture(scope="module")
def residual(net_class):
    """Two convolutions and a way around them."""
    n = net_class(1, 4, 8, 8)
    n.const("w", 4, 4, 3, 3)
    n.conv("c1", "x", "w")
    n.norm("n1", "c1", 4)
    n.add("r1", "relu", "n1")
    n.conv("c2", "r1", "w")
    n.add("s", "add", "c2", "x")
    n.add("r2", "relu", "s")
    return n.graph("r2")


def test_a_model_is_its_graph_and_its_kernels(residual):
    text = shown(compile_graph(residual))
    assert "conv + batch_norm + relu" in text
    assert "2 steps, 2 kernels" in text
    assert "conv #2" in text.replace("  ", " ")


def test_reasons_are_rows_that_name_no_part_of_a_word(residual):
    text = shown(explain_network(residual))
    assert "contraction 1x4x3x3" in text
    assert "each result reads one element of it" in text
    assert "s" in residual.makers  # is no letter of "result"


def test_passes_and_profiles_are_tables(residual):
    assert "fold_batch_norm" in shown(run_passes(residual, DEFAULT_PASSES, verify_numbers=True))
    row = ProfileRow(1, ("r1",), "conv + relu", "f32[1, 4, 8, 8]", 0.25, 10**6, 10**5, 0.5)
    text = shown(Profile("net", 2, (row, row)))
    assert "0.500 ms on 2 thread(s)" in text
    assert "50%" in text


def test_a_large_network_is_text_that_says_what_is_left_out(net_class):
    n = net_class(1, 2, 4, 4)
    last = "x"
    for number in range(400):
        last = n.add(f"node_{number}", "relu", last)
    graph = n.graph(last)
    text = shown(graph)
    assert len(draw_graph(graph).svg) > notebook.LARGEST
    assert "graph net" in text
    assert "more lines: print(graph)" in text


def test_an_arrow_past_other_layers_goes_round_them(residual):
    """The way from x to the sum does not disappear behind the boxes between."""
    picture = draw_graph(residual)
    boxes = [s for s in picture.shapes if type(s).__name__ == "Rect"]
    lines = [s for s in picture.shapes if type(s).__name__ == "Line"]
    right = max(box.x + box.width for box in boxes)
    assert any(line.x1 == line.x2 > right for line in lines)
    for line in (line for line in lines if line.x1 == line.x2):
        for box in boxes:
            crossed = box.x < line.x1 < box.x + box.width
            assert not (crossed and line.y1 < box.y and line.y2 > box.y + box.height)
