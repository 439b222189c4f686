"""Scop: a static control part as integer sets and relations. What a program *is*."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import count
from typing import TYPE_CHECKING, TypeVar

from polyopt.arguments import checks_methods
from polyopt.errors import InvalidOptionError, UnknownNameError
from polyopt.ir.expr import (
    Affine,
    Binary,
    Expr,
    Inside,
    Load,
    RangeHint,
    Select,
    same_expr,
)
from polyopt.ir.index_bounds import index_bounds
from polyopt.isl import (
    Map,
    PwAff,
    Set,
    Space,
    UnionMap,
    UnionSet,
    affine_constant,
    affine_var,
    dim_type,
    empty_set,
    instance_space,
    last_writes,
    tuple_name,
    union_all,
)
from polyopt.oneline import one_line, some

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from polyopt.analysis.dependences import Dependences
    from polyopt.ir.types import ScalarType
    from polyopt.source import Source, Span


@dataclass(frozen=True, eq=False)
class Array:
    """A named array of any rank, zero for a scalar; C order, indexed from ``lower``.

    ``role`` says who owns it: ``in`` and ``out`` and ``inout`` are arguments (``out`` is
    written before it is ever read), ``temp`` lives inside the program.
    """

    name: str
    type: ScalarType
    #: [N] -> { [extent] }, one per dimension, over the parameters alone
    extents: tuple[PwAff, ...]
    role: str
    #: [N] -> { [first index] }; empty means zero everywhere
    lower: tuple[PwAff, ...] = ()
    #: leading dimensions that are the loops around a local's declaration: each iteration has
    #: a variable of its own (privatised by expansion)
    private: int = 0
    span: Span | None = None

    def __repr__(self) -> str:
        """Its name, type and rank, and whose it is."""
        return one_line(self, f"{self.type} {self.name}{'[]' * self.rank}", self.role)

    @property
    def rank(self) -> int:
        """Number of dimensions."""
        return len(self.extents)

    @property
    def is_live_in(self) -> bool:
        """Whether the caller gives its contents."""
        return self.role in {"in", "inout"}

    @property
    def is_live_out(self) -> bool:
        """Whether the caller sees its contents afterwards."""
        return self.role in {"out", "inout"}

    def elements(self, params: tuple[str, ...]) -> Set:
        """``{ A[x] : lower <= x < lower + extent }``."""
        names = [f"a{i}" for i in range(self.rank)]
        space = instance_space(params, self.name, names)
        result = Set.universe(space)
        for position, extent in enumerate(self.extents):
            index = affine_var(space, position)
            low = affine_constant(space, 0)
            if self.lower:
                low = self.lower[position].insert_domain(space)
            high = low.add(extent.insert_domain(space))
            result = result.intersect(index.ge_set(low)).intersect(index.lt_set(high))
        return result


@dataclass(frozen=True, eq=False)
class Access:
    """One read or write of a statement. ``exact`` is false for a data-dependent index, whose
    relation then holds every element that the index may name.
    """

    array: str
    #: { S[i] -> A[x] }
    relation: Map
    #: name of the reference, unique in its Scop: the tag of tagged relations
    ref: str
    exact: bool = True
    span: Span | None = None


@dataclass(frozen=True, eq=False)
class Statement:
    """``array[index] = value`` for every instance of ``domain``."""

    name: str
    iterators: tuple[str, ...]
    #: { S[i] : ... }
    domain: Set
    array: str
    #: one affine expression { S[i] -> [x] } per dimension of the array
    index: tuple[Affine, ...]
    value: Expr
    span: Span | None = None
    #: where data decide on the element: dimension -> number of elements from the index on that
    #: may be written, [N] -> { [count] }
    spread: Mapping[int, PwAff] = field(default_factory=dict[int, PwAff])

    def __repr__(self) -> str:
        """Its name and iterators, what it writes and reads."""
        reads = ", ".join(dict.fromkeys(access.array for access in self.reads))
        name = f"{self.name}[{', '.join(self.iterators)}]"
        return one_line(self, name, f"writes {self.array}", f"reads {reads}" if reads else "")

    @cached_property
    def space(self) -> Space:
        """``{ S[i] }``."""
        return self.domain.get_space()

    @cached_property
    def write(self) -> Access:
        """The write access: one element per instance, or all that may be (see ``spread``)."""
        index = tuple(
            spread_over(part, self.spread[k]) if k in self.spread else part
            for k, part in enumerate(self.index)
        )
        relation, exact = _index_relation(self.domain, self.array, index)
        return Access(self.array, relation, f"{self.name}_w", exact, self.span)

    @cached_property
    def reads(self) -> tuple[Access, ...]:
        """One access per load of ``value``, in ``expr.loads`` order.

        A load below a ``Select`` on an affine condition happens only where that holds.
        """
        return tuple(
            Access(load.array, *_read_relation(domain, load, f"{self.name}_r{k}"))
            for k, (load, domain) in enumerate(_guarded(self.value, self.domain))
        )

    @cached_property
    def reduction(self) -> str | None:
        """The operation of an accumulation ``A[f(i)] = A[f(i)] op value``, else ``None``."""
        if (
            self.spread
            or not isinstance(self.value, Binary)
            or self.value.op not in {"add", "mul", "min", "max"}
        ):
            return None
        return self.value.op if any(map(self.is_target, self.value.children)) else None

    def is_own(self, index: tuple[Expr, ...]) -> bool:
        """Whether subscripts are its outermost iterators, in order."""
        return len(index) <= len(self.iterators) and all(
            isinstance(part, Affine) and part.form.is_equal(affine_var(self.space, k))
            for k, part in enumerate(index)
        )

    def is_target(self, expr: Expr) -> bool:
        """Whether an operand reads the element that the statement writes."""
        if not isinstance(expr, Load) or expr.array != self.array:
            return False
        return all(same_expr(a, b) for a, b in zip(expr.index, self.index, strict=True))


def _guarded(expr: Expr, domain: Set) -> Iterator[tuple[Load, Set]]:
    """Each load with the instances for which it happens, in ``walk`` order."""
    if isinstance(expr, Load):
        yield expr, domain
    if isinstance(expr, Select) and isinstance(expr.cond, Inside):
        yield from _guarded(expr.then, domain.intersect(expr.cond.where))
        yield from _guarded(expr.other, domain.subtract(expr.cond.where))
        return
    for child in expr.children:
        yield from _guarded(child, domain)


def _read_relation(domain: Set, load: Load, ref: str) -> tuple[Map, str, bool, Span | None]:
    relation, exact = _index_relation(domain, load.array, load.index)
    return relation, ref, exact, load.span


def _index_relation(domain: Set, array: str, index: tuple[Expr, ...]) -> tuple[Map, bool]:
    """``{ S[i] -> A[x] }`` for index expressions, and whether it is exact."""
    target = domain.get_space().from_domain().add_dims(dim_type.out, len(index))
    target = target.set_tuple_name(dim_type.out, array)
    relation = Map.universe(target).intersect_domain(domain)
    exact = True
    for position, expr in enumerate(index):
        low, high = index_bounds(expr, domain.get_space())
        exact = exact and low is not None and low is high
        if low is not None:
            relation = relation.intersect(_compare(target, position, low, lower=True))
        if high is not None:
            relation = relation.intersect(_compare(target, position, high, lower=False))
    return relation, exact


def _compare(space: Space, position: int, bound: PwAff, *, lower: bool) -> Map:
    """``{ S[i] -> A[x] : x_position >= bound(i) }``, or ``<=``."""
    bounds = Map.from_pw_aff(bound)
    line = bounds.get_space().range()
    order = Map.lex_le(line) if lower else Map.lex_ge(line)
    values = bounds.apply_range(order).insert_dims(dim_type.out, 0, position)
    values = values.add_dims(dim_type.out, space.dim(dim_type.out) - position - 1)
    return values.set_tuple_name(dim_type.out, tuple_name(space, dim_type.out))


def spread_over(first: Affine, count: PwAff) -> RangeHint:
    """A subscript that is one of ``count`` from the first on, which depends on sizes alone."""
    low = first.form.project_domain_on_params()
    one = affine_constant(count.get_domain_space(), 1)
    return RangeHint(first.type, first, low, low.add(count).sub(one))


@dataclass(frozen=True, eq=False)
class Loop:
    """A loop of the source program around statements (by name) and further loops.

    A statement's iterators are those of the loops around it, from the outside in. ``step`` is
    the direction and stride of the source; the domain already holds the stride.
    """

    iterator: str
    body: tuple[Loop | str, ...]
    step: int = 1


def statements_in(node: Loop | str) -> Iterator[str]:
    """The statements of a loop, in textual order."""
    if isinstance(node, str):
        yield node
        return
    for child in node.body:
        yield from statements_in(child)


@checks_methods
@dataclass(frozen=True, eq=False)
class Scop:
    """Arrays, statements, and the order in which the source runs them."""

    name: str
    params: tuple[str, ...]
    #: [N] -> { : what the program may assume of its sizes }
    context: Set
    arrays: tuple[Array, ...]
    statements: tuple[Statement, ...]
    nest: tuple[Loop | str, ...]
    source: Source | None = None
    #: names of the arguments in call order: sizes and arrays; sizes may be derived from shapes
    signature: tuple[str, ...] = field(default=())
    #: the plain Python function this came from, where there is one
    reference: Callable[..., object] | None = None

    def __call__(self, *args: object, **named: object) -> object:
        """Run the Python function it came from. Raises ``InvalidOptionError`` without one."""
        if self.reference is None:
            message = f"{self.name} came from no Python function that could be called"
            raise InvalidOptionError(message, hint="po.auto(scop).compile() makes a function")
        return self.reference(*args, **named)

    def array(self, name: str) -> Array:
        """The array of that name. Raises ``UnknownNameError``."""
        return _named(self.arrays, name, "array")

    def statement(self, name: str) -> Statement:
        """The statement of that name. Raises ``UnknownNameError``."""
        return _named(self.statements, name, "statement")

    def written_around(self, name: str) -> frozenset[str]:
        """The arrays that the outermost loop around a statement writes."""
        nests = (set(statements_in(node)) for node in self.nest)
        around = next(names for names in nests if name in names)
        return frozenset(s.array for s in self.statements if s.name in around)

    def unused_name(self, stem: str, *endings: str) -> str:
        """``stem``, or it with a number, that no size, array or statement has: with none of the
        endings, where there are some."""
        taken = {*self.params, *(a.name for a in self.arrays), *(s.name for s in self.statements)}
        names = (f"{stem}{number or ''}" for number in count())
        return next(n for n in names if not {n + end for end in endings or ("",)} & taken)

    @cached_property
    def elements(self) -> Mapping[str, Set]:
        """``{ A[x] }`` per array."""
        return {a.name: a.elements(self.params) for a in self.arrays}

    @cached_property
    def domain(self) -> UnionSet:
        """``{ S[i]; T[j]; ... }`` under the context."""
        result = empty_set()
        for statement in self.statements:
            result = result.union(statement.domain.to_union_set())
        return result.intersect_params(self.context)

    @cached_property
    def reads(self) -> UnionMap:
        """``{ [S[i] -> ref[]] -> A[x] }``, one reference per load."""
        return union_all(
            tagged(access) for s in self.statements for access in s.reads
        ).intersect_params(self.context)

    @cached_property
    def writes(self) -> UnionMap:
        """``{ S[i] -> A[x] }``."""
        relations = union_all(s.write.relation for s in self.statements)
        return relations.intersect_params(self.context)

    @cached_property
    def schedule(self) -> UnionMap:
        """The source's order: ``{ S[i, j] -> [position, i, position, j, position] }``."""
        depth = max((len(s.iterators) for s in self.statements), default=0)
        return union_all(
            _time(self.statement(name), path, steps, depth)
            for name, path, steps in _leaves(self.nest, (), ())
        ).intersect_domain(self.domain)

    def __repr__(self) -> str:
        """Its name, and how much it has."""
        statements = some(len(self.statements), "statement")
        sizes = f"sizes {', '.join(self.params)}" if self.params else "no open sizes"
        return one_line(self, self.name, statements, some(len(self.arrays), "array"), sizes)

    def __str__(self) -> str:
        """The program as loops, with types."""
        from polyopt.ir.show import show

        return show(self)

    def dependences(self) -> Dependences:
        """Exact dependences: what each instance needs of which other; prints as a table."""
        from polyopt.analysis.dependences import dependences

        return dependences(self)

    def _repr_html_(self) -> str:
        from polyopt.explain.jupyter import scop_html

        return scop_html(self)

    def fills(self, array: str) -> bool:
        """Whether the program writes every element of an array, for all sizes of the context.

        Raises ``UnknownNameError``.
        """
        elements = self.elements[self.array(array).name].intersect_params(self.context)
        return elements.to_union_set().is_subset(self.writes.range())

    def with_statements(self, *statements: Statement) -> Scop:
        """The same program with some statements replaced, by name."""
        new = {s.name: s for s in statements}
        return replace(self, statements=tuple(new.get(s.name, s) for s in self.statements))


