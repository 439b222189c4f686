"""``for`` headers to exact sets of iterations."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pycparser import c_ast

from polyopt.errors import NonAffineError, UnsupportedError
from polyopt.frontend.c.lower.affine import fits
from polyopt.frontend.c.lower.expressions import Lowering, set_of
from polyopt.frontend.c.lower.scope import Env, IteratorVar, Pending, Place, Program, Variable
from polyopt.frontend.c.syntax.desugar import stepped_name
from polyopt.frontend.c.syntax.loop_headers import counted, stray_step
from polyopt.ir.types import I32
from polyopt.isl import (
    Map,
    PwAff,
    Set,
    affine_constant,
    constant_value,
    dim_type,
    integer_val,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from polyopt.ir.types import ScalarType

_HINT = "write it as for (int i = lo; i < hi; i += step)"


@dataclass(frozen=True, eq=False)
class Header:
    """An analysed ``for`` header: what is iterated, and where its body stands."""

    iterator: str
    step: int
    place: Place
    env: Env


def header(program: Program, node: c_ast.For, env: Env, place: Place) -> Header:
    """The iterations of a loop, exact for every affine start, condition and step.

    Raises ``NonAffineError`` or ``UnsupportedError``.
    """
    name, type_, start_node = _start(program, node, env)
    start = _first(Lowering(program, env, place, assuming=True), type_, start_node)
    test = counted(node, name)
    step = _step(program, node, name, env, place) if test is None else test.step
    _check_step(program, node, type_, step)
    cond = node.cond if test is None else test.cond
    if test is not None and test.stepped:
        start = _stepped(program, start, step, type_, place, start_node)
    scope = env.inner()
    unique = program.fresh(name)
    scope.declare(name, IteratorVar(unique, type_, place.depth))
    inner = place.deeper(unique)
    grid = _grid(inner, start.add_dims(dim_type.in_, 1), step)
    at_grid = replace(inner, domain=inner.domain.intersect(grid))
    wrapping: list[Set] = []
    lowering = Lowering(program, scope, at_grid, assuming=True, never=wrapping.append)
    holds = _condition(lowering, node, cond)
    domain = at_grid.domain.intersect(holds)
    if cond is not None and not _monotone(cond, name, step):
        domain = _until_first_failure(at_grid.domain, domain, step)
        domain = domain.intersect_params(program.context)
        _check_end(program, node, domain, step)
    domain = domain.coalesce()
    _check_range(program, node, type_, domain)
    if step > 0 or type_.kind == "int":
        wrapping += _beyond(inner, type_)
    tested = _tested(at_grid, start.add_dims(dim_type.in_, 1), domain, step)
    for where in wrapping:
        moving = where.involves_dims(dim_type.set, 0, inner.depth)
        program.never(where.intersect(tested) if moving else where)
    _check_unsigned(program, node, type_, domain, step)
    if test is not None and not test.stepped:
        domain = _moved(domain, step)
    return Header(unique, step, replace(inner, domain=domain), scope)


def _start(program: Program, node: c_ast.For, env: Env) -> tuple[str, ScalarType, c_ast.Node]:
    """The iterator's name and type, and its first value."""
    match node.init:
        case c_ast.DeclList(decls=[c_ast.Decl() as decl]) if decl.init is not None:
            type_ = program.types.scalar(decl.type)
            if not type_.is_integer:
                msg = f"the iterator {decl.name!r} is not an integer"
                raise program.locator.error(UnsupportedError, decl, msg, hint=_HINT)
            return decl.name, type_, decl.init
        case c_ast.Assignment(op="=", lvalue=c_ast.ID() as target):
            binding = env.get(target.name)
            if isinstance(binding, Pending):
                return target.name, binding.type, node.init.rvalue
            if isinstance(binding, IteratorVar):
                msg = f"{target.name!r} is the iterator of a loop around"
                raise program.locator.error(
                    UnsupportedError, target, msg, hint="give each loop its own iterator"
                )
            what = "an argument" if _is_argument(binding) else "not a plain local integer"
            msg = f"the iterator {target.name!r} is {what}"
            raise program.locator.error(UnsupportedError, target, msg, hint=_HINT)
        case _:
            msg = "the start of this loop has to set one iterator"
            if node.init is None:
                msg = "this loop goes on from where its iterator stands, which is not known here"
                reason = program.stepped.get(stepped_name(node))
                msg += f": {reason}" if reason else ""
            raise program.locator.error(UnsupportedError, node.init or node, msg, hint=_HINT)


