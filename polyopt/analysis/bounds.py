"""In bounds, as a theorem: the exact instances for which an access leaves its array."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from polyopt.analysis.dependences import DEFAULT_BUDGET
from polyopt.errors import OutOfBoundsError, UninitializedError
from polyopt.ir.expr import Affine, loads
from polyopt.ir.show import expr_text
from polyopt.ir.text import affine_text, condition_text
from polyopt.isl import affine_constant, budget, dim_type, maps_of, params_of, sample, tuple_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from polyopt.analysis.dependences import Dependences
    from polyopt.ir.expr import Expr
    from polyopt.ir.scop import Access, Array, Scop, Statement
    from polyopt.isl import Map, Set
    from polyopt.source import Span


@dataclass(frozen=True, eq=False)
class BoundsViolation:
    """One access, and the instances whose element does not exist (or was never written)."""

    statement: str
    array: str
    #: the access as the program writes it, such as ``a[i+1]``
    text: str
    #: { S[i] : the access goes wrong }, within the domain and the context
    where: Set
    #: ``where`` in words, given that the instance runs at all
    condition: str
    #: the smallest instance for the smallest sizes, and the element there
    instance: tuple[int, ...]
    params: dict[str, int]
    element: tuple[int, ...]
    #: false where the subscript depends on data: then it may go wrong
    exact: bool = True
    span: Span | None = None

    @property
    def example(self) -> str:
        """``at S[3] when N = 4: element a[4]``."""
        sizes = ", ".join(f"{name} = {number}" for name, number in self.params.items())
        when = f" when {sizes}" if sizes else ""
        return f"at {_named(self.statement, self.instance)}{when}: element {self._element}"

    @property
    def _element(self) -> str:
        return _named(self.array, self.element)

    @property
    def always(self) -> bool:
        """Whether every instance goes wrong."""
        return self.condition == "true"

    @property
    def message(self) -> str:
        """The theorem in a sentence."""
        verb = "leaves" if self.exact else "may leave"
        if self.exact:
            when = "always" if self.always else f"exactly when {self.condition}"
        else:
            known = "" if self.always else f" when {self.condition}"
            when = f"by what its subscript may be{known}"
        return f"`{self.text}` {verb} `{self.array}` {when}, for example {self.example}"


def check_bounds(scop: Scop, *, budget: int = DEFAULT_BUDGET) -> None:
    """Raise ``OutOfBoundsError`` unless every access stays inside its array for all sizes.

    All violations are in the error: the first as its message, the others as notes.
    """
    found = out_of_bounds(scop, budget=budget)
    if not found:
        return
    first, *others = found
    extent = _shape(scop.array(first.array))
    hint = (
        f"shorten the loops, enlarge `{first.array}` (it is {extent}), or guard the access"
        if first.exact
        else f"clamp the subscript with min and max so that it stays within {extent}, or state in C"
        " that it does: #pragma polyopt inbounds"
    )
    sizes = _sound_sizes(scop, found)
    if sizes:
        hint += (
            f"; or say what sizes are meant, {sizes}: in C #pragma polyopt assume(...), in Python"
            " assert, of stages context="
        )
    notes = [f"{_place(v.span)}{v.message}" for v in others]
    raise OutOfBoundsError(first.message, span=first.span, notes=notes, hint=hint)


def _sound_sizes(scop: Scop, found: tuple[BoundsViolation, ...]) -> str:
    """The sizes for which nothing goes wrong, as a condition; empty where there are none."""
    good = scop.context
    for violation in found:
        good = good.subtract(violation.where.params())
    good = good.coalesce()
    if good.is_empty() or good.n_basic_set() > 1:
        return ""
    return condition_text(good.gist(scop.context))


def out_of_bounds(scop: Scop, *, budget: int = DEFAULT_BUDGET) -> tuple[BoundsViolation, ...]:
    """Every access that can leave its array, writes before reads, in program order.

    Raises ``NotDecidedError`` when the budget of isl operations is spent.
    """
    with _budget(budget, f"bounds of {scop.name}"):
        found = (
            _violation(scop, statement, access, index, text)
            for statement in scop.statements
            for access, index, text in _accesses(statement)
        )
        return tuple(violation for violation in found if violation is not None)


_budget = budget


def _accesses(statement: Statement) -> list[tuple[Access, tuple[Expr, ...], str]]:
    """Each access, its subscripts, and its text: as the source has it, else as we print it."""
    names = statement.iterators
    index = ", ".join(affine_text(part.form, names) for part in statement.index)
    write = f"{statement.array}[{index}]" if statement.index else statement.array
    found: list[tuple[Access, tuple[Expr, ...], str]] = [(statement.write, statement.index, write)]
    for access, node in zip(statement.reads, loads(statement.value), strict=True):
        text = _source_text(access.span) or expr_text(node, names)
        found.append((access, node.index, text))
    return found


def _source_text(span: Span | None) -> str:
    if span is None:
        return ""
    return span.source.line(span.line)[span.column - 1 : span.column - 1 + span.length].strip()


def _violation(
    scop: Scop, statement: Statement, access: Access, index: tuple[Expr, ...], text: str
) -> BoundsViolation | None:
    array = scop.array(access.array)
    relation = access.relation.intersect_params(scop.context)
    outside = relation.subtract_range(scop.elements[array.name])
    if outside.is_empty():
        return None
    found = _described(scop, statement, access, text, outside)
    if not access.exact or found.always:
        return found
    ran = relation.domain()
    sides = [side for side in _sides(array, index) if not side.is_disjoint(ran)]
    words = [
        # A gist would turn i >= N - 1 into i == N - 1, which says less of the cause.
        condition_text(side if side.n_basic_set() == 1 else side.gist(ran), statement.iterators)
        for side in sides
    ]
    return replace(found, condition=" or ".join(dict.fromkeys(words)))


def _sides(array: Array, index: tuple[Expr, ...]) -> Iterator[Set]:
    """``{ S[i] }``, per dimension and end of the array: the subscript is past it."""
    for position, part in enumerate(index):
        if isinstance(part, Affine):
            space = part.form.get_domain_space()
            low = affine_constant(space, 0)
            if array.lower:
                low = array.lower[position].insert_domain(space)
            yield part.form.lt_set(low)
            yield part.form.ge_set(low.add(array.extents[position].insert_domain(space)))


def _described(
    scop: Scop, statement: Statement, access: Access, text: str, wrong: Map
) -> BoundsViolation:
    """``wrong`` is ``{ S[i] -> A[x] }``: the accesses that should not be."""
    where = wrong.domain().coalesce()
    ran = access.relation.domain().intersect_params(scop.context)
    always = ran.is_subset(where)
    condition = "true" if always else condition_text(where.gist(ran), statement.iterators)
    instance, element, params = _example(wrong)
    return BoundsViolation(
        statement.name, access.array, text, where, condition, instance, params, element,
        access.exact, access.span,
    )  # fmt: skip


def _example(wrong: Map) -> tuple[tuple[int, ...], tuple[int, ...], dict[str, int]]:
    chosen = sample(wrong.wrap().flatten())
    if chosen is None:
        return (), (), {}
    depth = wrong.dim(dim_type.in_)
    names = params_of(wrong.get_space())
    params = dict(zip(names, chosen["params"], strict=True))
    return tuple(chosen["set"][:depth]), tuple(chosen["set"][depth:]), params


def _named(name: str, numbers: tuple[int, ...]) -> str:
    return f"{name}[{', '.join(map(str, numbers))}]" if numbers else name


def _shape(array: Array) -> str:
    sizes = ", ".join(affine_text(extent) for extent in array.extents)
    return f"{array.name}[{sizes}]" if sizes else array.name


def _place(span: Span | None) -> str:
    return f"{span}: " if span else ""


def check_initialized(scop: Scop, deps: Dependences) -> None:
    """Raise ``UninitializedError`` for reads of local or output elements that nothing wrote.

    Every such read is in the error: the first as its message, the others as notes.
    """
    found = uninitialized(scop, deps)
    if not found:
        return
    messages = [_unwritten(violation) for violation in found]
    first = found[0]
    role = "a local array" if scop.array(first.array).role == "temp" else "an output"
    raise UninitializedError(
        messages[0],
        span=first.span,
        notes=[f"{_place(v.span)}{m}" for v, m in zip(found[1:], messages[1:], strict=True)],
        hint=f"`{first.array}` is {role}: write these elements before they are read",
    )


def _unwritten(violation: BoundsViolation) -> str:
    verb = "reads" if violation.exact else "may read"
    when = "" if violation.always else f" when {violation.condition}"
    return f"`{violation.text}` {verb} what nothing wrote{when}, for example {violation.example}"


def uninitialized(scop: Scop, deps: Dependences) -> tuple[BoundsViolation, ...]:
    """The reads of elements that neither the caller gives nor a statement wrote before."""
    by_ref = {
        access.ref: (statement, access, text)
        for statement in scop.statements
        for access, _, text in _accesses(statement)[1:]
    }
    found: dict[str, BoundsViolation] = {}
    for part in maps_of(deps.live_in):
        if scop.array(tuple_name(part, dim_type.out)).is_live_in or part.is_empty():
            continue
        ref = tuple_name(part.domain().unwrap(), dim_type.out)
        found[ref] = _described(scop, *by_ref[ref], part.domain_factor_domain())
    return tuple(found[ref] for ref in by_ref if ref in found)
