"""Marked regions of a file: what they are made of, and what they have to be able to rely on."""

import pytest
from pycparser import c_ast, c_parser

from polyopt.frontend.c.lower.ctypes import Types
from polyopt.frontend.c.normalize.alpha_renaming import alpha_renamed, free_names
from polyopt.frontend.c.normalize.continue_free import without_continue
from polyopt.frontend.c.normalize.delinearize import delinearized
from polyopt.frontend.c.regions.files import Declined, lower_regions
from polyopt.frontend.c.syntax.constants import constant_integer
from polyopt.frontend.c.syntax.liveness import first_use, is_read, sink
from polyopt.frontend.c.syntax.locations import Locator
from polyopt.frontend.c.syntax.nodes import text_of
from polyopt.frontend.c.syntax.preprocess import preprocess
from polyopt.ir.expr import Affine, Select
from polyopt.isl import Set, context
from polyopt.rewrite import rewrite
from polyopt.source import Source


def regions(text, **defines):
    return lower_regions(Source("in.c", text), defines)


def region(body, arguments="int n, double *restrict a, double *restrict b", before=""):
    text = f"{before}\nvoid f({arguments}) {{\n#pragma scop\n{body}\n#pragma endscop\n}}\n"
    (found,) = regions(text)
    assert not isinstance(found, Declined), found.error
    return found


def params(text):
    return Set.read_from_str(context(), text)


def block(text):
    tree = c_parser.CParser().parse(f"void f(void) {{ {text} }}")
    return tree.ext[0].body.block_items or []


def unfolded(items):
    """``delinearized`` for the array ``a`` and the sizes ``m`` and ``l``."""
    types = Types(Locator(preprocess(Source("in.c", ""), {})), c_ast.FileAST([]))
    return delinearized(items, ["a"], frozenset({"m", "l"}), types, {})


def test_arrays_and_sizes_keep_their_names():
    found = region("for (int i = 0; i < n; i++) a[i] = b[i];")
    assert found.elements == {"a": "a[{0}]", "b": "b[{0}]"}
    assert found.sizes == {"n": "n"}
    assert found.scop.signature == ("n", "a", "b")


@pytest.mark.parametrize(
    ("subscript", "unfolded_to"),
    [
        ("i * m + m - 1 - j", "a[i][((-j) + m) - 1]"),  # a row mirrored
        ("(i + 1) * m - 1", "a[i][m - 1]"),
        ("(m - j - 1 + i * m) * l + l - 1 - k", "a[i][((-j) + m) - 1][((-k) + l) - 1]"),
        ("((i + 1) * m - j - 1) * l + k", "a[i][((-j) + m) - 1][k]"),
        ("(i + 1) * m + j - 1", "a[i + 1][j - 1]"),  # a neighbour, where j is positive
        ("i * m - m + j", "a[i - 1][j]"),
        ("(i - 1) * m + m - 1 - j", "a[i - 1][((-j) + m) - 1]"),
        ("i * m - j", "a[i][-j]"),  # j is negative, for all that is known here
    ],
)
def test_what_is_subtracted_is_from_the_end_of_a_row(subscript, unfolded_to):
    rank = unfolded_to.count("[")
    fold = "" if rank == 2 else "a[(i * m + j) * l + k] = 0;"
    items, _ = unfolded(block(f"{fold} a[{subscript}] = a[i * m * {'l' if fold else '1'}];"))
    assert text_of(items[-1].lvalue) == unfolded_to


