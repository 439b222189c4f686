"""What Jupyter shows for networks: small HTML, without scripts or outside files."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from polyopt.escaping import markup as escape
from polyopt.explain.jupyter import MOST_ROWS, code, more, named, table
from polyopt.graph.draw import draw_graph
from polyopt.scheduler.model.table import human_bytes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polyopt.graph.execution.model import Model
    from polyopt.graph.execution.profile import Profile
    from polyopt.graph.fusion.lower import Group
    from polyopt.graph.ir.graph import Graph
    from polyopt.graph.passes.manager import PassReport
    from polyopt.graph.reasons import NetworkExplanation, PairRemark

#: characters of a picture beyond which the text stands in for it: cells of a notebook stay small
LARGEST = 60_000
#: lines of a graph's text that are shown then
LINES = 200


def graph_html(graph: Graph, groups: Sequence[Group] = ()) -> str:
    """The graph as a picture; a large one as the first lines of its text."""
    svg = draw_graph(graph, groups).svg
    if len(svg) <= LARGEST:
        return f'<div style="overflow-x:auto">{svg}</div>'
    lines = str(graph).splitlines()
    left = len(lines) - LINES
    rest = f"<div>and {left:,} more lines: print(graph) has them all</div>" if left > 0 else ""
    return code("\n".join(line[:200] for line in lines[:LINES])) + rest


def groups_html(graph: Graph, groups: Sequence[Group]) -> str:
    """The kernels: what each computes."""
    rows = [
        [str(number), escape(" + ".join(node.op for node in group.nodes)),
         escape(", ".join(f"{name}: {graph.values[name]}" for name in group.outputs))]
        for number, group in enumerate(groups[:MOST_ROWS], 1)
    ]  # fmt: skip
    return table(["", "kernel", "gives"], rows, numbers=frozenset({0})) + more(
        len(groups), "print(model.explain()) has them all"
    )


def model_html(model: Model) -> str:
    """Inputs and outputs, the graph in the colours of its kernels, the kernels, their memory."""
    inputs = ", ".join(f"{v.name}: {v}" for v in model.graph.inputs)
    outputs = ", ".join(f"{n}: {model.graph.values[n]}" for n in model.graph.outputs)
    distinct = len({id(step.kernel) for step in model.steps})
    said = (
        f"{inputs} → {outputs}; {len(model.steps)} steps, {distinct} kernels; "
        f"tensors share {human_bytes(model.arena.bytes)}"
    )
    groups = model.grouping.groups
    body = graph_html(model.graph, groups) + groups_html(model.graph, groups)
    return named(model.name, f"<div>{escape(said)}</div>{body}")


def explanation_html(found: NetworkExplanation) -> str:
    """A row per pair of nodes; pairs that say the same stand once, with their number."""
    same = Counter(_cells(row)[1:] for row in found.rows)
    first = {_cells(row)[1:]: row for row in reversed(found.rows)}
    kept = sorted(first.values(), key=found.rows.index)
    rows: list[list[str]] = []
    for row in kept[:MOST_ROWS]:
        pair, *rest = _cells(row)
        count = same[tuple(rest)]
        also = f"<br><small>and {count - 1} alike</small>" if count > 1 else ""
        rows.append([pair + also, *rest])
    head = ["pair", "", "why", "computed", "bytes saved", "scratch", "the other choice"]
    body = table(head, rows, numbers=frozenset({3, 4, 5}))
    title = found.groups_text().partition("\n")[0]
    return named(title, body + more(len(kept), '.about("name") shows those you want'))


def _cells(row: PairRemark) -> tuple[str, ...]:
    colour, verb = ("#00664B", "fused") if row.fused else ("#A33F00", "apart")

    def told(text: str) -> str:
        for name, word in ((row.producer, "it"), (row.consumer, "its reader")):
            text = re.sub(rf"(?<![\w.]){re.escape(name)}(?![\w.])", word, text)
        return escape(text)

    return (
        f"{escape(row.producer)}&nbsp;→&nbsp;{escape(row.consumer)}",
        f'<span style="color:{colour}">{verb}</span>', told(row.reason),
        f"{row.recompute:.3g}x", human_bytes(row.bytes_saved), human_bytes(row.scratch_bytes),
        told(row.counterfactual),
    )  # fmt: skip


def profile_html(found: Profile) -> str:
    """A row per kernel: time, share, rates; a bar for the share."""
    whole = found.ms or 1.0
    known = any(row.fraction for row in found.rows)
    rows = [
        [str(row.number), f"{row.ms:.3f}", _bar(row.ms / whole), f"{row.gflops:.1f}",
         f"{row.gbs:.1f}", *([f"{row.fraction:.0%}"] if known else []),
         escape(f"{row.operators} → {row.result}")]
        for row in found.rows[:MOST_ROWS]
    ]  # fmt: skip
    head = ["", "ms", "share", "GFLOP/s", "GB/s", *(["of limit"] if known else []), "kernel"]
    title = f"{found.network}: {found.ms:.3f} ms on {found.threads} thread(s)"
    body = table(head, rows, numbers=frozenset({0, 1, 3, 4, *([5] if known else [])}))
    return named(title, body + more(len(found.rows), "print(profile) has them all"))


def _bar(share: float) -> str:
    width = max(1, round(80 * share))
    style = f"display:inline-block;width:{width}px;height:9px;background:#0072B2"
    return f'<span style="{style}"></span>&nbsp;{share:.0%}'


def passes_html(report: PassReport) -> str:
    """A row per pass: what it changed, and how far the outputs moved where that was asked."""
    known = any(step.max_error is not None for step in report.steps)
    rows = [
        [escape(step.name), "changed" if step.changed else "same", str(len(step.graph.nodes)),
         *([f"{step.max_error or 0:.2g}"] if known else [])]
        for step in report.steps
    ]  # fmt: skip
    title = f"{report.before.name}: {len(report.before.nodes)} nodes before"
    head = ["pass", "", "nodes", *(["largest error"] if known else [])]
    return named(title, table(head, rows, numbers=frozenset({2, 3})))
