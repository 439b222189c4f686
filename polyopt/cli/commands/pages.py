"""``report``: a page of a program and its plan, and pages and charts of measurements."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from polyopt.cli.boundary import ARGUMENTS
from polyopt.cli.commands.networks import is_network, write_page
from polyopt.cli.options import plan_options, reading_options, size_option
from polyopt.cli.output import write_file
from polyopt.cli.program import PlanChoice, complete_sizes, load_program, parse_sizes
from polyopt.cli.waiting import progress
from polyopt.errors import InvalidOptionError

if TYPE_CHECKING:
    from polyopt.library import Reading


@click.command(short_help="Make a page of PROGRAM, or of what bench --json printed.")
@click.argument("subjects", metavar="PROGRAM|FILE.json...", nargs=-1, required=True)
@click.option(
    "--output", "-o", metavar="PAGE.html|PAGE.md", required=True,
    help="A program's page is .html; measurements' is .md, with the chart beside it as .svg.",
)  # fmt: skip
@click.option("--no-measure", is_flag=True, help="Leave the measured times out.")
@reading_options
@plan_options
@size_option
def report(
    subjects: tuple[str, ...],
    output: str,
    choice: PlanChoice,
    sizes: tuple[str, ...],
    *,
    reading: Reading,
    no_measure: bool,
) -> None:
    """Make one page, complete in itself, of what there is to know about PROGRAM and its plan.

    Program, dependences, plan, pictures, bill, proof, C and measured times, without anything from
    elsewhere; of an ONNX file its graph, passes, kernels and reasons. For FILE, what bench --json
    printed (also with --compile-time or --sweep; - is stdin), a page in Markdown and a chart;
    several FILEs are runs of one machine, each of other kernels.
    """
    target = Path(output)
    if target.suffix == ".html":
        if len(subjects) != 1:
            msg = f"a page is about one program, not {len(subjects)}"
            raise InvalidOptionError(msg, hint="write a page for each")
        _program_page(subjects[0], target, reading, choice, sizes, measured=not no_measure)
        return
    if target.suffix != ".md":
        msg = f"pages are written as .html or .md, not as {target.name!r}"
        raise InvalidOptionError(msg, hint="report blur -o blur.html; report run.json -o run.md")
    if choice != PlanChoice() or sizes or no_measure or reading.is_given:
        msg = "a page of measurements takes no plan and no sizes"
        raise InvalidOptionError(msg, hint="they are options of bench")
    _measured_page(subjects, target)


def _program_page(
    name: str,
    target: Path,
    reading: Reading,
    choice: PlanChoice,
    sizes: tuple[str, ...],
    *,
    measured: bool,
) -> None:
    from polyopt.cli.commands.running import execute
    from polyopt.cli.views.webpage import web_page
    from polyopt.explain.choices.tradeoff import tradeoff as weigh

    if name.endswith(".json") or name == "-":
        msg = f"{name} holds measurements: their page is written as .md"
        raise InvalidOptionError(msg, hint=f"report {name} -o page.md")
    if is_network(name):
        write_page(name, target, choice, sizes, measured=measured)
        return
    found = load_program(name, reading)
    known = complete_sizes(parse_sizes(sizes, found), found)
    plan = choice.plan(found, known)
    steps = 2 + measured
    with progress("report") as told:
        outcome = execute(found, choice, {}, known, threads=None, seed=0) if measured else None
        told(steps - 2, steps)
        with progress("plans") as weighed:
            tradeoff = weigh(plan, known, progress=weighed)
        told(steps - 1, steps)
        html = web_page(found, plan, known, tradeoff, outcome)
        told(steps, steps)
    write_file(target, html)
    click.echo(f"wrote {target}", err=True)


def _measured_page(measured: tuple[str, ...], target: Path) -> None:
    from polyopt.bench.pages.compose import page
    from polyopt.bench.pages.markdown import Making
    from polyopt.bench.pages.reading import Times, merged, read

    picture = target.with_suffix(".svg")
    runs = [(name, read(_text(name), "stdin" if name == "-" else name)) for name in measured]
    times = [(name, run) for name, run in runs if isinstance(run, Times)]
    if len(runs) > 1 and len(times) < len(runs):
        msg = "times of compiling and sweeps are reported by themselves"
        raise InvalidOptionError(msg, hint="give one file, or files of `polyopt bench --json`")
    run = merged(times) if len(runs) > 1 else runs[0][1]
    command = shlex.join(["polyopt", *click.get_current_context().meta[ARGUMENTS]])
    made = page(run, Making(measured[-1], picture.name, command))
    write_file(picture, made.svg)
    write_file(target, made.markdown)
    click.echo(f"wrote {target} and {picture}", err=True)


def _text(name: str) -> str:
    """A file's text. Raises ``InvalidOptionError``."""
    try:
        if name == "-":
            return sys.stdin.read()
        return Path(name).read_text(encoding="utf-8")
    except OSError as error:
        msg = f"{name} cannot be read: {error.strerror}"
        raise InvalidOptionError(msg) from None
    except UnicodeDecodeError:
        msg = f"{name} is not text"
        raise InvalidOptionError(msg) from None