@pytest.mark.parametrize(
    ("accesses", "pads", "unfolded_to"),
    [
        (["i * (m + 2) + j + 1", "(i + 1) * (m + 2) + j"], (("m", 2),), "a[i + 1][j]"),
        (["(i * (m + 2) + j) * (l - 1) + k"], (("l", -1), ("m", 2)), "a[i][j][k]"),
        (["(m + 2) * i + (m + 1 - j)"], (("m", 2),), "a[i][((-j) + (m + 2)) - 1]"),
        (["i * m + i", "i * m + j"], (), "a[i][j]"),  # a diagonal is no row of another length
        (["i * (m + 2) + j", "i * m + j"], (), "a[i][j]"),  # they do not agree
    ],
)
def test_rows_may_be_longer_than_a_size(accesses, pads, unfolded_to):
    items, shapes = unfolded(block(" ".join(f"a[{a}] = 0;" for a in accesses)))
    assert shapes["a"].pads == pads
    assert text_of(items[-1].lvalue) == unfolded_to


def test_longer_rows_are_spelled_as_the_file_does():
    found = region(
        "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++)"
        " a[i * (m + 2) + j] = b[(i + 1) * (m + 2) + j + 2];",
        "int n, unsigned m, double *restrict a, double *restrict b",
    )
    assert found.elements["a"] == "a[{(0)} * ((long)m + 2) + {1}]"
    assert found.folded["a"] == ((("m", 2),),)
    assert str(found.scop.array("b").extents[1]) == "[n, m] -> { [(2 + m)] }"


def test_a_folded_array_is_unfolded():
    found = region(
        "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) a[i * m + j] = b[j + m * i];",
        "int n, int m, double *restrict a, double *restrict b",
    )
    assert found.elements["a"] == "a[{(0)} * m + {1}]"
    assert found.scop.array("a").rank == 2


def test_three_dimensions_unfold_by_their_strides():
    items = block("a[(i * m + j + 1) * l + k - 1] = 0; a[i * l * m] = 1;")
    _, shapes = unfolded(items)
    assert shapes["a"].strides == (("l", "m"), ("l",))
    assert shapes["a"].spelling("a", {}) == "a[({(0)} * m + {(1)}) * l + {2}]"


@pytest.mark.parametrize(
    "text",
    [
        "a[i * j] = 0;", "a[i * m] = a[i * l];", "a[i] = 0;", "a[b[i]] = 0;",
        "a[(unsigned char)i * m + j] = 0;",
    ],
)  # fmt: skip
def test_other_subscripts_stay(text):
    items = block(text)
    assert unfolded(items) == (items, {})


@pytest.mark.parametrize(
    ("before", "row"),
    [("int k = i;", "i"), ("int k = p; p = 0;", "k"), ("unsigned char k = i;", "k")],
)
def test_names_are_looked_through_where_they_stay_the_same(before, row):
    (*_, write), shapes = unfolded(block(f"{before} a[k * m + j] = 0;"))
    assert set(shapes) == {"a"}
    assert write.lvalue.name.subscript.name == row


def test_what_may_leave_an_array_is_tested():
    found = region("for (int i = 0; i < n; i++) g[i] = 1;", "int n", "static double g[100];")
    assert found.needed.is_equal(params("[n] -> { : n <= 100 }"))


def test_tests_have_one_case():
    body = "for (int i = lo; i < hi; i++) a[i] = 1;"
    found = region(body, "int n, int lo, int hi, double a[n]")
    assert found.needed.is_equal(params("[n, lo, hi] -> { : n >= 1 and lo >= 0 and hi <= n }"))


def test_a_stated_condition_is_not_tested():
    found = region(
        "#pragma polyopt assume(n >= 1 && n <= 100)\nfor (int i = 0; i < n; i++) g[i] = 1;",
        "int n",
        "static double g[100];",
    )
    assert found.needed.is_equal(params("[n] -> { : }"))


