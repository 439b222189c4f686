"""Recurrent networks: each step's states from the step before.

What depends on a step's input alone is given for all steps at once, by a matrix product: ``x
[step][image][gate * hidden]``. Results are the hidden states of all steps, then one row of the
last state of each kind: ``[step + kinds][image][hidden]``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from polyopt.errors import GraphError
from polyopt.frontend import stages as po
from polyopt.graph.operators import Result, need_float, need_rank, operator

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from polyopt.frontend.stages import Term
    from polyopt.graph.ir.graph import Value
    from polyopt.graph.operators import Maker, Recurrence, Tensor


def _affine(x: Term, a: float, b: float) -> Term:
    return a * x + b


def _scaled_tanh(x: Term, a: float, b: float) -> Term:
    return a * po.tanh(b * x)


#: name -> function of a number and its alpha and beta, and the usual ones; none are not taken
ACTIVATIONS: dict[str, tuple[Callable[[Term, float, float], Term], float | None, float | None]] = {
    "sigmoid": (lambda x, _a, _b: 1.0 / (1.0 + po.exp(-x)), None, None),
    "tanh": (lambda x, _a, _b: po.tanh(x), None, None),
    "relu": (lambda x, _a, _b: po.max(0.0, x), None, None),
    "affine": (_affine, 1.0, 0.0),
    "leakyrelu": (lambda x, a, _b: po.select(x < 0.0, a * x, x), 0.01, None),
    "thresholdedrelu": (lambda x, a, _b: po.select(x > a, x, 0.0), 1.0, None),
    "scaledtanh": (_scaled_tanh, 1.0, 1.0),
    "hardsigmoid": (lambda x, a, b: po.min(1.0, po.max(0.0, a * x + b)), 0.2, 0.5),
    "elu": (lambda x, a, _b: po.select(x < 0.0, a * (po.exp(x) - 1.0), x), 1.0, None),
    "softsign": (lambda x, _a, _b: x / (1.0 + abs(x)), None, None),
    "softplus": (lambda x, _a, _b: po.max(x, 0.0) + po.log(1.0 + po.exp(-abs(x))), None, None),
}
#: the usual activations of cells
_RNN, _GRU, _LSTM = "tanh", "sigmoid tanh", "sigmoid tanh tanh"


@dataclass(frozen=True)
class _Activations:
    """The activations of a cell, each with an alpha and a beta, and what is cut off before."""

    names: tuple[str, ...]
    alpha: Sequence[float]
    beta: Sequence[float]
    clip: float

    def __call__(self, number: int, x: Term) -> Term:
        """Activation ``number`` of a value."""
        function, _, _ = ACTIVATIONS[self.names[number]]
        if self.clip:
            x = po.min(self.clip, po.max(-self.clip, x))
        return function(x, self.alpha[number], self.beta[number])


def _need_activations(
    usual: str,
    *,
    activations: str = "",
    alpha: Sequence[float] = (),
    beta: Sequence[float] = (),
    clip: float = 0.0,
    reverse: int = 0,
) -> None:
    """Raises ``GraphError`` for what are not as many activations as usual, all of them known."""
    _ = reverse
    given, count = (activations or usual).split(), len(usual.split())
    unknown = next((name for name in given if name not in ACTIVATIONS), None)
    if unknown is not None:
        listed = ", ".join(ACTIVATIONS)
        raise GraphError(f"there is no activation {unknown!r}; there are: {listed}")
    fits = len(given) == count and all(len(each or given) == count for each in (alpha, beta))
    if not fits:
        raise GraphError(f"{count} activation(s), each with alpha and beta, are needed")
    if clip < 0:
        raise GraphError(f"values are clipped at a bound above 0, not at {clip}")


def _cell_rule(
    x: Value, r: Value, states: Sequence[Value | None], lens: Value | None, gates: int
) -> Result:
    need_float(x, r, *states)
    need_rank(x, 3, 3)
    need_rank(r, 2, 2)
    hidden = r.shape[0]
    if r.shape != (hidden, gates * hidden) or x.shape[2] != gates * hidden:
        raise GraphError(
            f"{list(x.shape)} and {list(r.shape)} are not {gates} gate(s) of {hidden} unit(s)"
        )
    for state in states:
        if state is not None and state.shape != (x.shape[1], hidden):
            raise GraphError(
                f"{state.name} has the shape {list(state.shape)}, not {[x.shape[1], hidden]}"
            )
    if lens is not None and (lens.shape != (x.shape[1],) or not lens.dtype.is_integer):
        raise GraphError(f"lengths are {x.shape[1]} integer(s), not {lens}")
    return Result((x.shape[0] + len(states), x.shape[1], hidden), x.dtype)


@dataclass(frozen=True, eq=False)
class _Cell:
    """What the cells share: which row of the input a step reads, and how results are laid out."""

    make: Maker
    x: Tensor
    r: Tensor
    lens: Tensor | None
    reverse: int
    run: Recurrence

    @property
    def count(self) -> int:
        """Steps."""
        return self.x.shape[0]

    @property
    def hidden(self) -> int:
        """Units."""
        return self.r.shape[0]

    def length(self, n: Term) -> Term:
        """How many steps an image has, from none to all."""
        assert self.lens is not None
        return po.clamp(po.cast("i64", self.lens[n]), 0, self.count)

    def row(self, t: Term, n: Term) -> Term:
        """The row of the input that step ``t`` reads."""
        if not self.reverse:
            return t
        if self.lens is None:
            return self.count - 1 - t
        return po.clamp(self.length(n) - 1 - t, 0, self.count - 1)

    def given(self, t: Term, n: Term, gate: int, j: Term) -> Term:
        """What a step's input adds to a gate."""
        return self.x[self.row(t, n), n, j + gate * self.hidden]

    def sums(self, state: Callable[..., Term], gates: Sequence[int], part: str) -> Tensor:
        """Products of a state with the recurrent weights of some gates that follow one another."""
        shape = (len(gates), self.x.shape[1], self.hidden)

        def summed(t: Term, g: Term, n: Term, j: Term) -> Term:
            def product(k: Term) -> Term:
                return state(t, n, k) * self.r[k, (g + gates[0]) * self.hidden + j]

            return po.sum(product, over={"k": self.hidden})

        return self.run.stage(shape, summed, part)

    def state(self, first: Tensor | None, part: str) -> Tensor:
        """A state: zeros before the first step, unless it is given."""
        shape = self.x.shape[1], self.hidden
        return self.run.state(shape, lambda *i: 0.0 if first is None else first[i], part)

    def next(self, state: Tensor, function: Callable[[Term, Term, Term], Term]) -> None:
        """A state's next row; images whose steps are over keep theirs."""

        def value(t: Term, n: Term, j: Term) -> Term:
            made = function(t, n, j)
            return made if self.lens is None else po.select(
                t < self.length(n), made, state[t, n, j]
            )  # fmt: skip

        self.run.next(state, value)

    def result(self, *states: Tensor) -> Tensor:
        """Hidden states of all steps in the input's order, then the last row of each state."""
        count, hidden = self.count, states[0]

        def element(i: Term, n: Term, j: Term) -> Term:
            value = hidden[self._row_after(i, n), n, j]
            if self.lens is not None:
                value = po.select(i < self.length(n), value, 0.0)
            for number, state in enumerate(states):
                value = po.select(i == count + number, state[count, n, j], value)
            return value

        shape = (count + len(states), *states[0].shape[1:])
        return self.make.stage(shape, element)

    def _row_after(self, i: Term, n: Term) -> Term:
        """The row of a state that the step of input row ``i`` has left."""
        if not self.reverse:
            return po.min(i + 1, self.count)
        if self.lens is None:
            return po.max(self.count - i, 0)
        return po.clamp(self.length(n) - i, 0, self.count)


