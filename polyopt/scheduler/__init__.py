"""Automatic plans: strategies, finishing steps, a cost model, and the search that orders them."""

from polyopt.scheduler.search.automatic import auto, candidates
from polyopt.scheduler.search.isl_schedule import affine

__all__ = ["affine", "auto", "candidates"]
