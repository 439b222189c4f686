"""Printing: consoles that respect NO_COLOR and narrow terminals, JSON, files written whole."""

from __future__ import annotations

import json
import os
import tempfile
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.table import Table

from polyopt.errors import InvalidOptionError

if TYPE_CHECKING:
    from collections.abc import Sequence

WIDTH = 80
#: characters that are left of names in a table's first column
SHORTEST = 16


def console() -> Console:
    """Stdout for people; made anew because tests and pipes exchange the stream."""
    return Console(highlight=False, emoji=False)


def error_console() -> Console:
    """Stderr for people."""
    return Console(stderr=True, highlight=False, emoji=False)


def heading(text: str) -> None:
    """One emphasised line."""
    console().print(text, style="bold", markup=False, soft_wrap=True)


def text(value: object) -> None:
    """A value's text as it is, never wrapped."""
    click.echo(str(value))


def wrapped(lines: str, *, indent: int) -> str:
    """Text with lines of at most ``WIDTH`` columns; what is moved down is indented."""
    return "\n".join(
        "\n".join(
            textwrap.wrap(
                line, WIDTH, subsequent_indent=" " * indent,
                break_long_words=False, break_on_hyphens=False,
            ) or [""]
        )
        for line in lines.splitlines()
    )  # fmt: skip


def folded(code: str, width: int) -> str:
    """Code with lines of at most ``width`` columns, where spaces allow it; what is moved down
    stands further in than its line."""
    return "\n".join(
        line if len(line) <= width else _folded(line, width) for line in code.splitlines()
    )


def _folded(line: str, width: int) -> str:
    indent = min(len(line) - len(line.lstrip()), width // 2)
    start = " " * indent
    return textwrap.fill(
        line.strip(), width, initial_indent=start, subsequent_indent=f"{start}    ",
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip


def print_json(value: object) -> None:
    """One JSON document on stdout; ``nan`` and infinities are never in it."""
    click.echo(json.dumps(value, indent=2, allow_nan=False))


def print_table(columns: Sequence[tuple[str, str]], rows: Sequence[Sequence[str]]) -> None:
    """A table without a frame. ``columns`` are titles with ``left`` or ``right``.

    Where it is wider than the screen, names in the first column are cut short, down to
    ``SHORTEST`` characters; all other columns stay whole.
    """
    out = console()
    titles = [title for title, _ in columns]
    widths = [max(map(len, column)) for column in zip(titles, *rows, strict=True)]
    beside = sum(widths[1:]) + len(widths) - 1
    widths[0] = min(widths[0], max(SHORTEST, max(out.width, WIDTH) - beside))
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    for (title, side), width in zip(columns, widths, strict=True):
        justify = "right" if side == "right" else "left"
        table.add_column(title, justify=justify, no_wrap=True, width=width)
    for name, *cells in rows:
        table.add_row(_cut(name, widths[0]), *cells)
    # as wide as it is: a narrow screen wraps lines, and no column is left out
    out.width = max(out.width, sum(widths) + len(widths))
    out.print(table, soft_wrap=True)


def _cut(name: str, width: int) -> str:
    return name if len(name) <= width else f"{name[: width - 1]}…"


def write_file(path: str | Path, content: str | bytes) -> Path:
    """Write a file whole or not at all. Raises ``InvalidOptionError`` where that cannot be."""
    target = Path(path)
    data = content.encode() if isinstance(content, str) else content
    try:
        _replace(target, data)
    except OSError as error:
        msg = f"{target} cannot be written: {error.strerror}"
        raise InvalidOptionError(msg) from None
    return target


def make_folder(path: str | Path) -> Path:
    """A folder that exists afterwards. Raises ``InvalidOptionError``."""
    try:
        Path(path).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        msg = f"the folder {path} cannot be made: {error.strerror}"
        raise InvalidOptionError(msg) from None
    return Path(path)


def _replace(target: Path, data: bytes) -> None:
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        umask = os.umask(0)
        os.umask(umask)
        Path(name).chmod(0o666 & ~umask)
        Path(name).replace(target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def milliseconds(value: float) -> str:
    """A time in ms with three or four digits that mean something."""
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}" if value < 1 else f"{value:.4g}"


def bytes_text(count: float) -> str:
    """Bytes as people read them: ``1.5 MiB``."""
    for unit in ("B", "KiB", "MiB"):
        if count < 1024:
            return f"{count:.3g} {unit}" if unit != "B" else f"{count:.0f} B"
        count /= 1024
    return f"{count:.3g} GiB"
