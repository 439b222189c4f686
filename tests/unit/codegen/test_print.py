"""The printed C has the scopes of the tree, and names that nothing in sight has."""

from __future__ import annotations

import pytest

import polyopt as po
from polyopt.codegen.ast.expr import Index, Symbol, Var, Vector, number
from polyopt.codegen.ast.nodes import Assign, Block, Buffer, Function, Parameter
from polyopt.codegen.printers.c import print_c
from polyopt.codegen.printers.headers import after_notes, before, brings_along, parts_of
from polyopt.codegen.printers.vocabulary import uses_in
from polyopt.ir.types import F32, F64

SCALAR = Buffer(Symbol("s", F64), ())
ARRAY = Symbol("a", F64)


def part(place: int, buffer: Buffer = SCALAR) -> Block:
    """A block that only holds one which declares a local."""
    held = Var(buffer.symbol)
    body = (Assign(held, number(place)), Assign(Index(ARRAY, (number(place),)), held))
    return Block((Block(body, (buffer,)),))


def printed(block: Block) -> str:
    return print_c(Function("f", (Parameter(ARRAY, pointer=True),), block, ())).text


def test_locals_of_one_name_after_each_other_have_scopes_of_their_own():
    lines = [line.strip() for line in printed(Block((part(0), part(1)))).splitlines()]
    assert lines.count("double s;") == 2
    assert all(lines[n - 1] == "{" for n, line in enumerate(lines) if line == "double s;")


def test_two_symbols_in_one_scope_have_two_names():
    other = Buffer(Symbol("s", F64), ())
    inside = Block((part(0), part(1, other)), (SCALAR, other))
    assert "double s;" in printed(inside)
    assert "double s2;" in printed(inside)
    assert "a[1] = s3;" in printed(inside)  # declared again, further in


def test_an_argument_keeps_its_name_and_others_make_way():
    same = Buffer(Symbol("a", F64), ())
    text = printed(part(0, same))
    assert "double a2;" in text
    assert "a[0] = a2;" in text


def test_a_scope_that_is_all_of_another_adds_no_braces():
    assert printed(part(0)).count("{") == 1


def test_nothing_is_declared_that_is_defined():
    """gcc 12.2 ends in a definition behind a declaration with many arrays whose extents are
    sizes, and neither callers (who have a header) nor the definition need one."""
    text = printed(part(0))
    assert text.count("int f(double *restrict a, int threads)") == 1
    assert "int f(double *restrict a, int threads)\n{\n" in text


USING = """\
static void row(int64_t W, float a[restrict W])
{
#pragma omp simd safelen(8)
    for (int64_t x = 0; x < W; x += 8) { /* min_i64(x, NAN) */
        *(f32x8_at *)&a[x] = before1_f32x8(&a[8 + x]) * sqrtf(SHIFT);
    }
}
"""


def test_what_functions_use_is_read_word_by_word():
    found = uses_in(USING)
    assert found.called & {"min_i64", "before1_f32x8", "sqrtf", "buffer"} == {
        "before1_f32x8", "sqrtf",
    }  # fmt: skip
    assert (found.vectors, found.pragmas, found.tasks) == ({Vector(F32, 8)}, {"simd"}, True)
    head = before(found)
    assert "#include <math.h>" in head
    assert "#undef SHIFT" in head
    assert head.count("static inline") == 1
    assert brings_along(head, found)
    assert not brings_along(head.replace("at - 8", "at"), found)


@pytest.mark.parametrize("name", ["blur", "bilateral_grid", "gemm", "heat_3d"])
def test_printers_note_what_readers_find(name):
    made = po.auto(po.load_kernel(name).scop, target="avx2").emit()
    brought, functions = parts_of(after_notes(made.source), made.prototype)
    assert brought == before(uses_in(functions))
