"""The second generator: its C is C, defined and varied, and polyopt does what it does."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from . import shrink, subjects
from .ctypes import TYPES, typed_literal, usual
from .examples import Example
from .generate import random_c
from .inputs import runs_of
from .oracle import SANITIZE, answers, difference, same, unit_of
from .subjects import Failure, Way
from .trial import check, known, trial

CORPUS = sorted(Path(__file__).with_name("corpus").glob("*.c"))
#: of those that nothing was wrong about when they were chosen
SEEDS = range(0, 24, 3)


def test_a_seed_gives_one_program():
    assert random_c(5) == random_c(5)
    assert len({random_c(seed).text.partition("(")[2] for seed in range(60)}) == 60


def test_what_is_drawn_covers_what_people_write():
    texts = "\n".join(random_c(seed).text for seed in range(250))
    wanted = (
        "size_t", "unsigned char", "short", "_Bool", "int64_t", "restrict", "#define", "enum {", "static inline",
        "continue;", "-- > ", "|| ", " % ", " >> ", " << ", "? ", "(float)", "-0.0", "& 15", "else", " -= 7", " += 5",
    )  # fmt: skip
    assert [w for w in wanted if w not in texts] == []


def test_programs_are_defined_and_their_answers_are_theirs():
    programs = {seed: random_c(seed) for seed in range(6)}
    for seed, fact in known(programs).items():
        assert all(not a.problem for a in fact.expected), seed
        assert [len(a.values) for a in fact.expected] == [len(programs[seed].parameters)] * len(
            fact.runs
        )


def test_a_batch_is_right():
    assert [str(f) for _, f in trial(SEEDS).failures] == []


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ("a[n] = 1;", "a sanitizer stopped it"),
        ("a[0] = 2147483647 + n;", "a sanitizer stopped it"),
        ("for (;;) a[0] ^= 1;", "did not end"),
    ],
)
def test_what_is_not_defined_is_told(body, problem):
    program = _written(body)
    found = answers({0: unit_of(program)}, [(0, runs_of(program, 1)[0])], SANITIZE, seconds=1)
    assert found[0].problem == problem


def _written(body):
    base = next(p for p in map(random_c, range(90)) if not p.headers and not p.wild)
    size, array = (next(q for q in base.parameters if q.kind == kind) for kind in ("size", "array"))
    kept = (
        replace(size, name="n", key="i32"),
        replace(array, name="a", key="i32", extents=(("n", 0, 1),)),
    )
    text = f"void {base.name}(int n, int a[n])\n{{\n#pragma scop\n{body}\n#pragma endscop\n}}\n"
    return replace(base, text=text, parameters=kept, file_names=(), fixed={})


@pytest.mark.parametrize(("other", "calls"), [("long", 4), ("long long", 3)])
def test_arrays_overlap_only_where_types_may_alias(other, calls):
    program = _written("a[0] = b[0];")
    n, a = program.parameters
    one, two = (
        replace(a, name=name, key="i64", aliases=True, spelling=spelling)
        for name, spelling in (("a", "long"), ("b", other))
    )
    assert len(runs_of(replace(program, parameters=(n, one, two), wild=True), 1)) == calls


def test_answers_are_compared_bit_by_bit_but_for_what_no_number_is():
    one = np.array([0.0, np.nan, 1.0], np.float32)
    other = np.array([-0.0, -np.nan, 1.0], np.float32)
    assert same(one, other).tolist() == [False, True, True]


def test_arithmetic_has_the_types_of_c():
    assert [usual(a, b) for a, b in (("u8", "i16"), ("u32", "i32"), ("u32", "i64"), ("u64", "i64"), ("f32", "i64"))] == [
        "i32", "u32", "i64", "u64", "f32",
    ]  # fmt: skip
    assert [typed_literal(t)[0] for t in ("2147483648", "0x80000000", "0xffffffffffffffff", "07", "1u", "5L")] == [
        "i64", "u32", "u64", "i32", "u32", "i64",
    ]  # fmt: skip
    assert (TYPES["i8"].low, TYPES["u64"].high) == (-128, 2**64 - 1)


def test_a_failure_is_kept_made_small_and_found_again(tmp_path, monkeypatch):
    program = _written("for (int i = 0; i < n; i++) { int t = i; a[i] = (a[i] & 7) + t; }")

    def broken(program, way, **_options):
        wrong = "& 7" in program.text and "a[i]" in program.text
        return Failure("wrong", "a[0] is 1, not 2", program, way) if wrong else None

    monkeypatch.setattr(shrink, "check", broken)
    small = shrink.shrunk(Failure("wrong", "a[0] is 1, not 2", program, Way("file")), 0)
    assert len(small.program.text) < len(program.text) - 20
    example = Example.of(small, 3)
    example.save(tmp_path / "kept.c", "wrong: once")
    loaded = Example.load(tmp_path / "kept.c")
    assert loaded.program == example.program
    assert (loaded.way, loaded.seed, loaded.build) == (example.way, 3, ())


def test_wrong_code_is_found(monkeypatch):
    program = _written("for (int i = 0; i < n; i++) a[i] = (a[i] & 7) + i;")
    assert check(program, Way("file")) is None

    def other(text, _options):
        from polyopt.rewrite import rewrite

        done = rewrite(text)
        return replace(done, text=done.text.replace("& 7", "& 3"))

    monkeypatch.setattr(subjects, "rewrite", other)
    found = check(program, Way("file"))
    assert found is not None
    assert found.kind == "wrong"


@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.stem)
def test_what_failed_once_does_not_fail_again(path):
    known_failure = Example.load(path)
    failure = check(
        known_failure.program, known_failure.way, seed=known_failure.seed, build=known_failure.flags
    )
    assert failure is None, str(failure)


def test_a_program_that_reads_what_it_never_wrote_is_no_finding():
    program = _written("int t[3]; a[0] = t[n > 9];")
    with pytest.raises(ValueError, match="not defined"):
        check(program, Way("kernel", (), {"plan": "unfused"}))


def test_differences_name_their_element():
    program = _written("a[0] = 1;")
    run = runs_of(program, 1)[0]
    one, two = (
        answers({0: unit_of(p)}, [(0, run)], ("-O1",))[0] for p in (program, _written("a[0] = 2;"))
    )
    assert difference(["n", "a"], two, one).startswith("a[0] is 2, not 1")
    assert difference(["n", "a"], one, one) == ""
