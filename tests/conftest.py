"""Shared fixtures: small programs written by hand, below any frontend."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from polyopt.graph.operators import _OPERATORS
from polyopt.ir import build
from polyopt.ir.expr import Expr, Inside, index_of, inside
from polyopt.ir.scop import Array, Loop, Scop, Statement
from polyopt.ir.types import F32, ScalarType
from polyopt.isl import PwAff, Set, parse_map, parse_set
from polyopt.scheduler import plan_cache
from polyopt.source import Source, Span
from polyopt.transform.schedule.registry import TRANSFORMATIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Generator


class Program:
    """Collects arrays and statements given as short isl texts, and makes a Scop of them."""

    def __init__(self, *params: str, name: str = "test", source: str = "") -> None:
        self.name, self.params = name, params
        self.head = f"[{', '.join(params)}] -> "
        self.arrays: list[Array] = []
        self.statements: list[Statement] = []
        self.source = Source(f"{name}.c", source) if source else None

    def array(
        self,
        name: str,
        *extents: str | int,
        role: str = "in",
        type: ScalarType = F32,  # noqa: A002
        lower: tuple[str, ...] = (),
    ) -> None:
        self.arrays.append(
            Array(
                name,
                type,
                tuple(self._on_params(e) for e in extents),
                role,
                tuple(self._on_params(low) for low in lower),
                span=self.span(name),
            )
        )

    def _on_params(self, text: str | int) -> PwAff:
        return (
            parse_map(f"{self.head}{{ [] -> [({text})] }}")
            .as_pw_multi_aff()
            .get_at(0)
            .project_domain_on_params()
        )

    def span(self, text: str) -> Span | None:
        """Where ``text`` first stands in the source."""
        if self.source is None or text not in self.source.text:
            return None
        before = self.source.text[: self.source.text.index(text)]
        column = len(before) - (before.rfind("\n") + 1) + 1
        return Span(self.source, before.count("\n") + 1, column, len(text))

    def statement(
        self,
        name: str,
        iterators: str,
        where: str,
        target: str,
        value: Callable[[Body], Expr],
        text: str = "",
    ) -> None:
        """``target`` is ``"a: i + 1, j"``: the array and its subscripts."""
        names = tuple(i.strip() for i in iterators.split(",") if i.strip())
        body = Body(self, f"{name}[{', '.join(names)}]")
        domain = parse_set(f"{self.head}{{ {body.tuple} : {where or 'true'} }}")
        array, index = _target(target)
        self.statements.append(
            Statement(
                name,
                names,
                domain,
                array,
                tuple(index_of(body.form(i)) for i in index),
                value(body),
                self.span(text) if text else None,
            )
        )

    def scop(self, *nest: Loop | str, context: str = "true") -> Scop:
        sizes = parse_set(f"{self.head}{{ : {context} }}") if self.params else parse_set("{ : }")
        return Scop(
            self.name,
            self.params,
            sizes,
            tuple(self.arrays),
            tuple(self.statements),
            nest,
            self.source,
            (*self.params, *(a.name for a in self.arrays if a.role != "temp")),
        )


class Body:
    """Expressions over one statement's iterators, from texts."""

    def __init__(self, program: Program, tuple_: str) -> None:
        self.program, self.tuple = program, tuple_

    def form(self, text: str) -> PwAff:
        found = parse_map(f"{self.program.head}{{ {self.tuple} -> [({text})] }}")
        return found.as_pw_multi_aff().get_at(0)

    def set(self, text: str) -> Set:
        return parse_set(f"{self.program.head}{{ {self.tuple} : {text} }}")

    def inside(self, text: str) -> Inside:
        return inside(self.set(text))

    def load(self, target: str, text: str = "") -> Expr:
        """A load of ``"a: i + 1, j"``; ``text`` is where it stands in the source."""
        name, index = _target(target)
        return self.load_at(name, *(index_of(self.form(i)) for i in index), text=text)

    def load_at(self, name: str, *index: Expr, text: str = "") -> Expr:
        array = next(a for a in self.program.arrays if a.name == name)
        loaded = build.load(array.type, name, index)
        span = self.program.span(text) if text else None
        return type(loaded)(loaded.type, loaded.array, loaded.index, span)

    def sum(self, *terms: Expr | str) -> Expr:
        """Terms (or loads given as text), added from the left."""
        made = [self.load(t) if isinstance(t, str) else t for t in terms]
        total = made[0]
        for term in made[1:]:
            total = build.binary("add", total, term)
        return total


