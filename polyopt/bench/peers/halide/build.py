"""Compile one form of one pipeline: ``python -m polyopt.bench.peers.halide.build REQUEST``.

The request is a JSON object: see ``main``. Halide may use much memory or crash: the process that
asks goes on without this one.
"""

from __future__ import annotations

import json
import sys
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polyopt.bench.peers.call import needed
from polyopt.bench.peers.halide.definition import as_it_is, repeating
from polyopt.bench.peers.halide.library import ENTRY

if TYPE_CHECKING:
    from polyopt.bench.peers.halide.definition import Definition

#: bytes that the process may take: Adams2019 was seen to ask for more than most machines have
_MEMORY = 10 << 30


def main(text: str) -> None:
    """Write the object file ``object``, and the names of the inputs to the file ``order``.

    ``pipeline`` and ``kernel`` say what, ``schedule`` or ``autoscheduler`` how; ``inputs`` and
    ``output`` are shapes, which only the autoschedulers are told; ``repeating`` lets stages be
    computed beyond the inputs; ``strict`` forbids what changes the rounding of floats.
    """
    asked = json.loads(text)
    _limit_memory()
    hl = needed("halide", "halide")
    module: Any = import_module(f"polyopt.bench.peers.halide.{asked['pipeline']}")
    reader = partial(repeating, hl) if asked["repeating"] else as_it_is
    definition: Definition = module.define(hl, asked["kernel"], reader)
    target = hl.get_host_target()
    # Assertions stay: they are a handful at the start of a call, and an autoscheduler's stages,
    # rounded up to whole vectors, may reach beyond an input.
    target = target.with_feature(hl.TargetFeature.NoBoundsQuery)
    if asked["strict"]:
        target = target.with_feature(hl.TargetFeature.StrictFloat)
    for image in definition.inputs:
        if hasattr(image, "dim"):
            for d in range(image.dimensions()):
                image.dim(d).set_min(0)
    result = definition.out.output_buffer()
    for d in range(result.dimensions()):
        result.dim(d).set_min(0)
    pipeline = hl.Pipeline([definition.out])
    if asked["autoscheduler"]:
        _estimates(definition, asked)
        _autoschedule(hl, pipeline, target, asked)
    else:
        module.SCHEDULES[asked["schedule"]](hl, definition)
    arguments = list(definition.inputs)
    pipeline.compile_to({hl.OutputFileType.object: asked["object"]}, arguments, ENTRY, target)
    names = [argument.name() for argument in arguments]
    Path(asked["order"]).write_text(json.dumps(names), encoding="utf-8")


def _limit_memory() -> None:
    try:
        import resource
    except ImportError:
        return  # there is none on Windows
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))


def _estimates(definition: Definition, asked: dict[str, Any]) -> None:
    """Tell the autoscheduler the sizes that will be measured."""
    for argument in definition.inputs:
        if hasattr(argument, "dim"):
            for d, extent in enumerate(reversed(asked["inputs"][argument.name()])):
                argument.dim(d).set_estimate(0, extent)
    for d, extent in enumerate(reversed(asked["output"])):
        definition.out.output_buffer().dim(d).set_estimate(0, extent)


def _autoschedule(hl: Any, pipeline: Any, target: Any, asked: dict[str, Any]) -> None:  # noqa: ANN401
    name = asked["autoscheduler"]
    hl.load_plugin(str(_plugin(Path(hl.__file__).parent, name.lower())))
    options = {"parallelism": str(asked["parallelism"])}
    if name == "Mullapudi2016":
        options["last_level_cache_size"] = str(asked["last_level_cache"])
    pipeline.apply_autoscheduler(target, hl.AutoschedulerParams(name, options))


def _plugin(package: Path, name: str) -> Path:
    found = sorted(package.glob(f"lib*/libautoschedule_{name}.*"))
    if not found:
        msg = f"this build of Halide has no autoscheduler {name}"
        raise SystemExit(msg)
    return found[0]


if __name__ == "__main__":
    main(sys.argv[1])
