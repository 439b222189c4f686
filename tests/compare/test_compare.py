"""The comparison of two versions: its statistics, its text, what is gone on with, what is said."""

from __future__ import annotations

import shutil
from dataclasses import replace

import numpy as np
import pytest

from . import __main__ as program
from .driver import Options, compare, difference, is_done
from .ratios import ALIKE, FASTER, SLOWER, geometric_mean, mean_interval, ratio_of
from .records import (
    BASE,
    NEW,
    OTHER_C,
    OTHER_FLAGS,
    OTHER_PROGRAM,
    SAME_C,
    SAME_CODE,
    Comparison,
    Entry,
    Made,
    Run,
    load,
    merged,
    save,
)
from .report import report, troubles
from .session import FailedError
from .test_versions import git
from .versions import PARTS, CompareError

MADE = Made("program", "inputs", "source", "flags", "library", ((1.0, 2.0, 0.5, 1.0),))
#: another text that compiles to other code
CHANGED = replace(MADE, source="other", library="other", taken=((0.5, 1.0, 0.5, 1.0),))


def turns(base, new, rounds=20):
    """Rounds of times in milliseconds, spread by 1 % in a fixed way, on a machine that drifts."""
    drift = [1 + 0.3 * k / rounds for k in range(rounds)]
    spread = [1 + 0.01 * (-1) ** (k // 2) for k in range(rounds)]
    return tuple(
        (base * d * s * 1e-3, new * d / s * 1e-3) for d, s in zip(drift, spread, strict=True)
    )


def entry(kernel="blur", new=CHANGED, **runs):
    return Entry(
        "images", kernel, {"H": 4}, {BASE: MADE, NEW: new},
        runs={int(name[1:]): run for name, run in runs.items()},
    )  # fmt: skip


def comparison(*entries, **changes):
    versions = {
        BASE: {"label": "37f96f8", "digest": "1"},
        NEW: {"label": "HEAD + 2 changed", "digest": "2"},
    }
    machine = {"cpu": "a CPU", "cores": 2, "compiler": "gcc 12"}
    return replace(Comparison(versions, machine, "bench", entries), **changes)


# -- statistics ---------------------------------------------------------------------------------


def test_a_ratio_is_of_medians_and_above_one_where_new_is_faster():
    found = ratio_of([(2.0, 1.0), (2.0, 1.0), (9.0, 1.0)])
    assert (found.base_s, found.new_s, found.value) == (2.0, 1.0, 2.0)


def test_too_few_rounds_have_no_interval_and_no_verdict():
    found = ratio_of([(1.0, 2.0)] * 4)
    assert (found.low, found.high, found.verdict) == (None, None, ALIKE)


def test_what_slows_both_down_does_not_widen_the_interval():
    found = ratio_of(turns(1.0, 1.0))
    apart = ratio_of([(base, 1e-3) for base, _ in turns(1.0, 1.0)])
    assert found.low < 1 < found.high
    assert found.high - found.low < apart.high - apart.low


def test_an_interval_is_the_same_each_time():
    assert ratio_of(turns(1.0, 1.1)) == ratio_of(turns(1.0, 1.1))


@pytest.mark.parametrize(
    ("new", "verdict"), [(1.2, SLOWER), (1.03, ALIKE), (1.0, ALIKE), (0.97, ALIKE), (0.8, FASTER)]
)
def test_a_verdict_is_about_more_than_a_twentieth(new, verdict):
    assert ratio_of(turns(1.0, new)).verdict == verdict


def test_a_loss_within_the_noise_is_none():
    noisy = [(1.0, 1.2), (1.0, 0.8), (1.0, 1.3), (1.0, 0.7), (1.0, 1.1), (1.0, 1.2), (1.0, 0.9)]
    found = ratio_of(noisy)
    assert found.value < 0.95
    assert found.verdict == ALIKE


def test_twice_as_fast_and_half_as_fast_are_as_fast_in_the_mean():
    assert geometric_mean([2.0, 0.5]) == pytest.approx(1.0)
    assert geometric_mean([4.0, 1.0]) == pytest.approx(2.0)
    assert geometric_mean([]) == 1.0


def test_a_mean_of_few_has_no_interval_and_one_of_many_lies_in_its_own():
    assert mean_interval([1.0] * 4) is None
    ratios = [0.8, 0.9, 1.0, 1.1, 1.2, 0.95]
    low, high = mean_interval(ratios)
    assert min(ratios) < low < geometric_mean(ratios) < high < max(ratios)
    assert mean_interval([0.9] * 6) == pytest.approx((0.9, 0.9))


# -- what is the same ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({}, SAME_C),
        ({"source": "x"}, SAME_CODE),
        ({"library": "x"}, SAME_C),  # a library may hold the time, or its place
        ({"library": "x", "flags": "x"}, OTHER_FLAGS),
        ({"library": "x", "source": "x"}, OTHER_C),
        ({"program": "x"}, OTHER_PROGRAM),
    ],
)
def test_code_is_the_same_where_the_library_is(changes, code):
    found = entry(new=replace(MADE, **changes))
    assert found.code == code
    assert found.is_same_code == (code in {SAME_C, SAME_CODE})


