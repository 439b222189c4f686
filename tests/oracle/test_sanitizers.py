"""Generated C has no undefined behaviour, stays in its arrays, and compiles without a warning."""

from __future__ import annotations

import os
import random
import subprocess
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest

import polyopt as po
from polyopt.analysis.sets.points import parameter_value
from polyopt.codegen.emit import KEEP_ACCUMULATORS, SPARE_STACK, emit
from polyopt.frontend.c import parse_c
from polyopt.ir.expr import RangeHint, walk
from polyopt.transform.plan import Plan
from polyopt.transform.schedule.identity import initial_program
from tests.compilers import COMPILERS, NAMES, NO_WARNING, OWN, marked
from tests.oracle.kernels import KERNELS, RECIPES, emitted, grouped, load_kernel
from tests.property.builder import INPUT_RANGES
from tests.property.plans import random_plan
from tests.property.programs import random_program

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from polyopt.codegen.signature import CProgram
    from polyopt.ir.scop import Scop

#: without optimisation: no access is dropped before it is looked at, and what optimisers do with
#: the sanitizers' own tests takes most of the time. Whether a float fits the integer that the
#: program makes of it is up to the data, which are made up here: gcc does not ask, older clangs do
SANITIZE = (
    "-g1", "-O0", "-fsanitize=address,undefined", "-fno-sanitize=float-cast-overflow",
    "-fno-sanitize-recover=all",
)  # fmt: skip

#: a trap in place of a call that says in words what is wrong: half as much code to compile
TRAP = "-fsanitize-undefined-trap-on-error"


def links_sanitizers(compiler: str) -> bool:
    """Whether the sanitizers' libraries are there: some packages of clang leave them out."""
    command = [compiler, *SANITIZE, "-x", "c", "-", "-o", os.devnull]
    text = "int main(void) { return 0; }"
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    return done.returncode == 0


#: the first one must: it runs the random plans
SANITIZING = marked((OWN, *filter(links_sanitizers, NAMES[1:])))
#: random plans: seeds, in groups of one test each
GROUPS = [range(start, start + 8) for start in range(1000, 1040, 8)]

STRICT = ("-std=c11", *NO_WARNING)


@dataclass(frozen=True, eq=False)
class Function:
    """A generated function and sizes to run it at."""

    scop: Scop
    program: CProgram
    sizes: tuple[Mapping[str, int], ...]


@cache
def kernel_functions(name: str) -> tuple[Function, ...]:
    kernel = load_kernel(name)
    sizes = (kernel.sizes["tiny"], kernel.sizes["test"])
    kinds = ["unfused", "auto", *(["expert"] if name in RECIPES else [])]
    return tuple(Function(kernel.scop, emitted(name, kind), sizes) for kind in kinds)


@cache
def random_functions(seeds: range) -> tuple[Function, ...]:
    result = []
    for seed in seeds:
        program = random_program(seed)
        scop = parse_c(program.text)
        plan = random_plan(Plan(scop), random.Random(seed))  # noqa: S311
        made = [
            emit(initial_program(scop), name=f"unfused_{seed}"),
            plan.emit(name=f"planned_{seed}"),
            po.auto(scop).emit(name=f"auto_{seed}"),
        ]
        result += [Function(scop, p, (program.sizes,)) for p in made]
    return tuple(result)


# -- a program that calls functions on exact heap arrays ------------------------------------------


def harness(function: Function) -> str:
    """The function, and one more that runs it at each of its sizes on 1 and 2 threads."""
    name = function.program.c_name
    runs = [_run(function, sizes, f"run{n}") for n, sizes in enumerate(function.sizes)]
    calls = "".join(
        f"    run{n}({threads});\n" for n in range(len(function.sizes)) for threads in (1, 2)
    )
    head = "#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n"
    checked = f'void {name}_checked(void)\n{{\n{calls}    puts("{name} is clean");\n}}\n'
    return "\n".join([head, function.program.source, *runs, checked])


def main_of(names: Iterable[str]) -> str:
    """A ``main`` that runs functions by their harnesses, one after the other."""
    heads = "".join(f"void {name}_checked(void);\n" for name in names)
    calls = "".join(f"    {name}_checked();\n" for name in names)
    return f"{heads}int main(void)\n{{\n{calls}    return 0;\n}}\n"


def trusts_its_subscripts(scop: Scop) -> bool:
    """Whether data are taken to choose elements that exist."""
    return any(isinstance(node, RangeHint) for s in scop.statements for node in walk(s.value))


def _run(function: Function, sizes: Mapping[str, int], name: str) -> str:
    lines = [f"static void {name}(int threads)", "{"]
    passed: list[str] = []
    arrays: list[str] = []
    for argument in function.program.arguments:
        if argument.kind == "size":
            passed.append(str(sizes[argument.name]))
            continue
        low, high = INPUT_RANGES[argument.type.name]
        if not argument.type.is_float and trusts_its_subscripts(function.scop):
            low = high = 0  # integers that may be subscripts have to be in every array
        if argument.kind == "scalar":
            passed.append(str(high))
            continue
        count = 1
        for extent in argument.extents:
            count *= parameter_value(extent, sizes)
        element, array = argument.type.c_name, f"array{len(arrays)}"
        arrays.append(array)
        lines.append(f"    {element} *{array} = malloc({count} * sizeof *{array});")
        lines.append(f"    memset({array}, 0x5A, {count} * sizeof *{array});")
        if argument.is_live_in:
            value = f"(int)((i * 7 + {len(arrays)}) % {high - low + 1}) + ({low})"
            lines.append(f"    for (long i = 0; i < {count}; i++)")
            lines.append(f"        {array}[i] = ({element})({value});")
        passed.append(f"(void *){array}")
    call = ", ".join([*passed, "threads"])
    lines.append(f"    if ({function.program.c_name}({call}))")
    lines.append("        exit(3);")
    lines += [f"    free({array});" for array in arrays]
    return "\n".join([*lines, "}", ""])


