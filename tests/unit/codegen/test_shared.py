"""Repeated values in locals: once each, never before the condition that makes them possible."""

from __future__ import annotations

import ctypes
import re
import subprocess

import numpy as np
import pytest

import polyopt as po
from polyopt.analysis.interpreter.evaluate import Environment, evaluate
from polyopt.codegen.ast.expr import Index, Symbol, Var
from polyopt.codegen.ast.names import names_in
from polyopt.codegen.ast.nodes import Block, Buffer
from polyopt.codegen.expressions.indices import index_variable
from polyopt.codegen.expressions.ir import lowered
from polyopt.codegen.expressions.lowered import Lowered, constant
from polyopt.codegen.helpers.arithmetic import helpers
from polyopt.codegen.lower import cse as module
from polyopt.codegen.lower.cse import with_locals
from polyopt.codegen.passes.dce import dce
from polyopt.codegen.passes.scalar_replacement import scalar_replacement
from polyopt.codegen.printers.c import Printer
from polyopt.codegen.printers.c_expr import c_text, hints
from polyopt.codegen.signed_overflow import needs_wrapv
from polyopt.ir import build
from polyopt.ir.expr import Load, index_of, inside
from polyopt.ir.types import BOOL, F32, F64, I32, I64, TYPES, U8, U16
from polyopt.isl import affine_var, instance_space, parse_set
from tests.unit.codegen.reader import Reader
from tests.unit.codegen.test_cexpr import (
    COMPILERS,
    CTYPES,
    MIXED_LITERALS,
    PARAMETERS,
    Draw,
    same,
    sample,
    value_of,
)

read = Reader()
SYMBOLS = {}


def symbol(name, type_):
    return SYMBOLS.setdefault((name, type_), Symbol(name, type_))


def lower(expr, known, *, stored=False):
    def load(expr):
        held = symbol(expr.array, expr.type)
        subscripts = tuple(lower(e, known).node for e in expr.index)
        return Index(held, subscripts) if subscripts else Var(held)

    i, test = index_variable(read("i")), Lowered(read("i >= 1"), BOOL, (0, 1))
    return lowered(expr, load, lambda _: i, lambda _: test, stored=stored, known=known)


def named(taken):
    """What symbols are called: locals are declared, and all others have their own names."""
    printer = Printer(taken)
    given = {}

    def name(symbol):
        if symbol in SYMBOLS.values() or symbol in read.symbols.values():
            return symbol.hint
        if symbol not in given:
            given[symbol] = printer.declare(symbol)
        return given[symbol]

    return name


def c(value, inlined=(), taken=()):
    """The locals' declarations, and the value."""
    found, made = with_locals(value, lower, inlined)
    name, lines = named(taken), []
    for local in made:
        text = c_text(local.value, name)
        lines.append(f"{local.symbol.type} {name(local.symbol)} = {text}")
    return [*lines, c_text(found, name)]


def var(name, type_=F32):
    return Load(type_, name, ())


def add(*operands):
    total = operands[0]
    for operand in operands[1:]:
        total = build.binary("add", total, operand)
    return total


def mul(one, other):
    return build.binary("mul", one, other)


def div(one, other):
    return build.binary("div", one, other)


def here(name, type_=F32):
    return Load(type_, name, (index_of(affine_var(instance_space((), "S", ("i",)), 0)),))


FIRST = inside(parse_set("{ S[i] : i >= 1 }"))
x, y, z = map(var, "xyz")
a, b = var("a", U16), var("b", U16)
i, j = var("i", I32), var("j", I32)


# What is shared.


def test_a_repeated_value_is_computed_once():
    twice = div(build.call("sqrt", add(x, y)), add(x, y))
    assert c(twice) == ["f32 v1 = x + y", "sqrtf(v1) / v1"]
    assert c(mul(add(x, y), add(x, y))) == ["f32 v1 = x + y", "v1 * v1"]


