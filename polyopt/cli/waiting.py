"""For people who wait longer than a moment: bars on a terminal, elsewhere lines."""

from __future__ import annotations

import time
from contextlib import contextmanager
from functools import partial
from threading import Timer
from typing import TYPE_CHECKING

import click

from polyopt.cli.output import error_console

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from rich.progress import Progress

#: seconds before a bar shows
PATIENCE = 2.0
#: bars on the screen: those inside others stand below them
_shown: list[Progress] = []


@contextmanager
def progress(label: str) -> Generator[Callable[[int, int], None]]:
    """A bar on the terminal's stderr while the block runs; gone afterwards.

    The block calls what it gets with how many of how many are done; until then the bar only
    moves. Where nobody is to see it, or the block is over soon, nothing is shown. The block must
    not print.
    """
    with _task(label) as update:
        yield lambda done, total: update(completed=done, total=total)


@contextmanager
def steps(label: str) -> Generator[Callable[[int, int, str], None]]:
    """The same for what may take hours, and says what it does: also to a file or a pipe.

    The block calls what it gets with how many of how many are done, and what comes now. Where
    stderr is no terminal each call is a line there, once patience has ended.
    """
    start, is_seen = time.monotonic(), error_console().is_terminal
    with _task(label) as update:

        def told(done: int, total: int, now: str) -> None:
            update(completed=done, total=total, description=f"{label}: {now}")
            passed = time.monotonic() - start
            if not is_seen and passed >= PATIENCE:
                click.echo(f"{label} {done + 1} of {total}, {passed:.0f} s: {now}", err=True)

        yield told


def _unseen(**_changes: object) -> None:
    """There is no bar to change."""


@contextmanager
def _task(label: str) -> Generator[Callable[..., None]]:
    """What changes a line of the bar; of nothing where there is no terminal."""
    if not error_console().is_terminal:
        yield _unseen
        return
    bar, timer = (_shown[-1], None) if _shown else _started()
    task = bar.add_task(label, total=None)
    _shown.append(bar)
    try:
        yield partial(bar.update, task)
    finally:
        _shown.pop()
        bar.remove_task(task)
        if timer is not None:
            timer.cancel()
            timer.join()
            bar.stop()


def _started() -> tuple[Progress, Timer]:
    """A bar that is to show when patience ends."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    bar = Progress(
        TextColumn("{task.description}"), BarColumn(24), MofNCompleteColumn(), TimeElapsedColumn(),
        console=error_console(), transient=True, redirect_stdout=False, redirect_stderr=False,
    )  # fmt: skip
    timer = Timer(PATIENCE, bar.start)
    timer.daemon = True
    timer.start()
    return bar, timer
