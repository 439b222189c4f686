"""The suite of networks: layers, blocks and whole networks beside frameworks, in one run.

All forms of a subject get the same ONNX model, or what torch makes of it, and the same input, take
turns, and are compared with ours unfused. Times of ours are those of whole calls: bringing the
input into blocks of channels and the output back is part of them. ``polyopt-blocked`` is the
kernel with the convolution alone, in its own layout.
"""

from __future__ import annotations

import fnmatch
import tempfile
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from polyopt.bench.networks import Network, resnet50
from polyopt.bench.runner import Row, nobody
from polyopt.bench.suites import NN
from polyopt.bench.variants import OURS, UNFUSED
from polyopt.errors import PolyoptError, UnknownNameError
from polyopt.graph.compiling import compile_graph, compile_model
from polyopt.graph.kernels import seconds_of
from polyopt.graph.onnx import load_onnx
from polyopt.graph.passes import default_passes, run_passes
from polyopt.graph.planning import Options
from polyopt.runtime.measuring.alternate import Subject, alternate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from polyopt.bench.machine import Machine
    from polyopt.bench.peers.apart import Apart
    from polyopt.graph.execution.model import Model

BLOCKED = f"{OURS}-blocked"
#: largest difference over the largest magnitude: sums are added in other orders
TOLERANCE = 1e-3

#: channels, results, rows and columns, kernel, stride of ResNet-50's convolutions
CONVOLUTIONS = (
    (3, 64, 224, 7, 2),
    (64, 64, 56, 1, 1), (64, 64, 56, 3, 1), (64, 256, 56, 1, 1), (256, 64, 56, 1, 1),
    (256, 128, 56, 1, 1), (128, 128, 56, 3, 2), (128, 512, 28, 1, 1), (256, 512, 56, 1, 2),
    (512, 128, 28, 1, 1), (128, 128, 28, 3, 1),
    (512, 256, 28, 1, 1), (256, 256, 28, 3, 2), (256, 1024, 14, 1, 1), (512, 1024, 28, 1, 2),
    (1024, 256, 14, 1, 1), (256, 256, 14, 3, 1),
    (1024, 512, 14, 1, 1), (512, 512, 14, 3, 2), (512, 2048, 7, 1, 1), (1024, 2048, 14, 1, 2),
    (2048, 512, 7, 1, 1), (512, 512, 7, 3, 1),
)  # fmt: skip
#: channels, rows and columns, stride of MobileNet's depthwise convolutions
DEPTHWISE = (
    (32, 112, 1), (64, 112, 2), (128, 56, 1), (128, 56, 2), (256, 28, 1), (256, 28, 2),
    (512, 14, 1), (512, 14, 2), (1024, 7, 1),
)  # fmt: skip
#: channels inside, rows and columns of ResNet-50's bottleneck blocks
BOTTLENECKS = ((64, 56), (128, 28), (256, 14), (512, 7))


def _convolution(channels: int, count: int, size: int, kernel: int, stride: int) -> Any:  # noqa: ANN401
    net = Network("conv", (1, channels, size, size))
    return net.model(net.block("input", count, kernel, stride))


def _depthwise(channels: int, size: int, stride: int, count: int = 0) -> Any:  # noqa: ANN401
    net = Network("depthwise", (1, channels, size, size))
    x = net.block("input", channels, 3, stride, group=channels)
    return net.model(net.block(x, count, 1) if count else x)


def _bottleneck(inner: int, size: int) -> Any:  # noqa: ANN401
    net = Network("bottleneck", (1, 4 * inner, size, size))
    way = net.block(net.block("input", inner, 1), inner, 3)
    way = net.batch_norm(net.conv(way, 4 * inner, 1))
    return net.model(net.node("Relu", [net.node("Add", [way, "input"])]))


def _pooled(*, stem: bool) -> Any:  # noqa: ANN401
    net = Network("pooled", (1, 3, 224, 224) if stem else (2, 64, 112, 112))
    x = net.conv("input", 64, 7, 2) if stem else "input"
    x = net.node("Relu", [net.batch_norm(x)])
    return net.model(net.node("MaxPool", [x], kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4))


