"""The text of a kernel, parsed again beside the tree that it was printed from.

pycparser says what the text means: precedence, braces, and which declaration a name is of. The walk
goes through both at once; a name declared in the text is the symbol that the tree declares there.
"""

import re
from itertools import zip_longest
from unittest.mock import patch

import numpy as np
from pycparser import c_ast, c_parser

from polyopt.codegen import emit as emission
from polyopt.codegen.ast import expr as c
from polyopt.codegen.ast import nodes as n
from polyopt.codegen.ast.names import function_name
from polyopt.codegen.printers.c import BARRIER, allocated, print_c
from polyopt.ir.types import F32, I32, I64
from tests.unit.codegen.reader import _NAMES, _VECTOR, Reader, _type_name, folded

_HEAD = re.compile(r"^(static void|int) (\w+)\(", re.MULTILINE)
_INSTRUCTIONS = {BARRIER: "memory_();", '__asm__ volatile ("");': "empty_();"}


def parsed_again(make):
    """What ``make`` emits; fails where its text is not the tree that it is printed from."""
    with patch.object(emission, "print_c", side_effect=print_c) as printed:
        made = make()
    (function,) = printed.call_args.args
    check_text(function, made.source)
    return made


def check_text(function, source):
    """Fail where the text is not the tree; else how many statements both have."""
    try:
        return _Walk(function).file(_parsed(function, source))
    except (AttributeError, TypeError, ValueError) as error:  # a statement of another kind
        message = f"the text has another form: {error}"
        raise AssertionError(message) from error


def _parsed(function, source):
    kernel = next(f for f in _HEAD.finditer(source) if f[2] == function_name(function.name))
    # tasks stand right before it, behind helpers whose bodies are on few lines
    starts = [found.start() for found in _HEAD.finditer(source) if found.start() <= kernel.start()]
    first = sorted(starts)[-1 - len(function.tasks)]
    text = re.sub(r"/\*.*?\*/", " ", source[first:], flags=re.DOTALL)
    text = re.sub(r"\boffsetof\b", "offsetof_", text)  # a name, but pycparser's keyword
    for instruction, call in _INSTRUCTIONS.items():
        text = text.replace(instruction, call)
    types = [*_NAMES, "size_t"]
    heads = [f"typedef int {name};" for name in types if name.endswith("_t")]
    heads += [f"typedef int {name};" for name in {m[0] for m in _VECTOR.finditer(text)}]
    return c_parser.CParser().parse("\n".join([*heads, text]))


class _Names(Reader):
    """Reads expressions over the names in sight."""

    def __init__(self, scope, tasks):
        super().__init__()
        self.scope, self.tasks = scope, tasks

    def symbol(self, name, type_=None):
        """What was declared under the name."""
        assert name in self.scope, f"{name} is not in sight"
        return self.scope[name]

    def _of(self, node):
        match node:
            case c_ast.FuncCall(name=c_ast.ID(name=name)) if name in self.tasks:
                given = tuple(map(self._of, node.args.exprs)) if node.args else ()
                return c.Run(self.tasks[name], given)
        return super()._of(node)


def _normal(expr):
    """The tree as a text can say it: floats have their precision."""
    expr = folded(expr).with_children(tuple(map(_normal, expr.children))) if expr.children else expr
    match expr:
        case c.Const(value=value, kind=kind) if kind == F32:
            return c.Const(float(np.float32(value)), kind)
    return expr


def _flat(node):
    """The statements of a tree in textual order; of loops and branches no more than themselves."""
    match node:
        case n.Block():
            if node.ordered:
                yield "omp ordered"
            yield from node.buffers
            for part in node.body:
                yield from _flat(part)
        case n.Opaque():
            yield from _flat(node.body)
        case n.Assign():
            yield from node.locals
            yield node
        case n.For():
            if isinstance(node.kind, n.Parallel):
                yield node.kind, _collapsed(node)
            elif (not isinstance(node.kind, n.Collapsed) and not node.is_sequential) or (
                node.is_sequential and node.kind.unroll
            ):
                yield node.kind
            yield node
        case _:
            yield node


def _collapsed(loop):
    """How many loops a parallel one is of: it, and those that are alone in each other."""
    inner = [part for part in _flat(loop.body) if isinstance(part, n.For)]
    is_nest = len([*_flat(loop.body)]) == len(inner) == 1
    return 1 + (_collapsed(inner[0]) if is_nest and isinstance(inner[0].kind, n.Collapsed) else 0)


