"""What statements need to be printed: C for each affine value and condition in them."""

from __future__ import annotations

from dataclasses import replace

import pytest

import polyopt as po
from polyopt.codegen.lower import isl_ast as leaves
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


@pytest.mark.parametrize("kind", [KeyboardInterrupt, LookupError])
def test_an_interrupt_among_leaves_is_one_and_leaves_isl_whole(kind, monkeypatch):
    """Within isl's callback: passed on there, it had isl free a node twice."""
    plan = po.Plan(po.parse_c(TEXT))

    def interrupted(*_args):
        raise kind

    with monkeypatch.context() as patch:
        patch.setattr(leaves, "_leaf", interrupted)
        for _ in range(50):
            with pytest.raises(kind):
                plan.emit(name="f")

    assert "a[i] = (int32_t)i;" in plan.emit(name="f").source
