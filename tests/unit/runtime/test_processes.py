"""Commands and what they start: ended together."""

from __future__ import annotations

import os
import subprocess
import time
from concurrent.futures import wait
from pathlib import Path

import pytest

from polyopt.runtime.processes import helpers, result_of, run_group


def _runs(number: int) -> bool:
    for _ in range(500):
        try:
            if Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return False
        except (FileNotFoundError, ProcessLookupError):
            return False
        time.sleep(0.02)
    return True


def _shell(text: str, timeout_s: float = 60) -> subprocess.CompletedProcess[str]:
    return run_group(["sh", "-c", text], timeout_s, dict(os.environ))


def test_both_streams_and_the_status_are_told():
    done = _shell("echo one; echo two >&2; exit 3")
    assert sorted(done.stdout.split()) == ["one", "two"]
    assert done.returncode == 3


def test_what_is_not_there_is_told():
    with pytest.raises(FileNotFoundError):
        run_group(["no-such-command"], 60, dict(os.environ))


def test_a_child_that_outlives_a_command_is_ended():
    done = _shell("sleep 3600 > /dev/null 2>&1 & echo $!")
    assert done.returncode == 0
    assert not _runs(int(done.stdout))


def test_a_limit_ends_children_too(tmp_path):
    child = tmp_path / "child"
    with pytest.raises(subprocess.TimeoutExpired):
        _shell(f"sleep 3600 & echo $! > {child}; wait", 1.0)
    assert not _runs(int(child.read_text()))


def test_temporary_files_go_with_a_command():
    folder = Path(_shell('echo > "$TMPDIR/left"; echo "$TMPDIR"').stdout.strip())
    assert folder.is_absolute()
    assert not folder.exists()


@pytest.mark.parametrize("helped", [False, True], ids=["itself", "with helpers of its own"])
def test_one_that_fails_ends_the_others(helped, tmp_path):
    child = tmp_path / "child"
    made = []

    def waits() -> None:
        command = f"sleep 3600 & echo $! > {child}; wait"
        if not helped:
            _shell(command)
            return
        with helpers(1) as pool:
            pool.submit(_shell, command).result()

    def fails() -> None:
        with helpers(1) as pool:
            made.extend(pool.submit(waits) for _ in range(2))
            while not (child.exists() and child.read_text().strip()):
                time.sleep(0.02)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fails()
    first, second = made
    assert isinstance(first.exception(), KeyboardInterrupt)
    assert second.cancelled()
    assert not _runs(int(child.read_text()))


def test_an_interrupt_just_before_the_wait_for_a_helper_is_heard(monkeypatch):
    """What the kernel delivered before the thread slept wakes nobody: a wait without end sleeps
    on, as for a compiler that hangs."""
    waits = []

    def short(futures, timeout):
        waits.append(timeout)
        if len(waits) == 3:
            raise KeyboardInterrupt
        return wait(futures, 0)

    monkeypatch.setattr("polyopt.runtime.processes.wait", short)
    with pytest.raises(KeyboardInterrupt), helpers(1) as pool:
        result_of(pool.submit(_shell, "sleep 3600"))
    assert all(timeout < 1 for timeout in waits)
