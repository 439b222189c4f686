"""``bench`` and ``tune``: times, and plans chosen by them."""

from __future__ import annotations

import math
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import click

from polyopt.cli.boundary import ARGUMENTS
from polyopt.cli.options import (
    json_option,
    one_thread_count,
    parse_threads,
    program_argument,
    reading_options,
    size_option,
)
from polyopt.cli.output import milliseconds, print_json, print_table, text, wrapped
from polyopt.cli.program import complete_sizes, load_program, parse_sizes
from polyopt.cli.waiting import progress, steps
from polyopt.errors import InternalError, InvalidOptionError, MissingExtraError
from polyopt.extras import install_command

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    from polyopt.bench.machine import Machine
    from polyopt.bench.runner import Row, Subjects
    from polyopt.bench.tuning.tune import Trial
    from polyopt.library import Reading

threads_option = click.option(
    "--threads", "-t", metavar="1,2", help="Numbers of threads; default: 1 and all cores."
)


@click.command(short_help="Measure plan, unfused form and recipe of PROGRAMS.")
@click.argument("programs", nargs=-1)
@reading_options
@size_option
@threads_option
@click.option(
    "--peers",
    metavar="NAMES",
    default="",
    help="Also measure halide, opencv, scipy; of programs in C what clang, gcc, graphite, polly "
    "and numba make of them; blas. Of networks onnxruntime, openvino, torch, inductor.",
)
@click.option(
    "--installed", is_flag=True, help="Leave out --peers that are not installed, and say so."
)
@click.option(
    "--suite",
    type=click.Choice(["kernels", "images", "affine", "field", "nn"]),
    help="What to measure without PROGRAMS: kernels, images and affine and more (default); images, "
    "pipelines on images; affine, linear algebra, statistics, stencils and solvers; field, "
    "programs as users write them, by what the field computes; nn, layers and whole networks.",
)
@click.option(
    "--compile-time",
    is_flag=True,
    help="Measure what compiling takes: plan, proof, C; by default of --suite images.",
)
@click.option(
    "--sweep",
    is_flag=True,
    help="Measure the automatic plan in a grid of tile sizes, beside the model's estimate.",
)
@click.option(
    "--fusions",
    metavar="NAMES",
    default="",
    help="Also measure isl's orders (min, smart, max, hybrid) of these programs: 2mm,gemver.",
)
@click.option(
    "--reassociate",
    is_flag=True,
    help="Also measure plans whose floating sums may be added up in any order.",
)
@click.option("--repeat", "-n", type=click.IntRange(min=1), help="Rounds; default: as time allows.")
@click.option(
    "--seconds",
    type=click.FloatRange(min=0.01),
    default=1.0,
    show_default=True,
    help="Time for each variant and number of threads.",
)
@json_option
def bench(  # noqa: PLR0913  (an argument per option)
    programs: tuple[str, ...],
    sizes: tuple[str, ...],
    threads: str | None,
    peers: str,
    suite: str | None,
    fusions: str,
    repeat: int | None,
    seconds: float,
    *,
    reading: Reading,
    reassociate: bool,
    installed: bool,
    compile_time: bool,
    sweep: bool,
    as_json: bool,
) -> None:
    """Measure PROGRAMS: automatic plan (polyopt), unfused form, expert's recipe where there is one.

    \b
    polyopt bench blur harris -t 1 --seconds 0.2
    polyopt bench blur --json > run.json; polyopt report run.json -o run.md

    Variants take turns within one run, each timed after a call that warms its caches. The limit is
    what measured bandwidth and peak allow, frac the part of it that is reached; where memory sets
    it, copy moves as many bytes. A ~ marks times that vary. Without PROGRAMS all of --suite are
    measured, which takes minutes to hours.
    """  # noqa: D301  (the letter that keeps click from filling the lines)
    from polyopt.bench.machine import machine
    from polyopt.bench.suites import IMAGES, KERNELS, NN, members

    suite = suite or (IMAGES if compile_time else KERNELS)
    if sweep:
        _refuse_with_sweep({"--peers": peers, "--fusions": fusions, "--suite nn": suite == NN,
                            "--compile-time": compile_time, "--installed": installed})  # fmt: skip
    names = programs or members(suite)
    if sweep or compile_time:
        plain = [_subjects(name, sizes, suite, reading) for name in names]
        if sweep:
            _sweeps(plain, parse_threads(threads), repeat, seconds, as_json=as_json)
        else:
            _compile_times(plain, as_json)
        return
    counts = parse_threads(threads)
    others, missing = _peers(peers, installed=installed)
    if suite == NN:
        if fusions or sizes or reassociate:
            msg = "--fusions, --reassociate and --size are for programs, not for networks"
            raise InvalidOptionError(msg, hint="leave them out with --suite nn")
        limits, notes = machine(), list[str]()
        rows = _networks(programs, limits, counts, others, repeat, seconds, notes)
        _shown(rows, limits, (others, missing), notes, as_json=as_json)
        return
    subjects = [_subjects(name, sizes, suite, reading) for name in names]
    subjects = _as_asked(subjects, _named(fusions), reassociate=reassociate)
    limits = machine()
    notes: list[str] = []
    rows = _measured(subjects, limits, counts, others, repeat, seconds, notes)
    _shown(rows, limits, (others, missing), notes, as_json=as_json)


