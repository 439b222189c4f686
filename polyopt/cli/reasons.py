"""``deps``, ``prove`` and ``explain``: what is true of a program and of a plan for it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import click

from polyopt.cli.networks import explain_model, is_network
from polyopt.cli.options import json_option, plan_options, program_argument, size_option
from polyopt.cli.output import print_json, text, wrapped
from polyopt.cli.program import complete_sizes, load_program, parse_sizes

if TYPE_CHECKING:
    from polyopt.auto.cost import Cost
    from polyopt.cli.program import PlanChoice


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
        text(wrapped(str(proof), indent=15))


@click.command(short_help="Say what was decided, why, and at what cost.")
@program_argument
@click.argument("subject", required=False)
@plan_options
@size_option
@click.option(
    "--level",
    default="windows",
    metavar="LEVEL",
    help="Networks: what may be fused (off, pointwise, windows, all).",
)
@click.option("--graphs", metavar="FOLDER", help="Networks: write graphs before and after.")
@json_option
def explain(
    program: str,
    subject: str | None,
    choice: PlanChoice,
    sizes: tuple[str, ...],
    level: str,
    graphs: str | None,
    *,
    as_json: bool,
) -> None:
    """Say what was decided for PROGRAM (or for SUBJECT in it), why, and at what cost.

    PROGRAM may be an ONNX file: then each pair of its nodes has a remark.
    """
    if is_network(program):
        explain_model(program, subject, choice, sizes, (level, graphs), as_json=as_json)
        return
    from polyopt.auto.bill import table
    from polyopt.explain import bill
    from polyopt.explain import explain as reasons

    found = load_program(program)
    known = complete_sizes(parse_sizes(sizes, found), found)
    plan = choice.plan(found, known)
    remarks, cost = reasons(plan, known, subject), bill(plan, known)
    if as_json:
        print_json({**remarks.as_dict(), "variant": choice.name, "cost": numbers(cost)})
        return
    text(remarks)
    if subject is None:
        text(f"\nthe bill\n{table(cost, stages=False)}")


def numbers(cost: Cost) -> dict[str, float]:
    """The totals of a bill for JSON; bytes, operations, iterations, and ratios to the source."""
    return {
        "operations": cost.operations, "source_operations": cost.source_operations,
        "work_repeated": cost.work_repeated, "bytes_moved": cost.bytes_moved,
        "source_bytes_moved": cost.source_bytes_moved, "bytes_saved": cost.bytes_saved,
        "compulsory_bytes": cost.compulsory_bytes, "scratch_bytes": cost.scratch_bytes,
        "parallel_tiles": cost.parallel_tiles,
    }  # fmt: skip
