"""A marked region of a file to a Scop whose arguments are the variables that it finds there.

Sizes and arrays keep the names of the file; what the region must be able to rely on at run time
(extents that are positive, accesses within their arrays, pointers that do not overlap) is
gathered as conditions that the code tests before it runs, unless the file states them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING

from pycparser import c_ast

from polyopt.errors import UnsupportedError
from polyopt.frontend.c.assemble import assemble
from polyopt.frontend.c.declarations import Declarer
from polyopt.frontend.c.expressions import Lowering
from polyopt.frontend.c.inbounds import within_arrays
from polyopt.frontend.c.liveness import address_taken, first_use, sink
from polyopt.frontend.c.lower import assume, assumptions, constants
from polyopt.frontend.c.parse import deep_recursion
from polyopt.frontend.c.region import inlines_of
from polyopt.frontend.c.scope import Env, Parameter, Pending, Program, Substituted, Variable
from polyopt.frontend.c.statements import Statements
from polyopt.frontend.c.usage import names_in, nodes, usage_of
from polyopt.ir.types import BOOL
from polyopt.isl import affine_constant, affine_param, params_space

if TYPE_CHECKING:
    from collections.abc import Mapping

    from polyopt.frontend.c.ctypes import CType, Types
    from polyopt.frontend.c.locate import Locator
    from polyopt.frontend.c.marked import Marked
    from polyopt.frontend.c.preprocess import Preprocessed
    from polyopt.ir.scop import Scop
    from polyopt.isl import Set


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
    #: [N] -> { : what has to hold for the region to mean what the Scop says }
    needed: Set
    #: pairs of arrays that must not overlap
    apart: tuple[tuple[str, str], ...]


def lower_region(
    tree: c_ast.FileAST, text: Preprocessed, locator: Locator, types: Types, region: Marked
) -> RegionScop:
    """The Scop of one region. Raises the frontend's errors."""
    with deep_recursion():
        return _Region(tree, text, locator, types, region).lower()


