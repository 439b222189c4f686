"""Every notebook runs from top to bottom, and shows what it says it shows."""

from __future__ import annotations

import json
import re
import warnings
from functools import cache
from html import unescape
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from docs import pages

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
#: each runs once: all that is said of it is said in one process
GROUPED = [
    pytest.param(p, id=p.stem, marks=pytest.mark.xdist_group(f"notebook {p.stem[:2]}"))
    for p in NOTEBOOKS
]
#: a page of HTML per cell, so that notebooks stay light
LARGEST_HTML = 100_000
#: a notebook after a run, in bytes; and the text beside what is shown as HTML, in characters
LARGEST_RUN, LARGEST_REPR = 300_000, 800
#: characters of code that the site's column shows without scrolling
WIDEST_LINE = 88


@cache
def executed(path: Path) -> Any:
    """The notebook after a run in a fresh kernel, as ``make notebooks`` writes it."""
    with warnings.catch_warnings(), TemporaryDirectory() as folder:
        warnings.simplefilter("ignore")  # Jupyter's own, about its folders and event loops
        import nbformat

        pages.run_notebook(path, Path(folder))
        return nbformat.read(Path(folder, path.name), as_version=4)


def outputs(path: Path) -> list[list[dict[str, Any]]]:
    return [c.outputs for c in executed(path).cells if c.cell_type == "code"]


def text_of(path: Path) -> str:
    """All that a run prints or shows, as plain text and HTML."""
    parts: list[str] = []
    for cell in outputs(path):
        for output in cell:
            parts += [output.get("text", "")]
            data = output.get("data", {})
            parts += [data.get(kind, "") for kind in ("text/plain", "text/html", "text/latex")]
    return unescape("\n".join(parts))


def test_there_are_notebooks() -> None:
    assert "01_first_scop" in {p.stem for p in NOTEBOOKS}


@pytest.mark.parametrize("path", GROUPED)
def test_it_is_stored_without_outputs(path: Path) -> None:
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    assert len(cells) <= 15
    for cell in cells:
        if cell["cell_type"] == "code":
            assert (cell["outputs"], cell["execution_count"]) == ([], None)


@pytest.mark.parametrize("path", GROUPED)
def test_it_runs_and_every_cell_shows_something(path: Path) -> None:
    shown = outputs(path)
    assert all(shown)
    assert not [o for cell in shown for o in cell if o.get("name") == "stderr"]


@pytest.mark.parametrize("path", GROUPED)
def test_its_cells_stay_small(path: Path) -> None:
    for cell in outputs(path):
        assert sum(len(o.get("data", {}).get("text/html", "")) for o in cell) <= LARGEST_HTML


@pytest.mark.parametrize("path", GROUPED)
def test_it_stays_light(path: Path) -> None:
    assert len(json.dumps(executed(path))) <= LARGEST_RUN
    # what stands as text beside a picture or a table, for those who see neither, is a line
    for cell in outputs(path):
        for data in (o["data"] for o in cell if "text/html" in o.get("data", {})):
            assert "\n" not in data["text/plain"]
            assert len(data["text/plain"]) <= LARGEST_REPR


@pytest.mark.xdist_group("notebook 01")
def test_the_first_one_goes_from_source_to_a_kernel() -> None:
    said = text_of(ROOT / "notebooks" / "01_first_scop.ipynb")
    assert "uint16_t bx[H][W - 2]" in said
    assert "bx[0, 0] -> out[0, 0]" in said
    assert said.count("<svg") >= 3
    assert "storage-too-small" in said
    assert "witness: access bx[65, 0]" in said
    assert "the plan's dataflow is the source's" in said
    assert "computed 1.0" in said
    assert "#pragma omp" in said
    assert "equal to the NumPy reference: True" in " ".join(said.split())


def said_by(number: str) -> str:
    """What the notebook of that number shows, on one line."""
    (path,) = (p for p in NOTEBOOKS if p.name.startswith(number))
    return " ".join(text_of(path).split())


@pytest.mark.xdist_group("notebook 02")
def test_the_second_one_shows_arrows_and_refusals() -> None:
    said = said_by("02")
    assert "distance (-2..0, 0): the reader's iterators less the writer's" in said
    assert "parallel-carried" in said
    assert "not-permutable" in said
    assert "proved: the plan's dataflow is the source's" in said


@pytest.mark.xdist_group("notebook 03")
def test_the_third_one_weighs_tiles() -> None:
    said = said_by("03")
    assert "for C.k_tile: for C_1.j_tile:" in said
    assert "T_{x}" in said
    assert re.search(r"8 rows per tile: 1\.12\d times the work", said)


@pytest.mark.xdist_group("notebook 04")
def test_the_fourth_one_fuses_by_hand_and_by_itself() -> None:
    said = said_by("04")
    assert "computed more than once" in said
    assert "inlined, never stored: " in said
    assert "img[0..2, 101..105, 201..205]" in said


@pytest.mark.xdist_group("notebook 05")
def test_the_fifth_one_has_both_ends_of_the_trade_off() -> None:
    said = said_by("05")
    assert "6 B" in said
    assert "9.84 MB" in said
    assert "<animate" in said
    assert "scratch bx[18][256]" in said


