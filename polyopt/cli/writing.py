"""``emit``: the C of a plan."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from polyopt.cli.options import json_option, plan_options, program_argument, size_option
from polyopt.cli.output import print_json, write_file
from polyopt.cli.program import load_program, parse_sizes

if TYPE_CHECKING:
    from polyopt.cli.program import PlanChoice


@click.command()
@program_argument
@plan_options
@size_option
@click.option("--output", "-o", metavar="FILE", help="Write there instead of printing.")
@json_option
def emit(
    program: str, choice: PlanChoice, sizes: tuple[str, ...], output: str | None, *, as_json: bool
) -> None:
    """Print the C of PROGRAM as planned."""
    found = load_program(program)
    plan = choice.plan(found, parse_sizes(sizes, found))
    c = plan.emit()
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
