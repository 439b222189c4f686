"""From statements as a frontend met them to a Scop: names, roles, context."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from polyopt.errors import InvalidOptionError, TooDeepError
from polyopt.frontend.find_last import with_find_last
from polyopt.frontend.if_conversion import if_converted
from polyopt.frontend.ranges import with_value_ranges
from polyopt.ir.expr import Affine, Inside, index_of, rewrite
from polyopt.ir.scop import Array, Loop, Scop, Statement, role_of
from polyopt.isl import (
    Set,
    affine_constant,
    dim_type,
    params_space,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from polyopt.ir.expr import Expr
    from polyopt.isl import PwAff
    from polyopt.source import Source, Span


@dataclass(frozen=True, eq=False)
class Draft:
    """A statement that has no name yet; its sets and forms have an unnamed tuple."""

    array: str
    #: { [i] -> [x] }, one per dimension of the array
    index: tuple[PwAff, ...]
    value: Expr
    #: { [i] : ... }
    domain: Set
    iterators: tuple[str, ...]
    span: Span | None = None
    #: see ``Statement.spread``
    spread: Mapping[int, PwAff] = field(default_factory=dict[int, "PwAff"])


@dataclass(eq=False)
class DraftLoop:
    """A loop being filled."""

    iterator: str
    step: int = 1
    body: list[Draft | DraftLoop] = field(default_factory=list["Draft | DraftLoop"])


@dataclass(frozen=True, eq=False)
class Program:
    """All a frontend knows of a program; array arguments have their role still to be found."""

    name: str
    params: tuple[str, ...]
    #: [N] -> { : what the program states of its sizes }
    context: Set
    arguments: tuple[Array, ...]
    temps: tuple[Array, ...]
    body: Sequence[Draft | DraftLoop]
    signature: tuple[str, ...]
    source: Source | None = None
    reference: Callable[..., object] | None = None


def assemble(program: Program) -> Scop:
    """The Scop of a program: statements named, roles found, all extents at least 1.

    Raises ``InvalidOptionError`` where no sizes satisfy what is stated.
    """
    drafts = list(_drafts(program.body))
    names = _statement_names(drafts)
    statements = tuple(_statement(draft, names[draft]) for draft in drafts)
    scop = Scop(
        name=program.name,
        params=program.params,
        context=_context(program),
        arrays=(*program.arguments, *program.temps),
        statements=statements,
        nest=_nest(program.body, names),
        source=program.source,
        signature=program.signature,
        reference=program.reference,
    )
    roles = {a.name: role_of(scop, a.name) for a in program.arguments}
    arrays = tuple(replace(a, role=roles.get(a.name, a.role)) for a in scop.arrays)
    ranged = with_value_ranges(replace(scop, arrays=arrays), wraps=True)
    return with_find_last(ranged, wraps=True)


def _drafts(body: Sequence[Draft | DraftLoop]) -> Iterator[Draft]:
    for item in body:
        if isinstance(item, Draft):
            yield item
        else:
            yield from _drafts(item.body)


def _statement_names(drafts: Sequence[Draft]) -> dict[Draft, str]:
    """The written array's name, numbered where several statements write it; never that of another
    array that is written: loops are known by either name."""
    writers = Counter(d.array for d in drafts)
    taken = set(writers)
    numbers: Counter[str] = Counter()
    names: dict[Draft, str] = {}
    for draft in drafts:
        name = draft.array
        while writers[draft.array] > 1 and name in taken:
            name = f"{draft.array}_{numbers[draft.array]}"
            numbers[draft.array] += 1
        taken.add(name)
        names[draft] = name
    return names


#: Larger expressions are refused: shared parts count as often as they are used.
MAX_OPERATIONS = 20_000


def _check_size(draft: Draft) -> None:
    """Raise ``TooDeepError`` where shared parts make an expression explode."""
    sizes: dict[Expr, int] = {}
    stack = [draft.value]
    while stack:
        node = stack[-1]
        missing = [child for child in node.children if child not in sizes]
        if missing:
            stack += missing
            continue
        sizes[node] = 1 + sum(sizes[child] for child in node.children)
        stack.pop()
    if sizes[draft.value] > MAX_OPERATIONS:
        raise TooDeepError(
            f"an expression of {sizes[draft.value]:,} operations",
            span=draft.span,
            hint="store the parts that are used several times in a local or a stage",
        )


def _statement(draft: Draft, name: str) -> Statement:
    _check_size(draft)
    domain = draft.domain.set_tuple_name(name)
    ident = domain.get_space().get_tuple_id(dim_type.set)

    def named(form: PwAff) -> PwAff:
        return form.set_tuple_id(dim_type.in_, ident)

    def change(expr: Expr) -> Expr:
        match expr:
            case Affine():
                return replace(expr, form=named(expr.form))
            case Inside():
                return replace(expr, where=expr.where.set_tuple_id(ident))
            case _:
                return expr

    return if_converted(
        Statement(
            name=name,
            iterators=draft.iterators,
            domain=domain,
            array=draft.array,
            index=tuple(index_of(named(form)) for form in draft.index),
            value=rewrite(draft.value, change),
            span=draft.span,
            spread=draft.spread,
        )
    )


def _nest(body: Sequence[Draft | DraftLoop], names: dict[Draft, str]) -> tuple[Loop | str, ...]:
    result: list[Loop | str] = []
    for item in body:
        if isinstance(item, Draft):
            result.append(names[item])
        elif inner := _nest(item.body, names):
            result.append(Loop(item.iterator, inner, item.step))
    return tuple(result)


def _context(program: Program) -> Set:
    """``[N] -> { : every extent >= 1, and what the program states }``."""
    space = params_space(program.params)
    one = affine_constant(space, 1)
    context = program.context
    seen: set[str] = set()
    for array in (*program.arguments, *program.temps):
        for extent in array.extents[array.private :]:
            if (text := str(extent)) not in seen:
                seen.add(text)
                context = context.intersect(extent.ge_set(one))
    if context.is_empty():
        raise InvalidOptionError(
            f"no sizes satisfy what {program.name} states of them",
            hint="every extent has to be at least 1 for some sizes",
        )
    return context
