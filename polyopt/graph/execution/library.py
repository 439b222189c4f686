"""A network as a C library: kernels, what calls them, and models with weights and memory."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from polyopt.codegen.ast.names import function_name, names_in
from polyopt.codegen.helpers.math.halves import half_types
from polyopt.escaping import comment
from polyopt.graph.execution.weights import MAGIC, VERSION, Weights
from polyopt.graph.ir.open import Open
from polyopt.graph.ir.ranges import index_checks
from polyopt.ir.types import I64
from polyopt.runtime.export import write_directory
from polyopt.runtime.packaging.build_files import build_files, sources
from polyopt.runtime.packaging.header import template
from polyopt.runtime.packaging.interface import Interface, LinearExtent, Parameter, distinct_names
from polyopt.runtime.packaging.wheel import Wheel, write_wheel
from polyopt.runtime.toolchain import find_toolchain

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from polyopt.graph.execution.memory import Lifetime
    from polyopt.graph.execution.model import Model, Step
    from polyopt.graph.kernels import GroupKernel
    from polyopt.runtime.packaging.build_files import Sources
    from polyopt.runtime.toolchain import Toolchain


def export_library(model: Model, directory: Path | str) -> Path:
    """See ``Model.export_library``. Raises ``InvalidOptionError``."""
    library = Library(model)
    made = library.sources()
    files = {**made.files, **build_files(library.interface, made)}
    weights = {f"{library.name}.weights": library.weights.file}
    return write_directory(Path(directory), {**files, **weights})


def export_wheel(
    model: Model, directory: Path | str, name: str | None, version: str, *, openmp: bool
) -> Path:
    """See ``Model.export_wheel``. Raises what ``write_wheel`` raises."""
    library = Library(model)
    wheel = Wheel.of(library.interface, name, version)
    toolchain = library.toolchain
    weights = {f"{library.name}.weights": library.weights.file}
    return write_wheel(wheel, library.sources(), toolchain, weights, Path(directory), openmp=openmp)


@dataclass(frozen=True, eq=False)
class Library:
    """What the files tell of a model, whose sizes may be open."""

    model: Model

    @property
    def name(self) -> str:
        """The library's, with which its functions begin."""
        return function_name(self.model.name)

    @cached_property
    def weights(self) -> Weights:
        """The constants that steps read, or that are results."""
        roots = (self.model.root(n) for s in self.model.steps for n in s.arguments.values())
        outputs = map(self.model.root, self.model.graph.outputs)
        constants = self.model.constants
        return Weights(
            {r: constants[r] for r in dict.fromkeys((*roots, *outputs)) if r in constants}
        )

    @cached_property
    def functions(self) -> Mapping[GroupKernel, str]:
        """By kernel, the name of its function."""
        kernels = dict.fromkeys(step.kernel for step in self.model.steps)
        return {kernel: f"{self.name}_kernel_{k}" for k, kernel in enumerate(kernels, 1)}

    # -- the interface --------------------------------------------------------------------------

    @cached_property
    def interface(self) -> Interface:
        """Open sizes, then inputs, then outputs."""
        graph = self.model.graph
        sizes = list(graph.open.values())
        tensors = [*graph.inputs, *(graph.values[name] for name in graph.outputs)]
        labels = _labels([v.name for v in tensors], len(graph.inputs))
        names = distinct_names([*(s.name for s in sizes), *labels])
        called = {size.name: name for size, name in zip(sizes, names, strict=False)}
        parameters = [Parameter(size.name, "size", I64, called[size.name]) for size in sizes]
        for number, (value, label) in enumerate(zip(tensors, labels, strict=True)):
            role = "in" if number < len(graph.inputs) else "out"
            shown = tuple(called[e.name] if isinstance(e, Open) else str(e) for e in value.shape)
            c_name = names[len(sizes) + number]
            parameters.append(Parameter(label, "array", value.dtype, c_name, shown, role))
        extents = tuple(
            LinearExtent(label, axis, ((extent.name, 1),), 0, 1)
            for value, label in zip(graph.inputs, labels, strict=False)
            for axis, extent in enumerate(value.shape)
            if isinstance(extent, Open)
        )
        condition = " && ".join(f"{name} >= 1" for name in called.values()) or "1"
        return Interface(
            self.name, tuple(parameters), self.model.name, condition, "", extents, has_weights=True
        )

    @cached_property
    def places(self) -> Mapping[str, Parameter]:
        """Inputs, and computed tensors that are outputs, by name: the caller has their memory."""
        graph = self.model.graph
        arrays = self.interface.arrays
        found = {v.name: p for v, p in zip(graph.inputs, arrays, strict=False)}
        for name, p in zip(graph.outputs, arrays[len(graph.inputs) :], strict=True):
            root = self.model.root(name)
            if root not in self.model.constants:
                found.setdefault(root, p)
        return found

    @cached_property
    def tensors(self) -> Sequence[Lifetime]:
        """Tensors between kernels, in a fixed order."""
        kept = (t for t in self.model.lifetimes if t.name not in self.places)
        return sorted(kept, key=lambda t: (t.first, t.name))

    # -- C --------------------------------------------------------------------------------------

    def sources(self) -> Sources:
        """All C files."""
        name, interface = self.name, self.interface
        kernels = {
            f"{function}.c": (_renamed(kernel, function, kernel.planned.program.source), flags)
            for kernel, function in self.functions.items()
            for flags in [kernel.kernel.built.flags]
        }
        targets = {kernel.kernel.built.target.flags for kernel in self.functions}
        given = ["model->weights", "model->memory", "model->places"]
        for p in interface.parameters:
            given += [p.c_name, p.count_name] if p.kind == "array" else [p.c_name]
        calls = template("steps.c").substitute(
            name=name, guard=name.upper(), arguments=", ".join([*given, "threads"])
        )
        texts = self._texts()
        more = {f"{name}_{file}": template(file).substitute(texts) for file in _FILES}
        return sources(
            interface, kernels, next(iter(targets), ()), calls.rstrip(), self._steps(), more
        )

    @property
    def toolchain(self) -> Toolchain:
        """The compiler of the kernels, or of the model's options where there are none."""
        kernel = next(iter(self.functions), None)
        if kernel is None:
            return find_toolchain(self.model.options.cc)
        return kernel.kernel.built.toolchain

    def _texts(self) -> dict[str, object]:
        """What the templates of models ask for."""
        return {
            "name": self.name,
            "guard": self.name.upper(),
            "n_sizes": len(self.interface.sizes),
            "n_tensors": len(self.tensors),
            "most_rank": self.interface.most_rank,
            "magic": MAGIC,
            "version": VERSION,
            "start": self.weights.start,
            "file_bytes": self.weights.file_bytes,
            "identity": ", ".join(str(byte) for byte in self.weights.identity),
            "lifetimes": "\n".join(map(self._lifetime, self.tensors)),
        }

    def _lifetime(self, tensor: Lifetime) -> str:
        """A row of the table from which places are found."""
        value = self.model.graph.values[tensor.name]
        powers = Counter(e.name for e in value.shape if isinstance(e, Open))
        number = value.dtype.bytes
        for extent in value.shape:
            number *= 1 if isinstance(extent, Open) else extent
        exponents = ", ".join(str(powers[s.name]) for s in self.interface.sizes) or "0"
        row = f"{{{number}, {tensor.first}, {tensor.last}, {{{exponents}}}}}"
        return f"    {row}, /* {comment(tensor.name)} */"

    def _steps(self) -> str:
        """Prototypes of the kernels, and the function that calls them one after the other."""
        prototypes = [
            f"{_renamed(k, function, k.planned.program.prototype)};"
            for k, function in self.functions.items()
        ]
        types = half_types({name for text in prototypes for name in names_in(text)})
        parameters = [
            "const unsigned char *polyopt_weights", "unsigned char *polyopt_memory",
            "const size_t *polyopt_place",
            *(_declared(p) for p in self.interface.parameters), "int threads",
        ]  # fmt: skip
        unused = ["polyopt_weights", "polyopt_memory", "polyopt_place", "threads"]
        for p in self.interface.parameters:
            unused += [p.c_name, p.count_name] if p.kind == "array" else [p.c_name]
        lines = [f"    (void){name};" for name in unused]
        head = f"static int polyopt_steps({', '.join(parameters)}) {{"
        return "\n".join(
            [*types, *prototypes, "", head, *lines, *self._calls(), "    return 0;\n}"]
        )

    def _calls(self) -> Iterator[str]:
        """Checks of indices, the steps in order, then copies of results that are elsewhere."""
        upper = self.name.upper()
        yield from self._index_checks()
        for step in self.model.steps:
            arguments = ", ".join((*self._arguments(step), "threads"))
            shown = comment(" + ".join(node.op for node in step.group.nodes))
            call = f"{self.functions[step.kernel]}({arguments})"
            yield f"    if ({call}) return {upper}_OUT_OF_MEMORY; /* {shown} */"
        arrays = self.interface.arrays[len(self.model.graph.inputs) :]
        for name, p in zip(self.model.graph.outputs, arrays, strict=True):
            root = self.model.root(name)
            if self.places.get(root) is not p:
                size = f"{p.count_name} * sizeof *{p.c_name}"
                yield f"    __builtin_memcpy({p.c_name}, {self._place(root)}, {size});"

    def _index_checks(self) -> Iterator[str]:
        """Elements of inputs that choose elements of integers, which have no NaN for others."""
        for check in index_checks(self.model.graph):
            p = self.places[check.name]
            element = f"{p.c_name}[polyopt_at]"
            bad = f"{element} < {check.low} || {element} > {check.high}"
            count = f"polyopt_at < {p.count_name}; polyopt_at++"
            yield f"    for (size_t polyopt_at = 0; {count}) {{"
            yield f"        if ({bad}) return {self.name.upper()}_BAD_INDEX;"
            yield "    }"

    def _arguments(self, step: Step) -> Iterator[str]:
        sizes = {s.symbol: s.name for s in self.model.graph.open.values()}
        called = {p.name: p.c_name for p in self.interface.sizes}
        for argument in step.kernel.planned.program.arguments:
            if argument.kind != "size":
                yield self._place(self.model.root(step.arguments[argument.name]))
            elif argument.name in self.model.sizes:
                yield str(self.model.sizes[argument.name])
            else:
                yield called[sizes[argument.name]]

    def _place(self, root: str) -> str:
        """The address of a tensor."""
        if root in self.places:
            p = self.places[root]
            return f"({'' if p.is_written else 'const '}void *){p.c_name}"
        if root in self.weights.offsets:
            return f"(const void *)(polyopt_weights + {self.weights.offsets[root]})"
        number = next(k for k, t in enumerate(self.tensors) if t.name == root)
        return f"(void *)(polyopt_memory + polyopt_place[{number}])"


#: files of models, behind the library's name
_FILES = ("model.h", "model.c")


def _labels(names: Sequence[str], inputs: int) -> list[str]:
    """Names of tensors, of which outputs may be those of inputs or of each other: these differ."""
    found: list[str] = []
    for number, name in enumerate(names):
        label, at = name, 2
        if number >= inputs and label in found:
            label = f"{name}_out"
        while label in found:
            label, at = f"{name}_out_{at}", at + 1
        found.append(label)
    return found


def _declared(p: Parameter) -> str:
    if p.kind == "size":
        return f"int64_t {p.c_name}"
    star = f"{'' if p.is_written else 'const '}{p.c_type} *{p.c_name}"
    return f"{star}, size_t {p.count_name}"


def _renamed(kernel: GroupKernel, new: str, text: str) -> str:
    old = re.escape(kernel.planned.program.c_name)
    return re.sub(rf"\b{old}(?=\s*\()", new, text)
