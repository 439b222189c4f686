"""Operators of PyTorch against PyTorch: one function each, through a graph of ours."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

from polyopt.errors import UnsupportedError
from polyopt.graph import compile_model
from polyopt.graph.fx import from_torch

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")


class Function(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *given):
        return self.function(*given)


def compared(net, *given, rtol=1e-5, atol=1e-6):
    """Results of a module on PyTorch and by a graph: equal types, shapes and numbers."""
    with torch.no_grad():
        expected = net(*given)
    expected = flattened(expected)
    graph = from_torch(net, given)
    found = compile_model(graph).run(
        {value.name: one.numpy() for value, one in zip(graph.inputs, given, strict=True)}
    )
    for mine, theirs in zip(found, expected, strict=True):
        assert mine.shape == tuple(theirs.shape)
        assert str(mine.dtype) == str(theirs.dtype).removeprefix("torch.")
        np.testing.assert_allclose(mine, theirs.numpy(), rtol=rtol, atol=atol)


def numbers(*shape):
    return torch.from_numpy(
        np.random.default_rng(len(shape)).standard_normal(shape).astype(np.float32)
    )


X = numbers(2, 6, 4)
PLACES = torch.tensor([[0, 3, -1], [2, -6, 5]])

OF_ONE = {
    "split": lambda x: torch.split(x, 4, 1),
    "split by sizes": lambda x: x.split([1, 3, 2], 1)[1:],
    "chunk": lambda x: x.chunk(4, 1),
    "unbind": lambda x: x.unbind(-1)[2],
    "stack": lambda x: torch.stack([x, x + 1], 1),
    "flip": lambda x: x.flip(0, 2),
    "roll": lambda x: torch.roll(x, (1, -2), (0, 1)),
    "repeat": lambda x: x.repeat(2, 1, 3, 1),
    "repeat each": lambda x: x.repeat_interleave(3, 1),
    "rows of a table": lambda x: x[:, torch.tensor([1, 0, 5, -1])],
    "places along two axes": lambda x: x[:, torch.tensor([1, 0, -2]), torch.tensor([3, -1, 0])],
    "index_select": lambda x: x.index_select(2, torch.tensor([3, 0])),
    "gather": lambda x: x.gather(1, torch.tensor([[[0, 5, 2, 1]], [[3, 3, 0, 4]]])),
    "where": lambda x: torch.where(x > 0.2, x, -x.abs()),
    "masked_fill": lambda x: x.masked_fill(x < 0, float("-inf")).softmax(1),
    "comparisons": lambda x: ((x >= 0.5) | (x == 0)) & ~torch.isnan(x) & (x.round() <= 1),
    "triangles": lambda x: x.tril(-1) + x.triu(1),
    "arange": lambda x: x + torch.arange(1, 9, 2) * torch.eye(6, 4),
    "rsqrt": lambda x: x.abs().add(1).rsqrt(),
    "log1p": lambda x: torch.log1p(x.abs() * 1e-5),
    "expm1": lambda x: torch.expm1(x * 1e-5) + torch.expm1(x),
    "powers of 2": lambda x: torch.exp2(x) + torch.log2(x.abs() + 1) + x.tan().trunc(),
    "cumsum": lambda x: x.cumsum(1),
    "alpha": lambda x: torch.add(x, x, alpha=2) - torch.sub(x, 1, alpha=3),
    "max": lambda x: (*torch.max(x, 1), x.amax(0), torch.maximum(x, -x), x.max()),
    "argmin": lambda x: (x.argmin(1, keepdim=True), x.argmax()),
    "topk": lambda x: (*x.topk(2, 1), *x.topk(3, 2, largest=False)),
    "var": lambda x: (x.var((1, 2)), x.var(0, correction=0, keepdim=True), x.std(-1)),
    "softplus": lambda x: functional.softplus(x * 20) + functional.softplus(x, beta=2),
    "exponential units": lambda x: functional.elu(x, 0.5) + functional.selu(x) + functional.celu(x, 2.0),
    "mish": functional.mish,
    "glu": lambda x: functional.glu(x, 1),
    "uneven means": lambda x: functional.adaptive_avg_pool1d(x, 3),
    "integers to floats": lambda x: x.to(torch.int64).sigmoid() + x.to(torch.int32).sqrt().isnan(),
    "einsum": lambda x: torch.einsum("nct,nkt->nck", x, x),
    "attention": lambda x: functional.scaled_dot_product_attention(x, x, x),
    "causal attention": lambda x: functional.scaled_dot_product_attention(x, x, x, is_causal=True, scale=0.3),
    "masked attention": lambda x: functional.scaled_dot_product_attention(x, x, x, torch.eye(6) > 0),
}  # fmt: skip


@pytest.mark.parametrize("name", OF_ONE)
def test_a_function_of_one_tensor(name):
    compared(Function(OF_ONE[name]), X)


MODULES = {
    "transposed convolution": (nn.ConvTranspose2d(3, 4, 3, 2, 1, 1, groups=1), numbers(2, 3, 5, 4)),
    "transposed, grouped": (nn.ConvTranspose1d(4, 6, 4, 3, 2, groups=2, dilation=2), numbers(2, 4, 7)),
    "group normalisation": (nn.GroupNorm(3, 6), numbers(2, 6, 5)),
    "instance normalisation": (nn.InstanceNorm2d(3, affine=True), numbers(2, 3, 5, 4)),
    "rms normalisation": (nn.RMSNorm([5, 4]), numbers(2, 3, 5, 4)),
    "prelu": (nn.PReLU(3), numbers(2, 3, 5)),
    "pixel shuffle": (nn.PixelShuffle(2), numbers(2, 8, 3, 4)),
    "uneven means": (nn.AdaptiveAvgPool2d((3, 2)), numbers(1, 2, 7, 5)),
    "lstm": (nn.LSTM(4, 5, 2, batch_first=True, bidirectional=True), X),
    "gru": (nn.GRU(4, 3, bias=True), X),
    "gru without bias": (nn.GRU(4, 3, bias=False, num_layers=2), X),
    "rnn": (nn.RNN(4, 3, nonlinearity="relu"), X),
}  # fmt: skip


@pytest.mark.parametrize("name", MODULES)
def test_a_module(name):
    net, given = MODULES[name]
    compared(net.eval(), given)


def flattened(result):
    if isinstance(result, torch.Tensor):
        return (result,)
    return tuple(part for one in result for part in flattened(one))


def test_words_and_their_places():
    table = nn.Embedding(9, 4, padding_idx=0)
    compared(table, torch.tensor([[1, 8, 0], [3, 3, 5]]))
    compared(
        Function(lambda x, i: x.gather(1, i) + x[torch.arange(2)[:, None], i]),
        X[..., 0],
        PLACES % 6,
    )


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda x: x[x > 0], "conditions as places are not taken|sym_size"),
        (lambda x: torch.div(x, 2, rounding_mode="floor"), "rounding_mode"),
        (
            lambda x: x.sort(1)[0].cummax(1)[0].logcumsumexp(0),
            r"operators are not taken: aten\.sort",
        ),
    ],
)
def test_what_is_not_taken_is_named(function, message):
    with pytest.raises(Exception, match=message) as caught:
        from_torch(Function(function), (X,))
    assert isinstance(caught.value, UnsupportedError) or "export" in str(caught.value)


def test_all_operators_that_are_not_taken_are_named_at_once():
    def run(x):
        return torch.special.i0(x.sort(1)[0]) + torch.special.i0(x) + x.cummax(1)[0]

    with pytest.raises(UnsupportedError) as caught:
        from_torch(Function(run), (X,))
    shown = caught.value.diagnostic
    assert "3 operators are not taken" in shown.message
    assert "aten.i0.default (2)" in shown.message or "aten.special_i0.default (2)" in shown.message
    assert len(shown.notes) == 3
    assert all("first in line" in note for note in shown.notes)
