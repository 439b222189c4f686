"""One page, complete in itself, with all there is to know about a program and its plan."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from polyopt.errors import UserError
from polyopt.escaping import markup as escape
from polyopt.explain import (
    Roof,
    Spot,
    animate,
    bill,
    draw_graph,
    draw_roofline,
    draw_tiles,
    draw_windows,
    explain,
    explain_kernel,
    roofs_of,
)
from polyopt.explain.jupyter import (
    code,
    cost_html,
    dependences_html,
    explanation_html,
    plan_html,
    proof_html,
    scop_html,
    table,
    tradeoff_html,
    vector_loops_html,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from polyopt.cli.commands.running import Outcome
    from polyopt.cli.program import Program
    from polyopt.explain import Tradeoff
    from polyopt.scheduler.model.cost import Cost
    from polyopt.transform.plan import Plan

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
body {{ margin: 0 auto; max-width: 70rem; padding: 1rem; font: 16px/1.5 system-ui, sans-serif;
  color: #222; background: #fff; }}
h1 {{ font-size: 1.6rem; margin: .2rem 0; }} h2 {{ margin: 2rem 0 .5rem; font-size: 1.25rem; }}
nav {{ margin: .5rem 0; }} nav a {{ margin-right: .9rem; white-space: nowrap; }}
a {{ color: #17527d; }} section > div {{ overflow-x: auto; }}
pre {{ overflow-x: auto; background: #f4f4f1; padding: .6rem; font-size: 13px; }}
table {{ font-size: 14px; }} svg {{ max-width: 100%; height: auto; }}
@media (max-width: 40rem) {{
  table {{ min-width: 34rem; }} section svg {{ max-width: none !important; }} }}
@media print {{ nav {{ display: none; }} section {{ break-inside: avoid-page; }} }}
</style>
</head>
<body>
<h1>{title}</h1>
<p>{intro}</p>
<nav>{nav}</nav>
{body}
</body>
</html>
"""


def web_page(
    program: Program,
    plan: Plan,
    sizes: Mapping[str, int],
    tradeoff: Tradeoff,
    outcome: Outcome | None,
) -> str:
    """The page as HTML: no scripts, nothing loaded from elsewhere; readable on a phone.

    ``outcome`` is what a run measured; without it the page has no times.
    """
    given = ", ".join(f"{k} = {v}" for k, v in sizes.items())
    intro = f"A program, its plan and what it costs, for {given or 'its fixed sizes'}."
    return page_of(program.name, intro, _sections(program, plan, sizes, tradeoff, outcome))


def page_of(title: str, intro: str, found: Iterable[tuple[str, str]]) -> str:
    """A page of titled sections, whose HTML is given, with links to each."""
    sections = list(found)
    nav = " ".join(f'<a href="#{_anchor(t)}">{escape(t)}</a>' for t, _ in sections)
    body = "\n".join(
        f'<section id="{_anchor(t)}"><h2>{escape(t)}</h2><div>{html}</div></section>'
        for t, html in sections
    )
    page = _PAGE.format(title=escape(title), intro=escape(intro), nav=nav, body=body)
    return _unique_ids(page)


def _anchor(title: str) -> str:
    return re.sub(r"\W+", "-", title.lower())


def _unique_ids(page: str) -> str:
    """The page with what pictures define, hatching and arrow heads, under a name per picture.

    Two equal definitions on one page would be an error, though browsers take the first.
    """
    parts = page.split("<svg ")
    return "<svg ".join([parts[0], *(_numbered(part, n) for n, part in enumerate(parts[1:], 1))])


def _numbered(part: str, number: int) -> str:
    for name in ("po-hatch", "po-arrow"):
        part = part.replace(f'id="{name}"', f'id="{name}-{number}"')
        part = part.replace(f"url(#{name})", f"url(#{name}-{number})")
    return part


def _sections(
    program: Program,
    plan: Plan,
    sizes: Mapping[str, int],
    tradeoff: Tradeoff,
    outcome: Outcome | None,
) -> Iterator[tuple[str, str]]:
    cost = bill(plan, sizes)
    yield "Program", scop_html(program.scop)
    yield "Dependences", dependences_html(program.scop.dependences())
    yield "Plan", plan_html(plan)
    yield "Stages", draw_graph(plan, sizes).svg
    yield "Tiles and windows", "".join(_pictures(plan, sizes))
    kernel = None if outcome is None else outcome.kernel
    reasons = explain(plan, sizes) if kernel is None else explain_kernel(kernel, sizes)
    yield "Reasons", explanation_html(reasons)
    formulas = f"<details><summary>as formulas</summary>{code(str(plan.formula()))}</details>"
    yield "Bill", cost_html(cost) + formulas
    yield "Trade-off", tradeoff_html(tradeoff)
    yield "Proof", proof_html(plan.prove())
    yield "C", code(plan.emit().source)
    if kernel is not None:
        told = f"<p>What {escape(str(kernel.built.toolchain))} made of the loops marked vector.</p>"
        yield "Vectors", told + vector_loops_html(kernel.vector_loops)
    if outcome is not None:
        yield "Measured", _measured(cost, outcome)


def _pictures(plan: Plan, sizes: Mapping[str, int]) -> Iterator[str]:
    """Tiles of every result that has some, what stages keep, and the last window at work."""
    roots = dict.fromkeys(
        plan.program.copies[n].statement.array
        for n in plan.program.places
        if not plan.program.copies[n].outer
    )
    for space in list(roots)[-3:]:
        try:
            yield draw_tiles(plan, space).svg
        except UserError:
            continue
    yield draw_windows(plan, sizes).svg
    folded = [s.array for s in plan.program.scratches if s.is_folded]
    for producer in folded[:1]:
        try:
            yield animate(plan, producer).svg
        except UserError:
            continue


def _measured(cost: Cost, outcome: Outcome) -> str:
    """Times by variant, and where they lie below the machine's limits."""
    from polyopt.bench.machine import machine

    limits = machine()
    rows: list[list[str]] = []
    spots: list[Spot] = []
    for name, sample in outcome.times.items():
        unfused = name == "polyopt-unfused"
        operations = cost.source_operations if unfused else cost.operations
        moved = cost.source_bytes_moved if unfused else cost.bytes_moved
        rate = operations / max(sample.median_ms, 1e-6) / 1e6
        spots.append(Spot(name, operations / max(1, moved), max(rate, 1e-3)))
        rows.append([escape(name), f"{sample.median_ms:.4g}", f"{sample.min_ms:.4g}",
                     f"{sample.iqr_ms:.2g}", str(sample.runs)])  # fmt: skip
    head = ["variant", "median ms", "least ms", "spread ms", "runs"]
    live = max(1, cost.compulsory_bytes)
    # what stays in a cache comes faster than from memory: the roof is that of so much data
    rates = {
        threads: max(rate, limits.stream(live, threads) if limits.stream else rate)
        for threads, rate in limits.bandwidth_gbs.items()
    }
    roofs: list[Roof] = roofs_of(rates, limits.peak_gflops)
    agrees = "agrees with" if outcome.agrees else "DOES NOT AGREE with"
    said = (
        f"<p>{limits.cpu}, {limits.compiler}; up to {outcome.threads} threads; the result {agrees} "
        f"{escape(outcome.checked_against)}. Operations and bytes moved of the picture are the "
        f"bill's, counted, not measured; its bandwidth is what a copy of as much data reaches.</p>"
    )
    times = table(head, rows, numbers=frozenset({1, 2, 3, 4}))
    return said + times + draw_roofline(roofs, spots).svg