def _as_asked(
    subjects: list[Subjects], fusions: Sequence[str], *, reassociate: bool
) -> list[Subjects]:
    """The subjects with the forms that options add. Raises ``InvalidOptionError``."""
    unknown = [name for name in fusions if name not in {what.name for what in subjects}]
    if unknown:
        msg = f"--fusions names {unknown[0]!r}, which is not measured"
        raise InvalidOptionError(msg, hint="name programs that are")
    return [
        replace(what, fusions=what.name in fusions, reassociate=reassociate) for what in subjects
    ]


def _shown(
    rows: list[Row],
    limits: Machine,
    peers: tuple[tuple[str, ...], tuple[str, ...]],
    notes: list[str],
    *,
    as_json: bool,
) -> None:
    """Print rows; ``peers`` are those measured and those missing."""
    from polyopt.bench.pages.report import as_json as document

    others, missing = peers
    if as_json:
        about = _conditions((*others, *missing))
        print_json(document(limits, rows, {**about, "missing": missing, "notes": notes}))
    else:
        _print_rows(limits, rows)
    _refuse_wrong(rows)


def _named(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))


def _networks(
    names: tuple[str, ...],
    limits: Machine,
    counts: tuple[int, ...],
    peers: tuple[str, ...],
    rounds: int | None,
    seconds: float,
    notes: list[str],
) -> list[Row]:
    """The rows of layers and networks; what did not run goes into ``notes`` and to stderr."""
    from polyopt.bench.nn import bench_network, matching
    from polyopt.bench.peers.apart import Apart

    def note(said: str) -> None:
        notes.append(said)
        click.echo(f"note: {said}", err=True)

    rows: list[Row] = []
    subjects = matching(names)
    with ExitStack() as processes, steps("networks") as told:
        others = [processes.enter_context(Apart(peer)) for peer in peers]
        for number, name in enumerate(subjects):
            rows += bench_network(
                name, limits, threads=counts, peers=others, rounds=rounds, seconds=seconds,
                note=note, report=_step(told, number, len(subjects), name),
            )  # fmt: skip
    return rows


def _print_rows(limits: Machine, rows: list[Row]) -> None:
    from polyopt.bench.pages.report import COLUMNS, against, summary, table

    text(_about(limits))
    print_table(COLUMNS, list(table(rows)))
    if any(row.noisy for row in rows):
        text("~ the spread stayed wide although measured again: read ratios with care")
    for line in (*summary(rows), *against(rows)):
        text(wrapped(line, indent=4))


def _refuse_wrong(rows: list[Row]) -> None:
    """Raise ``InternalError`` where a result of ours is not the reference's."""
    from polyopt.bench.variants import OURS

    wrong = [
        f"{row.variant} of {row.kernel}"
        for row in rows
        if not row.agrees and row.variant.partition("-")[0] == OURS
    ]
    if wrong:
        msg = f"results differ from the reference's: {', '.join(dict.fromkeys(wrong))}"
        raise InternalError(msg)


def _conditions(peers: tuple[str, ...] = ()) -> dict[str, object]:
    from polyopt.bench.conditions import conditions

    return conditions(click.get_current_context().meta[ARGUMENTS], peers)


