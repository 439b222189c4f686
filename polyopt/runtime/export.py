"""A kernel as a standalone directory: header, C, reference, ``bench.c`` and a Makefile."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING

from polyopt.codegen.ast.names import names_in
from polyopt.codegen.ast.visit import called_in
from polyopt.codegen.emit import KEEP_ACCUMULATORS, KEEP_ROUNDINGS, SPARE_STACK
from polyopt.codegen.expressions.affine import c_condition
from polyopt.codegen.helpers.arithmetic import helpers
from polyopt.codegen.helpers.math.halves import half_types
from polyopt.codegen.printers.c_expr import c_text, hints
from polyopt.codegen.signature import sizes_called
from polyopt.errors import InvalidOptionError
from polyopt.escaping import c_string
from polyopt.ir.types import BF16, F16
from polyopt.runtime.samples import LARGE, choose_sizes
from polyopt.runtime.toolchain import CLANG_FLAGS, GCC_FLAGS, SMALL_FILLS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from polyopt.codegen.signature import Argument, CProgram
    from polyopt.runtime.kernel import Kernel

_TEMPLATES = Path(__file__).parent / "templates"
#: what the harness calls its tables: no program has such names
_SIZES, _DATA, _COUNTS = "polyopt_size", "polyopt_data", "polyopt_count"
#: flags for this compiler and this kind of processor
_LOCAL = (*SPARE_STACK, *SMALL_FILLS)
#: how the flag begins that says whether products and sums may be rounded once together
_CONTRACTION = "-ffp-contract="
#: What a result may differ by, relative to its largest value: contraction and reordering.
_TOLERANCE = {"f32": "1e-4", "f64": "1e-10", "f16": "1e-3", "bf16": "8e-3"}


def export(kernel: Kernel, directory: Path | str, given: Mapping[str, int]) -> Path:
    """See ``Kernel.export``: all files, or none when something fails.

    Raises ``InvalidOptionError`` when the kernel has no reference or the directory cannot be
    written, ``ArgumentError`` when the sizes make no sense.
    """
    if kernel.built.reference is None:
        msg = f"{kernel.name} was compiled without a reference program"
        raise InvalidOptionError(msg)
    sizes = choose_sizes(kernel, given, LARGE)
    return write_directory(Path(directory), exported_files(kernel, kernel.built.reference, sizes))


def write_directory(target: Path, files: Mapping[str, str | bytes]) -> Path:
    """Write files, by name: all, or none. Raises ``InvalidOptionError``."""
    try:
        target.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".export-", dir=target) as made:
            for name, content in files.items():
                raw = content if isinstance(content, bytes) else content.encode()
                Path(made, name).write_bytes(raw)
            for name in files:
                shutil.move(os.fspath(Path(made, name)), target / name)
    except OSError as error:
        msg = f"{target} cannot be written: {error.strerror}"
        raise InvalidOptionError(msg) from None
    return target


def compiler_settings(commands: Iterable[Sequence[str]]) -> str:
    """The start of a Makefile: the flags of several compilations, each once.

    Make finds out itself which compiler there is, and whether it has OpenMP. What is told only one
    version of a compiler about one kind of processor stays here; what differs between files is in
    ``own_flags``.
    """
    asked = common_flags(commands)
    kept = (*KEEP_ACCUMULATORS, *KEEP_ROUNDINGS)
    gcc = (*GCC_FLAGS, *(flag for flag in kept if flag in asked))
    flags = [f for f in asked if f not in {"-fopenmp", *gcc, *CLANG_FLAGS}]
    return _template("compiler.mk").substitute(
        flags=" ".join(flags), gcc=" ".join(gcc), clang=" ".join(CLANG_FLAGS)
    )


def common_flags(commands: Iterable[Sequence[str]]) -> tuple[str, ...]:
    """The flags of several compilations, each once, but for those that undo each other."""
    listed = [tuple(flags) for flags in commands]
    asked = dict.fromkeys(f for flags in listed for f in flags if f not in _LOCAL)
    contractions = [flag for flag in asked if flag.startswith(_CONTRACTION)]
    return tuple(f for f in asked if len(contractions) < 2 or f not in contractions)


def own_flags(commands: Mapping[str, Sequence[str]]) -> dict[str, tuple[str, ...]]:
    """By file, the flags of its compilation that ``common_flags`` leaves out.

    Files differ in whether products and sums may be rounded once together: not where integers
    come out.
    """
    shared = {*common_flags(commands.values()), *_LOCAL}
    found = {file: tuple(f for f in flags if f not in shared) for file, flags in commands.items()}
    return {file: flags for file, flags in found.items() if flags}


def exported_files(kernel: Kernel, reference: CProgram, sizes: Mapping[str, int]) -> dict[str, str]:
    """The text of every file by its name."""
    program, name = kernel.program, kernel.program.c_name
    other = f"{name}_reference"
    renamed = re.compile(rf"\b{re.escape(reference.c_name)}(?=\s*\()")
    guard = f"{name.upper()}_H"
    types = "".join(f"{line}\n\n" for line in half_types(names_in(program.prototype)))
    header = (
        f"#ifndef {guard}\n#define {guard}\n\n#include <stdint.h>\n\n{types}"
        f"/* 0, or 1 when memory ran out. */\n{program.prototype};\n\n"
        f"/* The same function, unscheduled. */\n{renamed.sub(other, reference.prototype)};\n\n"
        "#endif\n"
    )
    compiler = compiler_settings([kernel.built.flags, reference.flags])
    makefile = _template("Makefile").substitute(name=name, compiler=compiler)
    return {
        f"{name}.c": program.source,
        f"{name}.h": header,
        f"{other}.c": renamed.sub(other, reference.source),
        **harness(kernel, sizes),
        "Makefile": makefile,
    }


def _template(name: str) -> Template:
    return Template((_TEMPLATES / name).read_text(encoding="utf-8"))


def harness(kernel: Kernel, sizes: Mapping[str, int]) -> dict[str, str]:
    """``bench.c``: verify the optimised function against the reference, then time both.

    What names the kernel and its sizes is a file of its own, without the headers that the rest
    needs.
    """
    program = kernel.program
    size_arguments = [a for a in program.arguments if a.kind == "size"]
    arrays = [a for a in program.arguments if a.kind == "array"]
    names = {a.name: a.c_name for a in size_arguments}
    locals_ = "\n".join(
        f"    const int64_t {a.c_name} = {_SIZES}[{i}];\n    (void){a.c_name};"
        for i, a in enumerate(size_arguments)
    )
    counts = [_count(a) for a in arrays]
    condition = c_condition(kernel.context, sizes_called(names))
    computed = [condition, *(length for a in arrays for length in a.lengths)]
    texts = {
        "name": program.c_name,
        "helpers": helpers(frozenset[str]().union(*map(called_in, computed))),
        "locals": locals_ or f"    (void){_SIZES};",
        "n_sizes": len(size_arguments),
        "n_arrays": len(arrays),
        "size_names": ", ".join(c_string(a.name) for a in size_arguments) or "0",
        "size_values": ", ".join(str(sizes[a.name]) for a in size_arguments) or "0",
        "counts": "\n".join(f"    {_COUNTS}[{i}] = {count};" for i, count in enumerate(counts)),
        "condition": c_text(condition, hints),
        "arrays": _table(arrays),
        "flops": _expression(program.flops, names) or "0",
        "bytes": _expression(program.bytes, names) or _live_bytes(arrays),
        "arguments": _arguments(program.arguments),
    }
    names_of = {"bench.c": "bench.c", f"{program.c_name}_calls.c": "calls.c"}
    found = {file: _template(template).substitute(texts) for file, template in names_of.items()}
    return {file: re.sub(r"\n{3,}", "\n\n", text) for file, text in found.items()}


def _count(argument: Argument) -> str:
    return " * ".join(f"(__SIZE_TYPE__)({extent})" for extent in argument.c_extents) or "1"


def _table(arrays: Sequence[Argument]) -> str:
    rows: list[str] = []
    for a in arrays:
        kind = {"float": "FLOATING", "int": "SIGNED"}.get(a.type.kind, "UNSIGNED")
        kind = {F16: "HALF", BF16: "BFLOAT"}.get(a.type, kind)
        tolerance = _TOLERANCE.get(a.type.name, "0")
        live = f"{int(a.is_live_in)}, {int(a.is_live_out)}"
        rows.append(f"    {{{c_string(a.name)}, {a.type.bytes}, {kind}, {live}, {tolerance}, 0}},")
    return "\n".join(rows)


def _expression(text: str, names: Mapping[str, str]) -> str:
    return re.sub(r"[A-Za-z_]\w*", lambda m: f"(double){names.get(m[0], m[0])}", text)


def _live_bytes(arrays: Sequence[Argument]) -> str:
    terms = [
        f"{a.type.bytes * (a.is_live_in + a.is_live_out)}.0 * (double)({_count(a)})"
        for a in arrays
        if a.rank
    ]
    return " + ".join(terms) or "0"


def _arguments(arguments: Sequence[Argument]) -> str:
    """The call's arguments: sizes and data of the tables, scalars at fixed values."""
    counts = {"size": 0, "array": 0, "scalar": 0}
    shown: list[str] = []
    for argument in arguments:
        index = counts[argument.kind]
        counts[argument.kind] += 1
        if argument.kind == "scalar":
            value = "0.5" if argument.type.is_float else "1"
            shown.append(f"({argument.type.c_name}){value}")
        else:
            shown.append(f"{_SIZES}[{index}]" if argument.kind == "size" else f"{_DATA}[{index}]")
    return ", ".join([*shown, "polyopt_threads"])
