"""``run`` of a NumPy function: compiled for the arrays that it is given, run, and explained."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, cast

import click

from polyopt.cli.output import make_folder, print_json
from polyopt.cli.program import named_numbers
from polyopt.errors import InvalidOptionError, UnknownNameError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


def run_function(
    function: Callable[..., Any],
    arrays: Sequence[tuple[str, Any]],
    sizes: Sequence[str],
    output: str | None,
    threads: int | None,
    *,
    as_json: bool,
) -> None:
    """Run it on arrays, by name or in order, and on numbers; print plan and reasons.

    Raises ``InvalidOptionError`` where an argument is missing, ``UnknownNameError`` for one that
    there is not, and what says why the function is not compiled.
    """
    import numpy as np

    from polyopt.specialize import jit

    given = _arguments(function, arrays, named_numbers(sizes))
    compiled = jit(fallback=False, threads=threads)(function)
    result = compiled(**given)
    values = cast("tuple[Any, ...]", result if isinstance(result, tuple) else (result,))
    results = [np.asarray(value) for value in values if value is not None]
    signature = compiled.signatures[-1]
    files: list[str] = []
    if output:
        folder = make_folder(output)
        for k, array in enumerate(results):
            file = folder / f"result{k}.npy"
            np.save(file, array)
            files.append(str(file))
    shapes = [{"type": str(array.dtype), "shape": list(array.shape)} for array in results]
    if as_json:
        print_json(
            {
                "signature": str(signature),
                "plan": str(signature.plan),
                "results": shapes,
                "files": files,
                "remarks": list(signature.remarks),
                "proof": str(signature.kernel.proof),
            }
        )
        return
    lines = [f"{function.__name__}({signature})", "", str(signature.plan), "", *signature.remarks]
    lines += [f"result {k}: {array.dtype}{list(array.shape)}" for k, array in enumerate(results)]
    lines += [f"wrote {file}" for file in files]
    click.echo("\n".join((*lines, "", str(compiled.explain()), "", str(signature.kernel.proof))))


def _arguments(
    function: Callable[..., Any], arrays: Sequence[tuple[str, Any]], numbers: Mapping[str, int]
) -> dict[str, Any]:
    parameters = inspect.signature(function).parameters
    given: dict[str, Any] = dict(numbers)
    for name, array in arrays:
        free = (p for p in parameters if p not in given)
        given[name or next(free, "")] = array
    unknown = next((name for name in given if name not in parameters), None)
    listed = ", ".join(parameters)
    if unknown is not None:
        message = f"{function.__name__} has no argument {unknown or 'left'}"
        raise UnknownNameError(message, hint=f"it has: {listed}")
    missing = [n for n, p in parameters.items() if p.default is p.empty and n not in given]
    if missing:
        message = f"{function.__name__} needs {', '.join(missing)}"
        hint = "give arrays by --input NAME=FILE.npy, whole numbers by --size NAME=NUMBER"
        raise InvalidOptionError(message, hint=hint)
    return given
