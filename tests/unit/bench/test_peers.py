"""Peers without their packages: names, messages, rows, the fastest schedule, ratios."""

import importlib
import json
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from click.testing import CliRunner

import polyopt as po
from polyopt.bench import peers, runner
from polyopt.bench.machine import Machine
from polyopt.bench.pages.report import against, table
from polyopt.bench.peers import (
    LIBRARIES,
    blas,
    check_peers,
    halide,
    numba,
    opencv,
    parse_peers,
    scipy,
    split_installed,
)
from polyopt.bench.peers.call import Offer, PeerCall, Request, needed, nothing
from polyopt.bench.peers.halide.library import _described, _scalar
from polyopt.bench.runner import Subjects, bench
from polyopt.bench.suites import (
    AFFINE,
    CONTRACTIONS,
    FIELD,
    IMAGES,
    SUITES,
    TIME_STENCILS,
    members,
)
from polyopt.cli import cli
from polyopt.errors import InvalidOptionError, MissingExtraError
from polyopt.library import kernel_names, kernels_dir

MACHINE = Machine("a cpu", 2, "a cc", {1: 10.0, 2: 20.0}, {1: 100.0, 2: 200.0})


def subjects(name="blur"):
    kernel = po.load_kernel(name)
    return Subjects(name, kernel.scop, kernel, kernel.sizes["test"], "images")


def test_names_of_peers_are_parsed_once_each():
    assert parse_peers(" gcc, halide ,,gcc") == ("gcc", "halide")
    assert parse_peers("") == ()


@pytest.mark.parametrize("peer", LIBRARIES)
def test_a_peer_that_is_not_installed_says_how_to_install_it(peer, monkeypatch):
    monkeypatch.setitem(sys.modules, LIBRARIES[peer].partition(".")[0], None)
    monkeypatch.setitem(sys.modules, LIBRARIES[peer], None)
    with pytest.raises(MissingExtraError, match=f"the peer {peer} is not installed") as caught:
        check_peers((peer,))
    assert "hint: pip install 'halide>=19'" in str(caught.value)
    shown = CliRunner().invoke(cli, ["bench", "blur", "--peers", peer])
    assert shown.exit_code == 2
    assert "pip install 'halide>=19'" in shown.stderr
    assert "Traceback" not in shown.output


def test_peers_that_are_not_installed_are_left_out_where_that_is_asked_for(monkeypatch):
    monkeypatch.setattr("polyopt.bench.machine.machine", lambda: MACHINE)
    monkeypatch.setitem(sys.modules, "halide", None)
    options = ["-s", "test", "-n", "2", "-t", "1", "--peers", "gcc,halide", "--installed"]
    result = CliRunner().invoke(cli, ["bench", "blur", *options, "--json"])
    assert result.exit_code == 0, result.output
    assert "note: halide is not installed" in result.stderr
    found = json.loads(result.stdout)
    assert (found["peers"], found["missing"]) == (["gcc", "halide"], ["halide"])
    assert {"polyopt", "gcc"} <= {r["variant"] for r in found["rows"]}
    with pytest.raises(InvalidOptionError, match="no peer is called 'fortran'"):
        split_installed(["fortran"])


def test_a_peer_that_is_not_known_is_a_mistake():
    with pytest.raises(InvalidOptionError, match="no peer is called 'fortran'"):
        check_peers(("gcc", "fortran"))
    shown = CliRunner().invoke(cli, ["bench", "blur", "--peers", "fortran"])
    assert shown.exit_code == 2


class FakePeer:
    """Stands for halide: two schedules of one variant, a wrong one, and one that was not made."""

    def __init__(self):
        self.asked = []

    def calls(self, request):
        library = po.load_kernel(request.kernel)
        self.asked.append(request)

        def make(variant, schedule, seconds, error=0):
            outputs = request.fresh_outputs()

            def run():
                for name, values in library.reference(**request.inputs, **request.sizes).items():
                    outputs[name][...] = values + values.dtype.type(error)
                for _ in range(round(seconds * 1e5)):
                    pass

            return PeerCall(variant, schedule, run, self.threads.append, outputs, 0.25)

        return Offer(
            [
                make("halide-expert", "slow", 0.2), make("halide-expert", "fast", 0.0),
                make("halide-li", "", 0.0, error=1),
            ],
            ["halide-adams of blur: not ready after 60 s"],
        )  # fmt: skip

    threads = ()