def test_results_differ_by_rounding_or_more():
    one = {"out": np.array([1.0, 2.0, 4.0, 8.0], np.float32)}
    assert difference(one, {"out": one["out"].copy()}) == (0.0, 0.0, True)
    rounded = {"out": one["out"] + np.array([0, 0, 0, 1e-5], np.float32)}
    share, largest, rounding = difference(one, rounded)
    assert (share, rounding) == (0.25, True)
    assert largest == pytest.approx(1e-5 / 8, rel=0.1)
    assert not difference(one, {"out": one["out"] * np.float32(1.1)})[2]
    assert difference(one, {"out": one["out"][:2]}) == (1.0, float("inf"), False)
    assert difference(one, {"out": one["out"] * np.float32("nan")})[1:] == (float("inf"), False)


def test_integers_do_not_differ_by_rounding():
    one = {"out": np.arange(1000)}
    assert difference(one, {"out": np.arange(1000) + (np.arange(1000) == 5)})[2] is False


# -- going on -----------------------------------------------------------------------------------


def test_a_file_gives_what_was_saved(tmp_path):
    run = Run(same_bits=False, differ=(0.5, 1e-6), turns=((1.0, 2.0),), spent_s=3.0)
    first = comparison(entry(t1=run, t2=Run(same_bits=True)), only={BASE: ("old",), NEW: ()})
    save(first, tmp_path / "there" / "found.json")
    assert load(tmp_path / "there" / "found.json") == first
    assert [p.name for p in (tmp_path / "there").iterdir()] == ["found.json"]


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": 99}', '{"format": 1}'])
def test_what_is_no_comparison_is_refused(tmp_path, text):
    (tmp_path / "found.json").write_text(text)
    with pytest.raises(CompareError, match=r"found\.json holds no comparison"):
        load(tmp_path / "found.json")
    with pytest.raises(CompareError, match="cannot be read: No such file"):
        load(tmp_path / "nowhere.json")


def test_rounds_of_two_runs_count_together():
    one = comparison(entry(t1=Run(same_bits=True, turns=((1.0, 2.0),), spent_s=1.0)))
    other = comparison(
        entry(t1=Run(same_bits=True, turns=((3.0, 4.0),), spent_s=2.0), t2=Run(same_bits=True)),
        entry("harris"),
    )
    found = merged(one, other)
    assert [e.kernel for e in found.entries] == ["blur", "harris"]
    runs = found.entries[0].runs
    assert (runs[1].turns, runs[1].spent_s) == (((1.0, 2.0), (3.0, 4.0)), 3.0)
    assert runs[2].same_bits
    assert len(found.entries[0].made[NEW].taken) == 2


