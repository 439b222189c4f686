"""Tuning of a schedule function over a space of its parameters, which the user writes."""

from __future__ import annotations

import inspect
import math
import random
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

from polyopt.arguments import checks_arguments
from polyopt.bench.tuning.journal import Times
from polyopt.errors import InvalidOptionError, UserError, given, shown
from polyopt.oneline import at_sizes, one_line, some
from polyopt.runtime.measuring.alternate import Subject, alternate
from polyopt.runtime.measuring.arguments import CallArguments, inputs_for
from polyopt.scheduler.model.objective import NOISE
from polyopt.scheduler.model.parameters import assumed_sizes
from polyopt.transform.plan import Plan

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from polyopt.ir.scop import Scop
    from polyopt.runtime.kernel import Kernel

    Parameters = Mapping[str, Any]

#: so many points of a space are made: more are drawn from all
_MOST = 1_000


@dataclass(frozen=True, eq=False)
class Point:
    """A choice of parameters, its plan, and how long it took in turn with the first point's."""

    parameters: Parameters
    plan: Plan
    times: Times

    @property
    def ratio(self) -> float:
        """Its median relative to that of the first point in the same turns."""
        return self.times.median_ms / self.times.own_ms

    def __str__(self) -> str:
        """``rows=32, width=8``."""
        return _text(self.parameters)


@dataclass(frozen=True, eq=False)
class Refused:
    """A choice of parameters that gives no legal plan, and why."""

    parameters: Parameters
    error: UserError

    def __str__(self) -> str:
        """``rows=0: a size has to be ...``."""
        return f"{_text(self.parameters)}: {self.error.diagnostic.message}"


@dataclass(frozen=True, eq=False)
class Tuned:
    """What tuning found: points with their times, the best first, and those that were refused."""

    program: str
    sizes: Mapping[str, int]
    points: tuple[Point, ...]
    refused: tuple[Refused, ...]
    #: points whose plan another point has, too, and that so were not measured again
    repeated: int
    #: points for which the budget left no time
    unmeasured: int

    @property
    def best(self) -> Point:
        """The fastest: the first point, unless another is clearly faster, twice."""
        return self.points[0]

    @property
    def plan(self) -> Plan:
        """The plan of the fastest point."""
        return self.best.plan

    @property
    def parameters(self) -> Parameters:
        """The parameters of the fastest point."""
        return self.best.parameters

    def __repr__(self) -> str:
        """The program, and how many points there are."""
        counts = some(len(self.points), "point"), some(len(self.refused), "refusal")
        return one_line(self, at_sizes(self.program, self.sizes), *counts, str(self.best))

    def __str__(self) -> str:
        """A row a point, and how many were refused, by the code of the refusal."""
        width = max(len(str(point)) for point in self.points)
        lines = [at_sizes(self.program, self.sizes)]
        lines += [
            f"{p!s:<{width}}  {p.times.median_ms:10.3f} ms  {p.ratio:6.3f}"
            + ("  noisy" if p.times.noisy else "")
            for p in self.points
        ]
        codes = Counter(refusal.error.code for refusal in self.refused)
        lines += [f"{count} refused: {code}" for code, count in sorted(codes.items())]
        lines += [f"{self.repeated} give a plan that others give"] * bool(self.repeated)
        lines += [f"{self.unmeasured} not measured in time"] * bool(self.unmeasured)
        return "\n".join(lines)


@checks_arguments
def tune(  # noqa: PLR0913  (a keyword per choice)
    program: Scop,
    schedule: Callable[..., Plan],
    space: Mapping[str, Sequence[Any]],
    *,
    sizes: Mapping[str, int] | None = None,
    threads: int | None = None,
    seconds: float = 0.5,
    budget: float = math.inf,
    most: int = _MOST,
    seed: int = 0,
    target: str = "native",
) -> Tuned:
    """Measure ``schedule(plan, **parameters)`` for all parameters of a space, the fastest first.

    ``space`` gives values by the name of a parameter; their product is tried, or ``most`` points of
    it, drawn by ``seed``. Refused points are left out, and told in the result. ``sizes`` are those
    measured at (usual ones if left out), ``seconds`` what each point may take, ``budget`` seconds
    what all may: after that nothing more is measured. Points take turns with the first one, which
    stays the best unless another is clearly faster, twice.

    Raises ``InvalidOptionError`` for a space that names what the function does not take, for an
    empty one, and where all points are refused.

    >>> import polyopt as po
    >>> blur = po.load_kernel("blur").scop
    >>> rows = [0, 16, 64]
    >>> found = po.tune(blur, po.load_schedule("blur"), {"rows": rows}, sizes={"H": 64, "W": 64},
    ...                 seconds=0.01)
    >>> len(found.points), str(found.refused[0])
    (2, 'rows=0: out.y: a size has to be a positive whole number, not 0')
    """
    _check_space(schedule, space)
    start = time.monotonic()
    known = dict(assumed_sizes(program, sizes))
    chosen = _chosen(space, most, seed)
    plans, refused, repeated = _plans(program, schedule, chosen)
    measure = _measuring(plans[0][1], known, threads, seconds=seconds, seed=seed, target=target)

    def late() -> bool:
        return time.monotonic() - start > budget

    points: list[Point] = []
    for parameters, plan in plans:
        if not points or not late():
            points.append(Point(parameters, plan, measure(plan)))
    ranked = _confirmed(points, measure, late)
    return Tuned(
        program.name, known, ranked, refused, repeated, len(plans) - len(points),
    )  # fmt: skip