def _peers(names: str, *, installed: bool) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The peers to measure, and those that are not installed where that is allowed."""
    from polyopt.bench.peers import check_peers, parse_peers, split_installed

    peers = parse_peers(names)
    if not installed:
        check_peers(peers)
        return peers, ()
    there, missing = split_installed(peers)
    for peer in missing:
        click.echo(f"note: {peer} is not installed", err=True)
    return there, missing


def _compile_times(subjects: list[Subjects], as_json: bool) -> None:  # noqa: FBT001
    """Print what compiling takes, for programs and for chains of more and more stages."""
    from polyopt.bench import compiling

    with steps("programs") as told:
        compiling.plan_time("", compiling.chain(2), compiling.CHAIN_SIZES)  # loads what is lazy
        programs: list[compiling.CompileTime] = []
        for number, s in enumerate(subjects):
            told(number, len(subjects), s.name)
            programs.append(compiling.compile_time(s.name, s.scop, s.sizes))
    with progress("chains"):
        chains = list(compiling.chain_times(compiling.CHAIN))
    if as_json:
        print_json(compiling.as_json(programs, chains, _conditions()))
        return
    text(compiling.about())
    print_table(compiling.COLUMNS, list(compiling.table(programs)))
    if any(times.reported_s is not None for times in programs):
        text("paper: the whole compile flow of Zhao and Di (MICRO 2020), on their machine")
    text("\nchains of 3 x 3 boxes:")
    print_table(compiling.CHAIN_COLUMNS, list(compiling.chain_table(chains)))


def _refuse_with_sweep(given: dict[str, object]) -> None:
    """Raise ``InvalidOptionError`` where something was asked for that a sweep does not measure."""
    other = next((name for name, value in given.items() if value), None)
    if other is not None:
        msg = f"--sweep measures tile sizes of the automatic plan, not {other}"
        raise InvalidOptionError(msg, hint="leave one of the two out")


def _sweeps(
    subjects: list[Subjects],
    counts: tuple[int, ...],
    rounds: int | None,
    seconds: float,
    *,
    as_json: bool,
) -> None:
    """Print tile sizes with their estimates and times."""
    from polyopt.bench.compiling import about, machine_facts
    from polyopt.bench.tuning import sweep

    found: list[sweep.Sweep] = []
    for what in subjects:
        with progress(what.name) as told:
            found += sweep.sweep(
                what, threads=counts, seconds=seconds, rounds=rounds, report=told
            )  # fmt: skip
    if as_json:
        print_json({**_conditions(), **machine_facts(), "sweeps": [s.as_dict() for s in found]})
        return
    text(about())
    for one in found:
        text(f"\n{one.summary()}")
        print_table(sweep.HEADINGS, list(sweep.table(one)))


def _subjects(name: str, sizes: tuple[str, ...], suite: str, reading: Reading) -> Subjects:
    from polyopt.bench.runner import Subjects

    program = load_program(name, reading)
    known = complete_sizes(parse_sizes(sizes, program), program)
    return Subjects(program.name, program.scop, program.kernel, known, suite)


def _measured(
    subjects: list[Subjects],
    limits: Machine,
    counts: tuple[int, ...],
    peers: tuple[str, ...],
    rounds: int | None,
    seconds: float,
    notes: list[str],
) -> list[Row]:
    """All rows; what was not measured goes into ``notes`` and to stderr."""
    from polyopt.bench.runner import bench as measure

    rows: list[Row] = []
    with steps("kernels") as told:
        for number, what in enumerate(subjects):
            rows += measure(
                what, limits, threads=counts, peers=peers, rounds=rounds, seconds=seconds,
                note=notes.append, report=_step(told, number, len(subjects), what.name),
            )  # fmt: skip
    for said in notes:
        click.echo(f"note: {said}", err=True)
    return rows


def _step(
    told: Callable[[int, int, str], None], done: int, total: int, name: str
) -> Callable[[str], None]:
    """What a subject's measurement calls with what it does now."""
    return lambda now: told(done, total, f"{name}, {now}")


def _about(limits: Machine) -> str:
    def listed(values: dict[int, float], unit: str) -> str:
        return " / ".join(f"{v:.3g}" for v in values.values()) + f" {unit}"

    threads = " / ".join(map(str, limits.bandwidth_gbs))
    return (
        f"{limits.cpu}, {limits.cores} cores, {limits.compiler}\n"
        f"on {threads} threads: {listed(limits.bandwidth_gbs, 'GB/s')}, "
        f"{listed(limits.peak_gflops, 'GFLOP/s')}"
    )


