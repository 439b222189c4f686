"""What a compiler answered is kept beside the kernels, and not asked for twice."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from polyopt.codegen.emit import SPARE_STACK
from polyopt.runtime import toolchain as module
from polyopt.runtime.cache import KernelCache
from polyopt.runtime.toolchain import find_toolchain

WIDE = ("-march=native", "-mprefer-vector-width=512", *SPARE_STACK)


@pytest.fixture
def asked(tmp_path, monkeypatch):
    """A gcc that writes down what it is asked, for a processor that has our options."""
    monkeypatch.setenv("POLYOPT_CACHE", str(tmp_path / "cache"))
    log = tmp_path / "log"
    write(tmp_path / "cc", log, "znver3")
    monkeypatch.setenv("POLYOPT_CC", str(tmp_path / "cc"))
    return log


def write(fake, log, tuned, more=""):
    fake.write_text(
        f'#!/bin/sh\necho "$*" >> {log}\ncase "$*" in\n'
        f'*--version*) echo "cc (GCC) 12.2.0"; exit ;;\n*--help=target*) echo "  -mtune=  {tuned}"; exit ;;\n'
        f'{more}esac\n'
    )  # fmt: skip
    fake.chmod(0o755)


def flags_elsewhere(log) -> tuple[list[str], list[str]]:
    """Flags in another process, and what it asked beside the version."""
    log.unlink(missing_ok=True)
    code = (
        "from polyopt.runtime.toolchain import find_toolchain as f\n"
        f"t = f(); print(*t.flags({WIDE!r}), t.has_openmp)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=os.environ
    )
    return done.stdout.split(), [
        line for line in log.read_text().splitlines() if line != "--version"
    ]


def test_a_second_process_has_the_same_flags_and_asks_for_none(asked):
    first, questions = flags_elsewhere(asked)
    assert set(SPARE_STACK) <= set(first)
    assert len(questions) == 4  # what it tunes for, its costs, small fills, OpenMP
    assert flags_elsewhere(asked) == (first, [])


def forget():
    for one in (module._tuned_for, module._compiles, module._described):
        one.cache_clear()


def test_another_compiler_at_the_same_path_is_asked(asked, tmp_path):
    assert set(SPARE_STACK) <= set(find_toolchain().flags(WIDE))
    write(tmp_path / "cc", asked, "znver4")
    assert set(SPARE_STACK).isdisjoint(find_toolchain().flags(WIDE))


def test_another_processor_is_asked_about(asked, monkeypatch):
    find_toolchain().flags(WIDE)
    forget()
    asked.unlink()
    monkeypatch.setattr(module, "cpu_id", lambda: "another")
    find_toolchain().flags(WIDE)
    assert any("--help=target" in line for line in asked.read_text().splitlines())


@pytest.mark.parametrize(
    "damage",
    [
        lambda file: file.write_bytes(b""),
        lambda file: file.write_bytes(file.read_bytes()[:-1] + b"9"),
        lambda file: file.write_bytes(b"\xff" * 80),
        lambda file: (file.rename(file.with_suffix(".there")), file.symlink_to(f"{file}.there")),
        lambda file: (file.unlink(), file.mkdir()),
    ],
    ids=["empty", "changed", "foreign", "link", "folder"],
)
def test_a_damaged_answer_is_asked_for_anew(asked, tmp_path, damage):
    right = find_toolchain().flags(WIDE)
    kept = list((tmp_path / "cache" / "probes").iterdir())
    assert len(kept) == 3
    for file in kept:
        damage(file)
    forget()
    asked.unlink()
    assert find_toolchain().flags(WIDE) == right
    assert len(asked.read_text().splitlines()) == 4


def test_an_answer_under_another_key_does_not_fit(tmp_path):
    kernels = KernelCache(tmp_path / "cache")
    kernels.keep_probe("a", "znver3")
    (tmp_path / "cache" / "probes" / "a").rename(tmp_path / "cache" / "probes" / "b")
    assert kernels.probe("b") is None


def test_what_a_compiler_cannot_do_is_asked_in_each_process(asked, tmp_path):
    write(tmp_path / "cc", asked, "znver3", "*-fopenmp\\ *) exit 1 ;;\n")
    assert not find_toolchain().has_openmp
    forget()
    asked.unlink()
    assert not find_toolchain().has_openmp
    assert any("-fopenmp" in line for line in asked.read_text().splitlines())


def test_answers_go_with_the_cache_and_count(asked, tmp_path):
    kernels = KernelCache(tmp_path / "cache")
    find_toolchain().flags(WIDE)
    assert kernels.size() == sum(f.stat().st_size for f in (tmp_path / "cache/probes").iterdir())
    kernels.clear()
    assert not (tmp_path / "cache" / "probes").exists()


def test_a_cache_that_cannot_be_made_hinders_nothing(asked, tmp_path, monkeypatch):
    right = find_toolchain().flags(WIDE)
    forget()
    (tmp_path / "file").touch()
    monkeypatch.setenv("POLYOPT_CACHE", str(tmp_path / "file" / "cache"))
    assert find_toolchain().flags(WIDE) == right
