"""Networks on the command line: ``explain model.onnx`` and ``profile``."""

from __future__ import annotations

from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING

import click

from polyopt.cli.options import json_option, one_thread_count, size_option
from polyopt.cli.output import print_json, text, write_file
from polyopt.cli.waiting import progress
from polyopt.errors import InvalidOptionError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from polyopt.cli.program import PlanChoice
    from polyopt.graph import Fusion, Graph, Model, NetworkExplanation


@dataclass(frozen=True)
class FusionChoice:
    """What the command line says of fusing."""

    level: str = "windows"
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    operators: tuple[str, ...] = ()
    most_scratch: int | None = None

    def fusion(self) -> Fusion:
        """The policy. Raises ``InvalidOptionError``."""
        from polyopt.graph import Fusion

        return Fusion(
            self.level, self.include, self.exclude, self.operators or None, self.most_scratch
        )


def fusion_options(command: Callable[..., object]) -> Callable[..., object]:
    """``--level``, ``--include``, ``--exclude``, ``--operators`` and ``--most-scratch``, given as
    ``policy``."""

    @click.option(
        "--level", default="windows", metavar="LEVEL",
        help="Networks: what may be fused (off, marked, pointwise, windows, all).",
    )  # fmt: skip
    @click.option(
        "--include", multiple=True, metavar="NODE",
        help="Networks: a node or operator that may join whatever it reads.",
    )  # fmt: skip
    @click.option(
        "--exclude", multiple=True, metavar="NODE",
        help="Networks: a node or operator that stays in a kernel of its own.",
    )  # fmt: skip
    @click.option(
        "--operators", multiple=True, metavar="OPERATOR",
        help="Networks: an operator of which nodes may share a kernel; no others may.",
    )  # fmt: skip
    @click.option(
        "--most-scratch", type=click.IntRange(min=0), metavar="BYTES",
        help="Networks: what a kernel may take beside its tensors, per thread.",
    )  # fmt: skip
    @wraps(command)
    def with_policy(
        *args: object,
        level: str,
        include: tuple[str, ...],
        exclude: tuple[str, ...],
        operators: tuple[str, ...],
        most_scratch: int | None,
        **named: object,
    ) -> object:
        listed = tuple(name.strip() for given in operators for name in given.split(","))
        policy = FusionChoice(level, include, exclude, listed, most_scratch)
        return command(*args, policy=policy, **named)

    return with_policy


def network_options(command: Callable[..., object]) -> Callable[..., object]:
    """The fusion policy and ``--graphs``, given together to ``shown_as``."""

    @fusion_options
    @click.option("--graphs", metavar="FOLDER", help="Networks: write graphs before and after.")
    @wraps(command)
    def with_both(
        *args: object, policy: FusionChoice, graphs: str | None, **named: object
    ) -> object:
        return command(*args, shown_as=(policy, graphs), **named)

    return with_both


def refuse_fusion(shown_as: tuple[FusionChoice, str | None]) -> None:
    """Raises ``InvalidOptionError`` where what is for networks is asked of a single program."""
    if shown_as != (FusionChoice(), None):
        options = "--level, --include, --operators, --exclude, --most-scratch and --graphs"
        msg = f"{options} are for networks"
        raise InvalidOptionError(msg, hint="a network is an ONNX file")


def is_network(program: str) -> bool:
    """Whether a PROGRAM argument names a network."""
    return program.endswith(".onnx")


def network_sizes(texts: Sequence[str]) -> dict[str, int]:
    """Open dimensions from ``N=1`` or ``N=1,M=2``. Raises ``InvalidOptionError``."""
    sizes: dict[str, int] = {}
    for part in (part for given in texts for part in given.split(",")):
        name, equals, number = part.partition("=")
        if not equals or not number.isdigit() or int(number) < 1:
            msg = f"--size {part}: an open dimension is given as NAME=NUMBER, from 1 up"
            raise InvalidOptionError(msg)
        sizes[name.strip()] = int(number)
    return sizes


def load_network(program: str, sizes: Sequence[str], target: str = "native") -> Graph:
    """The graph of a model file after a target's usual passes. Raises what reading it raises."""
    from polyopt.graph import default_passes, load_onnx, run_passes

    with progress("passes"):
        return run_passes(
            load_onnx(program, sizes=network_sizes(sizes)), default_passes(target)
        ).graph


