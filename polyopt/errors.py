"""What can go wrong, told apart: each kind of error is a class with a page in docs/errors.md.

A user's mistake is a ``UserError``; anything else is an ``InternalError`` and asks for a report.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Self

if TYPE_CHECKING:
    from collections.abc import Mapping

    from polyopt.source import Span
    from polyopt.transform.schedule.move import Move


#: so many characters of a value are shown
_SHOWN = 60


@dataclass(frozen=True)
class Diagnostic:
    """A message with its place, further notes, and a hint on what would help."""

    message: str
    span: Span | None = None
    notes: tuple[str, ...] = ()
    hint: str = ""

    def render(self, code: str = "error") -> str:
        """The diagnostic as people read it: place, reason, caret, notes, hint."""
        place = f"{self.span}: " if self.span else ""
        lines = [f"{place}{code}: {self.message}"]
        if self.span and (caret := self.span.render()):
            lines.append(caret)
        lines += [f"  note: {note}" for note in self.notes]
        if self.hint:
            lines.append(f"  hint: {self.hint}")
        return "\n".join(lines)


def given(value: object) -> str:
    """What a user gave, as messages say it: of ``None``, ``null`` in files, that it is nothing."""
    return "nothing" if value is None else shown(value)


def shown(value: object) -> str:
    """A value as messages show it: never long, whatever its own text is or does."""
    try:
        text = repr(value)
    except Exception:  # noqa: BLE001  (its class may be the user's)
        return f"a {type(value).__name__}"
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


class PolyoptError(Exception):
    """Base of every error polyopt raises; ``code`` names its page in the error index."""

    code: ClassVar[str] = "error"

    def __init__(
        self,
        message: str,
        *,
        span: Span | None = None,
        notes: tuple[str, ...] | list[str] = (),
        hint: str = "",
    ) -> None:
        self.diagnostic = Diagnostic(message, span, tuple(notes), hint)
        super().__init__(message)

    def __str__(self) -> str:
        """The rendered diagnostic."""
        return self.diagnostic.render(self.code)


class InternalError(PolyoptError):
    """A defect of polyopt itself: please report it with the program that shows it."""

    code = "internal-error"

    def __init__(self, message: str, *, span: Span | None = None) -> None:
        super().__init__(
            message, span=span, hint="this is a defect in polyopt; please report it with your input"
        )


class WrongCodeError(InternalError):
    """A kernel that may have run already computes something else than its program.

    Its C was checked while it ran, as that of ``po.jit`` is. What it returned is not to be used.
    """

    code = "wrong-code"


def unexpected(error: Exception) -> InternalError:
    """An exception that nothing foresees as the defect that it shows."""
    first = str(error).strip().splitlines()
    said = f": {first[0]}" if first else ""
    made = InternalError(f"{type(error).__name__}{said}")
    made.__cause__ = error
    return made


class UserError(PolyoptError):
    """Base of the errors that a change of the input mends."""


class ProgramSyntaxError(UserError):
    """The program text does not parse."""

    code = "syntax-error"


class NonAffineError(UserError):
    """A bound, condition or subscript that is not affine in iterators and parameters."""

    code = "non-affine"


class UnsupportedError(UserError):
    """A construct that the frontend does not take."""

    code = "unsupported"


class TooDeepError(UserError):
    """Nesting deeper than the frontends accept."""

    code = "too-deep"


class UnknownNameError(UserError):
    """A name of an array, statement, loop or kernel that does not exist; lists those that do."""

    code = "unknown-name"


class TypeMismatchError(UserError):
    """An operation on types for which it is not defined."""

    code = "type-mismatch"


class OutOfBoundsError(UserError):
    """An access that leaves its array, with the condition under which it does."""

    code = "out-of-bounds"


class UninitializedError(UserError):
    """A read of a local array's element that nothing wrote before."""

    code = "uninitialized"


class InvalidOptionError(UserError):
    """An argument of a call that makes no sense, whatever the program."""

    code = "invalid-option"


