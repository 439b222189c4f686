"""Bars for people who wait: on a terminal, and only where something takes longer than a moment."""

from __future__ import annotations

from contextlib import contextmanager
from threading import Timer
from typing import TYPE_CHECKING

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
    if not error_console().is_terminal:
        yield lambda _done, _total: None
        return
    bar, timer = (_shown[-1], None) if _shown else _started()
    task = bar.add_task(label, total=None)
    _shown.append(bar)
    try:
        yield lambda done, total: bar.update(task, completed=done, total=total)
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
