"""Why a plan is as it is: remarks, bills, and pictures, as data, text and HTML."""

from polyopt.explain.draw import draw_domain, draw_tiles, draw_tree
from polyopt.explain.explanation import Explanation
from polyopt.explain.picture import Picture
from polyopt.explain.reasons import bill, explain
from polyopt.explain.windows import draw_windows

__all__ = [
    "Explanation", "Picture", "bill", "draw_domain", "draw_tiles", "draw_tree",
    "draw_windows", "explain",
]  # fmt: skip
