"""Translation validation of every kernel that is built, within a budget.

``check_code`` goes on where this gives up. What was shown is kept with the compiled kernel, by the
program that its C was compared with.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Literal, Protocol

from polyopt.errors import UserError
from polyopt.isl import budget
from polyopt.oneline import some
from polyopt.transform.legality.equivalence import NotShownError

if TYPE_CHECKING:
    from polyopt.codegen.signature import CProgram
    from polyopt.codegen.validate.translation import ReadBack
    from polyopt.ir.scop import Scop

#: isl operations for all sizes, some seconds, beside which the C compiler runs: three of four plans
#: of the library take fewer; and for runs at small sizes where these give no answer
OPERATIONS, RUN_OPERATIONS = 8_000_000, 1_000_000
#: what is said of a text that nobody checked
NOT_CHECKED = "the C was not checked (check=False, or POLYOPT_CHECK=0)"
#: what is said of a text whose check goes on in another process
PENDING = "the C is being checked"


def is_asked_for(*, check: bool | Literal["later"] | None) -> bool:
    """Whether new C is to be checked: as the caller says, else unless ``POLYOPT_CHECK`` is 0."""
    return check if isinstance(check, bool) else os.environ.get("POLYOPT_CHECK") != "0"


class Check(Protocol):
    """What checks a C text, and what tells the program that it compares with from any other."""

    @property
    def key(self) -> str:
        """What tells the program from any other."""
        ...

    def __call__(self) -> str:
        """What is shown, in words. Raises ``InternalError`` where the C computes something else."""
        ...


@dataclass(frozen=True)
class CodeCheck:
    """A C text that has to compute what a program does."""

    scop: Scop
    program: CProgram

    @property
    def key(self) -> str:
        """What tells the program from any other."""
        values = (repr(statement.value) for statement in self.scop.statements)
        return sha256("\0".join([str(self.scop), *values]).encode()).hexdigest()

    def __call__(self, *, operations: int = OPERATIONS) -> str:
        """What is shown, in words.

        The text that the C compiler gets is read back. For all sizes its values are compared with
        the source's, and the iterations that threads and lanes share with each other, within so
        many ``operations``; where that gives no answer, both run at small sizes. Raises
        ``InternalError`` where the C computes something else.
        """
        from polyopt.codegen.validate.translation import ReadBack, shown  # reads C: takes a while

        read = ReadBack(self.scop, self.program)
        allowed = budget(operations, "the check of new C")
        found = shown(read, values=allowed, loops=allowed)
        if found.claims is not None and found.loops is not None:
            values = "the C read back has the source's values, for all sizes"
            apart = f", and {some(found.loops, 'shared loop')} without a clash"
            claims = f" ({some(found.claims, 'claim')})" if found.claims else ""
            return f"{values}{claims}{apart if found.loops else ''}"
        if allowed.spent and not isinstance(found.reason, NotShownError):
            spent = f"the C is not decided within {operations:,} isl operations"
            return f"{spent}; plan.prove(code=True) goes on"
        return _run(read, found.why_not)


def _run(read: ReadBack, reason: str) -> str:
    from polyopt.codegen.validate.translation import check_runs

    try:
        runs = check_runs(read, operations=RUN_OPERATIONS)
    except (UserError, RecursionError):  # it is not read back
        runs = 0
    done = f"gives the source's results in {some(runs, 'run')}" if runs else "is not compared"
    return f"the C read back {done}; for all sizes it is not shown: {reason}"
