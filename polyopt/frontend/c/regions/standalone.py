"""A marked region as a program of its own: which one, with what locals, called with what.

``emit`` puts a region's code back where the region stands. For all else the region is a function:
its arguments are those of the C function that it uses, in call order, then whatever else it takes
from around it. Locals that nothing else uses are its own.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pycparser import c_ast

from polyopt.errors import UnknownNameError, UnsupportedError
from polyopt.frontend.c.lower.assemble import UNKNOWN_EXTENT
from polyopt.frontend.c.lower.entry import functions_of
from polyopt.frontend.c.regions.extract import lower_region
from polyopt.frontend.c.regions.pragmas import after_labels
from polyopt.frontend.c.syntax.desugar import stepped_name
from polyopt.frontend.c.syntax.liveness import is_read
from polyopt.frontend.c.syntax.usage import names_in, nodes
from polyopt.isl import constant_value

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from polyopt.frontend.c.lower.ctypes import Types
    from polyopt.frontend.c.regions.pragmas import Marked
    from polyopt.frontend.c.syntax.locations import Locator
    from polyopt.frontend.c.syntax.preprocess import Preprocessed
    from polyopt.ir.scop import Scop

_SPLIT = "mark parts of it with #pragma scop and endscop"


def choose_region(
    tree: c_ast.FileAST,
    marked: Sequence[Marked],
    function: str | None,
    line: int | None,
    locator: Locator,
) -> Marked | None:
    """The region that is the program; ``None`` where a whole function is.

    ``line`` is that of its pragma. Raises ``UnknownNameError`` where none or several are meant.
    """
    lines = ", ".join(str(region.first) for region in marked)
    if line is not None:
        found = [region for region in marked if region.first == line]
        if not found:
            msg = f"no region begins at line {line}"
            hint = f"they begin at: {lines}" if lines else "no region is marked"
            raise locator.error(UnknownNameError, None, msg, hint=hint)
        return found[0]
    if function is not None and function not in functions_of(tree):
        listed = ", ".join(functions_of(tree))
        msg = f"no function is called {function!r}"
        raise locator.error(UnknownNameError, None, msg, hint=f"there are: {listed or 'none'}")
    of_function = [r for r in marked if function in {None, r.function.decl.name}]
    names = list(dict.fromkeys(region.function.decl.name for region in of_function))
    if len(of_function) <= 1:
        return of_function[0] if of_function else None
    where = locator.line_span(of_function[-1].first)
    if len(names) > 1:
        msg = "there are several functions: which one is meant?"
        hint = f"pass function=... (--function), one of: {', '.join(names)}"
        raise locator.error(UnknownNameError, where, msg, hint=hint)
    lines = ", ".join(str(region.first) for region in of_function)
    msg = f"{names[0]!r} has several regions: which one is meant?"
    hint = f"pass the line of its pragma, region=... (--region), one of: {lines}"
    raise locator.error(UnknownNameError, where, msg, hint=hint)


def lower_standalone(
    tree: c_ast.FileAST,
    text: Preprocessed,
    locator: Locator,
    types: Types,
    region: Marked,
    sizes: Iterable[str],
    most: int = 0,
) -> Scop:
    """The Scop of a region, of up to ``most`` statements (0: of any number).

    ``sizes`` are integers to keep as sizes even where no bound needs them. Raises the frontend's
    errors.
    """
    own, kept = _own_locals(region), frozenset(sizes)
    folded = {name for name, decl in own.items() if _is_folded(decl)}
    alone = _with_locals(region, {n: decl for n, decl in own.items() if n not in folded})
    scop = lower_region(tree, text, locator, types, alone, kept).scop
    sized = _with_extents(alone, scop)
    if sized is not alone:
        scop = lower_region(tree, text, locator, types, sized, kept).scop
    count = len(scop.statements)
    if 0 < most < count:
        msg = f"{scop.name} has {count:,} statements, and {most:,} are taken"
        raise locator.error(UnsupportedError, region.function.decl, msg, hint=_SPLIT)
    arguments = [decl.name for decl in _arguments(region.function)]
    listed = [name for name in arguments if name in scop.signature]
    rest = [name for name in scop.signature if name not in {*listed, *folded}]
    arrays = tuple(replace(a, role="temp") if a.name in folded else a for a in scop.arrays)
    return replace(scop, arrays=arrays, signature=(*listed, *rest))


def _arguments(function: c_ast.FuncDef) -> list[c_ast.Decl]:
    listed = function.decl.type.args
    return [a for a in (listed.params if listed else []) if isinstance(a, c_ast.Decl)]


def _own_locals(region: Marked) -> dict[str, c_ast.Decl]:
    """The locals around a region that nothing else uses."""
    arguments = {id(decl) for decl in _arguments(region.function)}
    used = {name for item in region.items for name in names_in(item)}
    waiting = [decl for decl in region.visible.values() if decl.name in region.local]
    used |= {name for decl in waiting for name in names_in(decl.init)}
    loops = (n for item in region.items for n in nodes(item) if isinstance(n, c_ast.For))
    used -= {stepped_name(loop) for loop in loops if loop.init is None}
    found = {
        decl.name: decl
        for decl in waiting
        if decl.name in used and id(decl) not in arguments and _is_plain(decl)
    }
    elsewhere = _names_elsewhere(region, found.values())
    while lost := found.keys() & elsewhere:
        for name in lost:
            elsewhere |= names_in(found.pop(name))
    labelled = tuple(after_labels(region.function.body))
    return {
        name: decl
        for name, decl in found.items()
        if not is_read(region.after, name) and not any(is_read(items, name) for items in labelled)
    }


def _with_locals(region: Marked, own: Mapping[str, c_ast.Decl]) -> Marked:
    """The region with some locals around it declared inside."""
    visible = {name: decl for name, decl in region.visible.items() if name not in own}
    items = [*own.values(), *region.items]
    return replace(region, items=items, visible=visible, local=region.local - own.keys())


def _is_folded(decl: c_ast.Decl) -> bool:
    """Whether an array's extent is a product of variables: it may be one of several dimensions."""
    products = (n for n in nodes(decl.type) if isinstance(n, c_ast.BinaryOp) and n.op == "*")
    return any(names_in(n.left) and names_in(n.right) for n in products)


