"""The page of the affine suite: goals, kernels, files that are read together."""

import json
from math import sqrt

import pytest
from click.testing import CliRunner

from polyopt.bench.pages.compose import page
from polyopt.bench.pages.markdown import Making
from polyopt.bench.pages.reading import merged, read
from polyopt.cli import cli
from polyopt.errors import InvalidOptionError
from tests.unit.bench.test_pages import row as image_row
from tests.unit.bench.test_pages import times as document

PEERS = ("gcc", "clang", "polly", "blas")
MAKING = Making("a.json", "a.svg", "polyopt report a.json -o a.md")


def row(*args, **others):
    return {**image_row(*args, **others), "suite": "affine"}


LU = [
    row("lu", "polyopt", 2.0, exact=True, schedule_s=31.0),
    row("lu", "gcc", 8.0), row("lu", "clang", 9.0), row("lu", "polly", 4.0, iqr_ms=1.0),
]  # fmt: skip
GEMM = [
    row("gemm", "polyopt", 4.0, exact=False),
    row("gemm", "gcc", 2.0), row("gemm", "clang", 9.0, agrees=False), row("gemm", "blas", 1.0),
    row("gemm", "polyopt", 1.0, 2, exact=False), row("gemm", "gcc", 2.0, 2),
    row("gemm", "polly", 2.5, 2), row("gemm", "blas", 0.75, 2),
]  # fmt: skip


def run(rows, **others):
    return read(json.dumps(document(rows, PEERS, **others)), "a.json")


def tables(markdown):
    """Each table as its rows, by the first column or two."""
    found = []
    for block in markdown.split("\n\n"):
        if block.startswith("| "):
            titles, _, *rows = (
                [c.strip() for c in line.strip("|").split("|")] for line in block.splitlines()
            )
            found.append([dict(zip(titles, cells, strict=True)) for cells in rows])
    return found


def test_goals_stand_beside_what_was_measured():
    goals, _ = tables(page(run(LU + GEMM), MAKING).markdown)
    assert "2 kernels were measured, and means are of these. Not among them: 2mm, 3mm, gemver" in (
        page(run(LU + GEMM), MAKING).markdown
    )
    told = [(g["threads"], g["goal"], g["measured"], g["reached"]) for g in goals]
    assert told == [
        ("2", ">= 2", "2.00", "yes"),
        ("2", ">= 4", "2.00", "**no**"),
        ("1", ">= 1.3", "1.00", "**no**"),
        ("1", ">= 2.5", f"{sqrt(4 * 0.5):.2f}", "**no**"),
        ("1", ">= 0.5", "0.25 (gemm)", "**no**"),
        ("2", ">= 0.5", "0.75 (gemm)", "yes"),
        ("2", ">= 2.5", "-", "not measured"),
        ("1", ">= 0.95", "0.50 (gemm)", "**no**"),
        ("2", ">= 0.95", "2.00 (gemm)", "yes"),
        ("-", "<= 30", "31.0", "**no**"),
        ("-", "<= 180", "31.1", "yes"),
    ]


def test_a_kernel_is_compared_with_the_fastest_compiler_that_agrees():
    _, kernels = tables(page(run(LU + GEMM), MAKING).markdown)
    lu, gemm, two, *means = kernels
    assert lu == {
        "kernel": "lu", "threads": "1", "ours ms": "2.000", "gcc ms": "8.000",
        "clang ms": "9.000", "Polly ms": "4.000", "BLAS ms": "-",
        "fastest / ours": "2.00 (1.75-2.25)", "gcc, clang / ours": "4.00", "of BLAS": "-",
        "plan s": "31.0", "same bits": "yes", "agree": "yes",
    }  # fmt: skip
    assert (gemm["clang ms"], gemm["same bits"], gemm["agree"]) == ("-", "**NO**", "**NO**: clang")
    assert (gemm["fastest / ours"], gemm["of BLAS"]) == ("0.50 (0.50-0.50)", "0.25")
    assert two["fastest / ours"] == "2.00 (2.00-2.00)"
    assert [m["fastest / ours"] for m in means] == ["**1.00**", "**2.00**"]
    assert [m["of BLAS"] for m in means] == ["**0.25** (1 of 2)", "**0.75**"]


