"""Models of which results have sizes that depend on data: what is valid of them comes back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyopt.arguments import checks_methods
from polyopt.errors import UnsupportedError
from polyopt.graph.execution.model import Model

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from polyopt.graph.fusion.policy import Grouping
    from polyopt.graph.ir.graph import Array, Graph
    from polyopt.graph.kernels import GroupKernel
    from polyopt.graph.planning import Options


@checks_methods
class SelectingModel(Model):
    """A model that gives the valid part of results whose size depends on data.

    Its graph's last outputs are the counts: they stay here. Exported libraries have them as
    outputs, beside results with room for the most that there can be.
    """

    def run(self, inputs: Mapping[str, object], threads: int | None = None) -> tuple[Array, ...]:
        """The outputs as a tuple, from inputs by name. Raises ``ArgumentError``."""
        found = dict(zip(self.graph.outputs, super().run(inputs, threads), strict=True))
        counts = {length.count for length in self.graph.lengths}
        for length in self.graph.lengths:
            valid = slice(int(found[length.count].item()))
            at = (*(slice(None) for _ in range(length.axis)), valid)
            found[length.tensor] = found[length.tensor][at].copy()
        return tuple(found[name] for name in self.graph.outputs if name not in counts)


def model_of(
    graph: Graph, grouping: Grouping, kernels: Sequence[GroupKernel], options: Options
) -> Model:
    """The model of a graph; one that gives valid parts where its results have valid lengths.

    Raises ``UnsupportedError`` where sizes are left open besides.
    """
    if not graph.lengths:
        return Model(graph, grouping, kernels, options)
    if graph.open:
        sizes = ", ".join(f"{name!r}: 1" for name in graph.open)
        raise UnsupportedError(
            f"{graph.name} has results whose size depends on data, and leaves sizes open",
            hint=f"compile it for one: sizes={{{sizes}}}",
        )
    return SelectingModel(graph, grouping, kernels, options)