def _rnn_rule(
    x: Value,
    r: Value,
    h: Value | None = None,
    lens: Value | None = None,
    **options: Any,  # noqa: ANN401
) -> Result:
    _need_activations(_RNN, **options)
    return _cell_rule(x, r, (h,), lens, 1)


@operator("rnn", result=_rnn_rule)
def rnn(  # noqa: PLR0913  (an argument per attribute)
    make: Maker,
    x: Tensor,
    r: Tensor,
    h: Tensor | None = None,
    lens: Tensor | None = None,
    *,
    activations: str = _RNN,
    alpha: Sequence[float] = (0.0,),
    beta: Sequence[float] = (0.0,),
    clip: float = 0.0,
    reverse: int = 0,
) -> Tensor:
    """J. Elman, 1990: ``h = f(x + h r)``; with ``lens`` so many steps for each image."""
    f = _Activations(tuple(activations.split()), alpha, beta, clip)
    cell = _Cell(make, x, r, lens, reverse, make.steps(x.shape[0]))
    state = cell.state(h, "h")
    sums = cell.sums(lambda *i: state[i], [0], "sums")
    cell.next(state, lambda t, n, j: f(0, cell.given(t, n, 0, j) + sums[t, 0, n, j]))
    return cell.result(state)


def _gru_rule(
    x: Value,
    r: Value,
    h: Value | None = None,
    b: Value | None = None,
    lens: Value | None = None,
    *,
    linear_before_reset: int = 0,
    **options: Any,  # noqa: ANN401
) -> Result:
    _need_activations(_GRU, **options)
    if b is not None and (b.shape != r.shape[:1] or not linear_before_reset):
        raise GraphError("a bias of the recurrent product needs linear_before_reset, one per unit")
    return _cell_rule(x, r, (h,), lens, 3)


