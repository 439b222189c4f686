"""Vectors of generated C: what they are lanes of, and loops that run in whole ones as one loop.

rewrite: ``if (n - 1 < 64) { for (x = 1; x < n; x++) S; } else { const int64_t x_line = ...;
const int64_t x_past = ...; for (x = 1; x < x_line; x++) S; for (x = x_line; x < x_past; x += 16) V;
for (x = x_past; x < n; x++) S; }`` -> ``for (x = 1; x < n; x++) S;``

where ``V`` is ``S`` with a vector in place of each element. Where rows begin in memory decides on
``x_line``, and no program can say that: whatever it is, the three loops run what the one does.

In place of the first and the last loop there may be vectors that overlap others. Some iterations
run twice then, and no statement may read what one of them writes.
"""

# The parser's trees are copied and changed by the names of their parts, which have no types.
# pyright: basic, reportAttributeAccessIssue=false, reportReturnType=false
# pyright: reportOptionalIterable=false, reportArgumentType=false, reportCallIssue=false
# pyright: reportOptionalMemberAccess=false

from __future__ import annotations

import copy
import re
from typing import TYPE_CHECKING, NoReturn

from pycparser import CParser, c_ast

from polyopt.frontend.c.syntax.nodes import base_of, binary, cast, constant, put, renamed, text_of
from polyopt.frontend.c.syntax.usage import nodes

if TYPE_CHECKING:
    from collections.abc import Mapping

VECTOR = re.compile(r"(f32|f64|i32)x(\d+)(_at)?")
ELEMENT = {"f32": "float", "f64": "double", "i32": "int32_t"}
#: ``before1_f32x16``, ``behind2_f64x8``, ``ahead_f32x16``
NEAR = re.compile(r"(before|behind|ahead)(\d*)_((f32|f64)x(\d+))")
#: functions of vectors that are no part of a program: these, and ``dot_2x16packed_i32x8``
OF_VECTORS = re.compile(rf"{NEAR.pattern}|dot_2x16packed_(i32x\d+)")
_BYTES = {"f32": 4, "f64": 8}
#: what a dot product of packed pairs returns where compilers have no instruction for it
_DOT = """
typedef int int32_t; typedef int {vector};
static inline {vector} {name}(int32_t pair, {vector} pairs) {{
    const {vector} both = (({vector}){{0}}) + pair;
    return ((both << 16) >> 16) * ((pairs << 16) >> 16) + (both >> 16) * (pairs >> 16);
}}
"""
#: bits of a number of a pair
_HALF = 16
#: a row that is shorter than so many vectors runs as it is
_LEAST_VECTORS = 4


def lanes_of(kind: c_ast.Node) -> int:
    """How many numbers a declared type holds, where it is a vector type; else 0."""
    if not isinstance(kind, c_ast.TypeDecl) or not isinstance(kind.type, c_ast.IdentifierType):
        return 0
    found = VECTOR.fullmatch(kind.type.names[0])
    return int(found[2]) if found else 0


def is_zeros(init: c_ast.Node) -> bool:
    """Whether a vector is declared with zeros in all of its lanes: ``{0}``."""
    listed = init.exprs if isinstance(init, c_ast.InitList) else []
    return [text_of(value) for value in listed] == ["0"]


def vector_at(node: c_ast.Node) -> tuple[c_ast.ArrayRef, int] | None:
    """``a[i]`` and 16, of ``*(f32x16_at *)&a[i]``."""
    match node:
        case c_ast.UnaryOp(op="*", expr=c_ast.Cast() as cast):
            pointed = cast.to_type.type
            lanes = lanes_of(pointed.type) if isinstance(pointed, c_ast.PtrDecl) else 0
            element = cast.expr.expr if isinstance(cast.expr, c_ast.UnaryOp) else None
            if lanes and isinstance(element, c_ast.ArrayRef):
                return element, lanes
    return None


def in_vectors(node: c_ast.If) -> str:
    """The vector type of a loop whose middle runs in whole vectors; else ""."""
    items = node.iffalse.block_items if isinstance(node.iffalse, c_ast.Compound) else None
    init = items[0].init if items and isinstance(items[0], c_ast.Decl) else None
    call = init.right if isinstance(init, c_ast.BinaryOp) else None
    if not isinstance(call, c_ast.FuncCall) or not isinstance(call.name, c_ast.ID):
        return ""
    found = NEAR.fullmatch(call.name.name)
    return found[3] if found and found[1] == "ahead" else ""


