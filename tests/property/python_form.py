"""Random programs as Python loop functions: C's types written out as casts, loops as ``range``.

NumPy's rules for types are not C's. Every operand therefore gets C's common type by a cast, and
divisions of signed numbers round towards zero by a conditional.
"""

from __future__ import annotations

import itertools
import linecache
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from pycparser import c_ast
from pycparser.c_parser import CParser

import polyopt as po

from .values import C_NAMES, NUMPY_NAMES, common, promoted

if TYPE_CHECKING:
    from polyopt.ir.scop import Scop

_TYPES = {c: short for short, c in C_NAMES.items()} | {"int32_t": "i32"}
_TYPEDEFS = "".join(f"typedef int {c};\n" for c in _TYPES if c.endswith("_t"))
_NUMBERS = itertools.count()
_BOOLEAN = frozenset({"<", "<=", ">", ">=", "==", "!=", "&&", "||"})
#: C's functions of floats
_CALLS = {"fmin": "min", "fmax": "max", "floor": "np.floor", "fabs": "abs"}


def python_scop(text: str) -> Scop:
    """The program of a C function, printed as a Python loop function and read as one."""
    printed = python_text(text)
    file = f"<loops {next(_NUMBERS)}>"
    linecache.cache[file] = (len(printed), None, printed.splitlines(keepends=True), file)
    names = {"np": np, **{short: getattr(po, short) for short in NUMPY_NAMES}}
    exec(compile(printed, file, "exec"), names)  # noqa: S102 (written here)
    (name,) = re.findall(r"^def (\w+)", printed, re.MULTILINE)
    try:
        return po.scop(names[name])
    finally:
        del linecache.cache[file]


def python_text(text: str) -> str:
    """A C function of a random program as a Python function."""
    plain = re.sub(r"^#.*$|//.*$", "", text, flags=re.MULTILINE)
    (function,) = (
        d for d in CParser().parse(_TYPEDEFS + plain).ext if isinstance(d, c_ast.FuncDef)
    )
    printer = _Printer()
    arguments = [printer.argument(d) for d in function.decl.type.args.params]
    body = printer.block(function.body)
    return "\n".join([f"def {function.decl.name}({', '.join(arguments)}):", *body, ""])


def _shape(node: c_ast.Node) -> tuple[list[c_ast.Node], str]:
    """The extents of a declared array, and its type."""
    dims: list[c_ast.Node] = []
    while isinstance(node, c_ast.ArrayDecl):
        dims.append(node.dim)
        node = node.type
    return dims, _TYPES[" ".join(node.type.names)]


