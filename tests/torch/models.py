"""Networks as people write them in PyTorch, with random weights: what the page of models tries.

Widths and images are small, so that all of them run in minutes; layers are those of the papers.
"""

from __future__ import annotations

import math

import torch
from torch import nn
from torch.nn import functional

MODELS = {}


def model(*shapes, integers=0):
    """Register a function that makes a module, with the shapes of its inputs; ``integers`` says
    below which number the elements of an integer input are."""

    def register(make):
        MODELS[make.__name__] = (make, shapes, integers)
        return make

    return register


def example(name, seed=0):
    """A module in inference, and inputs for it."""
    make, shapes, integers = MODELS[name]
    torch.manual_seed(seed)
    net = make().eval()
    for part in net.modules():
        if isinstance(part, nn.modules.batchnorm._BatchNorm) and part.running_mean is not None:
            part.running_mean.uniform_(-0.2, 0.2)
            part.running_var.uniform_(0.5, 1.5)
    given = [torch.randint(integers, s) if integers else torch.randn(s) for s in shapes]
    return net, tuple(given)


def conv(a, b, k=3, stride=1, groups=1, act=nn.ReLU, **options):
    """Convolution, batch normalisation, activation."""
    parts = [
        nn.Conv2d(a, b, k, stride, k // 2, groups=groups, bias=False, **options),
        nn.BatchNorm2d(b),
    ]
    return nn.Sequential(*parts, *([act()] if act else []))


def classifier(width, classes=10):
    return nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width, classes))


# -- convolutional classifiers ------------------------------------------------------------------


@model((1, 1, 28, 28))
def lenet():
    return nn.Sequential(
        nn.Conv2d(1, 6, 5, padding=2), nn.Tanh(), nn.AvgPool2d(2), nn.Conv2d(6, 16, 5), nn.Tanh(),
        nn.AvgPool2d(2), nn.Flatten(), nn.Linear(400, 120), nn.Tanh(), nn.Linear(120, 10),
    )  # fmt: skip


@model((1, 3, 64, 64))
def alexnet():
    return nn.Sequential(
        nn.Conv2d(3, 32, 11, 4, 2), nn.ReLU(inplace=True), nn.LocalResponseNorm(5), nn.MaxPool2d(3, 2),
        nn.Conv2d(32, 64, 5, padding=2), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2),
        nn.Conv2d(64, 64, 3, padding=1), nn.ReLU(inplace=True), nn.AdaptiveAvgPool2d(2), nn.Flatten(),
        nn.Dropout(), nn.Linear(256, 64), nn.ReLU(inplace=True), nn.Linear(64, 10),
    )  # fmt: skip


@model((1, 3, 32, 32))
def vgg():
    layers, width = [], 3
    for block in ((16,), (32,), (32, 32), (64, 64)):
        for after in block:
            layers, width = (
                [*layers, nn.Conv2d(width, after, 3, padding=1), nn.ReLU(inplace=True)],
                after,
            )
        layers.append(nn.MaxPool2d(2))
    return nn.Sequential(
        *layers, nn.Flatten(), nn.Linear(256, 64), nn.ReLU(True), nn.Dropout(), nn.Linear(64, 10)
    )


class Residual(nn.Module):
    def __init__(self, a, b, stride=1, *, bottleneck=False, groups=1, squeeze=False):
        super().__init__()
        mid = b // 2 if bottleneck else b
        if bottleneck:
            self.body = nn.Sequential(
                conv(a, mid, 1), conv(mid, mid, 3, stride, groups), conv(mid, b, 1, act=None)
            )
        else:
            self.body = nn.Sequential(conv(a, b, 3, stride), conv(b, b, act=None))
        self.down = conv(a, b, 1, stride, act=None) if stride > 1 or a != b else nn.Identity()
        self.gate = Squeeze(b, nn.Sigmoid) if squeeze else nn.Identity()

    def forward(self, x):
        return functional.relu(self.gate(self.body(x)) + self.down(x))


