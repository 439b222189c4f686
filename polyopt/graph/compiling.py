"""From a graph, or a file with one, to a model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyopt.arguments import checks_arguments
from polyopt.errors import InvalidOptionError
from polyopt.graph.execution.valid import model_of
from polyopt.graph.fusion.policy import Fusion, choose_groups
from polyopt.graph.ir.graph import Graph
from polyopt.graph.ir.ranges import index_checks
from polyopt.graph.ir.verify import verify
from polyopt.graph.kernels import compile_groups
from polyopt.graph.onnx import load_onnx
from polyopt.graph.passes import default_passes, run_passes
from polyopt.graph.planning import Options, planned_scratch

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from polyopt.codegen.target import Target
    from polyopt.graph.execution.model import Model
    from polyopt.graph.passes import Pass


@checks_arguments
def compile_model(  # noqa: PLR0913  (an option each)
    model: object,
    *,
    sizes: Mapping[str, int] | None = None,
    usual: Mapping[str, int] | None = None,
    passes: Sequence[Pass] | None = None,
    numerics: str = "exact",
    fusion: Fusion | str | None = None,
    target: str | Target = "native",
    cc: str | None = None,
    check: bool | None = None,
) -> Model:
    """A network as a function on NumPy arrays.

    For example::

        model = po.compile_model("resnet50.onnx")
        y = model(x)

    ``model`` is a ``Graph``, or what ``load_onnx`` takes, with its ``sizes`` and ``usual`` ones:
    where a first dimension is left open, one compilation serves every size. ``passes`` rewrite
    the graph (``default_passes`` of the target unless given); ``fusion`` is a ``Fusion``, or the
    name of its level. ``numerics="fast"`` allows algorithms that round otherwise than the network
    is written, such as Winograd's convolutions, where they are predicted to pay. New C is
    validated, within a budget, unless ``check`` (``POLYOPT_CHECK``) is off: ``model.proof`` has
    what was shown.

    Plans are kept beside compiled kernels for the next process, and made anew where polyopt, the
    machine or the program is another (never kept: ``POLYOPT_PLAN_CACHE=0``).

    Raises what ``load_onnx``, passes, plans and the toolchain raise, and ``InvalidOptionError`` for
    other numerics, or for ``"fast"`` ones beside passes.
    """
    if passes is not None and numerics != "exact":
        msg = "numerics choose the usual passes: they are not for passes that are given"
        raise InvalidOptionError(msg, hint="passes=default_passes(numerics=...), and your own")
    graph = model if isinstance(model, Graph) else load_onnx(model, sizes=sizes, usual=usual)
    chosen = default_passes(target, numerics=numerics) if passes is None else passes
    return compile_graph(
        run_passes(graph, chosen).graph, fusion=fusion, options=Options(target, cc, check=check)
    )


@checks_arguments
def compile_graph(
    graph: Graph, *, fusion: Fusion | str | None = None, options: Options | None = None
) -> Model:
    """A graph as it is, compiled. How it is fused is decided for the usual number of what it
    leaves open."""
    chosen = options or Options()
    policy = Fusion.of(fusion)
    closed = verify(graph).usual
    index_checks(closed)
    grouping = choose_groups(
        closed, policy, scratch_bytes=lambda group: planned_scratch(closed, group, chosen)
    )
    if closed is not graph:
        grouping = grouping.of(graph)
    return model_of(graph, grouping, compile_groups(graph, grouping.groups, chosen), chosen)