@pytest.fixture
def fake(monkeypatch):
    found = FakePeer()
    found.threads = []
    installed(monkeypatch, found)
    return found


def installed(monkeypatch, module):
    """The module takes the place of every peer's, whose package is not asked for."""
    importing = SimpleNamespace(import_module=lambda _name: module)
    monkeypatch.setattr(peers, "importlib", importing)
    monkeypatch.setattr(peers, "needed", lambda *_names: None)


def test_rows_of_peers_stand_beside_ours(fake):
    notes = []
    rows = list(
        bench(subjects(), MACHINE, threads=(1, 2), peers=("halide",), rounds=2, note=notes.append)
    )
    assert notes == ["halide-adams of blur: not ready after 60 s"]
    assert fake.asked[0].threads == (1, 2)
    assert {1, 2} <= set(fake.threads)
    for count in (1, 2):
        found = {r.variant: r for r in rows if r.threads == count}
        assert len(found) == len([r for r in rows if r.threads == count])
        assert "polyopt" in found
        assert found["halide-expert"].schedule == "fast"
        assert found["halide-expert/slow"].agrees
        assert not found["halide-li"].agrees
        assert found["halide-expert"].compile_s == 0.25
    assert {r.suite for r in rows} == {"images"}
    shown = [cells[1] for cells in table(rows)]
    assert "halide-expert" in shown
    assert "halide-expert/slow" not in shown
    lines = list(against(rows))
    assert len(lines) == 2
    assert lines[0].startswith("blur, 1 thread: ")
    assert lines[0].endswith("the speed of halide-expert fast")


def test_the_command_reports_peers_and_forgives_their_mistakes(fake, monkeypatch):
    monkeypatch.setattr("polyopt.bench.machine.machine", lambda: MACHINE)
    options = ["-s", "test", "-n", "2", "-t", "1", "--peers", "halide", "--suite", "images"]
    shown = CliRunner().invoke(cli, ["bench", "blur", "--json", *options])
    assert shown.exit_code == 0, shown.output
    rows = json.loads(shown.stdout)["rows"]
    assert {"halide-expert", "halide-expert/slow", "halide-li"} <= {r["variant"] for r in rows}
    assert "note: halide-adams of blur" in shown.stderr


@pytest.mark.parametrize("peer", [blas, halide, numba, opencv, scipy])
def test_a_peer_without_a_form_of_a_kernel_offers_nothing(peer):
    assert peer.calls(Request("durbin", {}, {}, {})).calls == []


def test_a_peer_that_offers_nothing_says_so(monkeypatch):
    installed(monkeypatch, SimpleNamespace(calls=lambda _request: Offer()))
    offer = peers.offers(("numba", "scipy"), Request("gemm", {}, {}, {}))
    assert offer.notes == ["numba has no form of gemm", "scipy has no form of gemm"]


@pytest.fixture
def plain_numba(monkeypatch):
    """Python itself stands for Numba; what it was asked for is kept."""
    asked = []

    def njit(**options):
        asked.append(options)
        return lambda function: function

    module = SimpleNamespace(
        njit=njit, prange=range, set_num_threads=lambda _threads: None,
        config=SimpleNamespace(NUMBA_NUM_THREADS=2),
    )  # fmt: skip
    monkeypatch.setitem(sys.modules, "numba", module)
    return asked


def asked_for(name, threads=(1, 2)):
    kernel = po.load_kernel(name)
    sizes = kernel.sizes["test"]
    inputs = kernel.inputs(sizes, np.random.default_rng(0))
    expected = kernel.reference(**inputs, **sizes)
    return Request(name, sizes, inputs, expected, threads, kernel.scop), expected


