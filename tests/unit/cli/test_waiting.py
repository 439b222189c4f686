"""Bars for people who wait: on a terminal, after a moment, and nowhere else."""

from __future__ import annotations

import io
import json
import time
from collections import Counter

import pytest
from click.testing import CliRunner
from rich.console import Console

from polyopt.cli import cli, waiting


@pytest.fixture
def screen(monkeypatch):
    """What a terminal would get, and how long people wait there before a bar shows."""
    written = io.StringIO()

    def use(*, terminal=True, patience=0.0):
        console = Console(file=written, force_terminal=terminal, width=80)
        monkeypatch.setattr(waiting, "error_console", lambda: console)
        monkeypatch.setattr(waiting, "PATIENCE", patience)
        return written

    return use


def until(screen, text):
    """Wait until the screen says so: bars are drawn beside the work."""
    for _ in range(500):
        if text in screen.getvalue():
            return
        time.sleep(0.01)
    pytest.fail(f"{text!r} is not in {screen.getvalue()!r}")


def test_a_bar_counts_and_goes(screen):
    written = screen()
    with waiting.progress("plans") as told:
        told(3, 8)
        until(written, "3/8")
    assert "plans" in written.getvalue()
    assert not waiting._shown
    # the line is erased, and the cursor back
    assert written.getvalue().endswith("\x1b[2K\x1b[?25h\r")


def test_bars_inside_others_stand_below_them(screen):
    written = screen()
    with waiting.progress("report"):
        until(written, "report")
        with waiting.progress("a plan"):
            until(written, "a plan")
        assert len(waiting._shown) == 1


def test_what_is_over_soon_shows_nothing(screen):
    written = screen(patience=60.0)
    with waiting.progress("plans") as told:
        told(1, 1)
    assert "plans" not in written.getvalue()


def test_nobody_sees_bars_where_there_is_no_terminal(screen):
    written = screen(terminal=False)
    with waiting.progress("plans") as told:
        told(1, 1)
        time.sleep(0.05)
    assert written.getvalue() == ""


def test_steps_say_on_the_bar_what_comes_now(screen, capsys):
    written = screen()
    with waiting.steps("kernels") as told:
        told(2, 5, "blur, plans")
        until(written, "kernels: blur, plans")
        until(written, "2/5")
    assert not waiting._shown
    assert capsys.readouterr() == ("", "")


def test_steps_are_lines_where_there_is_no_terminal(screen, capsys):
    written = screen(terminal=False)
    with waiting.steps("kernels") as told:
        told(2, 5, "blur, plans")
        told(2, 5, "blur, 3 variants on 1 thread")
    out, err = capsys.readouterr()
    assert (out, written.getvalue()) == ("", "")
    assert err.splitlines() == [
        "kernels 3 of 5, 0 s: blur, plans",
        "kernels 3 of 5, 0 s: blur, 3 variants on 1 thread",
    ]


def test_there_are_no_lines_of_what_is_over_soon(screen, capsys):
    screen(terminal=False, patience=60.0)
    with waiting.steps("kernels") as told:
        told(0, 5, "blur, plans")
    assert capsys.readouterr() == ("", "")


def test_bench_says_on_stderr_what_it_measures(screen):
    screen(terminal=False)
    command = (
        "bench blur conv2d --size H=9 --size W=34 --repeat 1 --seconds 0.01 --threads 1 --json"
    )
    result = CliRunner().invoke(cli, command.split())
    assert result.exit_code == 0, result.output
    # whether a copy is timed, too, depends on what sets this machine's limit
    variants = Counter(row["kernel"] for row in json.loads(result.stdout)["rows"])
    assert min(variants[name] for name in ("blur", "conv2d")) >= 3
    seen = [(line.split(",")[0], line.rpartition(": ")[2]) for line in result.stderr.splitlines()]
    assert seen == [
        (f"kernels {number} of 2", f"{name}, {now}")
        for number, name in ((1, "blur"), (2, "conv2d"))
        for now in ("plans", "expected results", f"{variants[name]} variants on 1 thread")
    ]


def test_errors_take_the_bar_away(screen):
    written = screen()

    def interrupted():
        with waiting.progress("plans"):
            until(written, "plans")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert not waiting._shown


@pytest.mark.parametrize(
    "command",
    ["explain blur", "emit blur", "prove blur", "deps blur", "why blur out[3,3]", "view blur --plain",
     "tradeoff blur", "explain blur bx --alternatives"],
)  # fmt: skip
def test_commands_that_may_take_long_have_one(screen, command, monkeypatch):
    screen(patience=60.0)
    labels = []
    real = waiting._started
    monkeypatch.setattr(waiting, "_started", lambda: labels.append(1) or real())
    result = CliRunner().invoke(cli, command.split())
    assert result.exit_code == 0, result.output
    assert labels
