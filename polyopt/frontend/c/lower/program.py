"""A C function to a Scop: arguments, facts about sizes, statements, and their names."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pycparser import c_ast

from polyopt.errors import NonAffineError, ProgramSyntaxError, TypeMismatchError, UnsupportedError
from polyopt.frontend.c.lower.assemble import assemble, check_count
from polyopt.frontend.c.lower.ctypes import Types
from polyopt.frontend.c.lower.declarations import Declarer
from polyopt.frontend.c.lower.entry import body_of, choose_function, functions_of
from polyopt.frontend.c.lower.expressions import Lowering, set_of
from polyopt.frontend.c.lower.limits import within
from polyopt.frontend.c.lower.loops import blame_condition
from polyopt.frontend.c.lower.scope import Env, Program, Substituted, Variable
from polyopt.frontend.c.lower.statements import Statements
from polyopt.frontend.c.normalize.alpha_renaming import declared, locals_apart
from polyopt.frontend.c.normalize.delinearize import unfolded
from polyopt.frontend.c.normalize.induction_variables import Inductions
from polyopt.frontend.c.normalize.inline_calls import Inliner
from polyopt.frontend.c.normalize.lvalues import Flattener, structs_of
from polyopt.frontend.c.syntax.liveness import address_taken, sink
from polyopt.frontend.c.syntax.parse import deep_recursion, parse_condition
from polyopt.frontend.c.syntax.usage import names_in, nodes, usage_of
from polyopt.ir import build
from polyopt.ir.expr import Const
from polyopt.ir.types import I32
from polyopt.isl import Set, params_space

if TYPE_CHECKING:
    from collections.abc import Container, Iterable

    from polyopt.frontend.c.lower.ctypes import CType
    from polyopt.frontend.c.syntax.locations import Locator
    from polyopt.frontend.c.syntax.preprocess import Preprocessed
    from polyopt.ir.scop import Scop
    from polyopt.isl import PwAff

_ASSUME = re.compile(
    r"\s*#\s*pragma\s+polyopt\b\s*(?:(assume)\s*\((.*)\)\s*$|(inbounds|disjoint)\s*$)?"
)


def lower_function(
    tree: c_ast.FileAST,
    text: Preprocessed,
    locator: Locator,
    function: str | None,
    sizes: Iterable[str],
    most: int = 0,
    *,
    inbounds: bool = False,
    context: Set | None = None,
) -> Scop:
    """The Scop of one function of the file, of up to ``most`` statements (0: of any number).

    ``inbounds`` says what the pragma of that name says. With a ``context`` the sizes are those
    that it is about, and nothing is assumed of them beyond it. Raises the frontend's errors.
    """
    with deep_recursion():
        found, inlines = choose_function(tree, function, locator)
        written = _sunk(body_of(found))
        items = locals_apart(written, declared([found.decl]))
        types = Types(locator, tree)
        conditions = assumptions(text, locator)
        inliner = Inliner(functions_of(tree), inlines, locator)
        items = inliner.all(items)
        body, listed, stepped = _normalized(items, found, tree, types, locator)
        roots = [found] if body == written else [*listed, *body]
        usage = usage_of([*roots, *(c_ast.If(cond, None, None) for cond in conditions)])
        arguments = _arguments(listed, types, locator)
        wanted = set(sizes) if context is not None else usage.affine | set(sizes)
        params = tuple(
            name
            for name, (_, kind) in arguments.items()
            if _is_size(kind) and name in wanted and not usage.assigned.get(name)
        )
        program = Program(text.source, locator, types, usage, params, inlines)
        program.inbounds = inbounds or states(text, "inbounds")
        program.stepped = stepped
        if context is not None:
            program.context, program.closed = context, True
        program.taken.update(arguments)
        env = Env()
        constants(tree, program, env)
        env = env.inner()
        _bind_arguments(program, env, arguments)
        for condition in conditions:
            assume(program, env, condition)
        items = [*tables(tree, found.body, arguments), *body]

        def work() -> Scop:
            nest = Statements(program).block(items, env.inner(), program.start())
            check_count(program, nest, found.decl.name, found.decl, most)
            return assemble(program, found.decl.name, tuple(arguments), nest)

        if not most:  # text of our own, which is read within the budget of whoever asks
            return work()
        return within(work, items, f"the lowering of {found.decl.name}", found.decl, locator)


def _sunk(items: list[c_ast.Node]) -> list[c_ast.Node]:
    """The statements of a function with its scalars declared in the loops that they belong to."""
    for decl in [item for item in items if isinstance(item, c_ast.Decl)]:
        position = next(k for k, item in enumerate(items) if item is decl)
        rest = items[position + 1 :]
        is_scalar = isinstance(decl.type, c_ast.TypeDecl) and decl.init is None
        if is_scalar and not decl.storage and not any(address_taken(i, decl.name) for i in rest):
            moved = sink(rest, decl)
            if moved != rest:
                items = [*items[:position], *moved]
    return items


def _normalized(
    items: list[c_ast.Node],
    function: c_ast.FuncDef,
    tree: c_ast.FileAST,
    types: Types,
    locator: Locator,
) -> tuple[list[c_ast.Node], list[c_ast.Node], dict[str, str]]:
    """The items, and the arguments, with members as variables and folded arrays unfolded.

    Last, why scalars that are set several times have no closed form.
    """
    listed = function.decl.type.args
    params: list[c_ast.Node] = list(listed.params) if listed is not None else []
    visible = {node.name: node for node in params if isinstance(node, c_ast.Decl) and node.name}
    flattener = Flattener(visible, types.typedefs, structs_of(tree), locator)
    flattener.taken |= {n.name for item in items for n in nodes(item) if isinstance(n, c_ast.Decl)}
    items = [flattener.flat(item) for item in items]
    inductions = Inductions(items, visible, types, {})
    items = inductions.items
    members = flattener.members
    visible |= {name: member.decl for name, member in members.items()}
    items, _, unfolded_ = unfolded(items, visible, types)
    visible |= unfolded_
    result: list[c_ast.Node] = []
    for node in params:
        name = node.name if isinstance(node, c_ast.Decl) else ""
        own = [visible[path] for path, member in members.items() if member.base == name]
        result += own or [visible.get(name or "", node)]
    return items, result, inductions.reasons


def _is_size(kind: CType) -> bool:
    return not kind.is_array and kind.scalar is not None and kind.scalar.is_integer


def _arguments(
    listed: list[c_ast.Node], types: Types, locator: Locator
) -> dict[str, tuple[c_ast.Decl, CType]]:
    """The arguments in call order with their types."""
    result: dict[str, tuple[c_ast.Decl, CType]] = {}
    for node in listed:
        if not isinstance(node, c_ast.Decl):
            if isinstance(node, c_ast.Typename) and types.of(node).scalar is None:
                continue
            msg = "every argument needs a name and a type"
            raise locator.error(UnsupportedError, node, msg, hint="such as int n or float a[n]")
        kind = types.of(node.type)
        if kind.scalar is None:
            msg = f"the argument {node.name!r} points to void"
            hint = "give the element type, such as float *a"
            raise locator.error(TypeMismatchError, node, msg, hint=hint)
        result[node.name] = node, kind
    return result


def _bind_arguments(
    program: Program, env: Env, arguments: dict[str, tuple[c_ast.Decl, CType]]
) -> None:
    for name, (_, kind) in arguments.items():
        assert kind.scalar is not None
        if name in program.params:
            env.declare(name, program.size(name, kind.scalar))
    declarer = Declarer(program, env, program.start())
    for name, (node, kind) in arguments.items():
        if name in program.params:
            continue
        assert kind.scalar is not None
        extents = tuple(
            _extent(declarer, size, name, outermost=not k) for k, size in enumerate(kind.extents)
        )
        for extent in extents:
            if extent is not None:
                program.assume_extent(extent)
        span = program.locator.span(node)
        variable = Variable(name, kind.scalar, extents, argument=True, const=kind.const, span=span)
        env.declare(name, program.add(variable))


def _extent(
    declarer: Declarer, size: c_ast.Node | None, name: str, *, outermost: bool
) -> PwAff | None:
    """A declared extent; the outermost one is found from the uses where it is not affine."""
    try:
        return None if size is None else declarer.extent(size, name)
    except NonAffineError:
        if outermost:
            return None
        raise


def constants(tree: c_ast.FileAST, program: Program, env: Env) -> None:
    """Enumerators and file-level ``const`` scalars stand for their values."""
    for node in nodes(tree):
        if isinstance(node, c_ast.EnumeratorList):
            _enumerators(node, program, env)
    for node in tree.ext:
        if not isinstance(node, c_ast.Decl) or node.init is None or "const" not in node.quals:
            continue
        kind = program.types.of(node.type)
        if kind.is_array or kind.scalar is None:
            continue
        lowering = Lowering(program, env, program.start())
        value = lowering.cast(kind.scalar, lowering.lower(node.init))
        if isinstance(value, Const):
            env.declare(node.name, Substituted(value, 0))


def _enumerators(node: c_ast.EnumeratorList, program: Program, env: Env) -> None:
    following = 0
    for one in node.enumerators:
        if one.value is not None:
            value = Lowering(program, env, program.start()).lower(one.value)
            if not isinstance(value, Const):
                return
            following = int(value.value)
        env.declare(one.name, Substituted(build.const(I32, following), 0))
        following += 1


def tables(tree: c_ast.FileAST, body: c_ast.Node, arguments: Iterable[str]) -> list[c_ast.Node]:
    """File-level ``const`` arrays that a body uses: as if declared in it."""
    used = names_in(body) - set(arguments)
    return [
        node
        for node in tree.ext
        if isinstance(node, c_ast.Decl)
        and isinstance(node.type, c_ast.ArrayDecl)
        and "const" in node.quals
        and node.init is not None
        and node.name in used
    ]


def assumptions(
    text: Preprocessed, locator: Locator, lines: Container[int] | None = None
) -> list[c_ast.Node]:
    """Conditions of the ``#pragma polyopt assume(...)`` lines of the file, or of some lines."""
    result: list[c_ast.Node] = []
    for line, pragma in sorted(text.pragmas.items()):
        found = _ASSUME.match(pragma)
        if found is None or (lines is not None and line not in lines):
            continue
        if found.group(3) is not None:
            continue
        if found.group(1) is None:
            msg = "this pragma does not make sense"
            hint = "there are: assume(H % 2 == 0 && H >= 4), inbounds, disjoint"
            raise locator.error(ProgramSyntaxError, locator.line_span(line), msg, hint=hint)
        result.append(parse_condition(found.group(2), line, found.start(2) + 1, locator))
    return result


def states(text: Preprocessed, word: str, lines: Container[int] | None = None) -> bool:
    """Whether the file, or some of its lines, has a ``#pragma polyopt word``."""
    return any(
        (found := _ASSUME.match(pragma)) is not None and found.group(3) == word
        for line, pragma in text.pragmas.items()
        if lines is None or line in lines
    )


def assume(program: Program, env: Env, node: c_ast.Node) -> Set:
    """Add a stated condition to the context, and return it."""
    lowering = Lowering(program, env, program.start(), assuming=True)
    cond = lowering.condition(node)
    where = set_of(cond)
    if where is not None:
        program.assume(where.params())
        return where.params()
    if not (isinstance(cond, Const) and cond.value):
        raise blame_condition(lowering, node, "this assumption")
    return Set.universe(params_space(program.params))
