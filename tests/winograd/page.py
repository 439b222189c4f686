"""Winograd's convolutions, layer by layer: ``python -m tests.winograd.page [--only errors|times]``.

Figures are kept in ``build/winograd``, and ``docs/winograd.md`` tells of them. It fails where an
error is beyond its bound.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polyopt.codegen.target import cpu_name, target
from polyopt.scheduler.model.objective import CLEARLY

from .layers import LAYERS, Layer

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    Row = dict[str, dict[str, Any]]

KEPT = Path("build/winograd")
#: sizes of tiles; 0 is the convolution as it is defined
TILES = (0, 2, 4)
NAMES = {0: "direct", 2: "F(2 x 2)", 4: "F(4 x 4)"}
#: rounds in which all take turns, and seconds that each gets in one
ROUNDS, SECONDS = 7, 0.05
HEAD = """# Winograd's convolutions

With `numerics="fast"`, `po.compile_model` computes 3 x 3 convolutions of stride 1 in tiles of 2 x 2 or 4 x 4 results, by 16 or 36 products for each pair of channels
where the sums of a direct one have 36 or 144 (`UseWinograd`; S. Winograd, 1980; A. Lavin and S. Gray, 2016). Where it is taken, the model predicts it to take less
than {clearly:.0%} of a direct convolution's time. Results are equal in real numbers; rounding takes them further apart, and with the usual numerics they are
never computed so.

## What the pass chooses

Milliseconds of a convolution and a ReLU, channels in ONNX's order before and behind, batch 1, one thread: medians of {rounds} rounds in which all take turns, each with
the least and the greatest round. *Predicted* is of the convolution with its channels in blocks, without bringing them there. ONNX Runtime's threads do not spin.
*Right* says whether no other of ours was clearly faster (by more than {noise:.0%}) than what the model chose.

| layer | direct | predicted | F(2 x 2) | predicted | F(4 x 4) | predicted | ONNX Runtime | ONNX Runtime / chosen | chosen | right |
| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- | --- |
"""
ERRORS = """
## How far results are off

Errors of one convolution beside doubles, of normally distributed weights and the positive half of normally distributed data, over the largest result: the largest,
and the root of the mean square. *Bound* is that of the element whose bound is largest, for these weights and data: `gamma(k)` times what is summed up of
magnitudes, `k` the roundings of a term (`polyopt/graph/winograd/rounding.py`; N. J. Higham, 2002, Lemma 3.1). *Stated* is what the pass remarks before there are data, `gamma(k) growth^2 max
|x| sum |w|`.

| layer | computed | largest | mean square | bound | stated |
| --- | --- | ---: | ---: | ---: | ---: |
"""
#: by how much times differ by chance on machines that do other work
NOISE = 0.1


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=("errors", "times", "page"))
    parser.add_argument("--layers", nargs="*", help="64x56, ...: all, unless given")
    given = parser.parse_args(arguments)
    KEPT.mkdir(parents=True, exist_ok=True)
    for layer in (Layer(*sizes) for sizes in LAYERS):
        key = f"{layer.channels}x{layer.side}"
        if given.only == "page" or (given.layers and key not in given.layers):
            continue
        row = _kept(key)
        if given.only != "times":
            row["errors"] = {str(tile): layer.errors(tile) for tile in TILES}
        if given.only != "errors":
            row["times"] = _times(layer)
            row["predicted"] = {str(tile): layer.predicted(tile) for tile in TILES}
        (KEPT / f"{key}.json").write_text(json.dumps(row))
    rows = {Layer(*s): _kept(f"{s[0]}x{s[1]}") for s in LAYERS}
    Path("docs/winograd.md").write_text(page(rows))
    return any(e["most"] > e["bound"] for row in rows.values() for e in row["errors"].values())


def _kept(key: str) -> Row:
    file = KEPT / f"{key}.json"
    return json.loads(file.read_text()) if file.exists() else {}


def _times(layer: Layer) -> dict[str, list[float]]:
    """Least, median and greatest milliseconds of a call, over rounds in which all take turns."""
    image, session = layer.image, layer.runtime()
    models = {str(tile): layer.compiled(tile) for tile in TILES}
    calls: dict[str, Callable[[], object]] = {
        n: partial(m, image, threads=1) for n, m in models.items()
    }
    calls["runtime"] = partial(session.run, None, {"x": image})
    found: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(ROUNDS):
        for name, call in calls.items():
            found[name].append(_median(call))
    return {n: [min(ms), statistics.median(ms), max(ms)] for n, ms in found.items()}


def _median(call: Callable[[], object]) -> float:
    """Milliseconds of one call."""
    call()
    taken: list[float] = []
    end = time.perf_counter() + SECONDS
    while time.perf_counter() < end:
        start = time.perf_counter()
        call()
        taken.append(1e3 * (time.perf_counter() - start))
    return statistics.median(taken)


def chosen(predicted: Mapping[str, float]) -> int:
    """The size of tiles that the pass takes; 0 for none."""
    best = min((tile for tile in TILES if tile), key=lambda t: predicted[str(t)])
    return best if predicted[str(best)] <= CLEARLY * predicted["0"] else 0


def page(rows: Mapping[Layer, Row]) -> str:
    """The page."""
    text = HEAD.format(clearly=CLEARLY, rounds=ROUNDS, noise=NOISE)
    for layer, row in rows.items():
        times, predicted = row["times"], row["predicted"]
        mine = chosen(predicted)
        best = min(times[str(tile)][1] for tile in TILES)
        is_right = times[str(mine)][1] <= (1 + NOISE) * best
        cells = [layer.name]
        for tile in TILES:
            cells += [_spread(times[str(tile)]), f"{predicted[str(tile)]:.3f}"]
        ratio = times["runtime"][1] / times[str(mine)][1]
        cells += [_spread(times["runtime"]), f"{ratio:.2f}", NAMES[mine]]
        text += f"| {' | '.join([*cells, 'yes' if is_right else '**no**'])} |\n"
    text += ERRORS
    for layer, row in rows.items():
        for tile, e in row["errors"].items():
            numbers = (f"{e[k]:.1e}" for k in ("most", "rms", "bound", "stated"))
            text += f"| {' | '.join([layer.name, NAMES[int(tile)], *numbers])} |\n"
    machine = target()
    text += f"\n{cpu_name()}, vectors of {machine.vector_bytes} bytes; ONNX Runtime "
    return text + f"{version('onnxruntime')}. `make peers-winograd` measures anew.\n"


def _spread(times: Sequence[float]) -> str:
    least, middle, most = times
    return f"{middle:.3f} ({least:.3f}-{most:.3f})"


if __name__ == "__main__":
    raise SystemExit(main())
