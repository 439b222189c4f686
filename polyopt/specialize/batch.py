"""``batched``: a function for one item, compiled as one kernel for a batch of them.

The batch is the outermost loop of the program, around the function in place of its call: threads
share it where items are apart, and what an item computes for itself stays in the loop.
"""

from __future__ import annotations

import functools
import inspect
import linecache
from itertools import chain, count
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from polyopt.errors import ArgumentError, InvalidOptionError, UnsupportedError
from polyopt.runtime.arrays import empty
from polyopt.specialize.function import JitFunction, jit

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from polyopt.explain.remarks.explanation import Explanation
    from polyopt.runtime.arrays import NumPyArray
    from polyopt.runtime.kernel import Kernel
    from polyopt.transform.plan import Plan

#: numbers the texts of loops over batches, which tracebacks and messages show
_NUMBERS = count()
#: calls whose results' shapes are remembered
_REMEMBERED = 256


class BatchedFunction:
    """A function that runs for each item of a batch: the first axis of its arrays."""

    def __init__(
        self, function: Callable[..., object], shared: Collection[str], options: Mapping[str, Any]
    ) -> None:
        functools.update_wrapper(self, function)
        self._item, self._options = function, dict(options)
        self._signature = inspect.signature(function)
        unknown = sorted({*shared} - self._signature.parameters.keys())
        if unknown:
            message = f"{function.__name__} has no argument {unknown[0]!r} that could be shared"
            hint = f"there are: {', '.join(self._signature.parameters)}"
            raise InvalidOptionError(message, hint=hint)
        self._shared = frozenset(shared)
        self._loops: dict[object, JitFunction[..., Any]] = {}
        self._results: dict[object, tuple[bool, tuple[tuple[tuple[int, ...], Any], ...]]] = {}
        self._latest: JitFunction[..., Any] | None = None

    def __call__(self, *args: object, **named: object) -> Any:  # noqa: ANN401
        """What the function gives for each item, as arrays with the batch as their first axis.

        Raises ``ArgumentError`` where there is no batch, or arrays differ in its length, and what
        a call of a function under ``jit`` raises.
        """
        bound = self._signature.bind(*args, **named)
        bound.apply_defaults()
        given = {name: _as_array(value) for name, value in bound.arguments.items()}
        items = [n for n, v in given.items() if n not in self._shared and _has_items(v)]
        length = self._length(given, items)
        is_tuple, results = self._result_of(given, items)
        outs = [empty((length, *shape), dtype) for shape, dtype in results]
        loop = self._loop(tuple(given), tuple(items), len(outs), is_tuple=is_tuple)
        self._latest = loop
        loop(*given.values(), *outs)
        if is_tuple:
            return tuple(outs)
        return outs[0] if outs else None

    @property
    def plan(self) -> Plan:
        """The plan of the latest signature. Raises ``InvalidOptionError`` where there is none."""
        return self._loop_of_latest.plan

    @property
    def kernel(self) -> Kernel:
        """The kernel of the latest signature. Raises ``InvalidOptionError`` where there is none."""
        return self._loop_of_latest.kernel

    @property
    def source(self) -> str:
        """The C of the latest signature. Raises ``InvalidOptionError`` where there is none."""
        return self._loop_of_latest.source

    def explain(self, subject: str | None = None) -> Explanation:
        """Why the latest signature's plan is as it is; see ``Plan.explain``."""
        return self._loop_of_latest.explain(subject)

    @property
    def _loop_of_latest(self) -> JitFunction[..., Any]:
        if self._latest is None:
            message = f"{self._item.__name__} has not been compiled for any batch yet"
            raise InvalidOptionError(message, hint="call it first")
        return self._latest

    def _length(self, given: Mapping[str, Any], items: Sequence[str]) -> int:
        name = self._item.__name__
        lengths = {n: given[n].shape[0] for n in items}
        if not items:
            message = f"{name} gets no array with a first axis that is a batch"
            raise ArgumentError(message, hint="arrays in shared= are the same for all items")
        if len({*lengths.values()}) > 1:
            told = ", ".join(f"{n}: {length}" for n, length in lengths.items())
            hint = "name the arrays that are the same for all items in shared="
            raise ArgumentError(f"batches of {name} differ in length: {told}", hint=hint)
        length = lengths[items[0]]
        if not length:
            raise ArgumentError(f"the batch of {name} has no items")
        return length

    def _result_of(
        self, given: Mapping[str, Any], items: Sequence[str]
    ) -> tuple[bool, tuple[tuple[tuple[int, ...], Any], ...]]:
        """Whether an item's results are a tuple, and the shape and type of each: those that Python
        gives for the first, of which it gets copies."""
        key = tuple(_kind(value, is_item=name in items) for name, value in given.items())
        if key in self._results:
            return self._results[key]
        first = {n: (v[0] if n in items else v).copy() for n, v in given.items() if _is_array(v)}
        found: object = self._item(**{**given, **first})
        values = cast("tuple[object, ...]", found) if isinstance(found, tuple) else (found,)
        shapes = tuple(self._described(v) for v in values) if found is not None else ()
        if len(self._results) >= _REMEMBERED:
            self._results.clear()
        self._results[key] = isinstance(found, tuple), shapes
        return self._results[key]

    def _described(self, value: object) -> tuple[tuple[int, ...], Any]:
        array = np.asarray(value)
        if array.dtype.kind not in "biufc":
            message = f"{self._item.__name__} returns {type(value).__name__}, of which"
            raise UnsupportedError(f"{message} a batch is no array", hint="return arrays, numbers")
        return array.shape, array.dtype

    def _loop(
        self, names: tuple[str, ...], items: tuple[str, ...], outs: int, *, is_tuple: bool
    ) -> JitFunction[..., Any]:
        """The loop over the items, as a function under ``jit``."""
        key = names, items, outs, is_tuple
        if key not in self._loops:
            self._loops[key] = self._made(names, items, outs, is_tuple=is_tuple)
        return self._loops[key]

    def _made(
        self, names: tuple[str, ...], items: tuple[str, ...], outs: int, *, is_tuple: bool
    ) -> JitFunction[..., Any]:
        name = self._item.__name__
        own = name if name.isidentifier() else "function"  # lambdas have none
        fresh = _fresh({*names, own})
        item = next(fresh)
        results = [next(fresh) for _ in range(outs)]
        passed = ", ".join(f"{n}[{item}]" if n in items else n for n in names)
        targets = ", ".join(f"{r}[{item}]" for r in results) + "," * (is_tuple and outs == 1)
        text = (
            f"def {own}_batched({', '.join([*names, *results])}):\n"
            f"    for {item} in range({items[0]}.shape[0]):\n"
            f"        {targets}{' = ' * bool(results)}{own}({passed})\n"
        )
        file = f"<polyopt batch {next(_NUMBERS)}>"
        linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
        space: dict[str, Any] = {own: self._item}
        exec(compile(text, file, "exec"), space)  # noqa: S102 - made of identifiers alone
        return jit(**self._options)(space[f"{own}_batched"])


