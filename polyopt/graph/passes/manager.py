"""The pass manager: runs passes, and catches those that break a graph or change what it means."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

from polyopt.arguments import checks_arguments
from polyopt.errors import InvalidOptionError, UserError, WrongPassError
from polyopt.graph.draw import draw_graph
from polyopt.graph.execution.run import plain_model, random_inputs
from polyopt.graph.ir.graph import Graph
from polyopt.graph.ir.verify import verify
from polyopt.graph.passes.base import collected_remarks
from polyopt.oneline import one_line, some

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polyopt.graph.execution.model import Model
    from polyopt.graph.ir.graph import Array
    from polyopt.graph.passes.base import Pass


@dataclass(frozen=True)
class Tolerance:
    """How far outputs may move. ``most`` is the largest difference over the largest magnitude of
    the output before; ``mean_squared`` is the mean square of the difference over that of the
    output."""

    most: float = 1e-4
    mean_squared: float = 1e-8


@dataclass(frozen=True)
class PassStep:
    """One pass that ran: the graph after it, how far its outputs moved, if that was asked, and
    what the pass remarked."""

    name: str
    graph: Graph
    changed: bool
    seconds: float
    max_error: float | None = None
    mean_squared_error: float | None = None
    remarks: tuple[str, ...] = ()

    def __str__(self) -> str:
        """One line, and one for each remark."""
        what = "changed" if self.changed else "same"
        text = f"{self.name:<18} {what:<8} {len(self.graph.nodes)} nodes"
        if self.max_error is not None:
            text += f", max error {self.max_error:.2g}, mean squared {self.mean_squared_error:.2g}"
        return "\n  ".join([text, *self.remarks])


@dataclass(frozen=True)
class PassReport:
    """What the passes did; ``graph`` is the result."""

    before: Graph
    steps: tuple[PassStep, ...]

    @property
    def graph(self) -> Graph:
        """The graph after the last pass."""
        return self.steps[-1].graph if self.steps else self.before

    def __repr__(self) -> str:
        """The graph's name, and how many passes there were."""
        changed = sum(step.changed for step in self.steps)
        ran = f"{changed} of {len(self.steps)} passes changed it"
        return one_line(self, self.before.name, ran, some(len(self.graph.nodes), "node"))

    def __str__(self) -> str:
        """One line per pass, with its remarks."""
        return "\n".join(map(str, self.steps))

    def _repr_html_(self) -> str:
        from polyopt.graph.notebook import passes_html

        return passes_html(self)


@checks_arguments
def run_passes(
    graph: Graph,
    passes: Sequence[Pass],
    *,
    verify_numbers: bool = False,
    tolerance: Tolerance | None = None,
    seed: int = 0,
    dump: Path | str | None = None,
) -> PassReport:
    """Run passes in turn. After each, shapes and types are inferred and the graph is checked.

    ``verify_numbers`` also runs the graph before and after on the same random inputs. ``dump`` is
    a folder for the graph before the first and after each pass, as text and as SVG.

    Raises ``WrongPassError`` for a pass that returns no graph or a broken one, changes inputs or
    the types of outputs, or moves outputs beyond the tolerance; ``InvalidOptionError`` where the
    folder cannot be written; what ``verify`` raises for the graph given.
    """
    verify(graph)
    folder = _folder(dump)
    _dump(graph, folder, 0, "before")
    bounds, now = tolerance or Tolerance(), graph
    steps: list[PassStep] = []
    # two at a time are kept: a pass leaves most nodes, whose kernels serve it again
    plain: Model | None = None
    known: tuple[Array, ...] = ()
    inputs = random_inputs(graph, seed) if verify_numbers else {}
    for number, each in enumerate(passes, 1):
        start = perf_counter()
        with collected_remarks() as remarks:
            after = each.run(now)
        seconds = perf_counter() - start
        _check(each, now, after)
        step = PassStep(each.name, after, after is not now, seconds, remarks=tuple(remarks))
        if verify_numbers and after is now:
            step = replace(step, max_error=0.0, mean_squared_error=0.0)
        elif verify_numbers:
            if plain is None:
                plain = plain_model(now)
                known = plain.run(inputs)
            changed = plain_model(after)
            found = changed.run(inputs)
            step = _compared(step, known, found, bounds)
            plain, known = changed, found
        _dump(after, folder, number, each.name)
        steps.append(step)
        now = after
    return PassReport(graph, tuple(steps))


def _check(each: Pass, before: Graph, after: object) -> None:
    """What a pass must not change. Raises ``WrongPassError``."""
    if not isinstance(after, Graph):
        raise WrongPassError(f"{each.name} returned a {type(after).__name__}, not a graph")
    try:
        verify(after)
    except UserError as error:
        shown = error.diagnostic
        raise WrongPassError(f"{each.name} broke the graph: {shown.message}", span=shown.span,
                             notes=shown.notes) from None  # fmt: skip
    if after.inputs != before.inputs:
        raise WrongPassError(f"{each.name} changed the network's inputs")
    was = [str(before.values[name]) for name in before.outputs]
    now = [str(after.values[name]) for name in after.outputs]
    if was != now:
        raise WrongPassError(
            f"{each.name} changed the network's outputs: {', '.join(was)} became {', '.join(now)}"
        )


def _compared(
    step: PassStep, before: Sequence[Array], after: Sequence[Array], bounds: Tolerance
) -> PassStep:
    """The step with its errors. Raises ``WrongPassError`` where they are too large."""
    most = squared = 0.0
    for one, two in zip(before, after, strict=True):
        found = _errors(one, two)
        most, squared = max(most, found[0]), max(squared, found[1])
    if not (most <= bounds.most and squared <= bounds.mean_squared):
        raise WrongPassError(
            f"{step.name} changed what the network computes",
            notes=[f"largest error {most:.3g} of the largest output, {bounds.most:.3g} are allowed",
                   f"mean squared error {squared:.3g}, {bounds.mean_squared:.3g} are allowed"],
        )  # fmt: skip
    return replace(step, max_error=most, mean_squared_error=squared)


def _errors(one: Array, two: Array) -> tuple[float, float]:
    """Largest and mean squared difference, over the largest and mean squared value; infinite
    where NaN or infinities stand in different places."""
    first, second = one.astype(np.float64), two.astype(np.float64)
    finite = np.isfinite(first)
    odd = ~finite
    if (
        not np.array_equal(first[odd], second[odd], equal_nan=True)
        or not np.isfinite(second[finite]).all()
    ):
        return float("inf"), float("inf")
    gap, scale = second[finite] - first[finite], first[finite]
    if not gap.size:
        return 0.0, 0.0
    tiny = np.finfo(np.float64).tiny
    largest = np.abs(gap).max() / max(np.abs(scale).max(), tiny) if np.abs(gap).max() else 0.0
    mean = (gap**2).mean() / max((scale**2).mean(), tiny) if largest else 0.0
    return float(largest), float(mean)


def _folder(dump: Path | str | None) -> Path | None:
    if dump is None:
        return None
    folder = Path(dump)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        msg = f"{folder} cannot be made: {error.strerror}"
        raise InvalidOptionError(msg) from None
    return folder


def _dump(graph: Graph, folder: Path | None, number: int, name: str) -> None:
    if folder is None:
        return
    (folder / f"{number:02}_{name}.txt").write_text(f"{graph}\n", encoding="utf-8")
    draw_graph(graph).save(folder / f"{number:02}_{name}.svg")
