"""Unsigned arithmetic that may wrap: assumed not to as a condition on the sizes, or not affine."""

from __future__ import annotations

import ctypes
import subprocess

import numpy as np
import pytest

import polyopt as po
from polyopt.errors import ArgumentError, NonAffineError
from polyopt.frontend.c import parse_c
from polyopt.frontend.c.regions.files import Declined, lower_regions
from polyopt.isl import Set, context
from polyopt.rewrite import rewrite
from polyopt.source import Source


def region(arguments, body):
    text = f"void f({arguments}) {{\n#pragma scop\n{body}\n#pragma endscop\n}}\n"
    (found,) = lower_regions(Source("in.c", text), {})
    return found


def needed(arguments, body):
    found = region(f"{arguments}, int C[restrict 999]", body)
    assert not isinstance(found, Declined), found.error
    return found.needed


@pytest.mark.parametrize(
    ("arguments", "body", "sizes"),
    [
        ("unsigned n, unsigned lo", "for (unsigned i = 0; i < n; i++) if (i + lo > 3) C[i] = 1;",
         "n <= 999 and n + lo <= 4294967296"),
        ("unsigned n, unsigned lo", "for (int i = 0; i < 9; i++) if (i * 2u + lo < 20) C[i] = 1;",
         "lo <= 4294967279"),
        ("unsigned lo", "for (int i = 0; i < 9; i++) { if (i + lo < 20) continue; C[i] = 1; }",
         "lo <= 4294967287"),
        ("size_t n, size_t lo", "for (size_t i = 0; i < n; i++) if (i + lo > 3) C[i] = 1;",
         "0 <= n <= 999 and 0 <= lo <= 4398046511104"),
        ("unsigned s", "for (int i = 0; i < 9; i++) for (unsigned j = i + s; j < 9; j++) C[j] = 1;",
         "s <= 4294967287"),
        ("unsigned lo", "for (int i = 0; i < 9; i++) C[(i + lo) % 100] = 1;", "lo <= 4294967287"),
        # the lowest bits are the same
        ("unsigned lo", "for (int i = 0; i < 9; i++) C[(i + lo) & 63] = 1;", ""),
        # tested last where it fails for the first time
        ("unsigned n", "for (unsigned i = 0; i + 2 < n; i++) C[i] = 1;", "n <= 1001"),
        ("unsigned n, unsigned s", "for (unsigned i = s; i < n; i += 7) C[i % 8] = 1;",
         "n <= 4294967289"),
        # conversions to types that do not hold the value
        ("long n", "for (int i = 0; i < (int)n; i++) C[i % 8] = 1;",
         "-2147483648 <= n <= 2147483647"),
        ("int s", "for (unsigned i = s - 2; i < 9; i++) C[i] = 1;", "s >= 2"),
        ("int n", "for (unsigned char i = 0; i < n; i++) C[i] = 1;", "n <= 255"),
        # what is promoted to int does not wrap
        ("unsigned char n, unsigned short s", "for (int i = 0; i < n; i++) C[i + s > 9] = 1;", ""),
        # as a signed number the size would be negative
        ("size_t s", "for (size_t i = s; i < 5; i++) C[i] = 1;", "s >= 0"),
    ],
)  # fmt: skip
def test_the_sizes_at_which_nothing_wraps_are_tested(arguments, body, sizes):
    found = needed(arguments, body)
    names = ", ".join(word.split()[-1] for word in arguments.split(","))
    limits = {"unsigned": (0, 2**32 - 1), "int": (-(2**31), 2**31 - 1), "char": (0, 255)}
    wide = (-(2**63), 2**63 - 1)
    box = " and ".join(
        f"{low} <= {words[-1]} <= {high}"
        for words in (text.split() for text in arguments.split(","))
        for low, high in [limits.get(words[-2], wide if words[-2] != "short" else (0, 65535))]
    )
    typed = Set.read_from_str(context(), f"[{names}] -> {{ : {box} }}")
    wanted = Set.read_from_str(context(), f"[{names}] -> {{ : {sizes} }}")
    assert found.intersect(typed).is_subset(wanted)
    assert not found.is_empty()


def test_a_kernel_is_not_called_where_a_sum_would_wrap():
    kernel = po.auto(parse_c("""
void f(unsigned n, unsigned lo, int C[n]) {
    for (unsigned i = 0; i < n; i++) if (i + lo > 3) C[i] = 1;
}""")).compile(target="generic")  # fmt: skip
    with pytest.raises(ArgumentError, match="4294967296"):
        kernel(lo=2**32 - 3, C=np.zeros(8, np.int32))


def test_a_start_that_always_wraps_is_refused_with_its_place():
    with pytest.raises(NonAffineError, match="below zero, where its unsigned iterator wraps") as e:
        parse_c(
            "void f(int n, int C[n]) {\n"
            "for (int i = 0; i < n; i++) for (unsigned j = i - n; j < 4; j++) C[j] = 1; }"
        )
    assert e.value.diagnostic.span.line == 2


WRAPPING = {
    "above": ("unsigned", "for (unsigned i = 0; i < n; i++) if (i + lo > 3) C[i] += 1;"),
    "below": ("size_t", "for (size_t i = 0; i < n; i++) if (i + lo < 50) C[i] += 2;"),
    "multiple": ("unsigned", "for (unsigned i = 0; i < n; i++) if (i * 2 + lo < 20) C[i] += 3;"),
    "start": ("unsigned",
              "for (unsigned i = 0; i < n; i++) for (unsigned j = i + lo; j < lo + n; j++) C[j % 99]++;"),
    "remainder": ("unsigned", "for (unsigned i = 0; i < n; i++) C[(i + lo) % 100] += i + lo;"),
    "choice": ("size_t", "for (size_t i = 0; i < n; i++) C[i] += i + lo > 3 ? 1 : 2;"),
    "skipped": ("unsigned",
                "for (unsigned i = 0; i < n; i++) { if (i + lo > 3) continue; C[i] += 5; }"),
}  # fmt: skip


def test_what_wraps_gives_what_the_source_gives(tmp_path):
    text = "#include <stddef.h>\n" + "".join(
        f"void {name}({type_} n, {type_} lo, int C[restrict 128]) {{\n#pragma scop\n{body}\n"
        "#pragma endscop\n}\n"
        for name, (type_, body) in WRAPPING.items()
    )
    source, made = tmp_path / "source.c", tmp_path / "made.c"
    source.write_text(text)
    done = rewrite(source)
    assert [str(r.error) for r in done.regions if r.error is not None] == []
    made.write_text(done.text)
    libraries = []
    for path in (source, made):
        command = ["gcc", "-w", "-O0", "-shared", "-fPIC", str(path), "-o", f"{path}.so"]
        subprocess.run(command, check=True)
        libraries.append(ctypes.CDLL(f"{path}.so"))
    for name, (type_, _) in WRAPPING.items():
        size = ctypes.c_uint32 if type_ == "unsigned" else ctypes.c_size_t
        for low in (0, 2, 19, 50, 2**31 - 1, 2**32 - 3, 2**63 - 2, 2**64 - 3):
            results = []
            for library in libraries:
                values = (ctypes.c_int32 * 128)(*range(128))
                getattr(library, name)(size(9), size(low), values)
                results.append(list(values))
            assert results[0] == results[1], (name, low)