def one_loop(node: c_ast.If, helpers: Mapping[str, c_ast.FuncDef]) -> c_ast.For:
    """Such a loop as it is without vectors. Raises ``ValueError`` with the rule that it breaks."""
    kind = in_vectors(node)
    items = node.iftrue.block_items or []
    if len(items) != 2 or not isinstance(items[0], c_ast.Pragma) or items[0].string != "omp simd":
        _break("a short row is no vector loop")
    loop, parts = items[1], node.iffalse.block_items
    middle = next((part.stmt for part in parts[3:] if isinstance(part, c_ast.For)), None)
    if not isinstance(loop, c_ast.For) or middle is None:
        _break("a row has other parts than a start, vectors and an end")
    values = [_each(middle, kind, helpers)]
    # one vector that starts anywhere: all parts but the middle are compared with it below
    end = parts[2] if isinstance(parts[2], c_ast.Compound) else None
    if end is not None:
        _check_repeats(loop.stmt)
        # without helpers: they load more than a vector, and beyond the row at its ends
        values.append(_each(c_ast.Compound(end.block_items[1:]), kind, {}))
    if any(text_of(value) != text_of(loop.stmt) for value in values):
        _break("vectors of a row hold other values than its elements")
    wanted = _expected(loop, kind, parts, middle, end)
    if text_of(node.cond) != wanted["cond"]:
        _break("rows are short by another rule")
    if text_of(node.iffalse) != wanted["parts"]:
        _break("a row is cut elsewhere than where a line begins and vectors end")
    check_helper(helpers, f"ahead_{kind}")
    return loop


def _check_repeats(body: c_ast.Node) -> None:
    """Raise ``ValueError`` unless iterations that run twice store what they stored."""
    stores = [n for n in body.block_items if isinstance(n, c_ast.Assignment)]
    others = [n for n in body.block_items if not isinstance(n, c_ast.Assignment)]
    written = [base_of(store.lvalue) for store in stores]
    named = [n.name for n in nodes(body) if isinstance(n, c_ast.ID)]
    if any(store.op != "=" for store in stores) or not all(
        isinstance(n, c_ast.Decl) for n in others
    ):
        _break("what runs twice does more than assign")
    if any(named.count(name) != written.count(name) for name in written):
        _break("what runs twice reads what it writes")


def _expected(
    loop: c_ast.For,
    kind: str,
    parts: list[c_ast.Node],
    middle: c_ast.Node,
    vector: c_ast.Compound | None,
) -> dict[str, str]:
    """The test and the parts of a loop's form in vectors, as the parser's printer writes them."""
    x, start = loop.init.decls[0].name, text_of(loop.init.decls[0].init)
    test = loop.cond
    if not isinstance(test, c_ast.BinaryOp) or test.op != "<" or text_of(loop.next) != f"{x}++":
        _break("a row is not walked element by element")
    lanes, end = int(kind.partition("x")[2]), text_of(test.right)
    line, past = (getattr(part, "name", "") for part in parts[:2])
    first, body = _plus(start, lanes - 1), text_of(loop.stmt)
    stores = [n for n in loop.stmt.block_items if isinstance(n, c_ast.Assignment)]
    target = text_of(renamed(stores[0].lvalue, x, "FIRST")).replace("FIRST", first)
    head = f"for (int64_t {x} = {start}; {x} < {line}; {x}++) {body}"
    tail = f"for (int64_t {x} = {past}; {x} < {end}; {x}++) {body}"
    if vector is not None:
        inside = "".join(f"{text_of(n)};\n" for n in (vector.block_items or [])[1:])
        latest = _plus(end, -lanes)
        at_start, at_line, at_past, at_end = (
            f"{{ const int64_t {x} = {place}; {inside} }}"
            for place in (start, f"{line} - {lanes}", past, latest)
        )
        head = f"{at_start} if ({line} > {_plus(start, lanes)}) {at_line}"
        tail = f"if ({past} < {latest}) {at_past} {at_end}"
    text = f"""void f(void) {{
        if ({end} - {start} < {_LEAST_VECTORS * lanes}) {{ }} else {{
            const int64_t {line} = {first} + ahead_{kind}(&{target});
            const int64_t {past} = {line} + ({end} - {lanes - 1} - {line}) / {lanes} * {lanes};
            {head}
            for (int64_t {x} = {line}; {x} < {past}; {x} += {lanes}) {text_of(middle)}
            {tail}
        }}
    }}"""
    types = f"typedef long int64_t; typedef float {kind}; typedef float {kind}_at;"
    found = CParser().parse(types + text).ext[-1].body.block_items[0]
    return {"cond": text_of(found.cond), "parts": text_of(found.iffalse)}


