"""Printed C means what the IR says: by examples, and by random expressions against the oracle."""

from __future__ import annotations

import ctypes
import random
import subprocess

import numpy as np
import pytest

import polyopt as po
from polyopt.analysis.interpreter.evaluate import Environment, evaluate
from polyopt.codegen.ast import expr as c_ast
from polyopt.codegen.ast import visit
from polyopt.codegen.ast.expr import Symbol, Var
from polyopt.codegen.ast.names import names_in
from polyopt.codegen.expressions.affine import c_affine
from polyopt.codegen.expressions.indices import index_number, index_operation, index_variable
from polyopt.codegen.expressions.ir import lowered
from polyopt.codegen.expressions.lowered import Lowered, constant
from polyopt.codegen.helpers.arithmetic import helpers
from polyopt.codegen.printers.c_expr import c_text, hints
from polyopt.codegen.signed_overflow import needs_wrapv
from polyopt.ir import build
from polyopt.ir.expr import Affine, Expr, Inside, Load, index_of, inside
from polyopt.ir.types import (
    BOOL,
    F32,
    F64,
    I8,
    I16,
    I32,
    I64,
    TYPES,
    U8,
    U16,
    U32,
    U64,
    ScalarType,
)
from polyopt.isl import (
    AstBuild,
    PwAff,
    Set,
    affine_constant,
    affine_param,
    affine_var,
    instance_space,
    params_space,
    parse_set,
)
from tests.compilers import COMPILERS, OWN
from tests.unit.codegen.reader import Reader, folded

read = Reader()
ELEMENTS = {}


def var(name: str, type_: ScalarType) -> Load:
    return Load(type_, name, ())


def element(load: Load) -> c_ast.Expr:
    """What a load is in C: its name, which may have subscripts."""
    name = load.array.partition("[")[0]
    return ELEMENTS.setdefault((load.array, load.type), Reader(**{name: load.type})(load.array))


def shown(made: Lowered) -> str:
    return c_text(made.node, hints)


def c(expr: Expr, *, stored: bool = False) -> str:
    sum_ = index_operation("+", index_variable(read("i")), index_number(1))
    test = Lowered(read("i >= 1 && i < N"), BOOL, (0, 1))
    return shown(lowered(expr, element, lambda _: sum_, lambda _: test, stored=stored))


a, b, d = (var(name, U16) for name in "abd")
x, y = var("x", F32), var("y[i][j]", F32)
i, j = var("i", I32), var("j", I32)
u = var("u", U32)
total = build.binary("add", build.binary("add", a, b), d)


@pytest.mark.parametrize(
    ("expected", "expr"),
    [
        ("(uint16_t)(a + b + d) / 3", build.binary("div", total, build.const(U16, 3))),
        ("(uint16_t)(a + (b + d))", build.binary("add", a, build.binary("add", b, d))),
        ("x - (x - y[i][j])", build.binary("sub", x, build.binary("sub", x, y))),
        ("x * (x / y[i][j])", build.binary("mul", x, build.binary("div", x, y))),
        ("a * 0.25f", build.binary("mul", build.cast(F32, a), build.const(F32, 0.25))),
        ("x * 0.1", build.binary("mul", build.cast(F64, x), build.const(F64, 0.1))),
        ("x > 0.0f ? x : 0.0f", build.binary("max", x, build.const(F32, 0))),
        ("min_f32(y[i][j], x)", build.binary("min", y, x)),
        ("sqrtf(x * x)", build.call("sqrt", build.binary("mul", x, x))),
        ("sqrt(x)", build.call("sqrt", build.cast(F64, x))),
        ("(int64_t)i * j", build.binary("mul", build.cast(I64, i), build.cast(I64, j))),
        ("i >> 2", build.binary("floordiv", i, build.const(I32, 4))),
        ("i & 3", build.binary("floormod", i, build.const(I32, 4))),
        ("floordiv_i32(i, 3)", build.binary("floordiv", i, build.const(I32, 3))),
        ("(int32_t)((uint32_t)i << 4)", build.binary("shl", i, build.const(I32, 4))),
        ("-(int64_t)i", build.negate(build.cast(I64, i))),
        ("-(-x)", build.negate(build.negate(x))),
        ("a < b ? a : 7", build.select(build.compare("lt", a, b), a, build.const(U16, 7))),
        ("i < j ? u : (uint32_t)a",
         build.select(build.compare("lt", i, j), u, build.cast(U32, a))),
        ("(a < b) & (b < d)",
         build.binary("and", build.compare("lt", a, b), build.compare("lt", b, d))),
        ("1", build.compare("lt", a, build.const(U16, 65535)).with_children(
            (build.cast(I32, a), build.const(I32, 70000)))),
        ("(i & j) + 1", build.binary("add", build.binary("and", i, j), build.const(I32, 1))),
    ],
)  # fmt: skip
def test_prints(expected: str, expr: Expr) -> None:
    assert c(expr) == expected


