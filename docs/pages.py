"""Keeps the pages true: examples, error index, links, notebooks. Sphinx makes a site of them.

``python docs/pages.py check``      whether examples, links and the error index hold
``python docs/pages.py update``     rewrite what examples print, and the generated lines
``python docs/pages.py notebooks``  run every notebook into build/notebooks
"""

from __future__ import annotations

import contextlib
import difflib
import inspect
import io
import linecache
import os
import re
import sys
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

from polyopt import errors

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
ERRORS = DOCS / "errors.md"
#: stands in errors.md where a class has no example and advice yet
UNWRITTEN = "(to be written)"

_FENCE = re.compile(r"^```(?P<info>[^\n]*)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[[^\]]*\]\((?P<target>[^)\s]+)\)")
_HEADING = re.compile(r"^#+ +(?P<title>.+)$", re.MULTILINE)


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


def refreshed(text: str) -> str:
    """The text of a page with what its programs print and raise made anew.

    Programs are the ``python`` blocks, run from the root in one namespace. In one with prompts,
    all lines without are what the lines before print. The message of a ``python raises`` block
    is the ``text`` block after it. What is marked ``python no-run`` does not run.
    """
    names: dict[str, object] = {"__name__": "__main__"}
    said = ""

    def renewed(fence: re.Match[str]) -> str:
        nonlocal said
        info, body = fence["info"].strip(), fence["body"]
        if info == "python" and body.startswith(">>> "):
            body = _dialogue(body, names)
        elif info == "python":
            exec(compile(body, _registered(body), "exec"), names)  # noqa: S102
        elif info == "text" and said:
            body = said
        said = _output(body, "exec", names) or "nothing\n" if info == "python raises" else ""
        return f"```{fence['info']}\n{body}```"

    with contextlib.chdir(ROOT):
        return _FENCE.sub(renewed, text)


def _dialogue(body: str, names: dict[str, object]) -> str:
    """A block with prompts, its output made anew."""
    inputs = re.findall(r"^>>> .*\n(?:\.\.\. .*\n)*", body, re.MULTILINE)
    return "".join(
        text + _output(re.sub(r"^(>>>|\.\.\.) ", "", text, flags=re.MULTILINE), "single", names)
        for text in inputs
    )


def _output(code: str, mode: str, names: dict[str, object]) -> str:
    """What code prints, and the message of what it raises, in whole lines."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        try:
            exec(compile(code, _registered(code), mode), names)  # noqa: S102
        except errors.PolyoptError as error:
            print(error)
    shown = printed.getvalue().replace(f"{ROOT}{os.sep}", "")  # files are named from here
    text = re.sub(r"[ \t]+$", "", shown, flags=re.MULTILINE)
    return text if not text or text.endswith("\n") else text + "\n"


def _registered(code: str) -> str:
    """A file name under which ``inspect`` finds the code, as it does that of a notebook cell."""
    name = f"<example {zlib.crc32(code.encode()):08x}>"
    linecache.cache[name] = (len(code), None, code.splitlines(keepends=True), name)
    return name


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

    Generated are each section's heading, class and meaning; written are the preface, and each
    section's example and advice. Sections of classes that are gone go; new ones get a stub.
    """
    preface, *parts = re.split(r"^## ", text, flags=re.MULTILINE)
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


def current(page: Path) -> str:
    """What the page should say: its examples run anew, the error index after polyopt.errors."""
    text = page.read_text(encoding="utf-8")
    return refreshed(error_index(text) if page == ERRORS else text)


def differences(page: Path) -> list[str]:
    """Where a page is not what it should be, as a diff."""
    old, new = page.read_text(encoding="utf-8"), current(page)
    name = str(page.relative_to(ROOT))
    return list(
        difflib.unified_diff(old.splitlines(), new.splitlines(), name, "what it should say")
    )


def problems() -> Iterator[str]:
    """Everything that is wrong with the pages."""
    for page in pages():
        yield from broken_links(page)
        if found := differences(page):
            yield from [*found, "`python docs/pages.py update` brings the page up to date"]
    if UNWRITTEN in ERRORS.read_text(encoding="utf-8"):
        yield "errors.md has sections without example and advice"


def notebooks() -> list[Path]:
    """The notebooks, in their order."""
    return sorted((ROOT / "notebooks").glob("*.ipynb"))


def run_notebook(path: Path, target: Path) -> None:
    """Run a notebook from the root, on this checkout, and write it, with what it printed, under
    ``target``.

    Raises nbclient's ``CellExecutionError`` where a cell fails.
    """
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(path, as_version=4)
    client = NotebookClient(
        notebook, timeout=None, kernel_name="python3", resources={"metadata": {"path": str(ROOT)}}
    )
    client.execute(env={**os.environ, "PYTHONPATH": str(ROOT)})
    target.mkdir(parents=True, exist_ok=True)
    nbformat.write(notebook, target / path.name)


def main(command: str) -> int:
    """Do what the command says; 1 where something is wrong."""
    match command:
        case "check":
            found = list(problems())
            print("\n".join(found) or f"{len(pages())} pages: links, examples, error index hold")
            return 1 if found else 0
        case "update":
            for page in pages():
                if differences(page):
                    page.write_text(current(page), encoding="utf-8")
                    print(f"updated {page.relative_to(ROOT)}")
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
