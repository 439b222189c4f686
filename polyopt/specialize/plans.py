"""Automatic plans that are kept on disk, beside the kernels: the search is done once."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import polyopt
from polyopt.errors import InvalidOptionError, UserError
from polyopt.runtime.cache import content_key, default_directory
from polyopt.scheduler import auto
from polyopt.transform.plan import Plan

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from polyopt.ir.scop import Scop

_log = logging.getLogger("polyopt")


def planned(scop: Scop, sizes: Mapping[str, int], target: str, *, reassociate: bool) -> Plan:
    """The automatic plan of a program, from disk where it was found before.

    A plan from disk is proven anew. Raises what ``auto`` raises.
    """
    file = _file(scop, sizes, target, reassociate=reassociate)
    if file.is_file():
        try:
            return Plan.load(file, scop)
        except UserError as error:
            _log.info("%s is made anew: %s", file, error.diagnostic.message)
    plan = auto(scop, sizes=sizes, target=target, reassociate=reassociate)
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        plan.save(file)
    except (OSError, InvalidOptionError) as error:
        _log.info("the plan of %s is not kept: %s", scop.name, error)
    return plan


def _file(scop: Scop, sizes: Mapping[str, int], target: str, *, reassociate: bool) -> Path:
    parts = [
        polyopt.__version__, str(scop), str(scop.context), target, str(reassociate),
        ", ".join(f"{name}={value}" for name, value in sizes.items()),
    ]  # fmt: skip
    return default_directory() / "plans" / f"{content_key(*parts)}.json"
