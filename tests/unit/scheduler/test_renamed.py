"""A plan goes by what a program does: other names for all that has one give the same plan."""

from __future__ import annotations

import re

import pytest

import polyopt as po
from polyopt.library import load_scop
from polyopt.transform.schedule.tree import PlanLoop

#: names that are parts of each other, that planning makes up, and that its methods' arguments have
NAMES = (
    "i1", "i2", "x_tile", "y_tile", "y_tile2", "xinside", "x", "xx", "space", "i", "i1_tile",
    "loop", "self", "x_strip", "S_1",
)  # fmt: skip
KEPT = {"void", "int", "float", "double", "const", "for", "restrict", "if"}
CHANNELS = """
void channels(int H, int W, const float img[3][H][W], float out[3][H][W])
{
    float ratio[H][W];
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++)
            ratio[y][x] = img[0][y][x] / (img[1][y][x] + img[2][y][x]);
    for (int c = 0; c < 3; c++)
        for (int y = 0; y < H; y++)
            for (int x = 0; x < W; x++)
                out[c][y][x] = ratio[y][x] * img[c][y][x];
}
"""


def _source(name):
    if name.startswith("\n"):
        return name
    text = load_scop(name).source.text
    return re.sub(r"/\*.*?\*/|//.*", "", text, flags=re.DOTALL)


def _renamed(source):
    words = re.findall(r"(?<![\w.])[A-Za-z_]\w*", source)
    found = [w for w in dict.fromkeys(words) if w not in {*KEPT, "pragma", "scop", "endscop"}]
    # iterators are what comes last; the function keeps its name
    names = dict(zip(reversed(found[1:]), NAMES, strict=False))
    return re.sub(r"(?<![\w.])[A-Za-z_]\w*", lambda m: names.get(m[0], m[0]), source)


def _shape(plan):
    """All of a plan but what things are called: loops with marks, storage, moves, and remarks."""
    numbers: dict[str, int] = {}

    def number(name):
        return numbers.setdefault(name, len(numbers))

    def tree(nodes):
        return tuple(
            (n.mark, n.width, n.separate, n.lanes, bool(n.blocks_of), tree(n.body))
            if isinstance(n, PlanLoop)
            else number(n)
            for n in nodes
        )

    program = plan.program
    loops = tree(program.tree)
    stores = [(number(s.array), s.folds) for s in program.stores]
    remarks = [(r.kind, r.move, sorted(r.numbers.values())) for r in plan.remarks]
    return loops, stores, [move.name for move in plan.moves], remarks


@pytest.mark.parametrize(
    "name", ["gesummv", "bicg", "jacobi_1d", CHANNELS],
    ids=["gesummv", "bicg", "jacobi_1d", "channels"],
)  # fmt: skip
def test_a_plan_does_not_depend_on_names(name):
    source = _source(name)
    one, other = (po.auto(po.parse_c(text)) for text in (source, _renamed(source)))
    assert _shape(one) == _shape(other)


def test_loops_over_blocks_are_known_whatever_a_loop_is_called():
    source = """
    void f(int n, const float a[n][n], float x_tile[n][n])
    {
        float b[n][n];
        for (int y_tile = 0; y_tile < n; y_tile++)
            for (int x_tile2 = 0; x_tile2 < n; x_tile2++)
                b[y_tile][x_tile2] = a[y_tile][x_tile2];
        for (int y_tile = 0; y_tile < n; y_tile++)
            for (int x_tile2 = 0; x_tile2 < n; x_tile2++)
                x_tile[y_tile][x_tile2] = b[y_tile][x_tile2];
    }
    """
    plan = po.Plan(po.parse_c(source))
    # without a loop over blocks the outermost loop is where to fuse
    (store,) = plan.fuse("b", into="x_tile").program.stores
    assert store.at == "x_tile.y_tile"
    (store,) = plan.tile("x_tile", y_tile=4).fuse("b", into="x_tile").program.stores
    assert store.at == "x_tile.y_tile_tile"
