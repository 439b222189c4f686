"""The documentation holds: links lead somewhere, examples run, the error index is complete."""

import json
import re
import subprocess
import sys

import numpy as np
import pytest
from markdown_it import MarkdownIt

import polyopt
from docs import build
from polyopt import errors
from polyopt.transform.schedule.registry import TRANSFORMATIONS

PAGES = {str(page.relative_to(build.ROOT)): page for page in build.pages()}


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page):
    assert build.broken_links(PAGES[page]) == []


@pytest.mark.parametrize("page", PAGES)
def test_a_page_says_what_its_examples_do(page):
    assert build.differences(PAGES[page]) == [], "see python docs/build.py update"


def test_a_broken_link_is_found(tmp_path, monkeypatch):
    monkeypatch.setattr(build, "ROOT", tmp_path)
    (tmp_path / "a.md").write_text("# Here\n[x](b.md) [y](#here) [z](#there) [w](https://e.org)\n")
    assert build.broken_links(tmp_path / "a.md") == ["a.md: b.md", "a.md: #there"]


def test_examples_are_run_anew():
    page = "```python\n>>> x = 1\n>>> x + 1\n3\n```\n```python no-run\n>>> 1 / 0\n2\n```\n"
    assert build.refreshed(page) == page.replace("3", "2")


def test_the_readme_is_true_also_where_it_shows_no_output(monkeypatch, capsys):
    monkeypatch.chdir(build.ROOT)
    names = {"image": np.zeros((70, 80), np.uint16)}
    text = (build.ROOT / "README.md").read_text(encoding="utf-8")
    for block in re.findall(r"```python[^\n]*\n(.*?)```", text, re.DOTALL):
        exec(compile(block, build._registered(block), "exec"), names)  # noqa: S102
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
    text = (build.ROOT / "README.md").read_text(encoding="utf-8")
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
        build.refreshed("```python\nassert 1 == 2\n```\n")


def test_refused_examples_show_the_message_they_get():
    start = "```python raises\nfrom polyopt.errors import CacheError\nraise CacheError"
    page = f"{start}('no')\n```\n\n```text\n%s```\n"
    assert build.refreshed(page % "old\n") == page % "cache-unusable: no\n"


def test_the_error_index_is_what_the_classes_say():
    text = build.ERRORS.read_text(encoding="utf-8")
    assert build.error_index(text) == text, "run `python docs/build.py update`"
    assert build.UNWRITTEN not in text


def test_each_error_class_has_a_section_and_each_section_a_class():
    text = build.ERRORS.read_text(encoding="utf-8")
    sections = re.findall(r"^## (.+)$", text, re.MULTILINE)
    assert sections == list(build.error_classes())
    for code in sections:
        section = text.split(f"## {code}\n")[1].split("\n## ")[0]
        assert re.search(rf"^(\S+:\d+:\d+: )?{code}: ", section, re.MULTILINE), code
        assert "**What to do.** " in section, code


def test_each_error_code_is_raised_by_a_test():
    """By its example in the index, which runs, or by a test that names its class or its code."""
    text = build.ERRORS.read_text(encoding="utf-8")
    tests = "".join(
        p.read_text(encoding="utf-8") for p in (build.ROOT / "tests").rglob("test_*.py")
    )
    for code, cls in build.error_classes().items():
        section = text.split(f"## {code}\n")[1].split("\n## ")[0]
        named = re.search(rf"pytest\.raises\(\(?[\w., ]*\b{cls.__name__}\b|\"{code}\"", tests)
        assert "```python raises" in section or named, code


def test_no_two_error_classes_share_a_code():
    def descendants(cls):
        return [cls, *(d for c in cls.__subclasses__() for d in descendants(c))]

    own = [c.code for c in descendants(errors.PolyoptError) if "code" in vars(c)]
    assert len(own) == len(set(own))


