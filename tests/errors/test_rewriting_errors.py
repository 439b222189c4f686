"""Bad input to source-to-source rewriting: a located message, exit code 2, nothing written."""

import hashlib

import pytest
from click.testing import CliRunner

from polyopt.cli import cli

LOOP = "  for (int i = 0; i < n; i++)\n    a[i] = 1;\n"
GOOD = "static double g[9];\nvoid ok(void) {\n#pragma scop\n  for (int i = 0; i < 9; i++) g[i] = i;\n#pragma endscop\n}\n"


def region(body, arguments="int n, double *a", before=""):
    return f"{before}void f({arguments}) {{\n#pragma scop\n{body}#pragma endscop\n}}\n"


@pytest.fixture
def emit(tmp_path, monkeypatch):
    """Rewrites a text to out.c; the outcome, its stderr, and whether anything was written."""
    monkeypatch.chdir(tmp_path)

    def run(text, *options):
        source = tmp_path / "in.c"
        source.write_bytes(text if isinstance(text, bytes) else text.encode())
        before = hashlib.sha256(source.read_bytes()).digest()
        result = CliRunner().invoke(cli, ["emit", "in.c", "-o", "out.c", *options])
        assert "Traceback" not in result.output
        assert hashlib.sha256(source.read_bytes()).digest() == before, "the input was changed"
        written = {path.name for path in tmp_path.iterdir()} - {"in.c"}
        return result.exit_code, result.stderr, written

    return run


#: (text, line and column, part of the message, part of the hint)
WRONG = [
    (region("  a[0] = 1\n"), "in.c:4:2", "syntax-error", "missing ';'"),
    (region(LOOP, before='#include "none.h"\n'), "in.c:1:1", "cannot find the included file 'none.h'", "-I DIR"),
    (region(LOOP, before="#include <none/such.h>\n"), "in.c:1:1", "cannot find the included file", "-I DIR"),
    (f"void f(int n, double *a) {{\n#pragma scop\n{LOOP}}}\n", "in.c:2:1", "does not end", "endscop"),
    (f"void f(int n, double *a) {{\n{LOOP}#pragma endscop\n}}\n", "in.c:4:1", "nothing begins", "#pragma scop"),
    (f"void f(int n, double *a) {{\n#pragma scop\n{LOOP}}}\nvoid g(void) {{\n#pragma endscop\n}}\n", "in.c:2:1", "runs off the end", "same block"),
    (f"void f(int n, double *a) {{\n#pragma scop\n#pragma scop\n{LOOP}#pragma endscop\n}}\n", "in.c:3:1", "begins inside", "close that one"),
    ("void f(int n, double *a) {\n#pragma scop\n  if (n) {\n#pragma endscop\n  }\n}\n", "in.c:4", "one block", "both pragmas"),
    (f"#pragma scop\n#pragma endscop\n{GOOD.replace('#pragma scop', '').replace('#pragma endscop', '')}", "in.c:1:1", "where no statement can", "inside a function"),
    (region("  goto end;\nend:\n  a[0] = 1;\n"), "in.c:3:3", "goto is not taken", "loops and if"),
    (region(LOOP, "int n, volatile double *a"), "in.c:4:5", "'a' is volatile", "plain variable"),
    (region("  for (int i = 0; i < 4000000000; i++)\n    a[0] += 1;\n"), "in.c:3:1", "overflows", "long"),
    (region("  for (signed char c = 0; c < 300; c++)\n    a[c] = 1;\n"), "in.c:3:2", "cannot hold 299", "long"),
    (region("  a[n] = fact(n);\n", before="int fact(int k) { int r = 1; if (k > 1) r = k * fact(k - 1); return r; }\n"), "in.c:1:49", "'fact' calls itself", "loop"),
    (region("  a[n] = odd(n);\n", before="int even(int k);\nint odd(int k) { return k ? even(k - 1) : 0; }\nint even(int k) { return k ? odd(k - 1) : 1; }\n"), "in.c:3:30", "'odd' calls itself", "loop"),
    (region("  again(n);\n", before="void again(int k) { again(k - 1); }\n"), "in.c:1:21", "'again' calls itself", "loop"),
    (region('  puts("x");\n'), "in.c:3:3", "a call for its effect", ""),
    (region("  int last = n;\n" + LOOP) .replace("endscop\n}", "endscop\n  a[0] = last;\n}"), "in.c:3:3", "'last' is declared in the region", "before #pragma scop"),
    (region("  a[0] = pick(n);\n", before="int pick(int k) { for (;;) { if (k > 3) return k; k++; } }\n"), "in.c:4:10", "'pick' does not return at its end alone", "branches of if"),
    (region("  for (int i = 0; i < n; i++) a[i] = m;\n", "enum m m, int n, double *a", before="enum m { X = sizeof(int) };\n"), "in.c:2:8", "an enumerator whose value is not worked out", "plain integers"),
    (region("  for (int i = 0; i < n; i++) a[i] = m;\n", "enum m m, int n, double *a", before="enum m;\n"), "in.c:2:8", "nothing says what the enumerators of 'm' are", "define the enum"),
    (region("  for (n = 0; n < 9 && n != 4; n += 2) a[n] = 1;\n").replace("endscop\n}", "endscop\n  a[0] = n;\n}"), "in.c:1", "iterator 'n' is used after", "own"),
    (region("  for (int i = 0; i < n; i++)\n    y[i] += x[at[i]];\n", "int n, double *y, double *x, int *at"), "in.c:1", "may overlap", "restrict"),
    (region("  double t[1 << 24][1 << 24][1 << 20];\n  t[0][0][0] = 1;\n  a[0] = t[0][0][0];\n"), "in.c:3:3", "larger than any memory", "smaller"),
    (region("  p->x = 1;\n", "struct unknown *p"), "in.c:3:3", "no known member 'x'", "structs"),
    (region("  a[0] = 1;\n  return;\n"), "in.c:4:3", "return before the end", ""),
    (region(LOOP + "#pragma polyopt nonsense\n"), "in.c:5:1", "does not make sense", "assume"),
    (region("  fill(a);\n", before="int n; void fill(double *v) { v[n] = 1; }\n"), "in.c:4:3", "'fill' uses a global 'n'", "call the variable here"),
    (region("  next(a);\n", before="void next(double *v) { static int k = 0; v[k] = 1; }\n"), "in.c:4:3", "keeps 'k' from one call", "variable of the file"),
    (region("  move(&a[k]);\n", before="int k; void move(double *v) { k = 5; v[0] = 1; }\n"), "in.c:4:8", "'move' changes 'k'", "variable of its own"),
    (region("  for (int i = 1; i < 9; i++)\n    p[i]->x = p[i - 1]->x;\n", "struct s **p", "struct s { double x; };\n"), "in.c:5:5", "pointers that may be equal", ""),
    (region("#define K 5\n  a[K] = 1;\n"), "in.c:3:1", "directive stands in a region", "before #pragma scop"),
    (region(LOOP, "int n, _Atomic double *a"), "in.c:4:5", "volatile or atomic", "plain variable"),
    (region(LOOP, "int n, real *a", "typedef volatile double real;\n"), "in.c:1:18", "volatile or atomic", "plain variable"),
    (region("  for (int i = 0; i < n; i++)\n    log_it(a[i]);\n", before="void log_it(double);\n"), "in.c:5:5", "a call for its effect", ""),
    (region("  for (int i = 0; i < 65536 * 65536; i++)\n    a[0] += 1;\n"), "in.c:3:23", "this overflows: int32_t", "wider type"),
    (b"\x7fELF\x02\x01\x00#pragma scop\n#pragma endscop\n", "", "in.c is not text", "C file"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "place", "message", "hint"), WRONG, ids=range(len(WRONG)))
