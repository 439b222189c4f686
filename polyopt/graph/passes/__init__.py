"""Passes: small frozen objects that rewrite graphs, run and checked by a manager."""

from typing import Final

from polyopt.arguments import checks_arguments
from polyopt.codegen.target import Target
from polyopt.codegen.target import target as find_target
from polyopt.errors import InvalidOptionError
from polyopt.graph.passes.analyses import AnalyseInPlace, InferShapes
from polyopt.graph.passes.attention import FuseAttention
from polyopt.graph.passes.base import remark
from polyopt.graph.passes.batch_norm import FoldBatchNorm
from polyopt.graph.passes.cleaning import MergeEqual, RemoveDead
from polyopt.graph.passes.constants import FoldConstants
from polyopt.graph.passes.exact_sums import ExactSums
from polyopt.graph.passes.idioms import FoldIdioms
from polyopt.graph.passes.integer_products import IntegerProducts
from polyopt.graph.passes.layout import SelectLayout
from polyopt.graph.passes.manager import PassReport, PassStep, Tolerance, run_passes
from polyopt.graph.passes.padding import FoldPads
from polyopt.graph.passes.panels import PackWeights
from polyopt.graph.passes.regions import FuseConvBnRelu, FuseResidualAdd
from polyopt.graph.passes.rewrite import (
    Constant,
    Match,
    Mutator,
    Node,
    Pass,
    Rewrite,
    Tensor,
    Visitor,
)
from polyopt.graph.winograd.select import UseWinograd


def _folding(pairs: int = 0) -> tuple[Pass, ...]:
    """Passes of any machine, with dot products of so many ``pairs`` in a vector, or none."""
    return (
        InferShapes(), IntegerProducts(), FoldConstants(), ExactSums(lanes=pairs), FoldConstants(),
        FoldIdioms(), FoldPads(), FoldBatchNorm(), FuseAttention(), MergeEqual(), RemoveDead(),
    )  # fmt: skip


#: they mark nodes, and so come after all that makes new ones
_MARKING: Final[tuple[Pass, ...]] = (FuseConvBnRelu(), FuseResidualAdd())
#: what ``compile_model`` runs on any machine; ``default_passes`` adds what depends on the target
DEFAULT_PASSES: Final[tuple[Pass, ...]] = (*_folding(), *_MARKING)


#: what may be done for speed: ``exact`` keeps the products and sums that a network is written with
NUMERICS = ("exact", "fast")


@checks_arguments
def default_passes(target: str | Target = "native", *, numerics: str = "exact") -> tuple[Pass, ...]:
    """What ``compile_model`` runs for a target: the layout follows its vectors.

    With ``numerics="fast"``, algorithms whose rounding differs are taken where they are predicted
    to be clearly faster (``UseWinograd``). Raises ``InvalidOptionError`` for other numerics.
    """
    if numerics not in NUMERICS:
        msg = f"there are no numerics {numerics!r}"
        raise InvalidOptionError(msg, hint=f"there are: {', '.join(NUMERICS)}")
    machine = find_target(target)
    lanes = machine.lanes(4)
    fast = (UseWinograd(target=target),) if numerics == "fast" else ()
    forms = SelectLayout(lanes=lanes), *fast, PackWeights(lanes=lanes)
    folding = _folding(lanes if machine.has_packed_dots else 0)
    return (*folding, *forms, MergeEqual(), RemoveDead(), *_MARKING)


__all__ = [
    "DEFAULT_PASSES", "NUMERICS", "AnalyseInPlace", "Constant", "ExactSums", "FoldBatchNorm",
    "FoldConstants", "FoldIdioms", "FoldPads", "FuseAttention", "FuseConvBnRelu",
    "FuseResidualAdd", "InferShapes", "IntegerProducts", "Match", "MergeEqual", "Mutator", "Node",
    "PackWeights", "Pass", "PassReport", "PassStep", "RemoveDead", "Rewrite", "SelectLayout",
    "Tensor", "Tolerance", "UseWinograd", "Visitor", "default_passes", "remark", "run_passes",
]  # fmt: skip