def test_only_the_largest_repeat_has_a_name():
    large = mul(add(x, y), z)
    assert c(div(large, add(large, x))) == ["f32 v1 = (x + y) * z", "v1 / (v1 + x)"]
    more = div(large, add(large, add(x, y)))
    assert c(more) == ["f32 v1 = x + y", "f32 v2 = v1 * z", "v2 / (v2 + v1)"]


def test_leaves_and_elements_are_not_named():
    element = here("A")
    assert c(mul(element, element)) == ["A[i] * A[i]"]
    wide = build.cast(F64, element)
    assert c(mul(wide, build.negate(wide))) == ["A[i] * -(double)A[i]"]
    assert c(build.binary("sub", x, build.const(F32, 1))) == ["x - 1.0f"]


def test_an_element_whose_place_is_found_in_data_is_named():
    found = Load(F32, "A", (build.cast(I64, here("at", I32)),))
    assert c(mul(found, found)) == ["f32 v1 = A[at[i]]", "v1 * v1"]


def test_a_place_in_data_is_computed_once():
    place = build.cast(I64, build.binary("mul", i, j))
    value = mul(Load(F32, "A", (place,)), Load(F32, "B", (place,)))
    assert c(value) == ["i32 v1 = i * j", "A[v1] * B[v1]"]


def test_neighbours_of_a_name_have_none():
    place = build.cast(I64, build.binary("and", i, build.const(I32, 7)))
    after = build.binary("add", place, build.const(I64, 1))
    both = [mul(Load(F32, name, (place,)), Load(F32, name, (after,))) for name in "AB"]
    assert c(add(*both)) == ["i32 v1 = i & 7", "A[v1] * A[v1 + 1] + B[v1] * B[v1 + 1]"]


def test_equal_means_equal_bits():
    zeros = [add(x, build.const(F32, zero)) for zero in (0.0, -0.0)]
    assert len(c(mul(*zeros))) == 1
    assert len(c(mul(add(x, y), add(y, x)))) == 1
    affine = [index_of(affine_var(instance_space((), "S", ("i",)), 0)) for _ in range(2)]
    one, other = (Load(F32, "A", (build.binary("mul", e, e),)) for e in affine)
    assert len(c(add(build.call("exp", one), build.call("exp", other)))) == 2


# What conditions keep in place.

GUARDED = [
    # a load before the first element
    build.select(FIRST, mul(add(here("A"), x), add(here("A"), x)), x),
    build.select(FIRST, x, mul(add(here("A"), x), add(here("A"), x))),
    # a quotient by zero
    build.select(build.compare("ne", j, build.const(I32, 0)), mul(div(i, j), div(i, j)), i),
    # in both branches of a condition on data, and under two conditions
    build.select(build.compare("lt", x, y), div(x, add(y, z)), div(y, add(y, z))),
    add(build.select(FIRST, add(y, z), x), build.select(build.compare("lt", x, y), add(y, z), x)),
    # to the right of && and ||
    build.binary(
        "and",
        build.compare("ne", j, build.const(I32, 0)),
        build.compare("lt", mul(div(i, j), div(i, j)), i),
    ),
]


@pytest.mark.parametrize("value", GUARDED)
def test_nothing_leaves_its_condition(value):
    assert len(c(value)) == 1


@pytest.mark.parametrize("value", GUARDED)
def test_only_the_condition_holds_it_back(monkeypatch, value):
    def everything(expr, found):
        found.add(id(expr))
        for child in expr.children:
            everything(child, found)
        return found

    monkeypatch.setattr(module, "_always", everything)
    assert len(c(value)) == 2


def test_what_is_computed_anyway_is_shared_with_branches():
    guarded = build.select(FIRST, div(x, add(y, z)), x)
    assert c(mul(add(y, z), guarded)) == ["f32 v1 = y + z", "v1 * (i >= 1 ? x / v1 : x)"]
    asked = build.select(build.compare("lt", add(y, z), x), add(y, z), x)
    assert c(asked) == ["f32 v1 = y + z", "v1 < x ? v1 : x"]


