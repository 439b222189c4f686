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
@click.argument("measured", metavar="FILE...", nargs=-1, required=True)
@click.option(
    "--output", "-o", metavar="PAGE.md", required=True,
    help="Write there, and the chart beside it as .svg.",
)  # fmt: skip
def report(measured: tuple[str, ...], output: str) -> None:
    """Make a page in Markdown and a chart in SVG of FILE, or of stdin for -.

    FILE holds what bench --json printed, with or without --compile-time. Several are runs of one
    machine, each of other kernels.
    """
    from polyopt.bench.markdown import Making
    from polyopt.bench.pages import page
    from polyopt.bench.reading import Times, merged, read

    target = Path(output)
    if target.suffix != ".md":
        msg = f"pages are written as .md, not as {target.name!r}"
        raise InvalidOptionError(msg)
    picture = target.with_suffix(".svg")
    runs = [(name, read(_text(name), "stdin" if name == "-" else name)) for name in measured]
    times = [(name, run) for name, run in runs if isinstance(run, Times)]
    if len(runs) > 1 and len(times) < len(runs):
        msg = "times of compiling are reported by themselves"
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
