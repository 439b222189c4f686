"""The page about soak runs: what was tried, how often, and what failed."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_HEAD = """\
# Random programs

What `make soak` has run so far, written by `make soak REPORT=docs/soak.md`. Each program is new: a
random one in some form, with one plan, one compiler, and up to three sizes on one thread and on
two. What it computes is said by its own C, compiled apart without optimisation, or by NumPy for
stages; a difference in one bit, an access outside an array, a crash, a loop without end, an
internal error, or a message that is not in the user's words is a failure. The numbers lie beside
this page, and the next run with this `REPORT` goes on from them.
"""
_TITLES = {
    "form": ("Programs", "form"),
    "changed": ("The same in other words, compared with what it was before", "change"),
    "plan": ("Plans", "made by"),
    "build": ("Compilers", "build"),
    "code": ("Versions of polyopt", "commit"),
}


def page(state: Mapping[str, Any]) -> str:
    """The page of a state that ``Soak.summary`` gives."""
    totals, counts = state["totals"], state["counts"]
    hours = totals["hours"]
    rate = totals["programs"] / hours / 3600 if hours else 0.0
    rows = [
        ("programs", f"{totals['programs']:,}"),
        ("compiled plans", f"{totals['plans']:,}"),
        ("runs, at one size each", f"{counts['kinds'].get('runs', 0):,}"),
        ("hours of processor time, compilers included", f"{hours:.2f}"),
        ("programs per second of it", f"{rate:.1f}"),
        ("moves accepted", f"{sum(counts['accepted'].values()):,}"),
        ("moves refused", f"{sum(counts['refused'].values()):,}"),
        ("failures", f"{sum(counts['failed'].values()):,}"),
        ("processor time of the slowest, in seconds", f"{state['slowest'][0]:.1f}"),
        ("seeds", f"{state['first_seed']:,} to {state['next_seed'] - 1:,}"),
    ]
    parts = [_HEAD, _table(("", "count"), rows), *_kinds(counts["kinds"]), _moves(counts)]
    return "\n".join([*parts, _failures(state["examples"])])


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "| --- " + "| ---: " * (len(head) - 1) + "|"]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows), ""])


def _kinds(kinds: Mapping[str, int]) -> list[str]:
    parts: list[str] = []
    for kind, (title, head) in _TITLES.items():
        found = [(n.partition(": ")[2], c) for n, c in kinds.items() if n.startswith(f"{kind}: ")]
        rows = [(f"`{name}`", f"{count:,}") for name, count in sorted(found, key=lambda r: -r[1])]
        parts.append(f"## {title}\n\n{_table((head, 'programs'), rows)}")
    return parts


def _moves(counts: Mapping[str, Mapping[str, int]]) -> str:
    refused: Counter[str] = Counter()
    for name, count in counts["refused"].items():
        refused[name.split()[0]] += count
    names = sorted({*counts["accepted"], *refused})
    rows = [(f"`{n}`", f"{counts['accepted'].get(n, 0):,}", f"{refused[n]:,}") for n in names]
    return "## Moves by hand\n\n" + _table(("move", "accepted", "refused"), rows)


def _failures(examples: Iterable[Mapping[str, Any]]) -> str:
    rows = [(str(e["seed"]), e["kind"], _short(e["text"]), e["file"]) for e in examples]
    if not rows:
        return "## Failures\n\nNone.\n"
    said = (
        "Each was made small and is a file in `tests/property/corpus`, which every `make test` runs"
        " again; several may have one cause.\n"
    )
    return f"## Failures\n\n{said}\n" + _table(("seed", "kind", "what", "file"), rows)


def _short(text: str) -> str:
    text = text.replace("|", "/")
    return text if len(text) < 90 else text[:87] + "..."
