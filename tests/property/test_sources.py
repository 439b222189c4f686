"""Random files, rewritten source to source, print what they printed."""

from __future__ import annotations

import subprocess

import pytest

from polyopt.frontend.c.regions.files import Declined
from polyopt.rewrite import Rewriting, regions_in, rewrite
from tests.compilers import NAMES, OWN

from .sources import NESTS, random_file

GROUPS = [range(start, start + 6) for start in range(0, 36, 6)]
#: without optimisation: no access is dropped before it is looked at; a trap is half the code of a
#: call that says in words what is wrong
SANITIZE = (
    "-g1", "-O0", "-fsanitize=address,undefined", "-fno-sanitize-recover=all",
    "-fsanitize-undefined-trap-on-error",
)  # fmt: skip


def output(text, folder, compiler, *flags):
    source, program = folder / "program.c", folder / "program"
    source.write_text(text)
    command = [compiler, "-std=gnu11", "-O1", "-ffp-contract=off", *flags, str(source)]
    subprocess.run([*command, "-o", str(program), "-lm"], check=True)
    return subprocess.run([str(program)], check=True, capture_output=True, text=True).stdout


def files(group, folder):
    for seed in group:
        made = random_file(seed)
        path = folder / f"file{seed}.c"
        path.write_text(made.text)
        yield made, path


@pytest.mark.parametrize("group", GROUPS, ids=str)
def test_rewritten_files_print_what_they_printed(group, tmp_path):
    for made, path in files(group, tmp_path):
        expected = output(made.text, tmp_path, OWN)
        done = rewrite(path, Rewriting(threads=2))
        assert any(region.error is None for region in done.regions), made
        for compiler in NAMES:
            assert output(done.text, tmp_path, compiler, "-Wall") == expected, made
        assert output(done.text, tmp_path, OWN, "-fopenmp", *SANITIZE) == expected, made


def test_every_kind_of_nest_is_taken(tmp_path):
    for number, nest in enumerate(NESTS):
        body = nest.format(c=2, d=3, op="+")
        text = random_file(1).text
        head, _, rest = text.partition("#pragma scop\n")
        tail = rest.rpartition("#pragma endscop\n")[2]
        path = tmp_path / f"nest{number}.c"
        path.write_text(f"{head}#pragma scop\n    {body}\n#pragma endscop\n{tail}")
        (region,) = regions_in(path, Rewriting())[1]
        searches = "break" in nest
        assert isinstance(region, Declined) == searches, nest


def test_a_seed_gives_one_file():
    assert random_file(3) == random_file(3)
    assert len({random_file(seed).text for seed in range(30)}) == 30
