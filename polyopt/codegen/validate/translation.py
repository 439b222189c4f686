"""Generated C, checked after the fact: read back by the C frontend and compared with its source.

What the proof of a plan says nothing about (how loops are generated, unrolled, outlined, put into
registers and vectors, and printed) is part of this: it starts from the text that the C compiler
gets. First for all sizes (``equivalence.py``); where that gives no answer, by running both at small
sizes, forwards and with all shared loops backwards.
"""

from __future__ import annotations

from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise, tee
from typing import TYPE_CHECKING

import numpy as np

from polyopt.analysis.bounds import out_of_bounds
from polyopt.analysis.dependences import DEFAULT_BUDGET
from polyopt.analysis.interpreter.interpret import interpret
from polyopt.analysis.sets.points import parameter_value
from polyopt.codegen.ast.names import tokens
from polyopt.codegen.lower.accumulator_expansion import adds_parts
from polyopt.codegen.printers.headers import after_notes, brings_along, parts_of
from polyopt.codegen.printers.vocabulary import uses_in
from polyopt.codegen.signature import c_prototype, signature_of
from polyopt.codegen.validate.races import check_shared
from polyopt.errors import ArgumentError, InternalError, NotDecidedError, TooDeepError, UserError
from polyopt.frontend.c.readback.emitted import parse_emitted
from polyopt.frontend.c.readback.index_guards import unguarded
from polyopt.frontend.c.readback.parallel_loops import unmarked
from polyopt.ir.block import Block
from polyopt.ir.halves import narrowed
from polyopt.isl import (
    IslError,
    Set,
    budget,
    dim_type,
    fix_param_values,
    params_of,
    params_space,
    sample,
)
from polyopt.transform.legality.equivalence import NotShownError, check_same
from polyopt.transform.legality.parallel import Obligation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from polyopt.codegen.signature import CProgram
    from polyopt.frontend.c.readback.emitted import Emitted
    from polyopt.ir.scop import Scop
    from polyopt.ir.types import ScalarType
    from polyopt.isl import OperationLimit

#: values of the first size to try, even and odd; each further size is one larger, or the same
_SIZES = (1, 2, 3, 4, 5, 8, 9)
#: elements of all arrays together beyond which sizes are too large for running step by step
_MOST_ELEMENTS = 600
#: elements of all the runs together that cross the borders of the C's own blocks
_MOST_CROSSING = 6000
#: what the others are, while one size crosses such borders
_NARROW = (3, 4, 5, 8)


#: how far apart floats may be that were added up in another order, by their bytes: halves of two
#: singles that differ may be neighbours, which are 2^-10 apart
_ROUNDING = {2: 2.0**-9, 4: 1e-4, 8: 1e-10}


@dataclass(frozen=True, eq=False)
class ReadBack:
    """A C text read back, once for all that is asked of it, beside its source."""

    scop: Scop
    program: CProgram

    @cached_property
    def names(self) -> Mapping[str, str]:
        """What arguments are called in C."""
        return {a.name: a.c_name for a in self.program.arguments}

    @cached_property
    def forwards(self) -> Scop:
        """The program that the C is; iterators of shared loops say so in their names."""
        return self._read(marked=True)

    @cached_property
    def backwards(self) -> Scop:
        """The same with all shared loops backwards: of another order, and so another program."""
        return self._read(backwards=True)

    def _read(self, *, backwards: bool = False, marked: bool = False) -> Scop:
        """What is opaque in the source is so in the C."""
        params = tuple(self.names.get(p, p) for p in self.scop.params)
        return self._parsed.scop(
            params, backwards=backwards, marked=marked,
            inbounds=any(isinstance(s.value, Block) for s in self.scop.statements),
            context=_context(self.scop, params),
        )  # fmt: skip

    @cached_property
    def _parsed(self) -> Emitted:
        return parse_emitted(self.program.source, self.program.c_name)

    def _same_sizes(self) -> None:
        if any(self.names.get(p, p) != p for p in self.scop.params):
            message = "sizes are called otherwise in C"
            raise NotShownError(message)

    def check_subscripts(self) -> None:
        """Raise ``InternalError`` where a subscript from data is used without the check that the C
        promises callers."""
        promised = self.program.checked_indices
        if not promised:
            return
        indices = [replace(i, array=self.names[i.array], target=self.names[i.target])
                   for i in promised]  # fmt: skip
        if used := unguarded(self._parsed, indices):
            message = f"the C of {self.program.name} does not check {used} where it uses it"
            raise InternalError(message)

    def claims(self) -> int:
        """The claims that show equality, for all sizes.

        Raises ``NotShownError`` or a ``UserError``, and ``InternalError`` where the C reads or
        writes beyond a buffer.
        """
        self._same_sizes()
        found = _convex(self.forwards)
        outside = out_of_bounds(found)
        for left in outside:
            # what only data decide may be right: the source's own subscripts are then the same
            if left.exact and found.array(left.array).role == "temp":
                leaves = f"leaves a buffer of its own: {unmarked(left.message)}"
                raise InternalError(f"the C of {self.program.name} {leaves}")
        if outside:
            raise NotShownError(unmarked(outside[0].message))
        return check_same(self.scop, found, self.names)

    def loops_apart(self) -> int:
        """The loops that threads and lanes share, free of clashes for all sizes.

        Raises ``NotShownError`` or a ``UserError``, and ``InternalError`` for a clash.
        """
        self._same_sizes()
        return check_shared(self.forwards)


