"""Costs of a machine's instructions, caches and threads: what the time model knows of a target.

Cycles of one core unless a name says otherwise. Named targets have typical ones. This machine has
those that ``polyopt doctor --measure`` measured and left in a file beside the kernel cache, or else
those of its instruction set.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING, Any, cast

from polyopt.atomic_file import write_whole
from polyopt.codegen.target import cpu_id
from polyopt.errors import CacheError
from polyopt.runtime.cache import default_directory

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from polyopt.codegen.target import Target

#: of one name
Value = float | tuple[float, ...]
#: of the file; one of another format is not read
_FORMAT = 1
#: what belongs to the model and not to a machine: no file has it
_FITTED = frozenset({"overlap", "exposed"})
#: larger than any cost
_MOST = 1e12


@dataclass(frozen=True)
class Costs:
    """Cycles per vector instruction of the target's width, and bytes per cycle of its caches."""

    #: 10^9 cycles per second
    clock: float
    #: a vector load within a line, and what one across two lines takes more; a store
    load: float
    split: float
    store: float
    #: an addition, a multiplication, or both in one
    arithmetic: float
    #: one of numbers, not vectors: several start in a cycle
    scalar: float
    #: until the next addition can use an addition's result
    latency: float
    #: a division of f32 and of f64 vectors, per byte of a vector; a square root takes half more
    divide: float
    #: to load an element from a place of its own, per lane
    gather: float
    #: a math function, a division of integers: per lane
    call: float
    integer_divide: float
    #: to start a loop, and one of vectors: its first and last iterations fill none
    start: float
    vector_start: float
    #: bytes per cycle that one core gets from the second-level cache, the last one, and memory
    bandwidth: tuple[float, float, float]
    #: the same for all cores together, where they share it
    shared: tuple[float, float, float]
    #: how much the parts of a nest overlap: 1 adds them up, a large power is the largest alone
    overlap: float
    #: the share of moving bytes that cores wait for: the rest was fetched ahead
    exposed: float
    #: nanoseconds to start threads and wait for the last
    region: float


#: Costs of typical machines by instruction set, ``shared`` and ``region`` as one core has it:
#: threads that end a region count down one number in turn. Instructions are from LLVM's scheduling
#: models: Skylake for ``generic`` and ``avx2``, Neoverse N1 for ``neon``. ``avx512`` is Zen 4, as
#: ``bench/costs.c`` measured it. Divisions of integers differ most: tens of cycles on Skylake, 7 on
#: Zen 4. Bandwidths, calls and starts, of which such models do not tell, are guesses by those that
#: were measured; a region is that of Zen 3. ``overlap`` is fitted, for all (``docs/model.md``).
_TYPICAL = {
    # no fused multiply-adds: half of the operations take two instructions
    "generic": Costs(
        clock=3.5, load=0.5, split=0.5, store=1.0, arithmetic=0.7, scalar=0.25, latency=4.0,
        divide=0.22, gather=1.0, call=16.0, integer_divide=20.0, start=6.0, vector_start=8.0,
        bandwidth=(20.0, 12.0, 6.0), shared=(20.0, 12.0, 10.0),
        overlap=1.5, exposed=0.4, region=345.0,
    ),
    "avx2": Costs(
        clock=3.5, load=0.5, split=0.5, store=1.0, arithmetic=0.5, scalar=0.25, latency=4.0,
        divide=0.2, gather=1.2, call=16.0, integer_divide=20.0, start=6.0, vector_start=12.0,
        bandwidth=(28.0, 16.0, 6.0), shared=(28.0, 16.0, 10.0),
        overlap=1.5, exposed=0.4, region=345.0,
    ),
    # loads and stores of two halves each
    "avx512": Costs(
        clock=3.7, load=1.0, split=0.5, store=2.0, arithmetic=0.75, scalar=0.25, latency=3.0,
        divide=0.12, gather=1.2, call=16.0, integer_divide=7.0, start=0.4, vector_start=7.0,
        bandwidth=(31.0, 27.0, 5.8), shared=(29.0, 26.0, 10.0),
        overlap=1.5, exposed=0.4, region=245.0,
    ),
    # two pipes for loads and two for arithmetic; an addition takes 2 cycles, a multiply-add 4
    "neon": Costs(
        clock=2.8, load=0.5, split=0.5, store=1.0, arithmetic=0.5, scalar=0.25, latency=3.0,
        divide=0.44, gather=1.0, call=20.0, integer_divide=12.0, start=6.0, vector_start=8.0,
        bandwidth=(16.0, 8.0, 6.0), shared=(16.0, 8.0, 16.0),
        overlap=1.5, exposed=0.4, region=345.0,
    ),
}  # fmt: skip