def _is_argument(binding: object) -> bool:
    return isinstance(binding, Variable) and binding.argument


def _step(program: Program, node: c_ast.For, name: str, env: Env, place: Place) -> int:
    """The constant that each iteration adds."""
    amount: c_ast.Node | None = None
    sign = 1
    match node.next:
        case c_ast.UnaryOp(op="p++" | "++", expr=c_ast.ID(name=found)) if found == name:
            return 1
        case c_ast.UnaryOp(op="p--" | "--", expr=c_ast.ID(name=found)) if found == name:
            return -1
        case c_ast.Assignment(op="+=" | "-=", lvalue=c_ast.ID(name=found)) if found == name:
            amount, sign = node.next.rvalue, 1 if node.next.op == "+=" else -1
        case c_ast.Assignment(op="=", lvalue=c_ast.ID(name=found)) if found == name:
            amount, sign = _added(node.next.rvalue, name)
        case _:
            pass
    stray = stray_step(node) if node.next is None else None
    if stray is not None:
        msg = "a test that steps is taken as one comparison of the loop's own iterator alone"
        hint = f"write {name}-- > c or ++{name} < c, and other conditions into the body"
        raise program.locator.error(UnsupportedError, stray, msg, hint=hint)
    if amount is None:
        msg = f"this loop has to step {name!r} by a constant"
        raise program.locator.error(
            UnsupportedError, node.next or node, msg, hint=f"{name}++, {name} += c or {name} -= c"
        )
    form = Lowering(program, env, place).affine(amount, "the step of this loop")
    number = constant_value(form)
    if number is None:
        msg = "the step of this loop is not a constant"
        hint = "a step has to be known when polyopt runs: use a number or #define"
        raise program.locator.error(NonAffineError, amount, msg, hint=hint)
    if number == 0:
        msg = "this loop never moves: its step is 0"
        raise program.locator.error(UnsupportedError, amount, msg, hint="use another step")
    return sign * number


def _check_step(program: Program, node: c_ast.For, type_: ScalarType, step: int) -> None:
    """Refuse a step of more than half of what an iterator holds: it is a step in the other
    direction to a computer, ``i += 4294967293u`` is ``i -= 3``."""
    if abs(step) < 1 << (type_.bits - 1):
        return
    msg = f"a step of {step} is more than an iterator of type {type_.c_name} can be moved by"
    hint = "write a step down as i -= c, or declare the iterator as a long"
    raise program.locator.error(UnsupportedError, node.next or node, msg, hint=hint)


def _added(value: c_ast.Node, name: str) -> tuple[c_ast.Node | None, int]:
    """``c`` and the sign of ``i + c``, ``c + i`` or ``i - c``."""
    match value:
        case c_ast.BinaryOp(op="+" | "-", left=c_ast.ID(name=found)) if found == name:
            return value.right, 1 if value.op == "+" else -1
        case c_ast.BinaryOp(op="+", right=c_ast.ID(name=found)) if found == name:
            return value.left, 1
        case _:
            return None, 1


def _first(lowering: Lowering, type_: ScalarType, node: c_ast.Node) -> PwAff:
    """The first value of an iterator, as it is in its type.

    Raises ``NonAffineError`` where it is below zero whatever the sizes, and the type has no sign.
    """
    what = "the start of this loop"
    value = lowering.lower(node)
    held = lowering.form(lowering.cast(type_, value))
    form = lowering.affine(node, what) if held is None else held
    if held is not None or type_.kind != "uint":
        return form
    known = lowering.known
    below = known.intersect(form.lt_set(affine_constant(form.get_domain_space(), 0)))
    if known.intersect_params(known.params().subtract(below.params())).is_empty():
        msg = f"{what} is below zero, where its unsigned iterator wraps"
        hint = "declare the iterator as a signed integer, or start with 0"
        raise lowering.program.locator.error(NonAffineError, node, msg, hint=hint)
    lowering.program.never(below)
    return form


