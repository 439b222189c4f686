"""Commands that answer questions: emit, view, deps, prove, doctor, cache."""

import json
import os
import re
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from click import Option
from click.testing import CliRunner

import polyopt
import polyopt as po
from polyopt.analysis.dependences import dependences
from polyopt.cli import cli
from polyopt.cli.output import print_table
from polyopt.codegen.target import core_count, native_target
from polyopt.scheduler.model import machine


@pytest.fixture
def polyopt_(tmp_path, monkeypatch):
    """Runs a command line in an empty folder; its result has to be a success."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        result = CliRunner().invoke(cli, [str(a) for a in arguments])
        assert result.exit_code == 0, result.output
        return result.stdout

    return run


def document(text):
    def refuse(name):
        raise AssertionError(name)

    return json.loads(text, parse_constant=refuse)


def test_help_names_every_command(polyopt_):
    shown = polyopt_("--help")
    for name in [
        "run",
        "emit",
        "explain",
        "deps",
        "prove",
        "bench",
        "tune",
        "report",
        "view",
        "doctor",
        "cache",
        "demo",
        "why",
        "tradeoff",
        "completion",
    ]:
        assert re.search(rf"^  {name} ", shown, re.MULTILINE), name


def test_version(polyopt_):
    assert polyopt_("--version") == f"polyopt, version {polyopt.__version__}\n"


@pytest.mark.parametrize("command", sorted(cli.commands))
def test_help_fits_80_columns(polyopt_, command):
    assert max(map(len, polyopt_(command, "--help").splitlines())) <= 80


def test_emit_prints_what_a_kernel_is_made_of(polyopt_):
    scop = po.load_kernel("blur").scop
    sizes = po.load_kernel("blur").sizes["test"]
    assert polyopt_("emit", "blur", "--size", "test") == po.auto(scop, sizes=sizes).emit().source
    assert polyopt_("emit", "blur", "--unfused") == po.Plan(scop).emit().source


def test_emit_calls_the_c_library_where_it_is_asked_to(polyopt_, tmp_path):
    (tmp_path / "e.c").write_text(
        "#include <math.h>\nvoid e(int N, float a[restrict N], float b[restrict N]) {\n"
        "    for (int i = 0; i < N; i++)\n        b[i] = expf(a[i]);\n}\n"
    )
    assert "expf(a[i])" in polyopt_("emit", "e.c", "--libm")
    assert "exp_f32(a[i])" in polyopt_("emit", "e.c")


def test_emit_writes_a_file(polyopt_, tmp_path):
    shown = polyopt_("emit", "blur", "--unfused", "-o", "blur.c")
    assert shown == ""
    assert (tmp_path / "blur.c").read_text() == po.Plan(po.load_kernel("blur").scop).emit().source
    assert [p.name for p in tmp_path.iterdir()] == ["blur.c"]


def test_emit_takes_a_saved_plan(polyopt_, tmp_path):
    plan = po.Plan(po.load_kernel("blur").scop).tile("out", y=8, x=32).fuse("bx", into="out")
    plan.save(tmp_path / "plan.json")
    assert polyopt_("emit", "blur", "--plan", "plan.json") == plan.emit().source


def test_emit_json(polyopt_):
    found = document(polyopt_("emit", "blur", "--json"))
    assert found["variant"] == "polyopt"
    assert found["prototype"] in found["source"]
    assert isinstance(found["openmp"], bool)


def test_a_file_and_a_function_are_programs(polyopt_, tmp_path):
    (tmp_path / "scale.c").write_text(
        "void scale(int N, const float a[N], float b[N])\n"
        "{ for (int i = 0; i < N; i++) b[i] = 2.0f * a[i]; }\n"
    )
    (tmp_path / "programs.py").write_text(
        "import polyopt as po\n"
        "@po.scop\n"
        "def scale(a: po.f32['N'], b: po.f32['N']):\n"
        "    for i in range(a.shape[0]):\n"
        "        b[i] = 2.0 * a[i]\n"
    )
    assert "int scale(int64_t N" in polyopt_("emit", "scale.c", "--unfused")
    assert "int scale(int64_t N" in polyopt_("emit", "programs.py:scale", "--unfused")


def test_view_shows_program_plan_and_c(polyopt_):
    shown = polyopt_("view", "blur")
    assert str(po.load_kernel("blur").scop) in shown
    assert "int blur(" in shown


def test_deps_lists_the_rows_with_witnesses(polyopt_):
    scop = po.load_kernel("blur").scop
    assert polyopt_("deps", "blur").strip() == str(dependences(scop)).strip()
    (row,) = document(polyopt_("deps", "blur", "--json"))["dependences"]
    assert (row["kind"], row["source"], row["sink"]) == ("flow", "bx", "out")
    assert row["distance"] == ["-2..0", "0"]
    assert set(row["witness"]["params"]) == {"H", "W"}


def test_prove_names_its_obligations(polyopt_):
    assert polyopt_("prove", "blur").startswith("proved: the plan's dataflow is the source's")
    found = document(polyopt_("prove", "blur", "--unfused", "--json"))
    assert found["proved"] is True
    assert [o["name"] for o in found["obligations"]] == ["dataflow", "live-out"]


@pytest.mark.parametrize("arguments", [("prove", "harris"), ("explain", "conv2d"), ("doctor",)])
def test_answers_fit_80_columns(polyopt_, arguments):
    lines = polyopt_(*arguments).splitlines()
    assert max(len(line) for line in lines if "/" not in line) <= 80


def test_explain_says_sizes_recompute_and_bytes(polyopt_):
    shown = polyopt_("explain", "bn_relu_maxpool")
    assert "instances: act 1,605,632, out 401,408" in shown
    assert re.search(r"^  applied, (fuse|inline): ", shown, re.MULTILINE)
    assert re.search(r"^    act -> out: .*computed .*; [\d.]+ MB saved", shown, re.MULTILINE)
    assert "the bill" in shown


def test_explain_of_one_subject(polyopt_):
    found = document(polyopt_("explain", "blur", "bx", "--size", "H=2000,W=3000", "--json"))
    assert found["sizes"] == {"H": 2000, "W": 3000}
    assert {r["subject"].split(".")[0] for r in found["remarks"]} == {"bx"}
    assert found["remarks"][0]["numbers"]["producer instances"] == 2000 * 2998
    cost = found["cost"]
    assert cost["bytes_saved"] == cost["source_bytes_moved"] - cost["bytes_moved"] > 0
    assert cost["compulsory_bytes"] == 2 * (2000 * 3000 + 1998 * 2998)


def test_explain_says_how_to_see_what_the_compiler_made_of_vector_loops(polyopt_):
    assert polyopt_("explain", "blur").splitlines()[-1].endswith("with --compile")


def test_explain_compiles_and_says_which_vector_loops_are_vectors(polyopt_):
    shown = polyopt_("explain", "blur", "--compile")
    assert "vector loops, by " in shown
    assert shown.splitlines()[-1].startswith("out.x  out     ")
    found = document(polyopt_("explain", "blur", "--compile", "--json"))
    # where bx is not inlined, it has a vector loop of its own
    assert {fact["loop"] for fact in found["vector_loops"]} - {"bx.x"} == {"out.x"}
    assert found["compiler"]


def test_explain_compiles_no_plan_that_is_only_asked_about():
    result = CliRunner().invoke(cli, ["explain", "blur", "bx", "--if", "root", "--compile"])
    assert result.exit_code == 2
    assert "leave out --compile" in result.output


def test_explain_of_a_subject_that_is_not_there():
    result = CliRunner().invoke(cli, ["explain", "blur", "bz"])
    assert result.exit_code == 2
    assert (
        "unknown-name: nothing in this plan is called 'bz'\n  hint: there are: bx" in result.stderr
    )


def test_prove_says_no_to_a_wrong_plan(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    moves = [
        {"move": "tile", "args": ["out"], "options": {"y": 8}},
        {"move": "fuse", "args": ["bx"], "options": {"into": "out"}},
        {"move": "store", "args": ["bx"], "options": {"at": "out.y_tile", "extents": {"y": 9}}},
    ]
    saved = {"format": 2, "scop": "blur", "moves": moves}
    (tmp_path / "wrong.json").write_text(json.dumps(saved))
    result = CliRunner().invoke(cli, ["prove", "blur", "--plan", "wrong.json"])
    assert result.exit_code == 2
    assert "storage-too-small: " in result.stderr


def test_doctor_is_healthy_here(polyopt_):
    shown = polyopt_("doctor")
    assert re.search(r"^ok +compiler ", shown, re.MULTILINE)
    found = document(polyopt_("doctor", "--json"))
    assert found["healthy"] is True
    names = {f["name"] for f in found["findings"]}
    assert {"compiler", "target", "bandwidth", "peak", "cache", "kernels", "textual"} <= names


def test_doctor_leaves_no_entry_in_the_cache(polyopt_, tmp_path, monkeypatch):
    monkeypatch.setenv("POLYOPT_CACHE", str(tmp_path / "cache"))
    polyopt_("doctor")
    assert document(polyopt_("cache", "list", "--json"))["entries"] == []


@pytest.fixture
def fake_costs(tmp_path, monkeypatch):
    """A cache without measured costs, and a measurement that takes no time."""
    made = replace(machine.typical_costs(native_target()), load=1.234, shared=(66.66, 5.0, 4.0))
    monkeypatch.setenv("POLYOPT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("polyopt.bench.costs.measured", lambda: made)
    machine._read.cache_clear()
    yield made
    machine._read.cache_clear()


def costs_line(shown):
    """What doctor says of the costs, in one line."""
    return " ".join(re.search(r"^\w+ +costs\b.*\n( {21}.*\n)*", shown, re.MULTILINE)[0].split())


@pytest.mark.usefixtures("fake_costs")
def test_doctor_measures_what_the_time_model_goes_by(polyopt_):
    isa = native_target().isa
    assert costs_line(polyopt_("doctor")).startswith(
        f"ok costs those of a typical machine with {isa}"
    )
    shown = polyopt_("doctor", "--measure")
    kept = machine.measured_costs()
    line = f"ok costs measured on {core_count()} core{'s' * (core_count() > 1)}, {kept.path}"
    assert costs_line(shown) == line
    table = [line.split() for line in shown.splitlines()]
    assert ["cost", "here", isa, "in"] in table
    assert ["load", "1.2", f"{machine.typical_costs(native_target()).load:g}", "cycles"] in table
    assert re.search(r"^shared +67, 5, 4 .* bytes/cycle *$", shown, re.MULTILINE)
    assert max(map(len, shown.partition("\n\n")[2].splitlines())) <= 80
    assert costs_line(polyopt_("doctor")) == line


@pytest.mark.usefixtures("fake_costs")
def test_doctor_prints_what_it_measured_as_json(polyopt_):
    assert "costs" not in document(polyopt_("doctor", "--json"))
    costs = document(polyopt_("doctor", "--measure", "--json"))["costs"]
    assert costs["load"] == 1.2
    assert costs["shared"] == [67.0, 5.0, 4.0]
    assert machine.costs_of(native_target()).load == 1.2


@pytest.mark.usefixtures("fake_costs")
def test_doctor_says_that_a_broken_file_of_costs_is_ignored(polyopt_):
    path = machine.measured_costs().path
    path.parent.mkdir(mode=0o700)
    path.write_text("{", encoding="ascii")
    machine._read.cache_clear()
    said = costs_line(polyopt_("doctor"))
    assert said == (
        f"missing costs {path} is ignored: it is no JSON document "
        "hint: polyopt doctor --measure writes it anew"
    )


def test_doctor_says_of_how_many_cores_costs_are(polyopt_, fake_costs):
    machine.keep_measured(fake_costs, core_count() + 3)
    said = costs_line(polyopt_("doctor"))
    assert f"measured on {core_count() + 3} cores" in said
    assert said.endswith(f"hint: polyopt doctor --measure measures on all {core_count()}")


def test_doctor_says_what_is_broken(monkeypatch):
    monkeypatch.setenv("POLYOPT_CC", "no-such-compiler")
    result = CliRunner().invoke(cli, ["doctor", "--json"])
    assert result.exit_code == 2
    found = document(result.stdout)
    broken = [f for f in found["findings"] if f["state"] == "broken"]
    assert [f["name"] for f in broken] == ["compiler"]
    assert "no-such-compiler" in broken[0]["detail"]


def test_cache_lists_measures_and_clears(polyopt_, tmp_path, monkeypatch):
    monkeypatch.setenv("POLYOPT_CACHE", str(tmp_path / "cache"))
    assert document(polyopt_("cache", "size", "--json"))["entries"] == 0
    polyopt_("run", "blur", "--size", "test", "--unfused")
    (entry,) = document(polyopt_("cache", "list", "--json"))["entries"]
    assert entry["name"] == "blur"
    assert "blur" in polyopt_("cache")
    assert document(polyopt_("cache", "size", "--json"))["bytes"] == entry["bytes"] > 0
    assert document(polyopt_("cache", "clear", "--json"))["removed"] == 1
    assert polyopt_("cache", "list").startswith("0 kernels in ")


def test_run_agrees_with_the_reference_and_writes_outputs(polyopt_, tmp_path):
    found = document(polyopt_("run", "blur", "--size", "test", "-o", "results", "--json"))
    assert found["agrees"] is True
    assert found["checked_against"] == "the NumPy reference"
    assert set(found["times"]) == {"polyopt", "polyopt-unfused"}
    assert found["threads"] >= 1
    kernel = po.load_kernel("blur")
    inputs = kernel.inputs(kernel.sizes["test"], np.random.default_rng(0))
    written = np.load(tmp_path / "results" / "out.npy")
    assert np.array_equal(written, kernel.reference(**inputs)["out"])


def test_run_takes_arrays_and_finds_their_sizes(polyopt_, tmp_path):
    img = np.arange(7 * 9, dtype=np.uint16).reshape(7, 9)
    np.save(tmp_path / "img.npy", img)
    for given in ("img.npy", "img=img.npy"):
        found = document(polyopt_("run", "blur", "-i", given, "-o", ".", "--json"))
        assert found["size"] == {"H": 7, "W": 9}
        expected = po.load_kernel("blur").reference(img=img)["out"]
        assert np.array_equal(np.load(tmp_path / "out.npy"), expected)


def test_run_of_an_in_place_program_starts_from_its_input(polyopt_, tmp_path):
    kernel = po.load_kernel("jacobi_2d")
    sizes = kernel.sizes["test"]
    polyopt_("run", "jacobi-2d", "--size", "test", "-o", ".")
    inputs = kernel.inputs(sizes, np.random.default_rng(0))
    expected = kernel.reference(**{**inputs, **sizes})
    for name, values in expected.items():
        np.testing.assert_allclose(np.load(tmp_path / f"{name}.npy"), values, rtol=1e-5)


def test_run_of_a_program_without_reference_is_checked_against_unfused(polyopt_, tmp_path):
    (tmp_path / "scale.c").write_text(
        "void scale(int N, const float a[N], float b[N])\n"
        "{ for (int i = 0; i < N; i++) b[i] = 2.0f * a[i]; }\n"
    )
    found = document(polyopt_("run", "scale.c", "--size", "N=100", "--json"))
    assert found["agrees"] is True
    assert found["checked_against"] == "the unfused form"
    assert found["outputs"]["b"]["shape"] == [100]


def test_no_color_and_pipes_have_no_escapes():
    done = subprocess.run(
        [sys.executable, "-m", "polyopt", "doctor"],
        env={**os.environ, "NO_COLOR": "1", "FORCE_COLOR": "", "TERM": "xterm"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "\x1b" not in done.stdout
    assert "ok      polyopt" in done.stdout


@pytest.mark.parametrize("columns", [40, 80, 200])
def test_a_table_leaves_no_column_out(monkeypatch, capsys, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    name = "a_name_as_long_as_generated_code_has_them" * 3
    print_table([("kernel", "left"), ("size", "right")], [(name, "15.6 KiB"), ("f", "3 B")])
    head, first, second = (line.rstrip() for line in capsys.readouterr().out.splitlines())
    assert head.split() == ["kernel", "size"]
    assert first.endswith(" 15.6 KiB")
    assert second.endswith("     3 B")
    shown = first.split()[0]
    assert (shown == name) == (columns == 200)
    assert shown.rstrip("…") == name[: len(shown.rstrip("…"))]
    assert len(first) <= max(columns, 80)


def texts(command):
    """The help of a command, of its options and of its subcommands."""
    yield command.help
    yield from (parameter.help for parameter in command.params if isinstance(parameter, Option))
    for inner in getattr(command, "commands", {}).values():
        yield from texts(inner)


def test_help_has_no_inline_markup():
    """The site reads it as reStructuredText, where `*.whl` starts an emphasis that never ends."""
    found = [text for text in texts(cli) if re.search(r"[*`|]|\w_(?!\w)", text or "")]
    assert found == []


def test_run_says_what_it_does(polyopt_):
    shown = polyopt_("run", "blur", "--size", "tiny", "--seconds", "0.01", "--threads", "1")
    lines = shown.splitlines()
    assert lines[0] == "blur with H = 3, W = 3"
    assert re.fullmatch(r"  plan: automatic, .*; polyopt explain blur says why", lines[1])
    assert "  random inputs: img" in lines
    assert "  agrees with the NumPy reference" in lines
    assert "  1 thread" in lines
    assert re.search(r"^polyopt +[\d.]+", shown, re.MULTILINE)
    assert "recipe in schedules/" in polyopt_(
        "run", "blur", "--size", "tiny", "--seconds", "0.01", "--expert"
    )
