"""Compilers as peers: what they are given, which of their forms is measured, which there are."""

import shutil
from dataclasses import replace

import numpy as np
import pytest

import polyopt as po
from polyopt.bench.conditions import conditions
from polyopt.bench.exact import is_exact
from polyopt.bench.machine import Machine
from polyopt.bench.peers import check_peers, compilers, split_installed
from polyopt.bench.peers.call import Request
from polyopt.bench.peers.compilers import COMPILERS, Compiler, calls
from polyopt.bench.peers.source import Memory, build, source_text
from polyopt.bench.runner import Subjects, bench
from polyopt.errors import CompilerFailedError, CompilerMissingError, MissingExtraError
from polyopt.library import load_scop
from polyopt.runtime.toolchain import find_toolchain

MACHINE = Machine("a cpu", 2, "a cc", {1: 10.0, 2: 20.0}, {1: 100.0, 2: 200.0})
IN_PLACE = """
void twice(int N, float by, float a[restrict N], float sum[restrict N])
{
    for (int i = 0; i < N; i++) {
        a[i] = by * a[i];
        sum[i] = a[i] + by;
    }
}
"""


@pytest.fixture
def cc(monkeypatch):
    """The compiler that is there stands for a peer: alone, and with flags for threads."""
    command = find_toolchain().command[0]
    known = {"gcc": Compiler(command), "graphite": Compiler(command, (), ("-DTHREADS={threads}",))}
    monkeypatch.setattr(compilers, "COMPILERS", {**COMPILERS, **known})
    compilers.check_compiler.cache_clear()
    yield command
    compilers.check_compiler.cache_clear()


def request(name="lu", threads=(1,), size="test"):
    kernel = po.load_kernel(name)
    sizes = kernel.sizes[size]
    inputs = kernel.inputs(sizes, np.random.default_rng(0))
    expected = kernel.reference(**inputs, **sizes)
    return Request(name, sizes, inputs, expected, threads, kernel.scop)


@pytest.mark.parametrize("known", [False, True])
def test_the_source_itself_is_compiled_and_called(known, tmp_path):
    (tmp_path / "twice.c").write_text(IN_PLACE)
    scop = po.parse_c(tmp_path / "twice.c")
    text = source_text(scop, {"N": 4})
    assert text.text == IN_PLACE
    a, sizes = np.arange(4, dtype="f4"), {"N": 4}
    memory = Memory(text, sizes, {"a": a, "by": 3.0}, {"a": a, "sum": np.zeros(4, "f4")})
    made = build(text, find_toolchain(), (), known=sizes if known else None)
    for _ in range(2):
        memory.restore()
        memory.call(made)
        np.testing.assert_array_equal(memory.results["a"], 3 * a)
        np.testing.assert_array_equal(memory.results["sum"], 3 * a + 3)
    np.testing.assert_array_equal(a, np.arange(4))


def test_a_program_without_c_is_compiled_unfused():
    given = request("stencil_chain")
    text = source_text(given.scop, given.sizes)
    assert text.text == po.Plan(given.scop).emit().source
    memory = Memory(text, given.sizes, given.inputs, given.outputs)
    memory.call(build(text, find_toolchain(), ("-O1",)))
    np.testing.assert_allclose(memory.results["out"], given.outputs["out"], rtol=1e-4)


def test_what_does_not_fit_on_a_stack_is_compiled_unfused():
    scop = load_scop("harris")
    small, large = ({"H": n, "W": n} for n in (50, 500))
    assert "float gray[H - 2][W - 2];" in source_text(scop, small).text
    assert source_text(scop, large).text == po.Plan(scop).emit().source


def test_scalars_of_iterations_take_no_stack():
    scop = load_scop("ludcmp")
    assert scop.source is not None
    assert source_text(scop, {"N": 5000}).text == scop.source.text


def test_the_fastest_form_is_offered_for_each_number_of_threads(cc, monkeypatch):
    times = {(False, 1): None, (True, 1): 3.0, (True, 2): 2.0}
    monkeypatch.setattr(compilers._Forms, "seconds", lambda _self, *form: times[form])
    offer = calls(request(threads=(1, 2)), "graphite")
    found = {c.threads: (c.variant, c.schedule) for c in offer.calls}
    assert found == {
        (1,): ("graphite", "constant sizes"),
        (2,): ("graphite", "constant sizes, parallel"),
    }
    times[True, 2] = 5.0
    assert [c.threads for c in calls(request(threads=(1, 2)), "graphite").calls] == [(1, 2)]


def test_rows_of_compilers_stand_beside_ours(cc):
    given = request(threads=(1, 2))
    what = Subjects("lu", given.scop, po.load_kernel("lu"), given.sizes, "affine")
    rows = list(bench(what, MACHINE, threads=(1, 2), peers=("gcc", "graphite"), rounds=2))
    for count in (1, 2):
        found = {r.variant: r for r in rows if r.threads == count}
        assert list(found) == ["polyopt", "polyopt-unfused", "gcc", "graphite"]
        assert all(row.agrees for row in found.values())
        assert found["polyopt"].exact is True
        assert found["gcc"].exact is None
        assert "size" in found["gcc"].schedule


def test_a_form_that_does_not_compile_is_noted(cc, monkeypatch):
    def fails(*_args, **_named):
        raise CompilerFailedError("the C compiler did not finish within 60 s")

    monkeypatch.setattr(compilers, "build", fails)
    offer = calls(request(), "gcc")
    assert offer.calls == []
    assert set(offer.notes) == {"gcc of lu: the C compiler did not finish within 60 s"}


@pytest.mark.parametrize(
    ("compiler", "reason"),
    [(Compiler("no-such-cc"), "not found"), (Compiler("cc", ("--no-such-flag",)), "no-such-flag")],
)
def test_a_compiler_that_is_not_there_is_missing(monkeypatch, compiler, reason):
    command = compiler.command if compiler.command != "cc" else find_toolchain().command[0]
    monkeypatch.setitem(COMPILERS, "polly", replace(compiler, command=command))
    compilers.check_compiler.cache_clear()
    with pytest.raises(MissingExtraError, match=rf"polly is not installed \(.*{reason}"):
        check_peers(("polly",))
    assert split_installed(("polly",)) == ((), ("polly",))
    compilers.check_compiler.cache_clear()


def test_bits_that_differ_are_seen():
    given = request("gesummv")
    plan = po.Plan(given.scop)
    assert is_exact(given.scop, plan, given.inputs, given.sizes, given.outputs)
    wrong = po.parse_c(given.scop.source.text.replace("= alpha *", "= 1.0000000001 * alpha *"))
    assert not is_exact(wrong, plan, given.inputs, given.sizes, given.outputs)


def test_the_compilers_of_this_machine_answer():
    there, missing = split_installed(tuple(COMPILERS))
    assert {*there, *missing} == set(COMPILERS)
    assert ("gcc" in there) == (shutil.which("gcc") is not None)


def test_conditions_have_no_version_of_a_compiler_that_is_not_there(monkeypatch):
    def missing(command):
        message = f"the C compiler {command!r} was not found"
        raise CompilerMissingError(message)

    monkeypatch.setattr(compilers, "find_toolchain", missing)
    assert "clang" not in conditions(["bench"], ("clang",))["versions"]
