"""Opens pages of programs in headless Chromium: nothing on the console, links work, fits a phone.

``python -m tests.browser.check [CHROMIUM]``; pictures of the pages go to build/browser.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

from click.testing import CliRunner

from polyopt.cli import cli

TARGET = Path("build") / "browser"
NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
#: a deep pipeline, one with windows, the smallest, a product of matrices, a stencil in time
PROGRAMS = (
    ("pyramid_blend", "H=256,W=256"), ("harris", "H=514,W=514"), ("blur", "H=514,W=514"),
    ("2mm", "M=256,N=256,K=256,L=256"), ("jacobi_2d", "T=20,N=200"),
)  # fmt: skip
WIDTHS = (1100, 390)
#: the copy that is checked tells what it finds in an attribute of its own
PROBE = """<script>
addEventListener("load", () => {
  const wide = document.body.scrollWidth - document.body.clientWidth;
  const broken = [...document.querySelectorAll("a")].filter(
    (a) => !document.getElementById(a.getAttribute("href").slice(1))).length;
  const flat = [...document.querySelectorAll("svg")].filter(
    (s) => s.getBoundingClientRect().height < 5).length;
  const tiny = [...document.querySelectorAll("svg text")].filter(
    (t) => t.textContent && t.getBoundingClientRect().height < 8).length;
  document.body.dataset.found = `wide=${wide} broken=${broken} flat=${flat} tiny=${tiny}`;
});
</script>"""


def main(arguments: list[str]) -> int:
    """Check every page at every width; 1 where something is wrong, 2 without a browser."""
    browser = next(filter(None, map(shutil.which, arguments or NAMES)), None)
    if browser is None:
        print("no Chromium was found: apt-get install chromium, or name one: BROWSER=...")
        return 2
    TARGET.mkdir(parents=True, exist_ok=True)
    failed = 0
    for name, sizes in PROGRAMS:
        page = TARGET / f"{name}.html"
        made = CliRunner().invoke(cli, ["report", name, "-o", str(page), "-s", sizes])
        assert made.exit_code == 0, made.output
        probe = TARGET / f"{name}-probe.html"
        probe.write_text(page.read_text(encoding="utf-8").replace("</body>", f"{PROBE}</body>"))
        for width in WIDTHS:
            said = check(browser, probe, width, TARGET / f"{name}-{width}.png")
            print(f"{name} at {width} pixels: {said or 'well'}")
            failed += bool(said)
    return min(failed, 1)


def check(browser: str, page: Path, width: int, picture: Path) -> str:
    """What is wrong with a page at a width; nothing where all is well."""
    common = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
              f"--window-size={max(width, 500)},4000"]  # fmt: skip
    # narrower windows than 500 pixels are refused: a frame of that width stands in for a phone
    frame = page.with_name(f"{page.stem}-{width}.html")
    text = page.read_text(encoding="utf-8")
    frame.write_text(text.replace("<html ", f'<html style="width:{width}px" ', 1), encoding="utf-8")
    dumped = subprocess.run(
        [*common, "--enable-logging=stderr", "--dump-dom", frame.resolve().as_uri()],
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    subprocess.run([*common, f"--screenshot={picture.resolve()}", frame.resolve().as_uri()],
                   capture_output=True, timeout=120, check=True)  # fmt: skip
    found = re.search(r'data-found="([^"]*)"', dumped.stdout)
    wrong = [line for line in dumped.stderr.splitlines() if "CONSOLE" in line]
    if found is None:
        wrong.append("the page did not load")
    elif found[1] != "wide=0 broken=0 flat=0 tiny=0":
        wrong.append(found[1])
    return "; ".join(wrong)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
