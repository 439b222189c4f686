"""Files rewritten source to source compile as before and print what they printed."""

from __future__ import annotations

import re
import subprocess
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

import polyopt.rewrite
from polyopt.ir.verify import verify
from polyopt.rewrite import FUSIONS, Rewriting, rewrite
from tests.compilers import COMPILERS, OWN

FOLDER = Path(__file__).parent / "sources"
SOURCES = sorted(FOLDER.glob("*.c"))
PLAIN = ("-std=gnu11", "-O1", "-ffp-contract=off", f"-I{FOLDER}")
#: without optimisation: no access is dropped before it is looked at; a trap is half the code of a
#: call that says in words what is wrong
SANITIZE = (
    "-g1", "-O0", "-fsanitize=address,undefined", "-fno-sanitize-recover=all",
    "-fsanitize-undefined-trap-on-error",
)  # fmt: skip


_made = {}


def once(make, *parts):
    """What a function makes of a file or a program and of options, made once for all tests."""

    def made(of, options):
        key = make, of, *(repr(getattr(options, part)) for part in parts)
        if key not in _made:
            _made[key] = make(of, options)
        return _made[key]

    return made


@pytest.fixture(autouse=True)
def plans_are_made_once(monkeypatch):
    """A file is read, and its regions are planned, once for all options that leave both alone."""
    read = once(polyopt.rewrite.regions_in, "defines", "includes")
    planned = once(polyopt.rewrite.plan_of, "target", "tile", "fuse", "sizes", "reassociate")
    monkeypatch.setattr(polyopt.rewrite, "regions_in", read)
    monkeypatch.setattr(polyopt.rewrite, "plan_of", planned)


@cache
def rewritten(path, **options):
    return rewrite(path, Rewriting(**options))


@cache
def printed(path, compiler):
    """What a file prints that nothing has rewritten."""
    with TemporaryDirectory() as folder:
        return output(compiler, path.read_text(), Path(folder))


def output(compiler, text, folder, *flags):
    source, program = folder / "program.c", folder / "program"
    source.write_text(text, encoding="utf-8")
    subprocess.run([compiler, *PLAIN, *flags, str(source), "-o", str(program), "-lm"], check=True)
    return subprocess.run([str(program)], check=True, capture_output=True, text=True).stdout


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: p.stem)
def test_every_region_is_taken_and_is_a_proper_program(path):
    for region in rewritten(path).regions:
        assert region.error is None, str(region.error)
    for region in polyopt.rewrite.regions_in(path, Rewriting())[1]:
        verify(region.scop)


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: p.stem)
def test_what_stands_outside_stays_byte_for_byte(path):
    done = rewritten(path)
    lines, rest = path.read_text().split("\n"), done.text
    end = 0
    for region in done.regions:
        before = "\n".join(lines[end : region.first - 1])
        assert rest.startswith(before)
        rest = (
            rest.removeprefix(before)
            .lstrip("\n")
            .removeprefix(region.code.strip("\n"))
            .lstrip("\n")
        )
        end = region.last
    assert rest == "\n".join(lines[end:]).lstrip("\n")
    assert not re.search(r"pragma (end)?scop", done.text)


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("path", SOURCES, ids=lambda p: p.stem)
def test_output_is_that_of_the_input(path, compiler, tmp_path):
    expected = printed(path, compiler)
    assert expected.count("\n") > 50
    assert output(compiler, rewritten(path).text, tmp_path) == expected
    # one run for options that give the same text, and at the level that makes most of what C allows
    texts = {
        rewritten(path, **options).text: options
        for options in ({}, {"tile": False}, {"parallel": False}, {"threads": 2})
    }
    for text, options in texts.items():
        assert output(compiler, text, tmp_path, "-Wall", "-O2") == expected, options


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: p.stem)
def test_output_with_openmp_is_that_of_the_input(path, tmp_path):
    assert output("gcc", rewritten(path).text, tmp_path, "-fopenmp") == printed(path, "gcc")


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: p.stem)
def test_rewritten_files_are_clean_under_the_sanitizers(path, tmp_path):
    expected = output("gcc", path.read_text(), tmp_path, *SANITIZE)
    assert output("gcc", rewritten(path).text, tmp_path, *SANITIZE) == expected


def test_a_macro_of_the_command_line_counts(tmp_path):
    path = FOLDER / "macros.c"
    text = rewrite(path, Rewriting(defines={"N": 11})).text
    assert output("gcc", text, tmp_path, "-DN=11") == output(
        "gcc", path.read_text(), tmp_path, "-DN=11"
    )


def test_the_compiler_refuses_other_values_of_macros(tmp_path):
    text = rewritten(FOLDER / "macros.c").text
    assert "#if N != 37" in text
    (tmp_path / "m.c").write_text(text)
    command = ["gcc", *PLAIN, "-fsyntax-only", str(tmp_path / "m.c")]
    subprocess.run(command, check=True)
    done = subprocess.run([*command, "-DN=11"], check=False, capture_output=True, text=True)
    assert "this code was made for N = 37" in done.stderr