@dataclass(frozen=True)
class Shown:
    """What is shown of a C text for all sizes; ``None`` is what is not, and why."""

    claims: int | None
    loops: int | None
    reason: Exception | None

    @property
    def why_not(self) -> str:
        """The reason in a line."""
        return str(self.reason).split("\n")[0]


def shown(read: ReadBack, *, values: OperationLimit, loops: OperationLimit) -> Shown:
    """All that can be shown for all sizes, each part within what it may take.

    Raises ``InternalError`` where the C computes something else, or what callers do not know.
    """
    check_frame(read.scop, read.program)
    read.check_subscripts()
    claims, unequal = _tried(values, read.claims)
    if loops is values and values.spent:
        return Shown(claims, None, unequal)
    apart, unshared = _tried(loops, read.loops_apart)
    return Shown(claims, apart, unequal or unshared)


def _tried(limit: OperationLimit, ask: Callable[[], int]) -> tuple[int | None, Exception | None]:
    """What is shown within a limit, or the reason why nothing is. Raises what is wrong with the C;
    where isl fails, it says nothing of that."""
    try:
        with limit:
            return ask(), None
    except (NotShownError, UserError) as error:
        return None, error
    except InternalError as error:
        if not isinstance(error.__cause__, IslError):
            raise
        return None, error


def check_code(scop: Scop, program: CProgram, *, operations: int = DEFAULT_BUDGET) -> Obligation:
    """Show that generated C leaves in every result what its source does.

    Where threads add up parts of sums, it does up to rounding. ``operations`` bounds the part that
    is for all sizes. Raises ``InternalError`` where the C computes something else, with the sizes
    that show it, and ``UserError`` where it is not what generated C is.
    """
    read = ReadBack(scop, program)
    values, loops = (
        budget(operations, f"{what} the C of {program.name}") for what in ("values of", "loops of")
    )
    found = shown(read, values=values, loops=loops)
    if found.claims is not None:
        said = f"the C read back has the source's values, for all sizes ({found.claims} claims)"
        return Obligation("code", said)
    if not any(a.is_live_out for a in scop.arrays):
        # nothing need be left of such a program: C without a statement is no program to read
        return Obligation("code", "there is no result that the C could leave otherwise")
    reordered = adds_in_parts(program)
    reason = "sums are in parts" if reordered else found.why_not
    try:
        runs = check_runs(read)
    except TooDeepError as unread:
        said = str(unread).split("\n")[0]
        return Obligation("code", f"not decided: the C is not read back ({said})")
    if not runs:
        said = f"not decided: no size and data were found to run both with ({reason})"
        return Obligation("code", said)
    equal = ", up to rounding," if reordered else ""
    return Obligation("code", f"the C read back gives the source's results{equal} in {runs} "
                      f"runs (for all sizes it is not shown: {reason})")  # fmt: skip


def _context(scop: Scop, params: tuple[str, ...]) -> Set:
    """What the source says of its sizes, by their names in C."""
    context = scop.context
    for name, here in zip(scop.params, params, strict=True):
        at = context.find_dim_by_name(dim_type.param, name)
        context = context.set_dim_name(dim_type.param, at, here) if at >= 0 else context
    return context.align_params(params_space(params))


