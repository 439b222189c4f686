"""Where errors become exit codes: 2 for what the user can mend, 1 for our defects, 130 for Ctrl-C.

No traceback reaches a user unless POLYOPT_DEBUG is set.
"""

from __future__ import annotations

import contextlib
import os
import sys
import traceback

import click

from polyopt.cli.output import error_console
from polyopt.errors import InternalError, PolyoptError, unexpected

#: where a context's ``meta`` keeps the arguments of the command line
ARGUMENTS = "polyopt.arguments"
OK, DEFECT, MISTAKE, INTERRUPTED, BROKEN_PIPE = 0, 1, 2, 130, 141


class GuardedGroup(click.Group):
    """A group of commands whose errors are rendered, never raised."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As click does, and remember the arguments for commands that report how they ran."""
        ctx.meta[ARGUMENTS] = list(args)
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> object:
        """Run the command; errors end with their exit code and a message on stderr."""
        try:
            result: object = super().invoke(ctx)
            sys.stdout.flush()
        except (click.ClickException, click.exceptions.Exit):
            raise
        except (KeyboardInterrupt, click.Abort):
            click.echo("interrupted", err=True)
            ctx.exit(INTERRUPTED)
        except BrokenPipeError:
            _silence()
            ctx.exit(BROKEN_PIPE)
        except PolyoptError as error:
            _show(error)
            ctx.exit(DEFECT if isinstance(error, InternalError) else MISTAKE)
        except MemoryError as error:
            said = str(error) or "no more is available"
            _show(PolyoptError(f"not enough memory: {said}", hint="try smaller sizes"))
            ctx.exit(MISTAKE)
        except OSError as error:
            _show(PolyoptError(f"{error.filename or 'the system'}: {error.strerror or error}"))
            ctx.exit(MISTAKE)
        except Exception as error:  # noqa: BLE001 - the last resort of a program for people
            _show(unexpected(error))
            ctx.exit(DEFECT)
        return result


def _show(error: PolyoptError) -> None:
    """The diagnostic on stderr, its first line coloured; a traceback only when debugging."""
    if os.environ.get("POLYOPT_DEBUG", "0") not in {"", "0"}:
        traceback.print_exc()
    shown = str(error)
    if isinstance(error, InternalError):
        shown = shown.replace("internal-error:", "internal error:", 1)
        shown += "\n  hint: POLYOPT_DEBUG=1 shows where it happened; add that to the report"
    first, newline, rest = shown.partition("\n")
    console = error_console()
    console.print(first, style="bold red", markup=False, soft_wrap=True)
    if newline:
        console.print(rest, markup=False, soft_wrap=True)


def _silence() -> None:
    """Let nothing more be written to a pipe that nobody reads."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