def test_c99_is_enough(tmp_path):
    for path in SOURCES:
        (tmp_path / "c99.c").write_text(rewritten(path).text)
        flags = ("-std=c99", "-D_GNU_SOURCE", "-pedantic-errors", "-Wno-unknown-pragmas")
        command = ["gcc", *flags, f"-I{FOLDER}", "-fsyntax-only", str(tmp_path / "c99.c")]
        subprocess.run(command, check=True)


def test_lines_end_as_they_did(tmp_path):
    path = tmp_path / "dos.c"
    text = (FOLDER / "scalars.c").read_text().replace("\n", "\r\n")
    path.write_bytes(text.encode())
    done = rewrite(path).text
    assert done.count("\n") == done.count("\r\n")
    assert done.replace("\r\n", "\n") == rewritten(FOLDER / "scalars.c").text


def test_bytes_of_other_encodings_stay(tmp_path):
    path = tmp_path / "latin.c"
    head = b"/* \xe4\xf6\xfc */ static float a[9];\nvoid f(void) {\n"
    path.write_bytes(
        head + b"#pragma scop\nfor (int i = 0; i < 9; i++) a[i] = i;\n#pragma endscop\n}\n"
    )
    assert rewrite(path).data.startswith(head)


WIDE = """
#include <stdio.h>
int a[9], b[9], c[9];
int main(void)
{
    for (int i = 0; i < 9; i++) {
        a[i] = 2000000000 + i;
        b[i] = 2000000000 - i;
    }
#pragma scop
    for (int i = 0; i < 9; i++)
        c[i] = ((long)a[i] + b[i]) * 3 - a[i];
#pragma endscop
    for (int i = 0; i < 9; i++)
        printf("%d ", c[i]);
    return 0;
}
"""


def test_what_the_source_does_in_wider_numbers_never_overflows(tmp_path):
    (tmp_path / "wide.c").write_text(WIDE)
    done = rewrite(tmp_path / "wide.c")
    assert "(unsigned int)" in done.text
    plain = output(OWN, WIDE, tmp_path, *SANITIZE)
    assert output(OWN, done.text, tmp_path, *SANITIZE) == plain


PRODUCTS = """
#include <stdio.h>
#define N 40
double a[N][N], b[N][N], c[N][N], d[N][N];
int main(void)
{
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            a[i][j] = i % 5 - j % 3, b[i][j] = (i + j) % 7;
#pragma scop
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            c[i][j] = 0;
            for (int k = 0; k < N; k++)
                c[i][j] += a[i][k] * b[k][j];
        }
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            d[i][j] = 0.5;
            for (int k = 0; k < N; k++)
                d[i][j] += c[i][k] * a[k][j];
        }
#pragma endscop
    double sum = 0;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            sum += d[i][j] * (i + 1);
    printf("%a", sum);
    return 0;
}
"""


@pytest.mark.parametrize("fusion", FUSIONS)
def test_every_way_of_fusing_prints_the_same(tmp_path, fusion):
    (tmp_path / "products.c").write_text(PRODUCTS)
    done = rewrite(tmp_path / "products.c", Rewriting(fuse=fusion))
    moves = [move.name for region in done.regions for move in region.plan.moves]
    assert ("reschedule" in moves) == (fusion != "output")
    plain = output(OWN, PRODUCTS, tmp_path)
    assert output(OWN, done.text, tmp_path) == plain


#: loads under tests, in short loops: gcc 12 gives groups of them the mask of the first
GROUPS = """
#include <stdio.h>
#define M 21
float x[3][M][10], o[3][M][10];
long a[3][M][4], b[3][M][4];

void reversed(int m)
{
#pragma scop
    for (int z = 0; z < 3; z++)
        for (int y = 0; y < m; y++)
            for (int k = 0; k < 10; k++) {
                if (y >= 1 && y <= m - 2)
                    o[z][y][k] = x[z][y][9 - k];
                else
                    o[z][y][k] = 0;
            }
#pragma endscop
}

void sums(int m)
{
#pragma scop
    for (int z = 0; z < 3; z++)
        for (int y = 0; y < m; y++)
            for (int k = 0; k < 4; k++)
                b[z][y][0] += y >= 1 && y <= m - 2 ? a[z][y][k] : 0;
#pragma endscop
}

int main(void)
{
    for (int i = 0; i < 3 * M * 10; i++)
        ((float *)x)[i] = i + 1;
    for (int i = 0; i < 3 * M * 4; i++)
        ((long *)a)[i] = i + 1;
    reversed(M);
    sums(M);
    for (int i = 0; i < 3 * M * 10; i++)
        printf("%g\\n", ((float *)o)[i]);
    for (int i = 0; i < 3 * M * 4; i++)
        printf("%ld\\n", ((long *)b)[i]);
    return 0;
}
"""


@pytest.mark.parametrize("flags", [(), ("-fopenmp-simd",), ("-fopenmp",)])
def test_no_flag_is_needed_for_groups_of_loads_under_tests(flags, tmp_path):
    path = tmp_path / "groups.c"
    path.write_text(GROUPS)
    text = rewrite(path, Rewriting()).text
    assert text.count("__asm__ volatile") >= 2
    expected = output("gcc", GROUPS, tmp_path)
    assert output("gcc", text, tmp_path, "-O3", "-march=native", *flags) == expected
