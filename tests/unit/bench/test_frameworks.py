"""Networks beside frameworks: processes of their own, patterns of names, the page."""

import json
import os
import signal
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from polyopt.bench.nn import SUBJECTS, matching
from polyopt.bench.pages.compose import page
from polyopt.bench.pages.markdown import Making
from polyopt.bench.pages.reading import read
from polyopt.bench.peers.apart import Apart, serve
from polyopt.bench.peers.frameworks import Made
from polyopt.cli import cli
from polyopt.errors import PolyoptError, UnknownNameError
from polyopt.runtime.measuring.alternate import alternate
from tests.unit.bench.test_affine import tables
from tests.unit.bench.test_pages import row as image_row
from tests.unit.bench.test_pages import times as document

PEERS = ("onnxruntime", "openvino", "torch", "inductor")
MAKING = Making("nn.json", "nn.svg", "polyopt report nn.json -o nn.md")


# -- a process of its own ---------------------------------------------------------------------


def state_of(pid):
    """The kernel's letter for what a process does: T where it is stopped."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def test_a_peer_that_is_not_installed_says_so_and_is_stopped_between_its_turns():
    with Apart("openvino") as peer:
        with pytest.raises(PolyoptError, match=r"openvino is not installed"):
            peer.make(b"", np.zeros(1, np.float32), (1,))
        pid = peer._process.pid
        assert state_of(pid) == "T"
        os.kill(pid, signal.SIGKILL)
        with pytest.raises(PolyoptError, match="the process of openvino ended"):
            peer.make(b"", np.zeros(1, np.float32), (1,))
    assert not Path(f"/proc/{pid}").exists()


class Pipe:
    """Both ends of a conversation that is over when all was asked."""

    def __init__(self, *requests):
        self.requests, self.answers = list(requests), []

    def recv(self):
        if not self.requests:
            raise EOFError
        return self.requests.pop(0)

    def send(self, answer):
        self.answers.append(answer)


def test_what_a_process_answers():
    calls = []

    def made(_peer, model, x, threads):
        if not model:
            raise ValueError("no model\nat all")
        return Made(calls.append, x * len(threads), 0.5)

    x = np.ones(3, np.float32)
    pipe = Pipe(("make", b"", x, (1,)), ("make", b"net", x, (1, 2)), ("time", 1, 3, True))
    serve("torch", pipe, made)
    refused, (fine, (result, seconds)), (_, taken) = pipe.answers
    assert refused == (False, "no model")
    assert (fine, result.tolist(), seconds) == (True, [2, 2, 2], 0.5)
    assert len(calls) >= 1 + 3  # it warms up for a while
    assert set(calls) == {1}
    assert taken >= 0


def test_samples_are_taken_over_there():
    class There(Apart):
        def __init__(self):
            self.asked = []

        def _asked(self, *request):
            self.asked.append(request)
            return 0.25

    peer = There()
    sample = alternate({"torch": peer.subject(2)}, rounds=7)["torch"]
    assert (sample.median_ms, sample.runs) == (250.0, 7)
    assert set(peer.asked) == {("time", 2, 1, False)}


# -- names ------------------------------------------------------------------------------------


def test_subjects_by_name_and_pattern():
    assert matching(()) == tuple(SUBJECTS)
    assert matching(("resnet50", "depthwise*", "depthwise_32_112_1"))[0] == "depthwise_32_112_1"
    assert matching(("resnet50",)) == ("resnet50",)
    with pytest.raises(UnknownNameError, match="no subject of networks is called 'vgg'"):
        matching(("resnet50", "vgg"))


# -- the page ---------------------------------------------------------------------------------


def row(*args, **others):
    return {**image_row(*args, **others), "suite": "nn"}


ROWS = [
    row("conv_3_64_224_7_2", "polyopt", 2.0, fraction=0.5),
    row("conv_3_64_224_7_2", "polyopt-unfused", 4.0),
    row("conv_3_64_224_7_2", "polyopt-blocked", 1.5),
    row("conv_3_64_224_7_2", "onnxruntime", 4.0), row("conv_3_64_224_7_2", "torch", 3.0),
    row("conv_64_64_56_3_1", "polyopt", 2.0, fraction=0.99),
    row("conv_64_64_56_3_1", "onnxruntime", 1.0), row("conv_64_64_56_3_1", "torch", 9.0, agrees=False),
    row("bn_relu_pool", "polyopt", 1.0, 2), row("bn_relu_pool", "polyopt-unfused", 2.5, 2),
    row("bn_relu_pool", "onnxruntime", 6.0, 2), row("bn_relu_pool", "inductor", 2.0, 2),
]  # fmt: skip


def text(rows=ROWS, **others):
    return page(read(json.dumps(document(rows, PEERS, **others)), "nn.json"), MAKING)


def test_groups_have_geometric_means_and_goals():
    groups, goals, _ = tables(text().markdown)
    conv, pool = groups
    assert conv == {
        "group": "convolution + BN + ReLU", "subjects": "2", "threads": "1",
        "ONNX Runtime / ours": "**1.00**", "OpenVINO / ours": "-",
        "torch eager / ours": "**1.50** (1 of 2)", "Inductor / ours": "-",
        "ours unfused / ours": "**2.00** (1 of 2)", "of the limit": "70%",
    }  # fmt: skip
    assert (pool["threads"], pool["Inductor / ours"]) == ("2", "**2.00**")
    told = [tuple(g.values()) for g in goals]
    assert told == [
        ("convolution + BN + ReLU", "ONNX Runtime", "1", ">= 1.3", "1.00", "**no**"),
        ("convolution + BN + ReLU", "the limit", "1", ">= 0.7", "0.70", "yes"),
        ("BN + ReLU + MaxPool", "fastest of Inductor, ONNX Runtime", "2", ">= 3", "2.00", "**no**"),
        ("BN + ReLU + MaxPool", "ours unfused", "2", ">= 2", "2.50", "yes"),
    ]


def test_subjects_stand_beside_the_fastest_that_agrees():
    found = text(notes=["inductor of conv_3_64_224_7_2: no compiler"])
    *_, subjects = tables(found.markdown)
    first, second, _ = subjects
    assert (first["in blocks ms"], first["unfused ms"], first["fastest / ours"]) == (
        "1.500", "4.000", "1.50 (1.50-1.50)",
    )  # fmt: skip
    assert (second["torch eager ms"], second["agree"]) == ("-", "**NO**: torch")
    assert "- inductor of conv\\_3" in found.markdown or "- inductor of conv_3" in found.markdown
    assert "torch of conv_64_64_56_3_1: its results" in found.markdown
    assert ">0.87<" in found.svg  # the mean of 1.5 and 0.5
    assert ">not measured<" in found.svg


def test_a_goal_without_peers_is_not_measured():
    _, goals, _ = tables(text([row("resnet50", "polyopt", 1.0)]).markdown)
    *others, _ = goals
    assert {(g["measured"], g["reached"]) for g in others} == {("-", "not measured")}


@pytest.mark.parametrize(("seconds", "told"), [(30.25, "yes"), (120.0, "**no**")])
def test_compiling_has_a_goal(seconds, told):
    rows = [row("resnet50", "polyopt", 1.0, count, compile_s=seconds) for count in (1, 2)]
    _, goals, _ = tables(text(rows).markdown)
    assert tuple(goals[-1].values()) == (
        "ResNet-50", "compiled, nothing cached", "", "< 120 s", f"{seconds:.1f} s", told,
    )  # fmt: skip


def test_what_fusing_saves_is_told_where_bytes_were_counted():
    rows = [
        row("resnet50_batch8", "polyopt", 300.0, moved_mb=800.0),
        row("resnet50_batch8", "polyopt-unfused", 330.0, moved_mb=1700.0),
        row("resnet50", "polyopt", 40.0), row("resnet50", "polyopt-unfused", 41.0),
    ]  # fmt: skip
    found = document(rows, PEERS)
    found["machine"]["bandwidth_gbs"] = {"1": 30.0}
    shown = page(read(json.dumps(found), "nn.json"), MAKING)
    _, _, saved, _ = tables(shown.markdown)
    # 900 MB at 30 GB/s are 30 ms of 330
    assert [tuple(line.values()) for line in saved] == [
        ("resnet50_batch8", "1", "1700.0", "800.0", "30.00", "330.000", "1.10", "1.10")
    ]


def test_one_subject_measured_by_the_shell(tmp_path):
    arguments = ["bench", "--suite", "nn", "bn_relu_*", "--threads", "1", "-n", "1", "--json"]
    result = CliRunner().invoke(cli, arguments)
    assert result.exit_code == 0, result.stderr
    (tmp_path / "nn.json").write_text(result.stdout)
    shown = CliRunner().invoke(
        cli, ["report", str(tmp_path / "nn.json"), "-o", str(tmp_path / "nn.md")]
    )
    assert shown.exit_code == 0, shown.output
    assert "# Networks beside frameworks" in (tmp_path / "nn.md").read_text()
