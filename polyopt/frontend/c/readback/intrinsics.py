"""Parts of generated C whose text is always the same: calls of functions as what they do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyopt.frontend.c.readback.lookup import LOOKUP, looked_up
from polyopt.frontend.c.readback.nontemporal import PAST_CACHES, plain_store
from polyopt.frontend.c.readback.transpose import TRANSPOSED, square_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pycparser import c_ast


def is_known(name: str) -> bool:
    """Whether a function is one of these."""
    return name == TRANSPOSED or any(kind.fullmatch(name) for kind in (PAST_CACHES, LOOKUP))


def plain_call(
    call: c_ast.FuncCall,
    helper: c_ast.FuncDef,
    shapes: Mapping[str, tuple[str, tuple[str, ...]]],
    fresh: Callable[[str], str],
) -> list[c_ast.Node]:
    """The call as plain C. ``shapes`` are element and extents of arrays, ``fresh`` makes names.

    Raises ``ValueError`` with the rule of generated code that is broken.
    """
    if PAST_CACHES.fullmatch(helper.decl.name):
        return plain_store(call, helper, fresh)
    if LOOKUP.fullmatch(helper.decl.name):
        return [looked_up(call, helper, shapes, fresh)]
    extents = {name: extents for name, (_, extents) in shapes.items()}
    return [square_of(call, helper, extents, fresh)]
