"""A compiled network as a standalone directory: C of every kernel, weights, a main, a Makefile.

The network is one function without globals: weights, memory for its tensors, inputs and outputs are
the caller's. ``main`` runs it on what was kept beside it, compares, and times.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING

from polyopt.codegen.ast.names import function_name, names_in
from polyopt.codegen.helpers.math.halves import half_types
from polyopt.escaping import c_string, comment
from polyopt.graph.execution.memory import aligned
from polyopt.graph.execution.run import random_inputs, run_plainly
from polyopt.ir.types import BF16, F16
from polyopt.runtime.export import compiler_settings, own_flags, write_directory

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from polyopt.graph.execution.model import Model, Step
    from polyopt.graph.ir.graph import Value
    from polyopt.graph.kernels import GroupKernel
    from polyopt.ir.types import ScalarType

_TEMPLATES = Path(__file__).parents[1] / "templates"
#: what a result may differ by from the plain network's, relative to the largest: sums are added in
#: other orders; integers are to be the same
_TOLERANCE = "1e-3"
#: of bfloat16, whose elements are rounded to 8 bits
_ROUGH = "8e-3"


def export_model(model: Model, directory: Path | str) -> Path:
    """See ``Model.export``: all files, or none when something fails.

    Raises ``InvalidOptionError`` when the directory cannot be written.
    """
    return write_directory(Path(directory), exported_files(model))


def exported_files(model: Model) -> dict[str, str | bytes]:
    """Every file by its name."""
    out = _Exported.of(model)
    inputs = random_inputs(model.graph)
    expected = run_plainly(model.graph, inputs)
    arrays = [*(inputs[v.name] for v in model.graph.inputs), *expected]
    kernels = dict(out.kernels())
    objects = " ".join(file.replace(".c", ".o") for file in kernels)
    flags = {f"{name}.o": kernel.kernel.built.flags for kernel, name in out.functions.items()}
    own = [f"{file}: CFLAGS += {' '.join(more)}\n" for file, more in own_flags(flags).items()]
    texts = {
        f"{out.name}.h": _template("network.h").substitute(out.texts()),
        f"{out.name}.c": _template("network.c").substitute(out.texts()),
        "main.c": _template("main.c").substitute(out.texts()),
        "Makefile": _template("Makefile").substitute(
            name=out.name,
            compiler=compiler_settings(flags.values()),
            objects=objects,
            own="".join(own),
        ),
    }
    return {
        **texts,
        **kernels,
        "weights.bin": _packed(out),
        "check.bin": b"".join(array.tobytes() for array in arrays),
    }


def _template(name: str) -> Template:
    return Template((_TEMPLATES / name).read_text(encoding="utf-8"))


def _packed(out: _Exported) -> bytes:
    """The constants at their places."""
    packed = bytearray(out.bytes)
    for name, start in out.weights.items():
        array = out.model.constants[name]
        packed[start : start + array.nbytes] = array.tobytes()
    return bytes(packed)


@dataclass(frozen=True, eq=False)
class _Exported:
    """What the files tell of a model."""

    model: Model
    #: the network's C name
    name: str
    #: constants that steps read -> bytes from the start of the weights
    weights: Mapping[str, int]
    #: of the weights in all
    bytes: int
    #: by kernel, the name of its function
    functions: Mapping[GroupKernel, str]

    @classmethod
    def of(cls, model: Model) -> _Exported:
        """Names and places."""
        name = function_name(model.name)
        weights: dict[str, int] = {}
        end = 0
        roots = (model.root(n) for s in model.steps for n in s.arguments.values())
        for root in dict.fromkeys((*roots, *map(model.root, model.graph.outputs))):
            if root in model.constants:
                weights[root] = end
                end = aligned(end + model.constants[root].nbytes)
        functions: dict[GroupKernel, str] = {}
        for step in model.steps:
            functions.setdefault(step.kernel, f"{name}_kernel_{len(functions) + 1}")
        return cls(model, name, weights, end, functions)

    def kernels(self) -> Iterator[tuple[str, str]]:
        """Each kernel's file and C, its function renamed: two may have one name."""
        for kernel, name in self.functions.items():
            program = kernel.planned.program
            yield f"{name}.c", _renamed(program.c_name, name, program.source)

    def texts(self) -> dict[str, object]:
        """What the templates ask for."""
        graph = self.model.graph
        values = graph.values
        results = [values[name] for name in graph.outputs]
        tensors = [*_named("in", graph.inputs), *_named("out", results)]
        table = [
            f"    {{{c_string(v.name)}, {v.bytes}, {v.dtype.bytes}, {_compared(v.dtype)}}},"
            for v in (*graph.inputs, *results)
        ]
        prototypes = [
            _renamed(k.planned.program.c_name, name, k.planned.program.prototype) + ";"
            for k, name in self.functions.items()
        ]
        used = {name for text in prototypes for name in names_in(text)}
        return {
            "name": self.name,
            "guard": self.name.upper(),
            "parameters": ", ".join(
                f"{'const ' if name.startswith('in') else ''}void *{name}" for name, _ in tensors
            ),
            "described": "\n".join(
                f" * {comment(f'{name}: {v.name}, {v}')}" for name, v in tensors
            ),
            "weights": self.bytes,
            "memory": self.model.arena.bytes,
            "prototypes": "\n".join([*half_types(used), *prototypes]),
            "calls": "\n".join(self._calls()),
            "table": "\n".join(table),
            "inputs": len(graph.inputs),
            "outputs": len(results),
            "arguments": ", ".join(f"data[{k}]" for k in range(len(tensors))),
        }

    def _calls(self) -> Iterator[str]:
        """The steps in order, then the copies of the results."""
        for step in self.model.steps:
            arguments = ", ".join((*self._arguments(step), "threads"))
            shown = comment(" + ".join(node.op for node in step.group.nodes))
            yield f"    if ({self.functions[step.kernel]}({arguments})) return 1; /* {shown} */"
        for number, name in enumerate(self.model.graph.outputs):
            size = self.model.graph.values[name].bytes
            yield f"    memcpy(out{number}, {self._place(name)}, {size});"

    def _arguments(self, step: Step) -> Iterator[str]:
        for argument in step.kernel.planned.program.arguments:
            if argument.kind == "size":
                yield str(self.model.sizes[argument.name])
            else:
                yield self._place(step.arguments[argument.name])

    def _place(self, tensor: str) -> str:
        """The address of a tensor."""
        root = self.model.root(tensor)
        if root in self.weights:
            return f"{self.name}_weight({self.weights[root]})"
        names = [v.name for v in self.model.graph.inputs]
        if root in names:
            return f"in{names.index(root)}"
        return f"{self.name}_tensor({self.model.arena.offsets[root]})"


def _compared(dtype: ScalarType) -> str:
    """How elements are compared, and what they may differ by."""
    kinds = {F16: "polyopt_half", BF16: "polyopt_bfloat"}
    kind = kinds.get(dtype, "polyopt_float" if dtype.is_float else "polyopt_whole")
    return f"{kind}, {_ROUGH if dtype == BF16 else _TOLERANCE}"


def _named(prefix: str, values: Sequence[Value]) -> Iterable[tuple[str, Value]]:
    return ((f"{prefix}{number}", value) for number, value in enumerate(values))


def _renamed(old: str, new: str, text: str) -> str:
    return re.sub(rf"\b{re.escape(old)}(?=\s*\()", new, text)