def check_frame(scop: Scop, program: CProgram) -> None:
    """Raise ``InternalError`` unless a file has its kernel's head, as callers know it, and brings
    along what that needs, word for word: types, and functions with parts that only some compilers
    and processors see."""
    text = after_notes(program.source)
    head = c_prototype(program.name, signature_of(scop))
    calls = list(pairwise(tokens(text))).count((program.c_name, "("))
    if text.count(f"\n{head}\n{{\n") != 1 or calls > 1:
        message = f"the C of {program.name} does not take what its source takes: {head}"
        raise InternalError(message)
    brought, functions = parts_of(text, head)
    if not brings_along(brought, uses_in(functions)):
        message = f"the C of {program.name} brings along other functions than it calls"
        raise InternalError(message)


def _convex(found: Scop) -> Scop:
    """The program with domains in one piece where they have no corners inwards: least and largest
    of bounds were read as choices, each with its part of the domain."""
    domains = {s.name: s.domain.coalesce() for s in found.statements}
    hulls = {name: Set.from_basic_set(domain.simple_hull()) for name, domain in domains.items()}
    whole = (
        replace(s, domain=hulls[s.name] if hulls[s.name].is_subset(s.domain) else domains[s.name])
        for s in found.statements
    )
    return found.with_statements(*whole)


def adds_in_parts(program: CProgram) -> bool:
    """Whether threads or lanes add up parts of sums, so that floats are equal up to rounding."""
    return "#pragma omp ordered" in program.source or adds_parts(tokens(program.source))


def check_runs(read: ReadBack, *, operations: int | None = None) -> int:
    """Run the source and the C read back, step by step; the number of runs that agree.

    They end where they have taken so many isl ``operations``. Raises ``InternalError`` where
    results differ.
    """
    scop, program = read.scop, read.program
    allowed = budget(operations, "runs of the C") if operations else nullcontext()
    stop: type[Exception] | tuple[()] = NotDecidedError if operations else ()
    in_parts = adds_in_parts(program)
    runs = 0
    for backwards, cases in enumerate(tee(_cases(scop, program.source))):
        found = read.backwards if backwards else read.forwards
        order = ", with shared loops backwards" if backwards else ""
        try:
            with allowed:
                for case in cases:
                    _compare(scop, found, case, read.names, order, in_parts=in_parts)
                    runs += 1
        except stop:
            break
    return runs


def small_sizes(scop: Scop) -> Iterator[dict[str, int]]:
    """A few sizes that the program allows, small enough to run step by step."""
    seen: set[tuple[int, ...]] = set()
    candidates = [
        tuple(first + spread * k for k in range(len(scop.params)))
        for first in _SIZES
        for spread in (0, 1)
    ]
    least = sample(scop.context)
    if least is not None:
        known = [name for name in scop.params if name in params_of(scop.context.get_space())]
        chosen = dict(zip(params_of(scop.context.get_space()), least["params"], strict=True))
        candidates.append(tuple(chosen.get(p, 1) for p in scop.params) if known else ())
    for values in candidates:
        sizes = dict(zip(scop.params, values, strict=True))
        if values in seen or fix_param_values(scop.context, sizes).is_empty():
            continue
        seen.add(values)
        if _elements(scop, sizes) <= _MOST_ELEMENTS:
            yield sizes


def crossing_sizes(scop: Scop, text: str) -> list[dict[str, int]]:
    """Sizes of which one crosses the borders of two blocks of the C, the others as they were.

    A window that a test leaves in a wrong state is only seen in the block after.
    """
    found: dict[tuple[int, ...], dict[str, int]] = {}
    for block in sorted(_block_lengths(text)):
        for name in scop.params:
            for narrow in _NARROW:
                sizes = {p: 3 * block + 2 if p == name else narrow for p in scop.params}
                if not fix_param_values(scop.context, sizes).is_empty():
                    found.setdefault(tuple(sizes.values()), sizes)
                    break
    result: list[dict[str, int]] = []
    left = _MOST_CROSSING
    for sizes in found.values():
        left -= _elements(scop, sizes)
        if left >= 0:
            result.append(sizes)
    return result


def _block_lengths(text: str) -> set[int]:
    """Numbers above 1 in the C's loops and tests, and those that it takes remainders of."""
    found: list[str] = []
    for line in map(tokens, text.splitlines()):
        remainders = [number for sign, number in pairwise(line) if sign == "%"]
        found += line if line[:1] in (["for"], ["if"]) else remainders
    return {int(number) for number in found if number.isdecimal() and int(number) > 1}


def _elements(scop: Scop, sizes: Mapping[str, int]) -> int:
    total = 0
    for array in scop.arrays:
        shape = [max(parameter_value(e, sizes), 0) for e in array.extents]
        total += int(np.prod(shape, dtype=np.float64))
    return total


