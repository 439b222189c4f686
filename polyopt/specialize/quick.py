"""Calls like earlier ones are recognised by little: arrays of the same shapes, and numbers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polyopt.runtime.arrays import NumPyArray
    from polyopt.specialize.arguments import Call
    from polyopt.specialize.program import Program


def quick_key(args: Sequence[object]) -> tuple[object, ...] | None:
    """What a call by position depends on; nothing for other than arrays that own their memory, in C
    order and each given once, integers and floats."""
    key: list[object] = []
    seen: set[int] = set()
    for value in args:
        kind = type(value)
        if kind is np.ndarray:
            array = cast("NumPyArray", value)
            flags = array.flags
            if array.base is not None or not flags.carray or id(array) in seen:
                return None
            seen.add(id(array))
            key += (array.dtype, array.shape)
        elif kind is float:
            key.append(float)
        elif kind is int:
            key += (int, value)
        else:
            return None
    return tuple(key)


@dataclass(frozen=True, eq=False)
class QuickCall:
    """A call by position of which all is known but the arrays and the floats."""

    call: Call
    program: Program

    @classmethod
    def of(cls, call: Call, program: Program, args: Sequence[object]) -> QuickCall | None:
        """It, where arrays are passed as they are given."""
        names = list(call.objects)
        if len(names) != len(args) or call.copied:
            return None
        if not all(call.arrays.get(n) is call.objects[n] for n in names if _is_array(call, n)):
            return None
        return cls(replace(call, objects=dict.fromkeys(names)), program)

    def run(self, args: Sequence[Any], threads: int | None) -> object:
        """What the function returns. Raises ``ArgumentError``."""
        known = self.call
        objects = dict(zip(known.objects, args, strict=True))
        arrays = {name: objects[name] for name in known.arrays}
        scalars = {name: objects[name] for name in known.scalars}
        call = replace(known, arrays=arrays, scalars=scalars, objects=objects)
        return self.program.run(call, threads)


def _is_array(call: Call, name: str) -> bool:
    return isinstance(call.objects[name], np.ndarray)
