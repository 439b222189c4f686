"""``emit``: the C of a plan."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from polyopt.cli.commands.networks import emit_network, is_network
from polyopt.cli.commands.rewriting import emit_rewritten, is_marked_file, rewriting_options
from polyopt.cli.options import (
    json_option,
    plan_options,
    program_argument,
    reading_options,
    size_option,
)
from polyopt.cli.output import print_json, write_file
from polyopt.cli.program import load_program, named_numbers, parse_sizes
from polyopt.cli.waiting import progress
from polyopt.errors import InvalidOptionError
from polyopt.rewrite import Rewriting

if TYPE_CHECKING:
    from collections.abc import Sized

    from polyopt.cli.program import PlanChoice
    from polyopt.library import Reading


@click.command()
@program_argument
@plan_options
@size_option
@reading_options
@rewriting_options
@click.option(
    "--output", "-o", metavar="FILE", help="Write there instead of printing; networks: a folder."
)
@click.option(
    "--libm",
    is_flag=True,
    help="Call the C library's exp, log and the like, one element after the other.",
)
@click.option("--stub", is_flag=True, help="Print the call's signature as a .pyi file instead.")
@json_option
def emit(  # noqa: PLR0913  (an argument per option)
    program: str,
    choice: PlanChoice,
    sizes: tuple[str, ...],
    asked: dict[str, Any],
    output: str | None,
    *,
    reading: Reading,
    libm: bool,
    stub: bool,
    as_json: bool,
) -> None:
    """Print the C of PROGRAM as planned.

    A C file that marks regions with #pragma scop and #pragma endscop is printed whole, with the
    regions optimised in place: polyopt emit file.c -o fast.c

    An ONNX file becomes a folder with its kernels, weights, a main that checks and times, and a
    Makefile: polyopt emit net.onnx -o net
    """
    if stub:
        _emit_stub(program, choice, sizes, reading, output)
        return
    if is_marked_file(program):
        if reading.function is not None or reading.region is not None:
            msg = f"--function and --region choose one program, and emit takes all of {program}"
            raise InvalidOptionError(msg, hint="leave them out; explain and the others take them")
        explain = asked.pop("explain", False)
        options = Rewriting(
            reading.defines, reading.includes, named_numbers(sizes), choice.target, **asked
        )
        emit_rewritten(program, choice, options, output, explain=explain, as_json=as_json)
        return
    _refuse(program, asked)
    if is_network(program):
        if libm:
            msg = f"{program} is a network, whose kernels call no C library for exp and the like"
            raise InvalidOptionError(msg, hint="leave --libm out")
        emit_network(program, choice, sizes, output, as_json=as_json)
        return
    found = load_program(program, reading)
    plan = choice.plan(found, parse_sizes(sizes, found))
    with progress("C"):
        c = plan.emit(libm=libm)
    if output and output != "-":
        write_file(output, c.source)
    if as_json:
        print_json({
            "program": found.name, "variant": choice.name, "prototype": c.prototype,
            "flags": list(c.flags), "openmp": c.uses_openmp, "file": output, "source": c.source,
        })  # fmt: skip
    elif output and output != "-":
        click.echo(f"wrote {output}: {c.prototype}", err=True)
    else:
        click.echo(c.source, nl=not c.source.endswith("\n"))


def _emit_stub(
    program: str,
    choice: PlanChoice,
    sizes: tuple[str, ...],
    reading: Reading,
    output: str | None,
) -> None:
    found = load_program(program, reading)
    plan = choice.plan(found, parse_sizes(sizes, found))
    with progress("kernel"):
        written = plan.compile(target=choice.target).stub()
    if output and output != "-":
        write_file(output, written)
    else:
        click.echo(written, nl=False)


def _refuse(program: str, given: Sized) -> None:
    """Options for files with marked regions say nothing of a kernel."""
    if given:
        msg = f"{program} is no C file with marked regions"
        hint = "--tile, --parallel, --fuse, --threads, --prove and --explain are for those"
        raise InvalidOptionError(msg, hint=hint)
