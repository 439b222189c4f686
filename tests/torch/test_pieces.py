"""Programs of which not all is taken: pieces, their table, and what eager PyTorch computes."""

from __future__ import annotations

import logging

import pytest
import torch
from torch import nn
from torch.nn import functional

from polyopt.graph.fx import explain_backend

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")


class Mixed(nn.Module):
    """What is taken around what is not; a buffer and an input change."""

    def __init__(self):
        super().__init__()
        self.one, self.two = nn.Linear(8, 16), nn.Linear(16, 4)
        self.register_buffer("count", torch.zeros(4))

    def forward(self, x):
        h = functional.relu(self.one(x) * 2 + 1)
        h = torch.cummax(h, -1)[0]
        self.count.add_(1)
        y = self.two(h)
        x.add_(1)
        return torch.sigmoid(y) + self.count, y.view(-1), h.transpose(0, 1), x


def both(net, calls=3):
    """Results, inputs and buffers on PyTorch, and compiled."""
    found = []
    for run in (lambda n: n, lambda n: torch.compile(n, backend="polyopt")):
        torch._dynamo.reset()
        torch.manual_seed(0)
        made, x = net().eval(), torch.randn(3, 8)
        called = run(made)
        with torch.no_grad():
            results = [[one.clone() for one in called(x)] for _ in range(calls)]
        found.append([*(one for row in results for one in row), x, made.count])
    return found


def test_pieces_compute_and_change_what_eager_modules_do(caplog):
    with caplog.at_level(logging.WARNING, "polyopt"):
        eager, compiled = both(Mixed)
    torch.testing.assert_close(compiled, eager)
    assert caplog.text.count("not all is taken") == 1
    assert "aten.cummax" in caplog.text


def test_the_table_says_what_runs_where_and_why():
    pieces = explain_backend(Mixed().eval(), torch.randn(3, 8))
    assert [piece.compiled for piece in pieces.pieces] == [True, False, True]
    first, second, third = map(str, pieces.pieces)
    assert first.startswith("polyopt")
    assert "linear" in first
    assert second.startswith("PyTorch")
    assert "the operator aten.cummax.default is not taken" in second
    assert "sigmoid" in third
    assert str(pieces) == f"{first}\n{second}\n{third}"


def test_a_whole_program_is_one_piece():
    pieces = explain_backend(nn.Sequential(nn.Linear(4, 3), nn.ReLU()).eval(), torch.randn(2, 4))
    assert [piece.compiled for piece in pieces.pieces] == [True]
    assert "PyTorch" not in str(pieces)


def test_what_is_not_taken_at_all_runs_on_pytorch(caplog):
    torch._dynamo.reset()
    called = torch.compile(lambda x: torch.cummax(x, 0)[0].view(-1), backend="polyopt")
    with torch.no_grad(), caplog.at_level(logging.WARNING, "polyopt"):
        x = torch.randn(4, 3)
        torch.testing.assert_close(called(x), torch.cummax(x, 0)[0].view(-1))
    assert "not taken, runs on PyTorch" in caplog.text


class Called(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *given):
        return self.function(*given)


def test_integers_at_indices_that_may_be_outside_are_read_on_pytorch(caplog):
    torch._dynamo.reset()
    table, places = torch.arange(12).reshape(4, 3), torch.tensor([0, 1, 3])

    def outside(t, i):
        return t[i * i // 3] + 1

    def inside(t, i):
        return t[(i * i) % 4] + 1

    for function, compiled in ((outside, [False]), (inside, [True])):
        pieces = explain_backend(Called(function), table, places).pieces
        assert [piece.compiled for piece in pieces] == compiled
        with torch.no_grad(), caplog.at_level(logging.WARNING, "polyopt"):
            found = torch.compile(function, backend="polyopt")(table, places)
        torch.testing.assert_close(found, function(table, places))
    assert caplog.text.count("not shown to be in -4 .. 3") == 1


def test_weights_that_change_are_seen_in_pieces():
    torch._dynamo.reset()
    net = Mixed().eval()
    called = torch.compile(net, backend="polyopt")
    x = torch.randn(3, 8)
    with torch.no_grad():
        called(x.clone())
        net.two.weight.mul_(-2)
        found = called(x.clone())[1]
        h = torch.cummax(functional.relu(net.one(x) * 2 + 1), -1)[0]
        torch.testing.assert_close(found, net.two(h).view(-1))


class Beyond(nn.Module):
    """What is read by its place in memory lies outside of the view that is given."""

    def forward(self, x):
        doubled = (x * 2).transpose(0, 1).exp()
        return doubled[1].as_strided((2, 2), (1, 3), 1) + 1, torch.relu(doubled + 3)


def test_what_reads_memory_finds_it_as_pytorch_lays_it_out():
    x = torch.randn(3, 4)
    torch._dynamo.reset()
    with torch.no_grad():
        found = torch.compile(Beyond(), backend="polyopt")(x)
    torch.testing.assert_close(found, Beyond()(x))
    reading, after = explain_backend(Beyond(), x).pieces
    assert [piece.compiled for piece in (reading, after)] == [False, True]
    assert reading.operators[0][0] == "mul"
    assert "as_strided reads memory as PyTorch lays it out" in reading.reason


class Cut(nn.Module):
    """PyTorch traces in two parts: the second gets views, and what they are views of."""

    def forward(self, x, y):
        parts = x.unfold(-1, 2, 2)
        x.add_(1)
        first, second = parts.unbind(0)
        torch._dynamo.graph_break()
        return first.exp(), second + y.sum()


def test_parts_that_are_given_views_compile(caplog):
    x = torch.randn(2, 3, 4)
    torch._dynamo.reset()
    with torch.no_grad(), caplog.at_level(logging.WARNING, "polyopt"):
        given = x.clone()
        found = torch.compile(Cut(), backend="polyopt", dynamic=False)(given, given)
    torch.testing.assert_close(found, Cut()(x, x))
    torch.testing.assert_close(given, x)
    assert "not exported" not in caplog.text
