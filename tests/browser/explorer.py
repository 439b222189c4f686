"""Drives the explorer in JupyterLab, in headless Chromium: a slider moves, the loop nest follows.

``python -m tests.browser.explorer [CHROMIUM]``, in an environment with jupyterlab and playwright
(``make test-browser`` makes one); pictures of the panel go to build/browser.
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

from tests.browser.check import NAMES, TARGET

if TYPE_CHECKING:
    from collections.abc import Iterator

CELL = """import polyopt as po

plan = po.Plan(po.load_kernel("blur").scop).tile("out", y=32, x=512).fuse("bx", into="out")
plan.explore(sizes={"H": 130, "W": 130})"""
#: seconds for JupyterLab to start, and for a cell to run, on a busy machine
START, RUN = 90, 120_000
#: what JupyterLab says of itself, for want of a network or an extension
NOT_OURS = re.compile(
    r"favicon|404|WebSocket|deprecat|extension|Failed to load resource", re.IGNORECASE
)


def main(arguments: list[str]) -> int:
    """Drive the panel; 1 where something is wrong, 2 without a browser."""
    browser = next(filter(None, map(shutil.which, arguments or NAMES)), None)
    if browser is None:
        print("no Chromium was found: apt-get install chromium, or name one: BROWSER=...")
        return 2
    from playwright.sync_api import sync_playwright

    TARGET.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as folder,
        served(Path(folder)) as address,
        sync_playwright() as playwright,
    ):
        chromium = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        page = chromium.new_page(viewport={"width": 1400, "height": 1100})
        said: list[str] = []
        page.on("console", lambda m: said.append(m.text) if m.type == "error" else None)
        page.on("pageerror", lambda error: said.append(str(error)))
        found = list(drive(page, f"{address}/lab/tree/explorer.ipynb"))
        found += [f"console: {text}" for text in said if not NOT_OURS.search(text)]
        chromium.close()
    print("\n".join(found) or "the explorer: well")
    return bool(found)


def drive(page: Any, address: str) -> Iterator[str]:
    """What is wrong with the panel, after using each kind of control."""
    page.goto(address)
    page.wait_for_selector(".jp-CodeCell", timeout=RUN)
    page.get_by_text(re.compile(r"\| Idle")).first.wait_for(timeout=RUN)
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.get_by_text("Run All Cells", exact=True).first.click()
    page.wait_for_selector(".widget-hbox svg", timeout=RUN)
    page.wait_for_timeout(1000)
    page.screenshot(path=str(TARGET / "explorer-start.png"))
    before = shown(page)
    if "for out.y_tile" not in before:
        yield f"the panel shows no loop nest: {before[:200]}"
    handle = page.locator(".widget-slider .noUi-handle").first
    handle.focus()
    page.keyboard.press("ArrowRight")
    moved = changed(page, before)
    if "bx[66]" not in moved:
        yield "after the slider for rows moved from 32 to 64, the loop nest has no scratch bx[66]"
    page.screenshot(path=str(TARGET / "explorer-moved.png"))
    page.locator(".widget-dropdown select").first.select_option("root")
    apart = changed(page, moved)
    if "for bx.y" not in apart or "bx[66]" in apart:
        yield "after bx was put at the root, it has no nest of its own"
    page.locator(".widget-dropdown select").first.select_option("sliding")
    changed(page, apart)
    page.screenshot(path=str(TARGET / "explorer-sliding.png"))
    page.get_by_role("button", name="measure").click()
    try:
        page.wait_for_function(
            "() => /\\d ms/.test(document.querySelector('.widget-hbox').innerText)", timeout=RUN
        )
    except Exception as error:  # noqa: BLE001 - playwright's own, whose import is late
        yield f"the button gave no time: {error}"
    page.screenshot(path=str(TARGET / "explorer-measured.png"))


def shown(page: Any) -> str:
    """The text of the panel, pictures included."""
    return page.locator(".widget-hbox").first.evaluate("e => e.textContent")


def changed(page: Any, before: str) -> str:
    """What the panel shows once that is something else; the same after a minute."""
    for _ in range(120):
        page.wait_for_timeout(500)
        if shown(page) != before:
            page.wait_for_timeout(1000)
            return shown(page)
    return before


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