@pytest.mark.parametrize(
    ("arguments", "pairs"),
    [
        ("int n, double *a, double *b", (("a", "b"),)),
        ("int n, double *restrict a, double *b", ()),
        ("int n, double *a, float *b", ()),
        ("int n, double *a, unsigned char *b", (("a", "b"),)),
        ("int n, double a[n], const double b[n]", (("a", "b"),)),
        ("int n, double a[restrict n], const double b[n]", ()),
        ("int n, row a, row b", (("a", "b"),)),
        ("int n, place a, place b", (("a", "b"),)),
    ],
)
def test_pointers_that_may_overlap(arguments, pairs):
    types = "typedef double row[9]; typedef double *place;"
    found = region("for (int i = 0; i < n; i++) a[i] = b[i];", arguments, types)
    assert tuple(map(tuple, map(sorted, found.apart))) == pairs


def test_disjoint_arrays_can_be_stated():
    body = "#pragma polyopt disjoint\nfor (int i = 0; i < n; i++) a[i] = b[i];"
    assert region(body, "int n, double *a, double *b").apart == ()


def test_distinct_variables_do_not_overlap():
    found = region("for (int i = 0; i < 9; i++) a[i] = b[i];", "void", "double a[9], b[9];")
    assert found.apart == ()


def test_members_of_one_struct_do_not_overlap():
    before = "struct p { double x, y; double *to; };"
    body = "for (int i = 0; i < n; i++) { p[i].x = p[i].y; p->to[i] = p[i].x; }"
    found = region(body, "int n, struct p *p", before)
    assert found.elements["p_x"] == "p[{0}].x"
    assert {frozenset(pair) for pair in found.apart} == {
        frozenset({"p_x", "p_to"}),
        frozenset({"p_y", "p_to"}),
    }


def test_a_scalar_of_the_function_is_private_where_it_can_be():
    text = """void f(int n, double *restrict a) {
  double s, t, u;
#pragma scop
  for (int i = 0; i < n; i++) { s = a[i]; t = 2; u = s; a[i] = s * u + t; }
#pragma endscop
  a[0] = t;
}
"""
    (found,) = regions(text)
    arrays = {array.name: array for array in found.scop.arrays}
    assert (arrays["s"].role, arrays["s"].private) == ("temp", 1)
    assert arrays["t"].is_live_out


def test_each_region_is_declined_by_itself():
    text = """void f(int n, double *a) {
#pragma scop
  for (int i = 0; i < n; i++) a[i] = 1;
#pragma endscop
#pragma scop
  switch (n) { default: a[0] = 1; }
#pragma endscop
#pragma scop
  for (int i = 0; i < n; i++) a[i] = 2;
#pragma endscop
}
"""
    found = regions(text)
    assert [(r.first, r.last, isinstance(r, Declined)) for r in found] == [
        (2, 4, False), (5, 7, True), (8, 10, False),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "use"),
    [
        ("s = 1; x = s;", "write"), ("x = s; s = 1;", "read"), ("x = 1;", ""),
        ("for (s = 0; s < 9; s++) ;", "write"), ("if (c) s = 1; x = s;", "read"),
        ("if (c) s = 1; else s = 2; x = s;", "write"), ("if (s) x = 1;", "read"),
        ("for (i = 0; i < 9; i++) s = i;", "maybe"), ("for (i = 0; i < 9; i++) s = i; x = s;", "read"),
        ("s += 1;", "read"), ("x = s = 1;", "write"), ("{ int s; s = 2; } x = s;", "read"),
        ("for (int s = 0; s < 9; s++) x = s;", ""), ("while (c) { s = 1; x = s; }", "maybe"),
        ("for (i = 0; i < 9; i += s) s = 1;", "maybe"), ("f(&s);", "read"),
        ("for (i = 0, s = 0; s < 9; s++) ;", "write"), ("do { s = 1; } while (s);", "write"),
        ("do { if (c) continue; s = 1; } while (s);", "read"), ("do x = s; while (0);", "read"),
        ("do { if (c) break; s = 1; } while (d);", "maybe"), ("x = (s = 2) + 1;", "write"),
        ("while ((s = f(c)) > 0) x = s;", "write"), ("x = c ? s : 1;", "read"),
        ("if (c && (s = d)) x = s;", "read"), ("if (c && (s = d)) x = 1;", "maybe"),
        ("x = sizeof(s);", ""), ("x = s + (s = 1);", "read"), ("a[s] = 1;", "read"),
        ("switch (c) { case 1: s = 1; break; default: s = 2; }", "write"),
        ("switch (c) { case 1: s = 1; break; case 2: s = 2; }", "maybe"),
        ("switch (c) { case 1: break; default: s = 2; }", "maybe"),
        ("switch (c) { case 1: if (d) break; s = 1; default: s = 2; }", "maybe"),
        ("switch (c) { case 1: s = 1; case 2: x = s; }", "read"),
        ("again: s = 1; x = s;", "write"), ("switch (s) { case 1: s = 1; }", "read"),
        ("for (;; s++) { if (c) continue; s = 1; }", "read"),
        ("for (;; s++) { s = 1; if (c) break; }", "maybe"), ("if (c) { int s = 1; } x = s;", "read"),
    ],
)  # fmt: skip
def test_first_uses(text, use):
    assert first_use(block(text), "s") == use


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("s = 1; x = s;", False), ("if (c) break; s = 1;", False),
        ("if (c) break; s = 1; x = s;", True), ("if (c) goto out; s = 1; x = s;", True),
        ("for (;; i += s) { if (c) continue; s = 1; }", True), ("int s; if (c) return s;", False),
        ("while (c) { if (d) break; } s = 1; x = s;", False),
        ("switch (c) { case 1: break; } s = 1; x = s;", False),
        ("switch (c) { case 1: continue; } s = 1; x = s;", True),
        ("while (c) { switch (d) { case 1: goto e; } } s = 1; x = s;", True),
    ],
)  # fmt: skip
def test_a_jump_may_skip_a_write(text, read):
    assert is_read(block(text), "s") is read


