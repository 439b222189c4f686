"""Commands that start others, such as compilers: run, and stopped with all that they started."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from threading import Event, Lock, Thread, local
from time import monotonic
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence
    from concurrent.futures import Future

_T = TypeVar("_T")

_MINE = local()
#: seconds until an interrupt is heard
POLL_S = 0.1


def run_group(
    command: Sequence[str], timeout_s: float, environment: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    """Run a command and all that it starts; nothing of it goes on after an interrupt or the limit.

    What it writes to either stream is the result's ``stdout``. Its temporary files go with it.
    Raises ``subprocess.TimeoutExpired`` and ``OSError``; ``KeyboardInterrupt`` in a thread of
    ``helpers`` that nobody waits for any more.
    """
    group = _Group(command, environment)
    helpers_: _Helpers | None = getattr(_MINE, "helpers", None)
    try:
        if helpers_ is not None:
            helpers_.add(group)
        group.start()
        if not _is_set(group.ended, timeout_s):
            raise subprocess.TimeoutExpired(command, timeout_s)
    finally:
        group.stop()
        if helpers_ is not None:
            helpers_.running.discard(group)
    if group.error is not None:
        raise group.error
    if group.done is None:
        raise KeyboardInterrupt
    return group.done


def _is_set(event: Event, timeout_s: float) -> bool:
    """Whether an event comes within the limit.

    An interrupt just before a wait is heard when the wait ends: it is made of short ones.
    """
    limit = monotonic() + timeout_s
    while not event.wait(min(POLL_S, max(0.0, limit - monotonic()))):
        if monotonic() >= limit:
            return False
    return True


def result_of(future: Future[_T]) -> _T:
    """A future's result, or what was raised in place of it; an interrupt ends the wait.

    One that comes just before a wait without end is heard when that ends, which for a compiler that
    hangs is its limit: this wait is made of short ones.
    """
    while not wait((future,), POLL_S).done:
        pass
    return future.result()


@contextmanager
def helpers(count: int) -> Generator[ThreadPoolExecutor]:
    """Threads for commands: where what waits for them fails or is interrupted, all are stopped.

    They are waited for by ``result_of``. A thread of them may have helpers itself, which are
    stopped with it.
    """
    mine = _Helpers()
    outer: _Helpers | None = getattr(_MINE, "helpers", None)
    pool = ThreadPoolExecutor(count, initializer=setattr, initargs=(_MINE, "helpers", mine))
    try:
        if outer is not None:
            outer.add(mine)
        yield pool
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        mine.stop()
        raise
    finally:
        pool.shutdown()
        if outer is not None:
            outer.running.discard(mine)


class _Helpers:
    """What the threads of one pool run: commands, and helpers of their own."""

    def __init__(self) -> None:
        self.running: set[_Group | _Helpers] = set()
        self._lock = Lock()
        self._stopped = False

    def add(self, part: _Group | _Helpers) -> None:
        with self._lock:
            if self._stopped:
                raise KeyboardInterrupt
            self.running.add(part)

    def stop(self) -> None:
        with self._lock:
            self._stopped = True
            running = tuple(self.running)
        for part in running:
            part.stop()


class _Group:
    """A command in a session of its own.

    Handlers of signals raise in the main thread, and in the middle of anything: also between a
    process's start and the moment when its number is known. So another thread starts it.
    """

    def __init__(self, command: Sequence[str], environment: Mapping[str, str]) -> None:
        self.done: subprocess.CompletedProcess[str] | None = None
        self.error: OSError | None = None
        self.ended = Event()
        self._command = command
        self._environment = environment
        self._running: subprocess.Popen[str] | None = None
        self._stopped = False
        self._lock = Lock()
        self._thread = Thread(target=self._run, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Kill what still runs, and wait for its end."""
        with self._lock:
            self._stopped = True
            self._kill()
        if self._thread.is_alive():
            self.ended.wait()

    def _run(self) -> None:
        try:
            # what a killed compiler leaves goes too
            with tempfile.TemporaryDirectory(
                prefix="polyopt-", ignore_cleanup_errors=True
            ) as temporary:
                self._follow(temporary)
        except OSError as error:
            self.error = error
        finally:
            self.ended.set()

    def _follow(self, temporary: str) -> None:
        with self._lock:
            if self._stopped:
                return
            running = self._running = subprocess.Popen(
                self._command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                env={**self._environment, "TMPDIR": temporary},
                start_new_session=True,
            )
        assert running.stdout is not None
        with running.stdout as pipe:
            told = pipe.read()
        # a process that has ended keeps its number, which is its group's, until it is waited for
        os.waitid(os.P_PID, running.pid, os.WEXITED | os.WNOWAIT)
        with self._lock:
            self._kill()
            self._running = None
            status = running.wait()
            if not self._stopped:
                self.done = subprocess.CompletedProcess(self._command, status, told)

    def _kill(self) -> None:
        if self._running is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._running.pid, signal.SIGKILL)