def test_rounds_of_other_code_do_not_count_together():
    one = comparison(entry(t1=Run(turns=((1.0, 2.0),))))
    other = comparison(entry(new=replace(CHANGED, source="third"), t1=Run(turns=((3.0, 4.0),))))
    assert merged(one, other).entries == other.entries


def test_other_comparisons_are_not_merged():
    one = comparison()
    other = replace(one, machine={**one.machine, "compiler": "clang"}, purpose="tiny")
    with pytest.raises(CompareError, match=r"other compiler, sizes"):
        merged(one, other)


def test_done_is_what_was_measured_as_asked():
    alike, slow = (Run(same_bits=True, turns=turns(1.0, new)) for new in (1.0, 1.3))
    assert is_done(entry(t1=alike), Options(threads=(1,)))
    assert not is_done(entry(t1=alike), Options(threads=(1, 2)))
    assert not is_done(entry(t1=alike), Options(threads=(1,), rounds=30))
    assert is_done(entry(t1=replace(alike, spent_s=31)), Options(threads=(1,), rounds=30))
    # a loss is measured twice as often before it counts
    assert not is_done(entry(t1=slow), Options(threads=(1,)))
    assert is_done(entry(t1=slow), Options(threads=(1,), rounds=10))


def test_the_same_code_is_measured_only_where_that_is_asked():
    same = entry(new=MADE, t1=Run(same_bits=True))
    assert is_done(same, Options(threads=(1,)))
    assert not is_done(same, Options(threads=(1,), measure_all=True))
    assert is_done(replace(same, runs={}, errors={NEW: "no"}), Options())


# -- the driver, with versions that are made up -------------------------------------------------


class Fake:
    """A version that answers from a table, and remembers what it was asked."""

    def __init__(self, side, said, *, seconds=1e-3, kernels=("blur",), source="a"):
        self.side, self.said, self.seconds = side, said, seconds
        self.names, self.source = list(kernels), source
        self.broken: set[str] = set()

    def ask(self, do, **arguments):
        self.said.append((self.side, do))
        if do in self.broken or arguments.get("kernel") in self.broken:
            raise FailedError("it broke")
        made = {"program": "p", "inputs": "i", "source": self.source, "flags": "f"}
        taken = [1.0, 2.0, 0.5, 1.0]
        return {
            "kernels": {"images": self.names, "affine": [], "networks": []},
            "sizes": {"sizes": {"H": 4}},
            "prepare": {**made, "library": self.source, "taken": taken},
            "check": {"results": "r"},
            "run": {"times": [self.seconds] * 3},
            "renew": {},
        }[do]


def compared(base, new, before=None, **options):
    states = []
    chosen = Options(**{"threads": (1,), "rounds": 6, **options})
    found, left = compare(
        before or comparison(), {BASE: base, NEW: new}, chosen, saved=states.append, report=len
    )
    return found, left, states


def test_versions_take_turns_and_change_who_begins():
    said = []
    found, left, states = compared(Fake(BASE, said), Fake(NEW, said, source="b", seconds=2e-3))
    order = [side for side, do in said if do == "run"]
    assert order[:8] == [BASE, NEW, NEW, BASE, BASE, NEW, NEW, BASE]
    assert left == 0
    assert states[-1] == found
    # it is slower: measured twice as often, and arrays move on the way
    run = found.entries[0].runs[1]
    assert run.turns == ((1e-3, 2e-3),) * 12
    assert said.count((NEW, "renew")) == 2


def test_the_same_code_is_not_run_in_turns():
    said = []
    found, _, _ = compared(Fake(BASE, said), Fake(NEW, said))
    assert (NEW, "run") not in said
    assert found.entries[0].runs[1].same_bits
    compared(Fake(BASE, said), Fake(NEW, said), measure_all=True)
    assert said.count((NEW, "run")) == 6


