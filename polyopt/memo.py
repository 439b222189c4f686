"""Memoization: what is found of a value is kept in that value, and goes with it.

No such answer outlives what it is about, and none is shared: values that are equal but not the same
remember nothing of each other, so what one search has asked does not change what another may take.
"""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

_Owner = TypeVar("_Owner")
_Result = TypeVar("_Result")
_Others = ParamSpec("_Others")
#: answers to one question that are kept per value; beyond, all of them are forgotten
_MOST = 20_000
_PLACE = "_memory"
#: arguments that are equal where they are written alike; of others identity counts
_PLAIN = (str, int)


class Same:
    """A key for a value by its identity, which keeps it alive: isl compares sets, not handles."""

    __slots__ = ("value",)

    def __init__(self, value: object) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        """Whether it is of the very same value."""
        return isinstance(other, Same) and self.value is other.value

    def __hash__(self) -> int:
        """That of the identity."""
        return id(self.value)


class _Memory(dict[str, "dict[Any, Any]"]):
    """By question. It neither travels nor is it copied with its owner."""

    def __reduce__(self) -> tuple[type[_Memory], tuple[()]]:
        return _Memory, ()

    def __deepcopy__(self, _memo: object) -> _Memory:
        return _Memory()


def memory(owner: object, question: str) -> dict[Any, Any]:
    """The answers that an object remembers of a question, to be read and added to."""
    found = owner.__dict__.setdefault(_PLACE, _Memory()).setdefault(question, {})
    if len(found) > _MOST:
        found.clear()
    return found


def memo(
    function: Callable[Concatenate[_Owner, _Others], _Result],
) -> Callable[Concatenate[_Owner, _Others], _Result]:
    """Memoize a function in its first argument; text and numbers among the others are told apart
    by value, all else by identity. What is raised is not remembered."""
    question = f"{function.__module__}.{function.__qualname__}"

    @wraps(function)
    def remembered(owner: _Owner, *args: _Others.args, **named: _Others.kwargs) -> _Result:
        known = memory(owner, question)
        key = (*map(_key, args), *((name, _key(value)) for name, value in named.items()))
        if key not in known:
            known[key] = function(owner, *args, **named)
        return known[key]

    return remembered


def _key(value: object) -> object:
    return value if isinstance(value, _PLAIN) else Same(value)
