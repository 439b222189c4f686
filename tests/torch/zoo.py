"""Models of timm and torchvision as they are: which come in, and whether they are right.

``python -m tests.torch.zoo --minutes 20`` tries families that ``build/zoo`` has nothing of, in the
environment of ``make test-torch`` with ``timm`` and ``torchvision`` installed. ``--run`` compiles
the small models that timm tests its families with, and compares with PyTorch.
"""

from __future__ import annotations

import argparse
import json
import logging
import sys
import time
import warnings
from pathlib import Path

import torch

from polyopt.errors import PolyoptError
from polyopt.graph import compile_model, from_torch

from .page import error_of, flattened

KEPT = Path("build/zoo")


def main(arguments: list[str]) -> int:
    """Try the smallest model of each family."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("families", nargs="*", help="all, unless given")
    parser.add_argument("--minutes", type=float, default=25.0, help="start no model after these")
    parser.add_argument("--run", action="store_true", help="compile small ones, too")
    given = parser.parse_args(arguments)
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    KEPT.mkdir(parents=True, exist_ok=True)
    start = time.monotonic()
    for family, names in families().items():
        if given.families and family not in given.families:
            continue
        file = KEPT / f"{family}.json"
        before = json.loads(file.read_text()) if file.exists() else {}
        small = [name for name in names if name.startswith("test_")]
        if "error" in before if given.run and small else before:
            continue
        if time.monotonic() - start > 60 * given.minutes:
            break
        found = before or {"family": family, **read(names)}
        if given.run and small:
            found |= {"ran": small[0], "error": ran(small[0])}
        file.write_text(json.dumps(found))
        sys.stdout.write(f"{found}\n")
        sys.stdout.flush()
    return 0


def families() -> dict[str, list[str]]:
    """Names of models by the module of timm or torchvision that makes them."""
    import timm
    import torchvision

    found: dict[str, list[str]] = {}
    for name in timm.list_models():
        maker = timm.models.model_entrypoint(name)
        found.setdefault(f"timm.{maker.__module__.rpartition('.')[2]}", []).append(name)
    for name in torchvision.models.list_models():
        module = torchvision.models.get_model_builder(name).__module__
        found.setdefault(module.replace("torchvision.models", "torchvision"), []).append(name)
    return dict(sorted(found.items()))


def read(names: list[str]) -> dict[str, object]:
    """Whether the smallest model of a family comes in."""
    with torch.device("meta"):
        found = {n: parameters(n) for n in names if not n.startswith("test_")}
    sizes = {name: size for name, size in found.items() if size is not None}
    if not sizes:
        return {"refused": "it cannot be made without arguments"}
    name = min(sizes, key=lambda n: (sizes[n], n))
    start = time.monotonic()
    row: dict[str, object] = {"model": name, "parameters": sizes[name]}
    net, shape = made(name)
    try:
        graph = from_torch(net, (torch.randn(shape),))
    except PolyoptError as error:
        return {**row, "refused": error.diagnostic.message}
    return {**row, "nodes": len(graph.nodes), "seconds": time.monotonic() - start}


def ran(name: str) -> float | str:
    """How far a model's results are from PyTorch's, or why it has none."""
    torch.manual_seed(0)
    net, shape = made(name)
    x = torch.randn(shape)
    with torch.no_grad():
        expected = flattened(net(x))
    try:
        model = compile_model(from_torch(net, (x,)))
        return error_of(model.run({model.graph.inputs[0].name: x.numpy()}), expected)
    except PolyoptError as error:
        return error.diagnostic.message


def parameters(name: str) -> int | None:
    """How many numbers a model has."""
    try:
        net, _ = made(name)
    except Exception:  # noqa: BLE001  (some need more than a name, or cannot be made on meta)
        return None
    return sum(p.numel() for p in net.parameters())


def made(name: str) -> tuple[torch.nn.Module, tuple[int, ...]]:
    """A model with random weights, and the shape of its input."""
    import timm
    import torchvision

    if name in timm.list_models():
        net = timm.create_model(name, pretrained=False).eval()
        return net, (1, *net.default_cfg["input_size"])
    builder = torchvision.models.get_model_builder(name)
    video = "video" in builder.__module__
    return builder(weights=None).eval(), (1, 3, *((16,) if video else ()), 224, 224)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
