"""What Jupyter shows for polyopt's values: small HTML without scripts or outside files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyopt.escaping import markup as escape
from polyopt.explain.choices.alternatives import HEAD
from polyopt.explain.choices.tradeoff import HEAD as FRONT
from polyopt.explain.remarks.explanation import number_text
from polyopt.explain.remarks.summary import beside
from polyopt.oneline import some
from polyopt.scheduler.model.table import human_bytes, human_time, slowest

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from polyopt.analysis.dependences import Dependences
    from polyopt.explain.choices.alternatives import Alternatives
    from polyopt.explain.choices.difference import Difference
    from polyopt.explain.choices.tradeoff import Tradeoff
    from polyopt.explain.provenance import Provenance
    from polyopt.explain.remarks.explanation import Explanation
    from polyopt.ir.scop import Scop
    from polyopt.runtime.kernel import Kernel
    from polyopt.runtime.reports.vector_loops import VectorLoops
    from polyopt.scheduler.model.cost import Cost
    from polyopt.transform.legality.proof import Proof
    from polyopt.transform.plan import Plan
    from polyopt.transform.schedule.remark import Remark

#: colours of remarks, dark enough to read on white and on grey
_KIND = {
    "applied": "#00664B", "refused": "#A33F00", "not considered": "#555555", "unknown": "#8A4B76",
}  # fmt: skip
#: numbers that say nothing where they are 0
NOTHING = frozenset({"scratch bytes", "bytes saved", "more bytes moved"})
#: characters of C that a cell shows at most
MOST_C = 60_000
#: a table shows so many rows at most
MOST_ROWS = 80
_CELL = "text-align:left;vertical-align:top;padding:2px 10px 2px 0"
_NUMBER = "text-align:right;vertical-align:top;padding:2px 10px 2px 0"


def table(
    head: Sequence[str], rows: Iterable[Sequence[str]], *, numbers: frozenset[int] = frozenset()
) -> str:
    """An HTML table of cells that are HTML already; columns in ``numbers`` align right."""

    def row(cells: Sequence[str], tag: str) -> str:
        parts = (
            f'<{tag} style="{_NUMBER if k in numbers else _CELL}">{cell}</{tag}>'
            for k, cell in enumerate(cells)
        )
        return f"<tr>{''.join(parts)}</tr>"

    body = "".join(row(r, "td") for r in rows)
    top = f"<thead>{row([escape(h) for h in head], 'th')}</thead>" if any(head) else ""
    style = "border-collapse:collapse;line-height:1.35"
    return f'<table style="{style}">{top}<tbody>{body}</tbody></table>'


def more(count: int, where: str, most: int = MOST_ROWS) -> str:
    """What stands below a table that was cut: cells of a notebook stay small."""
    return f"<div>and {count - most:,} more: {where}</div>" if count > most else ""


def code(text: str) -> str:
    """Text in a fixed-width font, as it is."""
    return f'<pre style="line-height:1.3;margin:4px 0;font-family:monospace">{escape(text)}</pre>'


def named(title: str, body: str) -> str:
    """HTML under a title."""
    return f'<div><div style="font-weight:bold">{escape(title)}</div>{body}</div>'


def scop_html(scop: Scop) -> str:
    """The program as loops."""
    return code(str(scop))


def dependences_html(found: Dependences) -> str:
    """A row per kind, pair and array, with distance and witness."""
    every = found.rows()
    rows = [
        [escape(cell) for cell in (r.kind, r.source, r.sink, r.array, r.distance_text,
                                   str(r.witness))]
        for r in every[:MOST_ROWS]
    ]  # fmt: skip
    if not rows:
        return "<div>no dependences</div>"
    body = table(["kind", "source", "sink", "array", "distance", "witness"], rows)
    return body + more(len(every), ".rows() has them all")


def plan_html(plan: Plan) -> str:
    """The loop nest as a picture, and the script that makes it."""
    from polyopt.explain.pictures.draw import draw_tree

    script = f"<details><summary>script</summary>{code(plan.script)}</details>"
    return named(f"plan for {plan.scop.name}", draw_tree(plan).svg + script)


def proof_html(proof: Proof) -> str:
    """What was shown, an obligation a row."""
    rows = [[escape(o.name), escape(o.detail)] for o in proof.obligations]
    return named("proved: the plan's dataflow is the source's", table(["", ""], rows))


def cost_html(cost: Cost) -> str:
    """The bill: each quantity beside the source program's."""
    rows = [
        ["operations", f"{'~' * bool(cost.source_estimated)}{cost.source_operations:,}",
         f"{'~' * (not cost.is_exact)}{cost.operations:,}"],
        ["work", "1", f"{cost.work_repeated:.3f}"],
        ["bytes moved", human_bytes(cost.source_bytes_moved),
         human_bytes(cost.bytes_moved)],
        ["&nbsp; inputs and results once", *[human_bytes(cost.compulsory_bytes)] * 2],
        ["arrays between stages", "", human_bytes(cost.intermediate_bytes)],
        ["scratch per thread", "", human_bytes(cost.scratch_bytes)],
        ["operations per byte", f"{cost.source_operations / max(1, cost.source_bytes_moved):.3g}",
         f"{cost.intensity:.3g}"],
        ["iterations for threads", "", f"{cost.parallel_tiles:,}"],
        [f"predicted, {some(cost.time.threads, 'thread')}", human_time(cost.source_time.ns),
         human_time(cost.time.ns)],
    ]  # fmt: skip
    rows += [
        [f"&nbsp; {escape(name.strip())}: {escape(bound)}", "", taken]
        for name, bound, taken, _ in slowest(cost.time)
    ]
    rows += [
        [f"&nbsp; {escape(array)} computed", "", f"{factor:.3f} times"]
        for array, factor in cost.repeated.items()
        if abs(factor - 1) > 5e-4
    ]
    rows += [
        [f"&nbsp; {escape(s.array)}{''.join(f'[{e}]' for e in s.extents)} in {s.fits}", "",
         human_bytes(s.bytes)]
        for s in cost.scratch
    ]  # fmt: skip
    body = table(["", "unfused", "plan"], rows, numbers=frozenset({1, 2}))
    return named(f"{cost.program}: {_sizes(cost.sizes)}", body)