def _as_array(value: object) -> object:
    """What offers its memory as an array, by an interface or as DLPack."""
    if isinstance(value, (float, int)):
        return value
    if hasattr(value, "__array_interface__"):
        array = np.asarray(value)
        return array if array.ndim else value
    return np.from_dlpack(cast("Any", value)) if hasattr(value, "__dlpack__") else value


def _kind(value: object, *, is_item: bool) -> tuple[object, ...]:
    """What shapes and types of results depend on."""
    if isinstance(value, np.ndarray):
        array = cast("NumPyArray", value)
        return array.shape, array.dtype, is_item
    return type(value), value


def _is_array(value: object) -> bool:
    return isinstance(value, np.ndarray)


def _has_items(value: object) -> bool:
    return isinstance(value, np.ndarray) and cast("NumPyArray", value).ndim > 0


def _fresh(taken: Collection[str]) -> Iterator[str]:
    """``item``, ``out``, and so on, numbered where an argument has the name."""
    for name in chain(("item",), (f"out_{k}" for k in count())):
        found = name
        while found in taken:
            found += "_"
        yield found


def batched(
    function: Callable[..., Any] | None = None,
    /,
    *,
    shared: Collection[str] = (),
    fallback: bool = True,
    target: str = "native",
    reassociate: bool = False,
    threads: int | None = None,
) -> Any:  # noqa: ANN401
    """A function for one item as one for a batch of items; also a decorator.

    Each array has the batch as its first axis, ``(batch, ...)``, of one length for all; numbers,
    and arguments named in ``shared``, are the same for all items. Results get the batch as their
    first axis. Items are computed by one kernel, whose outermost loop is the batch; the function
    may be one under ``jit``. Shapes and types of results are those that Python gives for the first
    item: it runs the function once for new shapes, on copies.

    Options are those of ``jit``. Raises ``InvalidOptionError`` for what is no function, and for
    names in ``shared`` that are no arguments.
    """
    options = {
        "fallback": fallback, "target": target, "reassociate": reassociate, "threads": threads,
    }  # fmt: skip

    def made(function: Callable[..., Any]) -> BatchedFunction:
        plain = function.__wrapped__ if isinstance(function, JitFunction) else function
        if not inspect.isfunction(plain):
            message = f"{function!r} is no function of which there could be a batch"
            hint = "give a function of arrays, or one under po.jit; of a kernel, its function"
            raise InvalidOptionError(message, hint=hint)
        return BatchedFunction(plain, shared, options)

    return made if function is None else made(function)
