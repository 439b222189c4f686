"""Compiled kernels on disk, by content: built once, by whichever process comes first.

An entry is a directory ``<key>/`` with ``kernel.c``, ``kernel.so`` and ``entry.json``, and with
``report.json`` where the compiler says what it did with loops (see ``reports``). It is
made under another name and renamed when complete, so a reader sees all of it or nothing.
Libraries are code that we run: the directory has to be ours, and an entry says for which key it
was made, with checksums of the C text and the library. One that does not fit is made anew, and the
logger ``polyopt`` says why. Beside them ``plans/<key>`` has what was planned, and ``probes/<key>``
what a compiler was asked, each after its checksum.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import platformdirs

from polyopt.atomic_file import write_whole
from polyopt.errors import CacheError, CompilerFailedError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

SOURCE, LIBRARY, ENTRY = "kernel.c", "kernel.so", "entry.json"
#: no compiler runs as long as that
_ABANDONED_S = 24 * 3600.0
#: text by name
Facts = Mapping[str, str]
_log = logging.getLogger("polyopt")
_HINT = "set POLYOPT_CACHE to a directory that you own and can write to"


@dataclass(frozen=True)
class CacheEntry:
    """What the cache holds under one key: the kernel's name, size on disk, age."""

    key: str
    name: str
    bytes: int
    created: float
    path: Path


def content_key(*parts: str) -> str:
    """A key that differs whenever any part does."""
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode()
        digest.update(f"{len(data)}:".encode())
        digest.update(data)
    return digest.hexdigest()


def default_directory() -> Path:
    """$POLYOPT_CACHE, else the user's cache directory."""
    chosen = os.environ.get("POLYOPT_CACHE")
    return Path(chosen) if chosen else Path(platformdirs.user_cache_dir("polyopt", appauthor=False))


