"""Pages from fixed measurements: ratios, spreads, means, gaps, pictures."""

import json
import re
from math import sqrt
from xml.etree import ElementTree as ET

import pytest
from click.testing import CliRunner

from polyopt.bench.pages.chart import Bar, Curve, Group, bar_chart, curve_chart
from polyopt.bench.pages.compose import page
from polyopt.bench.pages.markdown import Making
from polyopt.bench.pages.reading import read
from polyopt.cli import cli
from polyopt.errors import InvalidOptionError

SVG = "{http://www.w3.org/2000/svg}"
MAKING = Making("build/peers.json", "peers.svg", "polyopt report build/peers.json -o peers.md")
ABOUT = {
    "command": "polyopt bench --suite images --json", "date": "2026-01-02",
    "versions": {"polyopt": "0.1.0", "halide": "21.0.0"},
}  # fmt: skip


def row(kernel, variant, median, threads=1, **others):
    return {
        "suite": "images", "kernel": kernel, "size": {"H": 80, "W": 90}, "variant": variant,
        "threads": threads, "median_ms": median, "min_ms": median, "iqr_ms": 0.0, "runs": 9,
        "limit_ms": 1.0, "fraction": 1.0 / median, "agrees": True, "compile_s": 0.5,
        "schedule_s": 0.1, "proof_s": 0.1, "noisy": False, "schedule": "", **others,
    }  # fmt: skip


def times(rows, peers=("halide", "opencv"), missing=(), notes=()):
    return {
        **ABOUT, "peers": list(peers), "missing": list(missing), "notes": list(notes),
        "machine": {
            "cpu": "a cpu", "cores": 2, "compiler": "a cc",
            "bandwidth_gbs": {"1": 10.0, "2": 20.0}, "peak_gflops": {"1": 100, "2": 200},
        },
        "rows": rows,
    }  # fmt: skip


ROWS = [
    row("blur", "polyopt", 2.0, iqr_ms=0.4),
    row("blur", "polyopt-unfused", 9.0),
    row("blur", "opencv", 5.0),
    row("blur", "halide-expert/slow", 4.0, schedule="slow"),
    row("blur", "halide-expert", 3.0, schedule="fast", iqr_ms=0.2, noisy=True),
    row("blur", "halide-li", 1.0, agrees=False),
    row("harris", "polyopt", 4.0),
    row("harris", "polyopt-unfused", 4),
    row("harris", "halide-adams", 24.0),
    row("blur", "polyopt", 1.0, 2),
    row("blur", "polyopt-unfused", 3.0, 2),
    row("blur", "halide-expert", 0.5, 2, schedule="slow"),
    row("harris", "polyopt", 2.0, 2, agrees=False),
    row("harris", "polyopt-unfused", 2.0, 2),
    row("harris", "halide-adams", 3.0, 2),
]


def made(document, making=MAKING):
    return page(read(json.dumps(document), "peers.json"), making)


def cells(markdown):
    """The rows of the first table, by what stands in their first two columns."""
    lines = [line for line in markdown.splitlines() if line.startswith("| ")]
    titles, _, *rows = ([c.strip() for c in line.strip("|").split("|")] for line in lines)
    return {(r[0], r[1]): dict(zip(titles, r, strict=True)) for r in rows}


def test_a_line_compares_ours_with_the_fastest_form_that_agrees():
    blur = cells(made(times(ROWS)).markdown)["blur", "1"]
    assert blur == {
        "pipeline": "blur", "threads": "1", "ours ms": "2.000", "Halide ms": "3.000~",
        "its schedule": "expert fast", "Halide / ours": "1.50 (1.32-1.72)", "OpenCV ms": "5.000",
        "unfused ms": "9.000", "unfused / ours": "4.50", "of the limit": "50%",
        "results agree": "**NO**: halide-li",
    }  # fmt: skip


