"""Moves on all loops or computation spaces whose names match a pattern: ``plan.each("*.x")``.

All of them are made, or none: what is refused is collected, with its reason and place, and raised
as one refusal.
"""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Literal

from polyopt.arguments import checks_methods
from polyopt.errors import IllegalScheduleError, InvalidOptionError, UserError
from polyopt.oneline import one_line
from polyopt.transform.schedule.query import check_name, unknown
from polyopt.transform.schedule.tree import copies_in, loops_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from polyopt.transform.plan import Plan
    from polyopt.transform.schedule.program import ScheduledProgram


@checks_methods
@dataclass(frozen=True, eq=False, repr=False)
class Each:
    """The loops or spaces of a plan that match patterns, to make one move on each of them.

    Every method is the move of ``Plan`` that has its name, made on ``names`` in turn, without its
    first argument. Each raises what that move raises: one error for all that are refused, of the
    class of all refusals or, where these differ, ``IllegalScheduleError``.
    """

    plan: Plan
    kind: Literal["loop", "space"]
    #: those that match, in the order of the nest
    names: tuple[str, ...]

    def __repr__(self) -> str:
        """What it stands for."""
        return one_line(self, self.plan.scop.name, f"{self.kind}s {', '.join(self.names)}")

    def __len__(self) -> int:
        """How many match."""
        return len(self.names)

    def __iter__(self) -> Iterator[str]:
        """Their names."""
        return iter(self.names)

    # -- loops ------------------------------------------------------------------------------

    def split(self, size: int) -> Plan:
        """Each loop in two, of ``size`` iterations inside."""
        return self._made("split", "loop", size)

    def reverse(self) -> Plan:
        """Each loop from its last iteration to its first."""
        return self._made("reverse", "loop")

    def parallelize(self, *, schedule: str = "dynamic") -> Plan:
        """Each loop's iterations shared between threads."""
        return self._made("parallelize", "loop", schedule=schedule)

    def vectorize(self, width: int = 0, *, aligned: bool = False) -> Plan:
        """``width`` iterations of each loop at once (0: as the target has lanes)."""
        return self._made("vectorize", "loop", width, aligned=aligned)

    def unroll(self, factor: int = 0) -> Plan:
        """Each loop unrolled ``factor`` times; 0 means completely."""
        return self._made("unroll", "loop", factor)

    def unroll_and_jam(self, factor: int) -> Plan:
        """``factor`` iterations of each loop together, inside its inner loops."""
        return self._made("unroll_and_jam", "loop", factor)

    def separate_full_tiles(self) -> Plan:
        """Full tiles of each loop apart from partial ones."""
        return self._made("separate_full_tiles", "loop")

    def register_tile(self) -> Plan:
        """The elements that the loops inside each loop update, in registers."""
        return self._made("register_tile", "loop")

    # -- spaces -----------------------------------------------------------------------------

    def tile(self, **sizes: int) -> Plan:
        """Blocks of ``sizes`` iterations of each space."""
        return self._made("tile", "space", **sizes)

    def shift(self, **amounts: int) -> Plan:
        """All iterations of each space later by so many."""
        return self._made("shift", "space", **amounts)

    def inline(self) -> Plan:
        """Each space computed where it is read, and never stored."""
        return self._made("inline", "space")

    def fuse(
        self,
        into: str,
        *,
        at: str | None = None,
        storage: str = "scratch",
        keep: bool | None = None,
    ) -> Plan:
        """Each space pulled into ``into``, the last first: so those between are readers, too."""
        return self._made("fuse", "space", into=into, at=at, storage=storage, keep=keep)

    def store(
        self,
        *,
        at: str | None = None,
        fold: Mapping[int | str, int] | None = None,
        extents: Mapping[int | str, int] | None = None,
    ) -> Plan:
        """Each array in a buffer that is private to each iteration of loop ``at``."""
        return self._made("store", "space", at=at, fold=fold, extents=extents)

    # -- both -------------------------------------------------------------------------------

    def apply(self, function: Callable[[Plan, str], Plan]) -> Plan:
        """``plan = function(plan, name)`` for each name.

        Raises ``InvalidOptionError`` where the function gives something else than a plan.
        """
        return self._collected(
            getattr(function, "__name__", "apply"),
            lambda plan, name: plan.apply(function, name),
        )

    # -- inside -----------------------------------------------------------------------------

    def _made(self, move: str, kind: str, *args: Any, **named: Any) -> Plan:  # noqa: ANN401
        if kind != self.kind:
            message = f"{move} is a move of {kind}s, and these are {self.kind}s"
            hint = 'patterns with a dot are of loops: "*.x"; others are of spaces: "*"'
            raise InvalidOptionError(message, hint=hint)
        return self._collected(move, lambda plan, name: getattr(plan, move)(name, *args, **named))

    def _collected(self, move: str, make: Callable[[Plan, str], Plan]) -> Plan:
        result = self.plan
        refusals: dict[str, UserError] = {}
        # a producer is placed by its readers: those come first
        for name in self.names[::-1] if move == "fuse" else self.names:
            try:
                result = make(result, name)
            except UserError as error:
                refusals[name] = error
        if refusals:
            raise _together(move, self, refusals)
        return result