def explain_model(
    program: str,
    subject: str | None,
    choice: PlanChoice,
    sizes: Sequence[str],
    shown_as: tuple[FusionChoice, str | None],
    *,
    as_json: bool,
) -> None:
    """What ``explain`` does for a network; ``shown_as`` is the policy and a folder for graphs.

    Raises ``InvalidOptionError`` for options that are about single programs.
    """
    from polyopt.graph import explain_network
    from polyopt.graph.planning import Options

    policy, graphs = shown_as
    fusion = policy.fusion()
    _refuse_plans(choice)
    graph = load_network(program, sizes, choice.target)
    if subject is not None and subject not in graph.makers:
        listed = ", ".join(list(graph.makers)[:12])
        msg = f"{program} has no node {subject!r}"
        raise InvalidOptionError(msg, hint=f"there are: {listed}, ...")
    with progress(f"kernels of {graph.name}"):
        found = explain_network(graph, fusion, options=Options(choice.target))
    if graphs is not None:
        _write_graphs(found, Path(graphs))
    shown = found if subject is None else found.about(subject)
    if as_json:
        print_json(shown.as_dict())
    else:
        text(shown)


def _write_graphs(found: NetworkExplanation, folder: Path) -> None:
    """The network without and with its groups, as text and pictures, and their difference."""
    from polyopt.graph.draw import draw_graph

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        msg = f"{folder} cannot be made: {error.strerror}"
        raise InvalidOptionError(msg) from None
    write_file(str(folder / "unfused.txt"), f"{found.graph}\n")
    write_file(str(folder / "fused.txt"), f"{found.groups_text()}\n")
    write_file(str(folder / "fusion.diff"), f"{found.diff()}\n")
    draw_graph(found.graph).save(folder / "unfused.svg")
    draw_graph(found.graph, found.grouping.groups).save(folder / "fused.svg")
    click.echo(f"wrote unfused and fused graphs into {folder}", err=True)


def write_page(
    program: str, target: Path, choice: PlanChoice, sizes: Sequence[str], *, measured: bool
) -> None:
    """What ``report`` does for a network. Raises ``InvalidOptionError`` for options that are about
    single programs."""
    from polyopt.cli.views.networkpage import network_page
    from polyopt.graph import compile_model, default_passes, load_onnx, run_passes

    _refuse_plans(choice)
    with progress("report"):
        graph = load_onnx(program, sizes=network_sizes(sizes))
        report = run_passes(graph, default_passes(choice.target))
        model = compile_model(report.graph, passes=(), target=choice.target)
        page = network_page(model, report, model.profile() if measured else None)
    write_file(target, page)
    click.echo(f"wrote {target}", err=True)


def emit_network(
    program: str, choice: PlanChoice, sizes: Sequence[str], folder: str | None, *, as_json: bool
) -> None:
    """What ``emit`` does for a network: a folder with its C, weights and ``main``.

    Raises ``InvalidOptionError`` without a folder, and for options that are about single programs.
    """
    if folder is None or folder == "-":
        msg = "a network is written as a folder: its kernels, weights and a main"
        raise InvalidOptionError(msg, hint=f"emit {program} -o FOLDER")
    model = compile_network(program, choice, sizes)
    with progress("C"):
        made = model.export(folder)
    files = sorted(path.name for path in made.iterdir())
    if as_json:
        print_json({"network": model.name, "folder": folder, "files": files})
    else:
        click.echo(f"wrote {len(files)} files into {folder}: make -C {folder} run", err=True)


def compile_network(program: str, choice: PlanChoice, sizes: Sequence[str]) -> Model:
    """The model of a file. Raises ``InvalidOptionError`` for options that are about single
    programs, and what ``compile_model`` raises."""
    from polyopt.graph import compile_model

    _refuse_plans(choice)
    with progress(f"kernels of {program}"):
        return compile_model(program, sizes=network_sizes(sizes), target=choice.target)


def _refuse_plans(choice: PlanChoice) -> None:
    if choice.unfused or choice.expert or choice.file is not None:
        msg = "--unfused, --expert and --plan are for single programs"
        raise InvalidOptionError(msg, hint="a network's groups are chosen by --level")


@click.command()
@click.argument("model")
@size_option
@fusion_options
@click.option("--threads", type=one_thread_count, help="Threads; all cores by default.")
@click.option("--runs", default=10, show_default=True, help="Calls that are timed.")
@click.option("--limits", is_flag=True, help="Measure the machine's limits, and compare.")
@click.option("--trace", metavar="FILE", help="Write a trace for chrome://tracing or Perfetto.")
@json_option
def profile(
    model: str,
    sizes: tuple[str, ...],
    policy: FusionChoice,
    threads: int | None,
    runs: int,
    trace: str | None,
    *,
    limits: bool,
    as_json: bool,
) -> None:
    """Compile the network in MODEL (an ONNX file), and time each of its kernels."""
    from polyopt.bench.machine import machine
    from polyopt.graph import compile_model

    fusion = policy.fusion()
    graph = load_network(model, sizes)
    with progress(f"kernels of {graph.name}"):
        found = compile_model(graph, passes=(), fusion=fusion)
        limit = machine().limit_ms if limits else None
        result = found.profile(threads=threads, runs=runs, limit_ms=limit)
    if trace is not None:
        result.chrome_trace(trace)
    if as_json:
        print_json(result.as_dict())
    else:
        text(result)
