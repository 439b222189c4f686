"""A framework in a process of its own, which is stopped while others are timed.

Frameworks keep threads that spin after a call, waiting for the next; several in one process would
take the cores from each other, and libraries that both bring would be loaded once. A stopped
process takes no time at all.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Self, cast

from polyopt.bench.peers.frameworks import form
from polyopt.errors import PolyoptError
from polyopt.runtime.measuring.alternate import Subject, timed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from multiprocessing.connection import Connection
    from types import TracebackType

    import numpy as np

    from polyopt.bench.peers.frameworks import Made

    Array = np.ndarray[Any, Any]


@dataclass(frozen=True, eq=False)
class Framework:
    """A peer as it runs one network: what that gave, and the seconds it took to make."""

    result: Array
    seconds: float


class Apart:
    """A peer's process. It lives until ``close``, and runs one network after the other.

    ``made`` makes a network over there, from the peer's name and what ``make`` is given.
    """

    def __init__(self, peer: str, made: Callable[..., Made] | None = None) -> None:
        self.peer = peer
        context = multiprocessing.get_context("spawn")
        self._here, there = context.Pipe()
        self._process = context.Process(
            target=serve, args=(peer, there, made or from_onnx), daemon=True
        )
        self._process.start()
        there.close()

    def make(self, *network: object) -> Framework:
        """Let it run another network: an ONNX model's bytes, its input, numbers of threads.

        Raises ``PolyoptError`` with the framework's words where it cannot.
        """
        return Framework(*self._asked("make", *network))

    def subject(self, threads: int) -> Subject:
        """The network on so many threads, to be timed; each sample is taken over there."""
        sample = partial(self._asked, "time", threads)
        return Subject(partial(sample, 1, False), sample=sample)

    def _asked(self, *request: object) -> Any:  # noqa: ANN401
        """The answer to a request; between requests the process is stopped."""
        pid = cast("int", self._process.pid)
        os.kill(pid, signal.SIGCONT)
        try:
            self._here.send(request)
            fine, answer = self._here.recv()
        except (EOFError, OSError):
            msg = f"the process of {self.peer} ended"
            raise PolyoptError(msg) from None
        os.kill(pid, signal.SIGSTOP)
        os.waitid(os.P_PID, pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)  # until it has stopped
        if not fine:
            raise PolyoptError(str(answer))
        return answer

    def close(self) -> None:
        """End the process, also where it is stopped."""
        self._process.kill()
        self._process.join()
        self._here.close()

    def __enter__(self) -> Self:
        """Itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        """End the process."""
        self.close()


def serve(peer: str, there: Connection, make: Callable[..., Made]) -> None:
    """What a peer's process does: answer requests until nobody is left to ask."""
    made: Made | None = None
    while True:
        try:
            what, *arguments = there.recv()
        except EOFError:
            return
        try:
            if what == "make":
                made = None  # whose memory the next one can have
                made = make(peer, *arguments)
                answer: object = (made.result, made.seconds)
            else:
                assert made is not None
                threads, repeats, warm = arguments
                answer = timed(Subject(partial(made.call, threads)), repeats, warm=warm)
        except Exception as error:  # noqa: BLE001 - whatever a framework raises is its answer
            there.send((False, _words(error)))
        else:
            there.send((True, answer))


def from_onnx(peer: str, model: bytes, x: Array, threads: Sequence[int]) -> Made:
    """An ONNX model in a framework."""
    import onnx

    return form(peer, onnx.load_from_string(model), x, threads)


def _words(error: Exception) -> str:
    """The first line of what an error says, or its kind."""
    return next(iter(str(error).splitlines()), type(error).__name__)