class _Walk:
    def __init__(self, function):
        self.function = function
        self.tasks = {}
        self.count = 0
        #: buffers of loops that are collapsed with the next one
        self.waiting = ()

    # -- the file -----------------------------------------------------------------------------

    def file(self, tree):
        functions = [e for e in tree.ext if isinstance(e, c_ast.FuncDef)]
        assert len(functions) == len(self.function.tasks) + 1
        *tasks, kernel = functions
        for text, task in zip(tasks, self.function.tasks, strict=True):
            self.tasks[text.decl.name] = task.name
        for text, task in zip(tasks, self.function.tasks, strict=True):
            scope = self.parameters(text.decl.type.args.params, task.parameters)
            self.block(text.body, tuple(_flat(task.body)), scope)
        *params, threads = kernel.decl.type.args.params
        assert threads.name == "threads"
        scope = self.parameters(params, self.function.arguments)
        scope["threads"] = c.Symbol("threads", I32)
        self.kernel(kernel.body.block_items, scope)
        return self.count

    def parameters(self, texts, parameters):
        scope = {}
        for text, parameter in zip(texts, parameters, strict=True):
            self.declared(text.type, parameter.symbol)
            scope[text.name] = parameter.symbol
        for text, parameter in zip(texts, parameters, strict=True):
            extents = _extents(text.type)
            expected = parameter.extents or ()
            assert isinstance(text.type, c_ast.PtrDecl) == (parameter.pointer and not expected)
            self.expressions(extents, expected, scope)
        return scope

    def declared(self, node, symbol):
        assert _base_name(node) == symbol.type.c_name, (symbol.hint, symbol.type)

    def kernel(self, items, scope):
        """The body of a kernel: what is allocated, the statements, what is released."""
        function = self.function
        items = [i for i in items if not _is_void(i)]
        if items and isinstance(items[0], c_ast.If) and _sets_threads(items[0]):
            self.expressions([items[0].cond], [function.little_work], scope)
            items = items[1:]
        made = allocated(function)
        sizes = [*((b, False) for b in function.buffers), *((b, True) for b in function.private)]
        for item, symbol, (buffer, each) in zip(items, made, sizes, strict=False):
            scope[item.name] = symbol
            extents = buffer.extents
            self.expressions(_extents(item.type), extents if each else extents[1:], scope)
            whole = item.init.args.exprs[0].expr.type
            counts = _extents(whole)
            if each:
                assert counts.pop(0).name == "threads"
            self.expressions(counts, extents, scope)
        items = items[len(made) :]
        if made:
            test, *items = items
            freed = [call.args.exprs[0].name for call in test.iftrue.block_items[:-1]]
            assert [scope[name] for name in freed] == made
            released = [call.args.exprs[0].name for call in items[-1 - len(made) : -1]]
            assert [scope[name] for name in released] == made
        assert isinstance(items[-1], c_ast.Return)
        inside = items[: len(items) - 1 - len(made)]
        self.statements(_in_scope(inside, scope), tuple(_flat(function.body)))

    # -- statements ---------------------------------------------------------------------------

    def block(self, text, expected, scope):
        items = text.block_items or [] if isinstance(text, c_ast.Compound) else [text]
        self.statements(_in_scope(items, dict(scope)), expected)

    def statements(self, found, expected):
        for pair, node in zip_longest(found, expected):
            assert pair is not None, f"the text lacks {node}"
            text, scope = pair
            assert node is not None, f"the text has more: {text}"
            self.statement(text, scope, node)
            self.count += 1

    def statement(self, text, scope, node):
        match node:
            case str():
                assert text.string == node
            case n.Buffer():
                self.buffer(text, scope, node)
            case n.Local():
                assert "const" in text.quals
                self.declaration(text, scope, node.symbol, node.value)
            case n.Assign(declares=True):
                assert ("const" in text.quals) == node.constant
                self.declaration(text, scope, node.target.symbol, node.value)
            case n.If() | n.While() | n.For():
                self.around(text, scope, node)
            case _:
                self.simple(text, scope, node)

    def simple(self, text, scope, node):
        match node:
            case n.Assign():
                self.expressions([text.lvalue, text.rvalue], [node.target, node.value], scope)
                assert text.op == "="
            case n.Do(call=c.Run()):
                self.expressions([text], [node.call], scope)
            case n.Do():  # a helper that has no result, so that a tree gives it any type
                assert text.name.name == node.call.function
                given = text.args.exprs if text.args else []
                self.expressions(given, node.call.arguments, scope)
            case n.Barrier():
                assert text.name.name == ("memory_" if node.memory else "empty_")
            case n.Jump():
                assert isinstance(
                    text, {"break": c_ast.Break, "continue": c_ast.Continue}[node.word]
                )
            case _:
                self.pragma(text.string, scope, node)

    def around(self, text, scope, node):
        match node:
            case n.If():
                self.expressions([text.cond], [node.condition], scope)
                self.block(text.iftrue, tuple(_flat(node.then)), scope)
                assert (text.iffalse is None) == (node.other is None)
                if node.other is not None:
                    self.block(text.iffalse, tuple(_flat(node.other)), scope)
            case n.While():
                self.loop(text, scope, node)
            case n.For():
                self.counted(text, scope, node)

    def declaration(self, text, scope, symbol, value):
        self.declared(text.type, symbol)
        if isinstance(value, c.Zeros):
            assert isinstance(text.init, c_ast.InitList)
        else:
            self.expressions([text.init], [value], scope)
        scope[text.name] = symbol

    def buffer(self, text, scope, node):
        self.declared(text.type, node.symbol)
        expected = node.extents[1:] if node.is_allocated else node.extents
        self.expressions(_extents(text.type), expected, scope)
        if node.is_allocated:
            assert scope[text.init.name.name] is node.space.pool
        scope[text.name] = node.symbol

    def loop(self, text, scope, node):
        kind = c_ast.DoWhile if node.last else c_ast.For if node.step else c_ast.While
        assert isinstance(text, kind)
        if node.condition is not None:
            self.expressions([text.cond], [node.condition], scope)
        if node.step:
            steps = text.next.exprs if isinstance(text.next, c_ast.ExprList) else [text.next]
            for step, assign in zip(steps, node.step, strict=True):
                self.statement(step, scope, assign)
        self.block(text.stmt, tuple(_flat(node.body)), scope)

    def counted(self, text, scope, node):
        (start,) = text.init.decls
        self.expressions([start.init], [node.start], scope)
        assert _base_name(start.type) == I64.c_name
        scope = {**scope, start.name: node.iterator}
        self.expressions([text.cond], [node.condition], scope)
        match text.next:
            case c_ast.UnaryOp(op="p++", expr=c_ast.ID(name=name)):
                step = 1
            case c_ast.Assignment(op="+=", lvalue=c_ast.ID(name=name), rvalue=by):
                step = int(by.value)
            case _:
                raise AssertionError(text.next)
        assert (scope[name], step) == (node.iterator, node.step)
        self.waiting += node.private  # a thread's own buffers stand inside of all that it shares
        inside = tuple(_flat(node.body))
        if not (
            inside and isinstance(inside[0], n.For) and isinstance(inside[0].kind, n.Collapsed)
        ):
            inside, self.waiting = (*self.waiting, *inside), ()
        self.block(text.stmt, inside, scope)

    def pragma(self, text, scope, kind):
        match kind:
            case n.Parallel() as kind, levels:
                clause = f" collapse({levels})" if levels > 1 else ""
                assert text.startswith(f"omp parallel for{clause} num_threads(threads) schedule(")
                found = text.endswith(" ordered"), text.endswith("schedule(static)")
                assert found == (kind.ordered, kind.static)
            case n.Simd():
                width = re.search(r" safelen\((\d+)\)", text)
                assert (int(width[1]) if width else 0) == kind.width
                sums = re.findall(r"reduction\((\S+) : (\w+)\)", text)
                assert tuple((op, scope[name]) for op, name in sums) == kind.sums
            case n.Scalar():
                assert text == "omp simd safelen(1) simdlen(1)"
            case n.Sequential():
                assert text == f"GCC unroll {kind.unroll}"

    # -- expressions --------------------------------------------------------------------------

    def expressions(self, texts, expected, scope):
        read = _Names(scope, self.tasks)
        for text, expr in zip(texts, expected, strict=True):
            found, wanted = _normal(read._of(text)), _normal(expr)
            assert found == wanted, _difference(found, wanted)
            assert found.type == wanted.type, f"{found.type} is {wanted.type}"


