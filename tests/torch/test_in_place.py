"""Views, operations in place and types: what PyTorch run eagerly computes, changes and shares."""

from __future__ import annotations

import logging
from dataclasses import dataclass

import numpy as np
import pytest
import torch
from torch import fx, nn
from torch.nn import functional

from polyopt.errors import UnsupportedError
from polyopt.graph import compile_model
from polyopt.graph.fx import backend, from_torch

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")


class Net(nn.Module):
    """A function as a module, with two buffers."""

    def __init__(self, function):
        super().__init__()
        self.function = function
        self.register_buffer("count", torch.zeros(4))
        self.register_buffer("scale", torch.arange(4.0))

    def forward(self, *given):
        return self.function(self, *given)


def added_under_a_view(_, x):
    a = x * 2
    v = a.view(-1)
    a += 1.0
    return v * 2


def flat_view_scaled(_, x):
    a = x + 1
    a.view(-1).mul_(2)
    return a


def part_rectified(_, x):
    a = x * 3
    functional.relu_(a[:, :1])
    return a + 0.5


def transposed_scaled(_, x):
    a = x - 0.5
    a.transpose(1, 2).mul_(3)
    return a.relu()


def row_of_a_column(_, x):
    a = x * 2
    a[:, 1, 2:] = 7.0
    a[0] += a[1]
    a.unsqueeze(0)[..., -1].clamp_(-0.25, 0.25)
    return a


IN_PLACE = [
    added_under_a_view, flat_view_scaled, part_rectified, transposed_scaled, row_of_a_column,
]  # fmt: skip


@pytest.mark.parametrize("function", IN_PLACE)
def test_views_see_what_is_done_in_place(function):
    x = torch.randn(2, 3, 4)
    expected = Net(function)(x.clone())
    found = compile_model(from_torch(Net(function), (x,)))(x.numpy())
    np.testing.assert_allclose(found, expected.numpy(), rtol=1e-5, atol=1e-6)


def input_changed(_, x):
    x.mul_(2)
    return x.relu()


def input_changed_by_a_view(_, x):
    x[:, 0].add_(1)
    return x * 2


def buffer_counted(net, x):
    net.count.add_(1)
    return x + net.count


@pytest.mark.parametrize(
    ("function", "what", "place"),
    [
        (input_changed, "its input 'x'", "mul_"),
        (input_changed_by_a_view, "its input 'x'", "add_"),
        (buffer_counted, "its buffer 'count'", "add_"),
    ],
)
def test_a_graph_of_a_module_that_changes_what_it_is_given_is_refused(function, what, place):
    class Named(Net):
        def forward(self, x):
            return self.function(self, x)

    with pytest.raises(UnsupportedError, match=f"the module changes {what} in place") as caught:
        from_torch(Named(function), (torch.randn(2, 3, 4),))
    shown = caught.value.diagnostic
    assert place in shown.span.source.line(shown.span.line)
    assert "torch.compile" in shown.hint


def test_reading_leaves_the_modes_of_a_module_and_its_weights_apart():
    net = nn.Sequential(nn.Linear(3, 2), nn.Dropout(0.5), nn.ReLU().eval())
    x = torch.randn(1, 3)
    graph = from_torch(net, (x,))
    assert [part.training for part in net.modules()] == [True, True, True, False]
    expected = net.eval()(x)
    with torch.no_grad():
        net[0].weight.zero_()
        np.testing.assert_allclose(compile_model(graph)(x.numpy()), expected, rtol=1e-5, atol=1e-6)


# -- torch.compile ------------------------------------------------------------------------------


def both(function, *given, caplog):
    """Eager and compiled: results, inputs, buffers, and which of them share memory; twice."""
    found = []
    for run in (lambda net: net, lambda net: torch.compile(net, backend="polyopt")):
        torch._dynamo.reset()
        net = Net(function)
        called = run(net)
        arrays = [one.clone() for one in given]
        with torch.no_grad():
            for _ in range(2):
                results = called(*arrays)
        seen = [*results, *arrays, net.count, net.scale]
        found.append(([one.clone() for one in seen], sharing(seen), [r.stride() for r in results]))
    assert caplog.records == []
    (one, alike, strides), (two, alike_too, strides_too) = found
    assert (alike_too, strides_too) == (alike, strides)
    torch.testing.assert_close(two, one)