def test_a_store_wraps_by_itself() -> None:
    assert c(total, stored=True) == "a + b + d"
    assert c(build.binary("mul", a, b), stored=True) == "(uint32_t)a * b"
    scaled = build.binary("mul", build.cast(F32, a), build.const(F32, 0.5))
    assert c(build.cast(U16, scaled), stored=True) == "(uint16_t)(a * 0.5f)"
    double = build.binary("mul", build.cast(F64, x), build.const(F64, 0.1))
    assert c(build.cast(F32, double), stored=True) == "x * 0.1"
    assert c(build.cast(F32, double)) == "(float)(x * 0.1)"


def test_affine_parts_are_64_bit() -> None:
    form = affine_var(instance_space((), "S", ("i",)), 0)
    assert c(build.binary("mul", index_of(form), build.const(I64, 2))) == "(i + 1) * 2"
    narrow = build.binary("mul", build.cast(F32, Affine(I32, form)), build.const(F32, 0.5))
    assert c(narrow) == "(int32_t)(i + 1) * 0.5f"
    guard = build.select(inside(parse_set("{ S[i] : i >= 1 }")), x, build.const(F32, 0))
    assert c(guard) == "i >= 1 && i < N ? x : 0.0f"


@pytest.mark.parametrize(
    ("expected", "type_", "value"),
    [
        ("0.1f", F32, float(np.float32(0.1))),
        ("1e+20f", F32, 1e20),
        ("3.0f", F32, 3.0),
        ("-0.0", F64, -0.0),
        ("0.3333333333333333", F64, 1 / 3),
        ("INFINITY", F32, float("inf")),
        ("NAN", F64, float("nan")),
        ("INT32_MIN", I32, -(2**31)),
        ("INT64_MIN", I64, -(2**63)),
        ("3000000000u", U32, 3000000000),
        ("18446744073709551615u", U64, 2**64 - 1),
        ("-5", I8, -5),
    ],
)
def test_constants(expected: str, type_: ScalarType, value: float) -> None:
    assert shown(constant(type_, value)) == expected


def test_needs_wrapv() -> None:
    assert needs_wrapv(build.binary("add", i, j))
    assert needs_wrapv(build.binary("sub", i, j))
    assert needs_wrapv(build.binary("mul", x.__class__(F32, "x", ()), x)) is False
    assert not needs_wrapv(total)
    assert not needs_wrapv(build.binary("add", build.cast(I32, a), build.cast(I32, b)))
    assert needs_wrapv(build.select(build.compare("lt", a, b), build.negate(i), j))


LOCALS = """
void locals(int N, const {type} a[N], int out[N])
{{
    int kept[N];
    for (int i = 0; i < N; i++)
        kept[i] = 0;
    for (int i = 0; i < N; i++) {{
        int v = {first};
        int w = {second};
        out[i] = w < 0 ? -w : w;
        kept[i] = out[i];
    }}
}}
"""


@pytest.mark.parametrize(
    ("type_", "first", "second", "wraps"),
    [
        ("unsigned char", "a[i] - a[N - 1 - i]", "2 * v - a[i]", False),
        ("short", "a[i] * a[N - 1 - i]", "v - 1", False),
        ("short", "a[i] * a[N - 1 - i]", "2 * v", True),
        ("int", "a[i]", "v", True),
        ("unsigned char", "a[i] + kept[i]", "v", True),
    ],
    ids=["bytes", "products", "too large", "any number", "read before it is written"],
)
def test_locals_hold_what_is_stored_in_them(
    type_: str, first: str, second: str, *, wraps: bool
) -> None:
    scop = po.parse_c(LOCALS.format(type=type_, first=first, second=second))
    assert ("-fwrapv" in po.Plan(scop).emit().flags) is wraps


def test_helpers_are_those_used() -> None:
    text = helpers({"min_f32", "floordiv_i64", "sqrt"})
    assert text.count("static inline") == 2
    assert text.index("min_f32") < text.index("floordiv_i64")
    assert helpers({"my_min_f32", "min"}) == ""