#: by name: what makes the ONNX model
SUBJECTS: dict[str, Callable[[], Any]] = {
    **{
        "conv_" + "_".join(map(str, shape)): partial(_convolution, *shape)
        for shape in CONVOLUTIONS
    },
    **{"depthwise_" + "_".join(map(str, s)): partial(_depthwise, *s) for s in DEPTHWISE},
    **{
        "separable_" + "_".join(map(str, s)): partial(_depthwise, *s, count=min(1024, 2 * s[0]))
        for s in DEPTHWISE
    },
    **{"bottleneck_" + "_".join(map(str, s)): partial(_bottleneck, *s) for s in BOTTLENECKS},
    "stem_pool": partial(_pooled, stem=True),
    "bn_relu_pool": partial(_pooled, stem=False),
    "resnet50": resnet50,
    "resnet50_batch8": partial(resnet50, batch=8),
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class _Form:
    """Something to time: by number of threads, and what it took to make."""

    subject: Callable[[int], Subject]
    agrees: bool
    compile_s: float = 0.0
    #: the part of it that the search for plans, with their proofs and C, took
    plan_s: float = 0.0
    moved_mb: float | None = None


def matching(names: Sequence[str]) -> tuple[str, ...]:
    """Subjects by name or pattern (``depthwise*``), in their order; all without names.

    Raises ``UnknownNameError`` for one that fits none.
    """
    found: set[str] = set()
    for name in names or ("*",):
        fitting = fnmatch.filter(SUBJECTS, name)
        if not fitting:
            msg = f"no subject of networks is called {name!r}"
            raise UnknownNameError(msg, hint="there are: " + ", ".join(SUBJECTS))
        found.update(fitting)
    return tuple(name for name in SUBJECTS if name in found)


def bench_network(
    name: str,
    machine: Machine,
    *,
    threads: Sequence[int],
    peers: Sequence[Apart] = (),
    rounds: int | None = None,
    seconds: float = 1.0,
    note: Callable[[str], object] = nobody,
    report: Callable[[str], object] = nobody,
) -> Iterator[Row]:
    """Rows of one subject, beside frameworks in processes of their own.

    ``note`` is told which of them did not run it, and why; ``report`` what comes now.

    Raises ``KeyError`` for a name that is none of ``SUBJECTS``, and what compiling a model raises.
    """
    proto = SUBJECTS[name]()
    report("plans")
    ours, taken = _compiled_cold(proto)
    planning = seconds_of(step.kernel for step in ours.steps)["plan"]
    unfused = compile_model(proto, fusion="off")
    shape = ours.graph.inputs[0].shape
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    expected = np.asarray(unfused(x))
    forms = {
        OURS: _Form(_own(ours, x), _agrees(ours(x), expected), taken, planning, _moved_mb(ours)),
        UNFUSED: _Form(_own(unfused, x), agrees=True, moved_mb=_moved_mb(unfused)),
    }
    for peer in peers:
        report(peer.peer)
        try:
            made = peer.make(proto.SerializeToString(), x, threads)
        except PolyoptError as error:
            note(f"{peer.peer} of {name}: {error}")
            continue
        forms[peer.peer] = _Form(peer.subject, _agrees(made.result, expected), made.seconds)
    for count in threads:
        _prepare(ours, x, count)
        alone = _convolution_alone(ours)
        subjects = {v: f.subject(count) for v, f in forms.items()}
        report(f"{len(subjects)} variants on {count} thread{'s' * (count > 1)}")
        samples = alternate(subjects, seconds=seconds, rounds=rounds)
        if alone is not None:
            forms[BLOCKED] = _Form(forms[OURS].subject, forms[OURS].agrees)
            _prepare(ours, x, count)
            samples |= alternate({BLOCKED: Subject(alone)}, seconds=seconds, rounds=rounds)
        flops = sum(row.operations for row in ours.profile(runs=1).rows)
        live = 4 * (x.size + expected.size + sum(a.size for a in ours.graph.constants.values()))
        limit = machine.limit_ms(live, flops, count)
        for variant, sample in samples.items():
            form = forms[variant]
            yield Row(
                NN, name, {"batch": shape[0]}, variant, count, sample.median_ms, sample.min_ms,
                sample.iqr_ms, sample.runs, limit, limit / sample.median_ms,
                form.agrees, form.compile_s, form.plan_s, 0.0, sample.noisy,
                moved_mb=form.moved_mb,
            )  # fmt: skip


def _moved_mb(model: Model) -> float:
    return sum(row.bytes for row in model.profile(runs=1).rows) / 1e6


def _compiled_cold(proto: Any) -> tuple[Model, float]:  # noqa: ANN401
    """``compile_model`` with no kernel in the cache, and the seconds that it took."""
    start = perf_counter()
    with tempfile.TemporaryDirectory(prefix="polyopt-bench-") as folder:
        graph = run_passes(load_onnx(proto), default_passes()).graph
        model = compile_graph(graph, options=Options(cache=folder))
        model.calls  # noqa: B018  # loads the libraries
        return model, perf_counter() - start


def _own(model: Model, x: np.ndarray[Any, Any]) -> Callable[[int], Subject]:
    return lambda threads: Subject(lambda: model(x, threads=threads))


def _prepare(model: Model, x: np.ndarray[Any, Any], threads: int) -> None:
    model.prepare({model.graph.inputs[0].name: x}, threads)


def _convolution_alone(model: Model) -> Callable[[], object] | None:
    """The call of the one kernel with a convolution, if there is just one."""
    found = [
        call
        for call, step in zip(model.calls, model.steps, strict=True)
        if any(node.op.endswith("_blocked") for node in step.group.nodes)
    ]
    return found[0] if len(found) == 1 and len(model.steps) > 1 else None


def _agrees(found: object, expected: np.ndarray[Any, Any]) -> bool:
    array = np.asarray(found)
    scale = float(np.abs(expected).max()) or 1.0
    return array.shape == expected.shape and bool(
        np.abs(array - expected).max() <= TOLERANCE * scale
    )