def sharing(tensors):
    """For each tensor the first one with the same memory."""
    starts = [one.untyped_storage().data_ptr() for one in tensors]
    return [starts.index(start) for start in starts]


def changes_all(net, x, y):
    v = x.view(-1)
    x.add_(1)
    net.count.add_(net.scale)
    w = y * net.count
    y[0].copy_(w[1])
    return w, v, w.view(-1), w[:, :, 1:], x.transpose(0, 2), y[1]


def parts_of_one(_, x, y):
    z = torch.relu(x + y)
    return z[:, :2], z[:, 2:], (x * y).transpose(0, 1), y


@pytest.mark.parametrize("function", [changes_all, parts_of_one])
def test_compiled_modules_change_and_share_what_eager_ones_do(function, caplog):
    with caplog.at_level(logging.WARNING, "polyopt"):
        both(function, torch.randn(2, 3, 4), torch.randn(2, 3, 4), caplog=caplog)


def test_inputs_that_share_memory_run_on_pytorch():
    def run(_, x, y):
        x.add_(1)
        return y * 2

    base = torch.arange(6.0)
    called = torch.compile(Net(run), backend="polyopt")
    with torch.no_grad():
        called(torch.zeros(4), torch.zeros(4))
        assert called(base[:4], base[2:]).tolist() == [6.0, 8.0, 8.0, 10.0]


def test_weights_that_change_are_seen():
    net = nn.Linear(3, 2)
    called, x = torch.compile(net, backend="polyopt"), torch.randn(1, 3)
    with torch.no_grad():
        torch.testing.assert_close(called(x), net(x))
        net.weight.mul_(2)
        torch.testing.assert_close(called(x), net(x))
        net.weight.zero_()
        torch.testing.assert_close(called(x), net(x))
        net.bias = nn.Parameter(torch.ones(2))
        torch.testing.assert_close(called(x), net(x))


def test_a_dimension_that_stays_open_runs_on_pytorch(caplog):
    called = torch.compile(Net(lambda _, x: x * 2), backend="polyopt", dynamic=True)
    with torch.no_grad(), caplog.at_level(logging.WARNING, "polyopt"):
        for count in (2, 5):
            assert called(torch.ones(count, 3)).tolist() == [[2.0] * 3] * count
    assert "a dimension is open" in caplog.text


# -- random modules -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Step:
    """An operation on a value made before; its result is the next value."""

    name: str
    operand: int
    other: int
    run: object


VIEWS = {
    "flat": (lambda t: t.is_contiguous() and t.dim() > 1, lambda t, _: t.view(-1)),
    "turned": (lambda t: t.dim() > 1, lambda t, _: t.transpose(0, -1)),
    "first": (lambda t: t.dim() > 1, lambda t, _: t[0]),
    "cut": (lambda t: t.dim() and t.shape[-1] > 2, lambda t, _: t[..., 1:-1]),
    "head": (lambda t: t.dim() and t.shape[0] > 1, lambda t, _: t[:1]),
    "deeper": (lambda t: t.dim() < 4, lambda t, _: t.unsqueeze(1)),
    "shaped": (lambda t: t.dim() > 1, lambda t, _: t.reshape(t.shape[0], -1)),
}
IN_PLACE_STEPS = {
    "add_": (lambda t: True, lambda t, _: t.add_(0.5)),
    "mul_": (lambda t: True, lambda t, _: t.mul_(-1.5)),
    "relu_": (lambda t: True, lambda t, _: functional.relu_(t)),
    "clamp_": (lambda t: True, lambda t, _: t.clamp_(-1.0, 1.0)),
    "zero_": (lambda t: t.numel() < 9, lambda t, _: t.zero_()),
    "sub_": (lambda t: True, lambda t, o: t.sub_(o)),
    "copy_": (lambda t: True, lambda t, o: t.copy_(o)),
}
VALUES = {
    "plus": (lambda t: True, lambda t, _: t + 1),
    "times": (lambda t: True, lambda t, o: t * o),
    "relu": (lambda t: True, lambda t, _: functional.relu(t)),
    "clone": (lambda t: True, lambda t, _: t.clone()),
    "double": (lambda t: t.dtype == torch.float32, lambda t, _: t.double()),
    "softmax": (lambda t: t.dim(), lambda t, _: functional.softmax(t, -1, dtype=torch.float64)),
}
BINARY = {"times", "sub_", "copy_"}


