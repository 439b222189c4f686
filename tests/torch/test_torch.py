"""Networks from PyTorch: the same results as PyTorch's own, and a fallback that is one."""

from __future__ import annotations

import io
import logging

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

from polyopt.errors import GraphError, UnsupportedError
from polyopt.graph import DEFAULT_PASSES, compile_model, run_passes
from polyopt.graph.fx import from_torch, torch_operators

# PyTorch's own deprecations
pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")


@pytest.fixture(autouse=True)
def _seeded():
    torch.manual_seed(0)


class Stem(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 7, 2, 3, bias=False)
        self.norm = nn.BatchNorm2d(8)
        self.norm.running_mean.normal_()
        self.norm.running_var.uniform_(0.5, 1.5)

    def forward(self, x):
        return functional.max_pool2d(torch.relu(self.norm(self.conv(x))), 3, 2, 1)


class Inverted(nn.Module):
    """An inverted residual block of MobileNetV3, with its squeeze and excitation."""

    def __init__(self, channels=8, inner=16):
        super().__init__()
        self.expand = nn.Conv2d(channels, inner, 1)
        self.depth = nn.Conv2d(inner, inner, 5, 1, 2, groups=inner)
        self.squeeze = nn.Linear(inner, 4)
        self.excite = nn.Linear(4, inner)
        self.project = nn.Conv2d(inner, channels, 1)

    def forward(self, x):
        y = functional.hardswish(self.expand(x))
        y = functional.relu6(self.depth(y))
        s = functional.adaptive_avg_pool2d(y, 1).flatten(1)
        s = functional.hardsigmoid(self.excite(functional.silu(self.squeeze(s))))
        return x + self.project(y * s.unsqueeze(2).unsqueeze(3))


class Mixed(nn.Module):
    """Everything else that is taken."""

    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(12)
        self.line = nn.Linear(12, 12)

    def forward(self, x):
        y = functional.interpolate(x, scale_factor=2, mode="nearest")
        y = functional.interpolate(y, scale_factor=1.5, mode="bilinear", align_corners=False)
        y = functional.avg_pool2d(functional.pad(y, (1, 2, 0, 1)), 2, 1, 1)
        y = torch.cat([y, torch.tanh(y)], 1)[:, 1:3, :12, :12]
        y = functional.gelu(self.line(self.norm(y)))
        y = functional.leaky_relu(y - 0.5, 0.2) / 2 + y.amax(3, keepdim=True)
        z = torch.softmax(y.permute(0, 2, 1, 3).reshape(12, 24), -1)
        return torch.clamp(z @ z.t(), 0.01, 0.06), y.mean((2, 3)), torch.exp(-y).sum(1)


class Residual(nn.Module):
    def __init__(self, channels=8):
        super().__init__()
        self.one = nn.Sequential(
            nn.Conv2d(channels, channels, 3, padding=1, bias=False),
            nn.BatchNorm2d(channels),
            nn.ReLU(inplace=True),
        )
        self.two = nn.Conv2d(channels, channels, 3, padding=1)

    def forward(self, x):
        return torch.relu(self.two(self.one(x)) + x)


