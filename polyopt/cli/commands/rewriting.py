"""``emit FILE.c``, where the file marks regions: C to C, the regions optimised in place."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from polyopt.cli.options import MOST_THREADS
from polyopt.cli.output import print_json, text, write_file
from polyopt.cli.waiting import progress
from polyopt.errors import InternalError, InvalidOptionError
from polyopt.library import existing_file
from polyopt.rewrite import FUSIONS, Rewriting, has_marks, rewrite

if TYPE_CHECKING:
    from polyopt.cli.program import PlanChoice
    from polyopt.rewrite import Rewritten, RewrittenFile

Command = Callable[..., Any]


def rewriting_options(command: Command) -> Command:
    """What to do with marked regions, given to ``asked``: only what is on the command line."""

    @click.option("--tile/--no-tile", default=None, help="Blocks and strips (default: as pays).")
    @click.option("--parallel/--no-parallel", default=None,
                  help="OpenMP for outer loops (default: as pays).")  # fmt: skip
    @click.option("--fuse", type=click.Choice(FUSIONS), help="How loops are fused.")
    @click.option("--threads", "-t", type=click.IntRange(1, MOST_THREADS),
                  help="A fixed number; default: OpenMP's own.")  # fmt: skip
    @click.option("--reassociate", is_flag=True, default=None,
                  help="Floating sums may be added up in any order (with -fopenmp).")  # fmt: skip
    @click.option("--prove", is_flag=True, default=None, help="Say what was proven of each region.")
    @click.option("--explain", is_flag=True, default=None, help="Say what was decided, and why.")
    @wraps(command)
    def with_asked(*args: object, **named: object) -> object:
        names = ("tile", "parallel", "fuse", "threads", "reassociate", "prove", "explain")
        asked = {name: value for name in names if (value := named.pop(name)) is not None}
        return command(*args, asked=asked, **named)

    return with_asked


def is_marked_file(program: str) -> bool:
    """Whether a PROGRAM argument is a path of a C file that marks regions."""
    return program.endswith(".c") and has_marks(existing_file(program))


def emit_rewritten(
    file: str,
    choice: PlanChoice,
    options: Rewriting,
    output: str | None,
    *,
    explain: bool,
    as_json: bool,
) -> None:
    """Write the file with its regions optimised, and say on stderr what became of each.

    Raises ``InvalidOptionError``; and the error of the first region where none could be taken.
    """
    if choice.unfused or choice.expert or choice.file is not None:
        msg = f"--unfused, --expert and --plan are for one kernel, and {file} marks regions"
        raise InvalidOptionError(msg, hint="leave them out, or take the pragmas out of the file")
    to_file = output is not None and output != "-"
    if to_file and _same_file(file, str(output)):
        msg = f"{output} is the input itself"
        raise InvalidOptionError(msg, hint="write to another file: -o OUT.c")
    with progress("regions"):
        done = rewrite(file, options)
    taken = [region for region in done.regions if region.error is None]
    for region in done.regions:
        _report(region, done, explain=explain, proofs=options.prove)
    defect = next((r.error for r in done.regions if isinstance(r.error, InternalError)), None)
    if not taken and defect is not None:
        raise defect
    if not taken:
        count = len(done.regions)
        msg = f"none of the {count} regions of {file} can be optimised"
        raise InvalidOptionError(
            msg if count > 1 else f"the region of {file} cannot be optimised",
            hint="what stands in the way is said above; nothing was written",
        )
    if to_file:
        write_file(str(output), done.data)
    if as_json:
        print_json(as_document(file, output, done))
    elif to_file:
        said = f"{len(taken)} of {len(done.regions)} regions optimised"
        click.echo(f"wrote {output}: {said}", err=True)
    else:
        text(done.text.removesuffix("\n"))


def _same_file(one: str, other: str) -> bool:
    first, second = Path(one), Path(other)
    return second.exists() and first.samefile(second)


def _report(region: Rewritten, done: RewrittenFile, *, explain: bool, proofs: bool) -> None:
    place = f"{done.source.name}:{region.first}"
    if region.error is not None:
        lines = str(region.error)
        click.echo(f"{lines}\n  note: the region at line {region.first} stays as it is", err=True)
        return
    assert region.plan is not None
    moves = len(region.plan.moves)
    click.echo(f"{place}: optimised by {moves} move{'' if moves == 1 else 's'}", err=True)
    if proofs and region.proof is not None:
        click.echo(str(region.proof), err=True)
    if explain:
        for reason in region.reasons:
            click.echo(
                f"{reason}\n  note: the code around it is ordered as one statement", err=True
            )
        click.echo(str(region.plan.explain()), err=True)


def as_document(file: str, output: str | None, done: RewrittenFile) -> dict[str, object]:
    """The outcome for ``--json``."""
    return {
        "file": file,
        "output": output,
        "regions": [
            {
                "first": region.first, "last": region.last, "optimised": region.error is None,
                "moves": [str(m) for m in region.plan.moves] if region.plan else [],
                "proved": region.proof is not None,
                "code": None if region.error is None else region.error.code,
                "error": None if region.error is None else str(region.error),
            }
            for region in done.regions
        ],
        "source": done.text,
    }  # fmt: skip
