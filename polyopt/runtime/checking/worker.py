"""The process that checks C aside: a check in, what it shows out, one after the other.

It is started by ``aside.py`` with the number of an open socket. It ends where nobody asks for
anything for a while, and with the process that started it.
"""

from __future__ import annotations

import contextlib
import os
import sys
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING

from polyopt.errors import InternalError, unexpected
from polyopt.isl import exclusive

if TYPE_CHECKING:
    from polyopt.codegen.validate.on_build import Check

#: seconds without a question after which it ends: what starting it anew takes is little beside
#: that, and it holds some 100 MB
IDLE_S = 60.0
#: what it yields of the processor: the kernel that it checks runs meanwhile, and threads that wait
#: for one another wait for the one that it holds up; the most that there is, see setpriority(2)
NICE = 19


def answer(check: Check) -> tuple[bool, str]:
    """Whether a check accepts a C text, and what it shows, or why not."""
    try:
        with exclusive():
            return True, check()
    except InternalError as error:
        return False, error.diagnostic.message
    except Exception as error:  # noqa: BLE001 (what was not foreseen is told, not lost)
        return False, unexpected(error).diagnostic.message


def stand_back() -> None:
    """Run where nothing else does: ``SCHED_IDLE``, see sched(7), or with the least priority."""
    with contextlib.suppress(OSError):
        if sys.platform == "linux":
            os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
        else:
            os.nice(NICE)


def come_forward(process: int) -> None:
    """Give a process that stands back the processors as any other: somebody waits for it."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            os.sched_setscheduler(process, os.SCHED_OTHER, os.sched_param(0))


def main(handle: int) -> None:
    """Answer until nobody asks."""
    stand_back()
    with Connection(handle) as line, contextlib.suppress(EOFError, OSError):
        while line.poll(IDLE_S):
            line.send(answer(line.recv()))


if __name__ == "__main__":
    main(int(sys.argv[1]))
