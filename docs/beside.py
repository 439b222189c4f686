"""Times of the programs on pages, measured and written into the pages.

``python docs/beside.py PAGE...``: recipes.md, or pages of docs/coming-from

A page's own code is what runs, section by section. On recipes the last line of a section asserts
that a call agrees with something of NumPy, and both are timed. On other pages a block marked
``python peer`` defines ``theirs``, which is timed beside ``ours`` on the arguments ``given``.
Results that do not agree end the run. Everything runs on one core, so that what else the machine
does, and how each system shares work, is not measured.
"""

from __future__ import annotations

import ast
import linecache
import os
import re
import sys
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from polyopt.bench.pages.markdown import table, where
from polyopt.bench.pages.reading import Conditions
from polyopt.codegen.target import cpu_name
from polyopt.runtime.measuring.alternate import Subject, alternate
from polyopt.runtime.toolchain import find_toolchain

if TYPE_CHECKING:
    from collections.abc import Callable

    from polyopt.runtime.measuring.alternate import Sample

    #: ours, then theirs, the faster of which counts
    Forms = tuple[Callable[[], Any], ...]

DOCS = Path(__file__).resolve().parent
_PART = re.compile(
    r"^(?:#{2,3} (?P<title>[^\n]+)|```python(?P<peer> peer)?\n(?P<code>.*?)^```)$",
    re.MULTILINE | re.DOTALL,
)
_MEASURED = re.compile(r"(<!-- measured -->\n).*?(<!-- end -->)", re.DOTALL)
#: what says to each system how many threads it has
_THREADS = (
    "HL_NUM_THREADS", "NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS",
    "POLYOPT_THREADS", "TVM_NUM_THREADS",
)  # fmt: skip
#: seconds for each form of a program
SECONDS = 0.5
#: relative error that is rounding, of floats of 32 bits that are added up in another order
_ROUNDING = 1e-3


def programs(text: str) -> dict[str, Forms]:
    """What is to be timed on a page, by the title of its section; the page's code runs."""
    names: dict[str, Any] = {"__name__": "__main__"}
    title, found = "", {}
    for part in _PART.finditer(text):
        if part["title"]:
            title = part["title"]
            continue
        code = part["code"]
        file = f"<{title} {part.start()}>"
        linecache.cache[file] = (len(code), None, code.splitlines(keepends=True), file)
        exec(compile(code, file, "exec", dont_inherit=True), names)  # noqa: S102
        if part["peer"]:
            found[title] = tuple(partial(names[n], *names["given"]) for n in ("ours", "theirs"))
            agree(*found[title], title)
        elif "\n<!-- recipes -->\n" in text and (sides := compared(code)):
            found[title] = tuple(partial(eval, side, names) for side in sides)
    return found


def compared(code: str) -> list[Any]:
    """Both sides of the comparison that a recipe ends with, compiled; none where there is none.

    A recipe without loops is NumPy as it stands: run by Python, it is a third side.
    """
    tree = ast.parse(code)
    test = tree.body[-1].test if isinstance(tree.body[-1], ast.Assert) else None
    if not isinstance(test, ast.Call):
        return []
    ours, theirs = test.args
    sides = [ours, theirs]
    recipe = next(f for f in tree.body if isinstance(f, ast.FunctionDef) and f.decorator_list)
    if not any(isinstance(node, ast.For) for node in ast.walk(recipe)):
        plain = ast.unparse(ours).replace(f"{recipe.name}(", f"{recipe.name}.__wrapped__(", 1)
        sides.append(ast.parse(plain, mode="eval").body)
    return [compile(ast.Expression(side), "<side>", "eval") for side in sides]


def agree(ours: Callable[[], Any], theirs: Callable[[], Any], title: str) -> None:
    """Exit where results differ by more than rounding."""
    one, other = np.asarray(ours(), float), np.asarray(theirs(), float)
    if one.shape != other.shape or not np.allclose(one, other, _ROUNDING, _ROUNDING):
        sys.exit(f"{title}: results differ: {one.shape}, {other.shape}")


def measured(page: Path) -> str:
    """The page with its table of times made anew."""
    text = page.read_text(encoding="utf-8")
    peer = re.search(r"<!-- peer: (?P<name>[^,]*), packages: (?P<packages>[^>]*) -->", text)
    name, packages = (peer["name"], peer["packages"].split()) if peer else ("NumPy", [])
    rows: list[list[str]] = []
    for title, forms in programs(text).items():
        subjects = {str(number): Subject(form) for number, form in enumerate(forms)}
        ours, *others = alternate(subjects, seconds=SECONDS).values()
        theirs = min(others, key=lambda sample: sample.median_ms)
        ratio = f"{theirs.median_ms / ours.median_ms:.2f}"
        rows.append([title, _ms(ours), _ms(theirs), ratio])
        print(*rows[-1], flush=True)
    titles = ["", "polyopt, ms", f"{name}, ms", f"{name} / polyopt"]
    shown = table([*zip(titles, ["", "right", "right", "right"], strict=True)], rows)
    made = where(_conditions(["polyopt", "numpy", *packages], page), [])
    return _MEASURED.sub(lambda m: f"{m[1]}\n{shown}\n\n{made}\n\n{m[2]}", text)


def _ms(sample: Sample) -> str:
    """``1.234``; with ``~`` where the times stayed spread out."""
    return f"{sample.median_ms:.3g}{'~' * sample.noisy}"


def _conditions(packages: list[str], page: Path) -> Conditions:
    versions = {name: _version(name) for name in packages}
    compiler = find_toolchain()
    return Conditions(
        f"python docs/beside.py {os.path.relpath(page)}", f"{datetime.now(UTC):%Y-%m-%d}",
        cpu_name(), os.cpu_count() or 1, str(compiler), versions,
    )  # fmt: skip


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"


def main(arguments: list[str]) -> None:
    """Measure the pages, each in the process that this is: on one core from now on."""
    os.environ.update(dict.fromkeys(_THREADS, "1"))
    if hasattr(os, "sched_setaffinity"):  # Linux: for those that only count cores
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-1:])
    for argument in arguments:
        file = Path(argument).resolve()
        file.write_text(measured(file), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