def test_conditions_and_whole_choices_are_shared():
    choice = build.select(build.compare("lt", x, y), x, y)
    assert c(mul(choice, choice)) == ["f32 v1 = x < y ? x : y", "v1 * v1"]


def test_a_branch_that_is_always_taken_is_no_branch():
    wide = build.cast(I32, a)
    known = build.compare("le", wide, build.const(I32, 65535))
    value = build.select(known, mul(add(x, y), add(x, y)), add(z, z))
    assert c(value) == ["f32 v1 = x + y", "v1 * v1"]
    never = build.select(build.compare("lt", build.const(I32, 65535), wide), add(x, y), x)
    assert c(mul(never, add(x, y))) == ["x * (x + y)"]


def test_what_printing_leaves_out_is_not_declared():
    total = add(a, b)
    nothing = build.binary("sub", total, total)
    assert c(add(i, build.cast(I32, nothing))) == ["i"]
    # of the three uses of a + b, one is printed
    assert c(add(nothing, div(a, total))) == ["0 + a / (uint16_t)(a + b)"]


# Types.


def test_wrapped_sums_stay_wrapped():
    total = add(a, b)
    three, five = (div(total, build.const(U16, n)) for n in (3, 5))
    assert c(add(three, five)) == ["u16 v1 = a + b", "v1 / 3 + v1 / 5"]


def test_exact_sums_are_not_cut():
    total = add(build.cast(I64, a), build.cast(I64, b))
    assert c(mul(total, total)) == ["i32 v1 = a + b", "(int64_t)v1 * v1"]


def test_bounds_survive():
    half = build.binary("shr", build.cast(I32, var("c", U8)), build.const(I32, 1))
    small = build.compare("lt", half, build.const(I32, 128))
    value = add(mul(half, half), build.select(small, half, i))
    assert c(value) == ["i32 v1 = c >> 1", "v1 * v1 + v1"]


def test_a_float_of_an_integer_is_a_float():
    total = build.cast(F32, add(build.cast(I32, a), build.cast(I32, b)))
    assert c(mul(total, total)) == ["f32 v1 = a + b", "v1 * v1"]
    narrow = build.cast(F32, mul(build.cast(F64, x), build.const(F64, 0.1)))
    assert c(mul(narrow, narrow)) == ["f32 v1 = x * 0.1", "v1 * v1"]


def test_truths_are_bools():
    less = build.compare("lt", add(x, y), z)
    value = build.select(less, x, build.select(build.invert(less), y, z))
    assert c(value) == ["bool v1 = x + y < z", "v1 ? x : !v1 ? y : z"]
    number = build.cast(I32, less)
    assert c(add(number, build.select(less, i, j))) == [
        "bool v1 = x + y < z",
        "v1 + (v1 ? i : j)",
    ]


# Names.


def test_elements_of_inlined_arrays_are_named_after_them():
    one, other = add(x, y), mul(x, y)
    value = add(mul(one, one), mul(other, other))
    inlined = [(one, "Sxx"), (other, "Sxx")]
    assert c(value, inlined) == [
        "f32 Sxx = x + y",
        "f32 Sxx2 = x * y",
        "Sxx * Sxx + Sxx2 * Sxx2",
    ]
    assert c(mul(one, one), [(one, "float")]) == ["f32 float_ = x + y", "float_ * float_"]
    assert c(mul(one, one), [(one, "Sxx")], {"Sxx", "Sxx2"})[0] == "f32 Sxx3 = x + y"
    assert c(mul(one, one), (), {"v1"})[0] == "f32 v2 = x + y"


def test_a_converted_element_keeps_its_name():
    total = add(a, b)
    wide = build.cast(F32, total)
    assert c(mul(wide, wide), [(total, "sum")])[0].startswith("f32 sum = ")


# Around it.


