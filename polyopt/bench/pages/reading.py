"""What ``bench --json`` printed, read back and checked."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, cast

from polyopt.bench.compiling import CompileTime
from polyopt.bench.runner import Row
from polyopt.bench.tuning.sweep import Point, Sweep
from polyopt.errors import InvalidOptionError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_HINT = "`polyopt bench --json`, also with --compile-time or --sweep, prints what is read here"
#: kinds of values by the annotations of the fields that hold them
_KINDS: dict[str, tuple[type, str]] = {
    "str": (str, "text"),
    "int": (int, "a whole number"),
    "float": (float, "a number"),
    "float | None": (float, "a number or null"),
    "bool": (bool, "true or false"),
    "bool | None": (bool, "true, false or null"),
    "Mapping[str, int]": (dict, "an object"),
}


@dataclass(frozen=True)
class Conditions:
    """How a run was made."""

    command: str
    date: str
    cpu: str
    cores: int
    compiler: str
    versions: Mapping[str, str]


@dataclass(frozen=True)
class Times:
    """A run of ``bench``: rows, and what was asked for but not measured."""

    conditions: Conditions
    rows: tuple[Row, ...]
    peers: tuple[str, ...]
    missing: tuple[str, ...]
    notes: tuple[str, ...]
    #: by the number of threads, as text
    bandwidth_gbs: Mapping[str, float]
    peak_gflops: Mapping[str, float]


@dataclass(frozen=True)
class CompileTimes:
    """A run of ``bench --compile-time``: programs, and chains by their stages."""

    conditions: Conditions
    programs: tuple[CompileTime, ...]
    chain: tuple[CompileTime, ...]


@dataclass(frozen=True)
class Sweeps:
    """A run of ``bench --sweep``: one for each program and number of threads."""

    conditions: Conditions
    sweeps: tuple[Sweep, ...]


def read(text: str, name: str) -> Times | CompileTimes | Sweeps:
    """The run that a JSON document tells of; ``name`` is that of its file.

    Raises ``InvalidOptionError`` where it is not JSON, or tells of no run.
    """
    try:
        found = json.loads(text, parse_constant=_refuse)
    except ValueError as error:
        msg = f"{name} is not JSON: {error}"
        raise InvalidOptionError(msg, hint=_HINT) from None
    document = cast("dict[str, Any]", found if isinstance(found, dict) else {})
    try:
        if "sweeps" in document:
            return _sweeps(document)
        return _compile_times(document) if "chain" in document else _times(document)
    except _WrongError as error:
        msg = f"{name} holds no measurements: {error}"
        raise InvalidOptionError(msg, hint=_HINT) from None


class _WrongError(Exception):
    """The document is not as it should be."""


def _refuse(constant: str) -> None:
    msg = f"{constant} is no number"
    raise ValueError(msg)


def _times(document: Mapping[str, Any]) -> Times:
    machine = _object(document, "machine")
    rows = tuple(_row(values) for values in _objects(document, "rows"))
    return Times(
        _conditions(document, machine),
        rows,
        _texts(document, "peers"),
        _texts(document, "missing"),
        _texts(document, "notes"),
        _numbers(machine, "bandwidth_gbs"),
        _numbers(machine, "peak_gflops"),
    )


def merged(runs: Sequence[tuple[str, Times]]) -> Times:
    """Runs of one suite on one machine as one, by the names of their files.

    They may be beside different peers. Raises ``InvalidOptionError`` where they are of several
    machines, or measured a kernel twice.
    """
    (_, first), *others = runs
    for name, run in others:
        if run.conditions.cpu != first.conditions.cpu:
            msg = f"{name} is of another machine than {runs[0][0]}"
            raise InvalidOptionError(msg, hint="report runs of one machine together")
    places = [(row.suite, row.kernel, row.threads, row.variant) for _, r in runs for row in r.rows]
    twice = next((place for place in places if places.count(place) > 1), None)
    if twice is not None:
        msg = f"two of the files have times of {twice[1]} on {twice[2]} threads"
        raise InvalidOptionError(msg, hint="leave one of them out")
    commands = [run.conditions.command for _, run in runs]
    command = "\n".join(
        [
            *(f"{c} > {name}" for c, (name, _) in zip(commands[:-1], runs, strict=False)),
            commands[-1],
        ]
    )
    return replace(
        first,
        conditions=replace(first.conditions, command=command),
        rows=tuple(row for _, run in runs for row in run.rows),
        peers=tuple(dict.fromkeys(peer for _, run in runs for peer in run.peers)),
        missing=tuple(dict.fromkeys(peer for _, run in runs for peer in run.missing)),
        notes=tuple(note for _, run in runs for note in run.notes),
    )


def _compile_times(document: Mapping[str, Any]) -> CompileTimes:
    programs = tuple(_compile_time(values) for values in _objects(document, "kernels"))
    chain = tuple(
        CompileTime("", *(_field(values, n, kind) for n, kind in _OF_CHAINS))
        for values in _objects(document, "chain")
    )
    return CompileTimes(_conditions(document, document), programs, chain)


_OF_CHAINS = (("stages", "int"), ("plan_s", "float"), ("proof_s", "float"))


def _sweeps(document: Mapping[str, Any]) -> Sweeps:
    found = [
        Sweep(
            _field(values, "program", "str"),
            _object(values, "size"),
            _field(values, "threads", "int"),
            tuple(_point(point) for point in _objects(values, "points")),
        )
        for values in _objects(document, "sweeps")
    ]
    for one in found:
        if sum(point.chosen for point in one.points) != 1:
            raise _WrongError(f"of the points of {one.program} one has to be 'chosen'")
    return Sweeps(_conditions(document, document), tuple(found))


def _point(values: Mapping[str, Any]) -> Point:
    point = Point(**{f.name: _field(values, f.name, str(f.type)) for f in fields(Point)})
    if point.median_ms <= 0 or point.estimate <= 0:
        raise _WrongError(f"'median_ms' or 'estimate' of {point.name} is not positive")
    return point


def _conditions(document: Mapping[str, Any], machine: Mapping[str, Any]) -> Conditions:
    return Conditions(
        _field(document, "command", "str"),
        _field(document, "date", "str"),
        _field(machine, "cpu", "str"),
        _field(machine, "cores", "int"),
        _field(machine, "compiler", "str"),
        {name: str(version) for name, version in _object(document, "versions").items()},
    )


def _row(values: Mapping[str, Any]) -> Row:
    row = Row(**{f.name: _field(values, f.name, str(f.type)) for f in fields(Row)})
    if row.median_ms <= 0:
        raise _WrongError(f"'median_ms' of {row.variant} of {row.kernel} is not positive")
    return row


def _compile_time(values: Mapping[str, Any]) -> CompileTime:
    known = {
        f.name: _field(values, f.name, str(f.type))
        for f in fields(CompileTime)
        if f.name != "reported_s"
    }
    reported = values.get("reported_s")
    if reported is not None:
        reported = _field(values, "reported_s", "float")
    return CompileTime(**known, reported_s=reported)


def _field(values: Mapping[str, Any], key: str, annotation: str) -> Any:  # noqa: ANN401
    """A value of the kind that the annotation names; a whole number is a number too."""
    kind, shown = _KINDS[annotation]
    if annotation.endswith("| None") and values.get(key) is None:
        return None
    found: Any = values.get(key)
    if kind is float and type(found) is int:
        found = float(found)
    if type(found) is not kind or (kind is float and not math.isfinite(found)):
        raise _WrongError(f"{key!r} is not {shown}" if key in values else f"there is no {key!r}")
    return found


def _list(values: Mapping[str, Any], key: str) -> list[Any]:
    found = values.get(key)
    if not isinstance(found, list):
        raise _WrongError(f"{key!r} is not a list" if key in values else f"there is no {key!r}")
    return cast("list[Any]", found)


def _objects(values: Mapping[str, Any], key: str) -> list[dict[str, Any]]:
    found = _list(values, key)
    if not all(isinstance(each, dict) for each in found):
        raise _WrongError(f"{key!r} has what is not an object")
    return found


def _texts(values: Mapping[str, Any], key: str) -> tuple[str, ...]:
    return tuple(map(str, _list(values, key)))


def _object(values: Mapping[str, Any], key: str) -> dict[str, Any]:
    return _field(values, key, "Mapping[str, int]")


def _numbers(values: Mapping[str, Any], key: str) -> dict[str, float]:
    found = _object(values, key)
    return {name: _field(found, name, "float") for name in found}
