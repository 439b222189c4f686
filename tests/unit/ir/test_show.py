"""Listings of programs."""

from __future__ import annotations

from polyopt.ir import build
from polyopt.ir.scop import Loop
from polyopt.ir.show import expr_text
from polyopt.ir.types import F32, I32, I64, U16


def test_a_program_reads_like_one(conv):
    assert (
        str(conv)
        == """\
scop conv(H, W, a, k, c) where H >= 3 and W >= 3
  in    a: f32[H, W]
  in    k: f32[3, 3]
  out   c: f32[H - 2, W - 2]

  for h where 0 <= h < H - 2:
    for w where 0 <= w < W - 2:
      c_0: c[h, w] = 0.0
      for p where 0 <= p <= 2:
        for q where 0 <= q <= 2:
          c_1: c[h, w] = c[h, w] + a[h + p, w + q] * k[p, q]"""
    )


def test_guards_and_steps(program):
    p = program("N")
    p.array("a", "N + 1", role="inout", lower=("-1",))
    p.array("s", role="out", type=I32)
    p.statement("a", "i", "0 <= i < N", "a: i", lambda b: b.load("a: i - 1"))
    p.statement("s", "i", "2 <= i < N", "s", lambda b: build.affine(I32, b.form("2 i")))
    text = str(p.scop(Loop("i", ("a", "s"), -1)))
    assert (
        text
        == """\
scop test(N, a, s)
  inout a: f32[-1 : +N + 1]
  out   s: i32

  for i where 0 <= i < N, step -1:
    a: a[i] = a[i - 1]
    s: s = 2*i  if i >= 2"""
    )


def load(name, type_=F32):
    return build.load(type_, name, ())


def test_precedence():
    a, b, c = (load(n) for n in "abc")
    add, mul = build.binary("add", b, c), build.binary("mul", b, c)
    assert expr_text(build.binary("mul", a, add)) == "a * (b + c)"
    assert expr_text(build.binary("add", a, mul)) == "a + b * c"
    assert expr_text(build.binary("sub", a, add)) == "a - (b + c)"
    assert expr_text(build.binary("sub", add, a)) == "b + c - a"
    assert expr_text(build.negate(add)) == "-(b + c)"
    assert expr_text(build.binary("max", a, add)) == "max(a, b + c)"
    assert expr_text(build.call("sqrt", add)) == "sqrt(b + c)"


def test_selects_casts_and_literals():
    a, n = load("a"), load("n", U16)
    cond = build.compare("lt", a, build.const(F32, 0.5))
    choice = build.select(cond, build.cast(F32, n), build.negate(a))
    assert expr_text(choice) == "f32(n) if a < 0.5 else -a"
    assert expr_text(build.binary("add", choice, a)) == "(f32(n) if a < 0.5 else -a) + a"
    assert expr_text(build.binary("floordiv", load("m", I64), build.const(I64, -2))) == (
        "floordiv(m, -2)"
    )
