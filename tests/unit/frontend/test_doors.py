"""What one command takes, all take: a corpus of C through every way into the package."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

import polyopt as po
from polyopt.analysis.interpreter.interpret import interpret
from polyopt.cli import cli
from polyopt.errors import UserError
from polyopt.frontend.c.regions.files import Declined
from polyopt.rewrite import Rewriting, regions_in


def file(head, body, tail=""):
    return f"{head} {{\n#pragma scop\n{body}\n#pragma endscop\n{tail}}}\n"


#: name -> program; what `polyopt emit` does with it is what all others have to do
CORPUS = {
    "affine": file("void f(int n, float a[n])", "for (int i = 0; i < n; i++) a[i] *= 2;"),
    "histogram": file(
        "void f(int n, int m, const int key[n], int count[m])",
        "for (int i = 0; i < n; i++) count[key[i]] += 1;",
    ),
    "gather": file(
        "void f(int n, int m, const int at[n], const float x[m], float y[n])",
        "for (int i = 0; i < n; i++) y[i] = x[at[i]];",
    ),
    "folded by hand": file(
        "void f(int n, int m, const double *restrict A, const double *restrict x, double y[n])",
        "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) y[i] += A[i * m + j] * x[j];",
    ),
    "sparse rows": file(
        "void f(int n, int z, const int p[n + 1], const int c[z], const float v[z],"
        " const float x[n], float y[n])",
        "for (int i = 0; i < n; i++) {\n  float s = 0;\n"
        "  for (int k = p[i]; k < p[i + 1]; k++) s += v[k] * x[c[k]];\n  y[i] = s;\n}",
    ),
    "while": file(
        "void f(int n, const int a[n], int y[n])",
        "for (int i = 0; i < n; i++) {\n  int v = a[i], k = 0;\n"
        "  while (v > 0) { v /= 2; k++; }\n  y[i] = k;\n}",
    ),
    "members": file(
        "struct m { int rows; float *v; };\nvoid f(const struct m *p, float *restrict y)",
        "for (int i = 0; i < p->rows; i++) y[i] = p->v[i];",
    ),
    "dereferenced": file("void f(int n, float *a)", "for (int i = 0; i < n; i++) *(a + i) = i;"),
    "not affine": file(
        "void f(int n, float a[n])", "for (int i = 0; i < n; i++) a[i * i % n] = 1;"
    ),
    "set before, used after": file(
        "double f(int n, const double a[n]) {\ndouble s;\ns = 1;",
        "for (int i = 0; i < n; i++) s += a[i];",
        "return s; }",
    ),
    "a scalar of the function": file(
        "void f(int n, float a[n]) {\nfloat t;",
        "for (int i = 0; i < n; i++) { t = a[i]; a[i] = t * t; }",
        "}",
    ),
    "an iterator used after": file(
        "int f(int n, float a[n]) {\nint i;", "for (i = 0; i < n; i++) a[i] = 0;", "return i; }"
    ),
    "within a loop": file(
        "void f(int n, int m, float a[m][n]) {\nfor (int k = 0; k < m; k++)",
        "for (int i = 0; i < n; i++) a[k][i] = k;",
        "}",
    ),
    "a global": "float g[9];\n" + file("void f(void)", "for (int i = 0; i < 9; i++) g[i] = i;"),
    "assumed above": "\n#pragma polyopt assume(m >= n)\n"
    + file("void f(int n, int m, float a[m])", "for (int i = 0; i < n; i++) a[i] = 0;"),
    "of the old kind": file(
        "void f(n, a) int n; float *a;", "for (int i = 0; i < 9; i++) a[i] = n;"
    ),
    "labels": file(
        "void f(int n, float a[n])", "one: for (int i = 0; i < n; i++) { two: a[i] = i; }"
    ),
    "a loop that goes on": file(
        "void f(int n, float a[n]) {\nint i = 2;", "for (; i < n; i++) a[i] = i;", "}"
    ),
    "a start before the loop": file(
        "void f(int n, float a[n]) {\nint i;", "i = 1;\nfor (; i < n; i++) a[i] = i;", "}"
    ),
    "pointers into rows": "void g(int n, float *x) { for (int i = 0; i < n; i++) x[i] += *x; }\n"
    + file(
        "void f(int n, int m, float a[n][m])",
        "for (int i = 0; i < n; i++) { g(m, a[i]); g(m - 2, &a[i][1]); g(2, a[i] + 1); }",
    ),
    "set in a branch alone": file(
        "void f(int n, float a[n], float b[n]) {\nfloat t;",
        "for (int i = 0; i < n; i++) if (a[i] > 0) { t = a[i]; b[i] = t * t; }",
        "}",
    ),
    "a byte order mark": "\ufeff" + file("void f(int n, float a[n])", "a[0] = n;"),
    "a string of two lines": 'const char *s = "one \\\ntwo // three";\n'
    + file("void f(int n, float a[n])", "a[0] = n;"),
    "a product as extent": file(
        "void f(int n, float a[n*n])", "for (int i = 0; i < n; i++) a[i] = i;"
    ),
    "a local that is folded by hand": file(
        "void f(int n, float *restrict a) {\nfloat t[n * n];",
        "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) t[i * n + j] = j;\n"
        "for (int i = 0; i < n; i++) a[i] = t[i * n];",
        "}",
    ),
    # declined by all
    "two results on data": file(
        "void f(int n, const int k[n], int a[n], int b[n])",
        "for (int i = 0; i < n; i++) if (k[i]) while (a[i] < 9) { a[i]++; b[k[i]]++; }",
    ),
    "an unknown call": file(
        "void f(int n, float a[n])", "for (int i = 0; i < n; i++) a[i] = g(i);"
    ),
    "a label with its goto": file(
        "void f(int n, float a[n])", "again: a[0] = 1; if (a[1] > 2) goto again;"
    ),
    "a file": file("void f(int n, float a[n])", 'FILE *out = fopen("x", "w"); a[0] = 1;'),
    "a pointer that moves": file(
        "void f(int n, float *p, float a[n])",
        "for (int i = 0; i < n; i++) { a[i] = p[0]; p += 8; }",
    ),
    "volatile": file("void f(int n, volatile float a[n])", "for (int i = 0; i < n; i++) a[i] = 0;"),
    "pointers that may overlap": file(
        "void f(int n, const int *k, int *c)", "for (int i = 0; i < n; i++) c[k[i]] += 1;"
    ),
}
DECLINED = {
    "two results on data": "a while loop is not taken",
    "an unknown call": "calls of 'g' are not taken",
    "a label with its goto": "a label is not taken",
    "a file": "'FILE' is a struct",
    "a pointer that moves": "the pointer 'p' is moved",
    "volatile": "'a' is volatile or atomic",
    "pointers that may overlap": "data decide which elements 'c' has",
}


def refusal(make):
    try:
        make()
    except UserError as error:
        return error.code, error.diagnostic.message, str(error.diagnostic.span)
    return None


@pytest.mark.parametrize("name", CORPUS)
def test_emit_and_parse_c_take_the_same(name, tmp_path):
    path = tmp_path / "in.c"
    path.write_text(CORPUS[name])
    _, (region,) = regions_in(path, Rewriting())
    error = region.error if isinstance(region, Declined) else None
    emitted = error and (error.code, error.diagnostic.message, str(error.diagnostic.span))
    assert refusal(lambda: po.parse_c(path)) == emitted
    assert (emitted is not None) == (name in DECLINED)
    assert emitted is None or emitted[1].startswith(DECLINED[name])


@pytest.mark.parametrize("name", sorted(CORPUS.keys() - DECLINED.keys()))
def test_what_is_taken_has_dependences_a_proof_and_c(name):
    scop = po.parse_c(CORPUS[name])
    scop.dependences()
    plan = po.Plan(scop)
    assert plan.prove().obligations
    assert plan.emit().prototype.startswith("int f(")


VERBS = {
    "deps": (), "explain": (), "prove": (), "why": ("count[0]",), "tradeoff": (), "scop": (),
    "run": (),
}  # fmt: skip


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_takes_macros_folders_and_which_region(verb, tmp_path):
    text = '#include "kinds.h"\n' + CORPUS["histogram"].replace("+= 1", "+= STEP")
    (tmp_path / "in.c").write_text(text + CORPUS["affine"].replace("f(", "g("))
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "kinds.h").write_text("#define STEP (ONE + ONE)\n")
    options = ["-D", "ONE=1", "-I", str(tmp_path / "more"), "--region", "3"]
    sizes = [] if verb in {"deps", "scop"} else ["--size", "n=50,m=101"]
    program = [str(tmp_path / "in.c"), *VERBS[verb]]
    found = CliRunner().invoke(cli, [verb, *program, *options, *sizes, "--json"])
    assert found.exit_code == 0, found.output
    json.loads(found.stdout)
    (tmp_path / "in.c").write_text(text)
    options[-2:] = ["--function", "f"]
    assert CliRunner().invoke(cli, [verb, *program, *options, *sizes]).exit_code == 0


HELPED = """
static float twice(float x) { const float by = 2; float y = x * by; y += 1; return y; }
static void row(int n, float *a) { for (int i = 0; i < n; i++) a[i] = twice(a[i]); }
void f(int n, float a[n][n]) { for (int i = 0; i < n; i++) row(n, a[i]); }
"""


def test_a_static_function_that_others_call_is_no_program_to_choose():
    assert po.parse_c(HELPED).name == "f"
    assert po.parse_c(HELPED, function="row").name == "row"
    a = np.arange(9, dtype=np.float32).reshape(3, 3)
    assert np.array_equal(po.auto(po.parse_c(HELPED)).compile()(a.copy()), 2 * a + 1)
    for text in (HELPED.replace("static void row", "void row"), HELPED.replace("f(", "main(")):
        assert refusal(lambda text=text: po.parse_c(text))[1].startswith(
            "there are several functions"
        )


def test_no_statement_is_called_like_another_array():
    scop = po.parse_c("""void f(int n, float a[n]) {
      float s;
      for (int i = 0; i < n; i++) { s = a[i]; s = s * s; a[i] = s; }
      for (int i = 0; i < n; i++) { s = a[i] + 1; s = s * s; a[i] = s; }
    }""")
    arrays = {array.name for array in scop.arrays}
    assert len(arrays) == 3
    assert not {s.name for s in scop.statements} & arrays


def test_which_region_is_meant_has_to_be_said(tmp_path):
    text = CORPUS["affine"] + CORPUS["histogram"].replace("f(", "g(")
    assert po.parse_c(text, function="g").name == "g"
    assert po.parse_c(text, region=2).name == "f"
    code, message, _ = refusal(lambda: po.parse_c(text))
    assert (code, message) == ("unknown-name", "there are several functions: which one is meant?")
    twice = CORPUS["affine"].replace("}\n", "#pragma scop\na[0] = 1;\n#pragma endscop\n}\n")
    with pytest.raises(UserError, match="several regions") as found:
        po.parse_c(twice)
    assert "2, 5" in found.value.diagnostic.hint
    assert [s.name for s in po.parse_c(twice, region=5).statements] == ["a"]
    with pytest.raises(UserError, match="no region begins at line 3"):
        po.parse_c(twice, region=3)


def test_a_region_takes_what_is_around_it_as_arguments():
    scop = po.parse_c(CORPUS["set before, used after"])
    assert (scop.signature, scop.array("s").role) == (("n", "a", "s"), "inout")
    assert po.parse_c(CORPUS["within a loop"]).signature == ("n", "m", "a", "k")
    assert po.parse_c(CORPUS["a scalar of the function"]).signature == ("n", "a")
    folded = po.parse_c(CORPUS["a local that is folded by hand"])
    assert (folded.signature, folded.array("t").role) == (("n", "a"), "temp")
    members = po.parse_c(CORPUS["members"])
    assert members.signature == ("y", "p_rows", "p_v")
    given = {"p_v": np.arange(3, dtype=np.float32)}
    assert interpret(members, {"p_rows": 3}, given)["y"].tolist() == [0, 1, 2]


def test_pointers_of_which_data_decide_the_elements_have_an_extent_of_their_own():
    pointers = "void f(int n, const int *restrict key, int *restrict count)"
    scop = po.parse_c(file(pointers, "for (int i = 0; i < n; i++) count[key[i]] += 1;"))
    assert scop.params == ("n", "count_size")
    kernel = po.Plan(scop).compile()
    key = np.array([2, 0, 2], np.int32)
    assert kernel(key=key, count=np.zeros(3, np.int32)).tolist() == [1, 0, 2]
    rows = file(
        "void f(int n, int m, const int *restrict k, float (*restrict a)[m])",
        "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) a[k[i]][j] = j;",
    )
    assert po.parse_c(rows).params == ("n", "m", "a_size")


def test_the_arrays_of_a_whole_function_are_unfolded_too():
    folded = "void f(int n, int m, const double *A, double y[n]) { for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) y[i] += A[i * m + j]; }"
    plain = folded.replace("*A", "A[][m]").replace("A[i * m + j]", "A[i][j]")
    assert po.same_scop(po.parse_c(folded), po.parse_c(plain))


def test_what_data_decide_has_to_be_stated_of_a_whole_function():
    text = "void f(int n, int m, const int k[n], int c[m]) {{ {} }}"
    for body in ("for (int i = 0; i < n; i++) c[k[i]] += 1;",
                 "for (int i = 0; i < k[0]; i++) c[0] += 1;",
                 "for (int i = 0; i < n; i++) while (c[i] < 9) c[i]++;"):  # fmt: skip
        with pytest.raises(UserError) as found:
            po.parse_c(text.format(body))
        assert "#pragma polyopt inbounds" in found.value.diagnostic.hint
        po.parse_c("\n#pragma polyopt inbounds\n" + text.format(body))
    with pytest.raises(UserError) as found:
        po.Plan(po.parse_c(text.format("for (int i = 0; i < n; i++) c[0] += c[k[i]];")))
    assert "#pragma polyopt inbounds" in found.value.diagnostic.hint


def test_what_is_longer_than_a_line_keeps_the_lines_after_it():
    text = CORPUS["a string of two lines"].replace("a[0] = n;", "a[0] = n\n+ g(1);")
    code, _, place = refusal(lambda: po.parse_c(text))
    assert (code, place) == ("unsupported", "<program>:6:3")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("int i = 3;", "for (; i < n; i++) a[i] = 0;"),
        ("int i; i = 3; float t;", "for (; i < n; i++) a[i] = 0;"),
        ("int i, j; i = 3; j = n;", "for (; i < n; i += 1) a[i] = j;"),
    ],
)
def test_a_start_before_the_loop_is_the_loops(before, after):
    text = "void f(int n, float a[n]) {{ {} {} }}"
    plain = after.replace("for (;", "for (int i = 3;").replace(" j;", " n;")
    assert po.same_scop(po.parse_c(text.format(before, after)), po.parse_c(text.format("", plain)))


@pytest.mark.parametrize(
    "before",
    [
        "int i = n; n = 3;",
        "int i; i = k[0]; k[0] = 2;",
        "int i = 3; if (n > 4) i = 2;",
        "static int i = 3;",
    ],
)
def test_a_start_that_may_be_another_is_not_moved(before):
    text = f"void f(int n, int *k, float *a) {{ {before} for (; i < 9; i++) a[i] = 0; }}"
    assert refusal(lambda: po.parse_c(text)) is not None


def test_arguments_of_the_old_kind_have_the_types_that_are_given_and_int():
    old = "void f(n, m, a) float a[n]; int n; { for (int i = 0; i < n; i++) a[i] = m; }"
    new = old.replace("n, m, a) float a[n]; int n;", "int n, int m, float a[n])")
    assert po.same_scop(po.parse_c(old), po.parse_c(new))


def test_the_compilers_own_names_of_types_are_known():
    text = "void f(unsigned long n, float a[n]) { for (unsigned long i = 0; i < n; i++) a[i] = 0; }"
    own = text.replace("unsigned long", "__SIZE_TYPE__")
    assert po.same_scop(po.parse_c(own), po.parse_c(text))


def test_generated_c_with_allocations_is_read_back():
    text = file(
        "void f(int n, const float a[n + 2][n], float b[n][n]) {\nfloat t[n + 2][n];",
        "for (int i = 0; i < n + 2; i++) for (int j = 0; j < n; j++) t[i][j] = a[i][j] * 2;\n"
        "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) b[i][j] = t[i][j] + t[i + 2][j];",
        "}",
    )
    plan = po.Plan(po.parse_c(text))
    assert "aligned_alloc(" in plan.emit().source
    assert plan.prove(code=True).obligations
