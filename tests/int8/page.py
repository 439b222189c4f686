"""Quantised residual networks beside ONNX Runtime: ``python -m tests.int8.page [NAMES]``.

Kinds of quantisation that ``build/int8-results`` has nothing of are tried, and ``docs/quantized.md``
tells of all. It fails where a layer is more than one step of its scale off.
"""

from __future__ import annotations

import argparse
import json
import logging
import sys
import time
import warnings
from importlib.metadata import version
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnxruntime.quantization import (
    CalibrationDataReader,
    QuantFormat,
    QuantType,
    quantize_dynamic,
    quantize_static,
)

import polyopt as po

from .models import resnet

KEPT = Path("build/int8-results")
PAGE = Path("docs/quantized.md")
#: the page's second part, which tests.int8.times makes
TIMES = "## Times"
#: name of a model -> side of its images, blocks of each stage, widths of stages, images
MODELS = {
    "small": (64, 1, (16, 32, 64, 128), 8),
    "whole": (224, 2, (64, 128, 256, 512), 2),
}
TYPES = {"u8": QuantType.QUInt8, "i8": QuantType.QInt8}
#: where operators have the zero point of their result; others have it last
ZERO_POINTS = {"QLinearConv": 7, "QLinearConcat": 1}
#: kinds of quantisation: format, activations, weights, whether weights have a scale per channel
KINDS = [
    *((form, x, w, each) for form in ("QDQ", "QOperator")
      for x, w in (("u8", "i8"), ("i8", "i8"), ("u8", "u8")) for each in (False, True)),
    *(("dynamic", "u8", w, each) for w in ("i8", "u8") for each in (False, True)),
    *(("po.quantize", "u8", "i8", each) for each in (False, True)),
]  # fmt: skip
#: of the whole network, whose kernels take minutes to make
WHOLE = [k for k in KINDS if k[1:3] == ("u8", "i8") and k[3] is True and k[0] != "QOperator"]
HEAD = """# Quantised networks

Residual networks with random weights and statistics of batch normalisation as training leaves them, quantised by ONNX Runtime's quantiser (static with
`QuantizeLinear` and `DequantizeLinear`, static with quantised operators, dynamic) and by `po.quantize`, whose network `save` writes as a file. Each file runs in
ONNX Runtime on the CPU and here, on the same images. `small` has images of 64 x 64, one block in each stage and a quarter of the channels, `whole` images of
224 x 224 and all of ResNet-18.

*Layers* compares every quantised tensor, computed from the same quantised tensors that it depends on: how many steps of its scale the farthest element is
off, and the share of elements that are off at all, by ties of rounding. *Network* compares results from the images on, in steps of the output's scale (for
results of floats, a 255th of their range). A tie that goes the other way early on moves what follows, so a deep network of random weights shows it enlarged:
*itself* is how far ONNX Runtime is from itself with its optimisations off, which rounds sums of products of floats. The table is of a processor with VNNI: on
x86 without it, ONNX Runtime's kernels for `u8` activations and `i8` weights saturate sums of two products at 16 bits, as its documentation of quantisation says,
and are some 15 steps off from what the file means (the other types are exact there too).

| model | format | activations | weights | scales | layers | share off | network | share off | itself |
| --- | --- | --- | --- | --- | ---: | ---: | ---: | ---: | ---: |
"""


def main(arguments: list[str]) -> int:
    """Try kinds of quantisation, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="small-QDQ-u8-i8-channel, ...: all, unless given")
    parser.add_argument("--minutes", type=float, default=60.0, help="start none after these")
    given = parser.parse_args(arguments)
    logging.disable(logging.WARNING)
    warnings.simplefilter("ignore")
    KEPT.mkdir(parents=True, exist_ok=True)
    wanted = {name_of(m, kind): (m, kind) for m in MODELS
              for kind in (KINDS if m == "small" else WHOLE)}  # fmt: skip
    start = time.monotonic()
    for name, (model, kind) in wanted.items():
        file = KEPT / f"{name}.json"
        if (given.names and name not in given.names) or (file.exists() and not given.names):
            continue
        if time.monotonic() - start > 60 * given.minutes:
            break
        file.write_text(json.dumps(tried(model, *kind)))
        sys.stdout.write(f"{name} {file.read_text()}\n")
        sys.stdout.flush()
    rows = {n: json.loads((KEPT / f"{n}.json").read_text())
            for n in wanted if (KEPT / f"{n}.json").exists()}  # fmt: skip
    _, title, times = PAGE.read_text(encoding="utf-8").partition(TIMES)
    made = page(rows, wanted) + (f"\n{title}{times}" if title else "")
    PAGE.write_text(made, encoding="utf-8")
    return max((row["layer_steps"] or 0) > 1 for row in rows.values())


def name_of(model: str, kind: tuple[str, str, str, bool]) -> str:
    """What a try is called."""
    form, x, w, each = kind
    return "-".join([model, form, x, w, "channel" if each else "tensor"])


def tried(name: str, form: str, x: str, w: str, each: bool) -> dict[str, object]:  # noqa: FBT001
    """One network, quantised and run by both."""
    side, blocks, widths, count = MODELS[name]
    random = np.random.default_rng(1)
    images = [random.standard_normal((1, 3, side, side), np.float32) for _ in range(count)]
    file = KEPT / "model.onnx"
    quantised(
        resnet(side, blocks=blocks, widths=widths), images[: count // 2], file, form, x, w, each
    )
    model = onnx.load(file)
    ours = [po.compile_model(model)(image) for image in images]
    theirs, plain = ([runtime(model, {"x": image}, optimised=o)[0] for image in images]
                     for o in (True, False))  # fmt: skip
    step = scale_of(model) or (max(r.max() for r in plain) - min(r.min() for r in plain)) / 255
    layers = None if form == "dynamic" else layerwise(model, images[0])
    return {
        "layer_steps": layers and layers[0], "layer_share": layers and layers[1],
        "steps": steps(ours, theirs, step), "share": share(ours, theirs, step),
        "itself": steps(plain, theirs, step),
    }  # fmt: skip


def quantised(model, images, file, form, x, w, each) -> None:
    """Write a model's quantised form, calibrated on images."""
    given = KEPT / "float.onnx"
    onnx.save(model, given)

    class Images(CalibrationDataReader):
        def __init__(self) -> None:
            self.left = iter(images)

        def get_next(self):
            image = next(self.left, None)
            return None if image is None else {"x": image}

    if form == "po.quantize":
        po.quantize(given, images, per_channel=each).save(file)
    elif form == "dynamic":
        quantize_dynamic(given, file, weight_type=TYPES[w], per_channel=each)
    else:
        chosen = QuantFormat.QDQ if form == "QDQ" else QuantFormat.QOperator
        quantize_static(given, file, Images(), quant_format=chosen, activation_type=TYPES[x],
                        weight_type=TYPES[w], per_channel=each)  # fmt: skip


