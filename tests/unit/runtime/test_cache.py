"""The cache: built once by whoever comes first, checked, never half-written."""

from __future__ import annotations

import json
import logging
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from polyopt.errors import CompilerFailedError
from polyopt.runtime.cache import (
    ENTRY,
    LIBRARY,
    SOURCE,
    KernelCache,
    content_key,
    default_directory,
)
from polyopt.runtime.kernel import compile_kernel
from polyopt.runtime.toolchain import find_toolchain
from tests.unit.runtime.programs import BLUR, blur

ROOT = Path(__file__).parents[3]


class Build:
    """A build that counts how often it is run."""

    def __init__(self, content: bytes = b"library", source: str = "int x;") -> None:
        self.content, self.source, self.runs = content, source, 0

    def __call__(self, directory: Path) -> None:
        self.runs += 1
        (directory / SOURCE).write_text(self.source)
        (directory / LIBRARY).write_bytes(self.content)


def test_an_entry_is_built_once(tmp_path) -> None:
    cache, build = KernelCache(tmp_path / "c"), Build()
    first = cache.library("k", "blur", build)
    assert cache.library("k", "blur", build) == first
    assert build.runs == 1
    assert first.read_bytes() == b"library"


def test_a_damaged_library_is_built_again(tmp_path) -> None:
    cache, build = KernelCache(tmp_path), Build()
    cache.library("k", "blur", build).write_bytes(b"something else")
    assert cache.library("k", "blur", build).read_bytes() == b"library"
    (tmp_path / "k" / ENTRY).write_text("{")
    cache.library("k", "blur", build)
    assert build.runs == 3


@pytest.mark.parametrize(
    ("change", "says"),
    [
        # all of another entry: its library, its description, both
        (lambda one, other: _become(one, other, ENTRY, LIBRARY, SOURCE), "under another key"),
        (lambda one, other: _become(one, other, ENTRY, LIBRARY), "under another key"),
        (lambda one, other: _become(one, other, ENTRY), "under another key"),
        (lambda one, other: _become(one, other, LIBRARY), "kernel.so is not what was stored"),
        (lambda one, other: _become(one, other, SOURCE), "kernel.c is not what was stored"),
        (lambda one, _: (one / SOURCE).unlink(), "incomplete"),
        (lambda one, _: (one / ENTRY).write_text('{"key": "one"}'), "incomplete"),
        (lambda one, other: ((one / ENTRY).unlink(), (one / ENTRY).symlink_to(other / ENTRY)),
         "a link"),
    ],
)  # fmt: skip
def test_an_entry_counts_under_its_own_key_alone(tmp_path, caplog, change, says) -> None:
    cache, build = KernelCache(tmp_path), Build(b"one")
    cache.library("one", "blur", build)
    cache.library("two", "conv", Build(b"two", source="int y;"))
    change(tmp_path / "one", tmp_path / "two")
    with caplog.at_level(logging.WARNING, "polyopt"):
        assert cache.library("one", "blur", build).read_bytes() == b"one"
        cache.library("one", "blur", build)
    assert build.runs == 2
    (told,) = caplog.messages
    assert says in told
    assert str(tmp_path / "one") in told


def _become(one: Path, other: Path, *names: str) -> None:
    for name in names:
        shutil.copyfile(other / name, one / name)


def test_a_failed_build_leaves_only_its_source(tmp_path) -> None:
    def build(directory: Path) -> None:
        (directory / SOURCE).write_text("broken")
        msg = "the C compiler failed"
        raise CompilerFailedError(msg, notes=[f"{directory / SOURCE}:1: error"])

    cache = KernelCache(tmp_path)
    with pytest.raises(CompilerFailedError) as caught:
        cache.library("k" * 64, "blur", build)
    kept = tmp_path / "failed" / f"{'k' * 16}.c"
    assert kept.read_text() == "broken"
    assert f"{kept}:1: error" in str(caught.value)
    assert cache.list() == []
    assert not list(tmp_path.glob(".build-*"))


def test_list_size_and_clear(tmp_path) -> None:
    cache = KernelCache(tmp_path)
    cache.library("a", "blur", Build())
    cache.library("b", "conv", Build(b"x" * 1000))
    (tmp_path / ".build-left").mkdir()
    assert [e.name for e in cache.list()] == ["blur", "conv"]
    assert cache.size() == sum(e.bytes for e in cache.list()) > 1000
    assert cache.clear() == 2
    assert cache.list() == []
    assert not list(tmp_path.iterdir())


def test_key_separates_its_parts() -> None:
    assert content_key("ab", "c") != content_key("a", "bc")
    assert content_key("ab", "c") == content_key("ab", "c")


