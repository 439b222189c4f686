"""The check of C that is new: beside the compiler, kept with the kernel, and able to refuse."""

import json
from dataclasses import replace
from unittest.mock import patch

import pytest

import polyopt as po
from polyopt.codegen.emit import emit
from polyopt.codegen.validate.on_build import NOT_CHECKED, CodeCheck
from polyopt.errors import InternalError
from polyopt.isl import IslError
from polyopt.runtime.cache import KernelCache

TEXT = """
void chain(int N, const float a[restrict N + 2], float out[restrict N])
{
    float mid[N + 1];
    for (int i = 0; i < N + 1; i++)
        mid[i] = a[i] + a[i + 1];
    for (int i = 0; i < N; i++)
        out[i] = mid[i] * mid[i + 1];
}
"""


@pytest.fixture
def plan():
    return po.Plan(po.parse_c(TEXT)).tile("out", i=8).fuse("mid", into="out")


def said(kernel):
    """What its proof says of the C."""
    (code,) = [o.detail for o in kernel.proof.obligations if o.name == "code"]
    return code


def test_new_c_is_shown_for_all_sizes_and_the_proof_says_so(plan, tmp_path):
    kernel = plan.compile(cache=tmp_path, check=True)
    assert "has the source's values, for all sizes" in said(kernel)
    assert len(kernel.proof.obligations) == len(plan.prove().obligations) + 1


def test_what_was_shown_is_kept_with_the_kernel(plan, tmp_path):
    first = said(plan.compile(cache=tmp_path, check=True))
    with patch.object(CodeCheck, "__call__", side_effect=AssertionError):
        assert said(plan.compile(cache=tmp_path, check=True)) == first


def test_a_check_that_is_off_is_said_and_made_up_for_later(plan, tmp_path):
    unchecked = plan.compile(cache=tmp_path, check=False)
    assert said(unchecked) == NOT_CHECKED
    made = unchecked.built.library.stat().st_mtime_ns
    checked = plan.compile(cache=tmp_path, check=True)
    assert "for all sizes" in said(checked)
    assert checked.built.library.stat().st_mtime_ns == made
    assert said(plan.compile(cache=tmp_path, check=False)) == NOT_CHECKED


@pytest.mark.parametrize(("value", "checks"), [("0", False), ("1", True), (None, True)])
def test_the_environment_gives_the_default(plan, tmp_path, monkeypatch, value, checks):
    if value is None:
        monkeypatch.delenv("POLYOPT_CHECK", raising=False)
    else:
        monkeypatch.setenv("POLYOPT_CHECK", value)
    assert (said(plan.compile(cache=tmp_path)) != NOT_CHECKED) == checks


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (" * mid", " - mid"),
        ("a[i + 1]", "a[i]"),
        ("8 * i_tile + 8)", "8 * i_tile + 7)"),
        ("(N - 1, ", "(N - 2, "),
        ("mid_tile[i - 8 * i_tile + 1]", "mid_tile[i - 8 * i_tile + 2]"),
    ],
)
def test_wrong_c_becomes_no_kernel(plan, tmp_path, old, new):
    right = emit(plan.program)

    def wrong(*_, **__):
        return replace(right, source=right.source.replace(old, new))

    assert old in right.source
    with patch("polyopt.codegen.emit.emit", wrong), pytest.raises(InternalError):
        plan.compile(cache=tmp_path, check=True)
    assert KernelCache(tmp_path).list() == []


def test_the_same_c_is_checked_anew_for_another_program(plan, tmp_path):
    plan.compile(cache=tmp_path, check=True)
    other = po.Plan(po.parse_c(TEXT.replace("mid[i] * ", "mid[i] - ")))
    right = emit(plan.program)
    with patch("polyopt.codegen.emit.emit", lambda *_, **__: right), pytest.raises(InternalError):
        other.compile(cache=tmp_path, check=True)


def test_a_spent_budget_is_said(plan, tmp_path):
    check = CodeCheck(plan.scop, emit(plan.program))
    assert "not decided within 100 isl operations" in check(operations=100)


def test_where_isl_fails_in_the_check_both_run(plan, tmp_path):
    def failing(*_, **__):
        raise IslError("isl stops")

    with patch("polyopt.codegen.validate.translation.check_same", failing):
        found = [said(plan.compile(cache=tmp_path, check=True)), str(plan.prove(code=True))]
    for text in found:
        assert "the C read back gives the source's results in" in text
        assert "isl failed" in text


def test_facts_that_are_none_are_found_anew(plan, tmp_path):
    kernel = plan.compile(cache=tmp_path, check=True)
    entry = kernel.built.library.parent / "entry.json"
    described = json.loads(entry.read_text(encoding="utf-8"))
    entry.write_text(json.dumps(described | {"facts": ["?"]}), encoding="utf-8")
    assert "for all sizes" in said(plan.compile(cache=tmp_path, check=True))
