"""Converters of operators that sample where data says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyopt.graph.onnx.context import converts

if TYPE_CHECKING:
    from polyopt.graph.onnx.context import OnnxNode

#: opset 16's names of modes
_RENAMED = {"bilinear": "linear", "bicubic": "cubic"}


@converts("GridSample")
def _grid_sample(node: OnnxNode) -> None:
    mode = str(node.get("mode", "linear"))
    node.define(
        "grid_sample",
        mode=_RENAMED.get(mode, mode),
        padding=str(node.get("padding_mode", "zeros")),
        align_corners=int(node.get("align_corners", 0)),
    )


@converts("RoiAlign")
def _roi_align(node: OnnxNode) -> None:
    samples = int(node.get("sampling_ratio", 0))
    if samples < 1:
        raise node.unsupported("sampling_ratio has to be given",
                               "without it the number of samples depends on data")  # fmt: skip
    usual = "half_pixel" if node.opset >= 16 else "output_half_pixel"
    coordinates = str(node.get("coordinate_transformation_mode", usual))
    if coordinates not in {"half_pixel", "output_half_pixel"}:
        raise node.wrong(f"there is no coordinate_transformation_mode {coordinates!r}")
    known = node.importer.known.get(node.inputs[2])
    if known is not None and not ((known >= 0) & (known < node.value(0).shape[0])).all():
        raise node.wrong(f"batch_indices {known.tolist()} are not all in the batch")
    node.define(
        "roi_align",
        extents=(int(node.get("output_height", 1)), int(node.get("output_width", 1))),
        samples=samples,
        scale=float(node.get("spatial_scale", 1.0)),
        half_pixel=int(coordinates == "half_pixel"),
        mode=str(node.get("mode", "avg")),
    )
