"""Random modules of PyTorch: ``python -m tests.fuzz.modules --seeds 0:300``, with PyTorch.

Each is run by PyTorch eagerly and by ``torch.compile``'s backend of polyopt on the same tensors:
results, their types and strides, what is changed in place and what shares memory have to agree.
``--single`` runs each step alone, as a graph of ``from_torch``, on tensors of each type.
"""

from __future__ import annotations

import argparse
import logging
import sys
import warnings
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import nn

from polyopt.errors import InternalError, PolyoptError
from polyopt.graph import compile_model, from_torch
from tests.fuzz.steps import IN_PLACE, VALUES, VIEWS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

TYPES = (torch.float32, torch.float64, torch.int64, torch.int32, torch.bool, torch.uint8)
SHAPES = ((2, 3, 4), (2, 3, 4), (3, 4), (4,), (), (1, 3, 1))
STEPS = {**VIEWS, **IN_PLACE, **VALUES}


@dataclass(frozen=True)
class Taken:
    """A step of a module: its operands are earlier values."""

    name: str
    operand: int
    other: int
    number: int


class Module(nn.Module):
    """Some steps on some inputs; some of the values are results."""

    def __init__(self, steps: Sequence[Taken], kept: Sequence[int]) -> None:
        super().__init__()
        self.steps, self.kept = steps, kept

    def forward(self, x: Any, y: Any) -> Any:
        values = [x, y]
        for one in self.steps:
            run = STEPS[one.name]
            values.append(run(values[one.operand], values[one.other], one.number))
        return tuple(values[k] for k in self.kept)

    def __str__(self) -> str:
        told = [f"{k}={s.name!r}({s.operand}, {s.other}, {s.number})"
                for k, s in enumerate(self.steps, 2)]  # fmt: skip
        return "; ".join(told) + f" -> {list(self.kept)}"


def tensor(draw: np.random.Generator, kind: torch.dtype, shape: Sequence[int]) -> torch.Tensor:
    """A tensor of quarters, or of small integers; of floats some are special."""
    if kind == torch.bool:
        return torch.from_numpy(np.asarray(draw.integers(2, size=shape))).bool()
    if not kind.is_floating_point:
        low = 0 if kind == torch.uint8 else -5
        return torch.from_numpy(np.asarray(draw.integers(low, 6, size=shape))).to(kind)
    found = np.asarray(draw.integers(-12, 13, size=shape) / 4.0)
    special = draw.random(found.shape) < (0.1 if draw.random() < 0.4 else 0.0)
    found = np.where(special, draw.choice([np.nan, np.inf, -np.inf, -0.0], size=found.shape), found)
    return torch.from_numpy(np.asarray(found)).to(kind)


def random_module(seed: int, count: int) -> tuple[Module, list[torch.Tensor]]:
    """A module and its inputs; steps that PyTorch refuses are drawn again."""
    draw = np.random.default_rng(seed)
    kinds = [TYPES[k] for k in draw.choice(len(TYPES), 2, p=(0.5, 0.1, 0.15, 0.05, 0.1, 0.1))]
    shape = SHAPES[draw.integers(len(SHAPES))]
    given = [tensor(draw, kind, shape) for kind in kinds]
    steps: list[Taken] = []
    module = Module(steps, ())
    while len(steps) < count:
        group = (VIEWS, IN_PLACE, VALUES, VALUES)[draw.integers(4)]
        name = sorted(group)[draw.integers(len(group))]
        reach = len(steps) + 2
        one = Taken(name, *map(int, draw.integers(reach, size=2)), int(draw.integers(5)))
        tried = Module([*steps, one], range(reach + 1))
        if _runs(tried, given):
            steps.append(one)
    reach = len(steps) + 2
    module.kept = sorted({reach - 1, *map(int, draw.choice(reach, 3, replace=False))})
    return module, given


def _runs(module: Module, given: Sequence[torch.Tensor]) -> bool:
    try:
        with torch.no_grad():
            results = module(*(one.clone() for one in given))
    except (
        RuntimeError,
        IndexError,
        ValueError,
        TypeError,
        ZeroDivisionError,
        NotImplementedError,
    ):
        return False
    last = results[-1]
    return isinstance(last, torch.Tensor) and 0 < last.numel() < 300