def runtime(model, arrays, *, optimised):
    """ONNX Runtime's results."""
    levels, options = onnxruntime.GraphOptimizationLevel, onnxruntime.SessionOptions()
    chosen = levels.ORT_ENABLE_ALL if optimised else levels.ORT_DISABLE_ALL
    options.graph_optimization_level = chosen
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    return session.run(None, arrays)


def scale_of(model) -> float | None:
    """The scale of the result, where it is quantised last."""
    constants = {c.name: onnx.numpy_helper.to_array(c) for c in model.graph.initializer}
    last = next(n for n in model.graph.node if model.graph.output[0].name in n.output)
    return float(constants[last.input[1]].item()) if last.op_type == "DequantizeLinear" else None


def steps(ours, theirs, step) -> float:
    """The greatest difference."""
    return float(max(np.abs(a - b).max() for a, b in zip(ours, theirs, strict=True)) / step)


def share(ours, theirs, step) -> float:
    """The share of elements that are another integer."""
    off = [np.abs(a - b) > step / 2 for a, b in zip(ours, theirs, strict=True)]
    return float(np.mean(off))


def layerwise(model, image) -> tuple[int, float]:
    """Steps of the farthest quantised element, and the share that is off, each tensor from the
    same quantised ones."""
    whole = onnx.shape_inference.infer_shapes(model)
    made = [n.output[0] for n in whole.graph.node
            if n.op_type.startswith(("QuantizeLinear", "QLinear", "QGemm"))]  # fmt: skip
    observed = with_outputs(whole, made)
    values = dict(zip(made, runtime(observed, {"x": image}, optimised=False), strict=True))
    cut = onnx.ModelProto()
    cut.CopyFrom(observed)
    for node in cut.graph.node:
        if node.output[0] in values:
            node.output[0] += "_again"
    for entry in cut.graph.output:
        entry.name += "_again"
    cut.graph.input.extend(
        onnx.helper.make_tensor_value_info(
            name, onnx.helper.np_dtype_to_tensor_dtype(array.dtype), array.shape
        )
        for name, array in values.items()
    )
    arrays = {"x": image, **values}
    theirs = runtime(cut, arrays, optimised=True)
    found = po.compile_model(cut).run(arrays)
    off = [np.abs(a.astype(np.int64) - b) for a, b in zip(found, theirs, strict=True)]
    elements = sum(d.size for d in off)
    return int(max(d.max() for d in off)), sum(np.count_nonzero(d) for d in off) / elements


def with_outputs(model, names):
    """The model with quantised tensors as its outputs: of the types of their zero points."""
    other = onnx.ModelProto()
    other.CopyFrom(model)
    del other.graph.output[:]
    kinds = {c.name: c.data_type for c in model.graph.initializer}
    makers = {node.output[0]: node for node in model.graph.node}
    for name in names:
        place = ZERO_POINTS.get(makers[name].op_type, -1)
        kind = kinds[makers[name].input[place]]
        other.graph.output.append(onnx.helper.make_tensor_value_info(name, kind, None))
    return other


def page(rows, wanted) -> str:
    """The page's text."""
    lines = []
    for name, row in rows.items():
        model, (form, x, w, each) = wanted[name]
        layers = ["", ""] if row["layer_steps"] is None else [
            str(row["layer_steps"]), f"{row['layer_share']:.2e}"]  # fmt: skip
        cells = [model, form, x, w, "channel" if each else "tensor", *layers,
                 f"{row['steps']:.2g}", f"{row['share']:.1%}", f"{row['itself']:.2g}"]  # fmt: skip
        lines.append(f"| {' | '.join(cells)} |")
    foot = (f"\nONNX Runtime {version('onnxruntime')}, onnx {version('onnx')}."
            " `make peers-int8` measures anew.\n")  # fmt: skip
    left = len(wanted) - len(rows)
    rest = f"\n{left} other kinds of {len(wanted)} have not been tried yet.\n" if left else ""
    return HEAD + "\n".join(lines) + "\n" + rest + foot


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
