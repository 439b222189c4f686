"""What the peers get of a program: numba with ``prange``, JAX without changes in place, Pythran."""

from __future__ import annotations

import importlib
import inspect
import re
import subprocess
import sys
import tempfile
from typing import TYPE_CHECKING, Any

import numpy as np

from tests.jit_peers.programs import PROGRAMS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

#: programs whose outermost loop is over independent iterations: numba is told by prange
SHARED = frozenset({
    "softmax", "normalised_rows", "pairwise_distances", "mandelbrot", "moving_average",
    "nearest_centroid", "filtered", "forces", "cosine_similarity",
})  # fmt: skip


def source_of(name: str) -> str:
    """A program's text without its decorator."""
    text = inspect.getsource(PROGRAMS[name].function)
    return text[text.index("def ") :]


def numba_form(name: str) -> Callable[..., Any]:
    """The program compiled by numba on all cores."""
    numba = importlib.import_module("numba")
    text = source_of(name)
    if name in SHARED:
        text = re.sub(r"for (\w+) in range\(", r"for \1 in prange(", text, count=1)
    names: dict[str, Any] = {"np": np, "prange": numba.prange}
    exec(text, names)  # noqa: S102 - our own
    return numba.njit(parallel=True)(names[name])


def pythran_form(name: str, args: tuple[Any, ...], folder: Path) -> Callable[..., Any]:
    """The program compiled by Pythran, with OpenMP where loops are independent."""
    text = source_of(name)
    if name in SHARED:
        text = re.sub(r"( *)for ", r"\1#omp parallel for\n\1for ", text, count=1)
    kinds = ", ".join(map(_pythran_type, args))
    file = folder / f"pythran_{name}.py"
    head = f"import numpy as np\n#pythran export {name}({kinds})\n"
    file.write_text(head + text, encoding="utf-8")
    made = folder / f"pythran_{name}.so"
    command = [sys.executable, "-m", "pythran.run", "-O3", "-march=native", "-fopenmp",
               "-DUSE_XSIMD", str(file), "-o", str(made)]  # fmt: skip
    subprocess.run(command, check=True, capture_output=True, timeout=300)
    sys.path.insert(0, str(folder))
    try:
        return getattr(importlib.import_module(f"pythran_{name}"), name)
    finally:
        sys.path.pop(0)


def _pythran_type(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"{value.dtype}[{','.join(':' * value.ndim)}]"
    return "int" if isinstance(value, int) else "float"


def jax_form(name: str) -> Callable[..., Any]:
    """The program compiled by JAX on the processor; a call waits for its result."""
    jax = importlib.import_module("jax")
    jax.config.update("jax_platforms", "cpu")
    jax.config.update("jax_enable_x64", True)
    form = importlib.import_module("tests.jit_peers.jax_forms").FORMS.get(name)
    if form is None:
        names: dict[str, Any] = {"np": jax.numpy}
        exec(source_of(name), names)  # noqa: S102 - our own
        form = names[name]
    made = jax.jit(form, static_argnums=PROGRAMS[name].static)
    return lambda *args: made(*args).block_until_ready()


def temporary() -> tempfile.TemporaryDirectory[str]:
    """Where Pythran's modules go."""
    return tempfile.TemporaryDirectory(prefix="polyopt-pythran-")