@pytest.mark.parametrize(
    "around",
    [
        "double s; for (s = 0; s < 9;) { REGION }", "for (double s = 0; s < 9;) { REGION }",
        "double s = 0; for (;;) { REGION if (n) break; s = 1; } a[0] = s;",
        "double s = 0; again: a[0] = s; REGION if (n--) goto again; s = 2;",
        "double s = 0; REGION if (n) goto out; s = 2; out: a[0] = s;",
        "double s = 0; for (int k = 0; k < 3; a[0] += s, k++) { s = 0; REGION }",
        "double s; do { s = 0; REGION } while (s > 1);",
    ],
)  # fmt: skip
def test_what_is_needed_after_the_region_is_kept(around):
    body = "\n#pragma scop\nfor (int i = 0; i < 9; i++) s += a[i];\n#pragma endscop\n"
    (found,) = regions(f"void f(int n, double *a) {{ {around.replace('REGION', body)} }}")
    assert not isinstance(found, Declined), found.error
    assert found.scop.array("s").role == "inout"


def test_members_have_names_of_their_own():
    types = "struct one { int b_c; }; struct two { int c; int n; };"
    found = region(
        "for (int i = 0; i < 9; i++) { int p_n = i; x[i] = p_n + p->n + a.b_c + a_b.c; }",
        "struct one a, struct two a_b, struct two *p, int *restrict x",
        types,
    )
    spelled = {*found.elements.values(), *found.sizes.values()}
    assert {"a.b_c", "a_b.c", "p->n"} <= spelled


def test_what_could_fail_is_computed_under_its_condition():
    found = region("for (int i = 0; i < n; i++) if (k[i] > 0) { int t = n / k[i]; x[i] = t * t; }",
                   "int n, int k[restrict n], int x[restrict n]")  # fmt: skip
    first = found.scop.statements[0]
    assert isinstance(first.value, Select)
    plain = region("for (int i = 0; i < n; i++) if (k[i] > 0) { int t = 2 * k[i]; x[i] = t * t; }",
                   "int n, int k[restrict n], int x[restrict n]")  # fmt: skip
    assert not isinstance(plain.scop.statements[0].value, Select)