def test_what_only_one_has_and_what_fails_is_told():
    said = []
    base = Fake(BASE, said, kernels=("old", "blur", "harris"))
    new = Fake(NEW, said, kernels=("blur", "harris", "young"), source="b")
    new.broken = {"blur"}
    found, left, _ = compared(base, new)
    assert found.only == {BASE: ("old",), NEW: ("young",)}
    assert [(e.kernel, e.errors) for e in found.entries] == [
        ("blur", {NEW: "it broke"}),
        ("harris", {}),
    ]
    assert left == 0
    text = report(found)
    assert "new failed: it broke" in text
    assert "only base has: old" in text
    assert "only new has: young" in text
    assert troubles(found) == ["blur failed with new: it broke"]


def test_a_version_that_breaks_while_it_runs_is_told():
    said = []
    base = Fake(BASE, said)
    base.broken = {"run"}
    found, _, _ = compared(base, Fake(NEW, said, source="b"))
    assert found.entries[0].errors == {BASE: "it broke"}
    assert troubles(found) == []


def test_a_run_that_was_stopped_goes_on_where_it_was():
    said = []
    names = ("blur", "harris")
    base, new = Fake(BASE, said, kernels=names), Fake(NEW, said, kernels=names, source="b")
    nothing, left, _ = compared(base, new, end=0.0)
    assert (nothing.entries, left) == ((), 2)
    first, left, _ = compared(base, new, kernels=("blur",))
    assert left == 0
    said.clear()
    both, left, _ = compared(base, new, first)
    assert (left, [e.kernel for e in both.entries]) == (0, list(names))
    assert said.count((NEW, "prepare")) == 1
    more, _, _ = compared(base, new, both, rounds=8)
    assert [len(e.runs[1].turns) for e in more.entries] == [8, 8]
    assert len(more.entries[0].made[BASE].taken) == 2


def test_an_interrupt_keeps_what_is_known():
    said = []
    names = ("blur", "harris")
    base, new = Fake(BASE, said, kernels=names), Fake(NEW, said, kernels=names, source="b")

    def interrupted(state):
        if len(state.entries) == 2:
            raise KeyboardInterrupt

    chosen = Options(threads=(1,), rounds=6)
    sessions = {BASE: base, NEW: new}
    found, left = compare(comparison(), sessions, chosen, saved=interrupted, report=len)
    assert len(found.entries[0].runs[1].turns) == 6
    assert left == 1


def test_a_name_of_no_kernel_is_refused():
    said = []
    with pytest.raises(CompareError, match=r"no kernel of .* is called 'x'"):
        compared(Fake(BASE, said), Fake(NEW, said), kernels=("blur", "x"))


# -- the text -----------------------------------------------------------------------------------


def test_a_report_says_what_is_slower_and_what_is_not_measured():
    found = comparison(
        entry("blur", t1=Run(same_bits=True, turns=turns(1.0, 1.25))),
        entry("harris", t1=Run(same_bits=False, differ=(0.25, 3e-7), turns=turns(2.0, 1.0))),
        entry("unsharp", new=replace(MADE, source="x"), t1=Run(same_bits=True)),
    )
    text = report(found)
    lines = {line.split()[0]: line.split() for line in text.splitlines() if line}
    ratio = ratio_of(turns(1.0, 1.25))
    assert lines["blur"][1:] == [
        "1", f"{ratio.base_s * 1e3:.4g}", f"{ratio.new_s * 1e3:.4g}", "0.80",
        f"{ratio.low:.2f}-{ratio.high:.2f}", "other", "C", "same", "bits", "2.00", "->", "1.00",
    ]  # fmt: skip
    assert lines["harris"][8:13] == ["0.25", "of", "them", "by", "3e-07"]
    assert lines["unsharp"][2:8] == ["-", "-", "-", "-", "same", "code"]
    means = "geometric mean 1.265 of 2 (1.169 with the same code as 1), worst blur 0.80"
    assert f"1 thread: {means}; 1 of the same code not measured" in text
    taken = "all 1.59, plan 1.59, processor time of polyopt 1.00, of the compiler 1.00"
    assert f"from program to kernel, geometric means of 3: {taken}\n" in text
    assert "slower than 0.95 of base, beyond noise: blur on 1 0.80 (" in text
    assert "faster: harris on 1 2.00" in text
    (told,) = troubles(found)
    assert told == f"blur on 1 0.80 ({ratio.low:.2f}-{ratio.high:.2f})"