def test_updates_in_a_row_see_the_local_in_shared_values_too():
    def update(number):
        value = f"v{number} * v{number} + c[j]"
        return read.assign("c[j]", value, (f"v{number}", f"c[j] + a[{number}]"))

    (block,) = scalar_replacement(Block((update(1), update(2)))).body
    texts = [[c_text(v, hints) for v in assign.values] for assign in block.body]
    assert texts[1:] == [
        ["c_value + a[1]", "v1 * v1 + c_value"],
        ["c_value + a[2]", "v2 * v2 + c_value"],
        ["c_value"],
    ]
    assert block.body[-1].target == read("c[j]")


def test_a_buffer_read_by_a_local_is_used():
    buffer = Buffer(read.symbol("row", F32), (read("4"),))
    body = (
        read.assign("row[i]", "a[i]"),
        read.assign("b[i]", "v1 * v1", ("v1", "row[i] + 1.0f")),
    )
    assert dce(Block(body, (buffer,))) == Block(body, (buffer,))


PAIR = """
void pair(int n, const float a[n], const float v1[n], float res_value[n], float res[n])
{
    float sum[n];
    for (int i = 0; i < n; i++)
        sum[i] = a[i] + v1[i];
    for (int i = 0; i < n; i++)
        for (int k = 0; k < 2; k++)
            res[i] += sum[i] * sum[i] + (a[i] - 1) * (a[i] - 1) / (k + 2);
    for (int i = 0; i < n; i++)
        res_value[i] = sum[i] * sum[i];
}
"""


def test_statements_side_by_side_have_equal_values_in_one_local():
    plan = po.Plan(po.parse_c(PAIR)).inline("sum").unroll("res.k")
    text = plan.emit().source
    body = text[text.rindex("\n{\n") :]
    declared = re.findall(r"const float (\w+) =", body)
    assert sorted(declared) == ["sum", "sum", "v2"]
    rng = np.random.default_rng(0)
    n = 37
    one, other, res = (rng.random(n, dtype=np.float32) for _ in range(3))
    total = one + other
    expected = res + sum(total**2 + (one - 1) ** 2 / np.float32(k + 2) for k in range(2))
    made = np.zeros(n, np.float32)
    plan.compile()(n=n, a=one, v1=other, res_value=made, res=res)
    np.testing.assert_allclose(res, expected, rtol=1e-5)
    np.testing.assert_allclose(made, total**2, rtol=1e-5)


GUARDS = """
void guards(int n, const int a[n], const int d[n], int out[n])
{
    for (int i = 0; i < n; i++)
        out[i] = (d[i] != 0 ? (a[i] / d[i]) * (a[i] / d[i]) : 0)
               + (i >= 1 ? (a[i - 1] + 3) * (a[i - 1] + 3) : 7);
}
"""