def _difference(found, wanted):
    """The first parts of two expressions that differ though their operands do not."""
    if type(found) is type(wanted) and len(found.children) == len(wanted.children):
        for one, other in zip(found.children, wanted.children, strict=True):
            if one != other:
                return _difference(one, other)
    return f"the text is {found},\nthe tree {wanted}"


def _in_scope(items, scope):
    """The statements of a text with what is in sight at each; braces are seen through."""
    for item in items:
        if isinstance(item, c_ast.Compound):
            yield from _in_scope(item.block_items or [], dict(scope))
        elif isinstance(item, c_ast.Decl) and isinstance(item.type, c_ast.FuncDecl):
            continue
        else:
            yield item, scope


def _extents(node):
    result = []
    while not isinstance(node, c_ast.TypeDecl):
        if isinstance(node, c_ast.ArrayDecl):
            result.append(node.dim)
        node = node.type
    return result


def _base_name(node):
    while not isinstance(node, c_ast.IdentifierType):
        node = node.type
    return " ".join(node.names)


def _is_void(item):
    return isinstance(item, c_ast.Cast) and _type_name(item.to_type) == "void"


def _sets_threads(item):
    """``if (too little work) { threads = 1; }``."""
    (only, *more) = item.iftrue.block_items
    return (
        not more and isinstance(only, c_ast.Assignment)
        and isinstance(only.lvalue, c_ast.ID) and only.lvalue.name == "threads"
    )  # fmt: skip
