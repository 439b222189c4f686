"""``report``: pages and pictures from measurements."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import click

from polyopt.cli.boundary import ARGUMENTS
from polyopt.cli.output import write_file
from polyopt.errors import InvalidOptionError


@click.command(short_help="Make a page and a chart of what bench --json printed.")
@click.argument("measured", metavar="FILE")
@click.option(
    "--output", "-o", metavar="PAGE.md", required=True,
    help="Write there, and the chart beside it as .svg.",
)  # fmt: skip
def report(measured: str, output: str) -> None:
    """Make a page in Markdown and a chart in SVG of FILE, or of stdin for -.

    FILE holds what bench --json printed, with or without --compile-time.
    """
    from polyopt.bench.pages import Making, page
    from polyopt.bench.reading import read

    target = Path(output)
    if target.suffix != ".md":
        msg = f"pages are written as .md, not as {target.name!r}"
        raise InvalidOptionError(msg)
    picture = target.with_suffix(".svg")
    run = read(_text(measured), "stdin" if measured == "-" else measured)
    command = shlex.join(["polyopt", *click.get_current_context().meta[ARGUMENTS]])
    made = page(run, Making(measured, picture.name, command))
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
