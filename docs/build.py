"""Checks and builds what is in docs/ and notebooks/.

``python docs/build.py docs``       links, examples, error index; pages into build/docs
``python docs/build.py errors``     rewrite the generated lines of errors.md
``python docs/build.py notebooks``  run every notebook into build/notebooks
"""

from __future__ import annotations

import contextlib
import doctest
import html
import inspect
import io
import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from polyopt import errors

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
ERRORS = DOCS / "errors.md"
#: the last line of what stands before the first section of errors.md
UNWRITTEN = "(to be written)"

_FENCE = re.compile(r"^```(?P<info>[^\n]*)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
#: a program that is refused, and the message it gets
_RAISES = re.compile(
    r"^(?P<start>```python raises\n(?P<code>.*?)^```\n+```text\n)(?P<said>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
_LINK = re.compile(r"\[[^\]]*\]\((?P<target>[^)\s]+)\)")
_HEADING = re.compile(r"^#+ +(?P<title>.+)$", re.MULTILINE)

_PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{title}</title>
<style>
body {{ max-width: 46rem; margin: 2rem auto; padding: 0 1rem; font: 17px/1.55 Georgia, serif; }}
code, pre {{ font: 14px/1.45 ui-monospace, monospace; background: #f4f4f1; }}
pre {{ padding: .8rem; overflow-x: auto; }} img {{ max-width: 100%; }}
td, th {{ text-align: left; padding: .2rem 1rem .2rem 0; vertical-align: top; }}
nav {{ font-size: 15px; }} a {{ color: #17527d; }}
</style>
<nav>{nav}</nav>
{body}
</html>
"""


def pages() -> list[Path]:
    """Every Markdown page: those of the root and those of docs/, in a fixed order."""
    return [*sorted(ROOT.glob("*.md")), *sorted(DOCS.rglob("*.md"))]


def anchor(title: str) -> str:
    """A heading's anchor: lower case, words joined by hyphens."""
    return re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-")


def broken_links(page: Path) -> list[str]:
    """The links of a page that lead nowhere: a missing file, or a missing heading in it."""
    text = _FENCE.sub("", page.read_text(encoding="utf-8"))
    return [
        f"{page.relative_to(ROOT)}: {target}"
        for target in (m["target"] for m in _LINK.finditer(text))
        if not re.match(r"[a-z]+:", target) and not _leads_somewhere(page, target)
    ]


def _leads_somewhere(page: Path, target: str) -> bool:
    name, _, fragment = target.partition("#")
    path = (page.parent / name).resolve() if name else page
    if not path.exists():
        return False
    if not fragment:
        return True
    text = _FENCE.sub("", path.read_text(encoding="utf-8"))
    return fragment in {anchor(m["title"]) for m in _HEADING.finditer(text)}


def examples(page: Path) -> list[tuple[int, str]]:
    """The ``python`` blocks of a page that run, with their line numbers.

    A block runs unless it is marked ``python no-run``.
    """
    text = page.read_text(encoding="utf-8")
    return [
        (text.count("\n", 0, match.start("body")), match["body"])
        for match in _FENCE.finditer(text)
        if match["info"].strip() == "python"
    ]


def run_examples(page: Path) -> list[str]:
    """Run a page's examples in one namespace, from the root; what differs or fails.

    Blocks with prompts are doctests; others are executed.
    """
    options = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    runner = doctest.DocTestRunner(optionflags=options)
    names: dict[str, object] = {"__name__": "__main__"}
    report = io.StringIO()
    with contextlib.chdir(ROOT):
        for line, body in examples(page):
            if ">>> " not in body:
                exec(compile("\n" * line + body, str(page), "exec"), names)  # noqa: S102
                continue
            test = doctest.DocTestParser().get_doctest(body, names, page.name, str(page), line)
            runner.run(test, out=report.write, clear_globs=False)
            names = test.globs
    return [report.getvalue()] if report.getvalue() else []


def with_messages(text: str) -> str:
    """The text with what its ``python raises`` blocks raise in the ``text`` blocks after them.

    All run in one namespace, from the root.
    """
    names: dict[str, object] = {}
    return _RAISES.sub(lambda m: f"{m['start']}{_raised(m['code'], names)}\n```", text)


def _raised(code: str, names: dict[str, object]) -> str:
    with contextlib.chdir(ROOT):
        try:
            exec(code, names)  # noqa: S102
        except errors.PolyoptError as error:
            return str(error)
    return "(nothing was raised)"


def error_classes() -> dict[str, type[errors.PolyoptError]]:
    """The error classes that have a code of their own, by code, as they are defined."""
    return {
        cls.code: cls
        for cls in vars(errors).values()
        if inspect.isclass(cls)
        and issubclass(cls, errors.PolyoptError)
        and cls is not errors.PolyoptError
        and "code" in vars(cls)
    }


def error_index(text: str) -> str:
    """The text of errors.md with its generated lines made anew and its written ones kept.

    Generated are each section's heading, class and meaning, and the messages of its programs;
    written are the preface, the programs and the advice. Sections of classes that are gone go;
    new ones get a stub.
    """
    preface, *parts = re.split(r"^## ", with_messages(text), flags=re.MULTILINE)
    written = {part.partition("\n")[0].strip(): _written(part) for part in parts}
    sections = [
        f"## {code}\n\n{_meaning(cls)}\n\n{written.get(code, UNWRITTEN)}\n"
        for code, cls in error_classes().items()
    ]
    return "\n".join([preface.rstrip() + "\n", *sections])


def _meaning(cls: type[errors.PolyoptError]) -> str:
    base = cls.__bases__[0].__name__
    return f"`{cls.__name__}`, a kind of `{base}`.\n{inspect.cleandoc(cls.__doc__ or '')}"


def _written(section: str) -> str:
    """What people wrote in a section: all from its example on."""
    start = section.find("\n```")
    return section[start:].strip() if start >= 0 else UNWRITTEN


def problems() -> Iterator[str]:
    """Everything that is wrong with the pages."""
    for page in pages():
        yield from broken_links(page)
        yield from run_examples(page)
    text = ERRORS.read_text(encoding="utf-8")
    if text != error_index(text):
        yield "errors.md is not what polyopt says: run `python docs/build.py errors`"
    if UNWRITTEN in text:
        yield "errors.md has sections without example and advice"


def build(target: Path) -> None:
    """Write every page as HTML under ``target``, pictures beside them."""
    from markdown_it import MarkdownIt

    markdown = MarkdownIt("commonmark").enable("table")
    for page in pages():
        relative = page.relative_to(ROOT)
        path = (target / relative).with_suffix(".html")
        path.parent.mkdir(parents=True, exist_ok=True)
        body = markdown.render(page.read_text(encoding="utf-8"))
        body = re.sub(r'(href="[^":]+)\.md(["#])', r"\1.html\2", body)
        body = re.sub(
            r"<(h\d)>(.*?)</\1>",
            lambda m: f'<{m[1]} id="{anchor(re.sub("<[^>]*>", "", m[2]))}">{m[2]}</{m[1]}>',
            body,
        )
        up = "../" * (len(relative.parts) - 1)
        nav = f'<a href="{up}README.html">polyopt</a> · <a href="{up}docs/index.html">docs</a>'
        title = html.escape(relative.stem)
        path.write_text(_PAGE.format(title=title, nav=nav, body=body), encoding="utf-8")
    for picture in DOCS.rglob("*.svg"):
        (target / picture.relative_to(ROOT)).write_bytes(picture.read_bytes())


def notebooks() -> list[Path]:
    """The notebooks, in their order."""
    return sorted((ROOT / "notebooks").glob("*.ipynb"))


def run_notebook(path: Path, target: Path) -> None:
    """Run a notebook from the root and write it, with what it printed, under ``target``.

    Raises nbclient's ``CellExecutionError`` where a cell fails.
    """
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(path, as_version=4)
    client = NotebookClient(
        notebook, timeout=None, kernel_name="python3", resources={"metadata": {"path": str(ROOT)}}
    )
    client.execute()
    target.mkdir(parents=True, exist_ok=True)
    nbformat.write(notebook, target / path.name)


def main(command: str) -> int:
    """Do what the command says; 1 where something is wrong."""
    match command:
        case "docs":
            found = list(problems())
            print("\n".join(found) or f"{len(pages())} pages: links, examples, error index hold")
            build(ROOT / "build" / "docs")
            print(f"written: {os.path.relpath(ROOT / 'build/docs/docs/index.html')}")
            return 1 if found else 0
        case "errors":
            text = ERRORS.read_text(encoding="utf-8")
            ERRORS.write_text(error_index(text), encoding="utf-8")
            return 0
        case "notebooks":
            for path in notebooks():
                run_notebook(path, ROOT / "build" / "notebooks")
                print(f"ran {path.relative_to(ROOT)}")
            return 0
    print(__doc__)
    return 2


if __name__ == "__main__":
    sys.exit(main(*(sys.argv[1:] or ["help"])))
