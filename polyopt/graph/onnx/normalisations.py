"""Converters of normalisations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyopt.graph.onnx.context import as_ints, converts

if TYPE_CHECKING:
    from polyopt.graph.onnx.context import OnnxNode


def _need_stash(node: OnnxNode) -> None:
    if node.get("stash_type", 1) != 1:
        raise node.unsupported("stash_type has to be 1")


@converts("InstanceNormalization")
def _instance(node: OnnxNode) -> None:
    if node.rank < 2:
        raise node.wrong("its input has no channels")
    channels = node.value(0).shape[1]
    node.define("group_norm", groups=channels, epsilon=float(node.get("epsilon", 1e-5)))


@converts("GroupNormalization")
def _group(node: OnnxNode) -> None:
    _need_stash(node)
    groups = int(node.get("num_groups", 0))
    for index in (1, 2) if node.opset >= 21 and node.rank > 1 else ():
        given, channels = node.value(index).shape, node.value(0).shape[1:2]
        if given != channels:
            raise node.wrong(f"its input {index} has the shape {list(given)}, not {list(channels)}")
    node.define("group_norm", groups=groups, epsilon=float(node.get("epsilon", 1e-5)))


@converts("RMSNormalization")
def _rms(node: OnnxNode) -> None:
    _need_stash(node)
    node.define("rms_norm", axis=int(node.get("axis", -1)),
                epsilon=float(node.get("epsilon", 1e-5)))  # fmt: skip


@converts("MeanVarianceNormalization")
def _mean_variance(node: OnnxNode) -> None:
    axes = as_ints(node.get("axes", (0, 2, 3)))
    node.define("mean_variance_norm", axes=axes)


@converts("LpNormalization")
def _lp(node: OnnxNode) -> None:
    node.define("lp_norm", axis=int(node.get("axis", -1)), p=int(node.get("p", 2)))


@converts("LRN")
def _response(node: OnnxNode) -> None:
    node.define(
        "local_response_norm",
        size=int(node.get("size")),
        alpha=float(node.get("alpha", 1e-4)),
        beta=float(node.get("beta", 0.75)),
        bias=float(node.get("bias", 1.0)),
    )
