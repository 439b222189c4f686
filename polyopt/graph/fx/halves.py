"""Operators on float16 and bfloat16 as PyTorch computes them: in f32, rounded where it stores.

What one of our operators computes is rounded once by itself. A call that becomes several, or that
has numbers beside its tensors, is converted on operands that are f32, and its results are rounded.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from polyopt.graph.fx.call import Arguments, Call, Ref, part_of
from polyopt.graph.ir.graph import Node
from polyopt.ir.types import F32

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from polyopt.graph.importer import Importer
    from polyopt.ir.types import ScalarType

#: operators that round nothing: their elements are their operands'
_EXACT = frozenset({
    "cast", "concat", "expand", "gather", "gather_elements", "is_nan", "pad", "reshape", "slice",
    "tile", "top_k", "transpose", "trilu", "where", "windows",
})  # fmt: skip


@dataclass(frozen=True)
class Mark:
    """How much of a graph in the making there is."""

    nodes: int
    values: int
    known: int
    aliases: int

    @classmethod
    def of(cls, importer: Importer) -> Mark:
        """What there is now."""
        counted = importer.nodes, importer.values, importer.known, importer.aliases
        return cls(*map(len, counted))

    def take_back(self, importer: Importer) -> None:
        """Leave out what has come since."""
        del importer.nodes[self.nodes :]
        for found, count in (
            (importer.values, self.values), (importer.known, self.known),
            (importer.aliases, self.aliases),
        ):  # fmt: skip
            for name in list(found)[count:]:
                del found[name]


def has_halves(call: Call) -> bool:
    """Whether an operand or the result is of 16 bits."""
    values = call.importer.values
    given = [values[name].dtype for name in _names(list(call.arguments.values_.values()))]
    return any(kind.is_half for kind in (*given, call.result.dtype))


def rounds_once(importer: Importer, mark: Mark) -> bool:
    """Whether what has come since computes with no number of 16 bits that it made itself."""
    computed = [node for node in importer.nodes[mark.nodes :] if node.op not in _EXACT]
    made = list(importer.known)[mark.known :]
    return len(computed) <= 1 and not any(importer.values[name].dtype.is_half for name in made)


def in_single(call: Call, convert: Callable[[Call], None], kinds: Sequence[ScalarType]) -> None:
    """Convert a call on operands that are f32; its results are of these types.

    Raises what the converter raises.
    """
    importer = call.importer
    wide = replace(
        call,
        name=importer.fresh(f"{call.name}_f32"),
        arguments=Arguments(
            {k: _widened(importer, a) for k, a in call.arguments.values_.items()},
            call.arguments.defaults,
        ),
        result=replace(call.result, dtype=call.result.dtype.computed),
    )
    convert(wide)
    wide.check()
    parts = [k for k in range(len(kinds)) if part_of(wide.name, k) in importer.aliases]
    for k in parts:
        found = importer.aliases.pop(part_of(wide.name, k))
        if importer.values[found].dtype != kinds[k]:
            found = call.step("cast", [found], to=kinds[k].name)
        importer.aliases[part_of(call.name, k)] = found
    if parts:
        importer.aliases.pop(wide.name, None)
        call.alias(importer.aliases[part_of(call.name, 0)])
        return
    found = importer.resolve(wide.name)
    if importer.values[found].dtype == call.result.dtype:
        call.alias(found)
        return
    importer.add(Node(call.name, "cast", (found,), (("to", call.result.dtype.name),), call.op))


def _names(given: object) -> list[str]:
    """Tensors of an argument, or of a list of them."""
    if isinstance(given, list | tuple):
        return [name for part in cast("list[object]", given) for name in _names(part)]
    return [given.name] if isinstance(given, Ref) else []


def _widened(importer: Importer, given: Any) -> Any:  # noqa: ANN401
    """An argument with tensors of 16 bits as f32."""
    if isinstance(given, list | tuple):
        return [_widened(importer, part) for part in cast("list[object]", given)]
    if not isinstance(given, Ref) or not importer.values[given.name].dtype.is_half:
        return given
    name = importer.fresh(f"{given.name}_f32")
    if (known := importer.known.get(given.name)) is not None:
        importer.known[name] = known.astype(np.float32)
        importer.values[name] = replace(importer.values[given.name], name=name, dtype=F32)
    else:
        importer.add(Node(name, "cast", (given.name,), (("to", F32.name),)))
    return Ref(name)
