"""Injected faults: each is told in one plain line, and loses nothing."""

from __future__ import annotations

import pytest

from .cases import CASES, works
from .crowds import compilations, processes, threads


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_fault_is_told_and_loses_nothing(case, tmp_path):
    told = case.run(tmp_path)
    assert case.says in told
    assert "Traceback" not in told
    assert "isl" not in told
    assert works(tmp_path)


def test_threads_compile_each_program_once(tmp_path):
    assert threads(tmp_path, 16, 3) == 3


def test_processes_compile_each_program_once(tmp_path):
    assert processes(tmp_path, 4, 3) == 3


def test_kernels_that_are_gone_leave_nothing(tmp_path):
    early, late = compilations(tmp_path, 60)
    assert late[1:] == early[1:]
    assert late[0] - early[0] < 8e6
