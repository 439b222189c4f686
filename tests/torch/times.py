"""Times of the models beside ONNX Runtime, OpenVINO and Inductor: the second part of the page.

``python -m tests.torch.times [NAMES]`` measures models that ``build/model-times`` has nothing of,
and writes the times of all into ``docs/models.md``; ``--compile`` makes kernels ready, untimed.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import io
import json
import logging
import math
import platform
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import torch

from polyopt.bench.peers.apart import Apart
from polyopt.bench.peers.frameworks import FRAMEWORKS, Made, onnxruntime_call, openvino_call
from polyopt.errors import PolyoptError
from polyopt.graph import compile_model, load_onnx
from polyopt.graph.passes import default_passes, run_passes
from polyopt.runtime.measuring.alternate import alternate

from .models import MODELS, example
from .page import flattened

KEPT = Path("build/model-times")
PAGE = Path("docs/models.md")
TITLE = "## Times"
OURS, FAST, UNFUSED = "ours", "fast", "unfused"
PEERS = ("onnxruntime", "openvino", "inductor")
TITLES = {"onnxruntime": "ONNX Runtime", "openvino": "OpenVINO", "inductor": "Inductor"}
#: largest difference from PyTorch, over the largest magnitude: sums are added in other orders
TOLERANCE = 1e-3
HEAD = f"""{TITLE}

Milliseconds for one call of `po.compile_model` of the ONNX file, the median, and others' times over it: above 1 ours is the faster. ONNX Runtime and
OpenVINO read the same file; Inductor (`torch.compile`) has the module, its weights frozen where it can do that. Each has a process of its own, which is stopped while
others are timed; all take turns within one run. *Unfused* is ours with a kernel for each operator. `~` marks times that stayed spread out although
measured again; a dash stands for what does not run the model. *Best* is the fastest of the three. Models that are not in a table
are not measured yet.
"""


def main(arguments: list[str]) -> int:
    """Measure models, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="those not measured yet, unless given")
    parser.add_argument("--batch", type=int, nargs="*", default=[1, 8])
    parser.add_argument("--threads", type=int, nargs="*", default=[1, 2])
    parser.add_argument("--seconds", type=float, default=0.3, help="for each variant")
    parser.add_argument("--minutes", type=float, default=25.0, help="start no model after these")
    parser.add_argument("--compile", action="store_true", help="make kernels ready, time nothing")
    given = parser.parse_args(arguments)
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    KEPT.mkdir(parents=True, exist_ok=True)
    start = time.monotonic()
    for name in given.names or MODELS:
        for batch in given.batch:
            file = KEPT / f"{name}-{batch}.json"
            if file.exists() and not given.names:
                continue
            if time.monotonic() - start > 60 * given.minutes:
                break
            rows = measured(name, batch, given.threads, given.seconds, untimed=given.compile)
            if not given.compile:
                file.write_text(json.dumps(rows))
            sys.stdout.write("".join(f"{row}\n" for row in rows))
            sys.stdout.flush()
    rows = [row for f in sorted(KEPT.glob("*.json")) for row in json.loads(f.read_text())]
    if rows and not given.compile:
        PAGE.write_text(PAGE.read_text().partition(TITLE)[0].rstrip("\n") + "\n\n" + page(rows))
    return 0


def measured(name, batch, threads, seconds, *, untimed) -> list[dict[str, object]]:
    """Rows of a model at a batch: a time for each variant and number of threads."""
    given = inputs(name, batch)
    try:
        with torch.no_grad():
            expected = flattened(example(name)[0](*given))[0].numpy()
    except RuntimeError:  # its inputs have no dimension in common
        why = "the model takes no batch"
        return [{"model": name, "batch": batch, "variant": OURS, "why": why}]
    file = exported(name, batch)
    rows = []
    with contextlib.ExitStack() as processes:
        made = {}
        fast = (FAST,) * uses_winograd(file)
        for variant in (OURS, *fast, UNFUSED, *PEERS):
            apart = processes.enter_context(Apart(variant, in_process))
            try:
                found = apart.make(name, batch, str(file), tuple(threads))
            except PolyoptError as error:
                rows.append({"model": name, "batch": batch, "variant": variant, "why": str(error)})
                continue
            away = np.abs(found.result - expected).max() / (np.abs(expected).max() or 1.0)
            made[variant] = (apart, float(away), found.seconds)
        if untimed:
            return [{"model": name, "batch": batch, "made": {v: m[1:] for v, m in made.items()}}]
        for count in threads:
            samples = alternate({v: m[0].subject(count) for v, m in made.items()}, seconds=seconds)
            rows += [
                {"model": name, "batch": batch, "variant": variant, "threads": count,
                 "ms": sample.median_ms, "noisy": sample.noisy, "error": made[variant][1]}
                for variant, sample in samples.items()
            ]  # fmt: skip
    return rows


def uses_winograd(file: Path) -> bool:
    """Whether fast numerics choose another algorithm for any layer of a file."""
    graph = run_passes(load_onnx(str(file)), default_passes(numerics="fast")).graph
    return any(node.op == "winograd_conv" for node in graph.nodes)


def inputs(name, batch) -> tuple[torch.Tensor, ...]:
    """The model's example, again and again along its first dimension."""
    return tuple(torch.cat([one] * batch) for one in example(name)[1])


def exported(name, batch) -> Path:
    """The ONNX file, made once."""
    file = KEPT / f"{name}-{batch}.onnx"
    if not file.exists():
        printed = io.StringIO()  # the exporter talks
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
            net = example(name)[0]
            made = torch.onnx.export(net, inputs(name, batch), dynamo=True, verbose=False)
        file.write_bytes(made.model_proto.SerializeToString())
    return file


