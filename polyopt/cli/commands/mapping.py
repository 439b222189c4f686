"""``map``: a program over files larger than memory."""

from __future__ import annotations

import os
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from polyopt.cli.options import (
    json_option,
    plan_options,
    program_argument,
    reading_options,
    size_option,
)
from polyopt.cli.output import print_json
from polyopt.cli.program import load_program, parse_sizes
from polyopt.errors import InvalidOptionError

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence

    from polyopt.cli.program import PlanChoice
    from polyopt.library import Reading
    from polyopt.runtime.kernel import Kernel


@click.command("map", short_help="Run PROGRAM on .npy files larger than memory.")
@program_argument
@reading_options
@click.argument("files", nargs=-1, required=True, metavar="[NAME=]FILE.npy...")
@plan_options
@size_option
@click.option(
    "--output",
    "-o",
    "outputs",
    multiple=True,
    required=True,
    metavar="[NAME=]FILE.npy",
    help="Where a result goes; without NAME the next one in the signature.",
)
@click.option("--memory", "-m", default="1GiB", show_default=True, help="For all boxes at once.")
@click.option("--blocks", metavar="N,N,...", help="The shape of boxes, instead of by memory.")
@click.option("--workers", "-w", type=int, help="Boxes at once. Default: all cores.")
@json_option
def map_command(  # noqa: PLR0913 - an argument for each option
    program: str,
    files: tuple[str, ...],
    choice: PlanChoice,
    sizes: tuple[str, ...],
    outputs: tuple[str, ...],
    memory: str,
    blocks: str | None,
    workers: int | None,
    *,
    reading: Reading,
    as_json: bool,
) -> None:
    """Run PROGRAM box by box on files that need not fit into memory.

    polyopt map harris image.npy -o corners.npy --memory 1GiB
    """
    from polyopt.scale import cuts, map_blocks

    found = load_program(program, reading)
    kernel = choice.plan(found).compile()
    read = [a.name for a in kernel.arrays if a.is_live_in]
    given: dict[str, Any] = {
        name: _mapped(file) for name, file in _by_name(files, read, "input").items()
    }
    known = parse_sizes(sizes, found)
    shapes = {name: array.shape for name, array in given.items()}
    places = _by_name(outputs, [a.name for a in kernel.arrays if a.is_live_out], "output")
    wanted = kernel.shapes(**kernel.sizes_of(shapes, **known))
    types = {a.name: a.type.numpy_name for a in kernel.arrays}
    with ExitStack() as files_:
        map_blocks(
            kernel,
            **given,
            **known,
            out={
                name: files_.enter_context(_made(Path(file), types[name], wanted[name]))
                for name, file in places.items()
            },
            memory=memory,
            blocks=_numbers(blocks),
            workers=workers,
            progress=not as_json,
        )
    if as_json:
        print_json({"outputs": places, "cuts": [str(cut) for cut in cuts(kernel)]})
    else:
        _show(kernel, places)


@contextmanager
def _made(path: Path, dtype: str, shape: tuple[int, ...]) -> Generator[Any]:
    """A new array in a file that gets its name when all of it is there; before, nothing changes.

    Raises ``InvalidOptionError`` where there is no room for it: while results are written to a
    mapped file, a full disk would end the process.
    """
    import numpy as np

    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with _told(path):
            array = np.lib.format.open_memmap(beside, "w+", np.dtype(dtype), shape)
            _reserve(beside)
        yield array
        with _told(path):
            array.flush()
            beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def _reserve(path: Path) -> None:
    if hasattr(os, "posix_fallocate"):
        handle = os.open(path, os.O_RDWR)
        try:
            os.posix_fallocate(handle, 0, path.stat().st_size)
        finally:
            os.close(handle)


@contextmanager
def _told(path: Path) -> Generator[None]:
    """Name the file that cannot be written. Raises ``InvalidOptionError``."""
    try:
        yield
    except OSError as error:
        raise InvalidOptionError(f"{path} cannot be written: {error.strerror}") from None


def _show(kernel: Kernel, places: Mapping[str, str]) -> None:
    from polyopt.scale import cuts

    for cut in cuts(kernel):
        click.echo(str(cut))
    for name, file in places.items():
        click.echo(f"{name}: {file}")


def _by_name(texts: Sequence[str], names: Sequence[str], kind: str) -> dict[str, str]:
    """Files by name, those without one in order. Raises ``InvalidOptionError``."""
    result: dict[str, str] = {}
    for text in texts:
        name, equals, file = text.partition("=")
        if not equals:
            file, name = text, next((n for n in names if n not in result), "")
        if name not in names:
            raise InvalidOptionError(
                f"there is no {kind} {name or 'left'} for {file}",
                hint="there are: " + ", ".join(names),
            )
        result[name] = file
    return result


def _mapped(file: str) -> Any:  # noqa: ANN401
    import numpy as np

    try:
        return np.load(file, mmap_mode="r")
    except (OSError, ValueError) as error:
        raise InvalidOptionError(f"{file} cannot be read: {error}") from None


def _numbers(text: str | None) -> list[int] | None:
    if text is None:
        return None
    parts = text.split(",")
    if not all(part.strip().isdigit() for part in parts):
        raise InvalidOptionError(f"--blocks {text} is no shape", hint="such as --blocks 512,4096")
    return [int(part) for part in parts]