# Random expressions: compiled without a warning, run, and compared with the interpreter.

VALUES = {
    "int": (
        0,
        1,
        -1,
        2,
        7,
        -128,
        127,
        255,
        -32768,
        65535,
        -(2**31),
        2**31 - 1,
        2**63 - 1,
        -(2**63),
    ),
    "float": (0.0, -0.0, 1.0, -1.5, 0.1, 3.0e38, 1e-30, 255.5, -7.25, float("nan"), float("inf")),
}
WRAPPING = ("add", "sub", "mul", "and", "or", "xor", "min", "max")


def positive(expr: Expr) -> Expr:
    """A small number above zero, as a divisor."""
    mask = build.binary("and", expr, build.const(expr.type, 7))
    return build.binary("add", mask, build.const(expr.type, 1))


class Draw:
    """Random well-defined expressions over one variable of every type."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)  # noqa: S311

    def expr(self, type_: ScalarType, depth: int) -> Expr:
        if depth == 0 or self.random.random() < 0.1:
            return self.leaf(type_)
        kind = self.random.choice(("binary",) * 5 + ("unary", "cast", "cast", "select", "call"))
        if kind == "select":
            cond = self.expr(BOOL, depth - 1)
            return build.select(cond, self.expr(type_, depth - 1), self.expr(type_, depth - 1))
        if kind == "cast":
            return self.cast(type_, depth - 1)
        if kind == "unary":
            operand = self.expr(type_, depth - 1)
            negated = type_.is_float or (type_ != BOOL and self.random.random() < 0.5)
            return build.negate(operand) if negated else build.invert(operand)
        if type_ == BOOL:
            return self.condition(depth - 1)
        if kind == "call":
            return self.call(type_, depth - 1)
        return self.binary(type_, depth - 1)

    def leaf(self, type_: ScalarType) -> Expr:
        if self.random.random() < 0.6:
            return Load(type_, f"v_{type_.name}", ())
        value = self.random.choice(VALUES["float" if type_.is_float else "int"])
        return build.const(type_, value)

    def cast(self, type_: ScalarType, depth: int) -> Expr:
        operand = self.expr(self.random.choice(list(TYPES.values())), depth)
        if operand.type.is_float and not type_.is_float and type_ != BOOL:
            low = -100 if type_.kind == "int" else 0
            operand = build.binary("max", operand, build.const(operand.type, low))
            operand = build.binary("min", operand, build.const(operand.type, 100))
        return build.cast(type_, operand)

    def condition(self, depth: int) -> Expr:
        if self.random.random() < 0.3:
            op = self.random.choice(("and", "or", "xor", "min", "max"))
            return build.binary(op, self.expr(BOOL, depth), self.expr(BOOL, depth))
        type_ = self.random.choice(list(TYPES.values()))
        op = self.random.choice(("lt", "le", "eq", "ne", "gt", "ge"))
        return build.compare(op, self.expr(type_, depth), self.expr(type_, depth))

    def call(self, type_: ScalarType, depth: int) -> Expr:
        if not type_.is_float:
            return build.call("abs", self.expr(type_, depth))
        function = self.random.choice(("sqrt", "fabs", "floor", "ceil", "trunc", "round", "rint"))
        return build.call(function, self.expr(type_, depth))

    def binary(self, type_: ScalarType, depth: int) -> Expr:
        left, right = self.expr(type_, depth), self.expr(type_, depth)
        if type_.is_float:
            ops = ("add", "sub", "mul", "div", "mod", "min", "max", "floordiv", "floormod")
            return build.binary(self.random.choice(ops), left, right)
        op = self.random.choice((*WRAPPING, "div", "mod", "floordiv", "floormod", "shl", "shr"))
        if op in {"shl", "shr"}:
            right = build.binary("and", right, build.const(type_, type_.bits - 1))
        elif op not in WRAPPING:
            right = self.random.choice((positive(right), build.const(type_, 4)))
        return build.binary(op, left, right)


SYMBOLS = {f"v_{t.name}": Symbol(f"v_{t.name}", t) for t in TYPES.values()}


def leaf(name: str, type_: ScalarType) -> Var:
    assert SYMBOLS[name].type == type_
    return Var(SYMBOLS[name])


def variable(load: Load) -> Var:
    return Var(SYMBOLS[load.array])


SIZES = ("v_i8", "v_u16", "v_i32", "v_u32")
#: ``v_u32`` as code among other code has it
NAMES = {
    name: index_variable(node)
    for name, node in {
        "v_i8": leaf("v_i8", I8),
        "v_u16": leaf("v_u16", U16),
        "v_i32": leaf("v_i32", I32),
        "v_u32": c_ast.Cast(I64, leaf("v_u32", U32)),
    }.items()
}


def affine_c(node: Affine | Inside) -> Lowered:
    """An affine part as code generation prints it, over variables that are not all 64 bits."""
    made = AstBuild.from_context(Set.universe(params_space(SIZES)))
    if isinstance(node, Inside):
        return c_affine(made.expr_from_set(node.where), NAMES)
    return c_affine(made.expr_from_pw_aff(node.form), NAMES)


class AffineDraw(Draw):
    """Expressions with affine parts: sums of sizes, and the numbers that single trips leave."""

    def leaf(self, type_: ScalarType) -> Expr:
        if type_.is_float or self.random.random() < 0.4:
            return super().leaf(type_)
        if type_ == BOOL:
            return inside(self.sum().ge_set(self.number()))
        return Affine(type_, self.form())

    def number(self) -> PwAff:
        value = self.random.choice((0, 1, 3, 255, 2**31 - 1, -(2**31), 2**32))
        return affine_constant(params_space(SIZES), value)

    def sum(self) -> PwAff:
        space, total = params_space(SIZES), self.number()
        for name in self.random.sample(SIZES, 2):
            factor = affine_constant(space, self.random.choice((1, -1, 66, -(2**20))))
            total = total.add(affine_param(space, name).mul(factor))
        return total

    def form(self) -> PwAff:
        kind = self.random.choice(("number", "number", "sum", "choice", "least", "floor"))
        if kind == "number":
            return self.number()
        if kind == "choice":
            where = self.sum().ge_set(self.number())
            other = self.number().intersect_domain(where.complement())
            return self.number().intersect_domain(where).union_add(other)
        if kind == "least":
            return self.sum().min(self.number())
        whole = affine_constant(params_space(SIZES), self.random.choice((2, 3, 2048)))
        return self.sum().div(whole).floor() if kind == "floor" else self.sum()


#: Random programs mix literals such as ``u8(x | 1023)`` that compilers see through and report.
MIXED_LITERALS = ("-Wno-overflow", "-Wno-constant-conversion", "-Wno-tautological-compare")
PARAMETERS = ", ".join(f"{t.c_name} v_{t.name}" for t in TYPES.values())


def translation_unit(exprs: list[Expr]) -> str:
    bodies = []
    unused = " ".join(f"(void)v_{t};" for t in TYPES)
    for number, expr in enumerate(exprs):
        both = [
            shown(lowered(expr, variable, affine_c, affine_c, stored=stored))
            for stored in (True, False)
        ]
        type_ = expr.type.c_name
        bodies.append(
            f"void e{number}({PARAMETERS}, {type_} *stored, {type_} *plain) {{\n    {unused}\n"
            f"    *stored = {both[0]};\n    *plain = ({type_})({both[1]});\n}}\n"
        )
    text = "\n".join(bodies)
    return f"#include <math.h>\n#include <stdint.h>\n\n{helpers(names_in(text))}\n{text}"


def sample(draw: Draw, type_: ScalarType) -> object:
    kind = "float" if type_.is_float else "int"
    value = draw.random.choice(VALUES[kind])
    if not type_.is_float and draw.random.random() < 0.5:
        value = draw.random.getrandbits(64)
    return build.const(type_, value).value


CTYPES = {
    name: {BOOL: ctypes.c_bool, F32: ctypes.c_float, F64: ctypes.c_double}.get(
        type_, getattr(ctypes, f"c_{type_.kind}{type_.bits}", None)
    )
    for name, type_ in TYPES.items()
}


def same(one: object, other: object) -> bool:
    return one == other or (one != one and other != other)  # noqa: PLR0124


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize(("kind", "seed"), [(Draw, 0), (Draw, 1), (AffineDraw, 2)])
def test_random_expressions_mean_the_same_in_c(
    tmp_path, kind: type[Draw], seed: int, compiler: str
) -> None:
    draw = kind(seed)
    count, depth = (250, 4) if kind is Draw else (150, 3)
    exprs = [draw.expr(draw.random.choice(list(TYPES.values())), depth) for _ in range(count)]
    path = tmp_path / "e.c"
    path.write_text(translation_unit(exprs))
    library = tmp_path / "e.so"
    warnings = ("-Wall", "-Wextra", "-Werror") if kind is Draw else ("-w",)
    subprocess.run(
        [compiler, "-O1", *warnings, *MIXED_LITERALS, "-fwrapv", "-ffp-contract=off", "-fPIC",
         "-shared", str(path), "-o", str(library), "-lm"],
        check=True,
    )  # fmt: skip
    loaded = ctypes.CDLL(str(library))
    for number, expr in enumerate(exprs):
        function, ctype = loaded[f"e{number}"], CTYPES[expr.type.name]
        for _ in range(12):
            inputs = {f"v_{t.name}": sample(draw, t) for t in TYPES.values()}
            stored, plain = ctype(), ctype()
            args = [CTYPES[n[2:]](v) for n, v in inputs.items()]
            function(*args, ctypes.byref(stored), ctypes.byref(plain))
            typed = {n: value_of(TYPES[n[2:]], v) for n, v in inputs.items()}
            env = Environment(params=inputs, read=lambda name, _, typed=typed: typed[name])
            expected = evaluate(expr, env)
            assert same(expected, plain.value), (c(expr), inputs)
            assert same(expected, stored.value), (c(expr, stored=True), inputs)


@pytest.mark.parametrize("kind", [Draw, AffineDraw])
def test_c_gives_every_part_the_type_that_the_tree_derives(tmp_path, kind: type[Draw]) -> None:
    """By the compiler's own ``_Generic``, of each part of each expression."""
    draw = kind(7)
    drawn = (draw.expr(draw.random.choice(list(TYPES.values())), 3) for _ in range(300))
    parts = {
        node
        for expr in drawn
        for node in visit.walk(lowered(expr, variable, affine_c, affine_c).node)
    }
    assert len(parts) > 900
    checks = "".join(
        f'    _Static_assert(_Generic(({text}), {type_}: 1, default: 0), "{type_}");\n'
        for text, type_ in ((c_text(p, hints), p.type.c_name) for p in parts)
    )
    head = f"#include <math.h>\n#include <stdint.h>\n{helpers(names_in(checks))}"
    path = tmp_path / "t.c"
    path.write_text(f"{head}void t({PARAMETERS}) {{\n{checks}}}\n")
    subprocess.run([OWN, "-w", "-fsyntax-only", str(path)], check=True)


