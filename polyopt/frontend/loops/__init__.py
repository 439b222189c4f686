"""Loop functions: plain Python loops over NumPy arrays, read as programs.

The very function that ``scop`` reads also runs under plain Python: it is the reference.
"""

from __future__ import annotations

import ast
import inspect
from dataclasses import replace
from typing import TYPE_CHECKING

from polyopt.arguments import checks_arguments
from polyopt.frontend.assemble import Program, assemble
from polyopt.frontend.loops.annotations import (
    ArrayOf,
    Scalar,
    bf16,
    boolean,
    f16,
    f32,
    f64,
    i8,
    i16,
    i32,
    i64,
    u8,
    u16,
    u32,
    u64,
)
from polyopt.frontend.loops.scatter import with_index_checks
from polyopt.frontend.loops.scope import Scope
from polyopt.frontend.loops.signature import Signature, read_signature
from polyopt.frontend.loops.statements import Retype, Statements
from polyopt.frontend.loops.text import FunctionText, function_text
from polyopt.isl import Set, exclusive, params_space

if TYPE_CHECKING:
    from collections.abc import Callable

    from polyopt.ir.scop import Scop
    from polyopt.ir.types import ScalarType

__all__ = [
    "ArrayOf", "Scalar", "bf16", "boolean", "f16", "f32", "f64", "i8", "i16", "i32", "i64", "scop",
    "u8", "u16", "u32", "u64",
]  # fmt: skip


@checks_arguments
@exclusive()
def scop(function: Callable[..., object]) -> Scop:
    """The program that a Python loop function is; also a decorator.

    Arguments are annotated: ``img: u16["H", "W - 2"]`` is an array, ``n: int`` a size,
    ``alpha: f32`` a scalar. Loops run over ``range`` with affine bounds; returned arrays become
    arguments of role ``out``. ``Scop.reference`` is the function itself.

    Elements that data choose are read and written where their subscript stays in the array: by its
    type, by ``min`` and ``max``, or, for ``count[key[i]] += 1``, because a call first checks every
    element of ``key``.

    Types are NumPy's, with Python numbers weak (NEP 50). One thing differs from running the
    function: a local and a conditional expression have one type, the common type of all the
    values they can have; where that would change a local's type halfway, it is refused.

    Raises ``NonAffineError``, ``UnsupportedError``, ``UnknownNameError``, ``TypeMismatchError``
    or ``TooDeepError``, each with the place in the file.
    """
    function = inspect.unwrap(function)
    text = function_text(function)
    signature = read_signature(text, function)
    types: dict[ast.AST, tuple[ScalarType, bool]] = {}
    while True:
        try:
            found = _read(text, function, signature, types)
        except Retype as change:  # types only ever widen, so this ends
            types[change.node] = (change.type, change.weak)
        else:
            return with_index_checks(assemble(_program(function, text, signature, found)))


def _read(
    text: FunctionText,
    function: Callable[..., object],
    signature: Signature,
    types: dict[ast.AST, tuple[ScalarType, bool]],
) -> Statements:
    scope = Scope(text, function, signature.params)
    scope.frames[0].names.update(signature.bindings)
    loops = (n.target for n in ast.walk(text.tree) if isinstance(n, ast.For))
    iterators = {t.id for t in loops if isinstance(t, ast.Name)}
    taken = {*signature.params, *signature.bindings, *iterators}
    found = Statements(scope, taken, types)
    found.block(text.tree.body)
    return found


def _program(
    function: Callable[..., object], text: FunctionText, signature: Signature, found: Statements
) -> Program:
    outs = tuple(replace(a, role="out") for a in found.outs)
    context = Set.universe(params_space(signature.params))
    for stated in found.context:
        context = context.intersect(stated.params())
    return Program(
        name=function.__name__,
        params=signature.params,
        context=context,
        arguments=(*signature.arrays, *outs),
        temps=tuple(a for a in found.temps if a not in found.outs),
        body=found.body,
        signature=(*signature.order, *(a.name for a in outs)),
        source=text.source,
        reference=function,
    )
