"""Stubs: the signatures of calls for type checkers and editors, as a ``.pyi`` file."""

from __future__ import annotations

from dataclasses import dataclass
from keyword import iskeyword
from typing import TYPE_CHECKING

from polyopt.escaping import printable
from polyopt.runtime.packaging.module import docstring_text, python_signature

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from polyopt.ir.types import ScalarType
    from polyopt.runtime.kernel import Kernel
    from polyopt.runtime.packaging.interface import Interface, Parameter

_HEAD = "import numpy as np\nfrom numpy.typing import NDArray\n"


@dataclass(frozen=True)
class _Call:
    """The parameters of a call, by position and by keyword, with their types; and its results."""

    front: Sequence[tuple[str, str]]
    keywords: Sequence[tuple[str, str]]
    results: Sequence[str]

    def text(self, name: str, doc: str, indent: str = "", own: str = "") -> str:
        """``def name(...) -> ...`` with a docstring."""
        parts = [own] * bool(own) + [f"{n}: {kind}" for n, kind in self.front]
        parts += ["*", *(f"{n}: {kind} | None = ..." for n, kind in self.keywords)]
        inner = ",\n".join(f"{indent}    {part}" for part in parts)
        head = f"{indent}def {name}(\n{inner},\n{indent}) -> {_results(self.results)}:"
        return f'{head}\n{indent}    """{doc}"""\n'


def kernel_stub(kernel: Kernel) -> str:
    """A function with the signature of a kernel's calls, as the text of a ``.pyi`` file."""
    by_name = {a.name: a for a in kernel.arguments}
    front = [
        (_identifier(name, f"argument_{number}"), _type(by_name[name].kind, by_name[name].type))
        for number, name in enumerate(kernel.positional)
    ]
    outs = [a.type for a in kernel.arguments if a.kind == "array" and a.role == "out"]
    rest = [
        (a.name, _type(a.kind, a.type)) for a in kernel.arguments
        if a.name not in kernel.positional and _is_name(a.name) and a.name not in _OWN
    ]  # fmt: skip
    written = [a.type for a in kernel.arguments if a.kind == "array" and a.role != "in"]
    call = _call(front, rest, outs, written)
    doc = f"The kernel {printable(kernel.name)}, compiled by polyopt."
    return f"{_HEAD}\n{call.text(_identifier(kernel.name, 'kernel'), doc)}"


#: what calls take beside the program's own
_OWN = ("out", "threads")


def module_stub(interface: Interface) -> str:
    """``__init__.pyi`` of a wheel."""
    names, front, optional = python_signature(interface)
    outs = [a.type for a in interface.arrays if a.role == "out"]
    call = _call(
        _typed(front, names), _typed(optional, names), outs,
        [a.type for a in interface.arrays if a.role != "in"],
    )  # fmt: skip
    doc = docstring_text(interface.title)
    text = f"__version__: str\n\n{call.text('run', doc)}"
    if not interface.has_weights:
        return f"{_HEAD}\n{text}"
    own = call.text("__call__", doc, "    ", "self")
    return f"import os\nfrom types import TracebackType\n\n{_HEAD}\n{text}\n{_MODEL}{own}"


_MODEL = '''class Model:
    """The network: weights, mapped from a file, and memory for one call at a time."""

    def __init__(self, weights: str | os.PathLike[str] | None = ...) -> None: ...
    def share(self) -> Model: ...
    def verify(self) -> None: ...
    def close(self) -> None: ...
    def __enter__(self) -> Model: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...
'''


def _call(
    front: Sequence[tuple[str, str]],
    rest: Sequence[tuple[str, str]],
    outs: Sequence[ScalarType],
    written: Sequence[ScalarType],
) -> _Call:
    given = [_type("array", kind) for kind in outs]
    out = given[0] if len(given) == 1 else f"tuple[{', '.join(f'{k} | None' for k in given)}]"
    own = [("out", out)] * bool(given) + [("threads", "int")]
    return _Call(front, [*rest, *own], [_type("array", kind) for kind in written])


def _typed(parameters: Iterable[Parameter], names: dict[Parameter, str]) -> list[tuple[str, str]]:
    return [(names[p], _type(p.kind, p.type)) for p in parameters]


def _type(kind: str, scalar: ScalarType) -> str:
    if kind == "size":
        return "int"
    if kind == "scalar":
        return {"b": "bool", "f": "float"}.get(scalar.kind[0], "int")
    if scalar.kind == "bool":
        return "NDArray[np.bool_]"
    name = "uint16" if scalar.numpy_name == "bfloat16" else scalar.numpy_name  # NumPy has no such
    return f"NDArray[np.{name}]"


def _results(results: Sequence[str]) -> str:
    if len(results) == 1:
        return results[0]
    return f"tuple[{', '.join(results)}]" if results else "tuple[()]"


def _identifier(name: str, otherwise: str) -> str:
    return name if _is_name(name) else otherwise


def _is_name(name: str) -> bool:
    return name.isidentifier() and not iskeyword(name)
