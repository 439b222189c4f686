"""A program as text: its arrays with types, and its statements under their loops."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyopt.ir.block import Block, If, Let, Store, While
from polyopt.ir.expr import (
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
)
from polyopt.ir.text import affine_text, condition_text
from polyopt.isl import dim_type

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from polyopt.ir.block import Action
    from polyopt.ir.scop import Array, Loop, Scop, Statement
    from polyopt.isl import Set

#: Operators and how tightly they bind; those not listed print as functions.
_OPERATORS = {
    "or": ("|", 3), "xor": ("^", 4), "and": ("&", 5), "shl": ("<<", 7), "shr": (">>", 7),
    "add": ("+", 8), "sub": ("-", 8), "mul": ("*", 9), "div": ("/", 9), "mod": ("%", 9),
    "lt": ("<", 6), "le": ("<=", 6), "eq": ("==", 6), "ne": ("!=", 6),
}  # fmt: skip
_SELECT, _LOOSE, _UNARY, _ATOM = 1, 2, 10, 11


def show(scop: Scop) -> str:
    """The whole program: header, arrays, loops and statements."""
    sizes = condition_text(scop.context)
    head = f"scop {scop.name}({', '.join(scop.signature or scop.params)})"
    lines = [head if sizes == "true" else f"{head} where {sizes}"]
    lines += [f"  {array_text(array)}" for array in scop.arrays]
    lines += ["", *_body(scop, scop.nest, (), None)]
    return "\n".join(lines)


def array_text(array: Array) -> str:
    """``in    img: u16[H, W]``; a first index other than zero shows as ``[-1 : +N]``."""
    sizes = [affine_text(extent) for extent in array.extents]
    for position, low in enumerate(array.lower):
        start = affine_text(low)
        if start != "0":
            sizes[position] = f"{start} : +{sizes[position]}"
    shape = f"[{', '.join(sizes)}]" if sizes else ""
    return f"{array.role:<5} {array.name}: {array.type}{shape}"


def statement_text(statement: Statement) -> str:
    """``bx[i, j] = img[i, j] + img[i, j + 1]``."""
    names = statement.iterators
    index = ", ".join(affine_text(part.form, names) for part in statement.index)
    target = f"{statement.array}[{index}]" if statement.index else statement.array
    return f"{target} = {expr_text(statement.value, names)}"


def _body(
    scop: Scop, body: Sequence[Loop | str], iterators: tuple[str, ...], around: Set | None
) -> Iterator[str]:
    """Lines of a loop's body; ``around`` is ``{ [i] }``, what the loops outside let through."""
    indent = "  " * (len(iterators) + 1)
    for node in body:
        if isinstance(node, str):
            statement = scop.statement(node)
            guard = _guard(_anonymous(scop, statement, len(iterators)), around, iterators)
            where = "" if guard == "true" else f"  if {guard}"
            yield f"{indent}{node}: {statement_text(statement)}{where}"
            continue
        inner = (*iterators, node.iterator)
        reached = _reached(scop, node, len(inner))
        condition = _guard(reached, around, inner)
        downwards = f", step {node.step}" if node.step != 1 else ""
        yield f"{indent}for {node.iterator} where {condition}{downwards}:"
        yield from _body(scop, node.body, inner, reached)


def _guard(where: Set, around: Set | None, names: tuple[str, ...]) -> str:
    """What is new inside ``around``."""
    if around is not None:
        missing = where.dim(dim_type.set) - around.dim(dim_type.set)
        where = where.gist(around.add_dims(dim_type.set, missing))
    return condition_text(where, names)


def _reached(scop: Scop, loop: Loop, depth: int) -> Set:
    """``{ [i] }``: the iterations in which some statement runs, as one convex set or exactly."""
    parts = [_anonymous(scop, scop.statement(name), depth) for name in _names(loop)]
    union = parts[0]
    for part in parts[1:]:
        union = union.union(part)
    return union.coalesce()