def test_other_results_are_trouble():
    run = Run(same_bits=False, differ=(1.0, 0.5), rounding=False, turns=turns(1.0, 1.0))
    found = comparison(entry(t2=run))
    assert troubles(found) == ["blur on 2: results differ by more than rounding"]
    assert "DIFFER: 1 of them by 0.5" in report(found)


def test_other_inputs_are_told():
    found = comparison(entry(new=replace(CHANGED, inputs="x"), t1=Run()))
    assert "other inputs" in report(found)
    assert "slower than 0.95 of base, beyond noise: none" in report(found)


# -- the command line ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([], "compared with which commit? make compare BASE=<commit>"),
        (["HEAD", "HEAD"], "compared with which commit? make compare BASE=<commit>"),
        (["nowhere"], "there is no commit 'nowhere' here"),
        (["HEAD", "--suite", "songs"], "there is no suite 'songs'; there are images, affine,"),
        (["HEAD", "--threads", "1,x"], "THREADS='1,x' are no numbers of threads, such as 1,2"),
        (["HEAD", "--rounds", "0"], "ROUNDS=0 is below 1"),
        (["HEAD", "--sizes", "huge"], "there are no sizes 'huge'; there are bench, demo, test,"),
        (["nowhere.json"], "nowhere.json cannot be read: No such file"),
    ],
)
def test_what_cannot_be_compared_is_told_in_one_line(arguments, told, capsys):
    assert program.main(arguments) == 2
    said = capsys.readouterr()
    assert told in said.err
    assert said.err.startswith("compare: ")
    assert (said.out, said.err.count("\n")) == ("", 1)


def test_results_of_files_are_shown_as_one(tmp_path, capsys):
    paths = [tmp_path / "one.json", tmp_path / "two.json"]
    for path in paths:
        save(comparison(entry(t1=Run(same_bits=True, turns=turns(1.0, 1.5, 3)))), path)
    assert program.main([*map(str, paths), "-o", str(tmp_path / "both.json")]) == 1
    assert "slower than 0.95 of base, beyond noise: blur on 1 0.6" in capsys.readouterr().out
    assert len(load(tmp_path / "both.json").entries[0].runs[1].turns) == 6
    assert "blur" in (tmp_path / "both.txt").read_text()


def test_a_version_is_as_fast_as_itself(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(program, "ROOT", copy_of_checkout(tmp_path / "checkout"))
    output = tmp_path / "found.json"
    asked = ["HEAD", "--kernels", "blur", "--threads", "1", "--rounds", "1", "--all"]
    assert program.main([*asked, "--sizes", "tiny", "-o", str(output)]) == 0
    (found,) = load(output).entries
    assert (found.code, found.errors) == (SAME_C, {})
    run = found.runs[1]
    assert run.same_bits
    assert [len(turn) for turn in run.turns] == [2]
    assert all(seconds > 0 for seconds in run.turns[0])
    told = capsys.readouterr()
    assert "same C" in told.out
    assert "left" not in told.out


def copy_of_checkout(folder):
    """These files as a repository of their own: a source archive is in none."""
    folder.mkdir()
    for part in PARTS:
        shutil.copytree(
            program.ROOT / part, folder / part, ignore=shutil.ignore_patterns("__pycache__")
        )
    shutil.copy2(program.ROOT / "pyproject.toml", folder)
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "all")
    return folder
