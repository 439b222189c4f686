"""Injected faults: each is told in one plain line, and loses nothing."""

from __future__ import annotations

import pytest

from .cases import CASES, works
from .crowds import calls, compiled, in_a_row, plan_and_run, processes, threads


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


def test_threads_call_one_kernel_at_once(tmp_path):
    assert calls(16, tmp_path)


def test_kernels_that_are_gone_leave_nothing(tmp_path):
    early, late = in_a_row(compiled, tmp_path, 60)
    assert (late.files, late.libraries) == (early.files, early.libraries)
    assert late.objects - early.objects < 100
    assert late.resident - early.resident < 8e6


def test_programs_that_are_gone_leave_nothing_of_python(tmp_path):
    early, late = in_a_row(plan_and_run, tmp_path, 40)
    assert (late.files, late.libraries) == (early.files, early.libraries)
    assert late.objects - early.objects < 100
