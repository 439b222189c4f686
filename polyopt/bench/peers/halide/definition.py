"""A pipeline in Halide: what it reads, what it makes, and the stages that a schedule names."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    #: what stages read of an image: ``as_it_is``, or ``repeating``
    Reader = Callable[[Any], Any]
    #: changes the stages of a definition in place; the first argument is ``halide``
    Schedule = Callable[[Any, "Definition"], None]


@dataclass(frozen=True, eq=False)
class Definition:
    """An algorithm without a schedule.

    ``inputs`` are images and scalars, by the names of the kernel's arguments, in the order of
    the compiled function's; ``out`` is the result; ``f`` has its stages by name, and ``v`` the
    variables. Images are indexed x (the innermost dimension) first.
    """

    inputs: tuple[Any, ...]
    out: Any
    f: dict[str, Any]
    v: dict[str, Any] = field(default_factory=dict[str, Any])


def variables(hl: Any, names: str) -> dict[str, Any]:  # noqa: ANN401 - a module without types
    """``hl.Var`` by name; names are separated by spaces."""
    return {name: hl.Var(name) for name in names.split()}


def functions(hl: Any, names: str) -> dict[str, Any]:  # noqa: ANN401
    """``hl.Func`` by name; names are separated by spaces."""
    return {name: hl.Func(name) for name in names.split()}


def as_it_is(image: Any) -> Any:  # noqa: ANN401
    """The image itself: reads stay inside it."""
    return image


def repeating(hl: Any, image: Any) -> Any:  # noqa: ANN401
    """The image with its edge repeated in x and y, for stages that are computed beyond it."""
    bounds = [(0, image.width()), (0, image.height())]
    return hl.BoundaryConditions.repeat_edge(image, [hl.Range(*b) for b in bounds])
