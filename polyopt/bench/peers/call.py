"""What a peer is asked for, and what it answers with."""

from __future__ import annotations

import importlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from polyopt.errors import MissingExtraError
from polyopt.extras import install_command
from polyopt.runtime.arrays import empty

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import ModuleType

    from polyopt.ir.scop import Scop

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, eq=False)
class Request:
    """A kernel by name, and the arguments of its calls.

    ``inputs`` are arrays and scalars by the names of the kernel's arguments; ``outputs`` are
    arrays of the shapes and types that its results have (the reference's own, never written).
    """

    kernel: str
    sizes: Mapping[str, int]
    inputs: Mapping[str, Any]
    outputs: Mapping[str, Array]
    #: the numbers of threads that will be asked for
    threads: tuple[int, ...] = (1,)
    #: the program itself, for peers that take any
    scop: Scop | None = None
    #: the module of a kernel of the library, which may have forms of its own
    module: ModuleType | None = None

    def fresh_outputs(self) -> dict[str, Array]:
        """Arrays for one form's own results, their pages touched."""
        made = {n: empty(a.shape, a.dtype) for n, a in self.outputs.items()}
        for array in made.values():
            array.fill(0)
        return made


@dataclass(frozen=True, eq=False)
class PeerCall:
    """One form of a kernel: ``run`` reads the request's inputs and writes ``outputs``.

    ``variant`` names it in rows (``halide-expert``); several schedules of a variant differ in
    ``schedule``. ``set_threads`` holds for calls that follow. ``compile_s`` is all that it took
    to make it. ``exact`` makes the same without the freedom to round floats differently: few
    elements may differ only if they do not differ there. ``restore`` puts back what a call
    changed in place; a form that is meant for some numbers of threads only names these.
    """

    variant: str
    schedule: str
    run: Callable[[], object]
    set_threads: Callable[[int], object]
    outputs: Mapping[str, Array]
    compile_s: float = 0.0
    exact: Callable[[], PeerCall] | None = None
    restore: Callable[[], object] | None = None
    threads: tuple[int, ...] | None = None

    @property
    def name(self) -> str:
        """Variant and schedule."""
        return f"{self.variant}/{self.schedule}" if self.schedule else self.variant


@dataclass(eq=False)
class Offer:
    """Forms of a kernel, and reasons for those that could not be made."""

    calls: list[PeerCall] = field(default_factory=list[PeerCall])
    notes: list[str] = field(default_factory=list[str])


def needed(module: str, peer: str) -> Any:  # noqa: ANN401 - a module without types
    """An optional package. Raises ``MissingExtraError`` where it is not installed."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        msg = f"the peer {peer} is not installed ({error})"
        raise MissingExtraError(msg, hint=install_command("peers")) from None


def nothing(_threads: int) -> None:
    """The thread setting of what always runs on one thread."""