@dataclass
class _Printer:
    types: dict[str, str] = field(default_factory=dict[str, str])

    # Declarations and statements.

    def argument(self, node: c_ast.Decl) -> str:
        dims, type_ = _shape(node.type)
        if not dims and re.fullmatch(r"[A-Z]\w*", node.name):
            return f"{node.name}: int"
        self.types[node.name] = type_
        extents = ", ".join(f'"{self.plain(dim)}"' for dim in dims)
        return f"{node.name}: {type_}" + (f"[{extents}]" if dims else "")

    def block(self, node: c_ast.Node) -> list[str]:
        items = (node.block_items or []) if isinstance(node, c_ast.Compound) else [node]
        lines = [line for item in items for line in self.statement(item)]
        return ["    " + line for line in lines or ["pass"]]

    def statement(self, node: c_ast.Node) -> list[str]:
        if isinstance(node, c_ast.Compound):
            return [line[4:] for line in self.block(node)]
        if isinstance(node, c_ast.Decl):
            return [self._local(node)]
        if isinstance(node, c_ast.For):
            return [self._loop(node), *self.block(node.stmt)]
        if isinstance(node, c_ast.If):
            lines = [f"if {self.condition(node.cond)}:", *self.block(node.iftrue)]
            return lines + (["else:", *self.block(node.iffalse)] if node.iffalse else [])
        assert isinstance(node, c_ast.Assignment), node
        return [self._assignment(node)]

    def _local(self, node: c_ast.Decl) -> str:
        dims, type_ = _shape(node.type)
        self.types[node.name] = type_
        if not dims:
            return f"{node.name} = {self._as(type_, node.init)}"
        extents = "".join(f"{self.plain(dim)}, " for dim in dims)
        return f"{node.name} = np.empty(({extents}), dtype=np.{NUMPY_NAMES[type_]})"

    def _assignment(self, node: c_ast.Assignment) -> str:
        target, type_ = self.value(node.lvalue)
        value = node.rvalue
        if node.op != "=":
            value = c_ast.BinaryOp(node.op[:-1], node.lvalue, value)
        return f"{target} = {self._as(type_, value)}"

    def _loop(self, node: c_ast.For) -> str:
        (decl,) = node.init.decls
        down = node.next.op in {"p--", "--", "-="}
        step = "1" if isinstance(node.next, c_ast.UnaryOp) else self.plain(node.next.rvalue)
        ends = [self._end(part) for part in _parts(node.cond)]
        end = ends[0] if len(ends) == 1 else f"{'max' if down else 'min'}({', '.join(ends)})"
        sign = "-" if down else ""
        return f"for {decl.name} in range({self.plain(decl.init)}, {end}, {sign}{step}):"

    def _end(self, node: c_ast.BinaryOp) -> str:
        """Where a loop with this condition stops: the first value that it does not take."""
        past = {"<": "", "<=": " + 1", ">": "", ">=": " - 1"}[node.op]
        return self.plain(node.right) + past

    # Expressions over iterators and sizes.

    def plain(self, node: c_ast.Node) -> str:
        if isinstance(node, c_ast.TernaryOp):
            yes, no = self.plain(node.iftrue), self.plain(node.iffalse)
            return f"({yes} if {self.plain(node.cond)} else {no})"
        if isinstance(node, c_ast.UnaryOp):
            return f"({'not ' if node.op == '!' else node.op}{self.plain(node.expr)})"
        if isinstance(node, c_ast.BinaryOp):
            op = {"/": "//", "&&": "and", "||": "or"}.get(node.op, node.op)
            return f"({self.plain(node.left)} {op} {self.plain(node.right)})"
        return node.value if isinstance(node, c_ast.Constant) else node.name

    def condition(self, node: c_ast.Node) -> str:
        """A condition: plain where it is on iterators and sizes alone."""
        if not self._has_data(node):
            return self.plain(node)
        if isinstance(node, c_ast.UnaryOp):
            return f"(not {self.condition(node.expr)})"
        if node.op in {"&&", "||"}:
            word = "and" if node.op == "&&" else "or"
            return f"({self.condition(node.left)} {word} {self.condition(node.right)})"
        left, right, _ = self._both(node)
        return f"({left} {node.op} {right})"

    def _has_data(self, node: c_ast.Node) -> bool:
        if isinstance(node, c_ast.ID):
            return node.name in self.types
        return any(self._has_data(child) for _, child in node.children())

    # Values, with C's types.

    def value(self, node: c_ast.Node) -> tuple[str, str]:
        """The text and its C type."""
        match node:
            case c_ast.ArrayRef():
                return self._element(node)
            case c_ast.ID() if node.name in self.types:
                return node.name, self.types[node.name]
            case c_ast.Constant() if node.type != "int":
                type_ = "f32" if node.value.endswith("f") else "f64"
                return f"{type_}({node.value.rstrip('f')})", type_
            case c_ast.ID() | c_ast.Constant():
                return f"i32({self.plain(node)})", "i32"
            case c_ast.Cast():
                _, type_ = _shape(node.to_type.type)
                return self._as(type_, node.expr), type_
            case c_ast.TernaryOp():
                yes, no, type_ = self._pair(node.iftrue, node.iffalse)
                return f"({yes} if {self.condition(node.cond)} else {no})", type_
            case c_ast.FuncCall():
                return self._call(node)
            case c_ast.UnaryOp():
                text, type_ = self.value(node.expr)
                type_ = promoted(type_)
                return f"(-{self._as(type_, node.expr)})" if node.op == "-" else text, type_
            case _:
                return self._binary(node)

    def _element(self, node: c_ast.ArrayRef) -> tuple[str, str]:
        subscripts: list[str] = []
        base: c_ast.Node = node
        while isinstance(base, c_ast.ArrayRef):
            inner = base.subscript
            subscripts.append(self.value(inner)[0] if self._has_data(inner) else self.plain(inner))
            base = base.name
        return f"{base.name}[{', '.join(reversed(subscripts))}]", self.types[base.name]

    def _as(self, type_: str, node: c_ast.Node) -> str:
        text, own = self.value(node)
        return text if own == type_ else f"{type_}({text})"

    def _pair(self, one: c_ast.Node, other: c_ast.Node) -> tuple[str, str, str]:
        type_ = common(self.value(one)[1], self.value(other)[1])
        return self._as(type_, one), self._as(type_, other), type_

    def _both(self, node: c_ast.BinaryOp) -> tuple[str, str, str]:
        return self._pair(node.left, node.right)

    def _call(self, node: c_ast.FuncCall) -> tuple[str, str]:
        name = node.name.name
        type_ = "f32" if name.endswith("f") else "f64"
        arguments = [self._as(type_, a) for a in node.args.exprs]
        return f"{_CALLS[name.removesuffix('f')]}({', '.join(arguments)})", type_

    def _binary(self, node: c_ast.BinaryOp) -> tuple[str, str]:
        assert node.op not in _BOOLEAN, node
        if node.op == ">>":
            type_ = promoted(self.value(node.left)[1])
            return f"({self._as(type_, node.left)} >> {type_}({self.plain(node.right)}))", type_
        left, right, type_ = self._both(node)
        if node.op not in {"/", "%"} or type_[0] == "f":
            return f"({left} {node.op} {right})", type_
        op = "//" if node.op == "/" else "%"
        if type_[0] == "u":
            return f"({left} {op} {right})", type_
        zero = f"{type_}(0)"
        return f"({left} {op} {right} if {left} >= {zero} else -(-{left} {op} {right}))", type_


def _parts(node: c_ast.Node) -> list[c_ast.BinaryOp]:
    """The comparisons of a loop's condition."""
    if isinstance(node, c_ast.BinaryOp) and node.op == "&&":
        return [*_parts(node.left), *_parts(node.right)]
    assert isinstance(node, c_ast.BinaryOp)
    return [node]