def _with_extents(region: Marked, scop: Scop) -> Marked:
    """The region with a size for each pointer of which data decide how far it reaches."""
    unknown = [
        array.name
        for array in scop.arrays
        if array.extents and constant_value(array.extents[0]) == UNKNOWN_EXTENT
    ]
    visible, names = dict(region.visible), names_in(region.function.body)
    for name in unknown:
        decl = visible.get(name)
        size = f"{name}_size"
        if decl is None or size in visible or size in names:
            continue
        assert isinstance(decl.type, (c_ast.PtrDecl, c_ast.ArrayDecl))
        dim = c_ast.ID(size, decl.coord)
        kind = c_ast.ArrayDecl(decl.type.type, dim, [], decl.coord)
        visible[name] = c_ast.Decl(
            name, decl.quals, [], decl.storage, [], kind, None, None, decl.coord
        )
        whole = c_ast.TypeDecl(size, [], None, c_ast.IdentifierType(["long"]), decl.coord)
        visible[size] = c_ast.Decl(size, [], [], [], [], whole, None, None, decl.coord)
    return replace(region, visible=visible) if len(visible) > len(region.visible) else region


def _is_plain(decl: c_ast.Decl) -> bool:
    """Whether declaring a local does nothing else, and it is no pointer.

    Scalars without a value are declared where they are used by whoever lowers a region.
    """
    if isinstance(decl.type, c_ast.TypeDecl) and decl.init is None:
        return False
    calls = any(isinstance(node, (c_ast.FuncCall, c_ast.Assignment)) for node in nodes(decl))
    kept = {"static", "extern"} & {*(decl.storage or [])}
    return not calls and not kept and isinstance(decl.type, (c_ast.TypeDecl, c_ast.ArrayDecl))


def _names_elsewhere(region: Marked, decls: Iterable[c_ast.Decl]) -> set[str]:
    """The names that a function uses outside of a region and of some declarations."""
    inside = {id(node) for part in (*region.items, *decls) for node in nodes(part)}
    outside = (node for node in nodes(region.function.body) if id(node) not in inside)
    return {node.name for node in outside if isinstance(node, c_ast.ID)}
