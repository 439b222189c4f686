"""The printed C has the scopes of the LoopAST."""

from __future__ import annotations

from polyopt.codegen.c import print_c
from polyopt.codegen.loops import Assign, Block, Buffer, Function
from polyopt.ir.types import F64

SCALAR = Buffer("s", F64, (), heap=False)


def part(number: int) -> Block:
    """A block that only holds one which declares a local."""
    body = (Assign("s", f"{number}", "s"), Assign(f"a[{number}]", "s", "a"))
    return Block((Block(body, (SCALAR,)),))


def printed(block: Block) -> str:
    return print_c(Function("f", "int f(double *a, int threads)", block, ()))


def test_locals_of_one_name_after_each_other_have_scopes_of_their_own():
    lines = [line.strip() for line in printed(Block((part(0), part(1)))).splitlines()]
    assert lines.count("double s;") == 2
    assert all(lines[n - 1] == "{" for n, line in enumerate(lines) if line == "double s;")


def test_a_scope_that_is_all_of_another_adds_no_braces():
    assert printed(part(0)).count("{") == 1


def test_nothing_is_declared_that_is_defined():
    """gcc 12.2 ends in a definition behind a declaration with many arrays whose extents are
    sizes, and neither callers (who have a header) nor the definition need one."""
    text = printed(part(0))
    assert text.count("int f(double *a, int threads)") == 1
    assert "int f(double *a, int threads)\n{\n" in text
