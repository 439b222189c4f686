"""Automatic plans that are kept on disk, beside the kernels: the search is done once."""

from __future__ import annotations

import logging
import pickle
from typing import TYPE_CHECKING

import numpy as np

import polyopt
from polyopt.codegen.target import target as target_of
from polyopt.errors import UserError
from polyopt.runtime.cache import KernelCache, content_key
from polyopt.scheduler import auto
from polyopt.scheduler.model.machine import costs_of
from polyopt.transform.plan import Plan

if TYPE_CHECKING:
    from collections.abc import Mapping

    from polyopt.ir.scop import Scop

_log = logging.getLogger("polyopt")
#: what pickles raise where classes are not those that were stored
_UNFIT = (pickle.PickleError, AttributeError, ImportError, EOFError, TypeError, ValueError)


def planned(scop: Scop, sizes: Mapping[str, int], target: str, *, reassociate: bool) -> Plan:
    """The automatic plan of a program, from disk where it was found before.

    A plan from disk is proven anew. Raises what ``auto`` raises.
    """
    cache, key = KernelCache(), _key(scop, sizes, target, reassociate=reassociate)
    found = _arrived(cache.plan(key), scop)
    if found is not None:
        return found
    plan = auto(scop, sizes=sizes, target=target, reassociate=reassociate)
    cache.keep_plan(key, pickle.dumps(plan))
    return plan


def _arrived(content: bytes | None, scop: Scop) -> Plan | None:
    """A stored plan, if it is one, of this program, and still legal."""
    if content is None:
        return None
    try:
        plan = pickle.loads(content)  # noqa: S301 (of our own directory, checksummed)
        if not isinstance(plan, Plan) or str(plan.scop) != str(scop):
            return None
        plan.prove()
    except (*_UNFIT, UserError) as error:
        _log.info("the plan of %s is made anew: %s", scop.name, error)
        return None
    return plan


def _key(scop: Scop, sizes: Mapping[str, int], target: str, *, reassociate: bool) -> str:
    machine = target_of(target)
    return content_key(
        polyopt.__version__, np.__version__, str(scop), str(scop.context), repr(machine),
        repr(costs_of(machine)), str(reassociate),
        ", ".join(f"{name}={value}" for name, value in sizes.items()),
    )  # fmt: skip