def _plus(bound: str, by: int) -> str:
    """A bound that is a name or a number, moved."""
    return (
        str(int(bound) + by) if bound.isdigit() else f"{bound} {'-' if by < 0 else '+'} {abs(by)}"
    )


def _each(node: c_ast.Node, kind: str, helpers: Mapping[str, c_ast.FuncDef]) -> c_ast.Node:
    """What vectors of a row hold, element by element."""
    found = vector_at(node)
    if found is not None and text_of(node.expr.to_type) == f"{kind}_at *":
        return found[0]
    if isinstance(node, c_ast.FuncCall) and isinstance(node.name, c_ast.ID):
        near = NEAR.fullmatch(node.name.name)
        if near is not None and near[3] == kind and near[2]:
            check_helper(helpers, near[0])
            by = int(near[2]) if near[1] == "behind" else -int(near[2])
            return _moved(node.args.exprs[0].expr, by)
    if isinstance(node, c_ast.IdentifierType) and node.names == [kind]:
        return c_ast.IdentifierType([ELEMENT[kind.partition("x")[0]]])
    changed = copy.copy(node)
    for name, child in node.children():
        new = _each(child, kind, helpers)
        if new is not child:
            put(changed, name, new)
    return changed


def _moved(element: c_ast.ArrayRef, by: int) -> c_ast.ArrayRef:
    """The element so many further in its row."""
    changed, place = copy.copy(element), element.subscript
    known = 0
    if (
        isinstance(place, c_ast.BinaryOp)
        and place.op in {"+", "-"}
        and isinstance(place.right, c_ast.Constant)
    ):
        known = int(place.op + place.right.value)
        place = place.left
    total = known + by
    sign = "-" if total < 0 else "+"
    changed.subscript = binary(sign, place, constant(abs(total))) if total else place
    return changed


def check_helper(helpers: Mapping[str, c_ast.FuncDef], name: str) -> None:
    """Raise ``ValueError`` unless the helper of that name does what it is called for."""
    kind, by, vector, element, lanes = NEAR.fullmatch(name).groups()  # type: ignore[union-attr]
    helper, count = helpers.get(name), int(lanes)
    type_ = ELEMENT[element]
    if kind == "ahead":
        size = _BYTES[element] * count
        text = (
            f"static inline int64_t {name}(const {type_} *at) "
            f"{{ return (int64_t)(-(uintptr_t)at % {size} / sizeof({type_})); }}"
        )
    else:
        before = kind == "before"
        one, two = (f"(at - {count})", "at") if before else ("at", f"(at + {count})")
        first = count - int(by) if before else int(by)
        pair = ", ".join(f"*(const {vector}_at *){at}" for at in (one, two))
        places = ", ".join(str(first + k) for k in range(count))
        text = (
            f"static inline {vector} {name}(const {type_} *at) "
            f"{{ return __builtin_shufflevector({pair}, {places}); }}"
        )
        if not 0 < int(by) < count:
            _break(f"{name} reaches beyond two vectors")
    types = "typedef long int64_t; typedef long uintptr_t;"
    types += f"typedef float {vector}; typedef float {vector}_at;"
    if helper is None or text_of(helper) != text_of(CParser().parse(types + text).ext[-1]):
        _break(f"{name} is not what it is known as")


def means_dot(helper: c_ast.FuncDef | None) -> bool:
    """Whether a function is the dot product of packed pairs, by its text for any compiler."""
    found = OF_VECTORS.fullmatch(helper.decl.name) if helper is not None else None
    if found is None or not found[found.re.groups]:
        return False
    text = _DOT.format(name=found[0], vector=found[found.re.groups])
    return text_of(helper) == text_of(CParser().parse(text).ext[-1])


def dot_of(pair: c_ast.Node, pairs: c_ast.Node) -> c_ast.Node:
    """A lane of it: ``(int32_t)(int16_t)pair * (int32_t)(int16_t)pairs + (pair >> 16) * (pairs >>
    16)``."""

    def low(word: c_ast.Node) -> c_ast.Node:
        for kind in ("int16_t", "int32_t"):
            word = cast(word, c_ast.TypeDecl(None, [], None, c_ast.IdentifierType([kind])))
        return word

    def high(word: c_ast.Node) -> c_ast.Node:
        return binary(">>", word, constant(_HALF))

    return binary("+", binary("*", low(pair), low(pairs)), binary("*", high(pair), high(pairs)))


def _break(message: str) -> NoReturn:
    raise ValueError(message)
