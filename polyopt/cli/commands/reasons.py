"""``deps``, ``prove``, ``explain``, ``why``, ``tradeoff``: what is true of a program and a plan."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import click

from polyopt.cli.commands.networks import explain_model, is_network, network_options, refuse_fusion
from polyopt.cli.options import (
    json_option,
    plan_options,
    program_argument,
    reading_options,
    size_option,
)
from polyopt.cli.output import print_json, text, wrapped
from polyopt.cli.program import complete_sizes, load_program, parse_sizes
from polyopt.cli.waiting import progress
from polyopt.errors import InvalidOptionError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from polyopt.cli.commands.networks import FusionChoice
    from polyopt.cli.program import PlanChoice
    from polyopt.ir.scop import Scop
    from polyopt.library import Reading
    from polyopt.scheduler.model.cost import Cost
    from polyopt.transform.plan import Plan


@click.command()
@program_argument
@reading_options
@json_option
def deps(program: str, *, reading: Reading, as_json: bool) -> None:
    """List the exact dependences of PROGRAM, each with a witness."""
    found = load_program(program, reading)
    with progress("dependences"):
        result = found.scop.dependences()
        rows, shown = result.rows(), str(result)
    if as_json:
        print_json({"program": found.name, "dependences": [row.as_dict() for row in rows]})
    else:
        text(shown)


@click.command()
@program_argument
@reading_options
@plan_options
@size_option
@click.option("--code", is_flag=True, help="Read the C back as well, and compare it.")
@json_option
def prove(
    program: str,
    choice: PlanChoice,
    sizes: tuple[str, ...],
    *,
    reading: Reading,
    code: bool,
    as_json: bool,
) -> None:
    """Prove that the plan of PROGRAM computes what its source computes."""
    found = load_program(program, reading)
    plan = choice.plan(found, parse_sizes(sizes, found))
    start = time.perf_counter()
    with progress("proof"):
        proof = plan.prove(code=code)
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
@reading_options
@click.argument("subject", required=False)
@click.option(
    "--if", "place", metavar="PLACE",
    help="What SUBJECT would bring elsewhere: inline, element, sliding, scratch or root.",
)  # fmt: skip
@click.option("--alternatives", "table_of", is_flag=True, help="All places of SUBJECT as a table.")
@click.option(
    "--candidates", "chosen_from", is_flag=True,
    help="What the search chose from: predicted times, nest by nest.",
)  # fmt: skip
@click.option("--measure", "measured", is_flag=True, help="With --candidates: what each takes.")
@click.option(
    "--compile", "compiled", is_flag=True,
    help="Compile it, and say of which vector loops the C compiler made no vectors, and why.",
)  # fmt: skip
@plan_options
@size_option
@network_options
@json_option
def explain(  # noqa: PLR0913 - an argument for each option
    program: str,
    subject: str | None,
    place: str | None,
    choice: PlanChoice,
    sizes: tuple[str, ...],
    shown_as: tuple[FusionChoice, str | None],
    *,
    reading: Reading,
    table_of: bool,
    chosen_from: bool,
    measured: bool,
    compiled: bool,
    as_json: bool,
) -> None:
    """Say what was decided for PROGRAM (or for SUBJECT in it), why, and at what cost.

    PROGRAM may be an ONNX file: then each pair of its nodes has a remark.
    """
    if is_network(program):
        if place or table_of or compiled or chosen_from:
            msg = "--if, --alternatives, --candidates and --compile are for single programs"
            raise InvalidOptionError(msg, hint="name a node: its remarks say what else was weighed")
        explain_model(program, subject, choice, sizes, shown_as, as_json=as_json)
        return
    refuse_fusion(shown_as)
    from polyopt.explain import bill
    from polyopt.explain import explain as reasons
    from polyopt.scheduler.model.table import table
    from polyopt.transform.schedule.tree import loops_of

    found = load_program(program, reading)
    known = complete_sizes(parse_sizes(sizes, found), found)
    if measured and not chosen_from:
        raise InvalidOptionError("--measure has nothing to measure", hint="add --candidates")
    if chosen_from:
        _candidates(found.scop, known, measured=measured, as_json=as_json)
        return
    plan = choice.plan(found, known)
    if table_of:
        _alternatives(plan, subject, known, as_json=as_json)
        return
    if compiled:
        _compiled(plan, choice, subject, place, known, as_json=as_json)
        return
    with progress("reasons") as told:
        remarks = reasons(plan, known, subject, if_=place, progress=told)
        cost = bill(plan, known)
    if as_json:
        print_json({**remarks.as_dict(), "variant": choice.name, "cost": numbers(cost)})
        return
    text(remarks)
    if subject is None:
        text(f"\nthe bill\n{table(cost, stages=False)}")
        if any(loop.mark == "vector" for loop in loops_of(plan.program.tree)):
            text("\nwhat the C compiler made of the vector loops: with --compile")


def _candidates(scop: Scop, sizes: Mapping[str, int], *, measured: bool, as_json: bool) -> None:
    """What the search chose from."""
    from polyopt.scheduler import candidates

    found = candidates(scop, sizes=sizes, measure=measured)
    if as_json:
        print_json(found.as_dict())
    else:
        text(found)


def _compiled(
    plan: Plan,
    choice: PlanChoice,
    subject: str | None,
    place: str | None,
    sizes: Mapping[str, int],
    *,
    as_json: bool,
) -> None:
    """``--compile``: the reasons, those of the C compiler among them, and its vector loops."""
    from polyopt.explain import bill, explain_kernel

    if place is not None:
        msg = "--if asks about a plan that is not compiled"
        raise InvalidOptionError(msg, hint="leave out --compile")
    with progress("compiling"):
        kernel = plan.compile(target=choice.target)
    with progress("reasons"):
        remarks = explain_kernel(kernel, sizes, subject)
        cost = numbers(bill(plan, sizes))
    loops = kernel.vector_loops
    if as_json:
        told = [fact.as_dict() for fact in loops]
        document = {**remarks.as_dict(), "variant": choice.name, "cost": cost}
        print_json({**document, "compiler": str(kernel.built.toolchain), "vector_loops": told})
        return
    text(remarks)
    if subject is None:
        text(f"\nvector loops, by {kernel.built.toolchain}: {loops.total}\n{loops}")


def _alternatives(
    plan: Plan, subject: str | None, sizes: Mapping[str, int], *, as_json: bool
) -> None:
    if subject is None:
        msg = "--alternatives are those of one producer"
        raise InvalidOptionError(msg, hint="name it: explain blur bx --alternatives")
    with progress("alternatives"):
        found = plan.alternatives(subject, sizes=sizes)
    if as_json:
        print_json(found.as_dict())
    else:
        text(found)


@click.command(short_help="Say where one element of PROGRAM comes from.")
@program_argument
@reading_options
@click.argument("element")
@plan_options
@size_option
@json_option
def why(
    program: str,
    element: str,
    choice: PlanChoice,
    sizes: tuple[str, ...],
    *,
    reading: Reading,
    as_json: bool,
) -> None:
    """Say where an element such as 'out[10, 20]' comes from: instances and inputs, exactly."""
    found = load_program(program, reading)
    known = complete_sizes(parse_sizes(sizes, found), found)
    plan = choice.plan(found, known)
    with progress("instances"):
        result = plan.why(element, sizes=known)
    if as_json:
        print_json(result.as_dict())
    else:
        text(result)


@click.command(short_help="Weigh memory against work; keep the plan you choose.")
@program_argument
@reading_options
@click.option("--point", type=int, metavar="N", help="Choose point N of the table.")
@click.option("--memory", type=float, metavar="BYTES", help="Choose the least work within.")
@click.option("--save", metavar="FILE", help="Keep the chosen plan as JSON.")
@click.option("--output", "-o", metavar="PICTURE", help="Draw it: .svg, .png or .pdf.")
@plan_options
@size_option
@json_option
def tradeoff(  # noqa: PLR0913 - an argument for each option
    program: str,
    point: int | None,
    memory: float | None,
    save: str | None,
    output: str | None,
    choice: PlanChoice,
    sizes: tuple[str, ...],
    *,
    reading: Reading,
    as_json: bool,
) -> None:
    """Weigh memory against work: the plans of PROGRAM that no other beats in both."""
    from polyopt.explain.choices.tradeoff import tradeoff as weigh

    if point is not None and memory is not None:
        msg = "--point and --memory each choose a plan"
        raise InvalidOptionError(msg, hint="give one of them")
    found = load_program(program, reading)
    known = complete_sizes(parse_sizes(sizes, found), found)
    plan = choice.plan(found, known)
    with progress("plans") as report:
        result = weigh(plan, known, progress=report)
    chosen = result.chosen
    if point is not None:
        chosen = result[point]
    elif memory is not None:
        chosen = result.within(memory)
    if output:
        result.picture().save(output)
    if save:
        chosen.plan.save(save)
    if as_json:
        print_json({**result.as_dict(), "picked": chosen.as_dict(), "file": save})
        return
    text(result)
    if chosen is not result.chosen or save:
        text(f"\n{chosen.name}\n{chosen.plan}")
    for file in filter(None, (output, save)):
        click.echo(f"wrote {file}", err=True)


def numbers(cost: Cost) -> dict[str, float]:
    """The totals of a bill for JSON; bytes, operations, iterations, and ratios to the source.

    ``exact`` says whether all instances were counted; bytes moved are estimates in any case.
    """
    return {
        "operations": cost.operations, "source_operations": cost.source_operations,
        "work_repeated": cost.work_repeated, "bytes_moved": cost.bytes_moved,
        "source_bytes_moved": cost.source_bytes_moved, "bytes_saved": cost.bytes_saved,
        "compulsory_bytes": cost.compulsory_bytes, "scratch_bytes": cost.scratch_bytes,
        "parallel_tiles": cost.parallel_tiles, "threads": cost.time.threads,
        "predicted_ms": cost.time.ns / 1e6, "source_predicted_ms": cost.source_time.ns / 1e6,
        "exact": cost.is_exact and not cost.source_estimated,
    }  # fmt: skip