def explanation_html(explanation: Explanation) -> str:
    """The remarks as a table; witnesses and hints below the reason."""
    rows = [_remark_row(r) for r in explanation.rows[:MOST_ROWS]]
    body = table(["", "move", "what", "why", "numbers"], rows)
    return body + more(len(explanation), 'explain("name") or .where(...) shows those you want')


def _remark_row(remark: Remark) -> list[str]:
    colour = _KIND.get(remark.kind, "#222222")
    pair = f"{remark.subject} → {remark.consumer}" if remark.consumer else remark.subject
    notes = [f"witness: {w}" for w in remark.witnesses]
    notes += [f"hint: {remark.hint}"] if remark.hint else []
    more = "".join(f"<br><small>{escape(note)}</small>" for note in notes)
    texts = list(beside(remark)) or [
        number_text(k, v) for k, v in remark.numbers.items() if v or k not in NOTHING
    ]
    shown = "<br>".join(map(escape, texts))
    numbers = f'<div style="white-space:nowrap">{shown}</div>'
    return [
        f'<span style="color:{colour}">{escape(remark.kind)}</span>',
        escape(remark.move),
        escape(pair),
        escape(remark.reason) + more,
        numbers,
    ]


def alternatives_html(found: Alternatives) -> str:
    """The places of a producer as a table, what it cannot hold below."""
    rows = [[escape(cell) for cell in cells] for cells in found.cells()]
    body = table(HEAD, rows, numbers=frozenset(range(2, len(HEAD))))
    notes = "".join(f"<br><small>{escape(note)}</small>" for note in found.notes())
    return named(f"{found.producer} in {found.program}: {_sizes(found.sizes)}", body + notes)


def tradeoff_html(found: Tradeoff) -> str:
    """The front as a picture, and as a table of its points."""
    rows = [[escape(cell) for cell in cells] for cells in found.rows()]
    body = table(FRONT, rows, numbers=frozenset({1, 2, 3, 4}))
    title = f"memory against work: {found.program}, {_sizes(found.sizes)}"
    said = escape(" ".join(found.notes()))
    notes = f"<div><small>{said}</small></div>" if said else ""
    return named(title, found.picture().svg + body + notes)


def provenance_html(found: Provenance) -> str:
    """What an element is computed from, a row per statement and input."""
    rows = [[escape(cell) for cell in cells] for cells in found.lines()]
    body = table(["", "how many", "which", "in the plan"], rows, numbers=frozenset({1}))
    at = ", ".join(f"{name} = {value}" for name, value in found.at.items())
    title = f"{found.element} of {found.program}, {_sizes(found.sizes)}"
    return named(title, f"<div>written by {escape(found.writer)} at {escape(at)}</div>{body}")


def difference_html(found: Difference) -> str:
    """Moves that went and came, places, and the bills side by side."""
    moves = [f"- {m}" for m in found.removed] + [f"+ {m}" for m in found.added]
    places = [f"{name}: {one} -> {other}" for name, (one, other) in found.places.items()]
    bill = table(["", "before", "after", "ratio"], [list(row) for row in found.rows()],
                 numbers=frozenset({1, 2, 3}))  # fmt: skip
    return named(f"{found.program}: {_sizes(found.sizes)}", code("\n".join(moves + places)) + bill)


def vector_loops_html(found: VectorLoops) -> str:
    """A row for each vector loop: what the compiler made of it."""
    from polyopt.runtime.reports.vector_loops import HEAD as VECTOR_LOOPS

    if not found:
        return f"<div>{escape(str(found))}</div>"
    rows = [[escape(cell) for cell in row] for row in found.rows()[:MOST_ROWS]]
    body = table(VECTOR_LOOPS, rows, numbers=frozenset({2}))
    return body + more(len(found), "print(kernel.vector_loops) has them all")


def kernel_html(kernel: Kernel) -> str:
    """The prototype, how to call it, and its C to unfold."""
    call = f"{kernel.name}({', '.join(kernel.positional)})"
    shown, left = kernel.source[:MOST_C], kernel.source[MOST_C:].count("\n")
    rest = f"<div>and {left:,} more lines: print(kernel.source) has them all</div>" if left else ""
    c = f"<details><summary>C</summary>{code(shown)}{rest}</details>"
    loops = kernel.vector_loops
    vectors = f"<div>vector loops: {escape(loops.total)}</div>" if loops else ""
    return named(call, code(kernel.program.prototype) + vectors + c)


def _sizes(sizes: Mapping[str, int]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in sizes.items())
