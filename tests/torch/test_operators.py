"""ATen operators, one or a few at a time: what PyTorch run eagerly computes."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

from polyopt.errors import UnsupportedError
from polyopt.graph import compile_model
from polyopt.graph.fx import from_torch

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")


class Called(nn.Module):
    """A function as a module."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *given):
        return self.function(*given)


def check(function, *given):
    """The same results as PyTorch's, of the same types and shapes."""
    net = function if isinstance(function, nn.Module) else Called(function)
    with torch.no_grad():
        expected = net.eval()(*given)
    expected = expected if isinstance(expected, tuple | list) else (expected,)
    found = compile_model(from_torch(net, given))(*(one.numpy() for one in given))
    found = found if isinstance(found, tuple | list) else (found,)
    for mine, theirs in zip(found, expected, strict=True):
        assert str(mine.dtype) == str(theirs.dtype).removeprefix("torch.")
        assert mine.shape == tuple(theirs.shape)
        np.testing.assert_allclose(mine, theirs.numpy(), rtol=2e-5, atol=1e-5)


X = torch.randn(2, 3, 4, generator=torch.Generator().manual_seed(5))
WHOLE = torch.tensor([[7, -7, 8], [-3, 2, 0]])
ODD = torch.tensor([math.nan, math.inf, -math.inf, -0.0, 1e-9, 3e30, -1.5, 2.5])