class Steps(nn.Module):
    """Some steps on two inputs; some of the values are results."""

    def __init__(self, steps, kept):
        super().__init__()
        self.steps, self.kept = steps, kept

    def forward(self, x, y):
        values = [x, y]
        for step in self.steps:
            values.append(step.run(values[step.operand], values[step.other]))
        return tuple(values[k] for k in self.kept)

    def __str__(self):
        return "; ".join(f"{s.name} {s.operand} {s.other}" for s in self.steps) + f" -> {self.kept}"


def random_steps(seed, count=7):
    draw, place = np.random.default_rng(seed), torch.Generator().manual_seed(seed)
    values, steps = [torch.randn(2, 3, 4, generator=place) for _ in range(2)], []
    while len(steps) < count:
        kinds = (VIEWS, IN_PLACE_STEPS, IN_PLACE_STEPS, VALUES)[draw.integers(4)]
        name = str(draw.choice(sorted(kinds)))
        operand = int(draw.integers(len(values)))
        alike = [k for k, v in enumerate(values) if v.shape == values[operand].shape]
        other = int(draw.choice(alike))
        fits, run = kinds[name]
        if not fits(values[operand]) or values[operand].numel() < 2 or (
            name in BINARY and shares(values[operand], values[other])
        ):  # fmt: skip
            continue
        steps.append(Step(name, operand, other, run))
        values.append(run(values[operand], values[other]))
    return Steps(steps, sorted(map(int, draw.choice(len(values), 4, replace=False))))


def shares(one, two):
    return one.untyped_storage().data_ptr() == two.untyped_storage().data_ptr()


def outcome(called, given):
    arrays = [one.clone() for one in given]
    with torch.no_grad():
        results = called(*arrays)
    return [*results, *arrays]


@pytest.mark.parametrize("seed", range(12))
def test_random_modules_do_what_eager_ones_do(seed, caplog):
    net, given = random_steps(seed), [torch.randn(2, 3, 4), torch.randn(2, 3, 4)]
    expected = outcome(net, given)
    with torch.no_grad(), caplog.at_level(logging.WARNING, "polyopt"):
        called = backend(fx.symbolic_trace(net), given)
    assert caplog.records == [], str(net)
    found = outcome(called, given)
    torch.testing.assert_close(found, expected, msg=lambda m: f"{net}\n{m}")
    assert sharing(found) == sharing(expected), str(net)