@pytest.mark.parametrize("kind", [Draw, AffineDraw])
def test_what_is_printed_and_parsed_again_is_the_same_tree(kind: type[Draw]) -> None:
    again = Reader(SYMBOLS)
    draw = kind(11)
    for _ in range(400):
        expr = draw.expr(draw.random.choice(list(TYPES.values())), 4)
        for stored in (True, False):
            made = lowered(expr, variable, affine_c, affine_c, stored=stored).node
            assert again(c_text(made, hints)) == folded(made), c_text(made, hints)


def value_of(type_: ScalarType, value: object) -> object:
    if type_ == BOOL:
        return bool(value)
    return getattr(np, type_.numpy_name)(value) if type_.is_float else value


@pytest.mark.parametrize("kind", [Draw, AffineDraw])
def test_printed_c_has_no_undefined_behaviour(tmp_path, kind: type[Draw]) -> None:
    """Signed overflow is only ever where ``needs_wrapv`` says so."""
    draw = kind(99)
    drawn = (
        draw.expr(draw.random.choice((I8, I16, U8, U16, U32, I32, I64)), 3)
        for _ in range(400 if kind is Draw else 200)
    )
    exprs = [e for e in drawn if not needs_wrapv(e)]
    calls = []
    for number, expr in enumerate(exprs):
        inputs = ", ".join(shown(constant(t, sample(draw, t))) for t in TYPES.values())
        calls.append(f"    {{ {expr.type.c_name} s, p; e{number}({inputs}, &s, &p); }}\n")
    main = "int main(void) {\n" + "".join(calls) + "    return 0;\n}\n"
    path = tmp_path / "e.c"
    path.write_text(translation_unit(exprs) + main)
    program = tmp_path / "e"
    checks = "-fsanitize=undefined,float-cast-overflow"
    subprocess.run(
        [OWN, "-O0", checks, "-fno-sanitize-recover=all", str(path), "-o", str(program), "-lm"],
        check=True,
    )  # fmt: skip
    done = subprocess.run([str(program)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
