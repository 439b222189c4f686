"""``jit``: a NumPy function that is compiled when it is called."""

from __future__ import annotations

import functools
import inspect
import textwrap
import threading
import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar, cast, overload

from polyopt.errors import (
    ArgumentError,
    InvalidOptionError,
    PolyoptError,
    UnsupportedError,
    WrongCodeError,
    unexpected,
)
from polyopt.frontend.arrays import InPlace
from polyopt.isl import exclusive, value_text
from polyopt.specialize.arguments import Call, described
from polyopt.specialize.program import Options, Program, specialised
from polyopt.specialize.quick import QuickCall, quick_key

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from polyopt.explain.remarks.explanation import Explanation
    from polyopt.frontend.arrays import ArrayArgument
    from polyopt.ir.scop import Scop
    from polyopt.runtime.kernel import Kernel
    from polyopt.transform.plan import Plan

_P = ParamSpec("_P")
_R = TypeVar("_R")

#: programs of one function at most: a function that needs more is run as it is
MOST_PROGRAMS = 32
#: characters of an expression that are shown
_SHOWN = 60
#: calls whose program is remembered by their sizes
_REMEMBERED = 256


class FallbackWarning(UserWarning):
    """A function, or a call of it, is run by Python: the message says why, and where."""


@dataclass(frozen=True, eq=False)
class Signature:
    """The arguments that a program was made for, and the program."""

    text: str
    plan: Plan
    kernel: Kernel
    #: what is done besides: a line for each array that is copied
    remarks: tuple[str, ...] = ()

    def __str__(self) -> str:
        """``u: f64[u_0, u_1], c: float``, sizes by the names that they have in the program."""
        return self.text


