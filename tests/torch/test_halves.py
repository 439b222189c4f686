"""Modules of float16 and bfloat16: computed in f32, rounded where PyTorch stores."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn import functional

from polyopt.graph import compile_model, from_torch
from polyopt.graph.fx.read import as_array, as_tensor

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")

HALVES = (torch.bfloat16, torch.float16)


class Called(nn.Module):
    """A function as a module."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *given):
        return self.function(*given)


def both(net, *given):
    """Results of polyopt and of PyTorch."""
    net = net if isinstance(net, nn.Module) else Called(net)
    with torch.no_grad():
        expected = net.eval()(*given)
    found = compile_model(from_torch(net, given))(*map(as_array, given))
    found, expected = (x if isinstance(x, tuple | list) else (x,) for x in (found, expected))
    return [as_tensor(one) for one in found], list(expected)


def image(kind):
    return torch.randn(2, 3, 8, 8, generator=torch.Generator().manual_seed(3)).to(kind)


#: what PyTorch's kernels round once
ONCE = {
    "numbers": lambda x: (x * 0.1, x + 1e-3, 3 / (x.abs() + 1)),
    "several steps": lambda x: (functional.mish(x), functional.gelu(x), functional.softplus(x)),
    "along axes": lambda x: (x.softmax(-1), x.log_softmax(1), x.sum(-1), x.mean((2, 3))),
    "statistics": lambda x: (x.var(-1), x.amax(-1), x.max(1).values, x.argmax(-1)),
    "comparisons": lambda x: (x > 0.1, torch.where(x > 0, x, 0.3), x.clamp(-0.1, 0.7)),
    "types": lambda x: (x + x.float(), x.half() + x.bfloat16(), x.half() < x.bfloat16(), x.int()),
    "planes": lambda x: (
        functional.max_pool2d(x, 2), functional.avg_pool2d(x, 2),
        functional.interpolate(x, scale_factor=2, mode="bilinear"),
    ),
    "normalised": lambda x: (
        functional.layer_norm(x, (8,)), functional.rms_norm(x, (8,)), functional.group_norm(x, 3),
    ),
    "moved": lambda x: (torch.cat([x, x], 1), x.permute(0, 2, 3, 1), x[:, :, ::2], x.topk(2).values),
}  # fmt: skip


@pytest.mark.parametrize("kind", HALVES, ids=str)
@pytest.mark.parametrize("name", ONCE)
def test_results_are_rounded_once(name, kind):
    """No more than the last bit is other, and that seldom: sums are in another order."""
    for found, expected in zip(*both(ONCE[name], image(kind)), strict=True):
        assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
        assert (found == expected).float().mean() > 0.99
        step = torch.finfo(kind).eps if expected.dtype.is_floating_point else 0
        torch.testing.assert_close(found, expected, rtol=step, atol=step / 64)


@pytest.mark.parametrize("kind", HALVES, ids=str)
def test_networks_with_weights_of_16_bits(kind):
    torch.manual_seed(4)
    net = nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.SiLU(), nn.MaxPool2d(2), nn.Flatten(),
        nn.Linear(128, 16), nn.GELU(), nn.Linear(16, 4),
    ).to(kind)  # fmt: skip
    (found,), (expected,) = both(net, image(kind))
    assert found.dtype == expected.dtype == kind
    step = torch.finfo(kind).eps
    torch.testing.assert_close(found, expected, rtol=4 * step, atol=4 * step)


@pytest.mark.parametrize("kind", HALVES, ids=str)
def test_compiled_modules_take_and_give_tensors_of_16_bits(kind):
    torch.manual_seed(4)
    net = nn.Sequential(nn.Linear(8, 16), nn.SiLU(), nn.Linear(16, 4)).to(kind).eval()
    with torch.no_grad():
        found, expected = torch.compile(net, backend="polyopt")(image(kind)), net(image(kind))
    assert found.dtype == kind
    step = torch.finfo(kind).eps
    torch.testing.assert_close(found, expected, rtol=2 * step, atol=step)


def test_memory_of_bfloat16_is_shared():
    x = torch.tensor([1.0, -2.5, float("nan"), float("inf")]).bfloat16()
    array = as_array(x)
    assert array.dtype.name == "bfloat16"
    assert as_tensor(array).data_ptr() == x.data_ptr()
    assert as_tensor(array).dtype == torch.bfloat16
