"""Frameworks that run networks: ONNX Runtime, OpenVINO, torch eager and torch Inductor.

Each gets the ONNX model; torch gets the layers that a model of ours is made of, with its weights.
"""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from polyopt.bench.peers.call import needed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

#: peer -> the module that it is imported by
FRAMEWORKS = {
    "onnxruntime": "onnxruntime", "openvino": "openvino", "torch": "torch", "inductor": "torch",
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Made:
    """A network in a framework: a call by number of threads, what it gave, and the seconds that it
    took to make."""

    call: Callable[[int], object]
    result: np.ndarray[Any, Any]
    seconds: float


def form(
    peer: str,
    proto: Any,  # noqa: ANN401
    x: np.ndarray[Any, Any],
    threads: Sequence[int],
) -> Made:
    """The network in a framework. Raises ``MissingExtraError`` where it is not installed, and
    what the framework raises."""
    module = needed(FRAMEWORKS[peer], peer)
    start = perf_counter()
    make = {"onnxruntime": onnxruntime_call, "openvino": openvino_call}.get(peer)
    model = proto.SerializeToString()
    call = make(module, model, [x], threads) if make else _torch(module, proto, x, peer)
    result = np.array(call(threads[0]))
    taken = perf_counter() - start
    for count in threads[1:]:
        call(count)  # what it makes for each number of threads, it makes now
    return Made(call, result, taken)


def onnxruntime_call(
    ort: Any,  # noqa: ANN401
    model: bytes,
    arrays: Sequence[np.ndarray[Any, Any]],
    threads: Sequence[int],
) -> Callable[[int], object]:
    """An ONNX model's first result in ONNX Runtime, a session for each number of threads."""
    sessions: dict[int, Any] = {}
    for count in threads:
        options = ort.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = count, 1
        sessions[count] = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    names = [one.name for one in sessions[threads[0]].get_inputs()]
    given = dict(zip(names, arrays, strict=True))
    return lambda count: sessions[count].run(None, given)[0]


def openvino_call(
    openvino: Any,  # noqa: ANN401
    model: bytes,
    arrays: Sequence[np.ndarray[Any, Any]],
    threads: Sequence[int],
) -> Callable[[int], object]:
    """An ONNX model's first result in OpenVINO, a request for each number of threads."""
    from io import BytesIO

    core = openvino.Core()
    network = core.read_model(BytesIO(model))
    requests: dict[int, Any] = {}
    for count in threads:
        settings = {"INFERENCE_NUM_THREADS": str(count), "PERFORMANCE_HINT": "LATENCY",
                    "INFERENCE_PRECISION_HINT": "f32"}  # fmt: skip
        requests[count] = core.compile_model(network, "CPU", settings).create_infer_request()
    shared = {"share_inputs": True, "share_outputs": True}
    return lambda count: next(iter(requests[count].infer([*arrays], **shared).values()))


def _torch(torch: Any, proto: Any, x: np.ndarray[Any, Any], peer: str) -> Callable[[int], object]:  # noqa: ANN401
    """The nodes in order, as functions of torch; compiled for ``inductor``, weights frozen where
    it can do that."""
    from onnx.numpy_helper import to_array

    functional = torch.nn.functional
    # in Python's own types: Dynamo does not trace through others, and would compile node by node
    steps = [
        (node.op_type, list(node.input), node.output[0],
         {a.name: list(a.ints) or a.i for a in node.attribute})
        for node in proto.graph.node
    ]  # fmt: skip

    class Net(torch.nn.Module):
        def forward(self, given: Any) -> Any:  # noqa: ANN401
            known = {**dict(self.named_buffers()), "input": given}
            for op, inputs, output, options in steps:
                args = [known[name] for name in inputs]
                known[output] = _applied(functional, op, args, options)
            return known["output"]

    plain: Any = Net().eval()
    for weight in proto.graph.initializer:
        plain.register_buffer(weight.name, torch.from_numpy(to_array(weight).copy()))
    tensor = torch.from_numpy(x)
    if peer != "inductor":
        return _call(torch, plain, tensor)
    frozen = _call(torch, _compiled(torch, plain, freezing=True), tensor)
    try:
        frozen(1)
    except RuntimeError:  # torch 2.13 cannot freeze every network
        return _call(torch, _compiled(torch, plain, freezing=False), tensor)
    return frozen


def _compiled(torch: Any, net: Any, *, freezing: bool) -> Any:  # noqa: ANN401
    """The network through Inductor; with ``freezing`` it folds weights, as ours does."""
    torch._dynamo.reset()  # noqa: SLF001 - forget the network before
    torch._inductor.config.freezing = freezing  # noqa: SLF001
    return torch.compile(net)


def _call(torch: Any, net: Any, tensor: Any) -> Callable[[int], object]:  # noqa: ANN401
    def call(count: int) -> object:
        torch.set_num_threads(count)
        with torch.no_grad():
            return net(tensor).numpy()

    return call


def _applied(functional: Any, op: str, args: list[Any], options: dict[str, Any]) -> Any:  # noqa: ANN401
    match op:
        case "Conv":
            x, w, *bias = args
            return functional.conv2d(
                x, w, *bias or [None], stride=list(options["strides"]),
                padding=list(options["pads"])[:2], groups=int(options.get("group", 1)),
            )  # fmt: skip
        case "BatchNormalization":
            x, scale, shift, mean, variance = args
            return functional.batch_norm(x, mean, variance, scale, shift, False, 0.0, 1e-5)
        case "Relu":
            return functional.relu(args[0])
        case "Add":
            return args[0] + args[1]
        case "MaxPool":
            kernel, strides, pads = (list(options[k]) for k in ("kernel_shape", "strides", "pads"))
            return functional.max_pool2d(args[0], kernel, strides, pads[:2])
        case "GlobalAveragePool":
            return args[0].mean((2, 3), keepdim=True)
        case "Flatten":
            return args[0].flatten(1)
        case "Gemm":
            return functional.linear(*args)
        case _:
            raise NotImplementedError(f"{op} in torch")
