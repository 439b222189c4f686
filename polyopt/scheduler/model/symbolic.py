"""The cost as formulas in tile sizes and parameters, where loops are rectangular.

A tile size that the plan has fixed becomes a symbol again: a buffer of 66 rows for tiles of 64
is ``T_y + 2`` rows. Tiles at the border count as whole ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from polyopt.analysis.footprint import bounding_box
from polyopt.analysis.sets.count import about
from polyopt.analysis.sets.linear import links
from polyopt.isl import (
    Aff,
    Map,
    PwAff,
    Set,
    affine_var,
    budget,
    constant_value,
    dim_type,
    fix_param_values,
    integer_val,
    params_of,
)
from polyopt.scheduler.model.cost import operations
from polyopt.scheduler.model.instances import evaluated, rolled
from polyopt.scheduler.model.parameters import assumed_sizes
from polyopt.transform.schedule.query import path_to
from polyopt.transform.schedule.tree import copies_in, prefix_map

if TYPE_CHECKING:
    from collections.abc import Mapping

    from polyopt.transform.schedule.program import ScheduledProgram
    from polyopt.transform.schedule.storage import Scratch
    from polyopt.transform.schedule.tree import PlanLoop, ScheduledStatement

    #: a sympy expression; sympy has no types and is imported late
    Formula = Any

#: isl operations for all formulas of a plan
_BUDGET = 100_000_000
#: what is printed for a quantity without a formula
NO_FORM = "no closed form: its loops are not rectangular"


@dataclass(frozen=True)
class _Block:
    """A block loop: its size in the plan and the symbol that stands for it."""

    size: int
    symbol: Formula


def formula(program: ScheduledProgram) -> dict[str, Formula | None]:
    """Formulas by what they say; ``None`` where there is no closed form.

    Keys: ``instances of <copy>``, ``scratch bytes of <array>``, ``scratch bytes``,
    ``operations``, ``work repeated``, ``live bytes``. Imports sympy. Raises ``NotDecidedError``
    where isl's budget is spent.
    """
    with budget(_BUDGET, f"the formulas of {program.scop.name}"):
        return _Formulas(program).all()


def show_formula(program: ScheduledProgram) -> str:
    """The formulas as lines of text."""
    return "\n".join(
        f"{name} = {NO_FORM if value is None else value}"
        for name, value in formula(program).items()
    )


def latex_formula(program: ScheduledProgram) -> str:
    """The formulas as one LaTeX ``aligned`` block."""
    import sympy

    latex: Any = sympy.latex
    lines: list[str] = []
    for name, value in formula(program).items():
        right = rf"\text{{{NO_FORM}}}" if value is None else str(latex(value))
        lines.append(rf"\text{{{_escaped(name)}}} &= {right}")
    return "\\begin{aligned}\n" + " \\\\\n".join(lines) + "\n\\end{aligned}"


def _escaped(text: str) -> str:
    return text.replace("\\", r"\textbackslash ").replace("_", r"\_").replace("#", r"\#")


class _Formulas:
    def __init__(self, program: ScheduledProgram) -> None:
        import sympy

        self.sympy: Any = sympy
        self.program = program
        self.context = program.scop.context
        self.params = {p: sympy.Symbol(p, integer=True, positive=True) for p in program.scop.params}
        self.blocks = self._blocks()

    def all(self) -> dict[str, Formula | None]:
        """Every formula."""
        result: dict[str, Formula | None] = {}
        own = {name: self._instances(self.program.copies[name]) for name in self.program.places}
        for name, number in own.items():
            result[f"instances of {name}"] = number
        work = self._operations(own)
        parts = [self._scratch(s) for s in self.program.scratches]
        known = [part for part in parts if part is not None]
        whole = self._simplify(sum(known, self.sympy.Integer(0)))
        total = whole if len(known) == len(parts) else None
        for scratch, part in zip(self.program.scratches, parts, strict=True):
            result[f"scratch bytes of {scratch.array}"] = self._simplify(part)
        result["scratch bytes"] = total
        result["operations"] = work
        result["work repeated"] = self._repeated(work)
        result["live bytes"] = self._live()
        return result

    def _simplify(self, value: Formula) -> Formula:
        return self.sympy.factor_terms(self.sympy.nsimplify(value)) if value is not None else None

    # -- tiles --------------------------------------------------------------------------------

    def _blocks(self) -> dict[str, _Block]:
        """Block loops by name."""
        sizes: dict[str, int] = {}
        for name, place in self.program.places.items():
            for loop in place.loops:
                size = block_size(loop.values[name])
                if size:
                    sizes.setdefault(loop.name, size)
        short = [name.rsplit(".", 1)[1].removesuffix("_tile") for name in sizes]
        result: dict[str, _Block] = {}
        for (name, size), iterator in zip(sizes.items(), short, strict=True):
            plain = name.removesuffix("_tile").replace(".", "_").replace("@", "_")
            label = iterator if short.count(iterator) == 1 else plain
            symbol = self.sympy.Symbol(f"T_{label}", integer=True, positive=True)
            result[name] = _Block(size, symbol)
        return result

    def _extent(
        self, extent: int | PwAff, offset: PwAff, loops: tuple[PlanLoop, ...]
    ) -> Formula | None:
        """A box's extent, its tile sizes as symbols: those that its offset moves by."""
        number = extent if isinstance(extent, int) else constant_value(extent)
        if number is None:
            return self._of_params(cast("PwAff", extent))
        result = self.sympy.Integer(number)
        for level, loop in enumerate(loops):
            block = self.blocks.get(loop.name)
            step = _coefficient(offset, level)
            if block is not None and step and step % block.size == 0 and step <= number:
                result += (step // block.size) * block.symbol - step
        return result

    def _of_params(self, value: PwAff) -> Formula | None:
        """``[N] -> { [value] }`` where it is one expression under the program's context."""
        pieces = value.gist_params(self.context).coalesce().get_pieces()
        if len(pieces) != 1:
            return None
        return self._of_aff(pieces[0][1])

    def _of_aff(self, aff: Aff) -> Formula:
        result = self._rational(aff.get_constant_val())
        for position, name in enumerate(params_of(aff.get_domain_space())):
            factor = aff.get_coefficient_val(dim_type.param, position)
            if not factor.is_zero():
                result += self._rational(factor) * self.params[name]
        for position in range(aff.dim(dim_type.div)):
            factor = aff.get_coefficient_val(dim_type.div, position)
            if not factor.is_zero():
                inner = self._of_aff(aff.get_div(position))
                result += self._rational(factor) * self.sympy.floor(inner)
        return result

    def _rational(self, value: Any) -> Formula:  # noqa: ANN401
        scale = value.get_den_val()
        return self.sympy.Rational(value.mul(scale).to_python(), scale.to_python())

    # -- instances ----------------------------------------------------------------------------

    def _instances(self, copy: ScheduledStatement) -> Formula | None:
        """How often a copy runs."""
        if not copy.outer:
            return self._box(copy.domain)
        around = self._tiles(copy)
        box = bounding_box(_as_relation(copy.domain, copy.outer), self.context)
        if around is None or box is None or not _is_box_per_tile(copy):
            return None
        loops = self.program.places[copy.name].loops[: copy.outer]
        result = around
        for extent, offset in zip(box.extents, box.offsets, strict=True):
            side = self._extent(extent, offset, loops)
            if side is None:
                return None
            result *= side
        return result

    def _box(self, domain: Set) -> Formula | None:
        """The points of a rectangular domain."""
        domain = domain.intersect_params(self.context)
        result = self.sympy.Integer(1)
        for position in range(domain.dim(dim_type.set)):
            side = self._side(domain, position)
            if side is None:
                return None
            result *= side
        if any(len(group) > 1 for group in links(domain)):
            return None
        return result

    def _side(self, domain: Set, position: int) -> Formula | None:
        low, high = domain.dim_min(position), domain.dim_max(position)
        first, last = self._of_params(low), self._of_params(high)
        return None if first is None or last is None else last - first + 1

    def _tiles(self, copy: ScheduledStatement) -> Formula | None:
        """Iterations of the loops that a fused copy stands in."""
        path = self.program.places[copy.name].loops[: copy.outer]
        inside = copies_in(path[-1])
        roots = [n for n in inside if not self.program.copies[n].outer]
        if not roots:
            return None
        root = self.program.copies[roots[-1]]
        result = self.sympy.Integer(1)
        seen: set[int] = set()
        for level, loop in enumerate(path):
            value = loop.values[root.name]
            found = [d for d in range(value.dim(dim_type.in_))
                     if value.involves_dims(dim_type.in_, d, 1)]  # fmt: skip
            if len(found) != 1:
                return None
            if found[0] in seen:  # inside a tile of the same iterator
                side = self._inside(copy, path[:level])
                if side is None:
                    return None
                result *= side
                continue
            seen.add(found[0])
            side = self._side(root.domain.intersect_params(self.context), found[0])
            if side is None:
                return None
            block = self.blocks.get(loop.name)
            result *= side if block is None else self.sympy.ceiling(side / block.symbol)
        return result

    def _inside(self, copy: ScheduledStatement, around: tuple[PlanLoop, ...]) -> Formula | None:
        """How many values the next loop takes for a copy, per iteration of those around it."""
        level = len(around)
        rest = copy.domain.dim(dim_type.set) - level - 1
        values = copy.domain.project_out(dim_type.set, level + 1, rest)
        box = bounding_box(_as_relation(values, level), self.context)
        return None if box is None else self._extent(box.extents[0], box.offsets[0], around)

    # -- totals -------------------------------------------------------------------------------

    def _operations(self, own: Mapping[str, Formula | None]) -> Formula | None:
        """Operations of all copies and of what is inlined into them."""
        total = self.sympy.Integer(0)
        for name, number in own.items():
            copy, place = self.program.copies[name], self.program.places[name]
            if copy.fills:
                continue
            is_block = len(rolled(place)) < len(place.loops)
            each = self._operations_in_block(name) if is_block else self._operations_each(copy)
            if each == 0:
                continue
            if each is None or number is None:
                return None
            total += each * number
        return self._simplify(total)

    def _operations_each(self, copy: ScheduledStatement) -> int | None:
        """Operations per instance with inlined operands; ``None`` where these are guarded."""
        total = operations(copy.statement.value)
        for access in copy.statement.reads:
            operand = self.program.operand(copy, access)
            if operand is None:
                continue
            rank = copy.domain.dim(dim_type.set)
            extra = operand.domain.dim(dim_type.set) - rank
            onto = operand.domain.project_out(dim_type.set, rank, extra)
            onto = onto.set_tuple_id(copy.domain.get_tuple_id())
            each = self._operations_each(operand)
            if each is None or not onto.is_equal(copy.domain):
                return None
            total += each
        return total

    def _operations_in_block(self, name: str) -> Formula | None:
        """Operations per instance where a loop body holds several, which share operands: those of
        a body in the middle, over its instances; ``None`` where usual sizes have no body."""
        host, loops = self.program.copies[name], rolled(self.program.places[name])
        scop = self.program.scop
        sizes = assumed_sizes(scop, None)
        each = {s.name: operations(s.value) for s in scop.statements}
        times = fix_param_values(prefix_map(host, loops).wrap(), sizes).unwrap().range()
        middle: list[int] = []
        for level in range(len(loops)):
            if times.is_empty():
                return None
            middle.append(middle_of(times, level))
            times = times.fix_val(dim_type.set, level, integer_val(middle[-1]))
        own = prefix_map(host, loops).reverse().wrap().flatten()
        inlined = list(evaluated(self.program, name))[1:]
        whole = _at(own, middle, sizes)
        done = each[host.statement.name] * whole
        done += sum(each[statement] * _at(runs, middle, sizes) for statement, runs, _ in inlined)
        return self.sympy.Rational(done, max(1, whole))

    def _repeated(self, work: Formula | None) -> Formula | None:
        """Operations over those of the source."""
        if work is None:
            return None
        source = self.sympy.Integer(0)
        for statement in self.program.scop.statements:
            number, each = self._box(statement.domain), operations(statement.value)
            if each == 0:
                continue
            if number is None:
                return None
            source += each * number
        if source == 0:
            return None
        return self._simplify(work / source)

    def _scratch(self, scratch: Scratch) -> Formula | None:
        loops = path_to(self.program, scratch.at)
        result = self.sympy.Integer(self.program.scop.array(scratch.array).type.bytes)
        for extent, offset in zip(scratch.extents, scratch.offsets, strict=True):
            side = self._extent(extent, offset, loops)
            if side is None:
                return None
            result *= side
        return result

    def _live(self) -> Formula | None:
        total = self.sympy.Integer(0)
        for array in self.program.scop.arrays:
            passes = int(array.is_live_in) + int(array.is_live_out)
            size = self.sympy.Integer(array.type.bytes * passes)
            for extent in array.extents if passes else ():
                side = self._of_params(extent)
                if side is None:
                    return None
                size *= side
            total += size
        return self._simplify(total)


def block_size(value: PwAff) -> int:
    """The size of blocks where a loop's value is ``floor(v / size)``; 0 for any other value."""
    pieces = value.get_pieces()
    if len(pieces) != 1:
        return 0
    aff = pieces[0][1]
    if aff.dim(dim_type.div) != 1 or not aff.get_coefficient_val(dim_type.div, 0).is_one():
        return 0
    inner = aff.get_div(0)
    size = inner.get_denominator_val().to_python()
    plain = not any(
        not aff.get_coefficient_val(dim_type.in_, d).is_zero() for d in range(aff.dim(dim_type.in_))
    )
    return size if plain and size > 1 else 0


def _coefficient(offset: PwAff, level: int) -> int:
    """By how much an offset moves per iteration of a loop; 0 where it is not linear."""
    pieces = offset.get_pieces()
    if len(pieces) != 1:
        return 0
    value = pieces[0][1].get_coefficient_val(dim_type.in_, level)
    return value.to_python() if value.is_int() else 0


def _as_relation(domain: Set, outer: int) -> Map:
    """``{ C[t, i] }`` as ``{ [t] -> [i] }``."""
    rank = domain.dim(dim_type.set)
    space = domain.get_space()
    result = Map.from_domain(domain.reset_tuple_id())
    for position in range(outer, rank):
        result = result.flat_range_product(
            Map.from_pw_aff(affine_var(space, position)).reset_tuple_id(dim_type.in_)
        )
    return result.project_out(dim_type.in_, outer, rank - outer)


def _is_box_per_tile(copy: ScheduledStatement) -> bool:
    """Whether no constraint ties two of a copy's own iterators, except through a tile's."""
    inner = copy.domain.move_dims(dim_type.param, 0, dim_type.set, 0, copy.outer)
    return all(len(group) == 1 for group in links(inner))


def middle_of(times: Set, level: int) -> int:
    """The first value of a dimension in the upper half of its range: the middle may be a hole."""
    low, high = times.dim_min_val(level).to_python(), times.dim_max_val(level).to_python()
    half = integer_val((low + high) // 2)
    return times.lower_bound_val(dim_type.set, level, half).dim_min_val(level).to_python()


def _at(pairs: Set, values: list[int], sizes: Mapping[str, int]) -> int:
    """How many of ``{ [t, j] }`` there are at one t."""
    for level, value in enumerate(values):
        pairs = pairs.fix_val(dim_type.set, level, integer_val(value))
    return about(pairs, sizes)