def _measuring(
    first: Plan,
    sizes: Mapping[str, int],
    threads: int | None,
    *,
    seconds: float,
    seed: int,
    target: str,
) -> Callable[[Plan], Times]:
    """Times plans in turn with the first, on the same inputs."""
    kernel = first.compile(target=target)
    inputs = inputs_for(kernel, sizes, seed)

    def subject(kernel: Kernel) -> Subject:
        call = CallArguments.make(kernel, inputs, sizes)
        return Subject(call.bind(kernel, threads), call.restore if call.changes_inputs else None)

    own = subject(kernel)

    def measure(plan: Plan) -> Times:
        turns = {"first": own, "other": subject(plan.compile(target=target))}
        samples = alternate(turns, seconds=seconds)
        return Times.of(samples["other"], samples["first"])

    return measure


def _confirmed(
    points: list[Point], measure: Callable[[Plan], Times], late: Callable[[], bool]
) -> tuple[Point, ...]:
    """The points in order. Of many times one is low by chance: what would be the best takes turns
    once more, and the worse of both ratios counts."""
    sure = {id(points[0])}
    ranked = _ranked(points)
    while id(ranked[0]) not in sure and not late():
        best = ranked[0]
        worse = max(best, replace(best, times=measure(best.plan)), key=lambda p: p.ratio)
        sure.add(id(worse))
        points[points.index(best)] = worse
        ranked = _ranked(points)
    return ranked


def _ranked(points: Sequence[Point]) -> tuple[Point, ...]:
    first = points[0]
    return tuple(sorted(points, key=lambda p: p.ratio + (0.0 if p is first else NOISE)))


def _check_space(schedule: Callable[..., Plan], space: Mapping[str, Sequence[Any]]) -> None:
    """Raise ``InvalidOptionError`` for what is no space of a function's parameters."""
    name = getattr(schedule, "__name__", "the schedule")
    if not isinstance(cast("object", space), Mapping):
        raise InvalidOptionError(f"the space is {given(space)}: it has no parameters",
                                 hint='space={"rows": [16, 32]}')  # fmt: skip
    if not space:
        raise InvalidOptionError("the space has no parameters", hint='space={"rows": [16, 32]}')
    for parameter, values in space.items():
        if isinstance(values, str) or not len(values):
            message = f"the space gives {parameter} {shown(values)}: that is no list of values"
            raise InvalidOptionError(message, hint='space={"rows": [16, 32]}')
    try:
        signature = inspect.signature(schedule)
    except (TypeError, ValueError):
        message = f"the schedule is {given(schedule)}: that is no function of a plan"
        raise InvalidOptionError(message, hint="give a function, or po.load_schedule") from None
    takes_all = any(p.kind is p.VAR_KEYWORD for p in signature.parameters.values())
    taken = list(signature.parameters)[1:]
    unknown = [p for p in space if p not in taken]
    if unknown and not takes_all:
        message = f"{name} takes no parameter {unknown[0]!r}"
        hint = f"it takes: {', '.join(taken)}" if taken else "it takes none"
        raise InvalidOptionError(message, hint=hint)
    missing = [
        p.name for p in list(signature.parameters.values())[1:]
        if p.default is p.empty and p.name not in space and p.kind in {p.POSITIONAL_OR_KEYWORD,
                                                                       p.KEYWORD_ONLY}
    ]  # fmt: skip
    if missing:
        message = f"{name} needs a value for {missing[0]!r}"
        raise InvalidOptionError(message, hint="give its values in the space")


def _chosen(space: Mapping[str, Sequence[Any]], most: int, seed: int) -> Iterator[Parameters]:
    """All points in order, or so many of them: the first, and others drawn."""
    if most < 1:
        raise InvalidOptionError(f"most={most}: at least one point is to be measured")
    count = math.prod(len(values) for values in space.values())
    numbers = range(count)
    if count > most:
        drawn = random.Random(seed).sample(range(1, count), most - 1)  # noqa: S311 - no secret
        numbers = [0, *sorted(drawn)]
    for number in numbers:
        rest, point = number, dict[str, Any]()
        for name, values in reversed(list(space.items())):
            rest, place = divmod(rest, len(values))
            point[name] = values[place]
        yield {name: point[name] for name in space}


def _plans(
    program: Scop, schedule: Callable[..., Plan], chosen: Iterator[Parameters]
) -> tuple[list[tuple[Parameters, Plan]], tuple[Refused, ...], int]:
    """The legal plans, each once; what was refused; and how often a plan came again."""
    start = Plan(program)
    made: dict[str, tuple[Parameters, Plan]] = {}
    refused: list[Refused] = []
    repeated = 0
    for parameters in chosen:
        try:
            plan = start.apply(schedule, **parameters)
            plan.prove()
        except UserError as error:
            refused.append(Refused(parameters, error))
            continue
        repeated += plan.script in made
        made.setdefault(plan.script, (parameters, plan))
    if not made:
        message = f"all {len(refused)} points of the space are refused"
        raise InvalidOptionError(message, notes=[str(r) for r in refused[:3]])
    return list(made.values()), tuple(refused), repeated


def _text(parameters: Parameters) -> str:
    return ", ".join(f"{name}={value}" for name, value in parameters.items())