class Squeeze(nn.Module):
    """Squeeze and excitation: channels weighed by a small network of their means."""

    def __init__(self, width, gate):
        super().__init__()
        self.body = nn.Sequential(
            nn.AdaptiveAvgPool2d(1), nn.Conv2d(width, max(4, width // 4), 1), nn.ReLU(),
            nn.Conv2d(max(4, width // 4), width, 1), gate(),
        )  # fmt: skip

    def forward(self, x):
        return x * self.body(x)


def _resnet(**options):
    stem = nn.Sequential(conv(3, 16, 7, 2), nn.MaxPool2d(3, 2, 1))
    blocks = [
        Residual(16, 32, **options),
        Residual(32, 32, **options),
        Residual(32, 64, 2, **options),
    ]
    return nn.Sequential(stem, *blocks, classifier(64))


@model((1, 3, 64, 64))
def resnet18():
    return _resnet()


@model((1, 3, 64, 64))
def resnet50():
    return _resnet(bottleneck=True)


@model((1, 3, 64, 64))
def resnext():
    return _resnet(bottleneck=True, groups=4)


@model((1, 3, 64, 64))
def se_resnet():
    return _resnet(squeeze=True)


class Inverted(nn.Module):
    def __init__(self, a, b, stride, expand, k=3, act=nn.ReLU6, gate=None):
        super().__init__()
        mid = a * expand
        self.body = nn.Sequential(
            *([conv(a, mid, 1, act=act)] if expand > 1 else []), conv(mid, mid, k, stride, mid, act),
            *([Squeeze(mid, gate)] if gate else []), conv(mid, b, 1, act=None),
        )  # fmt: skip
        self.same = stride == 1 and a == b

    def forward(self, x):
        return x + self.body(x) if self.same else self.body(x)


@model((1, 3, 64, 64))
def mobilenet_v1():
    layers = [conv(3, 16, 3, 2)]
    for a, b, stride in ((16, 32, 1), (32, 64, 2), (64, 64, 1)):
        layers += [conv(a, a, 3, stride, a), conv(a, b, 1)]
    return nn.Sequential(*layers, classifier(64))


@model((1, 3, 64, 64))
def mobilenet_v2():
    blocks = [
        Inverted(16, 16, 1, 1),
        Inverted(16, 24, 2, 6),
        Inverted(24, 24, 1, 6),
        Inverted(24, 32, 2, 6),
    ]
    return nn.Sequential(conv(3, 16, 3, 2, act=nn.ReLU6), *blocks, classifier(32))


@model((1, 3, 64, 64))
def mobilenet_v3():
    blocks = [Inverted(16, 24, 2, 4, act=nn.Hardswish, gate=nn.Hardsigmoid),
              Inverted(24, 24, 1, 3, 5, nn.Hardswish, nn.Hardsigmoid)]  # fmt: skip
    return nn.Sequential(conv(3, 16, 3, 2, act=nn.Hardswish), *blocks, classifier(24))


@model((1, 3, 64, 64))
def efficientnet():
    blocks = [Inverted(16, 24, 2, 4, act=nn.SiLU, gate=nn.Sigmoid),
              Inverted(24, 24, 1, 4, 5, nn.SiLU, nn.Sigmoid)]  # fmt: skip
    return nn.Sequential(conv(3, 16, 3, 2, act=nn.SiLU), *blocks, classifier(24))


class Shuffle(nn.Module):
    """ShuffleNetV2's unit: half of the channels pass, and all are shuffled."""

    def __init__(self, width):
        super().__init__()
        half = width // 2
        self.body = nn.Sequential(
            conv(half, half, 1), conv(half, half, 3, 1, half, None), conv(half, half, 1)
        )

    def forward(self, x):
        one, two = x.chunk(2, dim=1)
        joined = torch.cat((one, self.body(two)), dim=1)
        n, c, h, w = joined.shape
        return joined.view(n, 2, c // 2, h, w).transpose(1, 2).reshape(n, c, h, w)


@model((1, 3, 64, 64))
def shufflenet():
    return nn.Sequential(
        conv(3, 24, 3, 2), nn.MaxPool2d(3, 2, 1), Shuffle(24), Shuffle(24), classifier(24)
    )


class Dense(nn.Module):
    def __init__(self, width, count=3, growth=8):
        super().__init__()
        self.layers = nn.ModuleList(
            nn.Sequential(
                nn.BatchNorm2d(width + k * growth),
                nn.ReLU(),
                nn.Conv2d(width + k * growth, growth, 3, 1, 1),
            )
            for k in range(count)
        )

    def forward(self, x):
        for layer in self.layers:
            x = torch.cat([x, layer(x)], 1)
        return x


@model((1, 3, 64, 64))
def densenet():
    return nn.Sequential(
        conv(3, 16, 7, 2), Dense(16), conv(40, 20, 1), nn.AvgPool2d(2), Dense(20), classifier(44)
    )


class Fire(nn.Module):
    def __init__(self, a, s, e):
        super().__init__()
        self.squeeze, self.one, self.three = (
            nn.Conv2d(a, s, 1),
            nn.Conv2d(s, e, 1),
            nn.Conv2d(s, e, 3, padding=1),
        )

    def forward(self, x):
        x = functional.relu(self.squeeze(x))
        return torch.cat([functional.relu(self.one(x)), functional.relu(self.three(x))], 1)


@model((1, 3, 64, 64))
def squeezenet():
    return nn.Sequential(
        nn.Conv2d(3, 32, 3, 2), nn.ReLU(), nn.MaxPool2d(3, 2, ceil_mode=True), Fire(32, 8, 32), Fire(64, 8, 32),
        nn.MaxPool2d(3, 2, ceil_mode=True), Fire(64, 16, 32), nn.Conv2d(64, 10, 1), nn.ReLU(),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(),
    )  # fmt: skip


class Inception(nn.Module):
    def __init__(self, a):
        super().__init__()
        self.one, self.pool = conv(a, 8, 1), nn.Sequential(nn.AvgPool2d(3, 1, 1), conv(a, 8, 1))
        self.three = nn.Sequential(conv(a, 8, 1), conv(8, 12, 3))
        self.five = nn.Sequential(conv(a, 4, 1), conv(4, 8, 5))

    def forward(self, x):
        return torch.cat([self.one(x), self.three(x), self.five(x), self.pool(x)], 1)


@model((1, 3, 64, 64))
def inception():
    return nn.Sequential(
        conv(3, 16, 3, 2), Inception(16), nn.MaxPool2d(2), Inception(36), classifier(36)
    )


class ConvNext(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.mix, self.norm = (
            nn.Conv2d(width, width, 7, padding=3, groups=width),
            nn.LayerNorm(width),
        )
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.scale = nn.Parameter(0.1 * torch.ones(width))

    def forward(self, x):
        y = self.norm(self.mix(x).permute(0, 2, 3, 1))
        return x + (self.scale * self.down(functional.gelu(self.up(y)))).permute(0, 3, 1, 2)


@model((1, 3, 64, 64))
def convnext():
    return nn.Sequential(nn.Conv2d(3, 24, 4, 4), ConvNext(24), ConvNext(24), classifier(24))


# -- segmentation, detection, images ------------------------------------------------------------


class UNet(nn.Module):
    def __init__(self, up):
        super().__init__()
        self.one, self.two, self.three = conv(3, 16), conv(16, 32), conv(32, 64)
        make = {"transposed": lambda a, b: nn.ConvTranspose2d(a, b, 2, 2),
                "nearest": lambda a, b: nn.Sequential(nn.Upsample(scale_factor=2), conv(a, b))}[up]  # fmt: skip
        self.up2, self.up1 = make(64, 32), make(32, 16)
        self.back2, self.back1, self.out = conv(64, 32), conv(32, 16), nn.Conv2d(16, 2, 1)

    def forward(self, x):
        one = self.one(x)
        two = self.two(functional.max_pool2d(one, 2))
        three = self.three(functional.max_pool2d(two, 2))
        two = self.back2(torch.cat([self.up2(three), two], 1))
        return self.out(self.back1(torch.cat([self.up1(two), one], 1)))


@model((1, 3, 32, 32))
def unet_transposed():
    return UNet("transposed")


@model((1, 3, 32, 32))
def unet_nearest():
    return UNet("nearest")


class Atrous(nn.Module):
    """DeepLab's head: dilated convolutions beside a global mean, and bilinear upsampling."""

    def __init__(self, a, b):
        super().__init__()
        self.branches = nn.ModuleList(
            nn.Sequential(nn.Conv2d(a, b, 3, padding=d, dilation=d), nn.BatchNorm2d(b), nn.ReLU())
            for d in (1, 2, 4)
        )
        self.mean, self.out = (
            nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(a, b, 1), nn.ReLU()),
            nn.Conv2d(4 * b, 5, 1),
        )

    def forward(self, x):
        size = x.shape[-2:]
        mean = functional.interpolate(self.mean(x), size=size, mode="bilinear", align_corners=False)
        y = self.out(torch.cat([*(branch(x) for branch in self.branches), mean], 1))
        return functional.interpolate(y, scale_factor=4, mode="bilinear", align_corners=False)


@model((1, 3, 64, 64))
def deeplab():
    return nn.Sequential(conv(3, 16, 3, 2), conv(16, 24, 3, 2), Atrous(24, 16))


class Pyramid(nn.Module):
    def __init__(self):
        super().__init__()
        self.down = nn.ModuleList([conv(3, 16, 3, 2), conv(16, 32, 3, 2), conv(32, 64, 3, 2)])
        self.side = nn.ModuleList(nn.Conv2d(w, 16, 1) for w in (16, 32, 64))
        self.smooth = nn.ModuleList(nn.Conv2d(16, 16, 3, padding=1) for _ in range(3))
        self.head = nn.Conv2d(16, 9, 3, padding=1)

    def forward(self, x):
        levels = []
        for down, side in zip(self.down, self.side, strict=True):
            x = down(x)
            levels.append(side(x))
        for k in (1, 0):
            levels[k] = levels[k] + functional.interpolate(
                levels[k + 1], scale_factor=2.0, mode="nearest"
            )
        flat = [
            self.head(s(v)).flatten(2).permute(0, 2, 1)
            for s, v in zip(self.smooth, levels, strict=True)
        ]
        return torch.cat(flat, 1)


@model((1, 3, 64, 64))
def feature_pyramid():
    return Pyramid()


class Boxes(nn.Module):
    """A detector's head: offsets and sizes as boxes, scores of classes."""

    def __init__(self):
        super().__init__()
        self.body, self.head = (
            nn.Sequential(conv(3, 16, 3, 2, act=nn.SiLU), conv(16, 32, 3, 2, act=nn.SiLU)),
            nn.Conv2d(32, 9, 1),
        )

    def forward(self, x):
        y = self.head(self.body(x)).sigmoid()
        n, _, h, w = y.shape
        rows, columns = torch.meshgrid(torch.arange(h), torch.arange(w), indexing="ij")
        grid = torch.stack((columns, rows), 0).float()
        centre = (y[:, :2] * 2 - 0.5 + grid) * 4
        size = (y[:, 2:4] * 2) ** 2 * 8
        return torch.cat([centre - size / 2, centre + size / 2, y[:, 4:]], 1).view(n, 9, h * w)


@model((1, 3, 32, 32))
def detector():
    return Boxes()


@model((1, 3, 16, 16))
def super_resolution():
    return nn.Sequential(
        nn.Conv2d(3, 32, 5, padding=2), nn.PReLU(), nn.Conv2d(32, 16, 3, padding=1), nn.PReLU(),
        nn.Conv2d(16, 12, 3, padding=1), nn.PixelShuffle(2), nn.Hardtanh(0.0, 1.0),
    )  # fmt: skip


@model((1, 3, 32, 32))
def style_transfer():
    return nn.Sequential(
        nn.ReflectionPad2d(4), nn.Conv2d(3, 8, 9), nn.InstanceNorm2d(8, affine=True), nn.ReLU(),
        nn.ReflectionPad2d(1), nn.Conv2d(8, 16, 3, 2), nn.InstanceNorm2d(16, affine=True), nn.ReLU(),
        nn.Upsample(scale_factor=2), nn.ReflectionPad2d(1), nn.Conv2d(16, 3, 3), nn.Tanh(),
    )  # fmt: skip


@model((1, 1, 28, 28))
def autoencoder():
    return nn.Sequential(
        nn.Conv2d(1, 8, 3, 2, 1), nn.LeakyReLU(0.2), nn.Conv2d(8, 16, 3, 2, 1), nn.LeakyReLU(0.2), nn.Flatten(),
        nn.Linear(784, 32), nn.ELU(), nn.Linear(32, 784), nn.Unflatten(1, (16, 7, 7)),
        nn.ConvTranspose2d(16, 8, 3, 2, 1, 1), nn.ELU(), nn.ConvTranspose2d(8, 1, 3, 2, 1, 1), nn.Sigmoid(),
    )  # fmt: skip


@model((1, 16, 1, 1))
def dcgan():
    return nn.Sequential(
        nn.ConvTranspose2d(16, 32, 4, 1, 0, bias=False), nn.BatchNorm2d(32), nn.ReLU(True),
        nn.ConvTranspose2d(32, 16, 4, 2, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU(True),
        nn.ConvTranspose2d(16, 3, 4, 2, 1, bias=False), nn.Tanh(),
    )  # fmt: skip


class Diffusion(nn.Module):
    """A block of a denoiser: group normalisation, SiLU, an embedded time, attention over pixels."""

    def __init__(self, width=16):
        super().__init__()
        self.norm1, self.conv1 = nn.GroupNorm(4, width), nn.Conv2d(width, width, 3, padding=1)
        self.norm2, self.conv2 = nn.GroupNorm(4, width), nn.Conv2d(width, width, 3, padding=1)
        self.time, self.qkv, self.out = (
            nn.Linear(8, width),
            nn.Conv2d(width, 3 * width, 1),
            nn.Conv2d(width, width, 1),
        )
        self.register_buffer("rates", torch.exp(-math.log(1e4) * torch.arange(4) / 4))

    def forward(self, x, t):
        angles = t[:, None] * self.rates
        emb = self.time(torch.cat([angles.sin(), angles.cos()], -1))
        h = self.conv1(functional.silu(self.norm1(x))) + emb[:, :, None, None]
        x = x + self.conv2(functional.silu(self.norm2(h)))
        n, c, hh, w = x.shape
        q, k, v = self.qkv(x).reshape(n, 3, c, hh * w).unbind(1)
        weights = torch.softmax(q.transpose(1, 2) @ k / c**0.5, -1)
        return x + self.out((v @ weights.transpose(1, 2)).reshape(n, c, hh, w))


@model((2, 16, 8, 8), (2,))
def diffusion_block():
    return Diffusion()


# -- transformers -------------------------------------------------------------------------------


class Attention(nn.Module):
    def __init__(self, width, heads, *, causal=False):
        super().__init__()
        self.heads, self.causal = heads, causal
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x):
        n, t, c = x.shape
        q, k, v = self.qkv(x).view(n, t, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
        y = functional.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        return self.out(y.transpose(1, 2).reshape(n, t, c))


class Block(nn.Module):
    def __init__(self, width, heads, *, causal=False):
        super().__init__()
        self.norm1, self.attention, self.norm2 = (
            nn.LayerNorm(width),
            Attention(width, heads, causal=causal),
            nn.LayerNorm(width),
        )
        self.mlp = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class ViT(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.patches, self.token = nn.Conv2d(3, width, 8, 8), nn.Parameter(torch.randn(1, 1, width))
        self.places, self.blocks = (
            nn.Parameter(torch.randn(1, 17, width)),
            nn.Sequential(Block(width, 4), Block(width, 4)),
        )
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 10)

    def forward(self, x):
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], 1) + self.places
        return self.head(self.norm(self.blocks(x))[:, 0])


@model((1, 3, 32, 32))
def vit():
    return ViT()


class GPT(nn.Module):
    def __init__(self, width=32, words=100):
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(64, width)
        self.blocks, self.norm = (
            nn.Sequential(Block(width, 4, causal=True), Block(width, 4, causal=True)),
            nn.LayerNorm(width),
        )
        self.head = nn.Linear(width, words, bias=False)

    def forward(self, tokens):
        x = self.words(tokens) + self.places(torch.arange(tokens.shape[1]))
        return self.head(self.norm(self.blocks(x)))


@model((1, 16), integers=100)
def gpt():
    return GPT()


class Bert(nn.Module):
    def __init__(self, width=32, words=100):
        super().__init__()
        self.words, self.places, self.norm = (
            nn.Embedding(words, width, padding_idx=0),
            nn.Embedding(64, width),
            nn.LayerNorm(width),
        )
        layer = nn.TransformerEncoderLayer(width, 4, 64, batch_first=True, activation="gelu")
        self.encoder, self.pool = (
            nn.TransformerEncoder(layer, 2, enable_nested_tensor=False),
            nn.Linear(width, width),
        )

    def forward(self, tokens):
        mask = tokens == 0
        x = self.norm(self.words(tokens) + self.places(torch.arange(tokens.shape[1])))
        x = self.encoder(x, src_key_padding_mask=mask)
        return torch.tanh(self.pool(x[:, 0]))


@model((2, 12), integers=100)
def bert():
    return Bert()


class Llama(nn.Module):
    """A decoder's block: RMS normalisation, rotary positions, grouped keys, SwiGLU."""

    def __init__(self, width=32, heads=4, groups=2, time=16):
        super().__init__()
        self.heads, self.groups, self.each = heads, groups, width // heads
        self.n1, self.n2 = nn.RMSNorm(width), nn.RMSNorm(width)
        self.q = nn.Linear(width, width, bias=False)
        self.k, self.v = (nn.Linear(width, groups * self.each, bias=False) for _ in range(2))
        self.o = nn.Linear(width, width, bias=False)
        self.gate, self.up, self.down = (
            nn.Linear(width, 64, bias=False),
            nn.Linear(width, 64, bias=False),
            nn.Linear(64, width, bias=False),
        )
        rates = 1e4 ** (-torch.arange(0, self.each, 2) / self.each)
        angles = torch.outer(torch.arange(time), rates)
        self.register_buffer("cos", torch.cat([angles, angles], -1).cos())
        self.register_buffer("sin", torch.cat([angles, angles], -1).sin())

    def turned(self, x):
        one, two = x.chunk(2, -1)
        return x * self.cos + torch.cat([-two, one], -1) * self.sin

    def forward(self, x):
        n, t, c = x.shape
        y = self.n1(x)
        q = self.turned(self.q(y).view(n, t, self.heads, -1).transpose(1, 2))
        k = self.turned(self.k(y).view(n, t, self.groups, -1).transpose(1, 2))
        v = self.v(y).view(n, t, self.groups, -1).transpose(1, 2)
        k, v = (a.repeat_interleave(self.heads // self.groups, 1) for a in (k, v))
        mask = torch.full((t, t), float("-inf")).triu(1)
        weights = torch.softmax(q @ k.transpose(-2, -1) / self.each**0.5 + mask, -1)
        x = x + self.o((weights @ v).transpose(1, 2).reshape(n, t, c))
        y = self.n2(x)
        return x + self.down(functional.silu(self.gate(y)) * self.up(y))


@model((1, 16, 32))
def llama_block():
    return Llama()


class Swin(nn.Module):
    """Attention within shifted windows, with a bias per offset."""

    def __init__(self, width=16, window=4, shift=2):
        super().__init__()
        self.window, self.shift, self.heads = window, shift, 2
        self.norm, self.qkv, self.out = (
            nn.LayerNorm(width),
            nn.Linear(width, 3 * width),
            nn.Linear(width, width),
        )
        place = torch.stack(
            torch.meshgrid(torch.arange(window), torch.arange(window), indexing="ij")
        ).flatten(1)
        offset = (place[:, :, None] - place[:, None, :] + window - 1).permute(1, 2, 0)
        self.register_buffer("index", offset[..., 0] * (2 * window - 1) + offset[..., 1])
        self.bias = nn.Parameter(torch.randn((2 * window - 1) ** 2, self.heads))

    def forward(self, x):
        n, h, w, c = x.shape
        m = self.window
        y = torch.roll(self.norm(x), (-self.shift, -self.shift), (1, 2))
        y = y.view(n, h // m, m, w // m, m, c).permute(0, 1, 3, 2, 4, 5).reshape(-1, m * m, c)
        q, k, v = (
            self.qkv(y)
            .view(-1, m * m, 3, self.heads, c // self.heads)
            .permute(2, 0, 3, 1, 4)
            .unbind(0)
        )
        bias = self.bias[self.index.view(-1)].view(m * m, m * m, -1).permute(2, 0, 1)
        weights = (q @ k.transpose(-2, -1) * (c // self.heads) ** -0.5 + bias).softmax(-1)
        y = self.out((weights @ v).transpose(1, 2).reshape(-1, m * m, c))
        y = y.view(n, h // m, w // m, m, m, c).permute(0, 1, 3, 2, 4, 5).reshape(n, h, w, c)
        return x + torch.roll(y, (self.shift, self.shift), (1, 2))


@model((1, 8, 8, 16))
def swin_block():
    return Swin()


class Mixer(nn.Module):
    def __init__(self, patches=16, width=24):
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.across = nn.Sequential(nn.Linear(patches, 32), nn.GELU(), nn.Linear(32, patches))
        self.within = nn.Sequential(nn.Linear(width, 48), nn.GELU(), nn.Linear(48, width))

    def forward(self, x):
        x = x + self.across(self.n1(x).transpose(1, 2)).transpose(1, 2)
        return x + self.within(self.n2(x))


@model((1, 16, 24))
def mlp_mixer():
    return nn.Sequential(Mixer(), Mixer())


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.TransformerDecoderLayer(32, 4, 64, batch_first=True)

    def forward(self, x, memory):
        return self.layer(
            x, memory, tgt_mask=nn.Transformer.generate_square_subsequent_mask(x.shape[1])
        )


@model((1, 8, 32), (1, 12, 32))
def transformer_decoder():
    return Decoder()


# -- sequences ----------------------------------------------------------------------------------


class Recurrent(nn.Module):
    def __init__(self, kind, **options):
        super().__init__()
        self.words, self.cells = nn.Embedding(50, 16), kind(16, 24, batch_first=True, **options)
        self.head = nn.Linear(24 * (2 if options.get("bidirectional") else 1), 5)

    def forward(self, tokens):
        y, _ = self.cells(self.words(tokens))
        return self.head(y[:, -1])


@model((2, 7), integers=50)
def lstm_classifier():
    return Recurrent(nn.LSTM, num_layers=2)


@model((2, 7), integers=50)
def gru_bidirectional():
    return Recurrent(nn.GRU, bidirectional=True)


class Causal(nn.Module):
    def __init__(self, width, dilation):
        super().__init__()
        self.pad, self.filter, self.gate = (
            2 * dilation,
            nn.Conv1d(width, width, 3, dilation=dilation),
            nn.Conv1d(width, width, 3, dilation=dilation),
        )
        self.out = nn.Conv1d(width, width, 1)

    def forward(self, x):
        y = functional.pad(x, (self.pad, 0))
        return x + self.out(torch.tanh(self.filter(y)) * torch.sigmoid(self.gate(y)))


@model((1, 1, 64))
def wavenet():
    return nn.Sequential(
        nn.Conv1d(1, 12, 1),
        Causal(12, 1),
        Causal(12, 2),
        Causal(12, 4),
        nn.ReLU(),
        nn.Conv1d(12, 8, 1),
    )


@model((1, 1, 200))
def audio_classifier():
    return nn.Sequential(
        nn.Conv1d(1, 16, 20, 4), nn.BatchNorm1d(16), nn.ReLU(), nn.MaxPool1d(4), nn.Conv1d(16, 32, 3),
        nn.BatchNorm1d(32), nn.ReLU(), nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(32, 4), nn.LogSoftmax(-1),
    )  # fmt: skip


@model((1, 80, 40))
def conformer_convolution():
    return nn.Sequential(nn.Conv1d(80, 64, 1), nn.GLU(1), nn.Conv1d(32, 32, 15, padding=7, groups=32),
                         nn.BatchNorm1d(32), nn.SiLU(), nn.Conv1d(32, 80, 1))  # fmt: skip


# -- others -------------------------------------------------------------------------------------


@model((4, 20))
def tabular():
    return nn.Sequential(
        nn.Linear(20, 64),
        nn.SELU(),
        nn.AlphaDropout(),
        nn.Linear(64, 32),
        nn.Softplus(),
        nn.Linear(32, 1),
    )


class Points(nn.Module):
    def __init__(self):
        super().__init__()
        self.each, self.head = (
            nn.Sequential(nn.Conv1d(3, 32, 1), nn.BatchNorm1d(32), nn.ReLU(), nn.Conv1d(32, 64, 1)),
            nn.Linear(64, 6),
        )

    def forward(self, x):
        return self.head(torch.max(self.each(x), 2)[0])


@model((2, 3, 50))
def pointnet():
    return Points()


class Recommender(nn.Module):
    def __init__(self):
        super().__init__()
        self.users, self.items, self.mlp = (
            nn.Embedding(30, 8),
            nn.Embedding(30, 8),
            nn.Sequential(nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 1)),
        )

    def forward(self, users, items):
        u, i = self.users(users), self.items(items)
        return torch.sigmoid((u * i).sum(-1) + self.mlp(torch.cat([u, i], -1)).squeeze(-1))


@model((6,), (6,), integers=30)
def recommender():
    return Recommender()


class Graphs(nn.Module):
    """Graph convolutions by a matrix of neighbours, normalised by degrees."""

    def __init__(self):
        super().__init__()
        self.one, self.two = nn.Linear(8, 16), nn.Linear(16, 3)

    def forward(self, x, adjacency):
        a = (adjacency > 0.5).float() + torch.eye(adjacency.shape[-1])
        scale = a.sum(-1, keepdim=True).rsqrt()
        a = scale * a * scale.transpose(-1, -2)
        return torch.log_softmax(a @ self.two(functional.relu(a @ self.one(x))), -1)


@model((10, 8), (10, 10))
def graph_network():
    return Graphs()


class Variational(nn.Module):
    def __init__(self):
        super().__init__()
        self.encode, self.decode = (
            nn.Linear(30, 16),
            nn.Sequential(nn.Linear(8, 16), nn.Mish(), nn.Linear(16, 30)),
        )

    def forward(self, x, noise):
        mean, log_var = self.encode(x).chunk(2, -1)
        y = self.decode(mean + torch.exp(0.5 * log_var) * noise)
        return y, -0.5 * torch.mean(1 + log_var - mean.pow(2) - log_var.exp())


@model((3, 30), (3, 8))
def variational_autoencoder():
    return Variational()


class Mixture(nn.Module):
    """A mixture of experts: the best two of four, by a gate."""

    def __init__(self):
        super().__init__()
        self.gate, self.experts = (
            nn.Linear(16, 4),
            nn.ModuleList(nn.Linear(16, 16) for _ in range(4)),
        )

    def forward(self, x):
        best, which = self.gate(x).topk(2, -1)
        shares = torch.zeros(x.shape[0], 4).scatter(1, which, torch.softmax(best, -1))
        every = torch.stack([functional.relu(expert(x)) for expert in self.experts], 1)
        return torch.einsum("ne,nec->nc", shares, every)


@model((5, 16))
def mixture_of_experts():
    return Mixture()
