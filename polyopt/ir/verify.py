"""What every Scop satisfies, checked: a violation is a defect of whatever made it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyopt.errors import InternalError
from polyopt.ir.block import Block
from polyopt.ir.expr import (
    BINARY_OPS,
    COMPARE_OPS,
    FUNCTIONS,
    UNARY_OPS,
    Affine,
    Binary,
    Call,
    Cast,
    Compare,
    Const,
    Expr,
    Inside,
    Load,
    Local,
    RangeHint,
    Select,
    Unary,
    walk,
)
from polyopt.ir.types import BOOL
from polyopt.isl import dim_type, params_of, tuple_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from polyopt.ir.scop import Array, Loop, Scop, Statement
    from polyopt.isl import Set, Space

_ROLES = {"in", "out", "inout", "temp"}


def verify(scop: Scop) -> None:
    """Raise ``InternalError`` with the first invariant that the program breaks."""
    _unique("arrays", [a.name for a in scop.arrays])
    _unique("statements", [s.name for s in scop.statements])
    _unique("parameters", scop.params)
    _require(
        not set(scop.params) & {a.name for a in scop.arrays},
        "an array and a parameter have one name",
    )
    _params_only(scop.context, scop, "the context")
    for array in scop.arrays:
        _verify_array(array, scop)
    for statement in scop.statements:
        _verify_statement(statement, scop)
    _verify_nest(scop)
    arguments = {*scop.params, *(a.name for a in scop.arrays if a.role != "temp")}
    _require(
        not scop.signature or set(scop.signature) == arguments,
        f"the signature {scop.signature} does not name the arguments {sorted(arguments)}",
    )


def _require(condition: bool, message: str) -> None:  # noqa: FBT001
    if not condition:
        raise InternalError(f"malformed program: {message}")


def _unique(kind: str, names: Sequence[str]) -> None:
    seen: set[str] = set()
    for name in names:
        _require(bool(name) and name not in seen, f"two {kind} are called {name!r}")
        seen.add(name)


def _params_only(value: Set, scop: Scop, what: str) -> None:
    space = value.get_space()
    _require(space.is_params(), f"{what} is over more than the parameters")
    _same_params(space, scop, what)


def _same_params(space: Space, scop: Scop, what: str) -> None:
    found = params_of(space)
    _require(
        set(found) <= set(scop.params),
        f"{what} has the parameters {found}, not {scop.params}",
    )


def _verify_array(array: Array, scop: Scop) -> None:
    what = f"array {array.name}"
    _require(array.role in _ROLES, f"{what} has the role {array.role!r}")
    _require(not array.lower or len(array.lower) == array.rank, f"{what}: lower bounds and rank")
    _require(0 <= array.private <= array.rank, f"{what}: more private dimensions than dimensions")
    _require(not array.private or array.role == "temp", f"{what} is private but not a temporary")
    for form in (*array.extents, *array.lower):
        _require(form.dim(dim_type.in_) == 0, f"{what}: an extent depends on more than parameters")
        _same_params(form.get_space(), scop, what)


def _verify_statement(statement: Statement, scop: Scop) -> None:
    what, space = f"statement {statement.name}", statement.space
    _require(tuple_name(space) == statement.name, f"{what}: its domain is named otherwise")
    _require(
        space.dim(dim_type.set) == len(statement.iterators), f"{what}: iterators and dimensions"
    )
    _unique(f"iterators of {what}", statement.iterators)
    _same_params(space, scop, what)
    array = _array(scop, statement.array, what)
    _require(array.role != "in", f"{what} writes {array.name}, which is only read")
    _require(len(statement.index) == array.rank, f"{what}: subscripts and rank of {array.name}")
    _require(
        statement.value.type == array.type,
        f"{what} stores {statement.value.type} into {array.name} of {array.type}",
    )
    for root in (*statement.index, statement.value):
        for node in walk(root):
            _verify_node(node, statement, scop)


def _array(scop: Scop, name: str, what: str) -> Array:
    found = next((a for a in scop.arrays if a.name == name), None)
    if found is None:
        raise InternalError(f"malformed program: {what} uses {name!r}, which is no array")
    return found


def _verify_node(node: Expr, statement: Statement, scop: Scop) -> None:
    what = f"statement {statement.name}"
    match node:
        case Affine():
            _require(node.type.is_integer, f"{what}: an affine value of type {node.type}")
            _over(node.form.get_space().domain(), statement, scop)
        case Inside():
            _require(node.type == BOOL, f"{what}: a condition of type {node.type}")
            _over(node.where.get_space(), statement, scop)
        case Load():
            array = _array(scop, node.array, what)
            _require(node.type == array.type, f"{what} loads {array.name} as {node.type}")
            _require(len(node.index) == array.rank, f"{what}: subscripts and rank of {array.name}")
            _require(
                all(part.type.is_integer for part in node.index),
                f"{what}: a subscript of {array.name} is not an integer",
            )
        case _:
            _verify_operation(node, what)
            _verify_no_half(node, what)


def _verify_no_half(node: Expr, what: str) -> None:
    """Halves are loaded, chosen, converted and stored, and not computed with."""
    halves = [str(child.type) for child in node.children if child.type.is_half]
    computes = isinstance(node, (Unary, Binary, Compare, Call))
    _require(not (computes and halves), f"{what} computes with {halves}, which are storage")


def _over(space: Space, statement: Statement, scop: Scop) -> None:
    what = f"statement {statement.name}: an affine part"
    _same_params(space, scop, what)
    same = tuple_name(space) == statement.name and space.dim(dim_type.set) == len(
        statement.iterators
    )
    _require(same, f"{what} is over other instances")


def _verify_operation(node: Expr, what: str) -> None:
    operands = {child.type for child in node.children}
    match node:
        case Const():
            fits = isinstance(node.value, float) == node.type.is_float
            _require(fits, f"{what}: the literal {node.value!r} has type {node.type}")
        case Unary():
            known = node.op in UNARY_OPS and operands == {node.type}
            _require(known, f"{what}: {node.op} of {operands}")
        case Binary():
            known = node.op in BINARY_OPS and operands == {node.type}
            _require(known, f"{what}: {node.op} of {operands} gives {node.type}")
        case Compare():
            known = node.op in COMPARE_OPS and len(operands) == 1 and node.type == BOOL
            _require(known, f"{what}: {node.op} of {operands} gives {node.type}")
        case Select():
            sides = {node.then.type, node.other.type}
            fits = node.cond.type == BOOL and sides == {node.type}
            _require(fits, f"{what}: a select over {node.cond.type} of {sides} gives {node.type}")
        case Call():
            known = FUNCTIONS.get(node.function) == len(node.args) and operands == {node.type}
            _require(known, f"{what}: {node.function} of {operands} gives {node.type}")
        case Cast() | Local():
            pass
        case RangeHint():
            _require(operands == {node.type}, f"{what}: a bounded subscript of another type")
        case Block():
            _require(bool(node.body), f"{what}: a block that does nothing")
        case _:
            raise InternalError(f"malformed program: {what} has a {type(node).__name__}")


def _verify_nest(scop: Scop) -> None:
    placed = list(_placed(scop.nest, ()))
    _unique("places in the nest", [name for name, _ in placed])
    known = {s.name for s in scop.statements}
    _require({name for name, _ in placed} == known, "the loops do not hold every statement once")
    for name, iterators in placed:
        own = scop.statement(name).iterators
        _require(own == iterators, f"statement {name} has {own}, its loops are {iterators}")


def _placed(
    body: tuple[Loop | str, ...], iterators: tuple[str, ...]
) -> Iterator[tuple[str, tuple[str, ...]]]:
    for node in body:
        if isinstance(node, str):
            yield node, iterators
        else:
            _require(node.step != 0, f"loop {node.iterator} stands still")
            yield from _placed(node.body, (*iterators, node.iterator))