ON_FLOATS = {
    "logarithms": lambda x: (torch.log1p(x.abs() * 1e-4), torch.log2(x.abs()), x.abs().log10()),
    "powers": lambda x: (torch.expm1(x * 1e-4), torch.exp2(x), torch.rsqrt(x.abs()), x**3, x**-1),
    "more powers": lambda x: (x.abs() ** 0.5, 2**x, x.square(), x.abs() ** 1.7),
    "angles": lambda x: (torch.atan(x), torch.asin(x.tanh()), torch.acos(x.tanh()), torch.tan(x)),
    "hyperbolic": lambda x: (torch.sinh(x), torch.cosh(x), torch.atan2(x, x + 1)),
    "rounding": lambda x: (torch.round(x * 2) / 2, x.trunc(), x.sign(), x.floor() + x.ceil()),
    "remainders": lambda x: (x % 0.7, torch.fmod(x, 0.7), x // 0.7, torch.remainder(x, -0.7)),
    "divisions": lambda x: (
        torch.div(x, 0.3, rounding_mode="floor"), torch.div(x, 0.3, rounding_mode="trunc"),
    ),
    "alpha": lambda x: (torch.add(x, x, alpha=2), torch.sub(x, 1, alpha=3), 1 - x),
    "addc": lambda x: (torch.addcmul(x, x, x, value=0.5), torch.addcdiv(x, x, x.exp())),
    "activations": lambda x: (
        functional.elu(x, 0.7), functional.celu(x, 0.7), functional.selu(x), functional.mish(x),
        functional.softplus(x), functional.softsign(x), functional.logsigmoid(x),
    ),
    "more activations": lambda x: (
        functional.hardtanh(x, -0.5, 0.7), functional.glu(x, 2), functional.tanhshrink(x),
        functional.softshrink(x), functional.hardshrink(x), functional.threshold(x, 0.1, 7.0),
        functional.softplus(x, 2.0, 1.0),
    ),
    "ends": lambda x: (torch.clamp(x, x * 0.5, x * 2), torch.clamp(x, max=0.1), x.clamp_min(0.2)),
    "comparisons": lambda x: (x > 0, x <= 0.5, x == x.abs(), x != 0, (x > 0) & ~(x < 0.5)),
    "choices": lambda x: (
        torch.where(x > 0, x, -1.0), x.masked_fill(x < 0, -math.inf), torch.max(x, x * 0.5),
    ),
    "cuts": lambda x: (*x.split(2, 2), *x.chunk(2, 1), *x.unbind(0), *torch.split(x, [1, 2], 1)),
    "turns": lambda x: (x.flip(0, 2), x.roll(1, 2), torch.roll(x, (1, -1), (0, 1)), x.roll(5)),
    "repeats": lambda x: (x.repeat(2, 1, 2), x.tile(2), x[:, :1].expand(2, 5, 4), x[..., None, :]),
    "joins": lambda x: (torch.stack([x, x + 1], 1), torch.cat([x, x * 2], -1)),
    "triangles": lambda x: (x.tril(), x.triu(1), x.tril(-1)),
    "reductions": lambda x: (x.sum(), x.mean((0, 2)), x.prod(1), x.amax((1, 2)), x.logsumexp(1)),
    "variances": lambda x: (x.var(1), x.std((0, 1), keepdim=True), *torch.var_mean(x, 2)),
    "places": lambda x: (x.argmax(1), x.argmin(), *x.max(2), *torch.min(x, 0, keepdim=True)),
    "orders": lambda x: (*x.topk(2), *x.topk(2, 1, largest=False)),
    "sums": lambda x: (x.cumsum(1), torch.cumsum(x, -1), x.flatten().cumsum(0)),
    "truth": lambda x: ((x > 1).any(), (x > -1).all(2), (x > 0).sum(1), (x > 0).float()),
    "norms": lambda x: (x.norm(dim=1), functional.normalize(x, dim=2), x.norm(1, 1)),
    "constants": lambda x: (x + torch.arange(4), x * torch.tril(torch.ones(3, 4)), torch.ones(2)),
    "known indices": lambda x: (x[:, [2, 0]], x[:, [0, 1], [3, 1]], x[..., torch.tensor([1, 1])]),
    "samples": lambda x: tuple(
        functional.grid_sample(x[None], x[None, :, :2].mT / 2, mode, padding, align_corners=aligned)
        for mode in ("bilinear", "nearest") for padding in ("zeros", "border", "reflection")
        for aligned in (True, False)
    ),
    "windows": lambda x: (
        x.unfold(1, 2, 1), x.unfold(2, 3, 2).unfold(0, 2, 1), x.unfold(-1, 4, 3),
        functional.unfold(x[None], (2, 3), dilation=(2, 1), padding=(1, 0), stride=(2, 1)),
    ),
    "nothing": lambda x: (torch.cat([x[:, 3:], x, 2 * x[:, :0]], 1), x[..., 4:], x[:0].sum(1)),
    "own statistics": lambda x: (
        functional.batch_norm(x, None, None, training=True),
        functional.batch_norm(x[:1], None, None, x[0, :, 0], x[0, :, 1], training=True),
    ),
    "known places": lambda x: (
        x.index_fill(1, torch.tensor([2, 0]), 1.5), x.index_add(2, torch.tensor([0, 0]), x[..., :2]),
        x.index_copy(1, torch.tensor([2]), x[:, :1]),
        x.scatter(2, torch.arange(12).reshape(1, 3, 4) % 4, x), x.scatter(1, torch.ones(2, 1, 4).long(), 2.0),
    ),
    "conditions as places": lambda x: (
        x.index_put((x > 0,), torch.tensor(7.0)), x.index_put((x[:, :, 0] < 0,), torch.tensor(1.0)),
    ),
    "diagonals": lambda x: (x.diagonal(0, 1, 2), torch.diagonal(x, -1, 1, 2)),
    "products": lambda x: (torch.einsum("bij,bkj->bik", x, x), x @ x.mT, torch.bmm(x, x.mT)),
    "more products": lambda x: (torch.outer(x[0, 0], x[1, 1]), x[0] @ x[1, 0], x[0, 0].dot(x[1, 1])),
    "unequal windows": lambda x: (
        functional.adaptive_avg_pool1d(x, 3), functional.adaptive_avg_pool2d(x[None], (2, 7)),
        functional.adaptive_avg_pool1d(torch.where(x > 1, math.inf, x), 3),
    ),
    "borders": lambda x: (
        functional.pad(x, (1, 2), mode="reflect"), functional.pad(x, (2, 1), mode="replicate"),
        functional.pad(x, (1, 1), value=2.0), functional.pad(x, (3, 1), mode="circular"),
    ),
    "norm layers": lambda x: (
        functional.layer_norm(x, (4,)), functional.rms_norm(x, (4,)), functional.instance_norm(x),
        functional.group_norm(x, 3), functional.local_response_norm(x, 2),
    ),
    "shuffles": lambda x: (
        functional.pixel_shuffle(x.reshape(1, 4, 2, 3), 2),
        functional.pixel_unshuffle(x.reshape(1, 1, 4, 6), 2),
        functional.channel_shuffle(x.reshape(1, 4, 2, 3), 2),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ON_FLOATS)
def test_operators_on_floats(name):
    check(ON_FLOATS[name], X)


ON_ODD = {
    "rounding": lambda x: (x.round(), x.sign(), x.trunc(), x.floor()),
    "logarithms": lambda x: (x.log1p(), x.expm1(), x.rsqrt(), x.tanh()),
    "activations": lambda x: (x.relu(), functional.softplus(x), functional.hardtanh(x), x.sigmoid()),
    "more activations": lambda x: (functional.elu(x), functional.leaky_relu(x), functional.mish(x)),
    "comparisons": lambda x: (x > 0, x == x, x != x, x.isnan(), x.isinf(), x.isfinite()),  # noqa: PLR0124
    "extremes": lambda x: (torch.maximum(x, x.flip(0)), x.clamp(-1, 1), torch.minimum(x.flip(0), x)),
    "remainders": lambda x: (x % 2.0, torch.fmod(x, 2.0), x // 2.0, x / 0.0),
    "logic": lambda x: (torch.logical_not(x), x.bool()),
}  # fmt: skip


@pytest.mark.parametrize("name", ON_ODD)
def test_operators_on_what_is_no_common_number(name):
    check(ON_ODD[name], ODD)


ON_INTEGERS = {
    "divisions": lambda x: (x // 2, x % 3, torch.fmod(x, 3), x // -2, x % -3, x / 2),
    "rounding": lambda x: (torch.div(x, 2, rounding_mode="trunc"), x.round(), x.sign(), x.abs()),
    "arithmetic": lambda x: (x + 1, x * 2.5, x - x, -x, x**2, torch.add(x, x, alpha=3), 3 - x),
    "floats": lambda x: (torch.exp(x * 0.1), torch.sqrt(x.abs()), x.sigmoid(), x.float().mean()),
    "comparisons": lambda x: (x > 1, x == 2, x != -3, x > 0.5, torch.clamp(x, 0, 3), x.clamp_max(2)),
    "reductions": lambda x: (*x.sort(1, descending=True), x.sum(), x.amax(1), x.argmax(0), x.cumsum(0), x.prod(1), x.max()),
    "types": lambda x: (x.to(torch.uint8), x.to(torch.int8) * 100, x.bool()),
    "conditions": lambda x: ((x > 0) * (x < 5), (x > 0) + (x < -5), (x > 0) * x, (x > 0).sum()),
}  # fmt: skip


@pytest.mark.parametrize("name", ON_INTEGERS)
def test_operators_on_integers(name):
    check(ON_INTEGERS[name], WHOLE)


def test_indices_that_are_data():
    table = nn.Embedding(7, 3)
    indices = torch.tensor([[0, 6, 2], [1, 1, 5]])
    check(table, indices)
    check(lambda t, i: t.gather(1, i), torch.randn(2, 7), indices)
    check(lambda t, i: t[i, i[1]], torch.randn(7, 7), indices)
    check(lambda t, i: (t[i], t.index_select(1, i[0])), torch.randn(7, 7), indices)
    check(lambda t, i: t[i], WHOLE.flatten(), indices % 6)


def put(x, places, value):
    """Assignment to elements."""
    y = x.clone()
    y[places] = value
    return y


ON_PLACES = {
    "elements": lambda x, i: (
        x.scatter(1, i, x), x.scatter(1, i, 1.5), x.scatter_add(1, i, x),
        x.scatter_reduce(1, i, x, "prod"), x.scatter_reduce(1, i, x, "amax"),
    ),
    "slices": lambda x, i: (
        x.index_add(0, i[0], x[:2]), x.index_copy(1, i[1], x[:, :2]), x.index_fill(1, i[0], 2.0),
    ),
    "several axes": lambda x, i: (
        put(x, (i, i[1]), x[:2, :2]), put(x, (slice(None), i[0]), 3.0), put(x, i[1], x[2]),
        x.index_put((i, i), x[0, 0], accumulate=True),
    ),
    "conditions": lambda x, i: (put(x, x > 0, 0.5), put(x, i.flatten() < 2, 1.0)),
}  # fmt: skip


@pytest.mark.parametrize("name", ON_PLACES)
def test_writing_at_indices_that_are_data(name):
    check(ON_PLACES[name], torch.randn(4, 4), torch.tensor([[2, 0], [1, 3]]))


@pytest.mark.parametrize("mask", ["none", "bool", "float", "causal", "empty rows"])
def test_attention(mask):
    q, k, v = (torch.randn(2, 3, n, 8) for n in (5, 6, 6))
    truth = torch.rand(5, 6) > 0.4
    truth[:, 0] = True
    if mask == "empty rows":
        truth[2] = False
    given = {"none": None, "float": torch.randn(5, 6), "causal": None}.get(mask, truth)

    def run(q, k, v, *m):
        return functional.scaled_dot_product_attention(
            q, k, v, m[0] if m else None, is_causal=mask == "causal"
        )

    check(run, q, k, v, *([] if given is None else [given]))


LAYERS = {
    "transposed": (nn.ConvTranspose2d(4, 6, 3, 2, 1, 1, groups=2), (1, 4, 5, 6)),
    "transposed line": (nn.ConvTranspose1d(3, 2, 4, 3, dilation=2), (2, 3, 5)),
    "same padding": (nn.Conv2d(3, 4, (3, 5), padding="same"), (1, 3, 6, 7)),
    "circular": (nn.Conv1d(3, 4, 3, padding=1, padding_mode="circular"), (1, 3, 8)),
    "prelu": (nn.PReLU(3), (2, 3, 4, 4)),
    "attention": (nn.MultiheadAttention(8, 2, batch_first=True), None),
    "encoder": (nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), (2, 5, 8)),
    "lstm": (nn.LSTM(3, 4, 2, batch_first=True), (2, 3, 3)),
    "gru": (nn.GRU(3, 4, bidirectional=True), (3, 2, 3)),
    "fold": (nn.Unfold(2, stride=2), (1, 3, 4, 6)),
    "pool norm": (nn.Sequential(nn.LPPool2d(2, 2), nn.GroupNorm(2, 4)), (1, 4, 6, 6)),
}


@pytest.mark.parametrize("name", LAYERS)
def test_layers(name):
    net, shape = LAYERS[name]
    if name == "attention":
        x = torch.randn(2, 5, 8)
        check(lambda x: net.eval()(x, x, x), x)
    elif name in {"lstm", "gru"}:
        check(lambda x: net(x)[0], torch.randn(shape))
    else:
        check(net, torch.randn(shape))


def test_all_that_is_not_taken_is_named_at_once():
    def run(x):
        return torch.lgamma(x) + torch.erfinv(x) + torch.lgamma(x + 1)

    with pytest.raises(UnsupportedError, match="2 operators are not taken: ") as caught:
        from_torch(Called(run), (X,))
    shown = caught.value.diagnostic
    assert "aten.lgamma.default (2)" in shown.message
    assert "aten.erfinv.default" in shown.message
    assert any("erfinv" in note for note in shown.notes)


REFUSED = {
    "an integer divisor that is data": (lambda x: x // x, WHOLE, "has to be known"),
    "a divisor of zero": (lambda x: x % 0, WHOLE, "and not 0"),
    "powers of integers": (lambda x: x ** x.abs(), WHOLE, "known powers"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_right_for_all_data_is_refused(name):
    function, x, message = REFUSED[name]
    with pytest.raises(UnsupportedError, match=message) as caught:
        from_torch(Called(function), (x,))
    assert caught.value.diagnostic.span is not None


def test_a_place_outside_of_one_axis_is_no_place_of_another_row():
    net, table = Called(lambda t, i, j: t[i, j]), torch.randn(3, 4)
    given = (table, torch.tensor([0, 1]), torch.tensor([1, 2]))
    model = compile_model(from_torch(net, given))
    found = model(table.numpy(), np.array([0, 1]), np.array([5, -1]))
    assert np.isnan(found[0])
    assert found[1] == table[1, 3]


SPECIAL = torch.randn(2, 3, 9, 8, generator=torch.Generator().manual_seed(6))
SPECIAL[0, 1, 3, 4], SPECIAL[1, 2, 0, 0], SPECIAL[1, 0, 5, 5] = math.nan, math.inf, -math.inf


@pytest.mark.parametrize(
    "options",
    [{}, {"stride": 1, "padding": 1}, {"dilation": 2, "ceil_mode": True}],
    ids=lambda options: " ".join(options) or "plain",
)
def test_max_pooling_keeps_nan(options):
    check(lambda x: functional.max_pool2d(x, 3, **options), SPECIAL)
    check(lambda x: functional.max_pool1d(x, 2, **options), SPECIAL[0])


@pytest.mark.parametrize(
    ("stride", "dilation", "size"), [(2, 1, 3), (2, 2, 3), (3, 2, 2), (2, 1, 2)]
)
@pytest.mark.parametrize("are_data", [False, True])
def test_transposed_convolutions_multiply_what_is_there_alone(stride, dilation, size, are_data):
    """Infinity times a weight that is not there is nothing, and no NaN."""
    options = {"stride": stride, "dilation": dilation, "padding": 1}
    w = torch.randn(3, 4, size, size, generator=torch.Generator().manual_seed(7))
    if are_data:
        w[0, 0, 0, 0], w[1, 1, 1, 1] = math.inf, math.nan
        check(lambda x, w: functional.conv_transpose2d(x, w, **options), SPECIAL, w)
    else:
        check(lambda x: functional.conv_transpose2d(x, w, **options), SPECIAL)


@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("aligned", [False, True])
def test_bicubic_sampling(padding, aligned):
    draw = torch.Generator().manual_seed(8)
    x, grid = (
        torch.randn(2, 3, 7, 5, generator=draw),
        4 * torch.rand(2, 5, 6, 2, generator=draw) - 2,
    )
    check(lambda x, g: functional.grid_sample(x, g, "bicubic", padding, aligned), x, grid)
