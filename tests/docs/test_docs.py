"""The documentation holds: links lead somewhere, examples run, the error index is complete."""

import importlib
import inspect
import json
import re
import subprocess
import sys

import numpy as np
import pytest

import polyopt
from docs import beside, pages
from polyopt import bench, errors, explain, graph
from polyopt.frontend.loops.annotations import Scalar
from polyopt.transform.schedule.registry import TRANSFORMATIONS

PAGES = {str(page.relative_to(pages.ROOT)): page for page in pages.pages()}


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page):
    assert pages.broken_links(PAGES[page]) == []


@pytest.mark.parametrize("page", PAGES)
def test_a_page_says_what_its_examples_do(page):
    assert pages.differences(PAGES[page]) == [], "see python docs/pages.py update"


def test_a_broken_link_is_found(tmp_path, monkeypatch):
    monkeypatch.setattr(pages, "ROOT", tmp_path)
    (tmp_path / "a.md").write_text("# Here\n[x](b.md) [y](#here) [z](#there) [w](https://e.org)\n")
    assert pages.broken_links(tmp_path / "a.md") == ["a.md: b.md", "a.md: #there"]


def test_examples_are_run_anew():
    page = "```python\n>>> x = 1\n>>> x + 1\n3\n```\n```python no-run\n>>> 1 / 0\n2\n```\n"
    assert pages.refreshed(page) == page.replace("3", "2")


def test_the_readme_is_true_also_where_it_shows_no_output(monkeypatch, capsys):
    monkeypatch.chdir(pages.ROOT)
    names = {"image": np.zeros((70, 80), np.uint16)}
    text = (pages.ROOT / "README.md").read_text(encoding="utf-8")
    for block in re.findall(r"```python[^\n]*\n(.*?)```", text, re.DOTALL):
        exec(compile(block, pages._registered(block), "exec"), names)  # noqa: S102
    assert names["kernel"](names["image"]).shape == (68, 78)
    assert "int blur(" in capsys.readouterr().out
    assert "bx[3 rolling]" in str(names["plan"])


#: what else of annotations a type checker has to take: scalars, casts, expressions of sizes
TYPED = """
@po.scop
def scaled(a: po.f64["2 * N + 1", 3], s: po.f32, n: int):
    rows, columns = a.shape
    for i in range(rows):
        for j in range(columns):
            a[i, j] = max(a[i, j], po.f64(s)) + n

called: np.ndarray = po.auto(scaled).compile()(np.zeros((5, 3)), po.f32(2), 1, threads=1)
mistaken: int = po.auto("no program")
"""