@dataclass(frozen=True, eq=False)
class _Case:
    """What the source makes of some arguments."""

    sizes: Mapping[str, int]
    given: Mapping[str, np.ndarray]
    expected: Mapping[str, np.ndarray]


def _cases(scop: Scop, text: str) -> Iterator[_Case]:
    """Runs of the source: sizes for which no data stay within their arrays say nothing.

    Where it reads integers, they are once more what is at the ends of their types.
    """
    small = list(small_sizes(scop))
    tried = [(sizes, _small_numbers) for sizes in (*small, *crossing_sizes(scop, text))]
    if any(a.type.is_integer and a.is_live_in for a in scop.arrays):
        tried += [(sizes, _ends) for sizes in small]
    return filter(None, (_case(scop, sizes, pools) for sizes, pools in tried))


def _compare(
    scop: Scop, found: Scop, case: _Case, names: Mapping[str, str], order: str, *, in_parts: bool
) -> None:
    given, expected = case.given, case.expected
    there = {names[name]: _shaped(found, names[name], values) for name, values in given.items()}
    known = {names.get(p, p): value for p, value in case.sizes.items()}
    at = ", ".join(f"{name} = {value}" for name, value in case.sizes.items())
    try:
        actual = interpret(found, known, there)
    except ArgumentError as error:
        message = f"the C of {scop.name} does what it must not at {at}{order}: {error}"
        raise InternalError(message) from None
    for name, values in expected.items():
        # what nothing writes stays as it was
        result = actual.get(names[name], there[names[name]]).reshape(values.shape)
        if not _equal(result, values, reordered=in_parts):
            message = f"the C of {scop.name} computes another {name} at {at}{order}"
            raise InternalError(message)


def _case(
    scop: Scop, sizes: Mapping[str, int], pools: Callable[[ScalarType, int], list[list[int]]]
) -> _Case | None:
    """A run with arguments from the first pool that stay within their arrays, also as
    subscripts."""
    shapes = {
        array: [max(parameter_value(e, sizes), 0) for e in array.extents]
        for array in scop.arrays
        if array.role != "temp"
    }
    least = min((n for shape in shapes.values() for n in shape), default=1)
    for number in range(2):
        rng = np.random.default_rng(0)
        given = {
            array.name: _drawn(rng, pools(array.type, least)[number], array.type, shape)
            for array, shape in shapes.items()
        }
        with suppress(ArgumentError):
            return _Case(sizes, given, interpret(scop, sizes, given))
    return None


def _drawn(
    rng: np.random.Generator, pool: list[int], type_: ScalarType, shape: list[int]
) -> np.ndarray:
    # of numbers beyond 63 bits NumPy makes floats, unless it is told otherwise
    wide = "uint64" if max(pool) >= 1 << 63 else "int64"
    drawn = rng.choice(np.array(pool, wide), shape)
    if type_.is_half:
        return narrowed(type_, drawn.astype(np.float32))
    return drawn.astype(type_.numpy_name)


def _small_numbers(_type: ScalarType, least: int) -> list[list[int]]:
    """Numbers above zero, and those that are subscripts of all arrays."""
    return [list(range(1, 50)), list(range(max(least, 1)))]


def _ends(type_: ScalarType, _least: int) -> list[list[int]]:
    """Integers that numbers of another width or sign are not, with and without zero."""
    if not type_.is_integer:
        return [[-4, -1, 0, 3], [-4, -1, 3, 50]]
    low, high = type_.range
    ends = {low + 1, low // 2, high - 1, high, low or 2}
    return [sorted(ends | {-1 if low else 1, 0}), sorted(ends | {-1 if low else 1} - {0})]


def _equal(one: np.ndarray, other: np.ndarray, *, reordered: bool) -> bool:
    is_float = other.dtype.kind == "f"
    if not (is_float and reordered):
        return np.array_equal(one, other, equal_nan=is_float)
    close = _ROUNDING[other.dtype.itemsize]
    one, other = one.astype(np.float64), other.astype(np.float64)
    largest = float(np.abs(other[np.isfinite(other)]).max(initial=1.0))
    return np.allclose(one, other, rtol=close, atol=close * largest, equal_nan=True)


def _shaped(found: Scop, name: str, values: np.ndarray) -> np.ndarray:
    """The values as the other program has them: single elements are arrays of one there."""
    return values.reshape((1,)) if found.array(name).rank > values.ndim else values