def test_guarded_programs_do_not_trap():
    kernel = po.Plan(po.parse_c(GUARDS)).compile()
    assert not re.search(r"const int\d+_t \w+ =", kernel.source)
    a_, d = np.arange(5, 25, dtype=np.int32), np.arange(20, dtype=np.int32) % 3
    out = np.zeros(20, np.int32)
    kernel(n=20, a=a_, d=d, out=out)
    quotient = np.where(d != 0, a_ // np.maximum(d, 1), 0)
    before = np.concatenate([[7], (a_[:-1] + 3) ** 2])
    np.testing.assert_array_equal(out, quotient**2 + before)


def test_places_found_in_data_are_printed_plainly():
    text = """
    void table(int n, const unsigned char at[n], const float a[256], float out[n])
    {
        for (int i = 0; i < n; i++)
            out[i] = a[at[i]];
    }
    """
    assert "out[i] = a[at[i]];" in po.Plan(po.parse_c(text)).emit().source


# Random expressions with many equal parts: compiled without a warning, compared with the oracle.


class DrawAgain(Draw):
    """Draws what it drew before, every other time."""

    def __init__(self, seed):
        super().__init__(seed)
        self.drawn = {}

    def expr(self, type_, depth):
        before = self.drawn.setdefault(type_, [])
        if before and self.random.random() < 0.5:
            return self.random.choice(before)
        made = super().expr(type_, depth)
        if made.children:
            before.append(made)
        return made


def functions(exprs):
    unused = " ".join(f"(void)v_{t};" for t in TYPES)
    for number, expr in enumerate(exprs):
        found, made = with_locals(expr, lower, ())
        name = named(())
        lines = [
            f"    const {v.symbol.type.c_name} {name(v.symbol)} = {c_text(v.value, name)};\n"
            for v in made
        ]
        text = c_text(found, name)
        yield (
            len(made),
            (
                f"void e{number}({PARAMETERS}, {expr.type.c_name} *out) {{\n    {unused}\n"
                f"{''.join(lines)}    *out = {text};\n}}\n"
            ),
        )


def drawn(draw, number):
    for _ in range(number):
        draw.drawn.clear()
        yield draw.expr(draw.random.choice(list(TYPES.values())), 5)


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("seed", range(3))
def test_random_expressions_mean_the_same_with_locals(tmp_path, compiler, seed):
    draw = DrawAgain(seed)
    exprs = list(drawn(draw, 150))
    made, texts = zip(*functions(exprs), strict=True)
    assert sum(made) > 75
    body = "\n".join(texts)
    path, library = tmp_path / "e.c", tmp_path / "e.so"
    path.write_text(f"#include <math.h>\n#include <stdint.h>\n\n{helpers(names_in(body))}\n{body}")
    subprocess.run(
        [compiler, "-O1", "-Wall", "-Wextra", "-Werror", *MIXED_LITERALS, "-fwrapv", "-ffp-contract=off", "-fPIC",
         "-shared", str(path), "-o", str(library), "-lm"],
        check=True,
    )  # fmt: skip
    loaded = ctypes.CDLL(str(library))
    for number, expr in enumerate(exprs):
        function, ctype = loaded[f"e{number}"], CTYPES[expr.type.name]
        for _ in range(8):
            inputs = {f"v_{t.name}": sample(draw, t) for t in TYPES.values()}
            out = ctype()
            function(*(CTYPES[n[2:]](v) for n, v in inputs.items()), ctypes.byref(out))
            typed = {n: value_of(TYPES[n[2:]], v) for n, v in inputs.items()}
            expected = evaluate(expr, Environment(read=lambda name, _, typed=typed: typed[name]))
            assert same(expected, out.value), (c(expr), inputs)


def test_locals_overflow_no_sooner(tmp_path):
    draw = DrawAgain(7)
    exprs = [e for e in drawn(draw, 900) if not needs_wrapv(e)]
    made, texts = zip(*functions(exprs), strict=True)
    assert sum(made) > 75
    calls = []
    for number, expr in enumerate(exprs):
        for _ in range(4):
            inputs = ", ".join(
                c_text(constant(t, sample(draw, t)).node, hints) for t in TYPES.values()
            )
            calls.append(f"    {{ {expr.type.c_name} out; e{number}({inputs}, &out); }}\n")
    body = "\n".join(texts)
    main = "int main(void) {\n" + "".join(calls) + "    return 0;\n}\n"
    path, program = tmp_path / "e.c", tmp_path / "e"
    path.write_text(
        f"#include <math.h>\n#include <stdint.h>\n\n{helpers(names_in(body))}\n{body}{main}"
    )
    checks = "-fsanitize=undefined,float-cast-overflow"
    subprocess.run(
        [COMPILERS[0], "-O0", checks, "-fno-sanitize-recover=all", str(path), "-o", str(program), "-lm"],
        check=True,
    )  # fmt: skip
    done = subprocess.run([str(program)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_what_c_computes_wider_stays_wide():
    """``i * 16`` is done unsigned, where it cannot overflow; so is a sum with it."""
    shifted = build.binary("shl", i, build.const(I32, 4))
    value = build.binary("xor", add(shifted, j), add(shifted, i))
    assert not needs_wrapv(value)
    assert c(value)[0] == "u32 v1 = (uint32_t)i << 4"
