"""``demo``: blur and convolution on a photograph, with plan, bill, proof, reasons and times."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from polyopt.cli.output import (
    heading,
    make_folder,
    milliseconds,
    print_table,
    text,
    wrapped,
    write_file,
)
from polyopt.cli.views.photo import photograph, save_pair

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from numpy.typing import NDArray

    from polyopt.library import LibraryKernel
    from polyopt.runtime.kernel import Kernel
    from polyopt.runtime.measuring.alternate import Sample
    from polyopt.runtime.measuring.arguments import Values
    from polyopt.transform.plan import Plan

UNFUSED = "unfused, 1 thread"
#: what edges look like: differences between a pixel and all around it
_EDGES = [[-1, -1, -1], [-1, 8, -1], [-1, -1, -1]]


@dataclass(frozen=True)
class Scene:
    """One kernel of the demo: what it is given, and how its result is looked at.

    ``show`` brings the result into [0, 1]; the picture is made ``picture`` pixels wide and each
    pixel drawn ``zoom`` times, so that what a window of 3 x 3 does can be seen.
    """

    kernel: str
    title: str
    arguments: Callable[[NDArray[np.float32]], Values]
    show: Callable[[NDArray[Any]], NDArray[Any]]
    picture: int
    zoom: int
    width: int = 2560


def _blur_arguments(photo: NDArray[np.float32]) -> Values:
    return {"img": np.rint(photo * 4095).astype(np.uint16)}


def _conv_arguments(photo: NDArray[np.float32]) -> Values:
    return {"scale": np.float32(255), "A": photo, "B": np.array(_EDGES, np.float32)}


SCENES = (
    Scene(
        "blur", "box blur, 3 x 3, in two stages, 16-bit pixels",
        _blur_arguments, lambda out: out / np.float32(4095), 128, 4,
    ),
    Scene(
        "conv2d", "quantise, convolve with an edge detector, ReLU",
        _conv_arguments, lambda out: np.clip(out / np.float32(255), 0, 1), 512, 1,
    ),
)  # fmt: skip


@click.command()
@click.option(
    "--out",
    "-o",
    "folder",
    default="demo-out",
    show_default=True,
    metavar="DIR",
    help="Where pictures and C go.",
)
def demo(folder: str) -> None:
    """Run blur and convolution on a photograph; write pictures and C.

    Prints the plan, its bill, the proof, the reasons, and unfused against fused times.
    """
    from polyopt.library import load_kernel

    start = time.perf_counter()
    photo = photograph(SCENES[0].width)
    target = make_folder(folder)
    written: list[Path] = []
    for scene in SCENES:
        kernel = load_kernel(scene.kernel)
        written += _play(scene, kernel, photo, target)
    seconds = time.perf_counter() - start
    heading(f"== written, {seconds:.0f} s in all")
    for path in written:
        text(f"  {path}")


def _play(
    scene: Scene, kernel: LibraryKernel, photo: NDArray[np.float32], folder: Path
) -> list[Path]:
    """Show one kernel; the files written."""
    from polyopt.explain import bill, explain
    from polyopt.scheduler import auto
    from polyopt.transform.plan import Plan

    arguments = scene.arguments(photo)
    sizes = {"H": photo.shape[0], "W": photo.shape[1]}
    start = time.perf_counter()
    plan, unfused = auto(kernel.scop, sizes=sizes), Plan(kernel.scop)
    planned = time.perf_counter() - start
    _section(f"{kernel.name}: {scene.title}", kernel.scop)
    _section(f"the plan, chosen and proven in {planned:.2f} s", plan)
    _section("the bill", bill(plan, sizes))
    _section("the proof", wrapped(str(plan.prove()), indent=15))
    _section("the reasons", explain(plan, sizes))
    heading(f"== {kernel.name}: times on {sizes['H']} x {sizes['W']} pixels")
    fused = plan.compile()
    _times(kernel, plan, fused, unfused.compile(), arguments, sizes)
    return _files(scene, plan, unfused, fused, folder)


def _section(title: str, value: object) -> None:
    heading(f"== {title}")
    text(value)
    text("")


def _times(
    kernel: LibraryKernel,
    plan: Plan,
    fused: Kernel,
    unfused: Kernel,
    arguments: Values,
    sizes: dict[str, int],
) -> None:
    from polyopt.bench.runner import agreement

    samples = compare(fused, unfused, arguments, sizes)
    # least times, which other work on the machine disturbs least
    base = samples[UNFUSED].min_ms
    columns = [
        ("form", "left"),
        ("median ms", "right"),
        ("least ms", "right"),
        ("times as fast", "right"),
    ]
    rows = [
        (
            name,
            milliseconds(s.median_ms) + "~" * s.noisy,
            milliseconds(s.min_ms),
            f"{base / s.min_ms:.2f}",
        )
        for name, s in samples.items()
    ]
    print_table(columns, rows)
    if any(s.noisy for s in samples.values()):
        text("~ the machine is busy: times vary from call to call")
    against, same = agreement(plan, fused, arguments, sizes, kernel)
    text(f"the fused result {'equals' if same else 'DIFFERS FROM'} that of {against}\n")


def compare(
    fused: Kernel, unfused: Kernel, inputs: Values, sizes: dict[str, int]
) -> dict[str, Sample]:
    """Times on the same inputs, in turns: unfused, fused on one thread, fused on all."""
    from polyopt.codegen.target import core_count
    from polyopt.runtime.measuring.alternate import Subject, alternate
    from polyopt.runtime.measuring.arguments import CallArguments

    def subject(kernel: Kernel, threads: int) -> Subject:
        call = CallArguments.make(kernel, inputs, sizes)
        return Subject(lambda: call.call(kernel, threads))

    subjects = {UNFUSED: subject(unfused, 1), "fused, 1 thread": subject(fused, 1)}
    if core_count() > 1:
        subjects[f"fused, {core_count()} threads"] = subject(fused, core_count())
    return alternate(subjects, seconds=0.5)


def _files(scene: Scene, plan: Plan, unfused: Plan, fused: Kernel, folder: Path) -> list[Path]:
    """The picture before and after, and the C of both forms."""
    small = photograph(scene.picture)
    result = scene.show(fused(**scene.arguments(small)))
    name = scene.kernel
    return [
        save_pair(small, result, folder / f"{name}.png", scene.zoom),
        write_file(folder / f"{name}.c", plan.emit().source),
        write_file(folder / f"{name}_unfused.c", unfused.emit().source),
    ]