def _tested(place: Place, start: PwAff, domain: Set, step: int) -> Set:
    """``{ [.., i] }`` at which a loop's condition is looked at: the first one, and each next."""
    iterator = place.variable(place.depth - 1)
    first = place.domain.intersect(iterator.eq_set(start))
    return first.union(_moved(domain, step)).intersect(place.domain)


def _beyond(place: Place, type_: ScalarType) -> list[Set]:
    """``{ [.., i] }`` that a step would not reach, since an iterator of the type wraps before."""
    if type_.kind == "int" and type_.bits >= I32.bits:
        return []
    iterator = place.variable(place.depth - 1)
    low, high = (affine_constant(place.space, end) for end in type_.range)
    above = iterator.gt_set(high)
    return [above] if type_.kind == "uint" else [above, iterator.lt_set(low)]


def _grid(place: Place, start: PwAff, step: int) -> Set:
    """``{ [.., i] : i = start + k step, k >= 0 }``."""
    iterator = place.variable(place.depth - 1)
    grid = iterator.ge_set(start) if step > 0 else iterator.le_set(start)
    if abs(step) > 1:
        gone = iterator.sub(start).mod_val(integer_val(abs(step)))
        grid = grid.intersect(gone.zero_set())
    return grid


def _stepped(
    program: Program, start: PwAff, step: int, type_: ScalarType, place: Place, node: c_ast.Node
) -> PwAff:
    """The first value that a test sees which steps before it looks.

    Raises ``NonAffineError`` where that may be below zero and the iterator has no sign.
    """
    first = start.add_constant_val(integer_val(step))
    if type_.kind != "uint" or fits(first, type_, program.bounded(place), program.never):
        return first
    msg = "the first step of this loop may go below zero, where its unsigned iterator wraps"
    hint = "declare the iterator as a signed integer, or test with > before the step: i-- > 0"
    raise program.locator.error(NonAffineError, node, msg, hint=hint)


def _moved(domain: Set, step: int) -> Set:
    """``{ [.., i + step] }`` of ``{ [.., i] }``: what a body sees that runs after the step."""
    last = domain.dim(dim_type.set) - 1
    identity = domain.get_space().identity_multi_pw_aff_on_domain()
    moved = identity.get_at(last).add_constant_val(integer_val(step))
    return domain.apply(identity.set_at(last, moved).as_map())


def _condition(lowering: Lowering, node: c_ast.For, test: c_ast.Node | None) -> Set:
    """Where the loop's condition holds."""
    if test is None:
        raise lowering.program.locator.error(
            UnsupportedError, node, "this loop has no end", hint=_HINT
        )
    cond = lowering.condition(test)
    found = set_of(cond)
    if found is not None:
        return found
    from polyopt.ir.expr import Const

    if isinstance(cond, Const):
        space = lowering.place.space
        return Set.universe(space) if cond.value else Set.empty(space)
    raise blame_condition(lowering, test, "the bound of this loop")


def blame_condition(lowering: Lowering, node: c_ast.Node, what: str) -> Exception:
    """The error for a condition that has to be affine: points at the atom that is not."""
    for atom in _atoms(node):
        if set_of(lowering.condition(atom)) is None:
            sides = [atom.left, atom.right] if isinstance(atom, c_ast.BinaryOp) else [atom]
            for side in sides:
                if lowering.form(lowering.lower(side)) is None:
                    return lowering.not_affine(side, what)
            return lowering.not_affine(atom, what)
    return lowering.not_affine(node, what)


def _atoms(node: c_ast.Node) -> Iterator[c_ast.Node]:
    match node:
        case c_ast.BinaryOp(op="&&" | "||"):
            yield from _atoms(node.left)
            yield from _atoms(node.right)
        case c_ast.UnaryOp(op="!"):
            yield from _atoms(node.expr)
        case _:
            yield node