@pytest.mark.parametrize(
    ("value", "affine"),
    [
        ("i * 2654435761u", False), ("i * 100u", False), ("i + 7u", True),
        ("(int)(i * 10000000000L)", False),
        ("i * 10000000000L", True), ("i + 7", True), ("(unsigned)(i - 5)", False),
    ],
)  # fmt: skip
def test_what_wraps_is_not_affine(value, affine):
    found = region(f"for (int i = 0; i < n; i++) x[i] = {value};", "int n, long x[restrict n]")
    (statement,) = found.scop.statements
    assert isinstance(statement.value, Affine) is affine


def test_a_scalar_goes_into_the_innermost_loop_that_holds_its_uses():
    decl = block("double s;")[0]
    (outer,) = sink(
        block("for (i = 0; i < 9; i++) { x = 1; { for (j = 0; j < 9; j++) { s = 1; x = s; } } }"),
        decl,
    )
    inner = outer.stmt.block_items[1].block_items[0]
    assert isinstance(inner.stmt.block_items[0], c_ast.Decl)
    kept = block("for (i = 0; i < 9; i++) { x = s; s = 1; }")
    assert sink(kept, decl) == kept


def test_continue_at_the_top_of_a_loop_is_an_else():
    (loop,) = block("for (;;) { a; if (c) { b; continue; } d; if (e) continue; g; }")
    made = without_continue(loop.stmt)
    choice = made.block_items[1]
    assert [n.name for n in choice.iftrue.block_items] == ["b"]
    assert isinstance(choice.iffalse.block_items[1].iffalse, c_ast.Compound)


@pytest.mark.parametrize(
    ("body", "made"),
    [
        ("if (c) { if (d) continue; } a;", "if (c) { if (d) { } } if (!(c && d)) { a; }"),
        ("if (c) { a; } else { b; continue; } e;", "if (c) { a; e; } else { b; }"),
        (
            "if (c) { if (d) continue; c = 0; } a;",
            "if (c) { if (d) { } else { c = 0; a; } } else { a; }",
        ),
        ("if (c) { continue; a; } b;", "if (c) { } else { b; }"),
        ("{ if (c) continue; a; } b;", "{ if (c) { } else { a; b; } }"),
        ("if (c) { if (d) continue; a; } else if (e) continue; g;",
         "if (c) { if (d) { } else { a; } } else { if (e) { } } if (!((c && d) || ((!c) && e))) { g; }"),
    ],
)  # fmt: skip
def test_a_continue_in_branches_is_a_guard_of_what_it_skips(body, made):
    (loop,), (wanted,) = block(f"for (;;) {{ {body} }}"), block(f"for (;;) {{ {made} }}")
    assert text_of(without_continue(loop.stmt)).split() == text_of(wanted.stmt).split()


@pytest.mark.parametrize(
    "body",
    [
        "switch (c) { case 1: continue; } a;",
        "if (c) { int a = 1; if (a) continue; } a;",
        "if (c) { if (f()) continue; } " + "a; " * 201,
    ],
)
def test_a_continue_that_is_not_simply_a_guard_stays(body):
    (loop,) = block(f"for (;;) {{ {body} }}")
    assert without_continue(loop.stmt) is loop.stmt


def test_a_scalar_of_several_loops_is_one_of_each():
    decl = block("int s;")[0]
    two = block("for (i = 0; i < 9; i++) { s = 1; x = s; } for (;;) for (;;) { s = 2; y = s; }")
    first, second = sink(two, decl)
    assert isinstance(first.stmt.block_items[0], c_ast.Decl)
    assert isinstance(second.stmt.block_items[0].stmt.block_items[0], c_ast.Decl)
    passed = block("for (i = 0; i < 9; i++) { s = 1; x = s; } for (;;) { y = s; s = 2; }")
    assert sink(passed, decl) == passed


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("12", 12), ("(4 * 5)", 20), ("-7 / 2", -3), ("0x10UL + 1", 17), ("3.5", None), ("n", None),
        ("1 /", None), ("1 / 0", None), ("", None), ("sizeof(int)", None), ("1 << 3", None),
    ],
)  # fmt: skip
def test_constant_integers(text, value):
    assert constant_integer(text) == value


