"""Drives the explorer in headless Chromium: in JupyterLab, and as a page without Python.

``python -m tests.browser.explorer [CHROMIUM]``, in an environment with jupyterlab, anywidget and
playwright (``make test-browser`` makes one); pictures of it go to build/browser.
"""

from __future__ import annotations

import json
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polyopt as po
from tests.browser.check import NAMES, TARGET

if TYPE_CHECKING:
    from collections.abc import Iterator

#: a program of one's own: a stencil in time
OWN = """void heat(int T, int N, double A[restrict T + 1][N])
{
    for (int t = 0; t < T; t++)
        for (int i = 1; i < N - 1; i++)
            A[t + 1][i] = 0.25 * (A[t][i - 1] + 2.0 * A[t][i] + A[t][i + 1]);
}
"""
CELL = """import polyopt as po

plan = po.Plan(po.load_kernel("harris").scop)
plan.explore(sizes={"H": 130, "W": 130})"""
#: seconds for JupyterLab to start; milliseconds for a cell, and for a move, on a busy machine
START, RUN, MOVE = 90, 120_000, 60_000
#: what JupyterLab says of itself, for want of a network or an extension
NOT_OURS = re.compile(
    r"favicon|404|WebSocket|deprecat|extension|Failed to load resource", re.IGNORECASE
)
WIDTHS = (700, 1100, 2000)
LIVE = ".jp-OutputArea-output .polyopt-explorer:has(.badge)"


def main(arguments: list[str]) -> int:
    """Drive the explorer; 1 where something is wrong, 2 without a browser."""
    browser = next(filter(None, map(shutil.which, arguments or NAMES)), None)
    if browser is None:
        print("no Chromium was found: apt-get install chromium, or name one: BROWSER=...")
        return 2
    from playwright.sync_api import sync_playwright

    TARGET.mkdir(parents=True, exist_ok=True)
    found: list[str] = []
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        for name, plan in (("own", own(Path(folder))), ("skewed", skewed(Path(folder)))):
            with page_of(chromium, found) as page:
                found += [f"{name}: {text}" for text in pages(page, name, plan)]
        with served(Path(folder)) as address, page_of(chromium, found) as page:
            found += drive(page, f"{address}/lab/tree/explorer.ipynb")
        chromium.close()
    print("\n".join(found) or "the explorer: well")
    return bool(found)


@contextmanager
def page_of(chromium: Any, found: list[str]) -> Iterator[Any]:
    """A page whose errors are found."""
    page = chromium.new_page(viewport={"width": 1400, "height": 1100})
    said: list[str] = []
    page.on("console", lambda m: said.append(m.text) if m.type == "error" else None)
    page.on("pageerror", lambda error: said.append(str(error)))
    yield page
    found += [f"console: {text}" for text in said if not NOT_OURS.search(text)]
    page.close()


def own(folder: Path) -> po.Plan:
    """The program of one's own."""
    (folder / "heat.c").write_text(OWN)
    return po.Plan(po.parse_c(str(folder / "heat.c")))


def skewed(folder: Path) -> po.Plan:
    """The same in skewed tiles."""
    return own(folder).skew("A.i", by="A.t").tile("A", t=32, i=32)


# -- a page without Python ----------------------------------------------------------------------


def pages(page: Any, name: str, plan: po.Plan) -> Iterator[str]:
    """What is wrong with a plan's page: its width, a refusal, history, animation, script."""
    file = TARGET / f"explorer-{name}.html"
    explorer = plan.explore(sizes={"T": 40, "N": 200}, drawn={"T": 12, "N": 18})
    if name == "own":
        explorer.apply("diamond('A.t', 'A.i', 64)")
        explorer.measure(0.001)
        explorer.undo()
    explorer.save(file)
    page.goto(file.resolve().as_uri())
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 1000})
        page.wait_for_timeout(300)
        page.screenshot(path=str(TARGET / f"explorer-{name}-{width}.png"), full_page=True)
        if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
            yield f"at {width} pixels it is wider than the window"
    if name == "skewed" and tiles(page) < 15:
        yield f"only {tiles(page)} tiles are outlined"
    yield from refused(page)
    yield from played(page, page)
    yield from linked(page)
    if name == "own":
        yield from back_and_forth(page)


