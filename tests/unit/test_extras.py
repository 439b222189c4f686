"""How to install extras: polyopt is on no index, so ``pip install 'polyopt[nn]'`` finds nothing."""

from __future__ import annotations

import re
import shlex
import tomllib
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest

from polyopt import extras

ROOT = Path(__file__).parents[2]
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
FILES = [
    ROOT / "README.md",
    *sorted(p for p in (ROOT / "polyopt").rglob("*.py")),
    *sorted(p for p in (ROOT / "docs").rglob("*.md") if "adr" not in p.parts),
    *sorted((ROOT / "notebooks").glob("*.ipynb")),
]


def requirement(text):
    """Name, what of it, and versions, in one order."""
    name, what, versions = re.fullmatch(r"([\w.-]+)(\[.*\])?(.*)", text.replace(" ", "")).groups()
    return name, what, frozenset(versions.split(","))


@pytest.mark.parametrize("extra", [name for name in EXTRAS if name != "dev"])
def test_an_extra_is_installed_by_its_packages(extra):
    pip, install, *listed = shlex.split(extras.install_command(extra))
    assert (pip, install) == ("pip", "install")
    assert set(map(requirement, listed)) == set(map(requirement, EXTRAS[extra]))


def test_one_library_of_an_extra_is_installed_alone():
    assert extras.install_command("peers", "numba").startswith("pip install 'numba>=")
    assert len(shlex.split(extras.install_command("peers", "numba"))) == 3
    assert extras.install_command("peers", "num") == extras.install_command("peers")


def test_where_nothing_is_installed_it_is_the_checkout(monkeypatch):
    def absent(_name):
        raise PackageNotFoundError

    monkeypatch.setattr(extras, "requires", absent)
    assert extras.install_command("nn") == "pip install -e '.[nn]'"


def test_no_text_asks_for_polyopt_from_an_index():
    wrong = [str(p.relative_to(ROOT)) for p in FILES
             if re.search(r"pip install[^\n]*polyopt\[", p.read_text(encoding="utf-8"))
             and p.name != "extras.py"]  # fmt: skip
    assert wrong == []


def test_extras_that_texts_name_are_there():
    pattern = re.compile(r"""install_command\(['"](\w+)['"]\)|pip install[^\n]*'\.\[([\w,]+)\]'""")
    named = {name for p in FILES for found in pattern.findall(p.read_text(encoding="utf-8"))
             for part in found for name in part.split(",") if name}  # fmt: skip
    assert named <= set(EXTRAS)
    assert {"nn", "demo", "tui", "scale", "jupyter", "peers"} <= named
