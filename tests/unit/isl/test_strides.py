"""Last writes of strided loops: isl's maximum may be that of a part, and is then found anew."""

from __future__ import annotations

import random

import pytest

from polyopt.errors import NotDecidedError
from polyopt.isl import IslError, flow, last_writes, parse_union_map
from polyopt.isl.strides import strided

#: a column of time: as isl reads it, and as Python computes it
COLUMNS = {
    "i": lambda i: i,
    "-i": lambda i: -i,
    "0": lambda _: 0,
    **{f"floor(i/{k})": lambda i, k=k: i // k for k in (2, 3, 4, 6)},
    "i - 2*floor(i/2)": lambda i: i % 2,
}
#: what a loop of three, split by three and jammed, has for time
JAMMED = ("floor(i/6)", "i", "floor(i/3)")
LARGEST = 9


def drawn(seed: int) -> tuple[int, tuple[str, ...]]:
    """A step, and columns of which one tells all instances apart."""
    draw = random.Random(seed)  # noqa: S311 (drawn cases)
    columns = draw.sample(sorted(COLUMNS), 2)
    columns.insert(draw.randrange(3), draw.choice(["i", "-i"]))
    return draw.choice([2, 3, 4]), tuple(columns)


def relations(step: int, columns: tuple[str, ...], *, last: bool):
    """One cell, written at each multiple of ``step``; read at each ``j``, or after all of them."""
    at = ", ".join(columns)
    when = f"1, {', '.join('0' for _ in columns)}, 1" if last else f"0, {at}, 1"
    read = "n > 0 and i = 0" if last else "0 <= i < n"
    texts = (
        f"[n] -> {{ r[i] -> A[] : {read} }}",
        f"[n] -> {{ s[i] -> A[] : i mod {step} = 0 and 0 <= i < n }}",
        f"[n] -> {{ r[i] -> [{when}] : {read}; s[i] -> [0, {at}, 0] : i mod {step} = 0 }}",
    )
    return tuple(map(parse_union_map, texts))


def computed(step: int, columns: tuple[str, ...], *, last: bool):
    """The same in Python, for each ``n`` up to the largest."""
    found = []
    for n in range(1, LARGEST + 1):
        time = {i: tuple(COLUMNS[c](i) for c in columns) for i in range(n)}
        for j in [0] if last else range(n):
            before = [i for i in range(0, n, step) if last or time[i] <= time[j]]
            if before:
                source = max(before, key=time.__getitem__)
                found.append(f"s[{source}] -> r[{j}] : n = {n}")
    return parse_union_map(f"[n] -> {{ {'; '.join(found)} }}")


ISL_FAILS = (2, ("-i", "floor(i/2)", "0"))
CASES = [(3, JAMMED), (2, ("floor(i/4)", "i", "floor(i/2)")), ISL_FAILS, *map(drawn, range(24))]


@pytest.mark.parametrize("last", [True, False])
@pytest.mark.parametrize(("step", "columns"), CASES)
def test_the_last_write_is_the_one_that_python_finds(step, columns, last):
    sizes = parse_union_map(f"[n] -> {{ [] -> [] : 1 <= n <= {LARGEST} }}").params()
    found = last_writes(*relations(step, columns, last=last)).pairs.intersect_params(sizes)
    assert found.is_equal(computed(step, columns, last=last))


def test_isl_is_wrong_where_times_of_a_stride_are_floors():
    """Once it is not, the look at strides can go."""
    wrong = flow._searched(*relations(3, JAMMED, last=True)).pairs
    assert wrong.is_equal(parse_union_map("[n] -> { s[0] -> r[0] : n > 0 }"))


def test_isl_fails_where_what_it_takes_for_a_residue_is_no_function_of_the_read():
    """As above; the other way round it fails."""
    with pytest.raises(IslError, match=flow._MISLED):
        flow._searched(*relations(*ISL_FAILS, last=True))


def test_the_definition_is_wrong_there_too_unless_it_is_looked_over(monkeypatch):
    asked = relations(3, JAMMED, last=True)
    right = flow.defined_last_writes(*asked).pairs
    assert right.is_equal(last_writes(*asked).pairs)
    monkeypatch.setattr(flow, "_is_last", lambda *_: False)
    with pytest.raises(NotDecidedError, match="strided loops"):
        flow.defined_last_writes(*asked)


@pytest.mark.parametrize(
    ("write", "time", "is_strided"),
    [
        ("s[i, j] -> A[]", "[0, i, j]", False),
        ("s[i, j] -> A[]", "[floor(i/32), i, j]", False),
        ("s[i, j] -> A[]", "[0, i + j, j]", False),
        ("s[i, j] -> A[i - 32*floor(i/32)]", "[floor(i/32), i, j]", True),
        ("s[i, j] -> A[]", "[i + j, i - j, j]", True),
        ("s[i, j] -> A[] : i mod 2 = 0", "[0, i, j]", True),
    ],
)
def test_only_what_is_in_residue_classes_is_looked_over(write, time, is_strided):
    cell = write.split(" :")[0].split("-> ")[1].split("[")[1]
    reads = parse_union_map("{ r[] -> A[%s }" % ("0]" if cell != "]" else "]"))
    writes = parse_union_map(f"{{ {write} }}")
    times = parse_union_map(f"{{ r[] -> [9, 0, 0]; s[i, j] -> {time} }}")
    found = parse_union_map("{ }")
    assert bool(list(strided(reads, writes, times, found))) is is_strided