def _monotone(cond: c_ast.Node, name: str, step: int) -> bool:
    """Whether the condition, once false, stays false: ``i < e`` going up, ``&&`` of such."""
    from polyopt.frontend.c.syntax.usage import names_in

    match cond:
        case c_ast.BinaryOp(op="&&"):
            return _monotone(cond.left, name, step) and _monotone(cond.right, name, step)
        case c_ast.BinaryOp(op="<" | "<=" | ">" | ">="):
            up = step > 0
            low, high = cond.left, cond.right
            if cond.op in {">", ">="}:
                low, high = high, low
            moving, still = (low, high) if up else (high, low)
            return (
                isinstance(moving, c_ast.ID) and moving.name == name and name not in names_in(still)
            )
        case _:
            return False


def _until_first_failure(grid: Set, domain: Set, step: int) -> Set:
    """The iterations before the first one at which the condition fails."""
    failed = grid.subtract(domain)
    return domain.subtract(failed.apply(_order(grid, up=step > 0)))


def _order(where: Set, *, up: bool) -> Map:
    """``{ [o, i] -> [o, j] : j >= i }``, or ``j <= i``."""
    last = where.dim(dim_type.set) - 1
    order = Map.universe(where.get_space().map_from_set())
    for position in range(last):
        order = order.equate(dim_type.in_, position, dim_type.out, position)
    compare = order.order_le if up else order.order_ge
    return compare(dim_type.in_, last, dim_type.out, last)


def _check_end(program: Program, node: c_ast.For, domain: Set, step: int) -> None:
    """Refuse a loop that, for some sizes, has iterations beyond every limit.

    In a part of a file it is a condition on the sizes, which is tested before the part runs.
    """
    last = domain.dim(dim_type.set) - 1
    known = domain.intersect_params(program.context)
    runs = known.project_out(dim_type.set, last, 1)
    # { [o, limit] } with an iteration at or beyond the limit
    beyond = known.apply(_order(known, up=step < 0))
    limited = runs.add_dims(dim_type.set, 1).subtract(beyond).project_out(dim_type.set, last, 1)
    if runs.is_subset(limited):
        return
    ends = program.context.subtract(runs.subtract(limited).params())
    if program.inbounds and not ends.is_empty():
        program.assume(ends)
        return
    msg = "this loop does not end for all sizes"
    hint = "bound it with < going up and > going down; != and unsigned >= 0 do not end it"
    raise program.locator.error(NonAffineError, node.cond or node, msg, hint=hint)


def _check_range(program: Program, node: c_ast.For, type_: ScalarType, domain: Set) -> None:
    """Refuse a loop to a constant limit that its iterator's type cannot hold."""
    last = domain.dim(dim_type.set) - 1
    if domain.involves_dims(dim_type.param, 0, domain.dim(dim_type.param)) or domain.is_empty():
        return
    values = domain.project_out(dim_type.set, 0, last)
    if not (
        values.dim_has_upper_bound(dim_type.set, 0) and values.dim_has_lower_bound(dim_type.set, 0)
    ):
        return
    low, high = values.dim_min_val(0).to_python(), values.dim_max_val(0).to_python()
    least, most = type_.range
    if least <= low and high <= most:
        return
    value = high if high > most else low
    msg = f"this loop overflows: its iterator of type {type_.c_name} cannot hold {value}"
    raise program.locator.error(
        NonAffineError, node.cond or node, msg, hint="declare the iterator as a long"
    )


def _check_unsigned(
    program: Program, node: c_ast.For, type_: ScalarType, domain: Set, step: int
) -> None:
    """Refuse a descending unsigned loop that would have to go below zero to end."""
    if type_.kind != "uint" or step > 0:
        return
    place = Place(domain, ("",) * domain.dim(dim_type.set))
    iterator = place.variable(place.depth - 1)
    limit = iterator.add_constant_val(integer_val(step))
    below = program.known(place).subtract(limit.nonneg_set())
    if below.is_empty():
        return
    msg = "this loop does not end: its unsigned iterator never goes below zero"
    raise program.locator.error(
        NonAffineError, node.cond or node, msg, hint="declare the iterator as a signed integer"
    )
