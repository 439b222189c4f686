"""A plan made again with other sizes of its tiles."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from polyopt.errors import UserError
from polyopt.transform.plan import Plan

if TYPE_CHECKING:
    from collections.abc import Mapping


def retiled(plan: Plan, changes: Mapping[int, Mapping[str, int]]) -> Plan | None:
    """The plan with other sizes in its tilings, by the position of their moves; proven.

    ``None`` where its moves do not fit these sizes.
    """
    result = replace(Plan(plan.source), checked=False)
    try:
        for k, move in enumerate(plan.moves):
            options = dict(changes.get(k, dict(move.options)))
            result = result.replay(move.name, move.args, options)
        result.prove()
    except UserError:
        return None
    return replace(result, checked=True)
