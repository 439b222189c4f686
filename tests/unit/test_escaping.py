"""Names that would be code where they are printed are text there, in whatever is written."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise
from xml.etree import ElementTree as ET

import pytest

import polyopt as po
from polyopt.codegen.emit import emit
from polyopt.codegen.splice import _comment
from polyopt.escaping import c_string, comment, markup, printable
from polyopt.graph import compile_graph
from polyopt.graph.draw import draw_graph
from polyopt.graph.execution.export import exported_files
from polyopt.graph.ir.graph import Graph, Node, Value
from polyopt.ir.types import F32
from polyopt.transform.schedule.identity import initial_program

#: each has ``evil`` where it would be code if a comment or a string ended before it
HOSTILE = (
    "*/ evil /*",
    "*\\\n/ evil",
    "*??/\n/ evil",
    "/*/ evil",
    '" evil "',
    '\\" evil',
    '??/" evil',
    "a\n#error evil",
    "a\revil",
    "a\u2028evil \x85evil \v evil",
    "ends in a backslash \\",
    "ends in a trigraph ??/",
    "ends in blanks \\  ",
    "\x00evil\x1b[2J",
    "</title></svg><evil>",
    "' onload='evil",
    "%s%n$evil ${evil} $(evil)",
    "\u202e evil \ud800",
    "größe",
    "",
)
TRIGRAPHS = {
    "=": "#",
    "/": "\\",
    "'": "^",
    "(": "[",
    ")": "]",
    "!": "|",
    "<": "{",
    ">": "}",
    "-": "~",
}
COMPILER = shutil.which("gcc") or "cc"
EVIL = re.compile(r"\bevil\b")
LEXICAL = re.compile(r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.DOTALL)


def tokens(text):
    """C without what is in comments and strings, by the phases of translation."""
    text = re.sub(r"\?\?([=/'()!<>-])", lambda m: TRIGRAPHS[m[1]], text)
    return LEXICAL.sub(" _ ", re.sub(r"\\[ \t]*\r?\n", "", text))


def test_the_compiler_reads_what_is_meant(tmp_path):
    lines = []
    for k, name in enumerate(HOSTILE):
        data = name.encode("utf-8", "backslashreplace")
        bytes_ = ", ".join(map(str, (*data, 0)))
        lines += [
            f"/* {comment(name)}\n * {comment(name)}\n */",
            f"// {comment(name)}",
            f"static const char s{k}[] = {c_string(name)};",
            f"static const unsigned char b{k}[] = {{{bytes_}}};",
            f'_Static_assert(sizeof s{k} == sizeof b{k}, "");',
        ]
    tests = [f"memcmp(s{k}, b{k}, sizeof b{k})" for k in range(len(HOSTILE))]
    lines.append(f"int main(void) {{ return {' || '.join(tests)}; }}")
    path = tmp_path / "names.c"
    path.write_text("#include <string.h>\n" + "\n".join(lines), encoding="utf-8")
    # with trigraphs, as the standards up to C17 have them
    strict = ["-std=c11", "-Wall", "-Wextra", "-Werror"]
    subprocess.run([COMPILER, *strict, str(path), "-o", str(tmp_path / "names")], check=True)
    assert subprocess.run([str(tmp_path / "names")], check=False).returncode == 0


@pytest.mark.parametrize("name", HOSTILE)
def test_one_line_without_controls(name):
    shown = comment(name)
    assert shown.isprintable()
    assert shown.splitlines() in ([], [shown])
    assert printable(shown) == shown


SMALL = "void f(int n, float a[n]) { for (int i = 0; i < n; i++) a[i] = /* x */ 2 * a[i]; }"


@pytest.fixture(scope="module")
def plan():
    return po.Plan(po.parse_c(SMALL))


@pytest.mark.parametrize("name", HOSTILE)
def test_what_a_program_is_called(plan, name):
    scop = replace(plan.scop, name=name)
    program = emit(initial_program(scop), notes=(f"{name}: a note", name))
    assert not EVIL.search(tokens(program.source))
    assert program.source.isascii() or name == "größe"
    assert tokens("\n".join(_comment([name, name]))).split() == ["_"]


def test_comments_of_the_source_stay_comments():
    made = po.Plan(po.parse_c(SMALL)).emit().source
    head, _, rest = made.partition("*/")
    assert head.startswith("/*")
    assert rest.startswith("\n#include")


@pytest.fixture(scope="module")
def network():
    """A tensor for each name, one after the other."""
    names = [f"{k}{name}" for k, name in enumerate(HOSTILE)]
    nodes = [Node(b, "relu", (a,)) for a, b in pairwise(names)]
    return Graph(HOSTILE[0], (Value(names[0], (2,), F32),), {}, tuple(nodes), tuple(names[1:]))


def test_tensors_of_a_network(network):
    files = exported_files(compile_graph(network))
    texts = {name: text for name, text in files.items() if isinstance(text, str)}
    assert {name.rpartition(".")[2] for name in texts} >= {"c", "h"}
    for name, text in texts.items():
        text.encode()
        assert not EVIL.search(text if name == "Makefile" else tokens(text)), name


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []

    def handle_starttag(self, tag, attrs):
        self.tags += [tag, *(name for name, _ in attrs)]


def test_pictures_and_pages(network):
    root = ET.fromstring(draw_graph(network).svg)  # noqa: S314 (made here)
    assert not any("evil" in part.tag or "onload" in part.attrib for part in root.iter())
    parser = _Tags()
    for name in HOSTILE:
        parser.feed(f"<p title='{markup(name)}'>{markup(name)}</p>")
    assert set(parser.tags) == {"p", "title"}