class JitFunction(InPlace, Generic[_P, _R]):
    """A function that is compiled for the types, ranks and layouts of its arguments.

    It is called as the function is, and gives what that gives.
    """

    def __init__(self, function: Callable[_P, _R], options: Options, *, fallback: bool) -> None:
        functools.update_wrapper(self, function)
        self.__wrapped__ = self._function = function
        self.__name__ = getattr(function, "__name__", "function")
        self._options = options
        self._fallback = fallback
        self._signature = inspect.signature(function)
        self._programs: list[tuple[Call, Program]] = []
        self._chosen: dict[object, Program | PolyoptError] = {}
        self._quick: dict[object, QuickCall] = {}
        self._said: set[str] = set()
        self._lock = threading.RLock()

    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        """Run compiled code; or the function itself, with a warning that says why.

        Raises, where the function was made with ``fallback=False``, the ``UserError`` that says
        what is not taken, and where; ``WrongCodeError`` where the check of the C, which goes on
        beside the first calls, has refused it.
        """
        key = None if kwargs else quick_key(args)
        known = self._quick.get(key)
        try:
            if known is not None and known.program.is_current:
                return cast("_R", known.run(args, self._options.threads))
            objects = self._objects(args, kwargs)
            call, program = self._program(objects)
            result = program.run(call, self._options.threads)
            self._recall(key, QuickCall.of(call, program, args))
            return cast("_R", result)
        except WrongCodeError:  # what was returned so far is not mended by Python
            raise
        except PolyoptError as error:
            if not self._fallback:
                raise
            self._warn(error)
        return self._function(*args, **kwargs)

    @property
    def falls_back(self) -> bool:
        """Whether Python runs what is not taken."""
        return self._fallback

    def compile(self, *args: _P.args, **kwargs: _P.kwargs) -> Signature:
        """Compile for arguments like these, without running. Raises a ``UserError``."""
        call, program = self._program(self._objects(args, kwargs))
        return _signature(call, program)

    @property
    def signatures(self) -> tuple[Signature, ...]:
        """What it was compiled for, in the order of the calls."""
        return tuple(_signature(call, program) for call, program in self._programs)

    @property
    def plan(self) -> Plan:
        """The plan of the latest signature. Raises ``InvalidOptionError`` where there is none."""
        return self._latest.plan

    @property
    def kernel(self) -> Kernel:
        """The kernel of the latest signature. Raises ``InvalidOptionError`` where there is none."""
        return self._latest.kernel

    @property
    def source(self) -> str:
        """The C of the latest signature. Raises ``InvalidOptionError`` where there is none."""
        return self._latest.kernel.source

    def explain(self, subject: str | None = None) -> Explanation:
        """Why the latest signature's plan is as it is, for the sizes of the call that it was made
        for, with where expressions stand whose arrays have no name; see ``Plan.explain``."""
        latest = self._latest
        found = latest.plan.explain(subject, sizes=latest.sizes)
        shown = {name for row in found for name in (*_words(row.subject), *_words(row.consumer))}
        places = _expressions(latest.plan.scop, self._function)
        return replace(found, expressions={n: text for n, text in places.items() if n in shown})

    @property
    def _latest(self) -> Program:
        if not self._programs:
            message = f"{self.__name__} has not been compiled for any arguments yet"
            raise InvalidOptionError(message, hint="call it, or its method compile, first")
        return self._programs[-1][1]

    def _objects(self, args: tuple[object, ...], named: Mapping[str, object]) -> dict[str, object]:
        """The arguments by name, with defaults. Raises ``TypeError`` as the call itself would."""
        bound = self._signature.bind(*args, **named)
        bound.apply_defaults()
        for parameter in self._signature.parameters.values():
            if parameter.kind in {parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD}:
                raise UnsupportedError(f"{self.__name__} takes any number of arguments")
        return bound.arguments

    def _program(self, objects: Mapping[str, object]) -> tuple[Call, Program]:
        call = described(objects)
        key = (call.given, tuple(call.sizes.items()))
        found = self._chosen.get(key)
        if isinstance(found, PolyoptError):
            raise found
        if found is not None and found.is_current:
            return call, found
        with self._lock:
            return self._choose(call, key, objects)

    def _choose(
        self, call: Call, key: object, objects: Mapping[str, object]
    ) -> tuple[Call, Program]:
        """A program that admits the call, an old one or a new one."""
        self._programs = [item for item in self._programs if item[1].is_current]
        for made, program in self._programs:
            if made.given == call.given and program.admits(call.sizes):
                self._remember(key, program)
                return call, program
        constant = described(objects, constant_sizes=True)
        for made, program in self._programs:
            if made.given == constant.given and program.admits(constant.sizes):
                return constant, program
        try:
            return self._compiled(objects, key)
        except PolyoptError as error:
            self._remember(key, error)
            raise

    def _compiled(self, objects: Mapping[str, object], key: object) -> tuple[Call, Program]:
        if len(self._programs) >= MOST_PROGRAMS:
            raise UnsupportedError(
                f"{self.__name__} was compiled for {MOST_PROGRAMS} signatures already",
                hint="pass what changes in every call as an array or a float",
            )
        try:
            made, program = specialised(self.__wrapped__, objects, self._options)
        except (PolyoptError, MemoryError):
            raise
        except Exception as error:  # a defect of ours: Python runs the function
            raise unexpected(error) from error
        self._programs.append((made, program))
        if made.given == described(objects).given:
            self._remember(key, program)
        return made, program

    def _remember(self, key: object, found: Program | PolyoptError) -> None:
        if len(self._chosen) >= _REMEMBERED:
            self._chosen.clear()
        self._chosen[key] = found

    def _recall(self, key: object, found: QuickCall | None) -> None:
        if key is None or found is None:
            return
        if len(self._quick) >= _REMEMBERED:
            self._quick.clear()
        self._quick[key] = found

    def _warn(self, error: PolyoptError) -> None:
        text = str(error)
        if text in self._said:
            return
        self._said.add(text)
        kind = "this call" if isinstance(error, ArgumentError) else "it"
        message = f"{self.__name__}: Python runs {kind}, for a reason\n{text}"
        warnings.warn(message, FallbackWarning, stacklevel=3)