@pytest.mark.xdist_group("notebook 06")
def test_the_sixth_one_runs_what_it_shows() -> None:
    said = said_by("06")
    assert "equal to the NumPy reference: True" in said
    assert "largest difference to the unfused C on odd sizes: 0.0" in said
    assert "bench.c" in said
    assert "10^9 operations per second" in said


@pytest.mark.xdist_group("notebook 07")
def test_the_seventh_one_takes_networks_through_passes_into_kernels() -> None:
    said = said_by("07")
    assert re.search(r"fold_batch_norm.*changed", said)
    assert "y = relu(x)" in said  # after a pass of one's own
    assert "conv + add + relu + max_pool" in said
    assert re.search(r"off +6 kernels, equal: True all +1 kernels, equal: True", said)
    # four groups equal others, and are compiled once; how many there are is the machine's to say
    steps, kernels = map(int, re.findall(r"(\d+) steps, (\d+) kernels", said)[-1])
    assert steps - kernels == 4
    assert "(1, 10)" in said


@pytest.mark.xdist_group("notebook 08")
def test_the_eighth_one_takes_c_and_refuses_what_is_not_affine() -> None:
    said = said_by("08")
    assert "right: True" in said
    assert "non-affine" in said
    assert re.search(r"while\.c:8:31: non-affine", said)


#: to the exercises of the lecture: what is right, and what is not
RIGHT = {
    "answer_1": "{(1, -1), (1, 0), (1, 1)}",
    "answer_2": '["reverse i", "parallel i"]',
    "answer_3": "1",
    "answer_4": '"A.i_tile"',
    "answer_5": "(18, 64)",
    "answer_6": "(64, 64)",
    "answer_7": '["trace", "det", "Sxy", "Syy", "Sxx", "Ixy", "Iyy", "Ixx", "Iy", "Ix", "gray"]',
}
WRONG = {
    "answer_1": "{(1, 0), (1, 2)}",
    "answer_2": '["exchange"]',
    "answer_3": "2",
    "answer_4": '"A.t_tile"',
    "answer_5": "(16, 64)",
    "answer_6": "(16, 512)",
    "answer_7": '["gray", "trace", "det", "Sxy", "Syy", "Sxx", "Ixy", "Iyy", "Ixx", "Iy", "Ix"]',
}


#: no answers at all
STRAY = {
    "answer_1": "(1, 0)",
    "answer_2": '"parallel i"',
    "answer_3": '"1"',
    "answer_4": "4",
    "answer_5": "18",
    "answer_6": "(0, 64)",
    "answer_7": "3",
}


def answered(answers: dict[str, str]) -> str:
    """What the lecture says to some answers."""
    (path,) = (p for p in NOTEBOOKS if p.name.startswith("09"))
    notebook = json.loads(path.read_text(encoding="utf-8"))
    for cell in notebook["cells"]:
        for name, answer in answers.items():
            cell["source"] = [f"{name} = {answer}\n" if line == f"{name} = None\n" else line
                              for line in cell["source"]]  # fmt: skip
    with TemporaryDirectory() as folder:
        filled = Path(folder, path.name)
        filled.write_text(json.dumps(notebook), encoding="utf-8")
        return text_of(filled)


@pytest.mark.xdist_group("notebook 09")
def test_the_ninth_one_waits_for_answers_and_shows_the_explorer() -> None:
    said = said_by("09")
    assert re.findall(r"exercise (\d): not answered yet", said) == list("1234567")
    assert 'class="polyopt-static"' in said
    assert "interchange('A.t', 'A.i')" in said


@pytest.mark.xdist_group("lecture, right")
def test_right_answers_are_right() -> None:
    assert re.findall(r"exercise (\d): right", answered(RIGHT)) == list("1234567")


@pytest.mark.xdist_group("lecture, wrong")
def test_wrong_answers_are_told_why_they_are() -> None:
    said = answered(WRONG)
    assert "right" not in re.findall(r"exercise \d: (\w+)", said)
    assert "nothing depends over (1, 2)" in said
    assert "think again about 'exchange'" in said
    assert "a smaller one will do" in said
    assert "iterations of A.t_tile depend on each other" in said
    assert "it is not 16 rows" in said
    assert "the buffer has 18,432 bytes, the work is 1.0" in said
    assert re.search(r"exercise 7: not yet: .*not-fusable", said)


@pytest.mark.xdist_group("lecture, stray")
def test_what_is_no_answer_is_told_what_one_looks_like() -> None:
    said = answered(STRAY)
    assert re.findall(r"exercise (\d): not yet", said) == list("1234567")
    assert "looks like {(2, 0), (0, 1)}, and this one is (1, 0)" in said
    assert "a list of some of exchange, reverse i" in said
    assert "the factor has to be a whole number" in said
    assert "one of A.t_tile, A.i_tile" in said
    assert "looks like (20, 80), and this one is 18" in said
    assert "a positive whole number, not 0" in said


@pytest.mark.parametrize("path", GROUPED)
def test_its_code_is_as_wide_as_a_page(path: Path) -> None:
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    lines = [line.rstrip("\n") for cell in cells if cell["cell_type"] == "code"
             for line in cell["source"]]  # fmt: skip
    assert not [line for line in lines if len(line) > WIDEST_LINE]
