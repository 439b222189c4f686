"""One page, complete in itself, about a network: graph, passes, kernels, reasons, plans, times."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyopt.cli.views.webpage import page_of
from polyopt.escaping import markup as escape
from polyopt.explain.jupyter import code, more, proof_html
from polyopt.explain.pictures.draw import draw_tree
from polyopt.graph.notebook import (
    explanation_html,
    graph_html,
    groups_html,
    passes_html,
    profile_html,
)
from polyopt.scheduler.model.table import human_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from polyopt.graph.execution.model import Model
    from polyopt.graph.execution.profile import Profile
    from polyopt.graph.kernels import GroupKernel
    from polyopt.graph.passes.manager import PassReport

#: kernels whose plan and C a page has
MOST_KERNELS = 12


def network_page(model: Model, passes: PassReport, profile: Profile | None) -> str:
    """The page as HTML; ``profile`` is what calls took, without it the page has no times."""
    inputs = ", ".join(f"{v.name}: {v}" for v in model.graph.inputs)
    outputs = ", ".join(f"{name}: {model.graph.values[name]}" for name in model.graph.outputs)
    intro = f"A network and its kernels, from {inputs} to {outputs}."
    return page_of(model.name, intro, _sections(model, passes, profile))


def _sections(
    model: Model, passes: PassReport, profile: Profile | None
) -> Iterator[tuple[str, str]]:
    groups = model.grouping.groups
    yield "Network", graph_html(model.graph, groups)
    yield "Passes", passes_html(passes)
    yield "Kernels", groups_html(model.graph, groups)
    yield "Reasons", explanation_html(model.explain())
    shared, apart = human_bytes(model.arena.bytes), human_bytes(model.arena.unshared_bytes)
    said = f"All computed tensors share {shared}; one after the other they would take {apart}."
    yield "Memory", f"<p>{said}</p>"
    yield "Plans", "".join(_plans(model))
    if profile is not None:
        yield "Measured", profile_html(profile)


def _plans(model: Model) -> Iterator[str]:
    """Each distinct kernel, to unfold: loops, proof, C."""
    first: dict[int, int] = {}
    for number, step in enumerate(model.steps, 1):
        first.setdefault(id(step.kernel), number)
    for number in list(first.values())[:MOST_KERNELS]:
        step = model.steps[number - 1]
        operators = " + ".join(node.op for node in step.group.nodes)
        again = sum(other.kernel is step.kernel for other in model.steps) - 1
        title = f"#{number} {operators}" + (f", and {again} alike" if again else "")
        yield f"<details><summary>{escape(title)}</summary>{_plan(step.kernel)}</details>"
    yield more(len(first), "model.steps has them all", MOST_KERNELS)


def _plan(kernel: GroupKernel) -> str:
    plan = kernel.planned.plan
    return draw_tree(plan).svg + proof_html(plan.prove()) + code(kernel.kernel.source)