def tiles(page: Any) -> int:
    return page.locator(".tile").count()


def refused(page: Any) -> Iterator[str]:
    """A move that is not legal: its reason, and the arrow from one instance to the other."""
    page.locator("[data-pane='Loop nest'] .line.loop").first.click()
    page.locator(".trials .no").first.click()
    if "Witness, drawn in red: " not in page.locator(".refusal").inner_text():
        yield "the refusal names no witness"
    if page.locator(".witness").count() != 2:
        yield "the witness has no two ends"
    arrows = page.locator("line[stroke='#b3261e']")
    length = "l => Math.hypot(l.x2.baseVal.value - l.x1.baseVal.value, l.y2.baseVal.value - l.y1.baseVal.value)"
    if arrows.count() != 1 or arrows.first.evaluate(length) < 5:
        yield "the witness is no arrow"
    page.screenshot(path=str(TARGET / "explorer-refused.png"), full_page=True)


def played(page: Any, panel: Any) -> Iterator[str]:
    """The order: instances that ran, the current one, the lines it touches, numbers of misses."""
    panel.locator("input[type=range]").evaluate(
        "s => { s.value = Math.round(s.max / 2); s.dispatchEvent(new Event('input')) }"
    )
    instances = panel.locator(".pt").count()
    ran = panel.locator(".pt.done").count()
    if abs(2 * ran - instances) > 1:
        yield f"half way through, {ran} of {instances} instances ran"
    if panel.locator(".pt.now").count() != 1:
        yield "no instance is marked as the current one"
    if not panel.locator(".cell.m0, .cell.m1, .cell.m2").count():
        yield "no cache line is touched"
    counted = panel.locator(".misses tr:nth-child(3) td.number").all_inner_texts()
    so_far, in_all = (int(text.replace(",", "")) for text in counted)
    if not 0 < so_far < in_all:
        yield f"of {in_all} misses {so_far} are counted half way"
    panel.get_by_role("button", name="Play the order").click()
    page.wait_for_timeout(700)
    panel.get_by_role("button", name="Pause").click()
    if panel.locator(".pt.done").count() <= ran:
        yield "the animation does not move"
    page.screenshot(path=str(TARGET / "explorer-played.png"), full_page=True)


def linked(page: Any) -> Iterator[str]:
    """Pointing at a statement of the loop nest marks its source and its C."""
    page.locator("[data-pane='Loop nest'] .line.statement").first.hover()
    for pane in ("Source", "C"):
        if not page.locator(f"[data-pane='{pane}'] .linked").count():
            yield f"nothing is linked in {pane}"
    page.locator(".pt").nth(30).hover()
    if not page.locator(".pt.from, .pt.to").count():
        yield "an instance has no arrows to those it depends on"


def back_and_forth(page: Any) -> Iterator[str]:
    """The history, and what needs Python says so."""
    page.get_by_role("button", name="Redo").click()
    if "A.t_tile" not in page.locator("[data-pane='Loop nest']").inner_text() or tiles(page) < 8:
        yield "the recorded move is not shown"
    if " ms" not in page.locator(".history").inner_text():
        yield "the history has no measured time"
    page.get_by_label("before and after").check()
    if page.locator(".view").count() != 2:
        yield "before and after are not beside each other"
    page.screenshot(path=str(TARGET / "explorer-before-after.png"), full_page=True)
    page.get_by_role("button", name="Copy as script").click()
    page.wait_for_timeout(200)
    if ".diamond('A.t', 'A.i', 64)" not in page.locator(".said").inner_text():
        yield "the script is not shown"
    page.get_by_role("button", name="Undo").click()
    page.get_by_label("a move", exact=True).fill("reverse('A.i')")
    page.get_by_role("button", name="Make the move").click()
    if "no Python" not in page.locator(".said").inner_text():
        yield "the page does not say that it has no Python"


