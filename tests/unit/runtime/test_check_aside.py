"""The check of C that goes on in another process: heard of on asking, on the next call, at the end."""

import os
import subprocess
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest

import polyopt as po
from polyopt.codegen.emit import emit
from polyopt.codegen.validate.on_build import NOT_CHECKED
from polyopt.errors import WrongCodeError
from polyopt.runtime.cache import KernelCache
from polyopt.runtime.checking.aside import Pending
from polyopt.runtime.checking.worker import come_forward

TEXT = """
void twice(int N, const double a[restrict N], double out[restrict N])
{
    for (int i = 0; i < N; i++)
        out[i] = 2.0 * a[i];
}
"""


@pytest.fixture(autouse=True)
def checks(monkeypatch):
    monkeypatch.delenv("POLYOPT_CHECK", raising=False)


@pytest.fixture
def plan():
    return po.Plan(po.parse_c(TEXT))


def said(kernel):
    return kernel.proof.obligations[-1].detail


def wrong_emit(program, **options):
    right = emit(program, **options)
    assert "2.0 * a[i]" in right.source
    return replace(right, source=right.source.replace("2.0 * a[i]", "2.5 * a[i]"))


def pending(check):
    """A check, and what is heard of it."""
    heard = []
    made = Pending("f", check, lambda text: heard.append(("shown", text)),
                   lambda: heard.append("refused"))  # fmt: skip
    return made, heard


def test_it_shows_what_a_check_before_shows_and_keeps_it(plan, tmp_path):
    before = said(plan.compile(cache=tmp_path / "before", check=True))
    kernel = plan.compile(cache=tmp_path / "later", check="later")
    assert kernel(np.ones(3)).tolist() == [2.0, 2.0, 2.0]
    assert said(kernel) == kernel.checked == before
    again = plan.compile(cache=tmp_path / "later", check="later")
    assert again.built.pending is None
    assert said(again) == before


def test_wrong_c_is_refused_on_asking_and_on_every_call_after(plan, tmp_path):
    with patch("polyopt.codegen.emit.emit", wrong_emit):
        kernel = plan.compile(cache=tmp_path, check="later")
    with pytest.raises(WrongCodeError, match="the C of twice is wrong"):
        _ = kernel.proof
    for _ in range(2):
        with pytest.raises(WrongCodeError):
            kernel(np.ones(3))
    assert KernelCache(tmp_path).list() == []


def test_what_has_no_door_for_later_calls_waits(plan, tmp_path):
    with patch("polyopt.codegen.emit.emit", wrong_emit):
        kernel = plan.compile(cache=tmp_path, check="later")
    with pytest.raises(WrongCodeError):
        kernel.bind(np.ones(3))


def test_the_environment_turns_it_off(plan, tmp_path, monkeypatch):
    monkeypatch.setenv("POLYOPT_CHECK", "0")
    assert said(plan.compile(cache=tmp_path, check="later")) == NOT_CHECKED


def test_a_jit_function_raises_and_python_does_not_stand_in(tmp_path, monkeypatch):
    monkeypatch.setenv("POLYOPT_CACHE", str(tmp_path))

    @po.jit
    def twice(a):
        return 2.0 * a

    def wrong(program, **options):
        right = emit(program, **options)
        return replace(right, source=right.source.replace("2.0 * ", "2.5 * "))

    with patch("polyopt.codegen.emit.emit", wrong):
        twice.compile(np.ones(3))
    with pytest.raises(WrongCodeError):
        _ = twice.kernel.proof
    with pytest.raises(WrongCodeError):
        twice(np.ones(3))


def test_a_process_that_ends_decides_nothing_and_keeps_nothing():
    made, heard = pending(partial(os._exit, 3))
    text = made.result()
    assert "not decided: the process that checked it ended with status 3" in text
    assert heard == []
    other, heard = pending(partial(str, "all well"))  # the next check has another process
    assert other.result() == "all well"
    assert heard == [("shown", "all well")]


def test_a_check_that_fails_is_no_check_that_holds():
    made, heard = pending(partial(int, "x"))
    with pytest.raises(WrongCodeError, match="ValueError"):
        made.result()
    assert heard == ["refused"]


def test_a_check_that_does_not_travel_is_made_here():
    made, heard = pending(lambda: "here")
    assert made.result() == "here"
    assert heard == [("shown", "here")]


SCRIPT = """
import os, sys
from functools import partial
from polyopt.runtime.checking.aside import Pending
from polyopt.runtime.checking.worker import come_forward

quiet = lambda *_: None
good = Pending("good", partial(str, "well"), quiet, quiet)
bad = Pending("bad", partial(int, "x"), quiet, quiet)
told = Pending("told", partial(int, "y"), quiet, quiet)
late = Pending("late", partial(eval, "__import__('time').sleep(1) or 'late'"), quiet, quiet)
try:
    told.result()
except Exception:
    pass
if "fork" in sys.argv:
    child = os.fork()
    if not child:
        print(late.result(), flush=True)
        os._exit(0)
    os.waitpid(child, 0)
"""


@pytest.mark.parametrize("mode", ["plain", "fork"])
def test_the_end_of_a_process_waits_and_says_what_was_refused(mode):
    root = Path(po.__file__).parents[1]
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, mode],
        env={**os.environ, "PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    assert "the C of bad is wrong" in done.stderr
    assert "told" not in done.stderr  # that was raised already
    assert done.stdout.split() == (["late"] if mode == "fork" else [])


@pytest.mark.skipif(sys.platform != "linux", reason="the scheduler is Linux's")
def test_it_stands_back_until_somebody_waits():
    script = "import os, sys; from polyopt.runtime.checking import worker; worker.stand_back();"
    script += " print(os.sched_getscheduler(0) == os.SCHED_IDLE, flush=True); sys.stdin.readline();"
    script += " print(os.sched_getscheduler(0) == os.SCHED_OTHER)"
    with subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, text=True,
                          stdout=subprocess.PIPE, process_group=0) as process:  # fmt: skip
        assert process.stdout is not None
        assert process.stdout.readline() == "True\n"
        come_forward(process.pid)
        assert process.communicate("\n")[0] == "True\n"
