"""Why a plan is as it is, and what else it could be: data, text, HTML and pictures."""

from polyopt.explain.choices.alternatives import Alternatives, alternatives
from polyopt.explain.choices.difference import Difference, diff
from polyopt.explain.choices.tradeoff import Tradeoff, tradeoff
from polyopt.explain.explorer.cache_simulator import CacheLevel, machine_caches
from polyopt.explain.explorer.session import Explorer, explore
from polyopt.explain.formulas import Formulas, formulas
from polyopt.explain.pictures.animation import Animation, animate
from polyopt.explain.pictures.arrows import draw_dependences
from polyopt.explain.pictures.draw import draw_domain, draw_tiles, draw_tree
from polyopt.explain.pictures.flowgraph import draw_graph
from polyopt.explain.pictures.picture import Picture
from polyopt.explain.pictures.plots import Roof, Spot, draw_roofline, draw_tradeoff, roofs_of
from polyopt.explain.pictures.windows import draw_windows
from polyopt.explain.provenance import Provenance, why
from polyopt.explain.reasons import bill, explain
from polyopt.explain.remarks.compiled import compiler_remarks, explain_kernel
from polyopt.explain.remarks.explanation import Explanation

__all__ = [
    "Alternatives", "Animation", "CacheLevel", "Difference", "Explanation", "Explorer", "Formulas",
    "Picture", "Provenance", "Roof", "Spot", "Tradeoff", "alternatives", "animate", "bill",
    "compiler_remarks", "diff", "draw_dependences", "draw_domain", "draw_graph", "draw_roofline",
    "draw_tiles", "draw_tradeoff", "draw_tree", "draw_windows", "explain", "explain_kernel",
    "explore", "formulas", "machine_caches", "roofs_of", "tradeoff", "why",
]  # fmt: skip
