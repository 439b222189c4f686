"""Times of quantised networks beside ONNX Runtime's: the second part of the page.

``python -m tests.int8.times`` measures residual networks that ONNX Runtime's quantiser made, and
the same without quantisation, and writes them into ``docs/quantized.md``.
"""

from __future__ import annotations

import argparse
import contextlib
import logging
import math
import platform
import time
import warnings
from importlib.metadata import version
from pathlib import Path

import numpy as np
import onnx
import onnxruntime

from polyopt.bench.peers.apart import Apart
from polyopt.bench.peers.frameworks import Made, onnxruntime_call
from polyopt.graph import compile_model
from polyopt.runtime.measuring.alternate import alternate

from .models import resnet
from .page import KEPT, MODELS, PAGE, TIMES, quantised

#: what is timed of each model: both read the same file
OURS, THEIRS = "ours", "onnxruntime"
#: formats of files, and whether they are quantised
FORMS = {"QDQ": True, "float": False}
HEAD = f"""{TIMES}

Milliseconds for one call, the median, batch 1, static quantisation with a scale per channel, and the same networks in floats. Both run the same file, each in a
process of its own that is stopped while the other is timed; they take turns. Above 1 ours is the faster; `~` marks times that stayed spread out although measured again.

| model | format | threads | ours ms | ONNX Runtime ms | ONNX Runtime / ours |
| --- | --- | ---: | ---: | ---: | ---: |
"""


def main(arguments: list[str] | None = None) -> None:
    """Measure all, and write the page's second part."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, nargs="*", default=[1, 2])
    parser.add_argument("--seconds", type=float, default=0.5, help="for each of the two")
    given = parser.parse_args(arguments)
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    KEPT.mkdir(parents=True, exist_ok=True)
    lines: list[str] = []
    ratios: dict[str, list[float]] = {form: [] for form in FORMS}
    for name in MODELS:
        for form, is_quantised in FORMS.items():
            file = written(name, form, is_quantised=is_quantised)
            for count, (ours, theirs) in measured(file, name, given.threads, given.seconds).items():
                ratio = theirs.median_ms / ours.median_ms
                ratios[form].append(ratio)
                marks = ["~" * sample.noisy for sample in (ours, theirs)]
                lines.append(
                    f"| {name} | {form} | {count} | {ours.median_ms:.3f}{marks[0]} |"
                    f" {theirs.median_ms:.3f}{marks[1]} | {ratio:.2f} |"
                )
    means = ", ".join(
        f"{form} {math.exp(sum(map(math.log, found)) / len(found)):.2f}"
        for form, found in ratios.items()
    )
    where = (
        f"{platform.processor() or platform.machine()}, ONNX Runtime {version('onnxruntime')},"
        f" {time.strftime('%Y-%m-%d')}: `make peers-int8 TIMES=1`."
    )
    said = f"Geometric means of the ratios: {means}."
    text = PAGE.read_text(encoding="utf-8").partition(TIMES)[0].rstrip("\n")
    made = "\n".join([HEAD + "\n".join(lines), "", said, "", where, ""])
    PAGE.write_text(f"{text}\n\n{made}", encoding="utf-8")


def written(name: str, form: str, *, is_quantised: bool) -> Path:
    """The file of a model."""
    side, blocks, widths, count = MODELS[name]
    net, file = resnet(side, blocks=blocks, widths=widths), KEPT / f"{name}-{form}.onnx"
    if is_quantised:
        random = np.random.default_rng(1)
        images = [random.standard_normal((1, 3, side, side), np.float32) for _ in range(count)]
        quantised(net, images, file, form, "u8", "i8", True)
    else:
        onnx.save(net, file)
    return file


def measured(file, name, threads, seconds):
    """Samples of both, by the number of threads."""
    found = {}
    with contextlib.ExitStack() as processes:
        made = {}
        for variant in (OURS, THEIRS):
            made[variant] = processes.enter_context(Apart(variant, in_process))
            made[variant].make(str(file), name, tuple(threads))
        for count in threads:
            samples = alternate({v: m.subject(count) for v, m in made.items()}, seconds=seconds)
            found[count] = samples[OURS], samples[THEIRS]
    return found


def in_process(variant, file, name, threads) -> Made:
    """A model as one of the two runs it, in its own process."""
    warnings.simplefilter("ignore")
    side = MODELS[name][0]
    image = np.random.default_rng(2).standard_normal((1, 3, side, side), np.float32)
    start = time.perf_counter()
    if variant == OURS:
        model = compile_model(file)

        def call(count):
            return model.run({"x": image}, threads=count)[0]

    else:
        call = onnxruntime_call(onnxruntime, Path(file).read_bytes(), [image], threads)
    result = np.array(call(threads[0]))
    for count in threads:
        call(count)
    return Made(call, result, time.perf_counter() - start)


if __name__ == "__main__":
    main()
