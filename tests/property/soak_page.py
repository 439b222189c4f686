"""The page about soak runs: what was tried, how often, and what failed."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

_HEAD = """\
# Random programs

What `make soak` has run so far, written by `make soak REPORT=docs/soak.md`, by two generators that
know nothing of each other. The numbers lie beside this page, and the next run with this `REPORT`
goes on from them. Failures are told with the commit that they were found with; one is mended with the first commit
that was seen to be free of it.
"""
_ABOUT = {
    "property": """\
# Programs from the representation

Each program is new: a random one in some form, with one plan, one compiler, and up to three sizes on one thread and on
two. What it computes is said by its own C, compiled apart without optimisation, or by NumPy for
stages; a difference in one bit, an access outside an array, a crash, a loop without end, an
internal error, or a message that is not in the user's words is a failure.
""",
    "random_c": """\
# C as people write it

Each program is new C text: types of all widths for sizes, iterators and elements, names that clash with whatever has
names, loops in all ways to write them, extreme values, arrays that overlap. It is called as a kernel by one
plan, and its whole file is rewritten. What it computes is said by its source alone, compiled apart without optimisation
and watched by sanitizers: programs that are not defined are left out. The same is a failure as above, and
so is C that a compiler does not take, a refusal without place and hint, a proof that refutes a right plan, and rewritten
C that a sanitizer stops.
""",
}
_TITLES = {
    "form": ("Programs", "form"),
    "program": ("Programs", "kind"),
    "changed": ("The same in other words, compared with what it was before", "change"),
    "plan": ("Plans", "made by"),
    "taken": ("Taken", "by"),
    "refused": ("Refused most often", "why"),
    "proof": ("Proofs of the C itself", "result"),
    "build": ("Compilers", "build"),
    "code": ("Versions of polyopt", "commit"),
}
#: of one kind
_MOST_ROWS = 20


def page(states: Mapping[str, Mapping[str, Any]]) -> str:
    """The page of states that ``Soak.summary`` gives, by generator."""
    parts = [_part(_ABOUT[name], states[name]) for name in _ABOUT if name in states]
    return "\n".join([_HEAD, *parts])


def _part(about: str, state: Mapping[str, Any]) -> str:
    totals, counts = state["totals"], state["counts"]
    hours = totals["hours"]
    rate = totals["programs"] / hours / 3600 if hours else 0.0
    rows = [
        ("programs", f"{totals['programs']:,}"),
        ("of which not defined, and left out", f"{counts['kinds'].get('undefined', 0):,}"),
        ("compiled functions", f"{totals['plans']:,}"),
        ("runs, at one size each", f"{counts['kinds'].get('runs', 0):,}"),
        ("hours of processor time, compilers included", f"{hours:.2f}"),
        ("programs per second of it", f"{rate:.1f}"),
        ("moves accepted", f"{sum(counts['accepted'].values()):,}"),
        ("moves refused", f"{sum(counts['refused'].values()):,}"),
        ("failures", f"{sum(counts['failed'].values()):,}"),
        ("of which mended", f"{sum(bool(e.get('mended')) for e in state['examples']):,}"),
        ("processor time of the slowest, in seconds", f"{state['slowest'][0]:.1f}"),
        ("seeds", f"{state['first_seed']:,} to {state['next_seed'] - 1:,}"),
    ]
    parts = [about.replace("# ", "## ", 1), _table(("", "count"), rows), *_kinds(counts["kinds"])]
    return "\n".join([*parts, *_moves(counts), *_failures(state)])


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "| --- " + "| ---: " * (len(head) - 1) + "|"]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows), ""])


def _kinds(kinds: Mapping[str, int]) -> list[str]:
    parts: list[str] = []
    for kind, (title, head) in _TITLES.items():
        found = [(n.partition(": ")[2], c) for n, c in kinds.items() if n.startswith(f"{kind}: ")]
        most = sorted(found, key=lambda r: -r[1])[:_MOST_ROWS]
        if most:
            rows = [(f"`{name}`", f"{count:,}") for name, count in most]
            parts.append(f"### {title}\n\n{_table((head, 'programs'), rows)}")
    return parts


def _moves(counts: Mapping[str, Mapping[str, int]]) -> list[str]:
    refused: Counter[str] = Counter()
    for name, count in counts["refused"].items():
        refused[name.split()[0]] += count
    names = sorted({*counts["accepted"], *refused})
    rows = [(f"`{n}`", f"{counts['accepted'].get(n, 0):,}", f"{refused[n]:,}") for n in names]
    table = _table(("move", "accepted", "refused"), rows)
    return [f"### Moves by hand\n\n{table}"] if rows else []


def _failures(state: Mapping[str, Any]) -> list[str]:
    """Failures by the commit that they were found with; the mended ones apart."""
    examples = state["examples"]
    if not examples:
        return ["### Failures\n\nNone.\n"]
    said = (
        "Each was made small and is a file in the generator's `corpus`, which every `make test` runs"
        " again; several may have one cause.\n"
    )
    parts = [f"### Failures\n\n{said}\n{_by_commit(examples, state['counts']['kinds'])}"]
    for title, kept in (("Not mended", False), ("Mended", True)):
        some = [e for e in examples if bool(e.get("mended")) == kept]
        head = ("seed", "kind", "what", "file", "found with", *["gone with"] * kept)
        rows = [
            (
                str(e["seed"]), e["kind"], _short(e["text"]), e["file"], _commit(e),
                *[f"`{e.get('mended')}`"] * kept,
            )
            for e in some
        ]  # fmt: skip
        parts.append(f"#### {title}\n\n{_table(head, rows) if rows else 'None.'}\n")
    return parts


def _by_commit(examples: Sequence[Mapping[str, Any]], kinds: Mapping[str, int]) -> str:
    found, gone = Counter[str](), Counter[str]()
    for example in examples:
        found[_commit(example)] += 1
        gone[_commit(example)] += bool(example.get("mended"))
    tried = {f"`{n.partition(': ')[2]}`": c for n, c in kinds.items() if n.startswith("code: ")}
    names = [*tried, *(n for n in found if n not in tried)]
    rows = [(n, f"{tried.get(n, 0):,}", f"{found[n]:,}", f"{gone[n]:,}") for n in names]
    return _table(("commit", "programs", "failures", "mended"), rows)


def _commit(example: Mapping[str, Any]) -> str:
    return f"`{example['code']}`" if example.get("code") else "an earlier one"


def _short(text: str) -> str:
    text = text.replace("|", "/")
    return text if len(text) < 90 else text[:87] + "..."