def test_directory_from_the_environment(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("POLYOPT_CACHE", str(tmp_path / "x"))
    assert default_directory() == tmp_path / "x"
    monkeypatch.delenv("POLYOPT_CACHE")
    assert default_directory().name == "polyopt"


def test_flags_and_compiler_are_part_of_the_key(tmp_path) -> None:
    for contract in (True, False, True):
        compile_kernel(blur(), BLUR.context, contract=contract, cache=tmp_path)
    assert len(KernelCache(tmp_path).list()) == 2


def _wrapper(path: Path, added: str = "") -> str:
    path.write_text(f'#!/bin/sh\nexec {find_toolchain("cc").command[0]} {added} "$@"\n')
    path.chmod(0o755)
    return str(path)


def test_a_changed_wrapper_is_another_compiler(tmp_path) -> None:
    """It says the same version, whatever it adds to the command."""
    command = _wrapper(tmp_path / "cc")
    (before,) = {find_toolchain(command), find_toolchain(command)}
    _wrapper(tmp_path / "cc", "-fwrapv")
    assert find_toolchain(command).version == before.version
    assert find_toolchain(command) != before
    assert find_toolchain(f"sh {command}") != find_toolchain(command)
    _wrapper(tmp_path / "cc")
    assert find_toolchain(command) == before


def test_a_script_or_link_that_a_compiler_is_behind_counts(tmp_path) -> None:
    one, two = _wrapper(tmp_path / "one"), _wrapper(tmp_path / "two", "-fwrapv")
    link = tmp_path / "cc"
    link.symlink_to(one)
    through, argued = find_toolchain(str(link)), find_toolchain(f"sh {one}")
    link.unlink()
    link.symlink_to(two)
    _wrapper(tmp_path / "one", "-fwrapv")
    assert find_toolchain(str(link)) != through
    assert find_toolchain(f"sh {one}") != argued


@pytest.mark.parametrize(
    "name", ["CPATH", "C_INCLUDE_PATH", "LIBRARY_PATH", "GCC_EXEC_PREFIX", "COMPILER_PATH"]
)
def test_variables_that_compilers_go_by_are_part_of_the_key(monkeypatch, name) -> None:
    monkeypatch.delenv(name, raising=False)
    without = find_toolchain()
    monkeypatch.setenv(name, "/no/such/folder/")
    assert find_toolchain() != without
    monkeypatch.setenv("UNRELATED", "x")
    monkeypatch.delenv(name)
    assert find_toolchain() == without


def test_another_identity_is_another_key(tmp_path, monkeypatch) -> None:
    """Headers found by CPATH are in the library: one kernel with them, one without."""
    compile_kernel(blur(), BLUR.context, cache=tmp_path)
    monkeypatch.setenv("CPATH", str(tmp_path))
    compile_kernel(blur(), BLUR.context, cache=tmp_path)
    assert len(KernelCache(tmp_path).list()) == 2


def test_many_processes_build_one_library(tmp_path) -> None:
    """A compiler that logs its runs, under eight processes that start together."""
    log, compiler = tmp_path / "log", tmp_path / "cc"
    real = find_toolchain().command[0]
    compiler.write_text(
        f'#!/bin/sh\ncase "$*" in *kernel.c*) echo run >> {log}; sleep 0.2;; esac\nexec {real} "$@"\n'
    )
    compiler.chmod(0o755)
    script = (
        "import numpy as np\n"
        "from polyopt.runtime.kernel import compile_kernel\n"
        "from tests.unit.runtime.programs import BLUR, blur\n"
        f"kernel = compile_kernel(blur(), BLUR.context, cc={str(compiler)!r}, openmp=False,"
        f" cache={str(tmp_path / 'cache')!r})\n"
        "print(int(kernel(np.full((2, 3), 6, np.uint16)).sum()))\n"
    )
    running = [
        subprocess.Popen([sys.executable, "-c", script], cwd=ROOT, stdout=subprocess.PIPE)
        for _ in range(6)
    ]
    assert [p.communicate()[0].strip() for p in running] == [b"12"] * 6
    assert log.read_text().splitlines() == ["run"]
    (entry,) = KernelCache(tmp_path / "cache").list()
    assert json.loads((entry.path / ENTRY).read_text())["name"] == "blur3"


def test_what_a_check_shows_is_not_kept_where_the_cache_is_gone(tmp_path) -> None:
    """The thread that checks goes on, and a process that waits for it ends."""
    made = compile_kernel(blur(), BLUR.context, cache=tmp_path / "cache")
    cache, key = KernelCache(tmp_path / "cache"), made.built.library.parent.name
    shutil.rmtree(tmp_path / "cache")
    cache.add_facts(key, {"code": "right"})
    assert not (tmp_path / "cache").exists()
