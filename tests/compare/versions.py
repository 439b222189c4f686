"""Versions of polyopt in environments of their own: a commit, and the working tree as it is.

Each is a folder below ``build/compare``: ``tree`` has the version's files, ``venv`` a Python that
finds polyopt there, and all else where the running Python has it. Neither finds the other's.
"""

from __future__ import annotations

import hashlib
import io
import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import tomllib
import venv
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

#: what a version is: the package, and what it looks for beside itself
PARTS = ("polyopt", "kernels", "schedules")
_TREE, _VENV, _DIGEST = "tree", "venv", "digest"


class CompareError(Exception):
    """What the user is told, in one line."""


@dataclass(frozen=True)
class Version:
    """A version of polyopt: what it is called, a digest of its files, and its environment."""

    label: str
    digest: str
    folder: Path
    #: what its pyproject.toml asks for
    dependencies: tuple[str, ...] = ()

    @property
    def tree(self) -> Path:
        """Its files."""
        return self.folder / _TREE

    @property
    def python(self) -> Path:
        """Its interpreter."""
        return self.folder / _VENV / "bin" / "python"


def of_commit(root: Path, commit: str, place: Path) -> Version:
    """The version of a commit, made unless it is there. Raises ``CompareError``."""
    sha = _commit(root, commit)
    folder = place / f"commit-{sha[:12]}"
    if not folder.exists():
        parts = _git(root, "ls-tree", "--name-only", sha, "--", *PARTS).split()
        if "polyopt" not in parts:
            message = f"{commit} has no polyopt/"
            raise CompareError(message)
        with _made(folder) as tree:
            archive = _git_bytes(root, "archive", "--format=tar", sha, "--", *parts)
            with tarfile.open(fileobj=io.BytesIO(archive)) as files:
                files.extractall(tree, filter="data")
    label = commit if sha.startswith(commit) else f"{commit} = {sha[:12]}"
    project = _git(root, "show", f"{sha}:pyproject.toml")
    return _ready(Version(label, (folder / _DIGEST).read_text(), folder, _dependencies(project)))


def of_tree(root: Path, place: Path) -> Version:
    """The working tree's version, with what is not committed: a copy, so that it may go on."""
    listed = _git(root, "ls-files", "-z", "-co", "--exclude-standard", "--", *PARTS).split("\0")
    files = [name for name in sorted(set(listed)) if name and (root / name).is_file()]
    folder = place / f"tree-{_digest(root, files)[:12]}"
    if not folder.exists():
        with _made(folder) as tree:
            for name in files:
                (tree / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(root / name, tree / name)
    changed = _git(root, "status", "--porcelain", "--", *PARTS).splitlines()
    head = _git(root, "rev-parse", "--short=12", "HEAD").strip()
    label = f"{head} + {len(changed)} changed" if changed else head
    project = (root / "pyproject.toml").read_text(encoding="utf-8")
    return _ready(Version(label, (folder / _DIGEST).read_text(), folder, _dependencies(project)))


def _commit(root: Path, commit: str) -> str:
    if not commit:
        message = "compared with which commit? say BASE=<commit>"
        raise CompareError(message)
    try:
        return _git(root, "rev-parse", "--verify", "--quiet", f"{commit}^{{commit}}").strip()
    except CompareError:
        message = f"there is no commit {commit!r} here; git log --oneline lists those that are"
        raise CompareError(message) from None


def _git(root: Path, *arguments: str) -> str:
    return _git_bytes(root, *arguments).decode()


def _git_bytes(root: Path, *arguments: str) -> bytes:
    command = ["git", "-C", str(root), *arguments]
    try:
        done = subprocess.run(command, check=False, capture_output=True)
    except OSError as error:
        message = f"git does not run: {error.strerror}"
        raise CompareError(message) from None
    if done.returncode:
        told = done.stderr.decode(errors="replace").strip().splitlines() or ["no reason given"]
        message = f"git {arguments[0]} failed: {told[0]}"
        raise CompareError(message)
    return done.stdout


def _dependencies(project: str) -> tuple[str, ...]:
    return tuple(tomllib.loads(project).get("project", {}).get("dependencies", ()))


@contextmanager
def _made(folder: Path) -> Iterator[Path]:
    """A folder whose tree is filled in the ``with``: there as a whole, or not at all."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    new = Path(tempfile.mkdtemp(prefix=".new-", dir=folder.parent))
    try:
        (new / _TREE).mkdir()
        yield new / _TREE
        (new / _DIGEST).write_text(_digest_of_tree(new / _TREE))
        new.rename(folder)
    finally:
        shutil.rmtree(new, ignore_errors=True)


def _ready(version: Version) -> Version:
    """The version, with its interpreter. Raises ``CompareError`` where its files were changed."""
    if _digest_of_tree(version.tree) != version.digest:
        message = f"{version.tree} was edited; take it away: rm -r {version.folder}"
        raise CompareError(message)
    site = _site(version.folder / _VENV)
    text = "\n".join([str(version.tree.resolve()), *_dependency_folders()]) + "\n"
    paths = site / "compared.pth"
    if not version.python.exists() or not paths.exists() or paths.read_text() != text:
        venv.create(version.folder / _VENV, clear=True, symlinks=True)
        paths.write_text(text)
    return version


def _site(environment: Path) -> Path:
    places = {"base": str(environment), "platbase": str(environment)}
    return Path(sysconfig.get_path("purelib", scheme="venv", vars=places))


def _dependency_folders() -> list[str]:
    """Where the running Python has other packages: as plain folders, whose own .pth files, such as
    that of a polyopt in development, do not count."""
    folders = dict.fromkeys(sysconfig.get_path(name) for name in ("purelib", "platlib"))
    return [folder for folder in folders if folder and folder in sys.path]


def _digest_of_tree(tree: Path) -> str:
    return _digest(tree, [str(p.relative_to(tree)) for p in tree.rglob("*") if p.is_file()])


def _digest(root: Path, files: list[str]) -> str:
    found = hashlib.sha256()
    for name in sorted(files):
        if "__pycache__" not in Path(name).parts:
            found.update(os.fsencode(f"{name}\0"))
            found.update(hashlib.sha256((root / name).read_bytes()).digest())
    return found.hexdigest()
