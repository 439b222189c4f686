"""Measuring: kernels against their unfused form, their peers, and the machine's limits."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from polyopt.bench.pages.results import Results, load_results, measure_kernels

__all__ = ["Results", "load_results", "measure_kernels"]


def __getattr__(name: str) -> object:
    """The public name, loaded on first use: commands that measure nothing do without."""
    if name in __all__:
        from polyopt.bench.pages import results

        return getattr(results, name)
    message = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(message)
