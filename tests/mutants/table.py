"""All mutants and what becomes of them, as a page: ``python -m tests.mutants.table -o FILE``."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from . import code, loads, programs, sources, text, trees
from .judge import judged
from .subjects import SUBJECTS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .judge import Verdict

KINDS = (*sources.KINDS, *programs.KINDS, *trees.KINDS, *code.KINDS, *loads.KINDS, *text.KINDS)
OUTCOMES = ("disproved", "refused", "equivalent", "survived")
_HEAD = """\
# Mutants: wrong plans and wrong code, and what becomes of them

Right plans are broken on purpose, one fault at a time, in six places: the program that moves
leave, the plan, the storage that it uses, the schedule tree that isl makes loops of, the loops
before they are printed as C, and the text that is printed.
Wrong programs, plans and storage have to be refused by the proof; wrong trees, code and text by reading the
C back
([decision 15](adr/0014-c-is-read-back.md)). Written by `make mutations`.

- *disproved*: refused, with a reason
- *refused*: no C comes of it, or C that a compiler does not take
- *equivalent*: accepted, and right: an executor that shares nothing with the proof, and the compiled
  kernel, give the source's results at sizes that cross the borders of tiles
- *survived*: accepted, and wrong

"""
_SAMPLE = """\
Of each fault at most {most} places in each plan are tried: the first, the last, and others drawn
with the names of fault and plan as the seed.

"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Judge all mutants; the exit code is 1 where one survives."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-o", "--output", type=Path)
    parser.add_argument("--most", type=int, default=3, help="places of a fault in one plan")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--layer", action="append")
    parser.add_argument("--kind")
    options = parser.parse_args(arguments)
    found: list[Verdict] = []
    with tempfile.TemporaryDirectory() as folder:
        for kind in KINDS:
            if options.layer and kind.layer not in options.layer:
                continue
            if options.kind and options.kind not in kind.name:
                continue
            mine = list(judged(kind, SUBJECTS, Path(folder), options.most, options.jobs))
            counts = Counter(v.outcome for v in mine)
            print(f"{kind.layer:8} {kind.name:45} {dict(counts)}", flush=True)
            for verdict in mine:
                if verdict.outcome == "survived":
                    print(f"    survived in {verdict.subject}: {verdict.detail}", flush=True)
            found += mine
    if options.output:
        options.output.write_text(page(found, options.most), encoding="utf-8")
    return any(v.outcome == "survived" for v in found)


def page(found: Sequence[Verdict], most: int) -> str:
    """The table as Markdown."""
    counts = Counter((v.kind.layer, v.kind.name, v.outcome) for v in found)
    total = Counter(v.outcome for v in found)
    wrong = total["disproved"] + total["refused"] + total["survived"]
    killed = wrong - total["survived"]
    rate = f"{100 * killed / wrong:.4g} %" if wrong else "no mutants"
    plans = ", ".join(s.name for s in SUBJECTS)
    kinds = dict.fromkeys((v.kind.layer, v.kind.name) for v in found)
    lines = [
        f"{len(found)} mutants of {len(kinds)} kinds, of {len(SUBJECTS)} plans ({plans}).",
        f"Of {wrong} that are wrong or not shown to be right, {killed} are stopped: {rate}.",
        "",
        "| where | fault | mutants | " + " | ".join(OUTCOMES) + " |",
        "|---|---|---:|" + "---:|" * len(OUTCOMES),
    ]
    for layer, name in kinds:
        row = [counts[layer, name, outcome] for outcome in OUTCOMES]
        cells = " | ".join(str(n or "") for n in row)
        lines.append(f"| {layer} | {name} | {sum(row)} | {cells} |")
    row = [total[outcome] for outcome in OUTCOMES]
    lines.append(f"| | all | {sum(row)} | {' | '.join(map(str, row))} |")
    return _HEAD + _SAMPLE.format(most=most) + "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