def test_glossary_is_sorted_and_defines_each_term_once():
    text = (build.DOCS / "glossary.md").read_text(encoding="utf-8")
    terms = re.findall(r"^\*\*(.+?)\.\*\* ", text, re.MULTILINE)
    keys = [re.sub(r"\W+", " ", term.lower()) for term in terms]
    assert keys == sorted(set(keys))


def test_glossary_names_moves_and_files_that_are_there():
    text = (build.DOCS / "glossary.md").read_text(encoding="utf-8")
    moves = set(re.findall(r"`plan\.(\w+)", text))
    files = set(re.findall(r"`((?:transform|codegen)/[\w/]+\.py)`", text))
    assert "transform/loops/split_range.py" in files
    assert [f for f in files if not (build.ROOT / "polyopt" / f).is_file()] == []
    assert moves - set(TRANSFORMATIONS) == set()
    # the way back, from a move to its term, where these are two
    terms = set(re.findall(r"^\*\*(.+?)\.\*\* ", text, re.MULTILINE))
    assert {m for m in moves if "_" in m} <= terms


def test_decisions_are_numbered_and_listed():
    pages = sorted((build.DOCS / "adr").glob("*.md"))
    index = (build.DOCS / "index.md").read_text(encoding="utf-8")
    for number, page in enumerate(pages, 1):
        assert page.name.startswith(f"{number:04}-")
        assert page.read_text(encoding="utf-8").startswith(f"# {number}. ")
        assert f"(adr/{page.name})" in index


def test_pages_are_built(tmp_path):
    build.build(tmp_path)
    index = (tmp_path / "docs" / "index.html").read_text(encoding="utf-8")
    targets = re.findall(r'href="([^"#:]+)', index)
    assert "tutorial.html" in targets
    assert all((tmp_path / "docs" / target).exists() for target in targets)
    assert (tmp_path / "docs" / "picture.svg").exists()
    notebook = (tmp_path / "notebooks" / "07_networks.html").read_text(encoding="utf-8")
    assert "compile_graph(report.graph)" in notebook
    assert '<a href="../docs/performance.html">' in notebook
    assert "<script" not in notebook
    assert "../notebooks/07_networks.html" in index
    errors_page = (tmp_path / "docs" / "errors.html").read_text(encoding="utf-8")
    assert '<h2 id="non-affine">' in errors_page
    for code in build.error_classes():
        page = (tmp_path / "docs" / "errors" / f"{code}.html").read_text(encoding="utf-8")
        assert f'<h1 id="{code}">' in page
        assert "What to do." in page
        links = re.findall(r'href="([^"#:]+)', page)
        assert all((tmp_path / "docs" / "errors" / link).exists() for link in links)


def test_a_notebook_is_shown_as_it_ran(tmp_path):
    outputs = [
        {"output_type": "stream", "text": ["a < b\n"]},
        {"output_type": "execute_result", "data": {"text/html": "<b>bold</b>", "text/plain": "x"}},
        {"output_type": "error", "traceback": ["\x1b[31mNo\x1b[0m"]},
    ]
    cells = [
        {"cell_type": "markdown", "source": ["# Title\n"]},
        {"cell_type": "code", "source": ["x < 1"], "outputs": outputs},
    ]
    file = tmp_path / "a.ipynb"
    file.write_text(json.dumps({"cells": cells}))
    shown = build.notebook_page(file, MarkdownIt())
    assert "<h1>Title</h1>" in shown
    assert "x &lt; 1" in shown
    assert "<pre>a &lt; b\n</pre>" in shown
    assert "<b>bold</b>" in shown
    assert "<pre>No</pre>" in shown
    assert "Without outputs" not in shown


def test_the_reference_has_every_public_name():
    text = build.API.read_text(encoding="utf-8")
    for name in polyopt.__all__:
        assert re.search(rf"(po\.|### ){name}\b", text), name
    for method in ("tradeoff", "why", "alternatives", "diff", "explore", "prove", "compile"):
        assert f"**`.{method}(" in text
    assert "object at 0x" not in text
