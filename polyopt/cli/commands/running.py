"""``run``: compile a program, run it on arrays, check and time it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from polyopt.cli.functions import run_function
from polyopt.cli.options import (
    json_option,
    one_thread_count,
    plan_options,
    program_argument,
    reading_options,
    size_option,
)
from polyopt.cli.output import make_folder, milliseconds, print_json, print_table, write_file
from polyopt.cli.program import complete_sizes, load_function, load_program, parse_sizes
from polyopt.cli.waiting import progress
from polyopt.errors import InvalidOptionError, UnknownNameError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from polyopt.cli.program import PlanChoice, Program
    from polyopt.library import Reading
    from polyopt.runtime.kernel import Kernel
    from polyopt.runtime.measuring.alternate import Sample
    from polyopt.runtime.measuring.arguments import Values
    from polyopt.transform.plan import Plan


#: how long each variant is timed
SECONDS = 0.3


@dataclass(frozen=True, eq=False)
class Outcome:
    """What one run gave: outputs by name, times by variant, and the share that differs."""

    sizes: Mapping[str, int]
    inputs: Values
    outputs: Values
    checked_against: str
    agrees: bool
    times: Mapping[str, Sample]
    #: as many as a parallel loop may use
    threads: int
    #: what was compiled and run
    plan: Plan
    #: what was shown of its C
    code: str
    #: inputs that nobody gave: random ones
    random: tuple[str, ...]
    kernel: Kernel


@click.command(short_help="Run PROGRAM on arrays or a photograph, check and time it.")
@program_argument
@reading_options
@click.argument("photos", nargs=-1, metavar="[PHOTO]...")
@plan_options
@size_option
@click.option(
    "--input",
    "-i",
    "inputs",
    multiple=True,
    metavar="[NAME=]FILE.npy",
    help="An input array; without NAME the next one in the signature. Others are random.",
)
@click.option(
    "--output",
    "-o",
    metavar="DIR|PICTURE",
    help="Write each output there as NAME.npy, or all as one .png or .jpg.",
)
@click.option("--threads", "-t", type=one_thread_count, help="Default: all cores.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of the random inputs.")
@click.option(
    "--seconds", type=click.FloatRange(min=0.01), default=SECONDS, show_default=True,
    help="Time for each of the plan and the unfused form.",
)  # fmt: skip
@json_option
def run(  # noqa: PLR0913, PLR0917 - an argument for each option
    program: str,
    photos: tuple[str, ...],
    choice: PlanChoice,
    sizes: tuple[str, ...],
    inputs: tuple[str, ...],
    output: str | None,
    threads: int | None,
    seed: int,
    seconds: float,
    *,
    reading: Reading,
    as_json: bool,
) -> None:
    """Run PROGRAM on arrays, check it against its reference, and time it.

    A PHOTO (two for some programs) becomes its input image: run harris photo.jpg -o out.png.
    A NumPy function is compiled for its arrays, run, and explained: run my.py:f -i a.npy -s n=3
    """
    from polyopt.cli.views.pictures import check_place, is_picture

    function = load_function(program)
    if function is not None:
        if photos or reading.is_given:
            msg = f"{program} is a NumPy function: it takes --input, --size, --output and --threads"
            raise InvalidOptionError(msg)
        arrays = [(n, _read(f)) for n, f in map(_named_file, inputs)]
        run_function(function, arrays, sizes, output, threads, as_json=as_json)
        return
    found = load_program(program, reading)
    if output and is_picture(output):
        check_place(output)
    given = photo_inputs(photos, found) | load_inputs(inputs, found)
    known = sizes_of(found, given, parse_sizes(sizes, found))
    outcome = execute(found, choice, given, known, threads=threads, seed=seed, seconds=seconds)
    files = save(found, outcome, output) if output else {}
    if as_json:
        print_json(as_document(found, choice, outcome, files))
    else:
        _show(found, choice, outcome, files)
    if not outcome.agrees:
        msg = f"{choice.name} does not agree with {outcome.checked_against}"
        raise InvalidOptionError(msg, hint="is an input outside the range the program is for?")


def photo_inputs(files: Sequence[str], program: Program) -> Values:
    """The arrays that photographs are for a program; none without photographs.

    Raises ``InvalidOptionError`` for what is no photograph, or none for this program.
    """
    from polyopt.cli.views.pictures import inputs_from, read_picture

    if not files:
        return {}
    result = inputs_from(program, [read_picture(file) for file in files])
    _check(result, program)
    return result


def _named_file(text: str) -> tuple[str, str]:
    """Name and file of ``NAME=FILE.npy``; no name of ``FILE.npy``."""
    name, equals, file = text.partition("=")
    return (name, file) if equals else ("", text)


def load_inputs(texts: Sequence[str], program: Program) -> Values:
    """Arrays from ``FILE.npy`` or ``NAME=FILE.npy``.

    Raises ``UnknownNameError`` for other names and ``InvalidOptionError`` for unreadable files.
    """
    names = [a.name for a in program.scop.arrays if a.is_live_in]
    result: Values = {}
    for text in texts:
        name, equals, file = text.partition("=")
        if not equals:
            file = text
            name = next((n for n in names if n not in result and _is_array(program, n)), "")
        if name not in names:
            msg = f"{program.name} has no input {name or 'left'} for {file}"
            raise UnknownNameError(msg, hint="inputs are: " + ", ".join(names))
        result[name] = _read(file)
    _check(result, program)
    return result


def _check(given: Values, program: Program) -> None:
    """Refuse arrays of another type or rank than their argument. Raises ``ArgumentError``."""
    from polyopt.codegen.signature import signature_of
    from polyopt.runtime.checks import check_shape, check_type, checked_scalar

    for argument in signature_of(program.scop):
        if argument.name not in given:
            continue
        values = given[argument.name]
        if argument.kind == "scalar":
            checked_scalar(argument, values)
        else:
            check_type(values, argument.type.dtype, argument)
            check_shape(values, argument)


def _is_array(program: Program, name: str) -> bool:
    return program.scop.array(name).rank > 0


def _read(file: str) -> Any:  # noqa: ANN401 - whatever the file holds is checked by the kernel
    import numpy as np

    try:
        values: Any = np.load(file, allow_pickle=False)
    except OSError as error:
        msg = f"{file} cannot be read: {error.strerror or error}"
        raise InvalidOptionError(msg) from None
    except (ValueError, EOFError) as error:
        msg = f"{file} is not an array in NumPy's .npy format: {error}"
        raise InvalidOptionError(msg) from None
    if type(values) is not np.ndarray:
        msg = f"{file} holds several arrays"
        raise InvalidOptionError(msg, hint="give one .npy file for each input")
    return values if values.ndim else values.item()


def sizes_of(program: Program, given: Values, sizes: dict[str, int]) -> dict[str, int]:
    """All sizes: from the arrays given, then those asked for, then the usual ones.

    Raises ``ArgumentError`` where arrays and sizes contradict each other.
    """
    from polyopt.codegen.signature import signature_of
    from polyopt.runtime.sizes import SizeSolver

    scop = program.scop
    solver = SizeSolver(scop.params, signature_of(scop), scop.context)
    shapes = {n: v.shape for n, v in given.items() if hasattr(v, "shape") and v.shape}
    derived = solver.derivable(set(shapes))
    usual = complete_sizes(sizes, program)
    start = {n: v for n, v in usual.items() if n in sizes or n not in derived}
    return solver.solve(start, shapes)


def execute(
    program: Program,
    choice: PlanChoice,
    given: Values,
    sizes: Mapping[str, int],
    *,
    threads: int | None,
    seed: int,
    seconds: float = SECONDS,
) -> Outcome:
    """Compile, run and time the chosen plan beside the unfused form."""
    from polyopt.bench.runner import agreement
    from polyopt.runtime.measuring.alternate import Subject, alternate
    from polyopt.runtime.measuring.arguments import CallArguments, inputs_for
    from polyopt.transform.plan import Plan

    plan = choice.plan(program, sizes)
    with progress("compiling"):
        kernels: dict[str, Kernel] = {choice.name: plan.compile(target=choice.target)}
        if not choice.unfused:
            kernels["polyopt-unfused"] = Plan(program.scop).compile(target=choice.target)
    kernel, code = kernels[choice.name], kernels[choice.name].built.checked
    random = tuple(a.name for a in program.scop.arrays if a.is_live_in and a.name not in given)
    values = {} if not random else inputs_for(kernel, sizes, seed, program.kernel)
    values |= given
    call = CallArguments.make(kernel, values, sizes)
    with progress("checking"):
        against, agrees = agreement(plan, kernel, values, sizes, program.kernel)
    calls = {n: CallArguments.make(k, values, sizes) for n, k in kernels.items()}
    subjects = {
        n: Subject(
            lambda k=k, c=calls[n]: c.call(k, threads),
            calls[n].restore if calls[n].changes_inputs else None,
        )
        for n, k in kernels.items()
    }
    with progress("measuring"):
        times = alternate(subjects, seconds=seconds)
    call.call(kernel, threads)
    count = kernel.thread_count(threads)
    return Outcome(
        sizes, values, call.results, against, agrees, times, count, plan, code, random, kernel
    )


def save(program: Program, outcome: Outcome, place: str) -> dict[str, str]:
    """Write one picture of the outputs, or each to a folder; the paths by name.

    Raises ``InvalidOptionError``.
    """
    from polyopt.cli.views.pictures import is_picture, picture_of, write_picture

    if not is_picture(place):
        return save_outputs(outcome.outputs, place)
    path = write_picture(picture_of(program, outcome.outputs, outcome.inputs), place)
    return dict.fromkeys(outcome.outputs, str(path))


def save_outputs(outputs: Values, folder: str) -> dict[str, str]:
    """Write each output as ``NAME.npy``; the paths by name. Raises ``InvalidOptionError``."""
    import io

    import numpy as np

    target = make_folder(folder)
    written: dict[str, str] = {}
    for name, values in outputs.items():
        buffer = io.BytesIO()
        np.save(buffer, values)
        written[name] = str(write_file(target / f"{name}.npy", buffer.getvalue()))
    return written


def as_document(
    program: Program, choice: PlanChoice, outcome: Outcome, files: Mapping[str, str]
) -> dict[str, object]:
    """The outcome for ``--json``."""
    return {
        "program": program.name, "variant": choice.name, "size": dict(outcome.sizes),
        "threads": outcome.threads,
        "agrees": outcome.agrees, "checked_against": outcome.checked_against,
        "code": outcome.code,
        "times": {
            name: {"median_ms": s.median_ms, "min_ms": s.min_ms, "iqr_ms": s.iqr_ms,
                   "runs": s.runs, "noisy": s.noisy}
            for name, s in outcome.times.items()
        },
        "outputs": {
            name: {"dtype": str(v.dtype), "shape": list(v.shape), "file": files.get(name)}
            for name, v in outcome.outputs.items()
        },
    }  # fmt: skip


def _plan_text(program: Program, choice: PlanChoice, plan: Plan) -> str:
    """Which plan ran, for which processor, and where to read more of it."""
    from polyopt.codegen.target import target
    from polyopt.oneline import some

    names = {
        "polyopt": "automatic",
        "polyopt-unfused": "the source's own loops",
        "polyopt-expert": "the recipe in schedules/",
    }
    moves, machine = some(len(plan.moves), "move") or "no moves", target(choice.target)
    told = f"{names.get(choice.name, choice.name)}, {moves}, for {machine.isa}"
    return f"{told}; polyopt explain {program.name} says why" if choice.name == "polyopt" else told


def _show(program: Program, choice: PlanChoice, outcome: Outcome, files: Mapping[str, str]) -> None:
    from polyopt.runtime.measuring.alternate import FAR

    sizes = ", ".join(f"{n} = {v}" for n, v in outcome.sizes.items())
    click.echo(f"{program.name}{f' with {sizes}' if sizes else ''}")
    click.echo(f"  plan: {_plan_text(program, choice, outcome.plan)}")
    if outcome.random:
        click.echo(f"  random inputs: {', '.join(outcome.random)}")
    for name, values in outcome.outputs.items():
        place = f"  -> {files[name]}" if name in files else ""
        click.echo(f"  {name}: {values.dtype}{list(values.shape)}{place}")
    threads = "1 thread" if outcome.threads == 1 else f"up to {outcome.threads} threads"
    verdict = "agrees with" if outcome.agrees else "DOES NOT AGREE with"
    click.echo(f"  {verdict} {outcome.checked_against}")
    click.echo(f"  {outcome.code}")
    click.echo(f"  {threads}")
    columns = [("variant", "left"), ("median ms", "right"), ("least", "right"), ("runs", "right")]
    rows = [
        (name, milliseconds(s.median_ms) + ("~" if s.noisy else ""), milliseconds(s.min_ms),
         str(s.runs))
        for name, s in outcome.times.items()
    ]  # fmt: skip
    print_table(columns, rows)
    if any(s.noisy for s in outcome.times.values()):
        click.echo("~ the machine is busy: times vary from call to call")
    if outcome.threads > 1 and any(s.median_ms > FAR * s.min_ms for s in outcome.times.values()):
        click.echo("  threads wait for one that other programs hold up: compare the least, or -t 1")
