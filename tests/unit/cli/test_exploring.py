"""Commands to explore with: why, tradeoff, explain --if, view, report of a program, completion."""

import json
import re
from html.parser import HTMLParser

import pytest
from click.testing import CliRunner

import polyopt as po
from polyopt.cli import cli
from polyopt.cli.commands.viewing import sections_of
from polyopt.cli.program import PlanChoice, load_program
from polyopt.explain.pictures.characters import tiles_text


@pytest.fixture
def polyopt_(tmp_path, monkeypatch):
    """Runs a command line in an empty folder; its result has to be a success."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        result = CliRunner().invoke(cli, [str(a) for a in arguments])
        assert result.exit_code == 0, result.output
        return result.stdout

    return run


def refused(*arguments):
    result = CliRunner().invoke(cli, [str(a) for a in arguments])
    assert result.exit_code == 2
    assert not result.stdout
    return result.stderr


def test_why_names_instances_and_inputs(polyopt_):
    assert "img[10..12, 20..22]" in polyopt_("why", "blur", "out[10,20]")
    found = json.loads(polyopt_("why", "blur", "out[0, 0]", "--unfused", "--json"))
    assert [p["name"] for p in found["instances"]] == ["out", "bx"]
    assert "names no element" in refused("why", "blur", "out[y]")


def test_tradeoff_keeps_the_plan_that_is_chosen(polyopt_, tmp_path):
    shown = polyopt_(
        "tradeoff", "blur", "-s", "test", "--memory", "100", "--save", "p.json", "-o", "p.svg"
    )
    assert "memory against work: blur" in shown
    plan = po.Plan.load(tmp_path / "p.json", po.load_kernel("blur").scop)
    assert plan.program.inlined == {"bx"}
    assert (tmp_path / "p.svg").read_text().startswith("<svg")
    found = json.loads(polyopt_("tradeoff", "blur", "-s", "test", "--point", "1", "--json"))
    assert found["picked"] == found["front"][0]


def test_what_makes_no_sense_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    small = ("blur", "-s", "test")
    assert "there is no point 99" in refused("tradeoff", *small, "--point", "99")
    assert "each choose a plan" in refused("tradeoff", *small, "--point", "1", "--memory", "9")
    assert "cannot be put 'attic'" in refused("explain", "blur", "bx", "--if", "attic")
    assert "says where, not what" in refused("explain", "blur", "--if", "root")
    assert "those of one producer" in refused("explain", "blur", "--alternatives")
    assert "written as .html or .md" in refused("report", "blur", "-o", "blur.pdf")
    assert "takes no plan and no sizes" in refused("report", "r.json", "-o", "r.md", "-s", "H=9")
    assert "holds measurements" in refused("report", "r.json", "-o", "r.html")
    assert list(tmp_path.iterdir()) == []


def test_explain_answers_what_if_and_shows_the_alternatives(polyopt_):
    shown = polyopt_("explain", "blur", "bx", "--if", "root")
    assert "(now " in " ".join(shown.split())
    assert "the bill" not in shown
    table = polyopt_("explain", "blur", "bx", "--alternatives")
    assert re.search(r"^\* \w+ ", table, re.MULTILINE)
    found = json.loads(polyopt_("explain", "blur", "bx", "--alternatives", "--json"))
    assert len(found["alternatives"]) == 4


@pytest.mark.parametrize("name", ["blur", "unsharp"])
def test_view_fits_80_columns_and_leaves_nothing_out(polyopt_, name):
    shown = polyopt_("view", name, "--unfused")
    assert max(map(len, shown.splitlines())) <= 80
    source = polyopt_("emit", name, "--unfused")
    assert max(map(len, source.splitlines())) > 80
    assert "".join(source.split()) in "".join(shown.split())


def test_view_has_loops_reasons_tiles_and_c(polyopt_):
    shown = polyopt_("view", "harris")
    titles = re.findall(r"^== (.+)$", shown, re.MULTILINE)
    assert titles == ["program", "script", "plan", "C", "reasons", "tiles", "bill", "proof"]
    assert "\x1b[" not in shown


def test_tiles_are_letters_and_overlap_is_marked():
    plan = po.Plan(po.load_kernel("blur").scop).tile("out", y=6, x=8).fuse("bx", into="out")
    shown = tiles_text(plan)
    assert max(map(len, shown.splitlines())) <= 80
    assert "#" in shown
    assert "computed 1." in shown
    assert re.search("^a+b+c*", shown, re.MULTILINE)
    assert tiles_text(po.Plan(plan.scop)) == "no loop is tiled"


@pytest.fixture(scope="module")
def sections():
    found = load_program("blur")
    sizes = {"H": 66, "W": 66}
    return list(sections_of(found, PlanChoice(unfused=True).plan(found, sizes), sizes))


def test_the_text_interface_walks_through_the_sections(sections):
    import asyncio

    from textual.widgets import Static, TabbedContent

    from polyopt.cli.views.tui import Viewer

    async def walk():
        app = Viewer("blur", sections)
        async with app.run_test(size=(80, 24)) as pilot:
            assert app.has_class("narrow") or app.screen.has_class("narrow")
            tabs = list(app.query("Tab"))
            assert len({tab.region.y for tab in tabs}) == 1  # all titles in one row
            assert all(tab.region.width for tab in tabs)
            tabs = app.query_one(TabbedContent)
            assert tabs.active == "both"
            app.action_turn(1)
            await pilot.pause()
            assert tabs.active == "program"
            shown = app.query_one("#C-text", Static)
            assert "int blur(" in str(shown.content)
            await pilot.press("q")
        return app.return_code

    assert asyncio.run(walk()) == 0


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_names_the_program(polyopt_, shell):
    assert "_POLYOPT_COMPLETE" in polyopt_("completion", shell)


def test_kernels_complete():
    environment = {"COMP_WORDS": "polyopt emit bl", "COMP_CWORD": "2"}
    result = CliRunner().invoke(
        cli, prog_name="polyopt", env={**environment, "_POLYOPT_COMPLETE": "bash_complete"}
    )
    assert "plain,blur\n" in result.output


class Page(HTMLParser):
    """The links, ids and tags of a page; fails on a tag that is closed and not open."""

    VOID = ("meta", "br", "img", "link")

    def __init__(self, text):
        super().__init__()
        self.ids, self.links, self.open, self.titles = [], [], [], []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.ids += [given["id"]] if "id" in given else []
        self.links += [given["href"]] if "href" in given else []
        assert "src" not in given
        assert tag != "script"
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] == "h2":
            self.titles.append(data)


def test_a_programs_page_is_whole(polyopt_, tmp_path):
    polyopt_("report", "blur", "-o", "blur.html", "-s", "H=130,W=140")
    text = (tmp_path / "blur.html").read_text(encoding="utf-8")
    page = Page(text)
    assert page.titles == [
        "Program", "Dependences", "Plan", "Stages", "Tiles and windows", "Reasons", "Bill",
        "Trade-off", "Proof", "C", "Vectors", "Measured",
    ]  # fmt: skip
    assert len(page.ids) == len(set(page.ids))
    assert page.links
    assert {link.removeprefix("#") for link in page.links} <= set(page.ids)
    assert set(re.findall(r"url\(#([^)]+)\)", text)) <= set(page.ids)
    assert 'name="viewport"' in text
    assert len(text) < 1_000_000
    assert "polyopt-unfused" in text
    assert "agrees with" in text


def test_a_page_without_times_measures_nothing(polyopt_, tmp_path):
    polyopt_("report", "blur", "-o", "blur.html", "--no-measure", "--unfused")
    assert "Measured" not in Page((tmp_path / "blur.html").read_text(encoding="utf-8")).titles


def test_a_network_has_a_page_too(polyopt_, tmp_path):
    import onnx

    from polyopt.bench.networks import Network

    net, last = Network("stack", (1, 4, 8, 8)), "input"
    for _ in range(2):
        last = net.block(last, 4, 3)
    onnx.save(net.model(net.classifier(last, 3)), tmp_path / "stack.onnx")
    polyopt_("report", str(tmp_path / "stack.onnx"), "-o", str(tmp_path / "page.html"))
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    links = set(re.findall(r'href="#([^"]+)"', page))
    assert links == {"network", "passes", "kernels", "reasons", "memory", "plans", "measured"}
    assert links <= set(re.findall(r'id="([^"]+)"', page))
    for said in (
        "fold_batch_norm",
        "conv_blocked + relu",
        "proved: the plan",
        "#pragma omp",
        "GFLOP/s",
    ):
        assert said in page
    assert "<script" not in page
    refused = CliRunner().invoke(cli, ["report", "a.onnx", "-o", "b.html", "--unfused"])
    assert "are for single programs" in refused.output