def test_a_type_checker_takes_the_readme(tmp_path):
    text = (pages.ROOT / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python[^\n]*\n(.*?)```", text, re.DOTALL)
    given = "import numpy as np\nimage = np.zeros((70, 80), np.uint16)\n"
    (tmp_path / "readme.py").write_text("\n".join([given, *blocks, TYPED]))
    (tmp_path / "pyrightconfig.json").write_text('{"typeCheckingMode": "basic"}')
    command = [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable]
    command += ["-p", "."]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    found = json.loads(ran.stdout)["generalDiagnostics"]
    # both are about the line that is mistaken: what is given, and what comes back
    assert {d["rule"] for d in found} == {"reportArgumentType", "reportAssignmentType"}, found
    lines = (tmp_path / "readme.py").read_text().splitlines()
    assert {lines[d["range"]["start"]["line"]][:8] for d in found} == {"mistaken"}


def test_a_plain_example_that_fails_is_found():
    with pytest.raises(AssertionError):
        pages.refreshed("```python\nassert 1 == 2\n```\n")


def test_refused_examples_show_the_message_they_get():
    start = "```python raises\nfrom polyopt.errors import CacheError\nraise CacheError"
    page = f"{start}('no')\n```\n\n```text\n%s```\n"
    assert pages.refreshed(page % "old\n") == page % "cache-unusable: no\n"


def test_the_error_index_is_what_the_classes_say():
    text = pages.ERRORS.read_text(encoding="utf-8")
    assert pages.error_index(text) == text, "run `python docs/pages.py update`"
    assert pages.UNWRITTEN not in text


def test_each_error_class_has_a_section_and_each_section_a_class():
    text = pages.ERRORS.read_text(encoding="utf-8")
    sections = re.findall(r"^## (.+)$", text, re.MULTILINE)
    assert sections == list(pages.error_classes())
    for code in sections:
        section = text.split(f"## {code}\n")[1].split("\n## ")[0]
        assert re.search(rf"^(\S+:\d+:\d+: )?{code}: ", section, re.MULTILINE), code
        assert "**What to do.** " in section, code


def test_each_error_code_is_raised_by_a_test():
    """By its example in the index, which runs, or by a test that names its class or its code."""
    text = pages.ERRORS.read_text(encoding="utf-8")
    tests = "".join(
        p.read_text(encoding="utf-8") for p in (pages.ROOT / "tests").rglob("test_*.py")
    )
    for code, cls in pages.error_classes().items():
        section = text.split(f"## {code}\n")[1].split("\n## ")[0]
        named = re.search(rf"pytest\.raises\(\(?[\w., ]*\b{cls.__name__}\b|\"{code}\"", tests)
        assert "```python raises" in section or named, code


def test_no_two_error_classes_share_a_code():
    def descendants(cls):
        return [cls, *(d for c in cls.__subclasses__() for d in descendants(c))]

    own = [c.code for c in descendants(errors.PolyoptError) if "code" in vars(c)]
    assert len(own) == len(set(own))


def test_glossary_is_sorted_and_defines_each_term_once():
    text = (pages.DOCS / "glossary.md").read_text(encoding="utf-8")
    terms = re.findall(r"^\*\*(.+?)\.\*\* ", text, re.MULTILINE)
    keys = [re.sub(r"\W+", " ", term.lower()) for term in terms]
    assert keys == sorted(set(keys))


def test_glossary_names_moves_and_files_that_are_there():
    text = (pages.DOCS / "glossary.md").read_text(encoding="utf-8")
    moves = set(re.findall(r"`plan\.(\w+)", text))
    files = set(re.findall(r"`((?:transform|codegen)/[\w/]+\.py)`", text))
    assert "transform/loops/split_range.py" in files
    assert [f for f in files if not (pages.ROOT / "polyopt" / f).is_file()] == []
    assert moves - set(TRANSFORMATIONS) == set()
    # the way back, from a move to its term, where these are two
    terms = set(re.findall(r"^\*\*(.+?)\.\*\* ", text, re.MULTILINE))
    assert {m for m in moves if "_" in m} <= terms


def test_decisions_are_numbered():
    for number, page in enumerate(sorted((pages.DOCS / "adr").glob("0*.md")), 1):
        assert page.name.startswith(f"{number:04}-")
        assert page.read_text(encoding="utf-8").startswith(f"# {number}. ")


def described():
    """What the reference describes: module and name of each entry, as Sphinx will find them."""
    found = []
    for page in sorted((pages.DOCS / "reference").glob("*.md")):
        module = ""
        text = page.read_text(encoding="utf-8")
        entry = re.compile(r"^\.\. (currentmodule|auto\w+):: ([\w.]+)$", re.MULTILINE)
        for kind, name in entry.findall(text):
            if kind == "currentmodule":
                module = name
            elif not name.startswith("polyopt."):
                found.append(f"{module}.{name}")
            else:
                found.append(name)
    return found


@pytest.mark.parametrize("module", [polyopt, bench, explain, graph], ids=lambda m: m.__name__)
def test_the_reference_has_every_public_name(module):
    types = (pages.DOCS / "reference" / "index.md").read_text(encoding="utf-8")
    entries = described()
    for name in module.__all__:
        value = getattr(module, name)
        if isinstance(value, Scalar):
            assert f"`po.{name}`" in types
        elif not inspect.ismodule(value):
            places = {f"{m.__name__}.{name}" for m in (polyopt, bench, explain, graph)}
            assert places & set(entries), f"docs/reference does not describe {name}"


def test_the_reference_describes_what_is_there_once():
    entries = described()
    assert len(entries) == len(set(entries))
    for entry in entries:
        module, _, name = entry.rpartition(".")
        value = getattr(importlib.import_module(module), name)
        assert inspect.getdoc(value), f"{entry} has no docstring"


def test_pages_and_notebooks_are_in_a_list_of_contents():
    """As Sphinx has it, which warns of pages that no list leads to, and of lists that name none."""
    listed = {pages.DOCS / "index"}
    for page in pages.DOCS.rglob("*.md"):
        text = page.read_text(encoding="utf-8")
        for body in re.findall(r"^```\{toctree\}\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
            for name in (line for line in body.split("\n") if line and line[0] != ":"):
                found = [*page.parent.glob(f"{name}.md")]
                # of notebooks, whose page is in docs/notebooks, the site has copies there
                found += (pages.ROOT / page.parent.relative_to(pages.DOCS)).glob(f"{name}.ipynb")
                assert found, f"{page}: {name}"
                listed |= {file.with_suffix("") for file in found}
    files = {*pages.DOCS.rglob("*.md"), *pages.notebooks()}
    assert {file.with_suffix("") for file in files} == listed


def test_recipes_compare_with_numpy_and_their_times_are_in_the_table():
    text = (pages.DOCS / "recipes.md").read_text(encoding="utf-8")
    recipes = re.findall(r"^### (.+)$", text, re.MULTILINE)
    assert len(recipes) >= 20
    for recipe in recipes:
        section = text.split(f"### {recipe}\n")[1].split("\n#")[0]
        code = re.search(r"```python\n(.*?)```", section, re.DOTALL)[1]
        assert len(beside.compared(code)) >= 2, f"{recipe} does not end by comparing"
    assert re.findall(r"^\| (.+?) \| [\d.]+~?", text, re.MULTILINE) == recipes


COMING_FROM = [p for p in sorted((pages.DOCS / "coming-from").glob("*.md")) if p.stem != "index"]


@pytest.mark.parametrize("page", COMING_FROM, ids=lambda page: page.stem)
def test_a_page_for_those_who_come_says_what_has_no_counterpart_here_and_there(page):
    text = page.read_text(encoding="utf-8")
    lacking = text.split("## What has no counterpart\n")[1]
    assert "polyopt lacks: " in lacking
    assert "polyopt has and " in lacking
    assert "## The same program\n" in text
    timed = [part for part in text.split("\n### ")[1:] if "```python peer\n" in part]
    rows = re.findall(r"^\| (.+?) \| [\d.]+~? \| [\d.]+~? \| ", text, re.MULTILINE)
    assert rows == [part.partition("\n")[0] for part in timed]


def test_a_table_of_times_has_no_program_whose_results_differ():
    beside.agree(lambda: np.ones(3), lambda: [1, 1, 1.0001], "close")
    for other in ([1, 1, 2], [1, 1]):
        with pytest.raises(SystemExit, match="off: results differ"):
            beside.agree(lambda: np.ones(3), lambda other=other: other, "off")


def test_the_code_of_a_page_is_what_is_timed():
    peer = "### Sum\n```python\nours = sum\ngiven = ([1, 2],)\n```\n```python peer\ntheirs = max\n"
    with pytest.raises(SystemExit, match="Sum: results differ"):
        beside.programs(peer + "```\n")
    ((title, forms),) = beside.programs(peer.replace("max", "lambda a: 3") + "```\n").items()
    assert (title, [form() for form in forms]) == ("Sum", [3, 3])