def test_numba_gets_the_loops_of_any_program(plain_numba, monkeypatch):
    times = iter([3.0, 2.0, 1.0])  # alone; on two threads alone, and with prange
    monkeypatch.setattr(numba._Memory, "seconds", lambda *_: next(times))
    given, expected = asked_for("lu")
    offer = numba.calls(given)
    assert [(c.schedule, c.threads) for c in offer.calls] == [
        ("one thread", (1,)),
        ("prange", (2,)),
    ]
    assert [o["parallel"] for o in plain_numba] == [False, True]
    assert all(o["fastmath"] == {"contract"} for o in plain_numba)
    for call in offer.calls:
        for _ in range(2):
            call.restore()
            call.run()
        np.testing.assert_allclose(call.outputs["A"], expected["A"])
    np.testing.assert_array_equal(given.inputs["A"], asked_for("lu")[0].inputs["A"])


def test_numba_has_one_form_where_no_loop_is_independent(plain_numba):
    (call,) = numba.calls(asked_for("seidel_2d")[0]).calls
    assert (call.schedule, call.threads) == ("one thread", (1, 2))
    assert len(plain_numba) == 1


def test_numba_says_what_it_cannot_take(plain_numba):
    offer = numba.calls(asked_for("smvp")[0])
    assert offer.calls == []
    assert offer.notes == ["numba of smvp: no Python for control that depends on data"]


def test_halide_refuses_images_smaller_than_its_tiles():
    small = np.zeros((13, 19), np.uint16)
    offer = halide.calls(Request("blur", {}, {}, {"out": small}))
    assert offer.calls == []
    assert "need 256 x 256 at least" in offer.notes[0]


def test_halide_sees_the_innermost_dimension_first():
    array = np.zeros((3, 5, 7), np.uint16)[:, :, :6]
    seen = _described(array)
    assert [(seen.dim[d].extent, seen.dim[d].stride) for d in range(3)] == [(6, 1), (5, 7), (3, 35)]
    assert (seen.code, seen.bits, seen.dimensions) == (1, 16, 3)
    assert seen.host == array.ctypes.data
    assert _scalar(np.float32(0.5)).value == 0.5


def test_pipelines_and_their_schedules_have_names():
    for name in set(halide.PIPELINES.values()):
        module = importlib.import_module(f"polyopt.bench.peers.halide.{name}")
        assert len(module.SCHEDULES) >= 2
        assert callable(module.define)


@pytest.mark.parametrize(("error", "agrees"), [(0, True), (1, True), (2, False)])
def test_few_outliers_of_a_peer_count_only_if_they_stay_without_rounding(error, agrees):
    expected = {"out": np.zeros((20, 20), np.uint16)}

    def form(value, exact=None):
        outputs = {"out": np.zeros((20, 20), np.uint16)}
        outputs["out"][3, 3] = value
        return PeerCall("halide-li", "", lambda: None, nothing, outputs, 0.0, exact)

    assert runner._theirs(form(9, lambda: form(error)), 1, expected).agrees is agrees
    assert not runner._theirs(form(9), 1, expected).agrees


def test_suites_have_members_that_exist():
    assert set(members(IMAGES)) >= {"blur", "blur_f32", "harris", "unsharp"}
    assert set(members(IMAGES)) < set(members("kernels"))
    assert len(members(AFFINE)) == 30
    assert {*CONTRACTIONS, *TIME_STENCILS} < set(members(AFFINE)) < set(members("kernels"))
    assert {"kernels", IMAGES, AFFINE, FIELD} == set(SUITES)


def test_the_field_is_measured_where_it_is_named():
    field = {path.stem for path in (kernels_dir() / FIELD).glob("*.py")}
    assert set(members(FIELD)) == field
    assert len(field) >= 100
    assert not field & {*members("kernels"), *members(IMAGES), *members(AFFINE)}
    assert field | set(members("kernels")) == set(kernel_names())


def test_what_is_installed_is_imported_and_serial_peers_ignore_threads():
    assert needed("json", "json") is json
    assert nothing(2) is None
