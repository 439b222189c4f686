"""Functions over whole arrays, as people write them with NumPy, read as programs.

Slices, array expressions and reductions become loops over elements: the same statements that loop
functions are made of. Types and shapes are those of the arguments of a call.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from polyopt.errors import TooDeepError, UnsupportedError
from polyopt.frontend.arrays.arguments import Arguments, ArrayArgument, Owner, bound
from polyopt.frontend.arrays.control import structured_text
from polyopt.frontend.arrays.facts import Facts, Sizes, Unify
from polyopt.frontend.arrays.helpers import Helpers, InPlace, check_bare
from polyopt.frontend.arrays.results import Result, Returned
from polyopt.frontend.arrays.statements import ArrayStatements
from polyopt.frontend.assemble import Program, assemble
from polyopt.frontend.loops.scatter import with_index_checks
from polyopt.frontend.loops.scope import Scope
from polyopt.frontend.loops.statements import Retype
from polyopt.isl import exclusive

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from polyopt.frontend.loops.text import FunctionText
    from polyopt.ir.scop import Scop
    from polyopt.ir.types import ScalarType

__all__ = [
    "Arguments",
    "ArrayArgument",
    "InPlace",
    "Owner",
    "ReadFunction",
    "Result",
    "Returned",
    "Sizes",
    "read_function",
]  # fmt: skip


@dataclass(frozen=True, eq=False)
class ReadFunction:
    """A function as a program, for arguments like those of a call."""

    scop: Scop
    returned: Returned
    #: sizes of the call that are expressions of the others, as ``Sizes.texts``
    sizes: Sizes
    #: names from outside of the function, with the values that the program was made for
    seen: tuple[tuple[object, str, object], ...]
    #: whether the function adds up in loops of its own, in an order that it chose
    has_own_updates: bool


@exclusive()
def read_function(
    function: Callable[..., object], given: Arguments, values: Mapping[str, int]
) -> ReadFunction:
    """The program that a function is for such arguments; ``values`` are the call's sizes.

    Raises a ``UserError`` with the place of what is not taken.
    """
    check_bare(function)
    text = structured_text(function)
    sizes, helpers = Sizes(values), Helpers()
    types: dict[ast.AST, tuple[ScalarType, bool]] = {}
    while True:
        try:
            return _read(function, text, given, sizes, helpers, types)
        except Retype as change:  # types only ever widen, so this ends
            types[change.node] = (change.type, change.weak)
        except Unify as fact:  # each time there is a size less
            sizes.unify(fact)
        except RecursionError:
            raise TooDeepError(
                f"{function.__name__} is nested too deeply", span=text.span(text.tree)
            ) from None


def _read(
    function: Callable[..., object],
    text: FunctionText,
    given: Arguments,
    sizes: Sizes,
    helpers: Helpers,
    types: dict[ast.AST, tuple[ScalarType, bool]],
) -> ReadFunction:
    facts = Facts(sizes)
    known = bound(given, sizes, facts)
    helpers.given = {array.name: array for array in known.arrays}
    scope = Scope(text, function, sizes.params)
    scope.frames[0].names.update(known.bindings)
    loops = (n.target for n in ast.walk(text.tree) if isinstance(n, ast.For))
    iterators = {t.id for t in loops if isinstance(t, ast.Name)}
    taken = {*sizes.params, *given.names, *(a.name for a in known.arrays), *iterators}
    found = ArrayStatements(scope, taken, types, facts, helpers)
    found.results.arguments = known.identities
    found.results.begin()
    found.block(text.tree.body)
    if not found.body:
        raise UnsupportedError("a function that computes nothing", span=text.span(text.tree))
    outs = [*found.results.outs]
    # what data choose the elements of is an argument: a call checks their subscripts
    outs += (a for a in found.temps if a.name in helpers.scattered and a not in outs)
    for stated in found.context:
        facts.assume(stated.params())
    arguments = (*known.arrays, *(replace(a, role="out") for a in outs))
    program = Program(
        name=function.__name__,
        params=sizes.params,
        context=facts.context,
        arguments=arguments,
        temps=tuple(a for a in found.temps if a not in outs),
        body=found.body,
        signature=(*sizes.params, *(a.name for a in arguments)),
        source=text.source,
    )
    seen = ((f, name, value) for (_, name), (f, value) in helpers.seen.items())
    scop = with_index_checks(assemble(program))
    own_updates = bool(found.own_updates)
    return ReadFunction(scop, found.results.returned, sizes, tuple(seen), own_updates)
