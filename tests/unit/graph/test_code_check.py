"""The C of networks is read back: shown, kept with the kernels, and able to refuse."""

import gc
from dataclasses import replace

import pytest

from polyopt.codegen.validate.on_build import NOT_CHECKED, CodeCheck
from polyopt.errors import InternalError
from polyopt.graph import compile_graph, compile_model, kernels
from polyopt.graph.kernels import planned
from polyopt.graph.planning import Options


@pytest.fixture
def options(tmp_path):
    """A cache of its own, with checks."""
    return Options(cache=str(tmp_path), check=True)


def test_the_c_of_a_network_is_shown_for_all_sizes(stem, options):
    model = compile_graph(stem, fusion="pointwise", options=options)
    convolution, pool = model.proof.kernels
    assert (convolution.operators, convolution.steps) == ("conv + batch_norm + relu", 1)
    for kernel in (convolution, pool):
        assert "the C read back has the source's values, for all sizes" in kernel.code
        assert len(kernel.proof.obligations) > 1
    first, *lines = str(model.proof).splitlines()
    assert first == "proved: the plans of 2 kernels compute the operators"
    assert [line.split("  ")[1] for line in lines] == ["conv + batch_norm + relu", "max_pool"]


def test_equal_kernels_are_shown_once(net, options):
    n = net(1, 4, 6, 6)
    x = "x"
    for k in range(3):
        x = n.add(f"r{k}", "relu", n.conv(f"c{k}", x, n.const(f"w{k}", 4, 4, 3, 3)))
    (kernel,) = compile_graph(n.graph(x), options=options).proof.kernels
    assert (kernel.operators, kernel.steps) == ("conv + relu", 3)


def test_what_was_shown_is_kept_and_asked_for_once(stem, options, monkeypatch):
    said = str(compile_graph(stem, options=options).proof)
    gc.collect()
    monkeypatch.setattr(CodeCheck, "__call__", lambda _: pytest.fail("checked again"))
    assert str(compile_graph(stem, options=options).proof) == said
    unchecked = compile_graph(stem, options=replace(options, check=False))
    assert [kernel.code for kernel in unchecked.proof.kernels] == [NOT_CHECKED]


@pytest.mark.parametrize(("value", "checks"), [("0", False), ("1", True), (None, True)])
def test_the_environment_gives_the_default(one_layer, monkeypatch, tmp_path, value, checks):
    monkeypatch.setenv("POLYOPT_CACHE", str(tmp_path / value if value else tmp_path))
    if value is None:
        monkeypatch.delenv("POLYOPT_CHECK")
    else:
        monkeypatch.setenv("POLYOPT_CHECK", value)
    for chosen, expected in ((None, checks), (not checks, not checks)):
        shown = compile_model(one_layer, check=chosen).proof.kernels
        assert {kernel.code != NOT_CHECKED for kernel in shown} == {expected}


def test_wrong_c_of_a_network_becomes_no_model(net, options, monkeypatch):
    n = net(2, 3)
    n.add("y", "relu", n.add("s", "add", "x", n.const("a", 2, 3)))

    def wrong(*given):
        made = planned(*given)
        plan, end, code = made.program.source.partition("*/")
        assert code.count("] + ") == 1
        wrong = f"{plan}{end}{code.replace('] + ', '] - ')}"
        return replace(made, program=replace(made.program, source=wrong))

    monkeypatch.setattr(kernels, "planned", wrong)
    with pytest.raises(InternalError):
        compile_graph(n.graph("y"), options=options)
    with pytest.raises(InternalError):  # also where the compiler was done with it
        compile_graph(n.graph("y"), options=options)
    compile_graph(n.graph("y"), options=replace(options, check=False))