class KernelCache:
    """A directory of compiled kernels, shared between processes."""

    def __init__(self, directory: Path | str | None = None) -> None:
        self.directory = Path(directory) if directory is not None else default_directory()

    def library(self, key: str, name: str, build: Callable[[Path], Facts | None]) -> Path:
        """The library under ``key``; ``build`` fills a directory with it if there is none yet.

        ``build`` writes ``kernel.c`` and ``kernel.so`` into the directory it is given, and returns
        what is to be known of them later: see ``facts``. Of any
        number of processes that ask at once, one builds. Raises ``CacheError`` when the cache
        cannot be used, and whatever ``build`` raises; nothing half-written stays behind.
        """
        self._prepare()
        entry = self.directory / key
        if not _fault(entry, key):
            return entry / LIBRARY
        with self._lock(key):
            if why := _fault(entry, key):
                if entry.exists():
                    _log.warning("the cached kernel %s is made anew: %s", entry, why)
                self._publish(entry, key, name, build)
        return entry / LIBRARY

    def facts(self, key: str) -> Facts:
        """What was found out about an entry when it was built, by name."""
        try:
            described = json.loads((self.directory / key / ENTRY).read_text(encoding="utf-8"))
            return {str(k): str(v) for k, v in described.get("facts", {}).items()}
        except (OSError, ValueError, AttributeError):
            return {}

    def add_facts(self, key: str, facts: Facts) -> None:
        """Keep more facts with an entry, as far as it can be written."""
        entry = self.directory / key
        with contextlib.suppress(OSError, ValueError, CacheError), self._lock(key):
            described = json.loads((entry / ENTRY).read_text(encoding="utf-8"))
            described["facts"] = {**self.facts(key), **facts}
            write_whole(entry / ENTRY, json.dumps(described))

    def plan(self, key: str) -> bytes | None:
        """What ``keep_plan`` stored under a key; ``None`` where there is nothing that fits."""
        return self._read(self._plans / key)

    def keep_plan(self, key: str, content: bytes) -> None:
        """Store what was planned, as far as it can be written."""
        self._write(self._plans / key, content)

    def probe(self, key: str) -> str | None:
        """A compiler's answer that ``keep_probe`` stored under a key; ``None`` where there is
        nothing that fits."""
        found = self._read(self._probes / key)
        return None if found is None else found.decode(errors="replace")

    def keep_probe(self, key: str, answer: str) -> None:
        """Store a compiler's answer, as far as it can be written."""
        self._write(self._probes / key, answer.encode())

    def _read(self, file: Path) -> bytes | None:
        try:
            self._prepare()
            status = file.lstat()
            if status.st_uid != os.geteuid() or not stat.S_ISREG(status.st_mode):
                return None
            digest, _, content = file.read_bytes().partition(b"\n")
        except (OSError, CacheError):
            return None
        return content if digest == _digest_under(file.name, content) else None

    def _write(self, file: Path, content: bytes) -> None:
        with contextlib.suppress(OSError, CacheError):
            self._prepare()
            file.parent.mkdir(mode=0o700, exist_ok=True)
            write_whole(file, _digest_under(file.name, content) + b"\n" + content)

    @property
    def _plans(self) -> Path:
        return self.directory / "plans"

    @property
    def _probes(self) -> Path:
        return self.directory / "probes"

    def list(self) -> list[CacheEntry]:
        """All entries, the oldest first."""
        return sorted(self._entries(), key=lambda e: (e.created, e.key))

    def size(self) -> int:
        """Bytes on disk."""
        others = (*self._plans.glob("*"), *self._probes.glob("*"))
        used = (file.stat().st_size for file in others)
        return sum(entry.bytes for entry in self._entries()) + sum(used)

    def clear(self) -> int:
        """Remove every entry, plans, compilers' answers, and what failed or interrupted builds
        left; how many entries there were."""
        entries = self.list()
        for entry in entries:
            shutil.rmtree(entry.path, ignore_errors=True)
        others = (self.directory / "failed", self._plans, self._probes)
        for leftover in (*self.directory.glob(".build-*"), *others):
            shutil.rmtree(leftover, ignore_errors=True)
        shutil.rmtree(self.directory / "locks", ignore_errors=True)
        return len(entries)

    def _entries(self) -> Iterator[CacheEntry]:
        for described in self.directory.glob(f"*/{ENTRY}"):
            with contextlib.suppress(OSError, ValueError, KeyError):
                data = json.loads(described.read_text(encoding="utf-8"))
                used = sum(f.stat().st_size for f in described.parent.iterdir())
                path = described.parent
                yield CacheEntry(path.name, data["name"], used, data["created"], path)

    def _prepare(self) -> None:
        """Make the directory, and refuse one that others could put code into."""
        try:
            self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            found = self.directory.stat()
        except OSError as error:
            msg = f"the kernel cache {self.directory} cannot be made: {error.strerror}"
            raise CacheError(msg, hint=_HINT) from None
        if found.st_uid != os.geteuid():
            msg = f"the kernel cache {self.directory} belongs to another user"
            raise CacheError(msg, hint=_HINT)
        if found.st_mode & (stat.S_IWOTH | stat.S_IWGRP):
            who = "everyone" if found.st_mode & stat.S_IWOTH else "its group"
            msg = f"the kernel cache {self.directory} can be written by {who}"
            raise CacheError(msg, hint=f"chmod go-w {self.directory}, or {_HINT}")

    @contextlib.contextmanager
    def _lock(self, key: str) -> Generator[None]:
        """One process at a time for a key; others wait."""
        import fcntl

        try:
            locks = self.directory / "locks"
            locks.mkdir(mode=0o700, exist_ok=True)
            handle = os.open(locks / key, os.O_CREAT | os.O_RDWR, 0o600)
        except OSError as error:
            msg = f"the kernel cache {self.directory} cannot be written: {error.strerror}"
            raise CacheError(msg, hint=_HINT) from None
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)

    def _publish(
        self, entry: Path, key: str, name: str, build: Callable[[Path], Facts | None]
    ) -> None:
        self._tidy()
        try:
            made = Path(tempfile.mkdtemp(prefix=".build-", dir=self.directory))
        except OSError as error:
            msg = f"the kernel cache {self.directory} cannot be written: {error.strerror}"
            raise CacheError(msg, hint=_HINT) from None
        try:
            facts = build(made)
            described = {
                "key": key,
                "name": name,
                "created": time.time(),
                "sha256": {file: _checksum(made / file) for file in (SOURCE, LIBRARY)},
                "facts": dict(facts or {}),
            }
            (made / ENTRY).write_text(json.dumps(described), encoding="utf-8")
            self._put(made, entry, key)
        except CompilerFailedError as error:
            raise self._with_source(error, made, key) from None
        except OSError as error:
            msg = f"a kernel could not be stored in the cache: {error.strerror}"
            raise CacheError(msg, hint=_HINT) from None
        finally:
            shutil.rmtree(made, ignore_errors=True)

    def _put(self, made: Path, entry: Path, key: str) -> None:
        """Give a complete entry its name, unless another one came first."""
        if entry.is_symlink():
            entry.unlink()
        shutil.rmtree(entry, ignore_errors=True)  # there is one only if it was damaged
        try:
            made.replace(entry)
        except OSError:
            if _fault(entry, key):  # the locks were cleared meanwhile, and another built it
                raise

    def drop(self, library: Path) -> None:
        """Remove the entry of a library that turned out to be none."""
        shutil.rmtree(library.parent, ignore_errors=True)

    def _tidy(self) -> None:
        """Remove what builds left that were killed."""
        for left in self.directory.glob(".build-*"):
            with contextlib.suppress(OSError):
                if time.time() - left.stat().st_mtime > _ABANDONED_S:
                    shutil.rmtree(left, ignore_errors=True)

    def _with_source(self, error: CompilerFailedError, made: Path, key: str) -> CompilerFailedError:
        """The same error, naming a copy of the C text that stays."""
        kept = self.directory / "failed" / f"{key[:16]}.c"
        with contextlib.suppress(OSError):
            kept.parent.mkdir(exist_ok=True)
            (made / SOURCE).replace(kept)
        shown = error.diagnostic
        notes = [note.replace(str(made / SOURCE), str(kept)) for note in shown.notes]
        notes.append(f"the C text is kept in {kept}")
        return CompilerFailedError(shown.message, notes=notes, hint=shown.hint)


def _digest_under(key: str, content: bytes) -> bytes:
    """A checksum of what is stored under a key: it fits under no other."""
    return hashlib.sha256(key.encode() + content).hexdigest().encode()


def _checksum(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _fault(entry: Path, key: str) -> str:
    """Why an entry is not what was made under its key; "" where it is."""
    try:
        parts = (entry, *(entry / name for name in (SOURCE, LIBRARY, ENTRY)))
        found = [part.lstat() for part in parts]
        if any(one.st_uid != os.geteuid() for one in found):
            return "a file of it belongs to another user"
        if any(stat.S_ISLNK(one.st_mode) for one in found):
            return "a file of it is a link"
        described = json.loads((entry / ENTRY).read_text(encoding="utf-8"))
        if described["key"] != key:
            return "it was made under another key"
        changed = [n for n in (SOURCE, LIBRARY) if described["sha256"][n] != _checksum(entry / n)]
        return f"{changed[0]} is not what was stored" if changed else ""
    except (OSError, ValueError, KeyError, TypeError):
        return "it is incomplete"