def test_the_picture_and_the_list_say_what_is_missing():
    found = page(run([LU[0], *GEMM], missing=["polly"], notes=["blas has no form of lu"]), MAKING)
    assert "- polly is not installed\n- blas has no form of lu\n- clang of gemm" in found.markdown
    assert found.svg.count(">not measured<") == 2
    assert "geometric mean" in found.svg


def test_files_of_one_machine_are_one_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, rows in (("a", LU), ("b", GEMM)):
        (tmp_path / f"{name}.json").write_text(json.dumps(document(rows, PEERS)))
    result = CliRunner().invoke(cli, ["report", "a.json", "b.json", "-o", "p.md"])
    assert result.exit_code == 0, result.output
    text = (tmp_path / "p.md").read_text()
    measured = "polyopt bench --suite images --json"
    assert f"{measured} > a.json\n{measured} > b.json\npolyopt report a.json b.json" in text
    assert [k["kernel"] for k in tables(text)[1][:3]] == ["lu", "gemm", "gemm"]


def test_files_that_do_not_belong_together_are_refused(tmp_path):
    one, other = run(LU), run(GEMM)
    with pytest.raises(InvalidOptionError, match="times of lu on 1 threads"):
        merged([("a", one), ("b", one)])
    moved = document(GEMM, PEERS)
    moved["machine"]["cpu"] = "another"
    elsewhere = read(json.dumps(moved), "b")
    with pytest.raises(InvalidOptionError, match="b is of another machine than a"):
        merged([("a", one), ("b", elsewhere)])
    assert len(merged([("a", one), ("b", other)]).rows) == len(LU) + len(GEMM)
    beside = read(json.dumps(document(GEMM, ["blas", "gcc"])), "b")
    assert merged([("a", one), ("b", beside)]).peers == tuple(
        dict.fromkeys([*PEERS, "blas", "gcc"])
    )
    compiling = tmp_path / "c.json"
    compiling.write_text(
        '{"command": "", "date": "", "versions": {}, "cpu": "", "cores": 1, "compiler": "",'
        ' "kernels": [], "chain": []}'
    )
    shown = CliRunner().invoke(cli, ["report", str(compiling), str(compiling), "-o", "p.md"])
    assert shown.exit_code == 2
    assert "times of compiling and sweeps are reported by themselves" in shown.stderr


def test_ways_of_fusing_stand_beside_the_papers():
    rows = [row("2mm", "polyopt", 2.0), row("2mm", "polyopt-unfused", 9.0),
            row("2mm", "polyopt-smart", 4.0), row("2mm", "polyopt-min", 3.0, agrees=False)]  # fmt: skip
    *_, ours, paper = tables(page(run(rows), MAKING).markdown)
    assert ours == [
        {"kernel": "2mm", "threads": "1", "sequential": "9.000", "output": "2.000",
         "min": "3.000 (differs)", "smart": "4.000", "max": "-", "hybrid": "-"},
    ]  # fmt: skip
    assert paper[0]["hybrid"] == "9.1 / 1.6 / 0.7"
    assert "Ways of fusing" not in page(run(LU), MAKING).markdown


def test_numba_has_columns_where_it_was_measured_and_is_no_compiler():
    rows = [*LU, row("lu", "numba", 1.0)]
    goals, kernels = tables(
        page(read(json.dumps(document(rows, (*PEERS, "numba"))), "a.json"), MAKING).markdown
    )
    assert kernels[0]["Numba ms"] == "1.000"
    assert kernels[0]["Numba / ours"] == "0.50"
    assert kernels[0]["fastest / ours"] == "2.00 (1.75-2.25)"
    assert "Numba" not in str([g["against"] for g in goals])
