"""``view``: a program, its plan, the reasons, the tiles and the C, as text or to look through."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import click

from polyopt.cli.options import plan_options, program_argument, reading_options, size_option
from polyopt.cli.output import WIDTH, console, folded, heading, text
from polyopt.cli.program import complete_sizes, load_program, parse_sizes
from polyopt.cli.waiting import progress
from polyopt.errors import MissingExtraError
from polyopt.extras import install_command

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rich.text import Text

    from polyopt.cli.program import PlanChoice, Program
    from polyopt.library import Reading
    from polyopt.transform.plan import Plan

#: columns from which the loop nest and the C stand side by side
WIDE = 130
#: sections that there are of a program
SECTIONS = 8


@dataclass(frozen=True)
class Section:
    """A titled text; ``language`` colours it: ``c``, ``python``, or nothing."""

    title: str
    content: str
    language: str = ""

    def within(self, width: int) -> Section:
        """The section with lines that fit a width, where spaces allow it."""
        return replace(self, content=folded(self.content, width))

    def coloured(self) -> Text:
        """The text with its language's colours."""
        from rich.syntax import Syntax
        from rich.text import Text as Plain

        if not self.language:
            return Plain(self.content)
        return Syntax("", self.language, theme="ansi_light").highlight(self.content)


@click.command(short_help="Look through PROGRAM: loops, reasons, tiles, C.")
@program_argument
@reading_options
@click.option("--plain", is_flag=True, help="Print it all, also on a terminal.")
@plan_options
@size_option
def view(
    program: str, choice: PlanChoice, sizes: tuple[str, ...], *, reading: Reading, plain: bool
) -> None:
    """Look through PROGRAM: its source form, the plan, the reasons, the tiles, the bill, the C.

    On a terminal this is a page to walk through with the keyboard (q leaves it), where textual is
    installed; otherwise, and with --plain, the sections are printed after each other.
    """
    found = load_program(program, reading)
    known = complete_sizes(parse_sizes(sizes, found), found)
    plan = choice.plan(found, known)
    sections: list[Section] = []
    with progress("sections") as told:
        for section in sections_of(found, plan, known):
            sections.append(section)
            told(len(sections), SECTIONS)
    if not plain and sys.stdout.isatty() and sys.stdin.isatty() and _walk(found.name, sections):
        return
    _print(sections)


def sections_of(program: Program, plan: Plan, sizes: Mapping[str, int]) -> Iterator[Section]:
    """What there is to see of a plan, for parameter values ``sizes``."""
    from polyopt.explain import bill, explain
    from polyopt.explain.pictures.characters import tiles_text

    yield Section("program", str(program.scop))
    yield Section("script", plan.script, "python")
    yield Section("plan", str(plan))
    yield Section("C", plan.emit().source, "c")
    yield Section("reasons", str(explain(plan, sizes)))
    yield Section("tiles", tiles_text(plan))
    yield Section("bill", str(bill(plan, sizes)))
    yield Section("proof", str(plan.prove()))


def _walk(name: str, sections: list[Section]) -> bool:
    """Show the sections to walk through; false where textual is not installed."""
    try:
        from polyopt.cli.views.tui import walk
    except MissingExtraError:
        click.echo(f"{install_command('tui')} makes this a page to walk through", err=True)
        return False
    walk(name, sections)
    return True


def _print(sections: list[Section]) -> None:
    out = console()
    coloured = out.is_terminal and not out.no_color
    shown = {s.title: s for s in sections}
    if out.width >= WIDE and out.is_terminal:
        _side_by_side(shown.pop("plan"), shown.pop("C"))
    for section in (s.within(max(out.width, WIDTH)) for s in shown.values()):
        heading(f"== {section.title}")
        if coloured and section.language:
            out.print(section.coloured(), soft_wrap=True)
        else:
            text(section.content)
        text("")


def _side_by_side(one: Section, other: Section) -> None:
    from rich.table import Table

    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column(f"== {one.title}", no_wrap=True)
    table.add_column(f"== {other.title}", no_wrap=True)
    room = console().width - max(map(len, one.content.splitlines())) - 4
    table.add_row(one.coloured(), other.within(max(room, WIDE // 2)).coloured())
    console().print(table)
