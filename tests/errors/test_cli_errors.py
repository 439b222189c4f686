"""Mistakes on the command line: exit code 2, one clear message, no traceback."""

import json
import os
import signal
import subprocess
import sys

import numpy as np
import pytest
from click.testing import CliRunner

from polyopt.bench.machine import Machine
from polyopt.cli import cli

CALM = "void f(int N, float a[N]) { for (int i = 0; i < N; i++) a[i] = 1.0f; }\n"
WILD = "void f(int N, float a[N]) { for (int i = 0; i < N; i++) a[i * i] = 1.0f; }\n"


@pytest.fixture
def fails(tmp_path, monkeypatch):
    """Runs a command line that has to fail, in an empty folder; its code and its stderr."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments, code=2):
        result = CliRunner().invoke(cli, [str(a) for a in arguments])
        assert result.exit_code == code, result.output
        assert "Traceback" not in result.output
        assert result.stdout == ""
        return result.stderr

    return run


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "blurr"], "unknown-name: no kernel is called 'blurr'\n  hint: did you mean blur"),
        (["emit", "none.c"], "unknown-name: there is no file none.c\n"),
        (["emit", "none.py:f"], "unknown-name: there is no file none.py\n"),
        (["emit", "none.py"], "unknown-name: there is no file none.py\n"),
        (["emit", "blur", "--size", "Q=3"], "invalid-option: blur has no size 'Q'\n  hint: there are: H, W\n"),
        (["emit", "blur", "--size", "H=x"], "invalid-option: --size H=x: 'x' is not a whole number\n"),
        (["emit", "blur", "--size", "H=0"], "invalid-option: --size H=0: sizes are 1 or more\n"),
        (["emit", "blur", "--size", f"H={10**20}"], f"invalid-option: --size H={10**20}: this is too large\n"),
        (["run", "blur", "--size", "H=100000000,W=100000000"], "error: not enough memory: Unable to allocate"),
        (["emit", "blur", "--size", "huge"], "invalid-option: --size 'huge' is neither NAME=NUMBER nor"),
        (["run", "blur", "--size", "H=2"], "bad-argument: the program needs H >= 3\n  note: H = 2 as given\n"),
        (["emit", "blur", "--unfused", "--expert"], "invalid-option: --unfused, --expert and --plan each"),
        (["emit", "blur", "--target", "pdp11"], "invalid-option: no target is called 'pdp11'\n  hint: there are: native,"),
        (["emit", "blur", "--plan", "none.json"], "invalid-option: none.json cannot be read: No such file or directory"),
        (["emit", "blur", "-o", "none/blur.c"], "invalid-option: none/blur.c cannot be written: No such file or directory\n"),
        (["run", "blur", "-i", "none.npy"], "invalid-option: none.npy cannot be read: No such file or directory\n"),
        (["run", "blur", "-i", "out=none.npy"], "unknown-name: blur has no input out for none.npy\n  hint: inputs are: img\n"),
        (["bench", "blur", "--peers", "nobody"], "invalid-option: no peer is called 'nobody'\n  hint: there are:"),
        (["bench", "--suite", "nn", "--fusions", "2mm"], "--fusions, --reassociate and --size are for programs, not for networks\n  hint: leave them out"),
        (["bench", "unsharp", "--sweep", "--peers", "halide"], "--sweep measures tile sizes of the automatic plan, not --peers\n  hint: leave one"),
        (["bench", "--sweep", "--compile-time"], "of the automatic plan, not --compile-time\n"),
        (["bench", "trisolv", "--sweep"], "the plan of trisolv has neither strips nor tiles to sweep\n  hint: polyopt tune"),
        (["bench", "blur", "--threads", "0"], "'0' is not a number of threads; write 1,2 or all"),
        (["bench", "blur", "--threads", "1,99999999"], "'99999999' is not a number of threads"),
        (["run", "blur", "--threads", "99999999"], "Invalid value for '--threads'"),
        (["run", "blur", "--threads", "0"], "Invalid value for '--threads'"),
        (["blurb"], "No such command 'blurb'."),
        (["emit"], "Missing argument 'PROGRAM'."),
        (["emit", "blur", "--fused"], "No such option"),
    ],
)  # fmt: skip
def test_messages(fails, arguments, message):
    assert message in fails(*arguments)


def test_a_program_outside_the_model_is_shown_with_a_caret(fails, tmp_path):
    (tmp_path / "wild.c").write_text(WILD)
    shown = fails("emit", "wild.c")
    assert shown.startswith("wild.c:1:")
    assert ": non-affine: " in shown
    assert "^" in shown


def test_a_python_file_that_fails_is_the_users(fails, tmp_path):
    (tmp_path / "fails.py").write_text("def f():\n    return 1 // 0\n")
    shown = fails("emit", "fails.py:f")
    assert shown.startswith("invalid-option: fails.py:2: ZeroDivisionError: ")
    (tmp_path / "broken.py").write_text("import nothing_of_that_name\n")
    assert fails("emit", "broken.py:f").startswith(
        "invalid-option: broken.py:1: ModuleNotFoundError: "
    )


def test_a_line_of_a_generator_is_not_shown_in_full(fails, tmp_path):
    heads = "".join(f"for (int i{k} = 0; i{k} < N; i{k}++) " for k in range(2_000))
    (tmp_path / "deep.c").write_text(f"void f(int N, float a[N]) {{ {heads} a[0] = 1; }}\n")
    shown = fails("emit", "deep.c")
    assert ": too-deep: " in shown
    assert max(map(len, shown.splitlines())) < 250


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"no array", "img.npy is not an array in NumPy's .npy format"),
        (b"", "img.npy is not an array in NumPy's .npy format"),
    ],
)
def test_files_that_are_no_arrays(fails, tmp_path, content, message):
    (tmp_path / "img.npy").write_bytes(content)
    assert message in fails("run", "blur", "-i", "img.npy")


def test_several_arrays_in_one_file(fails, tmp_path):
    np.savez(tmp_path / "img.npz", a=np.zeros(3))
    assert "img.npz holds several arrays" in fails("run", "blur", "-i", "img.npz")


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.zeros((8, 8)), "bad-argument: img is an array of float64, but uint16 is needed"),
        (np.zeros(8, np.uint16), "bad-argument: img has 1 dimension, but 2 are needed"),
        (np.zeros((2, 8), np.uint16), "bad-argument: the program needs H >= 3"),
        (np.zeros((0, 8), np.uint16), "bad-argument: img.shape[0] is 0: sizes have to be positive"),
    ],
)
def test_arrays_that_do_not_fit(fails, tmp_path, array, message):
    np.save(tmp_path / "img.npy", array)
    assert message in fails("run", "blur", "-i", "img.npy")


def test_arrays_and_sizes_that_contradict_each_other(fails, tmp_path):
    np.save(tmp_path / "img.npy", np.zeros((8, 8), np.uint16))
    shown = fails("run", "blur", "-i", "img.npy", "--size", "H=9")
    assert "bad-argument: img has shape (8, 8), but (9, 8) is needed" in shown
    assert "H = 9 as given" in shown


def test_a_failed_run_writes_nothing(fails, tmp_path):
    fails("run", "blur", "--size", "H=2", "-o", "results")
    fails("emit", "blur", "-o", "x/blur.c")
    assert list(tmp_path.iterdir()) == []


def test_a_missing_compiler(fails, monkeypatch):
    monkeypatch.setenv("POLYOPT_CC", "no-such-compiler")
    shown = fails("run", "blur", "--size", "test")
    assert shown.startswith("compiler-missing: the C compiler 'no-such-compiler' was not found\n")


def test_an_unwritable_cache(fails, tmp_path, monkeypatch):
    (tmp_path / "cache").write_text("a file")
    monkeypatch.setenv("POLYOPT_CACHE", str(tmp_path / "cache"))
    assert fails("run", "blur", "--size", "test").startswith("cache-unusable: ")


def test_an_unexpected_error_asks_for_a_report(fails, monkeypatch):
    def break_down(*_, **__):
        message = "the [red]left[/red] hand\nand more"
        raise ZeroDivisionError(message)

    monkeypatch.setattr("polyopt.cli.commands.writing.load_program", break_down)
    shown = fails("emit", "blur", code=1)
    assert shown == (
        "internal error: ZeroDivisionError: the [red]left[/red] hand\n"
        "  hint: this is a defect in polyopt; please report it with your input\n"
        "  hint: POLYOPT_DEBUG=1 shows where it happened; add that to the report\n"
    )


def test_debugging_shows_the_traceback(monkeypatch):
    monkeypatch.setenv("POLYOPT_DEBUG", "1")
    result = CliRunner().invoke(cli, ["emit", "blurr"])
    assert result.exit_code == 2
    assert "Traceback (most recent call last)" in result.stderr


def test_interruption_has_its_own_code(fails, monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("polyopt.cli.commands.writing.load_program", interrupt)
    assert fails("emit", "blur", code=130) == "interrupted\n"


def test_ctrl_c_ends_a_running_command(tmp_path):
    program = tmp_path / "slow.py"
    program.write_text(
        "import pathlib, signal, time\n"
        # what a shell runs in the background ignores it
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        f"pathlib.Path({str(tmp_path / 'started')!r}).touch()\n"
        "time.sleep(600)\n"
    )
    child = subprocess.Popen(
        [sys.executable, "-m", "polyopt", "emit", f"{program}:f"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    with child:
        while not (tmp_path / "started").exists():
            assert child.poll() is None
        child.send_signal(signal.SIGINT)
        out, err = child.communicate()
    assert (child.returncode, out, err) == (130, "", "interrupted\n")


@pytest.mark.parametrize(
    ("command", "code", "message"),
    [
        ("run", 2, "polyopt does not agree with the NumPy reference"),
        (
            "bench",
            1,
            "results differ from the reference's: polyopt of blur, polyopt-unfused of blur",
        ),
    ],
)
def test_a_result_that_does_not_agree(command, code, message, monkeypatch):
    monkeypatch.setattr("polyopt.bench.runner.share_of_outliers", lambda *_: 1.0)
    known = Machine("a cpu", 1, "a cc", {1: 10.0}, {1: 100.0})  # measured in seconds
    monkeypatch.setattr("polyopt.bench.machine.machine", lambda: known)
    arguments = [command, "blur", "--size", "test", "--threads", "1", "--json"]
    result = CliRunner().invoke(cli, arguments)
    assert result.exit_code == code
    assert message in result.stderr
    found = json.loads(result.stdout)
    # a copy computes nothing that could be compared
    computed = [row for row in found.get("rows", [found]) if row.get("variant") != "copy"]
    assert computed
    assert not any(row["agrees"] for row in computed)


def test_a_broken_pipe_is_silent():
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as pipe:
        done = subprocess.run(
            [sys.executable, "-m", "polyopt", "emit", "blur", "--unfused"],
            stdout=pipe, stderr=subprocess.PIPE, text=True, check=False,
        )  # fmt: skip
    assert (done.returncode, done.stderr) == (141, "")


def test_the_demo_says_what_it_needs(fails, monkeypatch, tmp_path):
    monkeypatch.setattr("polyopt.cli.views.photo.find_spec", lambda name: None)
    shown = fails("demo", "--out", "shown")
    assert shown.startswith("missing-extra: the demo needs matplotlib's sample photograph\n")
    assert "hint: pip install 'matplotlib>=3.8' 'pillow>=10'" in shown
    assert list(tmp_path.iterdir()) == []