@click.command(short_help="Measure the best few plans, keep the fastest.")
@program_argument
@reading_options
@size_option
@click.option("--threads", "-t", type=one_thread_count, help="Default: all cores.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of inputs and order.")
@click.option("--seconds", type=click.FloatRange(min=0.01), default=0.5, show_default=True)
@click.option(
    "--budget",
    metavar="S",
    type=click.FloatRange(min=0, min_open=True),
    help="Measure nothing more after so many seconds.",
)
@click.option("--workers", type=click.IntRange(min=1), help="Compile on so many processes first.")
@click.option("--cluster", metavar="ADDRESS", help="Compile on a dask cluster of this machine.")
@click.option("--save", metavar="FILE", help="Write the fastest plan there as JSON.")
@click.option("--journal", metavar="FILE", help="Keep times there; go on from them if there are.")
@json_option
def tune(  # noqa: PLR0913  (an argument per option)
    program: str,
    sizes: tuple[str, ...],
    threads: int | None,
    seed: int,
    seconds: float,
    *,
    reading: Reading,
    budget: float | None,
    workers: int | None,
    cluster: str | None,
    save: str | None,
    journal: str | None,
    as_json: bool,
) -> None:
    """Measure the model's best few plans for PROGRAM and keep the fastest.

    Each takes turns with the model's own choice, which stays unless another is clearly faster,
    twice. Plans may be compiled on many processes; they are measured here, alone.
    """
    from polyopt.bench.tuning.journal import Journal
    from polyopt.bench.tuning.tune import Effort, save_plan
    from polyopt.bench.tuning.tune import tune as search

    found = load_program(program, reading)
    known = complete_sizes(parse_sizes(sizes, found), found)
    kept = Journal(journal, found.name, known, threads) if journal else None
    total = 0

    def heard(done: int, count: int) -> None:
        nonlocal total
        total = count
        report(done, count)

    with progress("plans") as report, _workers_of(workers, cluster) as executor:
        trials = search(
            found.scop, known, library=found.kernel, threads=threads, seed=seed,
            effort=Effort(seconds, budget or math.inf, executor, workers or 2),
            journal=kept, report=heard,
        )  # fmt: skip
    if len(trials) < total:
        click.echo(f"note: {len(trials)} of {total} plans were measured in {budget:g} s", err=True)
    best = trials[0]
    if save:
        save_plan(best.plan, save)
    if as_json:
        listed = [
            {"name": t.name, "plan": str(t.plan), **asdict(t.times), "ratio": t.ratio}
            for t in trials
        ]
        print_json({"program": found.name, "size": known, "trials": listed, "file": save})
        return
    _print_trials(trials)
    text(f"\nthe fastest, for {best.name}:\n{best.plan}")
    if save:
        text(f"wrote {save}")


@contextmanager
def _workers_of(workers: int | None, cluster: str | None) -> Generator[object]:
    """What compiles: nothing but this process, others, or a cluster.

    Raises ``MissingExtraError`` without distributed, ``InvalidOptionError`` for a cluster that
    does not answer.
    """
    if cluster is None:
        yield "processes" if workers else None
        return
    try:
        from distributed import Client
    except ImportError:
        message = "--cluster needs dask.distributed"
        raise MissingExtraError(message, hint=install_command("scale")) from None
    try:
        client: Any = Client(cluster, timeout=5)
    except (OSError, ValueError) as error:
        message = f"no cluster answers at {cluster}: {error}".splitlines()[0]
        hint = "start one with dask scheduler and dask worker, or use --workers"
        raise InvalidOptionError(message, hint=hint) from None
    with client:
        yield client


def _print_trials(trials: Sequence[Trial]) -> None:
    rows = [
        (
            t.name,
            milliseconds(t.times.median_ms) + "~" * t.times.noisy,
            f"{t.ratio:.3f}",
            str(t.times.runs),
        )
        for t in trials
    ]
    heads = [("plan for", "left"), ("median ms", "right"), ("to own", "right"), ("runs", "right")]
    print_table(heads, rows)