@dataclass(frozen=True)
class Witness:
    """Two clashing statement instances under concrete parameters: a counterexample.

    ``source`` and ``sink`` are pairs of a statement's name and its iterator values.
    """

    kind: str
    source: tuple[str, tuple[int, ...]]
    sink: tuple[str, tuple[int, ...]]
    params: Mapping[str, int] = field(default_factory=dict[str, int])
    cell: tuple[str, tuple[int, ...]] | None = None

    def __str__(self) -> str:
        """One line: ``flow S[0, 1] -> T[1, 0] through a[0, 1] when N = 4``."""
        text = f"{self.kind} {_instance(self.source)} -> {_instance(self.sink)}"
        if self.cell is not None:
            text += f" through {_instance(self.cell)}"
        if self.params:
            text += " when " + ", ".join(f"{k} = {v}" for k, v in self.params.items())
        return text


def _instance(named: tuple[str, tuple[int, ...]]) -> str:
    return f"{named[0]}[{', '.join(map(str, named[1]))}]"


class IllegalScheduleError(UserError):
    """Base of refusals: the move would change what the program computes.

    ``witnesses`` are instances that clash. ``offer`` are moves that were found to be legal in place
    of the refused one, which is the last of them where it can be: ``plan.accept(refusal)``.
    """

    code = "illegal-schedule"

    def __init__(
        self,
        message: str,
        *,
        witnesses: tuple[Witness, ...] = (),
        span: Span | None = None,
        notes: tuple[str, ...] | list[str] = (),
        hint: str = "",
    ) -> None:
        self.witnesses = witnesses
        self.offer: tuple[Move, ...] = ()
        shown = [f"witness: {w}" for w in witnesses]
        super().__init__(message, span=span, notes=[*shown, *notes], hint=hint)

    def with_hint(self, hint: str, offer: tuple[Move, ...] = ()) -> Self:
        """The same refusal with another hint, and the moves that it offers."""
        known = self.diagnostic
        notes = known.notes[len(self.witnesses) :]
        made = type(self)(
            known.message, witnesses=self.witnesses, span=known.span, notes=notes, hint=hint
        )
        made.offer = offer
        return made


class OrderViolatedError(IllegalScheduleError):
    """The new order runs a reader before its writer, or a writer between the two."""

    code = "order-violated"


class ParallelCarriedError(IllegalScheduleError):
    """A loop marked parallel carries a dependence."""

    code = "parallel-carried"


class VectorCarriedError(IllegalScheduleError):
    """A loop marked vector carries a dependence shorter than the vector width."""

    code = "vector-carried"


class CoverageError(IllegalScheduleError):
    """A fused read has no producer instance before it in its tile."""

    code = "not-covered"


class LiveOutError(IllegalScheduleError):
    """A result that outlives the program would be lost or changed."""

    code = "live-out-lost"


class StorageTooSmallError(IllegalScheduleError):
    """A scratch buffer or fold that overwrites or cuts off a value still needed."""

    code = "storage-too-small"


class NotPermutableError(IllegalScheduleError):
    """Loops that cannot be exchanged or tiled as asked."""

    code = "not-permutable"


class NotFusableError(IllegalScheduleError):
    """A producer that cannot be placed where asked."""

    code = "not-fusable"


class NotDecidedError(UserError):
    """An analysis ran into its budget: nothing is shown either way, or points are not counted."""

    code = "not-decided"


class TooLargeError(UserError):
    """What plans, macros or inlined calls would make of a source is more than a budget allows."""

    code = "too-large"


class NotCutError(UserError):
    """A program whose results cannot be computed box by box."""

    code = "not-cut"


class MemoryLimitError(UserError):
    """A box of the results that needs more memory than there may be, however small it is."""

    code = "memory-limit"


class ArgumentError(UserError):
    """A kernel called with arrays or sizes that do not fit its signature."""

    code = "bad-argument"


class AliasError(ArgumentError):
    """Two arguments share memory in a way that the kernel does not allow."""

    code = "aliasing"


class CompilerMissingError(UserError):
    """No C compiler was found."""

    code = "compiler-missing"


class CompilerFailedError(UserError):
    """The C compiler stopped with an error or could not be run."""

    code = "compiler-failed"


class CacheError(UserError):
    """The kernel cache cannot be used as it is."""

    code = "cache-unusable"


class MissingExtraError(UserError):
    """An optional dependency is not installed."""

    code = "missing-extra"


class GraphError(UserError):
    """A network that is not well-formed: a cycle, a missing tensor, shapes that do not fit."""

    code = "bad-graph"


class WrongPassError(UserError):
    """A graph pass that changed what the network computes, or broke the graph."""

    code = "wrong-pass"
