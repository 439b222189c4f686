"""Programs under other names: the same plan, and the same tree of C.

``python -m tests.property.renaming --programs 5000`` takes random programs, with ``--kernels`` all
of ``kernels/`` that are C; the exit code is 1 after any difference. The new names are made to
clash: parts of each other, with numbers behind them, and those that polyopt gives to things of its
own.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING
from unittest.mock import patch

import polyopt as po
from polyopt.bench.suites import KERNELS, members
from polyopt.codegen import emit as emission
from polyopt.codegen.printers.c import print_c
from polyopt.errors import UserError
from polyopt.library import kernels_dir
from tests.unit.codegen.reparse import check_text

from .programs import random_program

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from polyopt.codegen.ast.nodes import Function
    from polyopt.ir.scop import Scop

#: names that are parts of each other, end in digits, or are polyopt's own
CLASHING = (
    "x", "xx", "xxx", "x1", "x2", "x11", "i", "i1", "i2", "inside", "xinside", "x_tile", "x_tile1",
    "y_tile", "v1", "v2", "x_sum", "x_block", "x_end", "x_strip", "threads", "buffer", "lane",
    "min_i64", "max_i64", "floordiv_i64", "out", "out_tile", "N1", "NN", "N_1", "a", "aa", "a_a",
    "i_i", "ii", "jj", "j_tile", "k_tile_2", "c0", "c1", "done", "apart", "share", "f__", "x__1",
)  # fmt: skip


@dataclass(frozen=True)
class Difference:
    """What a program's names changed that they must not."""

    what: str
    old: str
    new: str

    def __str__(self) -> str:
        return f"{self.what}\n--- as it was\n{self.old}\n--- renamed\n{self.new}"


def clashing(names: Iterable[str], seed: object) -> dict[str, str]:
    """Another name for each, drawn."""
    rng = random.Random(f"names {seed}")  # noqa: S311
    known = sorted(names)
    more = [f"x{'_' * (n % 3)}{n}" for n in range(20, 20 + len(known))]
    return dict(zip(known, rng.sample([*CLASHING, *more], len(known)), strict=True))


def renamed(text: str, names: Mapping[str, str]) -> str:
    """The text under other names."""
    word = re.compile(rf"\b({'|'.join(map(re.escape, names))})\b")
    return "\n".join(
        line if line.startswith("#include") else word.sub(lambda found: names[found[1]], line)
        for line in text.split("\n")
    )


def names_of(scop: Scop) -> set[str]:
    """What a program's text names: arrays, sizes, and iterators."""
    iterators = {i for statement in scop.statements for i in statement.iterators}
    return {*iterators, *(a.name for a in scop.arrays), *scop.params}


def difference(text: str, seed: object, target: str = "avx512") -> Difference | None:
    """What is otherwise under other names; ``None`` where nothing is, or the program is refused."""
    try:
        scop = po.parse_c(text)
    except UserError:
        return None
    # a name that the text has otherwise, such as a function's, keeps its meaning
    known = {name for name in names_of(scop) if re.search(rf"\b{re.escape(name)}\b", text)}
    if known & {scop.name}:
        return None
    names = clashing(known, seed)
    other = renamed(text, names)
    plan, again = (po.auto(po.parse_c(t), target=target) for t in (text, other))
    if _moves(plan) != _moves(again):
        return Difference("another plan", plan.script, again.script)
    (tree, source), (_, told) = _emitted(plan), _emitted(again)
    try:
        check_text(tree, told)
    except AssertionError as error:
        return Difference(f"another tree: {error}", source, told)
    return None


def _moves(plan: po.Plan) -> list[tuple[object, ...]]:
    """The moves without the names in them: which loops they are of shows in the tree."""
    return [
        (move.name, *(a for a in (*move.args, *dict(move.options).values()) if isinstance(a, int)))
        for move in plan.moves
    ]


def _emitted(plan: po.Plan) -> tuple[Function, str]:
    with patch.object(emission, "print_c", side_effect=print_c) as printed:
        made = emission.emit(plan.program)
    return printed.call_args.args[0], made.source


def differences(seeds: Iterable[int]) -> Iterator[tuple[int, Difference]]:
    """The random programs of these seeds that names change."""
    for seed in seeds:
        found = difference(random_program(seed).text, seed)
        if found is not None:
            yield seed, found


def kernels_that_differ() -> Iterator[tuple[str, Difference]]:
    """The kernels of the library that names change."""
    known = set(members(KERNELS))
    for path in sorted(kernels_dir().rglob("*.c")):
        if path.stem not in known:
            continue
        found = difference(path.read_text(), path.stem)
        if found is not None:
            yield path.stem, found


def main() -> int:
    """Say how many programs were compared, and which differ."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kernels", action="store_true")
    given = parser.parse_args()
    failed, what = 0, f"{given.programs} programs from seed {given.seed} on"
    if given.kernels:
        found, what = kernels_that_differ(), "kernels in C"
    else:
        found = differences(range(given.seed, given.seed + given.programs))
    for name, one in found:
        failed += 1
        sys.stdout.write(f"{name}: {one}\n")
    sys.stdout.write(f"{what}: {failed} differ\n")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
