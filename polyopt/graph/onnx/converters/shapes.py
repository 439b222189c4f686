"""Converters of operators that move elements."""

from __future__ import annotations

from math import inf, prod
from typing import TYPE_CHECKING

from polyopt.graph.onnx.context import as_ints, converts
from polyopt.graph.ops.resizing import COORDINATES, MODES

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from polyopt.graph.ir.graph import Attribute
    from polyopt.graph.onnx.context import OnnxNode


@converts("Reshape")
def _reshape(node: OnnxNode) -> None:
    wanted = node.numbers(1, "shape")
    given = node.value(0)
    if wanted is None:
        raise node.wrong("it has no shape")
    if not node.get("allowzero", 0):
        if any(n == 0 and d >= len(given.shape) for d, n in enumerate(wanted)):
            raise node.wrong(f"{list(wanted)} keeps an axis that {list(given.shape)} has not")
        wanted = tuple(given.shape[d] if n == 0 else n for d, n in enumerate(wanted))
    if wanted.count(-1) > 1:
        raise node.wrong(f"{list(wanted)} leaves more than one axis open")
    rest = prod(n for n in wanted if n != -1)
    if rest == 0:
        raise node.wrong(f"{list(wanted)} has no elements")
    shape = tuple(given.size // rest if n == -1 else n for n in wanted)
    node.define("reshape", node.inputs[:1], shape=shape)


@converts("Flatten")
def _flatten(node: OnnxNode) -> None:
    shape = node.value(0).shape
    axis = int(node.get("axis", 1))
    if axis != len(shape):  # one past the last: all axes become rows
        axis = _axis(node, axis, len(shape))
    node.define("reshape", shape=(prod(shape[:axis]), prod(shape[axis:])))


def _axis(node: OnnxNode, axis: int, rank: int) -> int:
    if not -rank <= axis < rank:
        raise node.wrong(f"there is no axis {axis}")
    return axis % rank


def _axes(node: OnnxNode, given: Iterable[int], rank: int) -> list[int]:
    """Axes from the front, each once."""
    axes = [_axis(node, axis, rank) for axis in given]
    if len(set(axes)) < len(axes):
        raise node.wrong(f"axes {axes} are not all different")
    return axes


@converts("Squeeze")
def _squeeze(node: OnnxNode) -> None:
    shape = node.value(0).shape
    axes = node.numbers(1, "axes")
    along = {_axis(node, a, len(shape)) for a in axes or ()} if axes is not None else {
        d for d, extent in enumerate(shape) if extent == 1
    }  # fmt: skip
    if any(shape[d] != 1 for d in along):
        raise node.wrong(f"axes {sorted(along)} of {list(shape)} are not all of size 1")
    kept = tuple(extent for d, extent in enumerate(shape) if d not in along)
    node.define("reshape", node.inputs[:1], shape=kept)


@converts("Unsqueeze")
def _unsqueeze(node: OnnxNode) -> None:
    shape = list(node.value(0).shape)
    axes = node.numbers(1, "axes")
    if axes is None:
        raise node.wrong("it has no axes")
    for axis in sorted(_axes(node, axes, len(shape) + len(axes))):
        shape.insert(axis, 1)
    node.define("reshape", node.inputs[:1], shape=tuple(shape))


@converts("Transpose")
def _transpose(node: OnnxNode) -> None:
    node.define("transpose", perm=as_ints(node.get("perm", range(node.rank)[::-1])))


@converts("Concat")
def _concat(node: OnnxNode) -> None:
    some = [name for name in node.inputs if node.importer.values[name].size]
    node.define("concat", some or node.inputs, axis=int(node.get("axis", 1)))


@converts("Pad")
def _pad(node: OnnxNode) -> None:
    rank = node.rank
    pads = node.numbers(1, "pads" if "pads" in node.attributes else "paddings")
    if pads is None:
        raise node.wrong("it has no pads")
    value = float(node.get("value", 0.0))
    if (given := node.array(2)) is not None and given.size:
        value = node.number(2) or 0.0
    if (axes := node.array(3)) is not None:
        pads = _spread(node, pads, as_ints(axes.ravel()), rank)
    mode = node.get("mode", "constant")
    node.define("pad", node.inputs[:1], pads=pads, mode=mode, value=value)


def _spread(node: OnnxNode, pads: Sequence[int], axes: Sequence[int], rank: int) -> tuple[int, ...]:
    """Pads of some axes as pads of all."""
    if len(pads) != 2 * len(axes):
        raise node.wrong(f"{len(pads)} pads do not fit {len(axes)} axes")
    result = [0] * (2 * rank)
    for k, d in enumerate(_axes(node, axes, rank)):
        result[d], result[rank + d] = pads[k], pads[len(axes) + k]
    return tuple(result)


@converts("Slice")
def _slice(node: OnnxNode) -> None:
    shape = node.value(0).shape
    starts, ends = node.numbers(1, "starts"), node.numbers(2, "ends")
    if starts is None or ends is None:
        raise node.wrong("it has no bounds")
    axes = node.numbers(3, "axes") or tuple(range(len(starts)))
    steps = node.numbers(4, "steps") or (1,) * len(starts)
    for what, values in (("ends", ends), ("axes", axes), ("steps", steps)):
        _check_count(node, what, values, starts, "starts")
    firsts, strides, counts = [0] * len(shape), [1] * len(shape), list(shape)
    along = _axes(node, axes, len(shape))
    for start, end, d, step in zip(starts, ends, along, steps, strict=True):
        if step == 0:
            raise node.wrong("a step of 0")
        taken = range(shape[d])[start:end:step]
        firsts[d], strides[d], counts[d] = taken[0] if taken else 0, step, len(taken)
    if not all(counts):
        node.nothing(tuple(counts))
        return
    node.define("slice", node.inputs[:1], starts=tuple(firsts), steps=tuple(strides),
                shape=tuple(counts))  # fmt: skip


def _check_count(
    node: OnnxNode, what: str, values: Sequence[object], others: Sequence[object], of: str
) -> None:
    if len(values) != len(others):
        raise node.wrong(f"{len(values)} {what} do not fit {len(others)} {of}")


@converts("Split")
def _split(node: OnnxNode) -> None:
    shape = node.value(0).shape
    axis = _axis(node, int(node.get("axis", 0)), len(shape))
    count = len(node.outputs)
    sizes = node.numbers(1, "split")
    if sizes is None:
        size = -(-shape[axis] // count)
        sizes = (*(size,) * (count - 1), shape[axis] - size * (count - 1))
    if len(sizes) != count or sum(sizes) != shape[axis] or min(sizes) < 0:
        raise node.wrong(f"parts of {list(sizes)} do not make {shape[axis]} elements")
    start = 0
    for number, size in enumerate(sizes):
        firsts = tuple(start if d == axis else 0 for d in range(len(shape)))
        part = tuple(size if d == axis else extent for d, extent in enumerate(shape))
        if not size:
            node.nothing(part, number)
            continue
        node.define("slice", node.inputs[:1], output=number, starts=firsts,
                    steps=(1,) * len(shape), shape=part)  # fmt: skip
        start += size


@converts("Resize", "Upsample")
def _resize(node: OnnxNode) -> None:
    shape = node.value(0).shape
    mode = str(node.get("mode", "nearest"))
    _only(node, "mode", mode, set(MODES))
    later = node.op == "Resize" and node.opset >= 11
    scales = node.array(2 if later else 1) if "scales" not in node.attributes else None
    factors = list(node.get("scales", [])) if scales is None else [float(s) for s in scales.ravel()]
    wanted = node.array(3) if later else None
    axes = _axes(node, node.get("axes", range(len(shape))), len(shape))
    sizes, ratios = list(shape), [1.0] * len(shape)
    if factors:
        if not all(0 < factor < inf for factor in factors):
            raise node.wrong(f"scales are greater than 0 and finite, not {factors}")
        _check_count(node, "scales", factors, axes, "axes")
        for axis, factor in zip(axes, factors, strict=True):
            sizes[axis], ratios[axis] = int(shape[axis] * factor + 1e-9), factor
    elif wanted is not None:
        policy = str(node.get("keep_aspect_ratio_policy", "stretch"))
        _only(node, "keep_aspect_ratio_policy", policy, {"stretch", "not_larger", "not_smaller"})
        asked = as_ints(wanted.ravel())
        _check_count(node, "sizes", asked, axes, "axes")
        ways = [size / shape[axis] for axis, size in zip(axes, asked, strict=True)]
        for axis, size, way in zip(axes, asked, ways, strict=True):
            ratio = {"not_larger": min(ways), "not_smaller": max(ways)}.get(policy, way)
            kept = size if policy == "stretch" else int(ratio * shape[axis] + 0.5)
            sizes[axis], ratios[axis] = kept, ratio
    else:
        raise node.wrong("it has neither scales nor sizes")
    usual = "half_pixel" if later else "asymmetric"
    coordinates = str(node.get("coordinate_transformation_mode", usual))
    _only(node, "coordinate_transformation_mode", coordinates, set(COORDINATES))
    rounding = str(node.get("nearest_mode", "round_prefer_floor" if later else "floor"))
    shares: dict[str, Attribute] = {} if mode == "nearest" else {
        "cubic_coeff": float(node.get("cubic_coeff_a", -0.75)),
        "antialias": int(node.get("antialias", 0)),
        "exclude_outside": int(node.get("exclude_outside", 0)),
    }  # fmt: skip
    node.define("resize", node.inputs[:1], shape=tuple(sizes), scales=tuple(ratios), mode=mode,
                coordinates=coordinates, rounding=rounding, output=0, **shares)  # fmt: skip


def _only(node: OnnxNode, name: str, value: str, known: set[str]) -> None:
    if value not in known:
        raise node.unsupported(
            f"{name}={value!r} is not taken", f"known: {', '.join(sorted(known))}"
        )