# -- types --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "function",
    [
        lambda _, x: torch.softmax(x, -1, dtype=torch.float64),
        lambda _, x: torch.log_softmax(x.double(), 0),
        lambda _, x: x.mean(-1, dtype=torch.float64),
        lambda _, x: x.double() + x,
        lambda net, x: x * net.scale.double(),
        lambda _, x: x.to(torch.int32) / 2,
        lambda _, x: x.to(torch.int32).sum(0),
        lambda _, x: (x.to(torch.int64) * 1.5).clamp(0.5),
        lambda _, x: torch.full_like(x, 3, dtype=torch.float64) - x,
        lambda _, x: x.half() * 3,
        lambda _, x: torch.softmax(x.half(), -1) + x.half().sum(0),
    ],
)
def test_types_are_those_of_pytorch(function):
    x = torch.randn(2, 3, 4) * 4
    expected = Net(function)(x)
    found = compile_model(from_torch(Net(function), (x,)))(x.numpy())
    assert str(found.dtype) == str(expected.dtype).removeprefix("torch.")
    np.testing.assert_allclose(found, expected.numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("net", "x", "message"),
    [
        (Net(lambda _, x: x.to(torch.float8_e4m3fn).float()), torch.randn(2), r"torch\.float8"),
        (Net(lambda _, x: x.clone()), torch.ones(2).to(torch.float8_e5m2), r"torch\.float8"),
        (Net(lambda _, x: torch.complex(x, x)), torch.randn(2), r"not taken|complex64"),
        (Net(lambda _, x: torch.round(x, decimals=1)), torch.randn(2), "decimals"),
    ],
)  # fmt: skip
def test_types_and_options_that_are_not_taken_are_named(net, x, message):
    with pytest.raises(UnsupportedError, match=message) as caught:
        from_torch(net, (x,))
    assert caught.value.diagnostic.span is not None


# -- what random modules have found -------------------------------------------------------------


def changed_beside_a_constant(_, x, y):
    x[torch.tensor([1, 0])] = 3.0
    return y[:1], x


def test_constants_of_a_module_do_not_count_as_its_inputs(caplog):
    with caplog.at_level(logging.ERROR, "polyopt"):
        both(changed_beside_a_constant, torch.randn(2, 3), torch.randn(2, 3), caplog=caplog)


@pytest.mark.parametrize(
    "change",
    [
        lambda a: a.expand(2, 3).masked_fill_(torch.tensor([[True], [False]]), 4.0),
        lambda a: a.expand(2, 3)[1].add_(1),
        lambda a: a[0].unfold(-1, 2, 1)[0].mul_(2),
    ],
)
def test_changes_under_a_view_that_has_elements_twice_are_refused(change):
    def run(_, x):
        a = x * 2
        change(a)
        return a

    with pytest.raises(UnsupportedError, match="a view has elements several times") as caught:
        from_torch(Net(run), (torch.ones(1, 3),))
    assert caught.value.diagnostic.span is not None


@pytest.mark.parametrize(
    "function",
    [
        lambda _, x: (x > 0) == 2,
        lambda _, x: (x > 0) < 2,
        lambda _, x: (x > 0) > 0.5,
        lambda _, x: (x * 10).to(torch.int64) ** 13,
        lambda _, x: (x * 10).to(torch.int32) ** 0,
        lambda _, x: x.abs().to(torch.uint8) ** 3,
        lambda _, x: (x / 0 * 0 + x).amax(1),
        lambda _, x: torch.sqrt(x).amin((0, 2), keepdim=True),
        lambda _, x: torch.sqrt(x).amax(-1),
        lambda _, x: torch.sqrt(x).argmax(-1),
        lambda _, x: torch.sqrt(x).max(-1).values,
        lambda _, x: torch.sqrt(x).min(1, keepdim=True).indices,
        lambda _, x: torch.sqrt(x).max(),
        lambda _, x: torch.sqrt(x).argmin(1, keepdim=True),
        lambda _, x: torch.sqrt(x).argmin(),
        lambda _, x: torch.add(x, x, alpha=2),
    ],
)
def test_conditions_powers_and_extremes_are_those_of_pytorch(function):
    x = torch.randn(2, 3, 4)
    expected = Net(function)(x)
    found = compile_model(from_torch(Net(function), (x,)))(x.numpy())
    assert str(found.dtype) == str(expected.dtype).removeprefix("torch.")
    np.testing.assert_allclose(found, expected.numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("function", [lambda _, x: x.to(torch.uint8) == 300,
                                      lambda _, x: x.to(torch.int8) + 1000])  # fmt: skip
def test_numbers_that_a_type_does_not_hold_are_refused(function):
    with pytest.raises(UnsupportedError, match="does not fit into"):
        from_torch(Net(function), (torch.ones(2),))
