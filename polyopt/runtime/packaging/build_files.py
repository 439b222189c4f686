"""How an exported library is built and found: CMake, make, pkg-config, and an example."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from polyopt.codegen.emit import KEEP_ACCUMULATORS, KEEP_ROUNDINGS
from polyopt.escaping import comment, printable
from polyopt.runtime.export import common_flags, compiler_settings, own_flags
from polyopt.runtime.packaging.cpp import cpp_header
from polyopt.runtime.packaging.header import checks, header, template
from polyopt.runtime.toolchain import CLANG_FLAGS, GCC_FLAGS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from polyopt.runtime.packaging.interface import Interface

#: of exported libraries, whose ABI is 1
RELEASE = "1.0.0"


@dataclass(frozen=True)
class Sources:
    """The C of a library: files of kernels with the flags each was compiled with, and others."""

    kernels: Mapping[str, str]
    flags: Mapping[str, Sequence[str]]
    #: what the kernels are compiled for, which all of them share
    target: tuple[str, ...]
    others: Mapping[str, str]

    @property
    def files(self) -> Mapping[str, str]:
        """All files by name."""
        return {**self.others, **self.kernels}


def sources(
    interface: Interface,
    kernels: Mapping[str, tuple[str, Sequence[str]]],
    target: Sequence[str],
    calls: str,
    prototypes: str,
    more: Mapping[str, str],
) -> Sources:
    """The C of a library from its kernels, by file C and flags, and from what calls them."""
    name = interface.name
    processor = f"{name}_processor.c"
    texts = {processor: template("processor.c").substitute(name=name)}
    texts |= {file: text for file, (text, _) in kernels.items()}
    flags = {file: tuple(own) for file, (_, own) in kernels.items()}
    shared = common_flags(flags.values())
    others = {
        f"{name}.h": header(interface),
        f"{name}.hpp": cpp_header(interface),
        f"{name}.c": checks(interface, calls, prototypes),
    }
    return Sources(texts, {processor: shared, **flags}, tuple(target), {**others, **more})


def build_files(interface: Interface, made: Sources) -> dict[str, str]:
    """Every file around the C: how it is compiled, installed and called."""
    name = interface.name
    return {
        "CMakeLists.txt": _cmake(interface, made),
        f"{name}Config.cmake.in": template("config.cmake.in").substitute(
            name=name, weights=_found_weights(interface)
        ),
        f"{name}.pc.in": template("library.pc.in").substitute(
            name=name,
            title=printable(interface.title).replace("#", "").replace("$", ""),
            release=RELEASE,
            weights=f"weights=@DATADIR@/{name}.weights\n" if interface.has_weights else "",
        ),
        "Makefile": _makefile(interface, made),
        f"{name}_example.c": _example(interface),
    }


def _cmake(interface: Interface, made: Sources) -> str:
    name = interface.name
    asked = common_flags(made.flags.values())
    gcc = (*GCC_FLAGS, *_kept(asked))
    known = {"-fopenmp", *made.target, *gcc, *CLANG_FLAGS}
    always = [flag for flag in asked if flag not in known]
    own = [
        f'set_property(SOURCE {file} APPEND PROPERTY COMPILE_OPTIONS "{";".join(flags)}")'
        for file, flags in own_flags(made.flags).items()
    ]
    weights = (
        f"install(FILES {name}.weights DESTINATION ${{CMAKE_INSTALL_DATADIR}}/{name})"
        if interface.has_weights
        else ""
    )
    return template("CMakeLists.txt").substitute(
        name=name,
        guard=name.upper(),
        release=RELEASE,
        kernels=" ".join(made.kernels),
        others=" ".join(file for file in made.others if file.endswith(".c")),
        flags=";".join(made.target),
        gcc=" ".join([*always, *gcc]),
        clang=" ".join([*always, *CLANG_FLAGS]),
        own="\n".join(own),
        path_vars=" PATH_VARS CMAKE_INSTALL_DATADIR" if interface.has_weights else "",
        weights=weights,
    )


def _kept(flags: Sequence[str]) -> tuple[str, ...]:
    """Flags that gcc alone is told."""
    return tuple(flag for flag in (*KEEP_ACCUMULATORS, *KEEP_ROUNDINGS) if flag in flags)


def _found_weights(interface: Interface) -> str:
    name = interface.name
    if not interface.has_weights:
        return ""
    return (
        f'set_and_check({name}_WEIGHTS "@PACKAGE_CMAKE_INSTALL_DATADIR@/{name}/{name}.weights")\n'
    )


def _makefile(interface: Interface, made: Sources) -> str:
    name = interface.name
    commands = [tuple(f for f in c if f not in made.target) for c in made.flags.values()]
    own = [
        f"{_object(file)}: CFLAGS += {' '.join(flags)}"
        for file, flags in own_flags(made.flags).items()
    ]
    installed = f"\tcp {name}.weights $(DESTDIR)$(DATADIR)\n" if interface.has_weights else ""
    return template("Makefile").substitute(
        name=name,
        compiler=compiler_settings(commands),
        target=" ".join(made.target),
        kernel_objects=" ".join(map(_object, made.kernels)),
        other_objects=" ".join(_object(f) for f in made.others if f.endswith(".c")),
        headers=" ".join(file for file in made.others if file.endswith(".h")),
        own="".join(f"{line}\n" for line in own),
        install=installed,
    )


def _object(file: str) -> str:
    return f"{file.removesuffix('.c')}.o"


#: reads a scalar of the command line
_NUMBER = """
static double number(const char *text) {
    char *end = NULL;
    double value = strtod(text, &end);
    if (end == text || *end) {
        stop("a scalar is no number");
    }
    return value;
}
"""


def _example(interface: Interface) -> str:
    """One run on what standard input holds."""
    name, has_weights = interface.name, interface.has_weights
    numbers = [*interface.sizes, *interface.scalars]
    words = [*(["WEIGHTS"] if has_weights else []), *(p.name for p in numbers)]
    first = 1 + has_weights
    places = {p: k for k, p in enumerate(interface.arrays)}
    sizes = {p: k for k, p in enumerate(interface.sizes)}
    scalars = {p: first + len(sizes) + k for k, p in enumerate(interface.scalars)}
    arguments = ["model"] if has_weights else []
    for p in interface.parameters:
        if p.kind == "size":
            arguments.append(f"sizes[{sizes[p]}]")
        elif p.kind == "scalar":
            arguments.append(f"({p.c_type})number(argv[{scalars[p]}])")
        else:
            arguments += [f"data[{places[p]}]", f"counts[{places[p]}]"]
    table = [
        f"    {{{a.type.bytes}, {int(a.is_read)}, {int(a.is_written)}}}," for a in interface.arrays
    ]
    opened = f"    {name}_model *model = NULL;\n    check({name}_open(argv[1], &model));\n"
    return template("example.c").substitute(
        name=comment(name),
        guard=name.upper(),
        usage="".join(f" {comment(word)}" for word in words),
        n_words=len(words),
        first_size=first,
        table="\n".join(table),
        number=_NUMBER if interface.scalars else "",
        open=opened if has_weights else "",
        close=f"    {name}_close(model);\n" if has_weights else "",
        most_rank=interface.most_rank,
        arguments=", ".join([*arguments, "0"]),
    )