# -- JupyterLab ---------------------------------------------------------------------------------


def drive(page: Any, address: str) -> Iterator[str]:
    """What is wrong with the panel in JupyterLab, after moves, a refusal, undo and a measurement."""
    page.goto(address)
    page.wait_for_selector(".jp-CodeCell", timeout=RUN)
    page.get_by_text(re.compile(r"\| Idle")).first.wait_for(timeout=RUN)
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.get_by_text("Run All Cells", exact=True).first.click()
    page.wait_for_selector(LIVE, timeout=RUN)
    page.wait_for_timeout(1000)
    panel = page.locator(LIVE).first
    page.screenshot(path=str(TARGET / "explorer-start.png"))
    if page.locator(".polyopt-static").first.is_visible():
        yield "the page for no kernel is shown beside the widget"
    move(panel, "tile('out', y=32, x=64)")
    panel.locator(".line.loop", has_text="for out.y_tile").first.wait_for(timeout=MOVE)
    panel.get_by_role("button", name="trace: root").click()
    panel.locator(".places button").first.wait_for(timeout=MOVE)
    panel.locator(".trials .yes", has_text="fuse('trace', into='out')").first.click()
    panel.locator(".line.buffer", has_text="scratch trace").first.wait_for(timeout=MOVE)
    move(panel, "fuse_loops('gray.y', 'Iy.y')")
    panel.locator(".refusal").wait_for(timeout=MOVE)
    if not panel.locator(".witness").count():
        yield "a refusal draws no witness"
    panel.scroll_into_view_if_needed()
    page.screenshot(path=str(TARGET / "explorer-lab-refused.png"))
    panel.get_by_role("button", name="Undo").click()
    panel.locator(".line.buffer").first.wait_for(state="detached", timeout=MOVE)
    panel.get_by_role("button", name="Measure").click()
    panel.locator(".history .time", has_text="ms").first.wait_for(timeout=RUN)
    panel.get_by_role("button", name="Copy as script").click()
    if ".tile('out', y=32, x=64)" not in panel.locator(".said").inner_text():
        yield "the script has not the move"
    yield from played(page, panel)
    page.screenshot(path=str(TARGET / "explorer-measured.png"))


def move(panel: Any, text: str) -> None:
    """Type a move and make it."""
    panel.get_by_label("a move", exact=True).fill(text)
    panel.get_by_role("button", name="Make the move").click()


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """JupyterLab on this machine's loopback, with one notebook; its address."""
    (folder / "explorer.ipynb").write_text(json.dumps({
        "cells": [{"cell_type": "code", "id": "a", "metadata": {}, "source": CELL,
                   "execution_count": None, "outputs": []}],
        "metadata": {"kernelspec": {"name": "python3", "display_name": "Python 3",
                                    "language": "python"}},
        "nbformat": 4, "nbformat_minor": 5,
    }))  # fmt: skip
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = ["--no-browser", "--allow-root", "--ip=127.0.0.1", f"--port={port}",
               "--IdentityProvider.token=", f"--ServerApp.root_dir={folder}",
               "--LabApp.news_url=None"]  # fmt: skip
    with (folder / "log").open("w") as log:
        server = subprocess.Popen(
            [sys.executable, "-m", "jupyterlab", *options], stdout=log, stderr=log
        )
        try:
            wait(f"http://127.0.0.1:{port}/api")
            yield f"http://127.0.0.1:{port}"
        finally:
            server.terminate()
            server.wait(20)


def wait(address: str) -> None:
    """Return when something answers there. Raises ``TimeoutError``."""
    for _ in range(START * 2):
        try:
            with urllib.request.urlopen(address, timeout=5):  # noqa: S310 - the loopback's
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.5)
    raise TimeoutError(address)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
