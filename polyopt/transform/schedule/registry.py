"""Registry of transformations: each is declared once, where it is defined.

``@transformation("loops")`` enters a function from a scheduled program to another one, under
its own name. Plans replay by these names, saved plans may name no others, and the declaration says
what has to come before what. A transformation of the package is also a method of ``Plan``; one
that is registered elsewhere is made with ``plan.replay``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from polyopt.errors import InvalidOptionError, UnknownNameError

if TYPE_CHECKING:
    from collections.abc import Callable

    Function = TypeVar("Function", bound=Callable[..., Any])

#: what a transformation changes. ``permutation``: the order of iterations in one nest, legal where
#: its loops are permutable; a refusal looks for a skew that makes them so. ``loops``: loops in
#: another way. ``storage``: where values are kept. ``annotation``: how loops run. ``source``: the
#: program itself, before it is planned: a function from a Scop to a Scop
Kind = Literal["permutation", "loops", "storage", "annotation", "source"]


@dataclass(frozen=True)
class Transformation:
    """A registered function, and what plans have to know of it."""

    function: Callable[..., Any]
    kind: Kind
    #: whether what it does holds for any order of loops, so that ``reschedule`` may follow
    keeps: bool
    #: what to do instead where the proof refuses the new order; empty for the proof's own advice
    hint: str = ""
    #: whether its proof is one of its own: the program before it, and that after it, is a stage
    is_stage: bool = False

    @property
    def name(self) -> str:
        """What a saved plan calls it."""
        return self.function.__name__

    @property
    def is_own(self) -> bool:
        """Whether it is one of the package's: ``Plan`` has a method of its name."""
        return self.function.__module__.partition(".")[0] == "polyopt"


#: all that there are, by name: ``polyopt.transform.plan`` imports those of the package
TRANSFORMATIONS: dict[str, Transformation] = {}


def transformation(
    kind: Kind, *, keeps: bool = False, hint: str = "", is_stage: bool = False
) -> Callable[[Function], Function]:
    """Decorator: the function, registered as a transformation.

    ``keeps`` says that it holds for any order of loops, so that ``reschedule`` may follow, and
    ``hint`` what to do instead where the proof refuses the new order. What is a stage is proven
    apart from the moves before and after it.

    Raises ``InvalidOptionError`` where another function has the name.
    """

    def register(function: Function) -> Function:
        made = Transformation(function, kind, keeps or kind == "source", hint, is_stage)
        other = TRANSFORMATIONS.get(made.name, made)
        if _origin(other) != _origin(made):
            message = f"there is a transformation called {made.name!r} already"
            raise InvalidOptionError(message, hint=f"{other.function.__module__} has it")
        TRANSFORMATIONS[made.name] = made
        return function

    return register


def _origin(made: Transformation) -> tuple[str, str]:
    """Where it is defined: a module that is loaded again may register anew."""
    return made.function.__module__, made.function.__qualname__


def registered(name: str) -> Transformation:
    """The transformation of a name. Raises ``UnknownNameError`` where there is none."""
    if name not in TRANSFORMATIONS:
        message = f"no move is called {name!r}"
        raise UnknownNameError(message, hint="there are: " + ", ".join(sorted(TRANSFORMATIONS)))
    return TRANSFORMATIONS[name]
