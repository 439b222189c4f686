"""What holds for every test: fixed examples, patient threads, a kernel cache of its own, and one
process for tests that share what they make."""

from __future__ import annotations

import gc
import os
from collections import defaultdict
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pytest
from _pytest.doctest import DoctestModule
from hypothesis import settings

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

settings.register_profile("fixed", derandomize=True, deadline=None, database=None, print_blob=True)
settings.register_profile("explore", deadline=None, print_blob=True)
settings.load_profile(os.environ.get("POLYOPT_HYPOTHESIS", "fixed"))

# workers share the cores: threads that wait for the others sleep instead of spinning on them
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

# tests that are about the check of new C ask for it
os.environ.setdefault("POLYOPT_CHECK", "0")

# tests break parts of the engine on purpose: what these plan is not for others
os.environ.setdefault("POLYOPT_PLAN_CACHE", "0")

# tests make many small values that live as long as a plan: looking for garbage among them every
# 700 objects takes a seventh of the time
gc.set_threshold(100_000, 20, 50)


def pytest_configure(config: pytest.Config) -> None:
    """Give the run a kernel cache that ends with it; workers inherit the one they start in."""
    if "POLYOPT_CACHE" not in os.environ:
        folder = TemporaryDirectory(prefix="polyopt-test-")
        os.environ["POLYOPT_CACHE"] = folder.name
        config.add_cleanup(folder.cleanup)


#: folders whose tests share nothing and take long: any process may have any of them
_APART = ("tests/faults/", "tests/mutants/", "tests/property/")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Let tests of one file run in one process, where they do not say otherwise."""
    if not config.getoption("loadgroup", default=False):
        return
    for item in items:
        file = item.nodeid.partition("::")[0]
        if not (file.startswith(_APART) or item.get_closest_marker("xdist_group")):
            item.add_marker(pytest.mark.xdist_group(file))


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(
    file_path: Path,
) -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
    """Look for examples in docstrings where a file has some: pytest would import all others, too,
    and look through all that they define."""
    found = yield
    if (
        any(isinstance(one, DoctestModule) for one in found)
        and b">>> " not in file_path.read_bytes()
    ):
        return [one for one in found if not isinstance(one, DoctestModule)]
    return found


def pytest_collection_finish(session: pytest.Session) -> None:
    """See that pytest-xdist knows the groups: without them all is right, and made in each process.

    Raises ``pytest.UsageError``.
    """
    if not session.config.getoption("loadgroup", default=False):
        return
    for item in session.items:
        if item.get_closest_marker("xdist_group") and "@" not in item.nodeid:
            message = "pytest-xdist does not group tests with this pytest: see pyproject.toml"
            raise pytest.UsageError(message)


def _processor_time() -> float:
    """Seconds that this process and those it has waited for have computed so far."""
    return sum(os.times()[:4])


_last = _processor_time()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Tell with each report what the test, or making its fixtures, took of the processor."""
    global _last
    report = yield
    now = _processor_time()
    report.processor, _last = now - _last, now
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say where the time went: tests, seconds by the clock and of processor time by folder."""
    spent: defaultdict[str, list[float]] = defaultdict(lambda: [0, 0.0, 0.0])
    for reports in terminalreporter.stats.values():
        for report in reports:
            if isinstance(report, pytest.TestReport):
                row = spent[report.nodeid.partition("::")[0].rpartition("/")[0]]
                row[0] += report.when == "call"
                row[1] += report.duration
                row[2] += getattr(report, "processor", 0.0)
    if len(spent) < 2:
        return
    terminalreporter.section("time by folder: tests, seconds, seconds of processor time")
    for folder, (tests, seconds, processor) in sorted(spent.items(), key=lambda one: -one[1][2]):
        terminalreporter.line(f"{folder or '.':32} {tests:6} {seconds:8.1f} {processor:8.1f}")