def in_process(variant, name, batch, file, threads) -> Made:
    """A model as a variant runs it, in its own process."""
    warnings.simplefilter("ignore")
    arrays = [one.numpy() for one in inputs(name, batch)]
    start = time.perf_counter()
    call = {
        OURS: _ours, FAST: _ours, UNFUSED: _ours, "onnxruntime": _peer, "openvino": _peer,
        "inductor": _inductor,
    }[variant](variant, name, file, arrays, threads)  # fmt: skip
    result = np.array(call(threads[0]))
    for count in threads:
        call(count)  # what is made for each number of threads is made now
    return Made(call, result, time.perf_counter() - start)


def _ours(variant, name, file, arrays, threads):
    del name, threads
    model = compile_model(
        file,
        fusion="off" if variant == UNFUSED else None,
        numerics="fast" if variant == FAST else "exact",
    )
    named = {v.name: array for v, array in zip(model.graph.inputs, arrays, strict=True)}
    return lambda count: model.run(named, threads=count)[0]


def _peer(variant, name, file, arrays, threads):
    del name
    module = importlib.import_module(FRAMEWORKS[variant])
    make = {"onnxruntime": onnxruntime_call, "openvino": openvino_call}[variant]
    return make(module, Path(file).read_bytes(), arrays, threads)


def _inductor(variant, name, file, arrays, threads):
    del variant, file, threads
    net, _ = example(name)
    given = [torch.from_numpy(array) for array in arrays]

    def call_of(freezing):
        torch._dynamo.reset()
        torch._inductor.config.freezing = freezing
        compiled = torch.compile(net)

        def call(count):
            torch.set_num_threads(count)
            with torch.no_grad():
                return flattened(compiled(*given))[0].numpy()

        return call

    frozen = call_of(freezing=True)
    try:
        frozen(1)
    except Exception:  # noqa: BLE001  (what cannot be frozen runs as it is)
        return call_of(freezing=False)
    return frozen


def page(rows: list[dict[str, object]]) -> str:
    """The section's text: a table for each batch and number of threads, and what is left."""
    lines = [HEAD]
    whys = [row for row in rows if "why" in row]
    times = [row for row in rows if "ms" in row]
    wrong = [r for r in times if not r["error"] <= TOLERANCE]
    for batch, count in sorted({(row["batch"], row["threads"]) for row in times}):
        chosen = [row for row in times if (row["batch"], row["threads"]) == (batch, count)]
        lines += table(chosen, f"Batch {batch}, {count} thread{'s' * (count > 1)}")
    for row in whys:
        reason = str(row["why"]).split("\n")[0][:100]
        lines.append(f"- {row['model']}, batch {row['batch']}, {row['variant']}: {reason}")
    lines += [
        f"- {row['model']}, batch {row['batch']}, {row['variant']}: {row['error']:.1e} away from PyTorch"
        for row in wrong
    ]
    import onnxruntime
    import openvino

    where = (
        f"{platform.processor() or platform.machine()}, PyTorch {torch.__version__}, ONNX Runtime "
        f"{onnxruntime.__version__}, OpenVINO {openvino.__version__.split('-')[0]}, "
        f"{time.strftime('%Y-%m-%d')}: `make peers-models`."
    )
    return "\n".join([*lines, "", where, ""])


def table(rows, title) -> list[str]:
    """A row for each model, and geometric means below."""
    lines = [
        f"### {title}", "",
        "| model | ours ms | " + " | ".join(TITLES[p] for p in PEERS)
        + " | best | best, fast | unfused |",
        "| --- |" + " ---: |" * (len(PEERS) + 4),
    ]  # fmt: skip
    ratios: dict[str, list[float]] = {p: [] for p in (*PEERS, "best", FAST, UNFUSED)}
    by_model: dict[str, dict[str, dict]] = {}
    for row in rows:
        by_model.setdefault(row["model"], {})[row["variant"]] = row
    for name in (m for m in MODELS if OURS in by_model.get(m, {})):
        found = by_model[name]
        ours = found[OURS]
        peers = {p: found[p]["ms"] / ours["ms"] for p in PEERS if p in found}
        shown = {**peers, "best": min(peers.values(), default=math.nan)}
        if FAST in found and peers:
            shown[FAST] = shown["best"] * ours["ms"] / found[FAST]["ms"]
        if UNFUSED in found:
            shown[UNFUSED] = found[UNFUSED]["ms"] / ours["ms"]
        for variant, ratio in shown.items():
            ratios[variant].append(ratio)
        cells = [
            f"{shown[v]:.2f}{'~' * bool(found.get(v, {}).get('noisy'))}" if v in shown else "-"
            for v in ratios
        ]
        mark = "~" * ours["noisy"]
        lines.append(f"| {name} | {ours['ms']:.3f}{mark} | " + " | ".join(cells) + " |")
    means = [
        f"**{math.exp(sum(map(math.log, r)) / len(r)):.2f}**" if r else "-" for r in ratios.values()
    ]
    best = ratios["best"]
    lines.append("| geometric mean | | " + " | ".join(means) + " |")
    fast, slow = sum(r >= 1 for r in best), sum(r < 0.85 for r in best)
    count = len(best)
    said = f"At least as fast as the best of the three: {fast} of {count}; below 0.85: {slow}."
    return [*lines, "", said, ""]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