class MobileNet(nn.Sequential):
    """MobileNetV2 (M. Sandler and others, 2018), narrow, with its inverted residuals."""

    class Block(nn.Module):
        def __init__(self, channels, count, expand, stride):
            super().__init__()
            inner = channels * expand
            self.joins = stride == 1 and channels == count
            self.way = nn.Sequential(
                nn.Conv2d(channels, inner, 1, bias=False), nn.BatchNorm2d(inner), nn.ReLU6(),
                nn.Conv2d(inner, inner, 3, stride, 1, groups=inner, bias=False),
                nn.BatchNorm2d(inner), nn.ReLU6(),
                nn.Conv2d(inner, count, 1, bias=False), nn.BatchNorm2d(count),
            )  # fmt: skip

        def forward(self, x):
            return x + self.way(x) if self.joins else self.way(x)

    def __init__(self, width=8, classes=10):
        settings = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 2, 2), (6, 64, 1, 1))
        layers = [nn.Conv2d(3, width, 3, 2, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU6()]
        channels = width
        for expand, count, blocks, stride in settings:
            for number in range(blocks):
                block = self.Block(channels, count * width // 32, expand, 1 if number else stride)
                layers.append(block)
                channels = count * width // 32
        super().__init__(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(0.2),
                         nn.Linear(channels, classes))  # fmt: skip


class UNet(nn.Module):
    """A small U-Net (O. Ronneberger, P. Fischer and T. Brox, 2015), upwards by interpolation."""

    def __init__(self, width=4, classes=2):
        super().__init__()

        def block(channels, count):
            return nn.Sequential(
                nn.Conv2d(channels, count, 3, padding=1), nn.BatchNorm2d(count), nn.ReLU(),
                nn.Conv2d(count, count, 3, padding=1), nn.BatchNorm2d(count), nn.ReLU(),
            )  # fmt: skip

        counts = [width << level for level in range(3)]
        self.down = nn.ModuleList(map(block, [3, *counts], counts))
        self.floor = block(counts[-1], 2 * counts[-1])
        self.up = nn.ModuleList(block(3 * c, c) for c in reversed(counts))
        self.last = nn.Conv2d(width, classes, 1)

    def forward(self, x):
        kept = []
        for block in self.down:
            x = block(x)
            kept.append(x)
            x = functional.max_pool2d(x, 2)
        x = self.floor(x)
        for block in self.up:
            x = functional.interpolate(x, scale_factor=2, mode="bilinear", align_corners=False)
            x = block(torch.cat([x, kept.pop()], 1))
        return self.last(x)


NETS = {
    "stem": (Stem, (2, 3, 32, 32)), "inverted": (Inverted, (1, 8, 10, 12)),
    "mixed": (Mixed, (1, 2, 6, 6)), "residual": (Residual, (1, 8, 9, 9)),
    "mobilenet": (MobileNet, (1, 3, 32, 32)), "unet": (UNet, (1, 3, 16, 24)),
}  # fmt: skip


def close(mine, theirs):
    for one, two in zip(mine, theirs, strict=True):
        np.testing.assert_allclose(np.asarray(one), two.detach().numpy(), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("name", NETS)
def test_exported_modules_agree_with_pytorch(name):
    make, shape = NETS[name]
    net, x = make().eval(), torch.randn(shape)
    with torch.no_grad():
        expected = net(x)
    found = compile_model(from_torch(net, (x,)))(x.numpy())
    several = isinstance(expected, tuple)
    close(found if several else (found,), expected if several else (expected,))


@pytest.mark.parametrize("name", ["stem", "inverted", "residual", "mobilenet", "unet"])
def test_modules_that_pytorch_writes_as_onnx_agree(name):
    """Both importers, on what PyTorch itself makes of a module."""
    make, shape = NETS[name]
    net, x, file = make().eval(), torch.randn(shape), io.BytesIO()
    torch.onnx.export(net, (x,), file, dynamo=False)
    with torch.no_grad():
        expected = net(x)
    found = compile_model(file.getvalue())(x.numpy())
    close((found, compile_model(from_torch(net, (x,)))(x.numpy())), (expected, expected))


@pytest.mark.parametrize("name", ["stem", "inverted", "mobilenet", "unet"])
def test_one_model_for_any_number_of_images(name):
    make, shape = NETS[name]
    net, x = make().eval(), torch.randn(3, *shape[1:])
    model = compile_model(from_torch(net, (x[:1],), open_batch="batch"))
    assert str(model.graph.inputs[0]).startswith("f32[batch, ")
    for count in (3, 1):
        with torch.no_grad():
            close((model(x[:count].numpy()),), (net(x[:count]),))


def test_what_needs_the_number_of_images_cannot_leave_it_open():
    class Flat(nn.Module):
        def forward(self, x):
            return torch.relu(x.reshape(-1))

    with pytest.raises(UnsupportedError, match="one for every batch"):
        from_torch(Flat(), (torch.randn(2, 3),), open_batch="batch")
    with pytest.raises(GraphError, match="one first dimension"):
        from_torch(nn.Bilinear(3, 3, 2), (torch.randn(2, 3), torch.randn(1, 3)),
                   open_batch="batch")  # fmt: skip


@pytest.mark.parametrize("name", NETS)
def test_torch_compile_runs_on_polyopt(name, caplog):
    make, shape = NETS[name]
    net, x = make().eval(), torch.randn(shape)
    with torch.no_grad(), caplog.at_level(logging.WARNING, "polyopt"):
        expected = net(x)
        found = torch.compile(net, backend="polyopt")(x)
    assert caplog.records == []
    several = isinstance(expected, tuple)
    close(found if several else (found,), expected if several else (expected,))


@pytest.mark.parametrize(
    ("rank", "options"),
    [
        (1, {"mode": "nearest", "scale_factor": 1.65}),
        (3, {"mode": "nearest", "size": (3, 9, 4)}),
        (2, {"mode": "nearest-exact", "scale_factor": (0.65, 1.65)}),
        (1, {"mode": "linear", "size": 4, "align_corners": True}),
        (3, {"mode": "trilinear", "scale_factor": 1.5, "align_corners": False}),
        (2, {"mode": "bicubic", "scale_factor": (0.6, 1.7), "align_corners": False}),
        (2, {"mode": "bicubic", "size": (3, 15), "align_corners": True}),
        (2, {"mode": "bicubic", "size": (3, 15), "antialias": True}),
        (2, {"mode": "bilinear", "size": (2, 5), "antialias": True}),
    ],
)
def test_interpolations(rank, options):
    class Resized(nn.Module):
        def forward(self, x):
            return functional.interpolate(x, **options)

    x = torch.randn(1, 2, *(7, 10, 5)[:rank])
    close((compile_model(from_torch(Resized(), (x,)))(x.numpy()),), (Resized()(x),))


def test_batch_norm_is_folded_in_both_ways():
    net, x = Stem().eval(), torch.randn(1, 3, 16, 16)
    graph = from_torch(net, (x,))
    folded = run_passes(graph, DEFAULT_PASSES).graph
    assert [node.op for node in folded.nodes] == ["conv", "relu", "max_pool"]
    assert "batch_norm" not in {node.op for node in compile_model(graph).graph.nodes}


class Odd(nn.Module):
    def forward(self, x):
        return torch.histc(x, 4) + 1


def test_what_is_not_taken_is_named():
    with pytest.raises(UnsupportedError, match=r"aten\.histc\.default is not taken") as caught:
        from_torch(Odd(), (torch.randn(2, 3),))
    assert "conv2d" in caught.value.diagnostic.hint
    assert "histc" in str(caught.value.diagnostic.span.render())


def test_what_is_not_taken_runs_on_pytorch_and_says_so(caplog):
    x = torch.randn(2, 3)
    with torch.no_grad(), caplog.at_level(logging.WARNING, "polyopt"):
        found = torch.compile(Odd(), backend="polyopt")(x)
    torch.testing.assert_close(found, torch.histc(x, 4) + 1)
    assert "histc" in caplog.text


def test_training_runs_on_pytorch(caplog):
    net, x = Residual(), torch.randn(1, 8, 5, 5)
    with caplog.at_level(logging.WARNING, "polyopt"):
        torch.compile(net, backend="polyopt")(x).sum().backward()
    assert net.two.weight.grad is not None
    assert "gradients are wanted" in caplog.text


class Branches(nn.Module):
    def forward(self, x):
        return x if x.sum() > 0 else -x


def test_modules_that_cannot_be_exported_are_refused():
    with pytest.raises(GraphError, match=r"torch\.export does not take Branches"):
        from_torch(Branches(), (torch.randn(2),))


def test_the_operators_are_listed():
    assert {"conv2d", "linear", "gelu", "upsample_bilinear2d"} <= set(torch_operators())
