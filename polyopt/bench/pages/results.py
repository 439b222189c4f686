"""Measurements as a value: a table as text and in Jupyter, and the JSON that programs read."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from polyopt.arguments import checks_arguments
from polyopt.bench.machine import machine
from polyopt.bench.pages.reading import CompileTimes, Times, read
from polyopt.bench.pages.report import COLUMNS, against, as_json, summary, table
from polyopt.bench.runner import Row, Subjects, bench
from polyopt.errors import InvalidOptionError
from polyopt.escaping import markup as escape
from polyopt.explain.jupyter import MOST_ROWS, more, named
from polyopt.explain.jupyter import table as html_table
from polyopt.library import load_kernel

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from polyopt.bench.machine import Machine

#: colours of bars: ours, and all others
_OURS, _OTHERS = "#0072B2", "#999999"


@dataclass(frozen=True, eq=False)
class Results:
    """Rows of ``bench``, kernel by kernel. ``str`` is a table; iterating gives the rows.

    Times are milliseconds a call; see ``Row``. ``about`` names the machine.
    """

    about: str
    rows: tuple[Row, ...]
    machine: Machine | None = None

    def __iter__(self) -> Iterator[Row]:
        """The rows."""
        return iter(self.rows)

    def __len__(self) -> int:
        """The number of rows."""
        return len(self.rows)

    def where(self, *, kernel: str | None = None, variant: str | None = None) -> Results:
        """Only the rows of a kernel, or of a variant."""
        kept = tuple(
            row
            for row in self.rows
            if kernel in {None, row.kernel} and variant in {None, row.variant}
        )
        return replace(self, rows=kept)

    def as_dict(self) -> dict[str, object]:
        """What ``bench --json`` prints. Raises ``InvalidOptionError`` for rows that were read."""
        if self.machine is None:
            message = "these rows were read from a file: that file is their JSON"
            raise InvalidOptionError(message)
        return as_json(self.machine, self.rows)

    def __str__(self) -> str:
        """The machine, the table, and what our plan gains."""
        cells = [tuple(title for title, _ in COLUMNS), *table(self.rows)]
        widths = [max(len(row[k]) for row in cells) for k in range(len(COLUMNS))]
        lines = [
            "  ".join(
                cell.ljust(width) if side == "left" else cell.rjust(width)
                for cell, width, (_, side) in zip(row, widths, COLUMNS, strict=True)
            ).rstrip()
            for row in cells
        ]
        return "\n".join([self.about, *lines, *summary(self.rows), *against(self.rows)])

    def _repr_html_(self) -> str:
        return named(self.about, rows_html(self.rows))


def rows_html(rows: Sequence[Row]) -> str:
    """The table; a bar for what each row reaches of the machine's limit."""
    shown = [row for row in rows if not row.variant.endswith(f"/{row.schedule}")]
    cells: list[list[str]] = []
    for row, line in zip(shown[:MOST_ROWS], table(rows), strict=False):
        kernel, _, threads, median, spread, limit, _, ratio, agrees = map(escape, line)
        colour = _OURS if row.variant.startswith("polyopt") else _OTHERS
        width = round(80 * min(1.0, row.fraction))
        bar = f'<span style="display:inline-block;width:{width}px;height:9px;background:{colour}">'
        cells.append([
            kernel, escape(row.variant), threads, median, spread, limit,
            f"{bar}</span>&nbsp;{row.fraction:.0%}", ratio, agrees,
        ])  # fmt: skip
    head = ["kernel", "variant", "threads", "median ms", "spread", "limit ms", "of limit",
            "vs unfused", "agrees"]  # fmt: skip
    body = html_table(head, cells, numbers=frozenset({2, 3, 4, 5, 7}))
    noisy = "<div>~ the spread stayed wide</div>" if any(row.noisy for row in rows) else ""
    return body + noisy + more(len(shown), "print(results) has them all")


@checks_arguments
def measure_kernels(
    *kernels: str,
    sizes: Mapping[str, int] | None = None,
    threads: Sequence[int] = (1,),
    peers: Sequence[str] = (),
    seconds: float = 0.3,
) -> Results:
    """Measure library kernels as ``polyopt bench`` does: our plan, the unfused form, the recipe.

    ``sizes`` are values of parameters, by default each kernel's ``bench`` sizes; ``seconds`` are
    for each variant and number of threads.

    Raises ``UnknownNameError`` for a kernel that there is not, and what ``bench`` raises.
    """
    if not kernels:
        message = "measure_kernels() takes the names of kernels"
        raise InvalidOptionError(message, hint='measure_kernels("blur", "harris")')
    limits = machine()
    rows: list[Row] = []
    for name in kernels:
        kernel = load_kernel(name)
        known = {**kernel.sizes.get("bench", {}), **(sizes or {})}
        subject = Subjects(name, kernel.scop, kernel, known)
        rows += bench(
            subject, limits, threads=tuple(threads), peers=tuple(peers), seconds=seconds
        )  # fmt: skip
    about = f"{limits.cpu}, {limits.cores} cores, {limits.compiler}"
    return Results(about, tuple(rows), limits)


@checks_arguments
def load_results(path: str | Path) -> Results:
    """What ``polyopt bench --json`` wrote. Raises ``InvalidOptionError`` for anything else."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        message = f"{path} cannot be read: {getattr(error, 'strerror', None) or error}"
        raise InvalidOptionError(message) from None
    found = read(text, str(path))
    if not isinstance(found, Times):
        what = "times of compiling" if isinstance(found, CompileTimes) else "a sweep of tile sizes"
        message = f"{path} holds {what}"
        raise InvalidOptionError(message, hint=f"polyopt report {path} -o page.md shows them")
    made = found.conditions
    return Results(f"{made.cpu}, {made.cores} cores, {made.compiler}", found.rows)