def test_a_form_that_is_absent_or_differs_is_told_and_not_compared():
    found = cells(made(times(ROWS)).markdown)
    assert found["harris", "1"]["its schedule"] == "adams"
    assert found["harris", "1"]["OpenCV ms"] == "-"
    assert found["harris", "1"]["results agree"] == "yes"
    wrong = found["harris", "2"]
    assert (wrong["Halide / ours"], wrong["unfused / ours"]) == ("-", "-")
    assert wrong["results agree"] == "**NO**: polyopt"


def test_geometric_means_say_over_how_many():
    found = cells(made(times(ROWS)).markdown)
    one, two = (found["**geometric mean**", n] for n in "12")
    assert one["Halide / ours"] == f"**{sqrt(1.5 * 6):.2f}**"
    assert one["unfused / ours"] == f"**{sqrt(4.5):.2f}**"
    assert two["Halide / ours"] == "**0.50** (1 of 2)"


def test_a_peer_that_differs_shows_its_time_with_the_warning():
    rows = [row("blur", "polyopt", 2.0), row("blur", "opencv", 1.0, agrees=False)]
    found = made(times(rows))
    assert cells(found.markdown)["blur", "1"]["OpenCV ms"] == "1.000 (differs)"
    assert "- opencv of blur: its results are not the reference's" in found.markdown


def test_a_missing_peer_is_named_in_table_list_and_picture():
    rows = [r for r in ROWS if "halide" not in r["variant"]]
    found = made(times(rows, missing=["halide"], notes=["opencv has no form of harris"]))
    blur = cells(found.markdown)["blur", "1"]
    assert (blur["Halide ms"], blur["Halide / ours"]) == ("not installed", "-")
    assert "- halide is not installed\n- opencv has no form of harris" in found.markdown
    assert cells(found.markdown)["**geometric mean**", "1"]["Halide / ours"] == "-"
    assert found.svg.count(">not measured<") == 5
    assert found.svg.count(">results differ<") == 1


def test_what_other_systems_say_is_no_markdown():
    found = made(times(ROWS, notes=["halide-li of blur: a * b [x](y) <z>"]))
    assert r"- halide-li of blur: a \* b \[x\](y) \<z>" in found.markdown


def test_without_halide_asked_for_the_page_says_so():
    blur = cells(made(times(ROWS[:2], peers=[])).markdown)["blur", "1"]
    assert blur["Halide ms"] == "not asked for"


def test_nothing_missing_is_said_too():
    rows = [row("blur", "polyopt", 2.0), row("blur", "halide-li", 2.0)]
    assert "all results agree" in made(times(rows, peers=["halide"])).markdown


def test_machine_versions_and_the_very_commands_are_named():
    shown = made(times(ROWS)).markdown
    for part in ["a cpu, 2 cores", "2026-01-02", "a cc", "halide 21.0.0", "H = 80, W = 90",
                 "limits on 2 threads: 20.0 GB/s, 200 GFLOP/s", "1 of 15 times stayed"]:  # fmt: skip
        assert part in shown
    assert (
        "```sh\npolyopt bench --suite images --json > build/peers.json\n"
        "polyopt report build/peers.json -o peers.md\n```" in shown
    )
    piped = made(times(ROWS), Making("-", "p.svg", "polyopt report - -o p.md")).markdown
    assert "--json | polyopt report - -o p.md\n" in piped


def parsed(svg):
    """An SVG's element: that it parses shows that it is well-formed."""
    return ET.fromstring(svg)  # noqa: S314  (made here)


def bars(svg):
    """What the bars' titles tell, and their widths."""
    boxes = [b for b in parsed(svg).iter(f"{SVG}rect") if b.find(f"{SVG}title") is not None]
    return {b.find(f"{SVG}title").text: float(b.get("width")) for b in boxes}


