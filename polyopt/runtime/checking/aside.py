"""Checks of new C in a process beside this one: kernels run meanwhile, and hear of the result.

isl computes in one thread, and Python runs one thread at a time: a check in a thread would hold up
the program that it checks. The process is started with the first check, and stays for the next.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import pickle
import subprocess
import sys
from multiprocessing import Pipe
from pathlib import Path
from queue import SimpleQueue
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING

from polyopt.errors import WrongCodeError
from polyopt.isl import exclusive
from polyopt.runtime.checking.worker import answer, come_forward
from polyopt.runtime.processes import POLL_S

if TYPE_CHECKING:
    from collections.abc import Callable
    from multiprocessing.connection import Connection

    from polyopt.codegen.validate.on_build import Check

#: processes that one check may end, by what isl does in them or for want of memory
_TRIES = 2


class Pending:
    """The check of a C text that was handed to another process.

    ``shown`` is called with what it shows, in any thread, and ``refused`` where it refuses the C.
    """

    def __init__(
        self, name: str, check: Check, shown: Callable[[str], None], refused: Callable[[], None]
    ) -> None:
        self.name, self.check = name, check
        self.content = _pickled(check)
        #: whether somebody heard that it was refused
        self.is_told = False
        self._shown, self._refused = shown, refused
        self._answered = Event()
        self._text = ""
        self._is_right = True
        self._process = os.getpid()
        _checker().ask(self)

    @property
    def is_refused(self) -> bool:
        """Whether it has refused the C."""
        return self._answered.is_set() and not self._is_right

    def settle(self) -> bool:
        """Whether it has accepted the C; it does not wait.

        Raises ``WrongCodeError`` where it has refused it.
        """
        if not self._answered.is_set():
            self._ask_here()
            return False
        if not self._is_right:
            self.is_told = True
            message = f"the C of {self.name} is wrong, and so may be what it returned: {self._text}"
            raise WrongCodeError(message)
        return True

    def result(self) -> str:
        """What is shown, in words, once that is known. Raises ``WrongCodeError``."""
        self._ask_here()
        if not self._answered.is_set():
            _checker().hurry()
        while not self._answered.wait(POLL_S):  # in parts, so that an interrupt is heard
            pass
        self.settle()
        return self._text

    def take(self, *, right: bool, text: str, keep: bool = True) -> None:
        """The answer; what is no verdict is not to be kept."""
        self._is_right, self._text = right, text
        if not right:
            self._refused()
        elif keep:
            self._shown(text)
        self._answered.set()

    def _ask_here(self) -> None:
        """Ask anew in a process that was forked: an answer goes to the one that asked."""
        if self._process != os.getpid() and not self._answered.is_set():
            self._process = os.getpid()
            _checker().ask(self)


def _pickled(check: Check) -> bytes | None:
    """A check as it travels; ``None`` for one that does not."""
    with exclusive(), contextlib.suppress(pickle.PicklingError, TypeError, AttributeError):
        return pickle.dumps(check)


class _Checker:
    """A thread that hands checks to a process, one after the other."""

    def __init__(self) -> None:
        self.owner = os.getpid()
        self.asked: list[Pending] = []
        self._queue: SimpleQueue[Pending] = SimpleQueue()
        self._process: subprocess.Popen[bytes] | None = None
        self._line: Connection | None = None
        self._is_awaited = False
        Thread(target=self._run, name="polyopt checks", daemon=True).start()

    def hurry(self) -> None:
        """Somebody waits for an answer: from now on the process is one as any other."""
        self._is_awaited = True
        if self._process is not None:
            come_forward(self._process.pid)

    def ask(self, pending: Pending) -> None:
        """Have a check made."""
        self.asked.append(pending)
        self._queue.put(pending)

    def stop(self) -> None:
        """End the process, whatever it does."""
        if self._process is not None:
            self._process.kill()

    def _run(self) -> None:
        while True:
            pending = self._queue.get()
            try:
                self._answer(pending)
            except OSError:
                right, text = answer(pending.check)
                pending.take(right=right, text=text)
            if not pending.is_refused:
                self.asked.remove(pending)

    def _answer(self, pending: Pending) -> None:
        """Raises ``OSError`` where there is no process for it."""
        if pending.content is None:
            raise OSError
        status = 0
        for _ in range(_TRIES):
            line, process = self._opened()
            with contextlib.suppress(EOFError, OSError):
                line.send_bytes(pending.content)
                right, text = line.recv()
                pending.take(right=right, text=text)
                return
            status = process.wait()
        why = f"the C is not decided: the process that checked it ended with status {status}"
        pending.take(right=True, text=f"{why}; plan.prove(code=True) goes on", keep=False)

    def _opened(self) -> tuple[Connection, subprocess.Popen[bytes]]:
        """The process, started where there is none. Raises ``OSError``."""
        if self._line is not None and self._process is not None and self._process.poll() is None:
            return self._line, self._process
        if "python" not in Path(sys.executable or "").name:
            raise OSError  # Python is part of another program
        if self._line is not None:
            self._line.close()
        self._line, there = Pipe()
        with there:
            handle = there.fileno()
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "polyopt.runtime.checking.worker", str(handle)],
                pass_fds=(handle,),
                env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                # no interrupt of the terminal's; of this session, in which its priority counts:
                # Linux shares processors between sessions first, see sched(7), autogroup
                process_group=0,
            )
        if self._is_awaited:
            come_forward(self._process.pid)
        return self._line, self._process


_LOCK = Lock()
_checkers: list[_Checker] = []


def _checker() -> _Checker:
    """That of this process, which may be a fork of one that had one."""
    with _LOCK:
        if not _checkers or _checkers[-1].owner != os.getpid():
            _checkers[:] = [_Checker()]
        return _checkers[-1]


def finish() -> None:
    """Wait for all checks; what was refused, and was told to nobody, goes to standard error.

    An interrupt ends the wait.
    """
    if not _checkers or _checkers[-1].owner != os.getpid():
        return
    checker = _checkers[-1]
    try:
        for pending in list(checker.asked):
            if not pending.is_told:
                _tell(pending)
    finally:
        checker.stop()


def _tell(pending: Pending) -> None:
    try:
        pending.result()
    except WrongCodeError as error:
        sys.stderr.write(f"{error}\n")


atexit.register(finish)