def costs_of(target: Target) -> Costs:
    """What is known of a target: of this machine what was measured, otherwise what is typical."""
    costs = typical_costs(target)
    return replace(costs, **measured_costs().values) if target.name == "native" else costs


def typical_costs(target: Target) -> Costs:
    """Those of a typical machine with the target's instructions and cores.

    Each core has caches of its own, or a part of one; memory is for all of them.
    """
    costs = _TYPICAL.get(target.isa, _TYPICAL["generic"])
    second, last, memory = costs.shared
    return replace(
        costs,
        shared=(second * target.cores, last * target.cores, memory),
        region=costs.region * target.cores,
    )


@dataclass(frozen=True)
class MeasuredCosts:
    """What the file of this machine's costs says."""

    path: Path
    #: by names of ``Costs``; none where there is no file, or one that is ignored
    values: Mapping[str, Value] = field(default_factory=dict[str, Value])
    #: of how many cores ``shared`` and ``region`` are
    cores: int = 0
    #: why the file is ignored
    fault: str = ""


def measured_costs() -> MeasuredCosts:
    """This machine's measured costs, read once in a process."""
    digest = hashlib.sha256(cpu_id().encode()).hexdigest()
    return _read(default_directory() / f"costs-{digest[:16]}.json")


def keep_measured(costs: Costs, cores: int) -> MeasuredCosts:
    """Put this machine's costs into their file, with two significant digits.

    Another measurement says much the same in two digits, so plans do not hang on noise.
    Raises ``CacheError`` where the file cannot be written.
    """
    path = measured_costs().path
    values = {n: _rounded(v) for n, v in asdict(costs).items() if n not in _FITTED}
    kept = {"format": _FORMAT, "cpu": cpu_id(), "cores": cores, "costs": values}
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_whole(path, json.dumps(kept, indent=2) + "\n")
    except OSError as error:
        msg = f"the machine's costs could not be written to {path}: {error.strerror}"
        hint = "set POLYOPT_CACHE to a directory that you own and can write to"
        raise CacheError(msg, hint=hint) from None
    _read.cache_clear()
    return measured_costs()


def _rounded(value: Value) -> Value:
    """With two significant digits."""
    if isinstance(value, tuple):
        return tuple(float(f"{number:.2g}") for number in value)
    return float(f"{value:.2g}")


@cache
def _read(path: Path) -> MeasuredCosts:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        return MeasuredCosts(path, _values_in(document), int(_number("cores", document["cores"])))
    except FileNotFoundError:
        return MeasuredCosts(path)
    except OSError as error:
        return MeasuredCosts(path, fault=f"it cannot be read: {error.strerror}")
    except _WrongError as error:
        return MeasuredCosts(path, fault=str(error))
    except (ValueError, RecursionError):
        return MeasuredCosts(path, fault="it is no JSON document")
    except (AttributeError, KeyError, TypeError):
        return MeasuredCosts(path, fault="it is not what `polyopt doctor --measure` writes")


class _WrongError(Exception):
    """The file is ignored, and this is why."""


def _values_in(document: Mapping[str, Any]) -> dict[str, Value]:
    """Costs by name, as far as this version knows the names."""
    if document["format"] != _FORMAT:
        msg = "another version of polyopt wrote it"
        raise _WrongError(msg)
    if document["cpu"] != cpu_id():
        msg = "it is of another processor"
        raise _WrongError(msg)
    known = asdict(_TYPICAL["generic"])
    given: Mapping[str, object] = document["costs"]
    return {
        name: _value_of(name, value, known[name])
        for name, value in given.items()
        if name in known and name not in _FITTED
    }


def _value_of(name: str, given: object, known: Value) -> Value:
    """A cost as the file gives it, where it is of the kind of a known one."""
    if not isinstance(known, tuple):
        return _number(name, given)
    numbers = cast("list[object]", given) if isinstance(given, list) else []
    if len(numbers) != len(known):
        msg = f"{name} is not {len(known)} numbers"
        raise _WrongError(msg)
    return tuple(_number(name, number) for number in numbers)


def _number(name: str, given: object) -> float:
    if isinstance(given, int | float) and not isinstance(given, bool) and 0 < given < _MOST:
        return float(given)
    msg = f"{name} is {json.dumps(given)[:40]}, and not a positive number"
    raise _WrongError(msg)
