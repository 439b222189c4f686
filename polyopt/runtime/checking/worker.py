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
#: what it yields of the processor: who waits for a first result comes first
NICE = 10


def answer(check: Check) -> tuple[bool, str]:
    """Whether a check accepts a C text, and what it shows, or why not."""
    try:
        with exclusive():
            return True, check()
    except InternalError as error:
        return False, error.diagnostic.message
    except Exception as error:  # noqa: BLE001 (what was not foreseen is told, not lost)
        return False, unexpected(error).diagnostic.message


def main(handle: int) -> None:
    """Answer until nobody asks."""
    with contextlib.suppress(OSError):
        os.nice(NICE)
    with Connection(handle) as line, contextlib.suppress(EOFError, OSError):
        while line.poll(IDLE_S):
            line.send(answer(line.recv()))


if __name__ == "__main__":
    main(int(sys.argv[1]))
