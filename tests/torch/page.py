"""The page of models: each by both routes beside PyTorch, and whether all of it is taken.

``python -m tests.torch.page [NAMES]`` tries models that ``build/models`` has nothing of, and writes
``docs/models.md`` of all.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import logging
import platform
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import torch

from polyopt.errors import PolyoptError
from polyopt.graph import compile_model, from_torch, load_onnx
from polyopt.graph.fx import backend, explain_backend

from .models import MODELS, example

KEPT = Path("build/models")
HEAD = """# Models

Networks as people write them in PyTorch (`tests/torch/models.py`: layers of the papers, small widths and images, random weights), each by three routes
beside PyTorch itself: `torch.compile(net, backend="polyopt")`, `po.compile_model(po.graph.from_torch(net, inputs))`, and
`po.compile_model` of the ONNX file that `torch.onnx.export` writes. An error is the largest difference of any result from PyTorch's, over its largest
magnitude; seconds are those of the first call of the compiled module, search, proof and C compiler included.
What is not taken runs on PyTorch by the first route, in pieces that `polyopt.graph.fx.explain_backend` lists, and is refused by the others. PyTorch does not trace its own recurrent layers for backends
(`torch._dynamo.config.allow_rnn` lets it): it runs these itself.
"""


def main(arguments: list[str]) -> int:
    """Try models, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="all, unless given")
    parser.add_argument("--file", action="store_true", help="the ONNX file alone, anew")
    parser.add_argument("--minutes", type=float, default=25.0, help="start no model after these")
    given = parser.parse_args(arguments)
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    KEPT.mkdir(parents=True, exist_ok=True)
    start = time.monotonic()
    for name in given.names or MODELS:
        file = KEPT / f"{name}.json"
        if file.exists() and not given.names and not given.file:
            continue
        if time.monotonic() - start > 60 * given.minutes:
            break
        if given.file and file.exists():
            found = {**json.loads(file.read_text()), "onnx": by_route(read_file, *example(name))}
        else:
            found = tried(name)
        file.write_text(json.dumps(found))
        sys.stdout.write(f"{name} {file.read_text()}\n")
        sys.stdout.flush()
    rows = [json.loads(f.read_text()) for n in MODELS if (f := KEPT / f"{n}.json").exists()]
    Path("docs/models.md").write_text(page(rows))
    return 0


def tried(name: str) -> dict[str, object]:
    """What becomes of a model."""
    net, given = example(name)
    with torch.no_grad():
        expected = flattened(net(*given))
    pieces = explain_backend(net, *given).pieces
    found: dict[str, object] = {
        "name": name, "whole": all(piece.compiled for piece in pieces), "pieces": len(pieces),
        "reasons": [piece.reason for piece in pieces if piece.reason],
    }  # fmt: skip
    torch._dynamo.reset()
    start = time.monotonic()
    traced: list[object] = []

    def watched(module, examples):
        traced.append(module)
        return backend(module, examples)

    with torch.no_grad():
        results = flattened(torch.compile(net, backend=watched)(*given))
    found["traced"] = bool(traced)
    found["seconds"] = time.monotonic() - start
    found["compile"] = error_of([r.numpy() for r in results], expected)
    for route, read in (("graph", from_torch), ("onnx", read_file)):
        found[route] = by_route(read, net, given)
    return found


def by_route(read, net, given) -> float | str:
    """The error of a network that is read and compiled, or why there is none."""
    with torch.no_grad():
        expected = flattened(net(*given))
    try:
        graph = read(net, given)
        model = compile_model(graph)
        arrays = {v.name: one.numpy() for v, one in zip(graph.inputs, given, strict=True)}
        return error_of(model.run(arrays), expected)
    except PolyoptError as error:
        return error.diagnostic.message


def read_file(net, given):
    printed = io.StringIO()  # the exporter talks
    try:
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
            made = torch.onnx.export(net, given, dynamo=True, verbose=False)
    except Exception as error:  # noqa: BLE001  (whatever exporting raises)
        reason = str(error).strip().splitlines()[0][:80]
        raise PolyoptError(f"PyTorch does not export it: {reason}") from None
    return load_onnx(made.model_proto.SerializeToString())


def flattened(result) -> list[torch.Tensor]:
    if isinstance(result, torch.Tensor):
        return [result]
    return [part for one in result for part in flattened(one)]


def error_of(found, expected) -> float | str:
    """The largest difference, relative; or what is wrong with shapes and types."""
    errors = [0.0]
    for mine, tensor in zip(found, expected, strict=True):
        theirs = tensor.numpy()
        if (mine.shape, mine.dtype) != (theirs.shape, theirs.dtype):
            return f"{mine.dtype}{list(mine.shape)} is not {theirs.dtype}{list(theirs.shape)}"
        away = np.abs(mine.astype(np.float64) - theirs.astype(np.float64)).max(initial=0.0)
        errors.append(float(away / max(1e-30, np.abs(theirs).max(initial=0.0))) if away else 0.0)
    return max(errors)


def page(rows: list[dict[str, object]]) -> str:
    """The page's text."""
    lines = [HEAD, "| model | `torch.compile` | error | seconds | `from_torch` | ONNX |",
             "| --- | --- | ---: | ---: | --- | --- |"]  # fmt: skip
    for row in rows:
        whole = "whole" if row["whole"] else f"{row['pieces']} pieces"
        whole = whole if row.get("traced", True) else "not traced by PyTorch"
        lines.append(f"| {row['name']} | {whole} | {shown(row['compile'])} | {row['seconds']:.1f} "
                     f"| {shown(row['graph'])} | {shown(row['onnx'])} |")  # fmt: skip
    count = len(rows)
    taken = {
        r: sum(isinstance(row[r], float) for row in rows) for r in ("compile", "graph", "onnx")
    }
    whole = sum(bool(row["whole"]) and bool(row.get("traced", True)) for row in rows)
    machine = platform.processor() or platform.machine()
    total = (
        f"{count} models. `torch.compile`: {taken['compile']} right, {whole} of them whole."
        f" `from_torch`: {taken['graph']}. ONNX: {taken['onnx']}."
    )
    where = (
        f"{machine}, Python {platform.python_version()}, PyTorch {torch.__version__},"
        f" {time.strftime('%Y-%m-%d')}: `make models`."
    )
    lines += ["", total, "", where, ""]
    return "\n".join(lines)


def shown(value: object) -> str:
    return f"{value:.1e}" if isinstance(value, float) else str(value).split("\n")[0][:90]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
