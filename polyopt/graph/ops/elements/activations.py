"""Activations and elementary functions that are made of others.

Inverse functions are made of ``atan2`` and ``log1p``, and hyperbolic ones of ``expm1``, where the
plain formulas lose what is small beside 1.
"""

from __future__ import annotations

from math import inf, log, nan
from typing import TYPE_CHECKING

import numpy as np

from polyopt.errors import GraphError
from polyopt.frontend import stages as po
from polyopt.graph.operators import Result, operator
from polyopt.ir.types import BOOL

if TYPE_CHECKING:
    from collections.abc import Callable

    from polyopt.frontend.stages import Term
    from polyopt.graph.ir.graph import Value
    from polyopt.graph.operators import Maker, Tensor

#: from here on 1 is nothing beside a square, in any type
_LARGE = 1e9


def _float_rule(x: Value, **_attributes: object) -> Result:
    if not x.dtype.is_float:
        raise GraphError(f"a floating-point operand is needed, not {x.dtype}")
    return Result(x.shape, x.dtype)


def _truth_rule(x: Value, **attributes: object) -> Result:
    return Result(_float_rule(x, **attributes).shape, BOOL)


def _of_one(name: str, function: Callable[[Term], Term]) -> None:
    def build(make: Maker, x: Tensor) -> Tensor:
        return make.stage(x.shape, lambda *i: function(x[i]))

    operator(name, result=_float_rule)(build)


def _odd(function: Callable[[Term], Term]) -> Callable[[Term], Term]:
    """A function whose sign follows its operand's, from that for what is not negative."""

    def signed(x: Term) -> Term:
        size = function(abs(x))
        return po.select(x < 0.0, -size, size)

    return signed


def _leg(x: Term) -> Term:
    return po.sqrt((1.0 - x) * (1.0 + x))


def _sinh(x: Term) -> Term:
    raised = np.expm1(x)
    root = po.exp(0.5 * x)  # its square may be too large where the half of it is not
    small = 0.5 * (raised + raised / (raised + 1.0))
    return po.select(x < 1.0, small, 0.5 * root * root - 0.5 / root / root)


def _cosh(x: Term) -> Term:
    root = po.exp(0.5 * abs(x))
    return 0.5 * root * root + 0.5 / root / root


def _asinh(x: Term) -> Term:
    square = x * x
    near = np.log1p(x + square / (1.0 + po.sqrt(square + 1.0)))
    return po.select(x < _LARGE, near, po.log(x) + log(2.0))


def _acosh(x: Term) -> Term:
    above = x - 1.0
    near = np.log1p(above + po.sqrt(above * (2.0 + above)))
    found = po.select(x < _LARGE, near, po.log(x) + log(2.0))
    return po.select(x >= 1.0, found, nan)


_of_one("asin", lambda x: po.atan2(x, _leg(x)))
_of_one("acos", lambda x: po.atan2(_leg(x), x))
_of_one("atan", lambda x: po.atan2(x, 1.0))
_of_one("sinh", _odd(_sinh))
_of_one("cosh", _cosh)
_of_one("asinh", _odd(_asinh))
_of_one("acosh", _acosh)
_of_one("atanh", _odd(lambda x: 0.5 * np.log1p(2.0 * x / (1.0 - x))))
_of_one("softsign", lambda x: x / (1.0 + abs(x)))
_of_one("mish", lambda x: x * po.tanh(po.max(x, 0.0) + np.log1p(po.exp(-abs(x)))))


@operator("celu", result=_float_rule)
def celu(make: Maker, x: Tensor, *, alpha: float = 1.0) -> Tensor:
    """``x``, or ``alpha * (exp(x / alpha) - 1)`` below 0 (J. T. Barron, 2017)."""
    return make.stage(
        x.shape, lambda *i: po.select(x[i] < 0.0, alpha * np.expm1(x[i] / alpha), x[i])
    )  # fmt: skip


@operator("selu", result=_float_rule)
def selu(make: Maker, x: Tensor, *, alpha: float, gamma: float) -> Tensor:
    """``gamma * x``, or ``gamma * alpha * (exp(x) - 1)`` below 0 (G. Klambauer et al., 2017)."""
    return make.stage(
        x.shape, lambda *i: gamma * po.select(x[i] < 0.0, alpha * np.expm1(x[i]), x[i])
    )  # fmt: skip


@operator("thresholded_relu", result=_float_rule)
def thresholded_relu(make: Maker, x: Tensor, *, alpha: float = 1.0) -> Tensor:
    """``x`` above ``alpha``, else 0."""
    return make.stage(x.shape, lambda *i: po.select(x[i] > alpha, x[i], 0.0))


@operator("shrink", result=_float_rule)
def shrink(make: Maker, x: Tensor, *, limit: float = 0.5, bias: float = 0.0) -> Tensor:
    """``x`` nearer to 0 by ``bias``; 0 for what is no farther from 0 than ``limit``."""

    def element(*i: Term) -> Term:
        above = po.select(x[i] > limit, x[i] - bias, 0.0)
        return po.select(x[i] < -limit, x[i] + bias, above)

    return make.stage(x.shape, element)


@operator("is_inf", result=_truth_rule)
def is_inf(make: Maker, x: Tensor, *, negative: int = 1, positive: int = 1) -> Tensor:
    """Whether an element is infinite, of the signs that are asked for."""
    low, high = (-inf if negative else inf), (inf if positive else -inf)
    if not negative and not positive:
        return make.stage(x.shape, lambda *i: (x[i] > inf) & (x[i] < -inf))
    return make.stage(x.shape, lambda *i: (x[i] == low) | (x[i] == high))
