"""``deps``, ``prove`` and ``explain``: what is true of a program and of a plan for it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import click

from polyopt.cli.options import json_option, plan_options, program_argument, size_option
from polyopt.cli.output import print_json, text
from polyopt.cli.program import complete_sizes, load_program, parse_sizes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from polyopt.cli.program import PlanChoice
    from polyopt.transform.plan import Plan


@click.command()
@program_argument
@json_option
def deps(program: str, *, as_json: bool) -> None:
    """List the exact dependences of PROGRAM, each with a witness."""
    from polyopt.analysis.dependences import dependences

    found = load_program(program)
    result = dependences(found.scop)
    if as_json:
        rows = [row.as_dict() for row in result.rows()]
        print_json({"program": found.name, "dependences": rows})
    else:
        text(result)


@click.command()
@program_argument
@plan_options
@size_option
@json_option
def prove(program: str, choice: PlanChoice, sizes: tuple[str, ...], *, as_json: bool) -> None:
    """Prove that the plan of PROGRAM computes what its source computes."""
    found = load_program(program)
    plan = choice.plan(found, parse_sizes(sizes, found))
    start = time.perf_counter()
    proof = plan.prove()
    seconds = time.perf_counter() - start
    if as_json:
        print_json({
            "program": found.name, "variant": choice.name, "proved": True,
            "obligations": [{"name": o.name, "detail": o.detail} for o in proof.obligations],
            "seconds": seconds,
        })  # fmt: skip
    else:
        text(proof)


@click.command()
@program_argument
@click.argument("subject", required=False)
@plan_options
@size_option
@json_option
def explain(
    program: str,
    subject: str | None,
    choice: PlanChoice,
    sizes: tuple[str, ...],
    *,
    as_json: bool,
) -> None:
    """Say what was decided for PROGRAM (or for SUBJECT in it), why, and at what cost."""
    found = load_program(program)
    known = complete_sizes(parse_sizes(sizes, found), found)
    plan = choice.plan(found, known)
    del subject, as_json
    text(explanation(plan, known))


def explanation(plan: Plan, sizes: Mapping[str, int]) -> str:
    """What was decided and why."""
    del sizes
    return "\n".join(map(str, plan.remarks))