def test_nothing_is_written(emit, text, place, message, hint):
    code, shown, written = emit(text)
    assert code == 2, shown
    assert not written, shown
    assert place in shown
    assert message in shown
    assert hint in shown


@pytest.mark.parametrize("text", [w[0] for w in WRONG[9:16]], ids=range(9, 16))
def test_the_rest_of_the_file_is_still_treated(emit, text, tmp_path):
    code, shown, written = emit(GOOD + text)
    assert code == 0, shown
    assert written == {"out.c"}
    assert "in.c:3: optimised" in shown
    assert "stays as it is" in shown
    out = (tmp_path / "out.c").read_text()
    assert out.endswith(text)
    assert "polyopt: ok" in out


def test_arrays_beyond_two_gibibytes_are_taken(emit, tmp_path):
    code, shown, _ = emit(
        "static double big[20000][20000];\nvoid f(void) {\n#pragma scop\n"
        "  for (int i = 0; i < 20000; i++)\n    for (int j = 0; j < 20000; j++)\n"
        "      big[i][j] += 1;\n#pragma endscop\n}\n"
    )
    assert code == 0, shown
    assert "for (long i = 0; i <= 19999; i++)" in (tmp_path / "out.c").read_text()


def test_a_file_of_fifty_thousand_lines(emit, tmp_path):
    filler = "int f{0}(int a) {{\n  return a * {0};\n}}\n"
    text = "".join(filler.format(k) for k in range(16_664)) + GOOD
    assert text.count("\n") > 49_990
    code, shown, _ = emit(text)
    assert code == 0, shown
    assert (tmp_path / "out.c").read_text().startswith(text.partition("#pragma")[0])
    assert "in.c:49995: optimised" in shown


def test_output_is_not_the_input(emit, tmp_path):
    (tmp_path / "link.c").symlink_to("in.c")
    for name in ("in.c", "./in.c", "link.c"):
        code, shown, _ = emit(GOOD, "-o", name)
        assert code == 2
        assert f"{name} is the input itself" in shown


def test_output_that_cannot_be_written(emit):
    code, shown, _ = emit(GOOD, "-o", "none/out.c")
    assert code == 2
    assert "none/out.c cannot be written" in shown


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--unfused",), "--unfused, --expert and --plan are for one kernel"),
        (("--fuse", "none"), "'none' is not one of"),
        (("--threads", "0"), "Invalid value for '--threads'"),
        (("-D", "3=4"), "'3' cannot be the name of a macro"),
        (("--size", "n"), "--size 'n' is not NAME=NUMBER"),
        (("--size", "q=3"), "no region has a size 'q'"),
    ],
)
def test_options_that_make_no_sense(emit, options, message):
    code, shown, written = emit(GOOD, *options)
    assert (code, written) == (2, set())
    assert message in shown


def test_options_of_files_say_nothing_of_kernels(emit):
    result = CliRunner().invoke(cli, ["emit", "blur", "--prove"])
    assert result.exit_code == 2
    assert "blur is no C file with marked regions" in result.stderr


def test_scop_points_at_what_it_declines(emit, tmp_path):
    (tmp_path / "in.c").write_text(WRONG[9][0])
    result = CliRunner().invoke(cli, ["scop", "in.c"])
    assert (result.exit_code, result.stdout) == (2, "")
    assert "in.c:3:3: unsupported: goto is not taken" in result.stderr
