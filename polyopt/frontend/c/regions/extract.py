"""A marked region of a file to a Scop whose arguments are the variables that it finds there.

Sizes and arrays keep the names of the file; what the region must be able to rely on at run time
(extents that are positive, accesses within their arrays, pointers that do not overlap) is
gathered as conditions that the code tests before it runs, unless the file states them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from itertools import count
from typing import TYPE_CHECKING

from pycparser import c_ast

from polyopt.errors import UnsupportedError, UserError
from polyopt.frontend.c.lower.assemble import UNKNOWN_EXTENT, assemble, check_count
from polyopt.frontend.c.lower.declarations import Declarer
from polyopt.frontend.c.lower.entry import functions_of, inlines_of
from polyopt.frontend.c.lower.limits import MAX_STATEMENTS, within
from polyopt.frontend.c.lower.program import assume, assumptions, constants, states
from polyopt.frontend.c.lower.scope import Env, Pending, Program, Substituted, Variable
from polyopt.frontend.c.lower.statements import Statements
from polyopt.frontend.c.normalize.alpha_renaming import (
    alpha_renamed,
    declared,
    free_names,
    locals_apart,
)
from polyopt.frontend.c.normalize.delinearize import is_size, unfolded
from polyopt.frontend.c.normalize.induction_variables import Inductions, Outer
from polyopt.frontend.c.normalize.inline_calls import Inliner
from polyopt.frontend.c.normalize.lvalues import Flattener, structs_of
from polyopt.frontend.c.regions.alias_checks import Pointers
from polyopt.frontend.c.regions.bounds_checks import within_arrays
from polyopt.frontend.c.regions.live_out_iterators import over_own, with_final, with_start
from polyopt.frontend.c.regions.pragmas import after_labels
from polyopt.frontend.c.syntax.desugar import stepped_name
from polyopt.frontend.c.syntax.liveness import address_taken, is_read, sink
from polyopt.frontend.c.syntax.parse import deep_recursion
from polyopt.frontend.c.syntax.usage import names_in, nodes, usage_of, written_names
from polyopt.ir.block import Block
from polyopt.ir.types import I64, U32, U64
from polyopt.isl import Set, constant_value, dim_type, integer_val, params_space

if TYPE_CHECKING:
    from collections.abc import Mapping

    from polyopt.frontend.c.lower.ctypes import CType, Types
    from polyopt.frontend.c.normalize.delinearize import Shape
    from polyopt.frontend.c.normalize.lvalues import Member
    from polyopt.frontend.c.regions.pragmas import Marked
    from polyopt.frontend.c.syntax.locations import Locator
    from polyopt.frontend.c.syntax.preprocess import Preprocessed
    from polyopt.ir.scop import Array, Scop
    from polyopt.ir.types import ScalarType
    from polyopt.isl import PwAff


_DEFINES = re.compile(r"\s*#\s*(define|undef|include)\b")


@dataclass(frozen=True, eq=False)
class RegionScop:
    """The Scop of a region, and how its code is to name and test things."""

    scop: Scop
    #: lines of the two pragmas
    first: int
    last: int
    #: array -> C text of an element, with ``{0}``, ``{1}``, ... for its subscripts
    elements: Mapping[str, str]
    #: parameter -> C text
    sizes: Mapping[str, str]
    #: parameter -> the type of that text
    types: Mapping[str, ScalarType]
    #: array that the file folds -> the names, and numbers added to them, whose products are its
    #: inner extents
    folded: Mapping[str, tuple[tuple[tuple[str, int], ...], ...]]
    #: [N] -> { : what has to hold for the region to mean what the Scop says }
    needed: Set
    #: pairs of arrays that must not overlap
    apart: tuple[tuple[str, str], ...]
    #: why some of its code is one statement with a program of its own
    reasons: tuple[UserError, ...] = ()
    #: macros that were replaced by integers
    macros: Mapping[str, int] = field(default_factory=dict[str, int])
    #: macros of the file and of what it includes: names that mean something else
    reserved: frozenset[str] = frozenset()


def lower_region(
    tree: c_ast.FileAST,
    text: Preprocessed,
    locator: Locator,
    types: Types,
    region: Marked,
    sizes: frozenset[str] = frozenset(),
) -> RegionScop:
    """The Scop of one region; ``sizes`` are kept as such even where no bound needs them.

    Raises the frontend's errors.
    """
    what = f"the lowering of {region.function.decl.name}"
    with deep_recursion():
        around = _Region(tree, text, locator, types, region, sizes)
        place = locator.line_span(region.first)
        return within(around.lower, [around.body], what, place, locator)


class _Region:
    """The surroundings of one region, looked at once."""

    def __init__(
        self,
        tree: c_ast.FileAST,
        text: Preprocessed,
        locator: Locator,
        types: Types,
        region: Marked,
        sizes: frozenset[str],
    ) -> None:
        self.tree, self.text, self.locator, self.types = tree, text, locator, types
        self.region, self.sizes = region, sizes
        #: declarations as the region's code uses them, members of structs among them
        self.visible = dict(region.visible)
        #: what may run after a jump, for each label of the function
        self.labelled = tuple(after_labels(region.function.body))
        self.shapes: dict[str, Shape] = {}
        self.members: dict[str, Member] = {}
        self.sunk: set[str] = set()
        self.stepped: Mapping[str, str] = {}
        self._check_declarations()
        self._check_directives()
        lines = range(_line_above(tree, region.function), region.last + 1)
        self.conditions = assumptions(text, locator, lines)
        self.disjoint = states(text, "disjoint", lines)
        self.body = c_ast.Compound(
            self._prepared(), region.items[0].coord if region.items else None
        )
        self.usage = usage_of(
            [self.body, *(c_ast.If(cond, None, None) for cond in self.conditions)]
        )
        #: names of the surroundings that the region uses, in the order of their declarations
        names = names_in(self.body) | {n for c in self.conditions for n in names_in(c)}
        self.used = [
            name
            for name, decl in self.visible.items()
            if name in names - self.sunk and not isinstance(decl.type, c_ast.FuncDecl)
        ]
        self.kinds = {name: self._kind(name) for name in self.used}

    # -- the code as it is lowered -----------------------------------------------------------
    def _prepared(self) -> list[c_ast.Node]:
        """The items with members as variables, folded arrays unfolded, and scalars sunk."""
        flattener = Flattener(
            self.visible, self.types.typedefs, structs_of(self.tree), self.locator
        )
        functions = functions_of(self.tree)
        inliner = Inliner(functions, inlines_of(self.tree), self.locator, self.region.local)
        inlined = inliner.all(self._unshadowed(inliner))
        flattener.taken |= inliner.taken
        items = [flattener.flat(item) for item in inlined]
        iterated = usage_of(items).iterated
        going_on = {stepped_name(i) for i in items if isinstance(i, c_ast.For) and not i.init}
        for name in sorted((iterated | going_on) & self.visible.keys()):
            items = self._with_own_iterator(items, name, flattener.taken)
        items = self._without_inductions(items, flattener.taken)
        self.members = flattener.members
        self.visible |= {name: member.decl for name, member in self.members.items()}
        return self._sinking(self._unfolded(items))

    def _unshadowed(self, inliner: Inliner) -> list[c_ast.Node]:
        """The items with names of their own for what hides variables that are used, too."""
        items = locals_apart(self.region.items, self.visible.keys())
        free = free_names(items)
        hidden = sorted(
            name
            for name in declared(items) & self.visible.keys()
            if name in free or not self._is_dead_after(name)
        )
        inliner.taken |= self.visible.keys()
        inliner.taken |= {name for item in items for name in names_in(item)} | declared(items)
        return alpha_renamed(items, {name: inliner.fresh(name) for name in hidden})

    def _with_own_iterator(
        self, items: list[c_ast.Node], name: str, taken: set[str]
    ) -> list[c_ast.Node]:
        """The items with loops of their own for an iterator that is used before or after them."""
        decl = self.visible[name]
        if not isinstance(decl.type, c_ast.TypeDecl):
            return items
        used = taken | self.visible.keys()
        own = next(n for k in count(1) if (n := f"{name}_{k}") not in used)
        changed = (with_start if self._is_dead_after(name) else with_final)(items, decl, own)
        if changed is None:
            return items
        taken.add(own)
        return changed

    def _without_inductions(self, items: list[c_ast.Node], taken: set[str]) -> list[c_ast.Node]:
        """The items without scalars that their loops step, where those have a closed form."""
        names = self.region.local & self.visible.keys() & written_names(items)
        outer = {
            name: Outer(
                self.visible[name], is_read(items, name), not self._is_dead_after(name), over_own
            )
            for name in names
        }
        found = Inductions(items, self.visible, self.types, outer, taken)
        self.stepped = found.reasons
        return found.items

    def _unfolded(self, items: list[c_ast.Node]) -> list[c_ast.Node]:
        items, self.shapes, changed = unfolded(items, self.visible, self.types)
        self.visible |= changed
        return items

    # -- what is around ----------------------------------------------------------------------
    def _check_declarations(self) -> None:
        """Refuse names that the region declares for the code after it."""
        for item in self.region.items:
            if isinstance(item, c_ast.Decl) and item.name:
                later = next(
                    (
                        n
                        for node in self.region.after
                        for n in nodes(node)
                        if isinstance(n, c_ast.ID) and n.name == item.name
                    ),
                    None,
                )
                if later is not None:
                    msg = f"{item.name!r} is declared in the region and used after it"
                    raise self.locator.error(
                        UnsupportedError, item, msg, hint="declare it before #pragma scop"
                    )

    def _check_directives(self) -> None:
        """Refuse macros that the region defines: the code after it may need them."""
        for number in range(self.region.first + 1, self.region.last):
            if _DEFINES.match(self.text.source.line(number)):
                msg = "this directive stands in a region that is replaced"
                raise self.locator.error(
                    UnsupportedError, self.locator.line_span(number), msg,
                    hint="put it before #pragma scop",
                )  # fmt: skip

    def _sinking(self, items: list[c_ast.Node]) -> list[c_ast.Node]:
        """The items with scalars of the function declared in the loops that they belong to."""
        assigned = usage_of(items).assigned
        for name, decl in self.visible.items():
            is_scalar = isinstance(decl.type, c_ast.TypeDecl)
            if is_scalar and name in assigned and self._is_dead_after(name):
                moved = sink(items, decl)
                if moved != items:
                    self.sunk.add(name)
                items = moved
        return items

    def _is_dead_after(self, name: str) -> bool:
        """Whether nothing uses the variable's value after the region."""
        decl = self.visible[name]
        if name not in self.region.local or "static" in decl.storage:
            return False
        if address_taken(self.region.function, name) or is_read(self.region.after, name):
            return False
        return not any(is_read(items, name) for items in self.labelled)

    def _kind(self, name: str) -> CType:
        decl = self.visible[name]
        self._refuse_volatile(decl)
        return self.types.of(decl.type)

    def _refuse_volatile(self, decl: c_ast.Decl) -> None:
        parts = [
            n for n in nodes(decl) if isinstance(n, (c_ast.TypeDecl, c_ast.PtrDecl, c_ast.Decl))
        ]
        if any({"volatile", "_Atomic"} & {*(part.quals or [])} for part in parts):
            use = next(
                n for n in nodes(self.body) if isinstance(n, c_ast.ID) and n.name == decl.name
            )
            msg = f"{decl.name!r} is volatile or atomic: every access to it has to stay where it is"
            raise self.locator.error(
                UnsupportedError, use, msg, hint="copy it into a plain variable before the region"
            )

    # -- names -------------------------------------------------------------------------------
    def lower(self) -> RegionScop:
        params = self._params()
        program = Program(
            self.text.source, self.locator, self.types, self.usage, params, inlines_of(self.tree)
        )
        program.taken.update(params)
        program.stepped = self.stepped
        program.inbounds = True  # a program that leaves its arrays has no meaning in C
        outer = Env()
        constants(self.tree, program, outer)
        env = outer.inner()
        self._bind(program, env)
        stated = self._held(program)
        for condition in self.conditions:
            stated = stated.intersect(assume(program, env, condition))
        for variable in program.variables.values():
            for extent in variable.extents:
                if extent is not None:
                    program.assume_extent(extent)
        items = list(self.body.block_items or [])
        nest = Statements(program).block(items, env.inner(), program.start())
        signature = (*params, *(v.array for v in program.variables.values() if v.argument))
        name = self.region.function.decl.name
        place = self.locator.line_span(self.region.first)
        check_count(program, nest, name, place, MAX_STATEMENTS)
        scop = within_arrays(assemble(program, name, signature, nest))
        if all(isinstance(s.value, Block) and not s.iterators for s in scop.statements):
            raise program.reasons[0]
        return self._hosted(scop, stated, tuple(program.reasons))

    def _params(self) -> tuple[str, ...]:
        """Integers that bounds, conditions and extents are made of, and that nothing changes."""
        wanted = set(self.usage.affine | self.sizes)
        for kind in self.kinds.values():
            for extent in kind.extents:
                if extent is not None:
                    wanted |= names_in(extent)
        return tuple(
            name
            for name in self.visible
            if name in wanted and self._is_size(name) and not self._is_changed(name)
        )

    def _is_size(self, name: str) -> bool:
        return is_size(self.visible[name], self.types)

    def _is_changed(self, name: str) -> bool:
        return name in self.usage.assigned or name in self.usage.iterated

    def _held(self, program: Program) -> Set:
        """What the sizes are for certain as signed 64 bits: those of fewer bits not negative."""
        held = Set.universe(params_space(program.params))
        for position, name in enumerate(program.params):
            scalar = self.types.of(self.visible[name].type).scalar
            if scalar is not None and scalar.kind == "uint" and name not in program.wide:
                held = held.lower_bound_val(dim_type.param, position, integer_val(0))
        return held

    def _bind(self, program: Program, env: Env) -> None:
        for name in program.params:
            kind = self.types.of(self.visible[name].type)
            assert kind.scalar is not None
            env.declare(name, program.size(name, kind.scalar))
        for name in self.used:
            if name not in program.params and not isinstance(env.get(name), Substituted):
                self._bind_variable(program, env, name)

    def _bind_variable(self, program: Program, env: Env, name: str) -> None:
        decl, kind = self.visible[name], self.kinds[name]
        span = self.locator.span(decl)
        if kind.scalar is None:
            return
        if name in self.usage.iterated and not kind.is_array:
            if not self._is_dead_after(name):
                msg = f"the value of the iterator {name!r} is used after the region"
                raise self.locator.error(
                    UnsupportedError, decl, msg, hint="let the loop have an iterator of its own"
                )
            env.declare(name, Pending(decl, kind.scalar, program.start()))
            return
        extents = tuple(
            None if size is None else self._extent(program, env, size, name, outermost=not k)
            for k, size in enumerate(kind.extents)
        )
        program.taken.add(name)
        changed = not kind.is_array and name in self.usage.assigned
        variable = Variable(
            name, kind.scalar, extents, argument=True, const=kind.const, shared=changed, span=span
        )
        env.declare(name, program.add(variable))

    def _extent(
        self, program: Program, env: Env, size: c_ast.Node, name: str, *, outermost: bool
    ) -> PwAff | None:
        """A declared extent; the outermost one is found from the uses where it is not known."""
        changed = self._changing() & names_in(size)
        try:
            if not changed:
                return Declarer(program, env, program.start()).extent(size, name)
        except UserError:
            if not outermost:
                raise
        if outermost:
            return None
        msg = f"an extent of {name!r} depends on {min(changed)!r}, which the function changes"
        raise self.locator.error(
            UnsupportedError, size, msg, hint="keep the size in a variable of its own"
        )

    def _changing(self) -> set[str]:
        """Names that the function assigns anywhere."""
        usage = usage_of([self.region.function.body])
        return set(usage.assigned) | set(usage.iterated)

    # -- the result --------------------------------------------------------------------------
    def _hosted(self, scop: Scop, stated: Set, reasons: tuple[UserError, ...]) -> RegionScop:
        touched = {a.array for s in scop.statements for a in (s.write, *s.reads)}
        arrays = tuple(
            replace(a, role="temp") if a.role == "out" and self._is_temporary(a.name) else a
            for a in scop.arrays
            if a.name in touched
        )
        kept = tuple(n for n in scop.signature if n in scop.params or _role(arrays, n) != "temp")
        scop = replace(scop, arrays=arrays, signature=kept)
        elements = {a.name: self._spelled(a) for a in arrays if a.role != "temp"}
        sizes = {name: self._size_text(name) for name in scop.params}
        kinds = {name: self._integer(name) for name in sizes}
        types = {name: I64 if kind in {U32, U64} else kind for name, kind in kinds.items()}
        folded = {name: shape.lengths for name, shape in self.shapes.items()}
        needed = scop.context.gist(stated)
        return RegionScop(
            scop, self.region.first, self.region.last, elements, sizes, types, folded, needed,
            () if self.disjoint else self._apart(scop), reasons, self._macros(),
            frozenset(self.text.names),
        )  # fmt: skip

    def _macros(self) -> dict[str, int]:
        """The integer macros in the region and in the declarations that it uses."""
        lines = set(range(self.region.first + 1, self.region.last))
        lines |= {_line(self.region.visible[n]) for n in self.used if n in self.region.visible}
        return self.text.integers_in(sorted(lines))

    def _apart(self, scop: Scop) -> tuple[tuple[str, str], ...]:
        """Pairs of arrays to be tested for overlap."""
        types = {n: k.scalar for n in scop.params if (k := self._kind(n)).scalar is not None}
        pairs = Pointers(self.region, self.members, types, self.types.typedefs).pairs(scop)
        for name in (name for pair in pairs for name in pair if name not in scop.params):
            array = scop.array(name)
            if any(constant_value(extent) == UNKNOWN_EXTENT for extent in array.extents):
                msg = f"data decide which elements {name!r} has, so that it may overlap with others"
                hint = "declare it restrict or with its extent, or state #pragma polyopt disjoint"
                assert array.span is not None
                raise self.locator.error(UnsupportedError, array.span, msg, hint=hint)
        return pairs

    def _spelled(self, array: Array) -> str:
        member, shape = self.members.get(array.name), self.shapes.get(array.name)
        name = array.name if member is None else member.spelling
        if shape is not None:
            lengths = [length for names in shape.lengths for length in names]
            padded = {size for size, by in lengths if by}
            sizes = {size: self._length_text(size, size in padded) for size, _ in lengths}
            return shape.spelling(name.removesuffix("[{0}]"), sizes)
        if member is not None:
            return name
        return name + "".join(f"[{{{k}}}]" for k in range(array.rank))

    def _is_temporary(self, name: str) -> bool:
        return not self.kinds[name].is_array and self._is_dead_after(name)

    def _size_text(self, name: str) -> str:
        """The parameter as a signed number that holds it."""
        text = self.members[name].spelling if name in self.members else name
        return f"(long){text}" if self._integer(name) in {U32, U64} else text

    def _length_text(self, name: str, padded: bool) -> str:  # noqa: FBT001
        """The parameter in rows' lengths, one of which may be padded."""
        type_ = self._integer(name)
        if type_ == U64 and name not in self.members:
            return name
        # 32 bits may not hold the sum; a product of a literal and 32 unsigned bits wraps
        text = self._size_text(name)
        return f"(long){text}" if padded and type_.bits < I64.bits and type_ != U32 else text

    def _integer(self, name: str) -> ScalarType:
        """The type that a size is declared with."""
        scalar = self.types.of(self.visible[name].type).scalar
        assert scalar is not None
        return scalar


def _line(node: c_ast.Node) -> int:
    return node.coord.line if node.coord is not None else 1


def _line_above(tree: c_ast.FileAST, function: c_ast.FuncDef) -> int:
    """The first line after what stands before a function: pragmas above it are about it."""
    before = tree.ext[: tree.ext.index(function)]
    found = [n for n in before if isinstance(n, (c_ast.FuncDef, c_ast.Decl))]
    lines = [_line(node) for node in nodes(found[-1])] if found else []
    return min(max(lines, default=0) + 1, _line(function))


def _role(arrays: tuple[Array, ...], name: str) -> str:
    return next((a.role for a in arrays if a.name == name), "temp")
