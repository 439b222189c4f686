"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

import click
from click.shell_completion import CompletionItem

from polyopt.cli.program import PlanChoice
from polyopt.errors import InvalidOptionError
from polyopt.library import Reading

#: more threads than this no machine has; asking for them exhausts the system
MOST_THREADS = 4096
one_thread_count = click.IntRange(min=1, max=MOST_THREADS)
#: sets of sizes that every kernel has
_SETS = ("tiny", "test", "demo", "bench")
#: what a command's function is, before and after an option is added
Command = Callable[..., Any]


def _programs(_: click.Context, __: click.Parameter, start: str) -> list[CompletionItem]:
    """What a shell offers for PROGRAM: the kernels, then files."""
    from polyopt.library import kernel_names

    names = [CompletionItem(name) for name in kernel_names() if name.startswith(start)]
    return [*names, CompletionItem(start, type="file")]


def _targets(_: click.Context, __: click.Parameter, start: str) -> list[CompletionItem]:
    """What a shell offers for --target."""
    from polyopt.codegen.target import TARGETS

    return [CompletionItem(name) for name in TARGETS if name.startswith(start)]


def _sizes(_: click.Context, __: click.Parameter, start: str) -> list[CompletionItem]:
    """What a shell offers for --size: the sets of sizes that kernels have."""
    return [CompletionItem(name) for name in _SETS if name.startswith(start)]


def _files(_: click.Context, __: click.Parameter, start: str) -> list[CompletionItem]:
    return [CompletionItem(start, type="file")]


program_argument: Callable[[Command], Command] = click.argument("program", shell_complete=_programs)
size_option: Callable[[Command], Command] = click.option(
    "--size",
    "-s",
    "sizes",
    multiple=True,
    metavar="H=N[,W=N]",
    shell_complete=_sizes,
    help=f"Sizes, or the name of a kernel's set of sizes ({', '.join(_SETS)}).",
)
json_option: Callable[[Command], Command] = click.option(
    "--json", "as_json", is_flag=True, help="One JSON document instead of text."
)


def plan_options(command: Command) -> Command:
    """``--unfused | --expert | --plan FILE`` and ``--target``, given to ``choice``."""

    @click.option("--unfused", is_flag=True, help="The source's own loops.")
    @click.option("--expert", is_flag=True, help="The recipe in schedules/.")
    @click.option("--plan", "plan_file", metavar="FILE", help="A plan saved as JSON.",
                  shell_complete=_files)  # fmt: skip
    @click.option(
        "--target", default="native", show_default=True, metavar="NAME", shell_complete=_targets,
        help="native, generic, avx2, avx512 or neon.",
    )  # fmt: skip
    @wraps(command)
    def with_choice(
        *args: object,
        unfused: bool,
        expert: bool,
        plan_file: str | None,
        target: str,
        **named: object,
    ) -> object:
        choice = PlanChoice(unfused, expert, plan_file, target)
        return command(*args, choice=choice, **named)

    return with_choice


def reading_options(command: Command) -> Command:
    """``-D``, ``-I``, ``--function`` and ``--region`` of C files, given to ``reading``."""

    @click.option("-D", "defines", multiple=True, metavar="NAME[=TEXT]",
                  help="A macro, as the compiler gets it.")  # fmt: skip
    @click.option("-I", "includes", multiple=True, metavar="DIR",
                  help="Look for included files there, too.")  # fmt: skip
    @click.option("--function", metavar="NAME", help="Of a C file: which of its functions.")
    @click.option("--region", type=int, metavar="LINE",
                  help="Of a C file: which region, by the line of its #pragma scop.")  # fmt: skip
    @wraps(command)
    def with_reading(
        *args: object,
        defines: tuple[str, ...],
        includes: tuple[str, ...],
        function: str | None,
        region: int | None,
        **named: object,
    ) -> object:
        reading = Reading(parse_defines(defines), includes, function, region)
        return command(*args, reading=reading, **named)

    return with_reading


def parse_defines(texts: Sequence[str]) -> dict[str, str | int]:
    """Macros from ``NAME=TEXT`` and ``NAME``, which is 1. Raises ``InvalidOptionError``."""
    from polyopt.frontend.c import is_macro_name

    result: dict[str, str | int] = {}
    for given in texts:
        name, equals, value = given.partition("=")
        if not is_macro_name(name):
            msg = f"-D {given}: {name!r} cannot be the name of a macro"
            raise InvalidOptionError(msg, hint="write -D N=64")
        result[name] = value if equals else "1"
    return result


def parse_threads(text: str | None) -> tuple[int, ...]:
    """Thread counts from ``1,2``; ``all`` is every core. Raises click's ``BadParameter``."""
    from polyopt.codegen.target import core_count

    if text is None:
        return tuple(sorted({1, core_count()}))
    counts: list[int] = []
    for part in text.split(","):
        number = part.strip()
        if number != "all" and not (number.isdecimal() and 0 < int(number) <= MOST_THREADS):
            message = f"{number!r} is not a number of threads; write 1,2 or all"
            raise click.BadParameter(message, param_hint="--threads")
        counts.append(core_count() if number == "all" else int(number))
    return tuple(dict.fromkeys(counts))