def known(compiler: str, flags: tuple[str, ...]) -> list[str]:
    """The flags without those that only gcc is given."""
    return [f for f in flags if compiler != "clang" or f not in {*KEEP_ACCUMULATORS, *SPARE_STACK}]


def by_flags(functions: Iterable[Function]) -> Iterator[tuple[tuple[str, ...], list[Function]]]:
    """Functions that take the same flags: one run of the compiler is for all of them."""
    found: dict[tuple[str, ...], list[Function]] = {}
    for function in functions:
        found.setdefault(function.program.flags, []).append(function)
    yield from found.items()


def compiled(compiler: str, flags: tuple[str, ...], sources: Iterable[str], folder: Path) -> None:
    command = [compiler, *known(compiler, flags), *sources]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
    assert done.returncode == 0, done.stderr[:4000]


def assert_clean(compiler: str, functions: Sequence[Function], folder: Path) -> None:
    """Functions do what C defines, in their arrays; without OpenMP there is no warning either."""
    done = checked(compiler, functions, folder, (TRAP,))
    if done.returncode:
        said = checked(compiler, functions, folder, ())
        raise AssertionError(said.stderr[:4000] or f"ended with status {done.returncode}")
    assert done.stdout == "".join(f"{f.program.c_name} is clean\n" for f in functions)


def checked(
    compiler: str, functions: Sequence[Function], folder: Path, how: tuple[str, ...]
) -> subprocess.CompletedProcess[str]:
    """Files of their own, with their own flags, in one program; and what that says."""
    for flags, same in by_flags(functions):
        for function in same:
            (folder / f"{function.program.c_name}.c").write_text(harness(function))
        sources = [f"{function.program.c_name}.c" for function in same]
        compiled(compiler, (*STRICT, *SANITIZE, *how, *flags, "-c"), sources, folder)
    names = [function.program.c_name for function in functions]
    (folder / "main.c").write_text(main_of(names))
    objects = [f"{name}.o" for name in names]
    compiled(compiler, (*SANITIZE, "-o", "checked"), ["main.c", *objects, "-lm"], folder)
    options = {"ASAN_OPTIONS": "detect_leaks=1", "UBSAN_OPTIONS": "print_stacktrace=1"}
    return run(folder / "checked", options)


def run(binary: Path, options: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    environment: dict[str, Any] = {**os.environ, **options}
    return subprocess.run(
        [str(binary)], capture_output=True, text=True, check=False, env=environment
    )


@pytest.mark.parametrize("compiler", SANITIZING)
@pytest.mark.parametrize("name", grouped(KERNELS))
def test_kernels_run_clean_under_sanitizers(name, compiler, tmp_path):
    assert_clean(compiler, kernel_functions(name), tmp_path)


@pytest.mark.parametrize("seeds", GROUPS, ids=lambda seeds: str(seeds.start))
def test_random_plans_run_clean_under_sanitizers(seeds, tmp_path):
    assert_clean(OWN, random_functions(seeds), tmp_path)


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("name", grouped(KERNELS))
def test_kernels_compile_without_warnings(name, compiler, tmp_path):
    for openmp in ((), ("-fopenmp",)):
        # what gcc warns of when it makes code is seen where the kernels are compiled to run:
        # without optimisation under the sanitizers, and as users have them in ``test_kernels``
        how = ("-O2", "-c") if compiler == "clang" and openmp else ("-fsyntax-only",)
        assert_no_warning(compiler, (*openmp, *how), kernel_functions(name), tmp_path)


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("seeds", GROUPS, ids=lambda seeds: str(seeds.start))
def test_random_plans_compile_without_warnings(seeds, compiler, tmp_path):
    how = ("-fopenmp", "-O2", "-c")
    assert_no_warning(compiler, how, random_functions(seeds), tmp_path)


def assert_no_warning(compiler, how, functions, folder):
    for flags, same in by_flags(functions):
        for function in same:
            (folder / f"{function.program.c_name}.c").write_text(function.program.source)
        sources = [f"{function.program.c_name}.c" for function in same]
        compiled(compiler, (*STRICT, *how, *flags), sources, folder)


@pytest.mark.parametrize("compiler", SANITIZING)
@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("out[i]", "out[i + N]", "AddressSanitizer: heap-buffer-overflow"),
        ("in0[i + 1]", "2147483647", "signed integer overflow"),
    ],
)
def test_the_sanitizers_would_notice(compiler, old, new, message, tmp_path):
    text = """
    void pair(int N, const int in0[restrict N + 1], int out[restrict N])
    {
        for (int i = 0; i < N; i++)
            out[i] = in0[i + 1] + in0[i] * in0[i];
    }
    """
    scop = parse_c(text)
    program = emit(initial_program(scop), name="pair")
    assert old in program.source
    wrong = replace(program, source=program.source.replace(old, new), flags=())
    function = Function(scop, wrong, ({"N": 4},))
    with pytest.raises(AssertionError, match=message):
        assert_clean(compiler, [function], tmp_path)
