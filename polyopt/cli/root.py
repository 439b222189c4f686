"""The command ``polyopt`` and its parts."""

from __future__ import annotations

import click

from polyopt import __version__
from polyopt.cli.boundary import GuardedGroup
from polyopt.cli.commands.checking import check
from polyopt.cli.commands.demo import demo
from polyopt.cli.commands.exporting import build, export
from polyopt.cli.commands.extracting import scop
from polyopt.cli.commands.house import cache, doctor
from polyopt.cli.commands.mapping import map_command
from polyopt.cli.commands.measuring import bench, tune
from polyopt.cli.commands.networks import profile
from polyopt.cli.commands.pages import report
from polyopt.cli.commands.reasons import deps, explain, prove, tradeoff, why
from polyopt.cli.commands.running import run
from polyopt.cli.commands.shells import completion
from polyopt.cli.commands.viewing import view
from polyopt.cli.commands.writing import emit


@click.group(
    cls=GuardedGroup, context_settings={"help_option_names": ["-h", "--help"]}, epilog="""
A PROGRAM is the name of a kernel (blur), a C file (dir/blur.c), or file.py:function
(file.py alone where it has one program).
Environment: POLYOPT_CC, POLYOPT_CACHE, POLYOPT_PLAN_CACHE, POLYOPT_CHECK, POLYOPT_THREADS,
POLYOPT_DEBUG, NO_COLOR.

\b
Examples:
  polyopt run blur                       run a kernel that comes with polyopt
  polyopt explain blur.c                 what is done with a C function, and why
  polyopt emit code.c -o fast.c          its marked regions, optimised in place
  polyopt check blur.c filter.py         what is wrong in files, for editors
  polyopt export blur.c lib              a C library with CMake and pkg-config
  polyopt build blur.c                   a Python wheel that needs NumPy alone
""",
)  # fmt: skip
@click.version_option(__version__, "-V", "--version", prog_name="polyopt")
def cli() -> None:
    """Loop nests in, proven and fused C out."""


for _command in (
    run, map_command, emit, export, build, scop, view, deps, prove, explain, why, tradeoff, profile,
    bench, tune, report, demo,
    check, doctor, cache, completion,
):  # fmt: skip
    cli.add_command(_command)


def main() -> None:
    """Run the command line and leave with its exit code: 2 for a mistake, 1 for a defect."""
    cli(prog_name="polyopt")
