"""Random convolutions of ONNX: ``python -m tests.fuzz.convolutions --seeds 0:300``.

Groups, strides, dilations, pads, odd sizes and several images, on one thread and two, with exact and
with fast numerics. Those have Winograd's tiles wherever they are allowed, whether or not they are
predicted to be faster. The oracle is the definition in doubles; results are off by no more than
rounding may take them (N. J. Higham, 2002, Lemma 3.1; of tiles see ``graph.winograd.rounding``).
"""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from dataclasses import dataclass
from itertools import product
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from polyopt.graph import compile_graph, default_passes, load_onnx, run_passes
from polyopt.graph.passes import UseWinograd
from polyopt.graph.winograd.rounding import relative_bound

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Array = np.ndarray[Any, Any]

#: channels of a group: single ones, odd numbers, vectors and several of them
_CHANNELS, _WHOLE = (1, 2, 3, 5, 8, 16, 17, 24, 32), (16, 32, 48)
_EPSILON = 2.0**-24


@dataclass(frozen=True)
class Convolution:
    """A convolution ``[n][c][y][x]`` with its weights ``[o][c / groups][k][l]``."""

    shape: tuple[int, ...]
    count: int
    kernel: tuple[int, int]
    group: int
    strides: tuple[int, int]
    dilations: tuple[int, int]
    #: begins of rows and columns, then ends
    pads: tuple[int, int, int, int]
    bias: bool
    relu: bool
    numerics: str
    #: the tiles of Winograd's that are allowed
    tile: int
    seed: int

    def arrays(self) -> tuple[Array, Array, Array]:
        """Data, weights and bias."""
        draw = np.random.default_rng(self.seed)
        weights = (self.count, self.shape[1] // self.group, *self.kernel)
        shapes = (self.shape, weights, (self.count,))
        x, w, b = (draw.standard_normal(s).astype(np.float32) for s in shapes)
        return x, w, b if self.bias else np.zeros_like(b)

    def compiled(self) -> Any:
        """The network of it alone, by polyopt."""
        _, w, b = self.arrays()
        given = {"w": w, "b": b} if self.bias else {"w": w}
        nodes = [helper.make_node(
            "Conv", ["x", *given], ["y"], strides=self.strides, dilations=self.dilations,
            pads=self.pads, group=self.group,
        )]  # fmt: skip
        nodes += [helper.make_node("Relu", ["y"], ["z"])] * self.relu
        kind, last = TensorProto.FLOAT, "z" if self.relu else "y"
        graph = helper.make_graph(
            nodes, "convolution", [helper.make_tensor_value_info("x", kind, self.shape)],
            [helper.make_tensor_value_info(last, kind, None)],
            [numpy_helper.from_array(a, n) for n, a in given.items()],
        )  # fmt: skip
        read = load_onnx(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]))
        passes = [
            UseWinograd((self.tile,), always=True) if isinstance(one, UseWinograd) else one
            for one in default_passes(numerics=self.numerics)
        ]
        return compile_graph(run_passes(read, passes).graph)


def random_convolution(seed: int) -> Convolution:
    """A convolution of a seed; most are such as tiles are for, but for one thing or none."""
    draw = np.random.default_rng(seed)

    def one(*options: Any) -> Any:
        return options[int(draw.integers(len(options)))]

    def two(*options: int) -> tuple[int, int]:
        return one(*options), one(*options)

    is_plain = draw.random() < 0.7
    kernel = (3, 3) if is_plain else two(1, 2, 3, 4, 5)
    strides, dilations = (1, 1), (1, 1)
    if not is_plain or draw.random() < 0.15:
        strides, dilations = two(1, 1, 2, 3), two(1, 1, 1, 2)
    in_vectors = is_plain and draw.random() < 0.9
    inner, outer = (one(*(_WHOLE if in_vectors else _CHANNELS)) for _ in range(2))
    group = one(1, 1, 1, 1, 2, 3)
    if draw.random() < 0.1:  # each channel by itself
        group, inner, outer = inner, 1, one(1, 1, 2)
    reach = [d * (k - 1) for k, d in zip(kernel, dilations, strict=True)]
    pads = tuple(int(draw.integers(0, most + 1)) for most in (*reach, *reach))
    sides = (max(1, r - p - q + int(draw.integers(1, 20)))
             for r, p, q in zip(reach, pads[:2], pads[2:], strict=True))  # fmt: skip
    return Convolution(
        (one(1, 1, 2, 3), group * inner, *sides), group * outer, kernel, group, strides,
        dilations, pads, bool(draw.random() < 0.5), bool(draw.random() < 0.5),
        one("exact", "fast", "fast"), one(2, 4), seed,
    )  # fmt: skip


