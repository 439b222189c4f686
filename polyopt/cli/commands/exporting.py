"""``export`` and ``build``: a program or network as a C library, or as a wheel."""

from __future__ import annotations

from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING

import click

from polyopt.cli.commands.networks import compile_network, is_network
from polyopt.cli.options import (
    json_option,
    plan_options,
    program_argument,
    reading_options,
    size_option,
)
from polyopt.cli.output import print_json
from polyopt.cli.program import load_program, parse_sizes
from polyopt.cli.waiting import progress
from polyopt.errors import InvalidOptionError

if TYPE_CHECKING:
    from collections.abc import Callable

    from polyopt.cli.program import PlanChoice
    from polyopt.graph import Model
    from polyopt.library import Reading
    from polyopt.runtime.kernel import Kernel


@dataclass(frozen=True)
class WheelChoice:
    """What the command line says of wheels."""

    wanted: bool = False
    name: str | None = None
    release: str | None = None
    no_openmp: bool = False


def wheel_options(command: Callable[..., object]) -> Callable[..., object]:
    """``--wheel`` and what is said of wheels, given as ``wheel``.

    Raises ``InvalidOptionError`` for the latter without the former.
    """

    @click.option("--wheel", is_flag=True, help="Compile, and write a Python wheel into FOLDER.")
    @click.option("--name", metavar="NAME", help="Wheels: what the module is called.")
    @click.option("--release", metavar="VERSION", help="Wheels: their version, 1.0.0 by default.")
    @click.option("--no-openmp", is_flag=True, help="Wheels: one thread, and no OpenMP needed.")
    @wraps(command)
    def with_wheel(
        *args: object,
        wheel: bool,
        name: str | None,
        release: str | None,
        no_openmp: bool,
        **named: object,
    ) -> object:
        choice = WheelChoice(wheel, name, release, no_openmp)
        if not wheel and choice != WheelChoice():
            msg = "--name, --release and --no-openmp are for wheels"
            raise InvalidOptionError(msg, hint="with --wheel")
        return command(*args, wheel=choice, **named)

    return with_wheel


@click.command()
@program_argument
@click.argument("folder")
@plan_options
@size_option
@reading_options
@wheel_options
@json_option
def export(
    program: str,
    folder: str,
    choice: PlanChoice,
    sizes: tuple[str, ...],
    *,
    reading: Reading,
    wheel: WheelChoice,
    as_json: bool,
) -> None:
    """Write PROGRAM, or the network of an ONNX file, into FOLDER as a C library.

    The library has a header, CMake, make and pkg-config, and an example; networks have their
    weights in a file: polyopt export net.onnx net

    With --wheel it is compiled, and a Python module that needs NumPy alone is written around it:
    polyopt export net.onnx dist --wheel --target avx2, which polyopt build net.onnx is short for.
    """
    _export(_compiled(program, choice, sizes, reading), folder, wheel, as_json=as_json)


@click.command(short_help="Compile PROGRAM into a Python wheel.")
@program_argument
@click.argument("folder", default="dist")
@plan_options
@size_option
@reading_options
@click.option("--name", metavar="NAME", help="What the module is called.")
@click.option("--release", metavar="VERSION", help="The wheel's version, 1.0.0 by default.")
@click.option("--no-openmp", is_flag=True, help="One thread, and no OpenMP needed.")
@json_option
def build(  # noqa: PLR0913 - an argument for each option
    program: str,
    folder: str,
    choice: PlanChoice,
    sizes: tuple[str, ...],
    *,
    reading: Reading,
    name: str | None,
    release: str | None,
    no_openmp: bool,
    as_json: bool,
) -> None:
    """Compile PROGRAM, or the network of an ONNX file, into a Python wheel in FOLDER (dist).

    pip installs it, and it needs NumPy alone. It is what polyopt export --wheel writes.
    """
    wheel = WheelChoice(wanted=True, name=name, release=release, no_openmp=no_openmp)
    _export(_compiled(program, choice, sizes, reading), folder, wheel, as_json=as_json)


def _export(made: Kernel | Model, folder: str, wheel: WheelChoice, *, as_json: bool) -> None:
    with progress("wheel" if wheel.wanted else "C"):
        files = _written(made, Path(folder), wheel)
    names = [path.name for path in files]
    if as_json:
        print_json({"program": made.name, "folder": folder, "files": names})
    elif wheel.wanted:
        click.echo(f"wrote {Path(folder) / names[0]}: pip install it", err=True)
    else:
        click.echo(f"wrote {len(names)} files into {folder}: make -C {folder}", err=True)


def _written(made: Kernel | Model, folder: Path, wheel: WheelChoice) -> list[Path]:
    """The files that were written."""
    if not wheel.wanted:
        return sorted(made.export_library(folder).iterdir())
    version = "1.0.0" if wheel.release is None else wheel.release
    return [made.export_wheel(folder, name=wheel.name, version=version, openmp=not wheel.no_openmp)]


def _compiled(
    program: str, choice: PlanChoice, sizes: tuple[str, ...], reading: Reading
) -> Kernel | Model:
    if is_network(program):
        return compile_network(program, choice, sizes)
    found = load_program(program, reading)
    plan = choice.plan(found, parse_sizes(sizes, found))
    with progress("kernel"):
        return plan.compile(target=choice.target)
