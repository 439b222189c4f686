"""Jobs on threads, processes or a cluster: each runs until it has succeeded once."""

from __future__ import annotations

from concurrent.futures import FIRST_COMPLETED, Executor, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures import wait as wait_for
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import get_context
from typing import TYPE_CHECKING, Any, cast

from polyopt.errors import InvalidOptionError
from polyopt.runtime.processes import POLL_S

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable
    from concurrent.futures import Future

    #: what a job is: its number, and how to submit it
    Submit = Callable[[Executor, int], Future[Any]]

#: how often workers that vanish are replaced before that is an error
_REVIVALS = 3


@contextmanager
def pool_of(executor: str | object, workers: int) -> Generator[Callable[[], Executor]]:
    """How to get the pool, again after it broke; closed in the end where it is ours.

    ``executor`` is ``"threads"``, ``"processes"``, an ``Executor``, or a ``distributed.Client``.
    Raises ``InvalidOptionError`` for anything else.
    """
    made: list[Executor] = []

    def make() -> Executor:
        if executor == "threads":
            pool: Executor = ThreadPoolExecutor(workers)
        else:
            pool = ProcessPoolExecutor(workers, mp_context=get_context("spawn"))
        made.append(pool)
        return pool

    if isinstance(executor, Executor):
        yield lambda: executor
        return
    if hasattr(executor, "get_executor"):
        pool = cast("Any", executor).get_executor(pure=False, retries=_REVIVALS)
        yield lambda: pool
        return
    if executor not in {"threads", "processes"}:
        raise InvalidOptionError(
            f"executor={executor!r} runs nothing",
            hint='it is "threads", "processes", an Executor or a distributed.Client',
        )
    try:
        yield make
    finally:
        for pool in made:
            pool.shutdown(wait=True, cancel_futures=True)


def run_all(
    pool: Callable[[], Executor],
    submit: Submit,
    count: int,
    window: int,
    done: Callable[[int, Any], None],
) -> None:
    """Run jobs 0 to ``count - 1``, at most ``window`` at once; ``done`` gets each result.

    Jobs that were with a worker that vanished run again. Raises what a job raises.
    """
    waiting = list(range(count - 1, -1, -1))
    running: dict[Future[Any], int] = {}
    current = pool()
    revivals = _REVIVALS
    try:
        while waiting or running:
            try:
                while waiting and len(running) < window:
                    future = submit(current, waiting[-1])
                    running[future] = waiting.pop()
                finished, _ = wait_for(running, POLL_S, FIRST_COMPLETED)
                _collect(finished, running, done)
            except BrokenProcessPool:
                revivals -= 1
                if revivals < 0:
                    raise
                waiting += sorted(running.values(), reverse=True)
                running.clear()
                current = pool()
    finally:
        for future in running:
            future.cancel()


def _collect(
    finished: Iterable[Future[Any]],
    running: dict[Future[Any], int],
    done: Callable[[int, Any], None],
) -> None:
    for future in finished:
        result = future.result()  # a job of a broken pool stays among those running
        done(running.pop(future), result)


@contextmanager
def progress_of(progress: object, count: int, name: str) -> Generator[Callable[[], None]]:
    """What to call after each job: a bar, ``progress(done, count)``, or nothing."""
    if not progress:
        yield lambda: None
        return
    if callable(progress):
        so_far = 0

        def tell() -> None:
            nonlocal so_far
            so_far += 1
            progress(so_far, count)

        yield tell
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

    columns = ("{task.description}", BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(name, total=count)
        yield lambda: bar.advance(task)