def convolved(case: Convolution, x: Array, w: Array) -> Array:
    """By definition, in doubles."""
    top, left, bottom, right = case.pads
    x = np.pad(x.astype(np.float64), ((0, 0), (0, 0), (top, bottom), (left, right)))
    w = w.astype(np.float64).reshape(case.group, -1, *w.shape[1:])
    x = x.reshape(x.shape[0], case.group, -1, *x.shape[2:])
    sides = [
        (x.shape[3 + d] - case.dilations[d] * (case.kernel[d] - 1) - 1) // case.strides[d] + 1
        for d in (0, 1)
    ]
    sums = np.zeros((x.shape[0], case.group, w.shape[1], *sides))
    for k, c in product(*map(range, case.kernel)):
        (a, s), (b, t) = (
            (i * d, n) for i, d, n in zip((k, c), case.dilations, case.strides, strict=True)
        )
        part = x[..., a : a + s * sides[0] : s, b : b + t * sides[1] : t][
            ..., : sides[0], : sides[1]
        ]
        sums += np.einsum("ngcyx,goc->ngoyx", part, w[..., k, c])
    return sums.reshape(x.shape[0], -1, *sides)


def difference(case: Convolution, model: Any = None) -> str:
    """What polyopt computes otherwise than rounding explains; "" where nothing."""
    model = model or case.compiled()
    x, w, b = case.arrays()
    exact = convolved(case, x, w) + b[:, None, None]
    sizes = convolved(case, abs(x), abs(w)) + abs(b)[:, None, None]
    # each product is rounded, and takes part in as many sums as there are terms, and the bias
    bound = sizes * ((w[0].size + 2) * _EPSILON)
    if case.numerics == "fast":
        sums = abs(w).sum(axis=(1, 2, 3), dtype=np.float64)[:, None, None]
        bound = bound + relative_bound(case.tile, w.shape[1]) * abs(x).max() * sums
    if case.relu:
        exact = np.maximum(exact, 0)
    for threads in (1, 2):
        found = model(x, threads=threads)
        if found.shape != exact.shape:
            return f"{found.shape}, not {exact.shape}"
        wrong = ~(abs(found - exact) <= bound)
        if wrong.any():
            at = tuple(np.argwhere(wrong)[0].tolist())
            return f"{found[at]}, not {exact[at]} +- {bound[at]:.2g}, at {at}, {threads} threads"
    return ""


def run(seeds: Sequence[int], say: Callable[[str], None]) -> Counter[str]:
    """Run random convolutions; how many are equal, in tiles of Winograd's or directly, or wrong."""
    counts: Counter[str] = Counter()
    for seed in seeds:
        case = random_convolution(seed)
        try:
            model = case.compiled()
            told = difference(case, model)
            is_tiled = any("winograd_conv" in step.operators for step in model.steps)
            kind = "wrong" if told else "equal, in tiles" if is_tiled else "equal"
        except Exception as error:  # noqa: BLE001  (any is a defect: all are valid)
            kind, told = "raw", f"{type(error).__name__}: {str(error)[:600]}"
        counts[kind] += 1
        if told:
            say(f"seed {seed}: {kind}: {told}\n    {case}")
    return counts


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> int:
    """The command line; 1 where something is computed otherwise or refused."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.convolutions", description=__doc__)
    parser.add_argument("--seeds", default="0:100", help="first and end, such as 0:100")
    first, end = map(int, parser.parse_args().seeds.split(":"))
    os.environ.setdefault("POLYOPT_CHECK", "0")
    with TemporaryDirectory(prefix="polyopt-fuzz-") as folder:
        os.environ.setdefault("POLYOPT_CACHE", folder)
        counts = run(range(first, end), _say)
    _say(f"{counts.total()} convolutions: {dict(counts)}")
    return int(bool(counts["wrong"] + counts["raw"]))


if __name__ == "__main__":
    sys.exit(main())
