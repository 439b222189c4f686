"""Bars for people who wait: on a terminal, after a moment, and nowhere else."""

from __future__ import annotations

import io
import time

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