@operator("gru", result=_gru_rule)
def gru(  # noqa: PLR0913  (an argument per attribute)
    make: Maker,
    x: Tensor,
    r: Tensor,
    h: Tensor | None = None,
    b: Tensor | None = None,
    lens: Tensor | None = None,
    *,
    activations: str = _GRU,
    alpha: Sequence[float] = (0.0, 0.0),
    beta: Sequence[float] = (0.0, 0.0),
    clip: float = 0.0,
    reverse: int = 0,
    linear_before_reset: int = 0,
) -> Tensor:
    """K. Cho et al., 2014; gates are update, reset and hidden.

    With ``linear_before_reset`` the reset gate is applied to the product and its bias ``b``,
    without it to the state before.
    """
    f = _Activations(tuple(activations.split()), alpha, beta, clip)
    cell = _Cell(make, x, r, lens, reverse, make.steps(x.shape[0]))
    state = cell.state(h, "h")

    def before(t: Term, n: Term, k: Term) -> Term:
        return state[t, n, k]

    gates = cell.sums(before, [0, 1], "gates")

    def resetting(t: Term, n: Term, j: Term) -> Term:
        return f(0, cell.given(t, n, 1, j) + gates[t, 1, n, j])

    reset = cell.run.stage((x.shape[1], cell.hidden), resetting, "reset")

    def kept(t: Term, n: Term, k: Term) -> Term:
        return reset[t, n, k] * state[t, n, k]

    sums = cell.sums(before if linear_before_reset else kept, [2], "sums")

    def value(t: Term, n: Term, j: Term) -> Term:
        update = f(0, cell.given(t, n, 0, j) + gates[t, 0, n, j])
        product = sums[t, 0, n, j]
        if linear_before_reset:
            product = reset[t, n, j] * (product if b is None else product + b[j])
        hidden = f(1, cell.given(t, n, 2, j) + product)
        return (1.0 - update) * hidden + update * state[t, n, j]

    cell.next(state, value)
    return cell.result(state)


def _lstm_rule(
    x: Value,
    r: Value,
    h: Value | None = None,
    c: Value | None = None,
    p: Value | None = None,
    lens: Value | None = None,
    **options: Any,  # noqa: ANN401
) -> Result:
    _need_activations(_LSTM, **options)
    if p is not None and p.shape != (3, *r.shape[:1]):
        raise GraphError(f"peepholes have the shape {list(p.shape)}, not {[3, *r.shape[:1]]}")
    return _cell_rule(x, r, (h, c), lens, 4)


@operator("lstm", result=_lstm_rule)
def lstm(  # noqa: PLR0913  (an argument per attribute)
    make: Maker,
    x: Tensor,
    r: Tensor,
    h: Tensor | None = None,
    c: Tensor | None = None,
    p: Tensor | None = None,
    lens: Tensor | None = None,
    *,
    activations: str = _LSTM,
    alpha: Sequence[float] = (0.0, 0.0, 0.0),
    beta: Sequence[float] = (0.0, 0.0, 0.0),
    clip: float = 0.0,
    reverse: int = 0,
) -> Tensor:
    """S. Hochreiter and J. Schmidhuber, 1997; gates are input, output, forget and cell.

    Peepholes ``p [input, output, forget][hidden]`` let gates see the cell (F. Gers, 2000).
    """
    f = _Activations(tuple(activations.split()), alpha, beta, clip)
    cell = _Cell(make, x, r, lens, reverse, make.steps(x.shape[0]))
    state = cell.state(h, "h")
    memory = cell.state(c, "c")
    sums = cell.sums(lambda *i: state[i], [0, 1, 2, 3], "sums")

    def gate(t: Term, n: Term, number: int, j: Term) -> Term:
        return cell.given(t, n, number, j) + sums[t, number, n, j]

    def seen(number: int, value: Term, j: Term) -> Term | float:
        return 0.0 if p is None else p[number, j] * value

    def remembered(t: Term, n: Term, j: Term) -> Term:
        old = memory[t, n, j]
        taken = f(0, gate(t, n, 0, j) + seen(0, old, j))
        kept = f(0, gate(t, n, 2, j) + seen(2, old, j))
        return kept * old + taken * f(1, gate(t, n, 3, j))

    def hidden(t: Term, n: Term, j: Term) -> Term:
        now = memory[t + 1, n, j]
        return f(0, gate(t, n, 1, j) + seen(1, now, j)) * f(2, now)

    cell.next(memory, remembered)
    cell.next(state, hidden)
    return cell.result(state, memory)