def test_the_picture_has_a_bar_for_each_ratio_and_a_line_at_one():
    svg = made(times(ROWS)).svg
    found = bars(svg)
    assert {"1 thread: 1.50 (1.32-1.72)", "1 thread: 6.00 (6.00-6.00)"} <= found.keys()
    assert {"2 threads: 0.50 (0.50-0.50)", "1 thread: 3.00 (3.00-3.00)"} <= found.keys()
    assert len(found) == 4  # both means, of which one is that of a single pipeline
    scale = found["1 thread: 6.00 (6.00-6.00)"] / 6
    assert found["1 thread: 1.50 (1.32-1.72)"] == pytest.approx(1.5 * scale, abs=0.1)
    (one,) = [e for e in parsed(svg).iter(f"{SVG}line") if e.get("stroke-width") == "1.5"]
    assert float(one.get("x1")) == pytest.approx(150 + scale, abs=0.1)
    assert svg.count(">results differ<") == 1


def test_pictures_follow_the_readers_scheme():
    for svg in (
        bar_chart("t", ["a"], [Group("g", (Bar(1.0, 0.9, 1.1),))], note="n"),
        curve_chart("t", [Curve("c", ((2, 0.1), (4, 0.2)))], across="x", up="y"),
    ):
        assert "@media (prefers-color-scheme: dark)" in svg
        used = {e.get("class") for e in parsed(svg).iter() if e.get("class")}
        defined = set(re.findall(r"\.([a-z]+) \{", svg))
        assert {name for names in used for name in names.split()} <= defined


def test_a_bar_without_end_stays_on_the_page():
    svg = bar_chart("t", ["a"], [Group("g", (Bar(1.0, 0.0, 1e9),))], note="n")
    xs = [float(e.get("x2")) for e in parsed(svg).iter(f"{SVG}line")]
    assert max(xs) <= 720


def test_names_are_escaped():
    svg = bar_chart("a < b & c", ["<1>"], [Group("<g>", ("no & none",))], note="n")
    assert "a < b & c" in [e.text for e in parsed(svg).iter(f"{SVG}text")]


def test_long_names_of_groups_fit_into_the_chart():
    name = "convolution + BN + ReLU + MaxPool"
    svg = bar_chart("t", ["a"], [Group(name, (Bar(1.0, 0.9, 1.1),))], note="n")
    said = next(e for e in parsed(svg).iter() if e.text == name)
    # sans-serif of 12 pixels is half as wide as it is high, at least
    assert float(said.get("x")) - 6 * len(name) > 0


def test_empty_charts_are_charts():
    assert parsed(bar_chart("t", ["a"], [], note="n")) is not None
    assert "no points" in curve_chart("t", [Curve("c", ())], across="x", up="y")
    assert parsed(curve_chart("t", [Curve("c", ((2, 0.1),))], across="x", up="y")) is not None


COMPILE = {
    **ABOUT, "cpu": "a cpu", "cores": 2, "compiler": "a cc",
    "kernels": [
        {"program": name, "stages": 9, "plan_s": 1.0, "proof_s": 0.25, "c_s": 0.5, "check_s": 1.5,
         "compiler_s": 2.0, "reported_s": paper, "all_s": 3.5}
        for name, paper in (("harris", 435.0), ("blur", None))
    ],
    "chain": [{"stages": n, "plan_s": n / 10, "proof_s": n / 100} for n in (2, 4, 8)],
}  # fmt: skip


def test_the_compile_page_has_the_papers_column_and_the_chain():
    found = made(COMPILE, Making("build/c.json", "c.svg", "polyopt report build/c.json -o c.md"))
    assert "| harris | 9 | 1.00 | 0.25 | 0.50 | 1.50 | 2.00 | 3.50 | 435 |" in found.markdown
    assert "| blur | 9 | 1.00 | 0.25 | 0.50 | 1.50 | 2.00 | 3.50 | - |" in found.markdown
    assert "| 8 | 0.80 | 0.08 | 0.100 |" in found.markdown
    assert "](c.svg)" in found.markdown
    assert "machine: a cpu, 2 cores" in found.markdown