@exclusive()
def _signature(call: Call, program: Program) -> Signature:
    given, scop = call.given, program.plan.scop
    owners = {o.name: ", ".join(map(value_text, scop.array(o.name).extents)) for o in given.owners}
    types = {o.name: f"{o.type}[{owners[o.name]}]" for o in given.owners}
    texts = {a.name: _lies(a, types[a.owner]) for a in given.arrays}
    texts |= {name: "float" if weak else str(kind) for name, kind, weak in given.scalars}
    texts |= dict.fromkeys(given.sizes, "int")
    texts |= {name: repr(known.value) for name, known in given.constants}
    text = ", ".join(f"{name}: {texts[name]}" for name in given.names)
    remarks = tuple(
        f"{name} is copied before the call, and back where it is written: its strides,"
        f" {call.copied[name].strides}, are not those of a part of an array in C order"
        for name in given.copied
    )
    return Signature(text, program.plan, program.kernel, remarks)


def _words(text: str) -> tuple[str, ...]:
    """The arrays that a remark's subject names: of ``t.i0`` it is ``t``."""
    return tuple(word.split(".")[0] for word in text.replace(",", " ").split())


def _expressions(scop: Scop, function: Callable[..., object]) -> dict[str, str]:
    """Arrays that are no names of a function: the line of their expression, and its text."""
    code = getattr(function, "__code__", None)
    known = code.co_varnames if code is not None else ()
    found: dict[str, str] = {}
    for statement in scop.statements:
        span = statement.span
        if statement.array in {*known, *found} or span is None:
            continue
        line = span.source.line(span.line)[span.column - 1 :]
        text = textwrap.shorten(line[: span.length], _SHOWN, placeholder=" ...")
        found[statement.array] = f"line {span.line}, {text}"
    return found


def _lies(argument: ArrayArgument, owner: str) -> str:
    """How an array lies in its owner: ``view of f64[a_0, a_1], axis 1 by -1``."""
    pairs = f"c{2 * int(owner[1:3])}" if argument.is_complex else ""
    if not argument.is_part and all(axis == k for k, (axis, _) in enumerate(argument.axes)):
        return f"{pairs}{owner[3:].removesuffix(', 2]')}]" if pairs else owner
    pairs = f"{pairs}, " if pairs else ""
    steps = (f"axis {axis} by {step}" if step else "repeated" for axis, step in argument.axes)
    return f"{pairs}view of {argument.owner} {owner} ({', '.join(steps)})"


@overload
def jit(function: Callable[_P, _R], /) -> JitFunction[_P, _R]: ...


@overload
def jit(
    *, fallback: bool = ..., target: str = ..., reassociate: bool = ..., threads: int | None = ...
) -> Callable[[Callable[_P, _R]], JitFunction[_P, _R]]: ...


def jit(
    function: Callable[..., Any] | None = None,
    /,
    *,
    fallback: bool = True,
    target: str = "native",
    reassociate: bool = False,
    threads: int | None = None,
) -> Any:
    """Compile a NumPy function when it is called; also a decorator, with and without options.

    Types, shapes and strides are those of the arguments; sizes stay open, so that arrays of
    another size need no other program. What is computed is what NumPy computes, except that NumPy's
    own sums may be added up in another order, and sums in loops of the function too with
    ``reassociate``.

    Where something is not taken, Python runs the function, and a ``FallbackWarning`` says once what
    and where; with ``fallback=False`` a call raises that error. ``threads`` are those of each call
    (``None``: all cores). Raises ``InvalidOptionError`` for what is no function.
    """
    options = Options(target, reassociate, threads)

    def made(function: Callable[..., Any]) -> JitFunction[..., Any]:
        if not callable(function):
            raise InvalidOptionError(f"{function!r} is no function")
        return JitFunction(function, options, fallback=fallback)

    return made if function is None else made(function)