def outcome(called: Callable[..., Any], given: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """Results, then the inputs as they are afterwards."""
    tensors = [one.clone() for one in given]
    with torch.no_grad():
        return [*called(*tensors), *tensors]


def difference(found: Sequence[Any], expected: Sequence[Any]) -> str:
    """What is other in results than PyTorch's; "" where nothing is."""
    for k, (one, other) in enumerate(zip(found, expected, strict=True)):
        if (one.dtype, one.shape) != (other.dtype, other.shape):
            return f"{k}: {one.dtype}{list(one.shape)}, not {other.dtype}{list(other.shape)}"
        if _strides(one) != _strides(other):
            return f"{k}: strides {one.stride()}, not {other.stride()}"
        rough = 1e-2 if other.dtype == torch.float16 else 2e-4
        if not torch.allclose(one.double(), other.double(), rough, rough, equal_nan=True):
            return f"{k}: {one.tolist()}, not {other.tolist()}"
    if _sharing(found) != _sharing(expected):
        return f"memory is shared as {_sharing(found)}, not {_sharing(expected)}"
    return ""


def _strides(one: Any) -> list[int]:
    """Of axes of one element they mean nothing, and tracing gives others."""
    return [stride for stride, n in zip(one.stride(), one.shape, strict=True) if n > 1]


def _sharing(tensors: Sequence[Any]) -> list[int]:
    starts = [one.untyped_storage().data_ptr() for one in tensors]
    return [starts.index(start) for start in starts]


def check_module(seed: int, count: int) -> str:
    """What a random module does otherwise than PyTorch; "" where nothing, or where PyTorch's tracing
    without us does the same."""
    module, given = random_module(seed, count)
    told = _compiled_by("polyopt", module, given)
    if told and told == _compiled_by("aot_eager", module, given):
        return ""
    return f"{told}\n    {module} of {[(g.dtype, g.tolist()) for g in given]}" if told else ""


def _compiled_by(backend: str, module: Module, given: Sequence[torch.Tensor]) -> str:
    """What a compiled module does otherwise than PyTorch; "" where nothing."""
    torch.compiler.reset()
    try:
        called = torch.compile(module, backend=backend, dynamic=False)
        return difference(outcome(called, given), outcome(module, given))
    except torch._dynamo.exc.TorchRuntimeError:
        return ""
    except Exception as error:  # noqa: BLE001  (any is a defect)
        return f"{type(error).__name__}: {str(error)[:300]}"


class Alone(nn.Module):
    """One step."""

    def __init__(self, name: str, number: int) -> None:
        super().__init__()
        self.name, self.number = name, number

    def forward(self, x: Any, y: Any) -> Any:
        return STEPS[self.name](x, y, self.number)


def check_alone(name: str, kind: torch.dtype, shape: Sequence[int], seed: int) -> str:
    """``same``, ``refused: why``, ``impossible``, or what a step alone computes otherwise."""
    draw = np.random.default_rng(seed)
    given = [tensor(draw, kind, shape) for _ in range(2)]
    module = Alone(name, int(draw.integers(5)))
    if not _runs(Module([Taken(name, 0, 1, module.number)], [2]), given):
        return "impossible"
    try:
        graph = from_torch(module, tuple(one.clone() for one in given))
    except InternalError as error:
        return f"internal: {error}"
    except PolyoptError as error:
        return f"refused: {error.diagnostic.message.splitlines()[0][:110]}"
    expected = outcome(lambda *t: [module(*t).contiguous()], given)[0]
    arrays = {v.name: a.numpy() for v, a in zip(graph.inputs, given, strict=False)}
    named = {n: g.numpy() for n, g in zip(("x", "y"), given, strict=True)}
    found = compile_model(graph).run({n: named.get(n, a) for n, a in arrays.items()})
    return difference([torch.from_numpy(np.array(found[0]))], [expected]) or "same"


def all_alone(seed: int, names: Sequence[str]) -> Iterator[str]:
    """What each step alone does otherwise, and how many do the same."""
    counts: Counter[str] = Counter()
    refused: dict[str, set[str]] = {}
    for name in names:
        for k, kind in enumerate(TYPES):
            for shape in (SHAPES[0], ()) if kind == torch.float32 else SHAPES[:1]:
                try:
                    told = check_alone(name, kind, shape, seed + k)
                except Exception as error:  # noqa: BLE001  (any is a defect)
                    told = f"{type(error).__name__}: {str(error)[:300]}"
                word = told.partition(":")[0] if told.startswith("refused") else told
                counts[word if word in {"same", "refused", "impossible"} else "other"] += 1
                if word == "refused":
                    refused.setdefault(name, set()).add(told)
                elif word not in {"same", "impossible"}:
                    yield f"{name} of {kind}{list(shape)}: {told}"
    for name, reasons in refused.items():
        yield f"{name} {'; '.join(sorted(reasons))}"
    yield str(dict(counts))


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> int:
    """The command line; 1 where something is computed otherwise."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.modules", description=__doc__)
    parser.add_argument("--seeds", default="0:100", help="first and end, such as 0:100")
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--single", nargs="*", help="steps alone; all unless named")
    given = parser.parse_args()
    logging.getLogger("polyopt").setLevel(logging.ERROR)
    warnings.simplefilter("ignore")
    first, end = map(int, given.seeds.split(":"))
    if given.single is not None:
        for line in all_alone(first, given.single or [*VALUES, *IN_PLACE, *VIEWS]):
            _say(line)
        return 0
    failed = 0
    for seed in range(first, end):
        if told := check_module(seed, given.steps):
            failed += 1
            _say(f"seed {seed}: {told}")
    _say(f"{end - first} modules, {failed} otherwise than PyTorch")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