def each(plan: Plan, patterns: tuple[str, ...], exclude: tuple[str, ...]) -> Each:
    """See ``Plan.each``."""
    if not patterns:
        raise InvalidOptionError("each() takes at least one pattern", hint='each("*.x")')
    for pattern in (*patterns, *exclude):
        check_name("pattern", pattern)
    dotted = {"." in pattern for pattern in patterns}
    if len(dotted) > 1:
        message = "patterns of loops and of spaces are mixed"
        raise InvalidOptionError(message, hint="one with a dot means loops: give one kind a call")
    kind: Literal["loop", "space"] = "loop" if dotted == {True} else "space"
    known = _loops(plan.program) if kind == "loop" else _spaces(plan.program)
    for pattern in patterns:
        if not any(_match(names, (pattern,)) for names in known.values()):
            raise unknown(kind, pattern, known)
    found = [
        name for name, names in known.items()
        if _match(names, patterns) and not _match(names, exclude)
    ]  # fmt: skip
    if not found:
        raise InvalidOptionError("nothing is left of what matches", hint="exclude less")
    return Each(plan, kind, tuple(found))


def _loops(program: ScheduledProgram) -> dict[str, set[str]]:
    """Each loop with what people may call it, in the order of the nest."""
    found: dict[str, set[str]] = {}
    for loop in loops_of(program.tree):
        copies = [program.copies[name] for name in copies_in(loop)]
        owners = {owner for c in copies for owner in (c.statement.name, c.statement.array)}
        found[loop.name] = {loop.name, *(f"{owner}.{loop.iterator}" for owner in owners)}
    return found


def _spaces(program: ScheduledProgram) -> dict[str, set[str]]:
    """Each array that is written, in the order of the program."""
    written = [place.copy for place in program.places.values()]
    names = dict.fromkeys(program.copies[copy].statement.array for copy in written)
    return {name: {name} for name in names}


def _match(names: set[str], patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(name, pattern) for name in names for pattern in patterns)


def _together(move: str, asked: Each, refusals: Mapping[str, UserError]) -> UserError:
    """One refusal for several."""
    errors = list(refusals.values())
    some, all_ = len(errors), len(asked.names)
    message = f"{move} is refused for {some} of {all_} {asked.kind}s: {', '.join(refusals)}"
    notes: list[str] = []
    for name, error in refusals.items():
        known = error.diagnostic
        place = f"{known.span}: " if known.span else ""
        advice = f" ({known.hint})" if known.hint else ""
        notes.append(f"{name}: {place}{error.code}: {known.message}{advice}")
    names = ", ".join(map(repr, refusals))
    hint = f"none was made; exclude=[{names}] leaves these out" if some < all_ else ""
    span = errors[0].diagnostic.span
    kinds = {type(error) for error in errors}
    illegal = [error for error in errors if isinstance(error, IllegalScheduleError)]
    if illegal:
        kind = type(illegal[0]) if len(kinds) == 1 else IllegalScheduleError
        witnesses = tuple(w for error in illegal for w in error.witnesses)
        return kind(message, witnesses=witnesses, span=span, notes=notes, hint=hint)
    kind = kinds.pop() if len(kinds) == 1 else InvalidOptionError
    return kind(message, span=span, notes=notes, hint=hint)
