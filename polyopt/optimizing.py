"""``optimize``: the fast form of a program, wherever it is written."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from polyopt.errors import InvalidOptionError
from polyopt.ir.scop import Scop
from polyopt.library import load_scop, plain_function
from polyopt.scheduler import auto
from polyopt.specialize import jit

if TYPE_CHECKING:
    from collections.abc import Callable

    from polyopt.runtime.kernel import Kernel
    from polyopt.specialize import JitFunction


def optimize(
    program: str | Path | Scop | Callable[..., Any], *, target: str = "native"
) -> Kernel | JitFunction[..., Any]:
    """The fast form of a program, to be called: a kernel, or a function that compiles when called.

    ``program`` is a NumPy function (then this is ``po.jit``), a ``Scop``, the path of a C file,
    ``file.py:function`` with a NumPy function or a program, or the name of a kernel that comes with
    polyopt. Programs are planned as by ``po.auto``, for any sizes; a function that is not taken
    raises when it is called.

    Raises ``UnknownNameError`` where there is no such file or name, ``InvalidOptionError`` for what
    is none of these, and what reading and compiling raise.

    >>> blur = optimize("kernels/blur.c")
    >>> blur.positional
    ('img',)
    """
    if isinstance(program, Scop):
        return auto(program, target=target).compile(target=target)
    if isinstance(program, (str, Path)):
        function = plain_function(str(program))
        if function is not None:
            return jit(fallback=False, target=target)(function)
        scop = load_scop(str(program))
        return auto(scop, target=target).compile(target=target)
    if not inspect.isfunction(cast("object", program)):
        message = f"{type(program).__name__} is no program"
        hint = "give a function, a Scop, a path of a C file, or file.py:function"
        raise InvalidOptionError(message, hint=hint)
    return jit(fallback=False, target=target)(program)
