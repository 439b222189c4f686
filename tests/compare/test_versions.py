"""Versions of polyopt in environments of their own: each finds its own files, and is made once."""

from __future__ import annotations

import os
import subprocess

import pytest

from . import session
from .session import FailedError, Session
from .versions import CompareError, of_commit, of_tree


@pytest.fixture
def checkout(tmp_path):
    """A repository with a package that only says which one it is."""
    root = tmp_path / "checkout"
    (root / "polyopt").mkdir(parents=True)
    (root / "polyopt" / "__init__.py").write_text("version = 1\n")
    (root / "pyproject.toml").write_text('[project]\ndependencies = ["numpy"]\n')
    (root / ".gitignore").write_text("*.tmp\n")
    git(root, "init", "-q")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "first")
    return root


def git(root, *arguments):
    who = ("-c", "user.name=a", "-c", "user.email=a@b.example")
    environment = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
    command = ["git", "-C", str(root), *who, *arguments]
    subprocess.run(command, check=True, capture_output=True, env=environment)


def imported(version, code):
    """What the version's Python prints, also where another polyopt is named to it."""
    done = subprocess.run(
        [version.python, "-I", "-c", code], check=True, capture_output=True, text=True,
        cwd=version.folder,
    )  # fmt: skip
    return done.stdout.strip()


def test_each_version_finds_its_own_files_alone(checkout, tmp_path):
    place = tmp_path / "there"
    (checkout / "polyopt" / "__init__.py").write_text("version = 2\n")
    (checkout / "polyopt" / "more.py").write_text("")
    (checkout / "polyopt" / "left.tmp").write_text("ignored")
    base, new = of_commit(checkout, "HEAD", place), of_tree(checkout, place)
    assert imported(base, "import polyopt; print(polyopt.version)") == "1"
    assert imported(new, "import polyopt; print(polyopt.version)") == "2"
    found = "import sys; print([p for p in sys.path if p.endswith('tree')])"
    assert imported(base, found) == str([str(base.tree)])
    assert imported(base, "import numpy; print('numpy')") == "numpy"
    assert sorted(p.name for p in new.tree.rglob("*.[pt]*") if p.suffix != ".pyc") == [
        "__init__.py",
        "more.py",
    ]
    assert new.label.endswith(" + 2 changed")
    assert base.dependencies == new.dependencies == ("numpy",)
    assert base.digest != new.digest


def test_a_version_is_made_once(checkout, tmp_path):
    first = of_commit(checkout, "HEAD", tmp_path)
    marked = first.folder / "venv" / "marked"
    marked.touch()
    assert of_commit(checkout, "HEAD", tmp_path) == first
    assert marked.exists()
    tree = of_tree(checkout, tmp_path)
    assert of_tree(checkout, tmp_path) == tree
    assert tree.digest == first.digest
    (checkout / "polyopt" / "__init__.py").write_text("version = 3\n")
    assert of_tree(checkout, tmp_path).folder != tree.folder


def test_a_version_that_was_edited_is_refused(checkout, tmp_path):
    version = of_commit(checkout, "HEAD", tmp_path)
    (version.tree / "polyopt" / "__init__.py").write_text("version = 9\n")
    with pytest.raises(CompareError, match=r"tree was edited; take it away: rm -r "):
        of_commit(checkout, "HEAD", tmp_path)


def test_what_is_no_commit_with_polyopt_is_refused(checkout, tmp_path):
    with pytest.raises(CompareError, match="there is no commit 'nowhere' here"):
        of_commit(checkout, "nowhere", tmp_path)
    git(checkout, "rm", "-rqf", "polyopt")
    git(checkout, "commit", "-qm", "nothing")
    with pytest.raises(CompareError, match="HEAD has no polyopt/"):
        of_commit(checkout, "HEAD", tmp_path)


def test_a_version_that_does_not_start_is_told_in_one_line(checkout, tmp_path):
    version = of_commit(checkout, "HEAD", tmp_path)
    with (
        pytest.raises(CompareError, match=r"^polyopt of HEAD.* does not start: ImportError"),
        Session(version, tmp_path / "log") as started,
    ):
        started.ask("kernels")


@pytest.fixture
def quick(checkout, tmp_path, monkeypatch):
    """Starts a session whose process answers with a line for each of its own."""

    def start(answers):
        worker = tmp_path / "worker.py"
        worker.write_text(f"import json, os, sys, time\nimport polyopt\n{answers}\n")
        monkeypatch.setattr(session, "_WORKER", worker)
        version = of_commit(checkout, "HEAD", tmp_path / "there")
        return Session(version, tmp_path / "log")

    return start


HELLO = """
def say(**answer):
    print(json.dumps(answer), flush=True)

sys.stdin.readline()
say(package=os.path.dirname(polyopt.__file__))
sys.stdin.readline()
"""


def test_what_a_version_cannot_do_is_told(quick):
    with quick(HELLO + "say(error='it broke')\nsys.stdin.readline()\nsay(found=1)") as started:
        with pytest.raises(FailedError, match=r"^it broke$"):
            started.ask("prepare")
        assert started.ask("prepare") == {"found": 1}


@pytest.mark.parametrize(
    ("end", "told"),
    [
        ("sys.exit(3)", "its process ended with status 3"),
        ("os.kill(os.getpid(), 11)", "its process ended by SIGSEGV"),
    ],
)
def test_a_process_that_ends_is_told_and_started_again(quick, end, told):
    with quick(HELLO + end) as started:
        for _ in range(2):
            with pytest.raises(FailedError, match=f"^{told}$"):
                started.ask("prepare")


def test_a_process_that_says_nothing_is_ended(quick):
    with quick(HELLO + "time.sleep(600)") as started:
        started.start()
        started._limit_s = 0.2
        with pytest.raises(FailedError, match=r"^no answer within 0\.2 s$"):
            started.ask("prepare")


def test_a_process_that_finds_another_polyopt_is_refused(quick):
    with (
        quick(
            "sys.stdin.readline()\nprint(json.dumps({'package': '/elsewhere/polyopt'}), flush=True)"
        ) as started,
        pytest.raises(CompareError, match=r"^HEAD = .* ran with polyopt from /elsewhere/polyopt$"),
    ):
        started.ask("prepare")
