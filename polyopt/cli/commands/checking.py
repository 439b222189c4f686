"""``check``: what is wrong in files, as editors read it."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from polyopt.cli.boundary import MISTAKE, OK
from polyopt.cli.options import json_option, parse_defines
from polyopt.cli.output import print_json
from polyopt.library import Reading
from polyopt.oneline import some

if TYPE_CHECKING:
    from polyopt.checking import Checked


@click.command(
    short_help="Print what is wrong in FILES, for editors.",
    epilog="""
\b
polyopt check blur.c        a.c:5:20: error: ... [non-affine]
polyopt check --json a.py b.c   for editors that read JSON
In Vim: :set makeprg=polyopt\\ check\\ %   errorformat=%f:%l:%c:\\ %t%*[a-z]:\\ %m
In VS Code: a task with the problem matcher $gcc.
""",
)  # fmt: skip
@click.argument("files", nargs=-1, required=True, type=click.Path())
@click.option("-D", "defines", multiple=True, metavar="NAME[=TEXT]", help="C files: a macro.")
@click.option("-I", "includes", multiple=True, metavar="DIR", help="C files: look there, too.")
@json_option
@click.pass_context
def check(
    context: click.Context,
    files: tuple[str, ...],
    defines: tuple[str, ...],
    includes: tuple[str, ...],
    *,
    as_json: bool,
) -> None:
    """Check the programs of C and Python FILES; print what is wrong and leave with 2, or with 0.

    A line a problem: a.c:3:9: error: what is wrong [code], then notes and hints. Of C
    files marked regions are checked, or functions; Python files are run.
    """
    from polyopt.checking import check_file

    reading = Reading(parse_defines(defines), includes)
    checked = [check_file(file, reading) for file in files]
    if as_json:
        print_json([_document(one) for one in checked])
    else:
        _print(checked)
    context.exit(MISTAKE if any(one.errors for one in checked) else OK)


def _print(checked: list[Checked]) -> None:
    for problem in (problem for one in checked for problem in one.problems):
        click.echo(str(problem))
    programs = some(sum(len(one.programs) for one in checked), "program") or "no programs"
    errors = some(sum(len(one.errors) for one in checked), "error") or "no errors"
    click.echo(f"{programs}, {errors}", err=True)


def _document(one: Checked) -> dict[str, object]:
    problems = [{**asdict(problem), "notes": list(problem.notes)} for problem in one.problems]
    return {"file": one.file, "programs": list(one.programs), "problems": problems}
