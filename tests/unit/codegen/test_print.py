"""The printed C has the scopes of the tree, and names that nothing in sight has."""

from __future__ import annotations

from polyopt.codegen.ast.expr import Index, Symbol, Var, number
from polyopt.codegen.ast.nodes import Assign, Block, Buffer, Function, Parameter
from polyopt.codegen.printers.c import print_c
from polyopt.ir.types import F64

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
