"""C text as a tree, by pycparser: for tests that write statements down, and for what is printed.

It shares nothing with the printer: precedence is pycparser's, and the types of literals are read
off the standard's table (C17, 6.4.4.1).
"""

from __future__ import annotations

import re

import numpy as np
from pycparser import c_ast, c_parser

from polyopt.codegen.ast import expr as c
from polyopt.codegen.ast.nodes import Assign, Local
from polyopt.ir.types import F32, F64, I32, I64, TYPES, U32, U64

_NAMES = {t.c_name: t for t in TYPES.values()}
_TYPES = "".join(f"typedef int {name};" for name in [*_NAMES, "size_t"] if name.endswith("_t"))
_VECTOR = re.compile(r"f(32|64)x(\d+)(_at)?")
_MACROS = {"INT32_MIN": (-(2**31), I32), "INT64_MIN": (-(2**63), I64)}
_MACROS |= {"INFINITY": (float("inf"), F32), "NAN": (float("nan"), F32)}


class Reader:
    """Reads expressions; a name is the same symbol wherever it stands.

    Names with subscripts are arrays of ``float``, others variables of 64 bits, but for those whose
    ``types`` are given.
    """

    def __init__(self, symbols=(), **types):
        self.types = types
        self.symbols = dict(symbols)

    def symbol(self, name, type_=I64):
        """The symbol of a name."""
        if name not in self.symbols:
            self.symbols[name] = c.Symbol(name, self.types.get(name, type_))
        return self.symbols[name]

    def __call__(self, text):
        vectors = "".join(
            f"typedef int {m[0]};" for m in {m[0]: m for m in _VECTOR.finditer(text)}.values()
        )
        whole = f"{_TYPES}{vectors} void f(void) {{ (void)({text}); }}"
        tree = c_parser.CParser().parse(whole)
        return self._of(tree.ext[-1].body.block_items[0].expr)

    def assign(self, target, value, *locals_):
        """An assignment; locals are pairs of names and values."""
        made = tuple(Local(self.symbol(name, F32), self(text)) for name, text in locals_)
        return Assign(self(target), self(value), locals=made)

    def _of(self, node):
        match node:
            case c_ast.ID(name=name):
                if name in _MACROS:
                    return c.Const(*_MACROS[name])
                return c.Var(self.symbol(name))
            case c_ast.Constant():
                return _literal(node.value)
            case c_ast.ArrayRef():
                return self._element(node)
            case c_ast.UnaryOp():
                return self._unary(node)
            case c_ast.BinaryOp(op=op, left=left, right=right):
                return c.Binary(op, self._of(left), self._of(right))
            case c_ast.TernaryOp():
                return c.Select(*map(self._of, (node.cond, node.iftrue, node.iffalse)))
            case c_ast.Cast():
                return c.Cast(_NAMES[_type_name(node.to_type)], self._of(node.expr))
            case c_ast.FuncCall(name=c_ast.ID(name=name), args=args):
                given = tuple(map(self._of, args.exprs)) if args else ()
                return c.Call(name, given, _result(name))
        raise AssertionError(type(node))

    def _element(self, node):
        subscripts = []
        while isinstance(node, c_ast.ArrayRef):
            subscripts.append(self._of(node.subscript))
            node = node.name
        return c.Index(self.symbol(node.name, F32), tuple(reversed(subscripts)))

    def _unary(self, node):
        if node.op == "sizeof":
            if isinstance(node.expr, c_ast.Typename):
                return c.SizeOf(None, _NAMES[_type_name(node.expr)])
            return c.SizeOf(self._of(node.expr))
        if node.op == "*":
            if isinstance(node.expr, c_ast.Cast):
                kind, lanes, _ = _VECTOR.fullmatch(_type_name(node.expr.to_type)).groups()
                vector = c.Vector(TYPES[f"f{kind}"], int(lanes))
                return c.VectorAt(vector, self._of(node.expr.expr.expr))
            return c.Deref(self.symbol(node.expr.name))
        operand = self._of(node.expr)
        if node.op == "&":
            return c.AddressOf(operand)
        return folded(c.Unary(node.op, operand))


def folded(tree):
    """The tree, where the negative of a literal is a literal: in text both are one."""
    tree = tree.with_children(tuple(map(folded, tree.children)))
    match tree:
        case c.Unary(sign="-", operand=c.Const(value=value, kind=kind)) if kind.kind != "uint":
            return c.Const(-value, kind)
    return tree


def _type_name(typename):
    node = typename.type
    while not isinstance(node, c_ast.IdentifierType):
        node = node.type
    return " ".join(node.names)


def _literal(text):
    """The value and the type of a literal: the first of the standard's list that holds it."""
    if re.search(r"[.e]|f$", text) and not text.startswith("0x"):
        value = float(text.rstrip("f"))
        return c.Const(float(np.float32(value)), F32) if text[-1] == "f" else c.Const(value, F64)
    value, unsigned = int(text.rstrip("u")), text.endswith("u")
    kinds = (U32, U64) if unsigned else (I32, I64)
    return c.Const(value, next(k for k in kinds if k.range[0] <= value <= k.range[1]))


def _result(name):
    """The type that a function of the C library or a helper gives."""
    if found := re.fullmatch(r"(?:before|behind)\d+_f(32|64)x(\d+)", name):
        return c.Vector(TYPES[f"f{found[1]}"], int(found[2]))
    kind = name.rpartition("_")[2]
    if kind in TYPES and not name.startswith(("streamed", "fetched", "lookup", "transposed")):
        return TYPES[kind]
    if name.startswith("ahead_"):
        return I64
    if name == "omp_get_thread_num":
        return I32
    return F32 if name.endswith("f") and name != "erf" else F64
