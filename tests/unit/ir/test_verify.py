"""Each invariant of a Scop, broken once."""

from __future__ import annotations

from dataclasses import replace

import pytest

from polyopt.errors import InternalError
from polyopt.ir.expr import Affine, Binary, Cast, Const, Load, Select, index_of
from polyopt.ir.scop import Loop
from polyopt.ir.types import F32, F64, I32, I64
from polyopt.ir.verify import verify
from polyopt.isl import parse_set


def changed(scop, name, **fields):
    return scop.with_statements(replace(scop.statement(name), **fields))


def refused(scop, message):
    with pytest.raises(InternalError, match=message) as caught:
        verify(scop)
    assert "please report" in str(caught.value)


def test_well_formed_programs_pass(blur, conv, jacobi, triangular):
    for scop in (blur, conv, jacobi, triangular):
        verify(scop)


def test_names(blur):
    img, bx, out = blur.arrays
    refused(replace(blur, arrays=(img, bx, out, out)), "two arrays are called 'out'")
    refused(replace(blur, statements=(*blur.statements, blur.statements[0])), "two statements")
    refused(replace(blur, params=("H", "H")), "two parameters")
    refused(replace(blur, arrays=(replace(img, name="H"), bx, out)), "one name")
    refused(replace(blur, signature=("H", "img")), "signature")


def test_arrays(blur):
    img, bx, out = blur.arrays
    refused(replace(blur, arrays=(replace(img, role="input"), bx, out)), "role 'input'")
    refused(replace(blur, arrays=(replace(img, private=1), bx, out)), "private but not a temp")
    refused(replace(blur, arrays=(replace(bx, private=3), img, out)), "more private")
    refused(replace(blur, arrays=(replace(img, lower=img.extents[:1]), bx, out)), "lower bounds")
    refused(replace(blur, params=("H",), signature=()), "parameters")


def test_the_context_is_about_parameters(blur):
    refused(replace(blur, context=parse_set("[H] -> { S[i] : i < H }")), "context is over more")


def test_domains(blur):
    other = blur.statement("out").domain
    refused(changed(blur, "bx", domain=other), "its domain is named otherwise")
    refused(changed(blur, "bx", iterators=("i",)), "iterators and dimensions")
    refused(changed(blur, "bx", iterators=("i", "i")), "two iterators")


def test_writes(blur):
    index = blur.statement("bx").index
    refused(changed(blur, "bx", array="img"), "which is only read")
    refused(changed(blur, "bx", array="nothing"), "no array")
    refused(changed(blur, "bx", index=index[:1]), "subscripts and rank of bx")
    refused(changed(blur, "bx", value=Const(F64, 0.0)), "stores f64 into bx of f32")


def test_loads(blur):
    index = blur.statement("bx").index
    refused(changed(blur, "bx", value=Load(F32, "img", index[:1])), "subscripts and rank of img")
    refused(changed(blur, "bx", value=Cast(F32, Load(F64, "img", index))), "loads img as f64")
    floating = (index[0], Const(F32, 1.0))
    refused(changed(blur, "bx", value=Load(F32, "img", floating)), "not an integer")
    foreign = blur.statement("out").index
    refused(changed(blur, "bx", value=Load(F32, "img", foreign)), "over other instances")


@pytest.mark.parametrize(
    "value",
    [
        Binary(F32, "add", Const(F32, 1.0), Const(F64, 1.0)),
        Binary(F32, "plus", Const(F32, 1.0), Const(F32, 1.0)),
        Select(F32, Const(I32, 1), Const(F32, 1.0), Const(F32, 2.0)),
        Const(F32, 1),
    ],
)
def test_operations(blur, value):
    refused(changed(blur, "bx", value=value), "statement bx")


def test_affine_values_are_integers(blur):
    form = blur.statement("bx").index[0].form
    refused(changed(blur, "bx", value=Affine(F32, form)), "affine value of type f32")
    verify(changed(blur, "bx", value=Cast(F32, index_of(form))))
    assert index_of(form).type == I64


def test_the_nest_holds_each_statement_once(blur):
    first, second = blur.nest
    refused(replace(blur, nest=(first,)), "every statement once")
    refused(replace(blur, nest=(first, second, second)), "two places")
    refused(replace(blur, nest=(Loop("x", first.body), second)), "its loops are")
    refused(replace(blur, nest=(replace(first, step=0), second)), "stands still")
