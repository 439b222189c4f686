"""What names mean while a function is lowered, and where in its loops lowering stands."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from polyopt.errors import UnsupportedError
from polyopt.frontend.c.lower.affine import MOST_STRIDE, deepen
from polyopt.ir.types import I64
from polyopt.isl import (
    Set,
    affine_constant,
    affine_param,
    affine_var,
    dim_type,
    instance_space,
    integer_val,
    params_space,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pycparser import c_ast

    from polyopt.errors import UserError
    from polyopt.frontend.c.lower.ctypes import Types
    from polyopt.frontend.c.syntax.locations import Locator
    from polyopt.frontend.c.syntax.usage import Usage
    from polyopt.ir.expr import Affine, Expr
    from polyopt.ir.types import ScalarType
    from polyopt.isl import PwAff, Space
    from polyopt.source import Source, Span

#: the largest size of 64 bits of which sums with others are taken to fit: such a multiple of it
#: as an index has, twice over, is held by a signed one
MOST_SIZE = (1 << 62) // MOST_STRIDE


@dataclass(frozen=True)
class Parameter:
    """An integer argument that sizes are made of."""

    name: str
    type: ScalarType


@dataclass(frozen=True)
class IteratorVar:
    """The variable of an open loop; ``level`` counts loops from the outside."""

    name: str
    type: ScalarType
    level: int


@dataclass(frozen=True, eq=False)
class Substituted:
    """A local that stands for a constant or an affine expression, made at ``depth`` loops."""

    value: Expr
    depth: int


@dataclass(frozen=True, eq=False)
class Variable:
    """A scalar or array in memory. ``extents`` hold ``None`` where a pointer does not tell."""

    array: str
    type: ScalarType
    #: [N] -> { [extent] }, without the private dimensions
    extents: tuple[PwAff | None, ...] = ()
    argument: bool = False
    const: bool = False
    #: whether a scalar argument is the caller's own variable, and changed for it
    shared: bool = False
    #: [N] -> { [lower] } and [N] -> { [extent] } of the private leading dimensions
    private: tuple[tuple[PwAff, PwAff], ...] = ()
    span: Span | None = None


@dataclass(frozen=True, eq=False)
class Pending:
    """A local without a value yet: an iterator to be, or a scalar of a later assignment."""

    decl: c_ast.Decl
    type: ScalarType
    place: Place


@dataclass(frozen=True, eq=False)
class Inline:
    """A function of the same file that is one value: its calls are replaced by it."""

    decl: c_ast.FuncDef
    value: c_ast.Node


@dataclass(frozen=True)
class BlockLocal:
    """A local variable of code that becomes one ``Block``."""

    name: str
    type: ScalarType


Binding = Parameter | IteratorVar | Substituted | Variable | Pending | Inline | BlockLocal


class Env:
    """Names of one scope and those around it; a name may be bound anew."""

    def __init__(self, outer: Env | None = None) -> None:
        self._outer = outer
        self._names: dict[str, Binding] = {}

    def inner(self) -> Env:
        """A scope inside this one."""
        return Env(self)

    def declare(self, name: str, binding: Binding) -> None:
        """Bind the name in this scope."""
        self._names[name] = binding

    def rebind(self, name: str, binding: Binding) -> None:
        """Change what the name means where it was declared."""
        scope = self.owner(name)
        assert scope is not None
        scope.declare(name, binding)

    def owner(self, name: str) -> Env | None:
        """The innermost scope that declares the name."""
        scope: Env | None = self
        while scope is not None and not scope.has(name):
            scope = scope.outer
        return scope

    def has(self, name: str) -> bool:
        """Whether this very scope declares the name."""
        return name in self._names

    @property
    def outer(self) -> Env | None:
        """The scope around this one."""
        return self._outer

    def saved(self) -> list[tuple[Env, dict[str, Binding]]]:
        """What this scope and those around it bind now, for ``restore``."""
        around = [] if self._outer is None else self._outer.saved()
        return [(self, dict(self._names)), *around]

    def restore(self, saved: list[tuple[Env, dict[str, Binding]]]) -> None:
        """Bind the names of this scope and those around it as they were."""
        self._names = dict(saved[0][1])
        if self._outer is not None:
            self._outer.restore(saved[1:])

    def get(self, name: str) -> Binding | None:
        """What the name means here, or ``None``."""
        scope = self.owner(name)
        return scope.own(name) if scope is not None else None

    def own(self, name: str) -> Binding:
        """What this very scope binds the name to."""
        return self._names[name]

    def here(self) -> tuple[str, ...]:
        """The names that this very scope declares."""
        return tuple(self._names)

    def names(self) -> Iterator[str]:
        """All names that mean something here."""
        scope: Env | None = self
        while scope is not None:
            yield from scope.here()
            scope = scope.outer


@dataclass(frozen=True, eq=False)
class Place:
    """A position in the loops: which instances get here, and under which condition on data."""

    #: { [i] : ... } without a tuple name
    domain: Set
    iterators: tuple[str, ...] = ()
    guard: Expr | None = None

    @property
    def depth(self) -> int:
        """Number of loops around."""
        return len(self.iterators)

    @property
    def space(self) -> Space:
        """``{ [i] }``."""
        return self.domain.get_space()

    def restricted(self, where: Set) -> Place:
        """The instances that are also in ``where``."""
        return replace(self, domain=self.domain.intersect(where))

    def without(self, where: Set) -> Place:
        """The instances that are not in ``where``."""
        return replace(self, domain=self.domain.subtract(where))

    def deeper(self, iterator: str) -> Place:
        """One loop further inside, with nothing known of its iterator."""
        domain = self.domain.add_dims(dim_type.set, 1)
        domain = domain.set_dim_name(dim_type.set, self.depth, iterator)
        guard = None if self.guard is None else deepen(self.guard, 1)
        return Place(domain, (*self.iterators, iterator), guard)

    def variable(self, level: int) -> PwAff:
        """``{ [i] -> [i_level] }``."""
        return affine_var(self.space, level)


@dataclass(frozen=True, eq=False)
class Record:
    """A statement before it has its name; expressions are over ``{ [i] }``."""

    array: str
    #: ``None`` where data decide on the element, for a ``Block`` alone
    index: tuple[Affine | None, ...]
    value: Expr
    place: Place
    span: Span


Gathered = tuple[dict[str, Variable], list[Record], set[str], "Set", list["UserError"]]


@dataclass
class Program:
    """What lowering gathers: arrays, statements in textual order, facts about the sizes."""

    source: Source
    locator: Locator
    types: Types
    usage: Usage
    params: tuple[str, ...]
    functions: Mapping[str, Inline]
    context: Set = field(init=False)
    #: what the types of the sizes can hold
    limits: Set = field(init=False)
    #: a place, what was known of the sizes, and what ``bounded`` made of them
    latest: tuple[Place, Set, Set, Set] | None = None
    #: sizes of types of 64 bits
    wide: set[str] = field(default_factory=set[str])
    variables: dict[str, Variable] = field(default_factory=dict[str, Variable])
    records: list[Record] = field(default_factory=list[Record])
    taken: set[str] = field(default_factory=set[str])
    #: least value and count of each iterator around a place: locals declared there share them
    boxes: dict[Place, tuple[tuple[PwAff, PwAff], ...]] = field(
        default_factory=dict["Place", "tuple[tuple[PwAff, PwAff], ...]"]
    )
    #: whether subscripts that data decide on are known to stay in their arrays: only then is
    #: code taken that data control
    inbounds: bool = False
    #: whether all that is known of the sizes is given, and nothing else may be assumed of them
    closed: bool = False
    #: why scalars that are set several times have no closed form, by their names
    stepped: Mapping[str, str] = field(default_factory=dict[str, str])
    #: why some code is one statement with a program of its own
    reasons: list[UserError] = field(default_factory=list["UserError"])

    def saved(self) -> Gathered:
        """What was gathered so far, for ``restore``."""
        return (
            dict(self.variables), list(self.records), set(self.taken), self.context,
            list(self.reasons),
        )  # fmt: skip

    def restore(self, saved: Gathered) -> None:
        """Forget what was gathered since."""
        self.variables, self.records, self.taken, self.context, self.reasons = (
            dict(saved[0]), list(saved[1]), set(saved[2]), saved[3], list(saved[4])
        )  # fmt: skip
        self.boxes = {}  # of sizes that are not known any more

    def __post_init__(self) -> None:
        self.context = self.limits = Set.universe(params_space(self.params))

    def start(self) -> Place:
        """Outside all loops."""
        return Place(Set.universe(instance_space(self.params, "", ())))

    def assume(self, where: Set) -> None:
        """Add a fact about the sizes: ``[N] -> { : where }``.

        Raises ``UnsupportedError`` where all that is known of them is given, and this is not.
        """
        if self.closed and not self.context.is_subset(where):
            msg = "it is another program for some of the sizes that are given"
            raise UnsupportedError(msg)
        self.context = self.context.intersect(where).coalesce()

    def known(self, place: Place) -> Set:
        """The instances at a place, for sizes that the program may have."""
        return place.domain.intersect_params(self.context)

    def bounded(self, place: Place) -> Set:
        """As ``known``, for sizes that their types can hold; made once for many expressions."""
        wanted = place, self.context, self.limits
        kept = self.latest
        if kept is None or any(one is not two for one, two in zip(kept, wanted, strict=False)):
            kept = *wanted, self.known(place).intersect_params(self.limits)
            self.latest = kept
        return kept[3]

    def size(self, name: str, type_: ScalarType) -> Parameter:
        """A size of the program, which is one of the values of its type."""
        form = affine_param(params_space(self.params), name)
        space = form.get_domain_space()
        low, high = type_.range[0], min(type_.range[1], I64.range[1])
        held = form.ge_set(affine_constant(space, low)).intersect(
            form.le_set(affine_constant(space, high))
        )
        self.limits = self.limits.intersect(held.params())
        if type_.bits == I64.bits:
            self.wide.add(name)
        if type_.kind == "uint":
            self.assume(form.ge_set(affine_constant(space, 0)).params())
        return Parameter(name, type_)

    def never(self, where: Set) -> None:
        """Take it that no instance is among some, as a fact about the sizes.

        The fact is one that 64 bits can test. Of several ways to say it, it is the one that holds
        for the sizes that there can be.
        """
        possible = self.context.intersect(self.limits)
        wrong = where.intersect_params(possible).params()
        if wrong.is_empty():
            return
        named = wrong.gist(possible)
        wide = [k for k, name in enumerate(self.params) if name in self.wide]
        wide = [k for k in wide if named.involves_dims(dim_type.param, k, 1)]
        small = Set.universe(params_space(self.params))
        for position in wide:
            small = small.upper_bound_val(dim_type.param, position, integer_val(MOST_SIZE))
        if wrong.intersect(small).is_empty():
            self.assume(small)
            return
        several = sum(named.involves_dims(dim_type.param, k, 1) for k in range(len(self.params)))
        if several > 1:
            self.assume(small)
        allowed = possible.subtract(wrong.remove_divs())  # a plain test, of all steps of a loop
        if allowed.is_empty():
            allowed = possible.subtract(wrong)
        self.assume(allowed.coalesce().gist(self.limits))

    def assume_extent(self, extent: PwAff) -> None:
        """An array has at least one element along each dimension."""
        if self.closed:
            return
        one = affine_constant(extent.get_domain_space(), 1)
        self.assume(extent.ge_set(one).params())

    def fresh(self, name: str) -> str:
        """The name, or one made from it that nothing has yet."""
        found, number = name, 1
        while found in self.taken:
            found, number = f"{name}_{number}", number + 1
        self.taken.add(found)
        return found

    def add(self, variable: Variable) -> Variable:
        """Register an array or scalar."""
        self.variables[variable.array] = variable
        return variable