class _Region:
    """The surroundings of one region, looked at once."""

    def __init__(
        self,
        tree: c_ast.FileAST,
        text: Preprocessed,
        locator: Locator,
        types: Types,
        region: Marked,
    ) -> None:
        self.tree, self.text, self.locator, self.types = tree, text, locator, types
        self.region = region
        self._check_declarations()
        lines = range(region.function.coord.line, region.last + 1)
        self.conditions = assumptions(text, locator, lines)
        self.sunk: set[str] = set()
        self.body = c_ast.Compound(self._sinking(), region.items[0].coord if region.items else None)
        self.usage = usage_of(
            [self.body, *(c_ast.If(cond, None, None) for cond in self.conditions)]
        )
        #: names of the surroundings that the region uses, in the order of their declarations
        names = names_in(self.body) | {n for c in self.conditions for n in names_in(c)}
        self.used = [name for name in region.visible if name in names - self.sunk]
        self.kinds = {name: self._kind(name) for name in self.used}

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

    def _sinking(self) -> list[c_ast.Node]:
        """The items with scalars of the function declared in the loops that they belong to."""
        items = list(self.region.items)
        assigned = usage_of(items).assigned
        for name, decl in self.region.visible.items():
            is_scalar = isinstance(decl.type, c_ast.TypeDecl)
            if is_scalar and name in assigned and self._is_dead_after(name):
                moved = sink(items, decl)
                if moved != items:
                    self.sunk.add(name)
                items = moved
        return items

    def _is_dead_after(self, name: str) -> bool:
        """Whether nothing uses the variable's value after the region."""
        decl = self.region.visible[name]
        if name not in self.region.local or "static" in decl.storage:
            return False
        if address_taken(self.region.function, name):
            return False
        return first_use(self.region.after, name) != "read"

    def _kind(self, name: str) -> CType:
        decl = self.region.visible[name]
        self._refuse_volatile(decl)
        return self.types.of(decl.type)

    def _refuse_volatile(self, decl: c_ast.Decl) -> None:
        parts = [n for n in nodes(decl) if isinstance(n, (c_ast.TypeDecl, c_ast.PtrDecl, c_ast.Decl))]
        if any("volatile" in (part.quals or []) for part in parts):
            use = next(
                n for n in nodes(self.body) if isinstance(n, c_ast.ID) and n.name == decl.name
            )
            msg = f"{decl.name!r} is volatile: every access to it has to stay where it is"
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
        outer = Env()
        constants(self.tree, program, outer)
        env = outer.inner()
        self._bind(program, env)
        for condition in self.conditions:
            assume(program, env, condition)
        stated = program.context
        for variable in program.variables.values():
            for extent in variable.extents:
                if extent is not None:
                    program.assume_extent(extent)
        items = list(self.body.block_items or [])
        nest = Statements(program).block(items, env.inner(), program.start())
        signature = (*params, *(v.array for v in program.variables.values() if v.argument))
        name = self.region.function.decl.name
        scop = within_arrays(assemble(program, name, signature, nest))
        return self._hosted(scop, stated)

    def _params(self) -> tuple[str, ...]:
        """Integers that bounds, conditions and extents are made of, and that nothing changes."""
        wanted = set(self.usage.affine)
        for kind in self.kinds.values():
            for extent in kind.extents:
                if extent is not None:
                    wanted |= names_in(extent)
        return tuple(
            name
            for name in self.region.visible
            if name in wanted and self._is_size(name) and not self._is_changed(name)
        )

    def _is_size(self, name: str) -> bool:
        decl = self.region.visible[name]
        if not isinstance(decl.type, c_ast.TypeDecl):
            return False
        kind = self.types.of(decl.type)
        return kind.scalar is not None and kind.scalar.is_integer and kind.scalar != BOOL

    def _is_changed(self, name: str) -> bool:
        return name in self.usage.assigned or name in self.usage.iterated

    def _bind(self, program: Program, env: Env) -> None:
        for name in program.params:
            kind = self.types.of(self.region.visible[name].type)
            assert kind.scalar is not None
            env.declare(name, Parameter(name, kind.scalar))
            if kind.scalar.kind == "uint":
                size = affine_param(params_space(program.params), name)
                zero = affine_constant(size.get_domain_space(), 0)
                program.assume(size.ge_set(zero).params())
        for name in self.used:
            if name not in program.params and not isinstance(env.get(name), Substituted):
                self._bind_variable(program, env, name)

    def _bind_variable(self, program: Program, env: Env, name: str) -> None:
        decl, kind = self.region.visible[name], self.kinds[name]
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
    ) -> object:
        """A declared extent; the outermost one is found from the uses where it is not known."""
        declarer = Declarer(program, env, program.start())
        changed = self._changing() & names_in(size)
        if outermost and (changed or names_in(size) - set(program.params)):
            lowering = Lowering(program, env, program.start())
            try:
                return None if changed else lowering.affine(size, "").project_domain_on_params()
            except UnsupportedError:
                return None
        if changed:
            msg = f"an extent of {name!r} depends on {min(changed)!r}, which the function changes"
            raise self.locator.error(
                UnsupportedError, size, msg, hint="keep the size in a variable of its own"
            )
        return declarer.extent(size, name)

    def _changing(self) -> set[str]:
        """Names that the function assigns anywhere."""
        usage = usage_of([self.region.function.body])
        return set(usage.assigned) | set(usage.iterated)

    # -- the result --------------------------------------------------------------------------
    def _hosted(self, scop: Scop, stated: Set) -> RegionScop:
        touched = {a.array for s in scop.statements for a in (s.write, *s.reads)}
        arrays = tuple(
            replace(a, role="temp") if a.role == "out" and self._is_temporary(a.name) else a
            for a in scop.arrays
            if a.name in touched
        )
        kept = tuple(
            n for n in scop.signature if n in scop.params or _role(arrays, n) != "temp"
        )
        scop = replace(scop, arrays=arrays, signature=kept)
        elements = {
            a.name: a.name + "".join(f"[{{{k}}}]" for k in range(a.rank))
            for a in arrays
            if a.role != "temp"
        }
        sizes = {name: self._size_text(name) for name in scop.params}
        needed = scop.context.gist(stated)
        return RegionScop(
            scop, self.region.first, self.region.last, elements, sizes, needed, self._apart(scop)
        )

    def _is_temporary(self, name: str) -> bool:
        return not self.kinds[name].is_array and self._is_dead_after(name)

    def _size_text(self, name: str) -> str:
        """The parameter as a signed number that holds it."""
        scalar = self.types.of(self.region.visible[name].type).scalar
        assert scalar is not None
        return f"(long){name}" if scalar.kind == "uint" and scalar.bits >= 32 else name

    def _apart(self, scop: Scop) -> tuple[tuple[str, str], ...]:
        """Pairs of which one is written, and that a caller could have made overlap."""
        written = {s.array for s in scop.statements}
        arrays = [a for a in scop.arrays if a.role != "temp" and a.name in self.kinds]
        return tuple(
            (one.name, two.name)
            for one, two in combinations(arrays, 2)
            if {one.name, two.name} & written
            and (one.type == two.type or 8 in {one.type.bits, two.type.bits})
            and self._may_overlap(one.name, two.name)
        )

    def _may_overlap(self, one: str, two: str) -> bool:
        pointers = [name for name in (one, two) if self._is_pointer(name)]
        if not pointers or any(self._is_restrict(name) for name in pointers):
            return False
        if len(pointers) == 2:
            return True
        # an argument cannot point to what its function declares
        other = two if pointers[0] == one else one
        return not (self._is_argument(pointers[0]) and other in self.region.local)

    def _is_pointer(self, name: str) -> bool:
        node = self.region.visible[name].type
        return isinstance(node, c_ast.PtrDecl) or (
            isinstance(node, c_ast.ArrayDecl) and self._is_argument(name)
        )

    def _is_argument(self, name: str) -> bool:
        listed = self.region.function.decl.type.args
        return any(self.region.visible[name] is a for a in (listed.params if listed else []))

    def _is_restrict(self, name: str) -> bool:
        node = self.region.visible[name].type
        quals = node.quals if isinstance(node, c_ast.PtrDecl) else node.dim_quals
        return "restrict" in (quals or [])


def _role(arrays: tuple[object, ...], name: str) -> str:
    return next((a.role for a in arrays if a.name == name), "temp")  # type: ignore[attr-defined]