def test_the_curve_is_straight_where_times_are_in_proportion():
    svg = made(COMPILE).svg
    plan, proof = (
        [tuple(map(float, p.split(","))) for p in e.get("points").split()]
        for e in parsed(svg).iter(f"{SVG}polyline")
    )
    (x0, y0), (x1, y1), (x2, y2) = plan
    assert (x1 - x0, y1 - y0) == pytest.approx((x2 - x1, y2 - y1), abs=0.2)
    assert y0 > y1 > y2
    assert all(low > high for (_, low), (_, high) in zip(proof, plan, strict=True))
    assert [e.get("stroke-dasharray") for e in parsed(svg).iter(f"{SVG}line")].count("4 4") == 1
    titles = [e.text for e in parsed(svg).iter(f"{SVG}title")]
    assert "plan: 0.8 at 8" in titles


def without(document, key):
    return {name: value for name, value in document.items() if name != key}


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ([], "there is no 'machine'"),
        (without(times(ROWS), "rows"), "there is no 'rows'"),
        (without(times(ROWS), "date"), "there is no 'date'"),
        (times([3]), "'rows' has what is not an object"),
        (times([row("blur", "polyopt", 2.0, median_ms="2")]), "'median_ms' is not a number"),
        (times([row("blur", "polyopt", 2.0, threads=True)]), "'threads' is not a whole number"),
        (
            times([row("blur", "polyopt", 2.0, median_ms=0)]),
            "'median_ms' of polyopt of blur is not",
        ),
        (times([without(row("blur", "polyopt", 2.0), "agrees")]), "there is no 'agrees'"),
        ({**COMPILE, "chain": 1}, "'chain' is not a list"),
        ({**COMPILE, "kernels": [{}]}, "there is no 'program'"),
    ],
)
def test_a_document_without_measurements_is_refused(document, message):
    with pytest.raises(InvalidOptionError, match=r"x\.json holds no measurements") as caught:
        read(json.dumps(document), "x.json")
    assert message in str(caught.value)
    assert "`polyopt bench --json`" in str(caught.value)


@pytest.mark.parametrize("text", ["", "{", '{"rows": NaN}', "polyopt"])
def test_what_is_not_json_is_refused(text):
    with pytest.raises(InvalidOptionError, match=r"x\.json is not JSON"):
        read(text, "x.json")


@pytest.fixture
def here(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_command_writes_page_and_picture(here):
    (here / "in.json").write_text(json.dumps(times(ROWS)))
    result = CliRunner().invoke(cli, ["report", "in.json", "-o", "peers.md"])
    assert result.exit_code == 0, result.output
    text = (here / "peers.md").read_text()
    assert "](peers.svg)" in text
    assert "--json > in.json\npolyopt report in.json -o peers.md\n" in text
    parsed((here / "peers.svg").read_text())


def test_the_command_reads_stdin(here):
    result = CliRunner().invoke(cli, ["report", "-", "-o", "c.md"], input=json.dumps(COMPILE))
    assert result.exit_code == 0, result.output
    assert "# What compiling takes" in (here / "c.md").read_text()
    assert (here / "c.svg").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["none.json", "-o", "p.md"], "none.json cannot be read: No such file or directory"),
        (["bad.json", "-o", "p.md"], "bad.json is not JSON: "),
        (["bytes.json", "-o", "p.md"], "bytes.json is not text"),
        (["other.json", "-o", "p.md"], "other.json holds no measurements"),
        (
            ["good.json", "-o", "p.html"],
            "good.json holds measurements: their page is written as .md",
        ),
        (["good.json", "-o", "nowhere/p.md"], "nowhere/p.svg cannot be written"),
    ],
)
def test_mistakes_are_told_without_a_traceback(here, arguments, message):
    (here / "bad.json").write_text("{")
    (here / "bytes.json").write_bytes(b"\xff\xfe\x00")
    (here / "other.json").write_text("{}")
    (here / "good.json").write_text(json.dumps(times(ROWS)))
    result = CliRunner().invoke(cli, ["report", *arguments])
    assert result.exit_code == 2
    assert result.stderr.startswith(f"invalid-option: {message}")
    assert "Traceback" not in result.output
    assert not (here / "p.md").exists()