def _names(loop: Loop) -> Iterator[str]:
    for node in loop.body:
        if isinstance(node, str):
            yield node
        else:
            yield from _names(node)


def _anonymous(scop: Scop, statement: Statement, depth: int) -> Set:
    """The statement's domain under the context, over its outer ``depth`` iterators."""
    domain = statement.domain.reset_tuple_id()
    domain = domain.project_out(dim_type.set, depth, domain.dim(dim_type.set) - depth)
    return domain.gist_params(scop.context).coalesce()


def expr_text(expr: Expr, names: Sequence[str] | None = None) -> str:
    """An expression with as few parentheses as it needs; integer types show in casts only."""
    return _bound(expr, names)[0]


def _bound(expr: Expr, names: Sequence[str] | None) -> tuple[str, int]:
    """The text, and how tightly its outermost operator binds."""
    match expr:
        case RangeHint():
            return _bound(expr.operand, names)
        case Select():
            cond, then, other = (_inner(child, names, _LOOSE) for child in expr.children)
            return f"{then} if {cond} else {other}", _SELECT
        case Unary():
            sign = "-" if expr.op == "neg" else ("not " if expr.type.kind == "bool" else "~")
            return f"{sign}{_inner(expr.operand, names, _UNARY)}", _UNARY
        case Binary() | Compare() if expr.op in _OPERATORS:
            word, level = _OPERATORS[expr.op]
            left, right = _inner(expr.left, names, level), _inner(expr.right, names, level + 1)
            return f"{left} {word} {right}", level
        case _:
            return _plain(expr, names)


def _plain(expr: Expr, names: Sequence[str] | None) -> tuple[str, int]:
    """The text of what has no operator around it."""
    match expr:
        case Const():
            return _constant(expr), _ATOM
        case Affine():
            text = affine_text(expr.form, names)
            return text, _ATOM if text.isidentifier() or text.isdigit() else _SELECT
        case Inside():
            return condition_text(expr.where, names), _LOOSE
        case Load():
            index = ", ".join(expr_text(part, names) for part in expr.index)
            return f"{expr.array}[{index}]" if expr.index else expr.array, _ATOM
        case Local():
            return expr.name, _ATOM
        case Block():
            return f"{{ {_actions(expr.body, names)} }}", _ATOM
        case Cast():
            return f"{expr.type}({expr_text(expr.operand, names)})", _ATOM
        case _:
            return f"{_word(expr)}({', '.join(expr_text(c, names) for c in expr.children)})", _ATOM


def _actions(body: Sequence[Action], names: Sequence[str] | None) -> str:
    return " ".join(_action(action, names) for action in body)


def _action(action: Action, names: Sequence[str] | None) -> str:
    match action:
        case Let():
            return f"{action.name} = {expr_text(action.value, names)};"
        case Store():
            index = ", ".join(expr_text(part, names) for part in action.index)
            return f"[{index}] = {expr_text(action.value, names)};"
        case If():
            other = f" else {{ {_actions(action.other, names)} }}" if action.other else ""
            cond = expr_text(action.cond, names)
            return f"if {cond} {{ {_actions(action.then, names)} }}{other}"
        case While():
            word = "do while" if action.first else "while"
            inner = _actions((*action.body, *action.step), names)
            return f"{word} {expr_text(action.cond, names)} {{ {inner} }}"
        case _:
            return f"{action.word};"


def _word(expr: Expr) -> str:
    match expr:
        case Call():
            return expr.function
        case Binary():
            return expr.op
        case _:
            return type(expr).__name__.lower()


def _inner(expr: Expr, names: Sequence[str] | None, level: int) -> str:
    text, own = _bound(expr, names)
    return text if own >= level else f"({text})"


def _constant(expr: Const) -> str:
    if expr.type.kind == "bool":
        return "true" if expr.value else "false"
    return f"{expr.value:g}" if expr.type.is_float and expr.value % 1 else str(expr.value)