_Named = TypeVar("_Named", Array, Statement)


def _named(items: tuple[_Named, ...], name: str, kind: str) -> _Named:
    for item in items:
        if item.name == name:
            return item
    msg = f"no {kind} is called {name!r}"
    raise UnknownNameError(msg, hint="there are: " + ", ".join(i.name for i in items))


def tagged(access: Access) -> Map:
    """``{ [S[i] -> ref[]] -> A[x] }``."""
    relation = access.relation
    space = relation.get_space().domain().from_domain()
    tag = Map.universe(space.set_tuple_name(dim_type.out, access.ref))
    return tag.intersect_domain(relation.domain()).domain_map().apply_range(relation)


def role_of(scop: Scop, name: str) -> str:
    """Whose an argument's contents are: ``in``, ``out``, or ``inout``.

    ``out`` is for arrays of which every element is written and none is read before: an array
    that is written in part keeps the caller's other elements, so it is ``inout``. Reads of elements
    that data choose are of any in the array.
    """
    if not any(s.array == name for s in scop.statements):
        return "in"
    if not scop.fills(name):
        return "inout"
    reads = [a.relation for s in scop.statements for a in s.reads if a.array == name]
    if not reads:
        return "out"
    writes = union_all(
        s.write.relation for s in scop.statements if s.array == name
    ).intersect_params(scop.context)
    within = union_all(reads).intersect_range(scop.elements[name].to_union_set())
    within = within.intersect_params(scop.context)
    return "out" if last_writes(within, writes, scop.schedule).without.is_empty() else "inout"


def _leaves(
    body: tuple[Loop | str, ...], path: tuple[int, ...], steps: tuple[int, ...]
) -> Iterator[tuple[str, tuple[int, ...], tuple[int, ...]]]:
    """Each statement with its textual positions and loop directions from the outside in."""
    for position, node in enumerate(body):
        if isinstance(node, str):
            yield node, (*path, position), steps
        else:
            yield from _leaves(node.body, (*path, position), (*steps, node.step))


def _time(statement: Statement, path: tuple[int, ...], steps: tuple[int, ...], depth: int) -> Map:
    space = statement.space
    parts: list[PwAff] = []
    for level in range(depth):
        inside = level < len(path)
        parts.append(affine_constant(space, path[level] if inside else 0))
        within = level < len(steps)
        value = affine_var(space, level) if within else affine_constant(space, 0)
        parts.append(value.neg() if within and steps[level] < 0 else value)
    parts.append(affine_constant(space, path[depth] if depth < len(path) else 0))
    result = Map.from_pw_aff(parts[0])
    for part in parts[1:]:
        result = result.flat_range_product(Map.from_pw_aff(part))
    return result