def _target(text: str) -> tuple[str, list[str]]:
    array, _, index = text.partition(":")
    return array.strip(), [part.strip() for part in index.split(",") if part.strip()]


@pytest.fixture
def program() -> type[Program]:
    """The builder class itself."""
    return Program


@pytest.fixture
def blur() -> Scop:
    """Two stages: a row of three, then a column of three."""
    p = Program("H", "W", name="blur")
    p.array("img", "H", "W")
    p.array("bx", "H", "W - 2", role="temp")
    p.array("out", "H - 2", "W - 2", role="out")
    p.statement(
        "bx", "i, j", "0 <= i < H and 0 <= j < W - 2", "bx: i, j",
        lambda b: b.sum("img: i, j", "img: i, j + 1", "img: i, j + 2"),
    )  # fmt: skip
    p.statement(
        "out", "i, j", "0 <= i < H - 2 and 0 <= j < W - 2", "out: i, j",
        lambda b: b.sum("bx: i, j", "bx: i + 1, j", "bx: i + 2, j"),
    )  # fmt: skip
    return p.scop(
        Loop("i", (Loop("j", ("bx",)),)), Loop("i", (Loop("j", ("out",)),)),
        context="H >= 3 and W >= 3",
    )  # fmt: skip


@pytest.fixture
def conv() -> Scop:
    """Initialise, then reduce over a three by three window."""
    p = Program("H", "W", name="conv")
    p.array("a", "H", "W")
    p.array("k", 3, 3)
    p.array("c", "H - 2", "W - 2", role="out")
    box = "0 <= h < H - 2 and 0 <= w < W - 2"
    p.statement("c_0", "h, w", box, "c: h, w", lambda b: build.const(F32, 0.0))
    p.statement(
        "c_1", "h, w, p, q", f"{box} and 0 <= p < 3 and 0 <= q < 3", "c: h, w",
        lambda b: build.binary(
            "add", b.load("c: h, w"),
            build.binary("mul", b.load("a: h + p, w + q"), b.load("k: p, q")),
        ),
    )  # fmt: skip
    inner = Loop("p", (Loop("q", ("c_1",)),))
    nest = Loop("h", (Loop("w", ("c_0", inner)),))
    return p.scop(nest, context="H >= 3 and W >= 3")


@pytest.fixture
def jacobi() -> Scop:
    """A one-dimensional time loop over two buffers in turn."""
    p = Program("T", "N", name="jacobi")
    p.array("a", "N", role="inout")
    p.array("b", "N", role="inout")
    where = "0 <= t < T and 1 <= i < N - 1"
    p.statement("b", "t, i", where, "b: i", lambda b: b.sum("a: i - 1", "a: i", "a: i + 1"))
    p.statement("a", "t, i", where, "a: i", lambda b: b.sum("b: i - 1", "b: i", "b: i + 1"))
    nest = Loop("t", (Loop("i", ("b",)), Loop("i", ("a",))))
    return p.scop(nest, context="T >= 1 and N >= 3")


@pytest.fixture
def triangular() -> Scop:
    """A forward substitution: the inner loop's bound is the outer iterator."""
    p = Program("N", name="solve")
    p.array("l", "N", "N")
    p.array("x", "N", role="inout")
    p.statement(
        "x", "i, j", "0 <= j < i < N", "x: i",
        lambda b: build.binary(
            "sub", b.load("x: i"), build.binary("mul", b.load("l: i, j"), b.load("x: j"))
        ),
    )  # fmt: skip
    return p.scop(Loop("i", (Loop("j", ("x",)),)), context="N >= 1")


@pytest.fixture(autouse=True)
def _registries_are_restored() -> Generator[None]:
    """What a test (or a page that it runs) registers or replaces is as before afterwards.

    Operators of polyopt are registered when first asked for: they stay.
    """
    moves, operators = dict(TRANSFORMATIONS), dict(_OPERATORS)
    yield
    TRANSFORMATIONS.clear()
    TRANSFORMATIONS.update(moves)
    for name in [name for name, entry in _OPERATORS.items() if not entry.is_shipped]:
        del _OPERATORS[name]
    _OPERATORS.update(operators)


@pytest.fixture
def kept_plans(monkeypatch: pytest.MonkeyPatch) -> Generator[None]:
    """Plans are kept on disk, whenever files of the engine were written."""
    monkeypatch.setenv("POLYOPT_PLAN_CACHE", "1")
    monkeypatch.setattr(plan_cache, "_STARTED", float("inf"))
    plan_cache.fingerprint.cache_clear()
    yield
    plan_cache.fingerprint.cache_clear()
