"""Trees of loops, compared as they are written."""

from dataclasses import replace

from polyopt.transform.plan import Plan
from polyopt.transform.schedule.tree import same_tree


def test_equal_trees_are_the_same_and_changed_ones_are_not(blur, triangular):
    for scop in (blur, triangular):
        one, other = Plan(scop).program.tree, Plan(scop).program.tree
        assert one[0] is not other[0]
        assert same_tree(one, other)
        assert not same_tree(one, (replace(other[0], mark="parallel"), *other[1:]))
        assert not same_tree(one, other[1:])
    plan = Plan(blur)
    assert not same_tree(plan.program.tree, plan.shift("out", i=1).program.tree)
    assert not same_tree(plan.program.tree, plan.interchange("out.i", "out.j").program.tree)