def test_integer_macros_of_a_region_are_known():
    before = "#define N (4 * SIDE)\n#define SIDE 5\n#define OTHER 3\nstatic double g[N];"
    assert region("for (int i = 0; i < SIDE; i++) g[i] = 1;", "void", before).macros == {
        "N": 20,
        "SIDE": 5,
    }


@pytest.mark.parametrize(
    ("body", "kept"),
    [
        # a loop of its own name, an array hidden in a block, a use before the declaration
        ("for (int i = 0; i < n; i++) a[i] = i;", {"n", "a"}),
        ("for (int j = 0; j < n; j++) { double b = a[j]; a[j] = b * b; } b[0] = 1;", {"n", "a", "b"}),
        ("for (int j = 0; j < n; j++) { a[j] = i; { int i = j; b[j] = i; } }", {"n", "a", "b", "i"}),
        ("for (int j = 0; j < n; j++) { for (int i = 0; i < 3; i++) a[j] += i; a[j] += i; }",
         {"n", "a", "i"}),
    ],
)  # fmt: skip
def test_declarations_that_hide_others_are_variables_of_their_own(body, kept):
    text = "int f(int n, double *restrict a, double *restrict b) {{ int i = 5; {{\n#pragma scop\n{}\n#pragma endscop\n}} return i; }}"
    (found,) = regions(text.format(body))
    assert not isinstance(found, Declined), found.error
    assert set(found.scop.signature) == kept
    assert not {"i", "b"} & {it for s in found.scop.statements for it in s.iterators}


def test_names_are_told_apart_by_their_scopes():
    items = block("x = i; for (int i = 0; i < n; i++) { s.i = f(i); int n = i; y = n; } i = n;")
    assert free_names(items) == {"x", "i", "n", "s", "y"}
    renamed = alpha_renamed(items, {"i": "i_1", "n": "n_1"})
    found = " ".join(text_of(c_ast.Compound(renamed)).split())
    loop = "{ x = i; for (int i_1 = 0; i_1 < n; i_1++) { s.i = f(i_1);"
    assert found == loop + " int n_1 = i_1; y = n_1; } i = n; }"


@pytest.mark.parametrize(
    ("kind", "row"),
    [
        ("unsigned", "a[(long) i][((-((long) j)) + m) - 1]"),
        ("unsigned long", "a[(long) i][((-((long) j)) + m) - 1]"),
        ("unsigned short", "a[i][((-j) + m) - 1]"),  # computed as int
        ("int", "a[i][((-j) + m) - 1]"),
    ],
)
def test_parts_of_a_folded_subscript_do_not_wrap(kind, row):
    """``m - 1 - j`` of an unsigned ``j`` is below zero where the row makes up for it."""
    loops = f"for ({kind} i = 0; i < m; i++) for ({kind} j = 0; j < m; j++)"
    (loop,), shapes = unfolded(block(f"{loops} a[i * m + m - 1 - j] = 0;"))
    assert shapes
    assert text_of(loop.stmt.stmt.lvalue) == row


def test_what_a_macro_puts_at_the_end_of_a_line_has_a_place():
    found = rewrite("""#define AT(x, y, z) (x)[(y) * 3 + (z)]
void f(int n, int m[9], int a[n])
{
#pragma scop
    for (int i = 0; i < n; i++)
        if (i < AT(m, 0, 0))
            a[i] = AT(m, 1, 1);
#pragma endscop
}
""")
    assert [region.error for region in found.regions] == [None]
