"""What statements need to be printed: C for each affine value and condition in them."""

from __future__ import annotations

from dataclasses import replace

import polyopt as po
from polyopt.ir.expr import Affine, Cast, Inside, Select

TEXT = "void f(int N, float a[N]) { for (int i = 0; i < N; i++) a[i] = i < 0 ? i + 1 : i; }"


def test_an_empty_value_and_an_empty_condition_are_not_taken_for_each_other():
    scop = po.parse_c(TEXT)
    (statement,) = scop.statements
    cast = statement.value
    assert isinstance(cast, Cast)
    select = cast.operand
    assert isinstance(select, Select)
    condition, then = select.cond, select.then
    assert isinstance(condition, Inside)
    assert isinstance(then, Affine)
    never = condition.where.intersect(statement.domain)
    nowhere = then.form.intersect_domain(never)
    # isl fails to compare a value with a condition, which a dict does where both have one hash
    assert never.is_empty()
    assert hash(never) == hash(nowhere)
    branch = replace(select, cond=replace(condition, where=never), then=replace(then, form=nowhere))
    dead = replace(statement, value=replace(cast, operand=branch))
    source = po.Plan(scop.with_statements(dead)).emit(name="f").source
    assert "a[i] = (int32_t)i;" in source
