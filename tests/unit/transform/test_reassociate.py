"""Sums whose order is free: vector loops along them, with a proof that says so."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import polyopt as po
from polyopt.codegen.target import target
from polyopt.errors import InvalidOptionError, ParallelCarriedError, VectorCarriedError
from polyopt.transform.schedule.tree import loops_of

ROWS = """void f(int N, int M, const double A[N][M], const double B[N][M], const double x[M],
              double y[N], double z[N]) {
    for (int i = 0; i < N; i++) {
        y[i] = 0;
        z[i] = 1;
        for (int j = 0; j < M; j++) {
            y[i] += A[i][j] * x[j];
            z[i] -= B[i][j] * x[j];
        }
    }
}"""
SOLVE = """void f(int N, const double L[N][N], const double b[N], double x[N]) {
    for (int i = 0; i < N; i++) {
        x[i] = b[i];
        for (int j = 0; j < i; j++)
            x[i] -= L[i][j] * x[j];
    }
}"""
COLUMNS = """void f(int N, int M, const double A[N][M], double s[M], double t[2]) {
    for (int j = 0; j < M; j++)
        s[j] = 1;
    double q = 2, p = 1;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < M; j++) {
            s[j] += A[i][j];
            q -= A[i][j];
            p *= 1 + 0.001 * A[i][j];
        }
    t[0] = q;
    t[1] = p;
}"""
SIZES = (1, 7, 8, 9, 31, 64, 65)


def test_a_sum_is_no_vector_loop_unless_its_order_is_free():
    plan = po.Plan(po.parse_c(ROWS))
    with pytest.raises(VectorCarriedError):
        plan.vectorize("y.j")
    with pytest.raises(VectorCarriedError):
        plan.reassociate("y_1").vectorize("y.j")
    free = plan.reassociate("y_1", "z_1").vectorize("y.j")
    assert "equal up to the order of the operations of y_1, z_1" in str(free.prove())
    assert "reassociated" not in str(plan.reassociate("y_1", "z_1").prove())


@pytest.mark.parametrize("size", SIZES)
def test_each_sum_has_lanes_of_its_own(size, tmp_path):
    plan = po.Plan(po.parse_c(ROWS)).reassociate("y_1", "z_1").vectorize("y.j")
    source = plan.emit().source
    assert "reduction(+ : y_sum) reduction(+ : z_sum)" in source
    kernel = plan.compile(cache=tmp_path)
    rng = np.random.default_rng(0)
    A, B, x = rng.random((5, size)), rng.random((5, size)), rng.random(size)
    y, z = kernel(A=A, B=B, x=x)
    np.testing.assert_allclose(y, A @ x, rtol=1e-13)
    np.testing.assert_allclose(z, 1 - B @ x, rtol=1e-11)


@pytest.mark.parametrize("size", SIZES)
def test_what_a_sum_reads_of_its_own_array_stays_in_order(size, tmp_path):
    plan = po.Plan(po.parse_c(SOLVE)).reassociate("x_1").vectorize("x.j")
    rng = np.random.default_rng(0)
    L, b = np.tril(rng.random((size, size)), -1) / size, rng.random(size)
    found = plan.compile(cache=tmp_path)(L=L, b=b)
    np.testing.assert_allclose(found, np.linalg.solve(L + np.eye(size), b), rtol=1e-12)


def test_the_search_changes_an_order_only_where_it_may():
    scop, sizes = po.parse_c(ROWS), {"N": 2000, "M": 2000}
    assert "reassociate" not in [move.name for move in po.auto(scop, sizes=sizes).moves]
    free = po.auto(scop, sizes=sizes, reassociate=True)
    assert ("reassociate", ("y_1", "z_1")) in [(move.name, move.args) for move in free.moves]
    assert "lanes add up y_1, z_1 apart" in str(free.explain())


def test_an_element_that_moves_with_the_loop_is_no_sum():
    text = "void f(int N, double y[N], const double a[N]) {for (int i = 1; i < N; i++) y[i / 2] += a[i];}"
    plan = po.Plan(po.parse_c(text)).reassociate("y")
    with pytest.raises(VectorCarriedError):
        plan.vectorize("y.i")


@pytest.mark.parametrize(
    ("name", "message"), [("nothing", "no statement is called"), ("y_0", "is no sum")]
)
def test_only_sums_can_be_free(name, message):
    with pytest.raises(InvalidOptionError, match=message):
        po.Plan(po.parse_c(ROWS)).reassociate(name)


def test_a_saved_plan_keeps_what_is_free(tmp_path):
    plan = po.Plan(po.parse_c(ROWS)).reassociate("y_1", "z_1").vectorize("y.j")
    plan.save(tmp_path / "plan.json")
    again = po.Plan.load(tmp_path / "plan.json", po.parse_c(ROWS))
    assert again.emit().source == plan.emit().source


def in_blocks(rows):
    plan = po.Plan(po.parse_c(COLUMNS)).reassociate("s_1", "q_1", "p_1")
    return plan.split("p.i", rows).parallelize("p.i_tile")


def test_threads_share_sums_only_where_their_order_is_free():
    plan = po.Plan(po.parse_c(COLUMNS)).split("p.i", 8)
    with pytest.raises(ParallelCarriedError) as refused:
        plan.parallelize("p.i_tile")
    assert "write reassociate('s_1', 'q_1', 'p_1') first" in str(refused.value)
    with pytest.raises(ParallelCarriedError):
        plan.reassociate("s_1", "q_1").parallelize("p.i_tile")
    proof = str(in_blocks(8).prove())
    assert "carries no dependence, but for sums: p_1, q_1, s_1" in proof
    assert "partial sums are added in the order of its iterations" in proof


def test_a_row_s_own_sum_is_none_that_threads_share():
    plan = po.Plan(po.parse_c(ROWS)).reassociate("y_1", "z_1").parallelize("y.i")
    assert "reassociated" not in str(plan.prove())
    assert "ordered" not in plan.emit().source


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (7, 9), (8, 8), (9, 31), (65, 5000)])
def test_the_number_of_threads_does_not_change_what_blocks_add_up(rows, columns, tmp_path):
    plan = in_blocks(8)
    assert plan.emit().source.count("#pragma omp ordered") == 1  # a loop may have no more
    kernel = plan.compile(cache=tmp_path)
    A = np.random.default_rng(0).random((rows, columns))
    found = [kernel(A=A, threads=threads) for threads in (1, 2, 3, 5) * 3]
    assert len({s.tobytes() + t.tobytes() for s, t in found}) == 1
    s, (q, p) = found[0]
    np.testing.assert_allclose(s, 1 + A.sum(axis=0), rtol=1e-12)
    np.testing.assert_allclose(q, 2 - A.sum(), rtol=1e-11)
    np.testing.assert_allclose(p, np.prod(1 + 0.001 * A), rtol=1e-10)


def test_sums_that_something_else_reads_are_not_shared():
    text = """void f(int N, const double a[N], double b[N], double s[1]) {
        for (int i = 0; i < N; i++) {
            s[0] += a[i];
            b[i] = s[0];
        }
    }"""
    plan = po.Plan(po.parse_c(text)).reassociate("s").split("b.i", 4)
    with pytest.raises(ParallelCarriedError) as refused:
        plan.parallelize("b.i_tile")
    assert "reassociate" not in str(refused.value)


def test_partial_sums_are_in_the_c_that_is_read_back():
    shown = str(in_blocks(2).prove(code=True))
    assert "the C read back gives the source's results, up to rounding, in" in shown


def test_the_search_shares_sums_where_nothing_else_can_be_shared():
    scop, sizes = po.parse_c(COLUMNS), {"N": 4000, "M": 1000}
    two = replace(target("generic"), cores=2)
    plan = po.auto(scop, sizes=sizes, target=two, reassociate=True)
    said = " ".join(str(plan.explain()).split())
    assert "blocks have sums p, q, s of their own, added in their order" in said
    assert "its iterations share sums alone, and each has its own of p, q, s" in said
    plan.prove()


def test_blocks_in_registers_are_kept_where_lanes_would_take_their_place():
    scop = po.load_kernel("cholesky").scop
    plan = po.auto(scop, sizes={"N": 1400}, target="avx512", reassociate=True)
    assert "# register_tile" in str(plan)
    assert "reassociate" not in [move.name for move in plan.moves]
    assert "load less than sums in lanes" in " ".join(str(plan.explain()).split())


EXTREMES = """void f(int N, int M, const float A[N][M], const double B[M], float y[N], double z[1]) {
    for (int i = 0; i < N; i++) {
        y[i] = A[i][0];
        for (int j = 0; j < M; j++)
            y[i] = %s;
    }
    z[0] = B[0];
    for (int j = 0; j < M; j++)
        z[0] = B[j] > z[0] || z[0] != z[0] ? z[0] : B[j];
}"""
NEW = "A[i][j]"
#: what the element is set to, how lanes are joined, and NumPy's function
KEPT = [
    ("A[i][j] < y[i] || y[i] != y[i] ? y[i] : A[i][j]", "max_or_nan", np.max),
    ("(A[i][j] <= y[i]) | (y[i] != y[i]) ? y[i] : A[i][j]", "max_or_nan", np.max),
    ("A[i][j] > y[i] || A[i][j] != A[i][j] ? A[i][j] : y[i]", "max_or_nan", np.max),
    ("y[i] < A[i][j] ? A[i][j] : y[i]", "max_or_nan", np.fmax.reduce),
    ("A[i][j] > y[i] || y[i] != y[i] ? y[i] : A[i][j]", "min_or_nan", np.min),
    ("y[i] > A[i][j] ? A[i][j] : y[i]", "min_or_nan", np.fmin.reduce),
]


def extremes(value):
    plan = po.Plan(po.parse_c(EXTREMES % value)).reassociate("y_1", "z_1")
    return plan.vectorize("y.j").vectorize("z.j")


@pytest.mark.parametrize(("value", "join", "function"), KEPT)
@pytest.mark.parametrize("size", [1, 2, 7, 8, 9, 33, 130])
def test_extremes_have_lanes_that_hand_on_what_is_no_number(value, join, function, size, tmp_path):
    plan = extremes(value)
    assert f"reduction({join} : y_sum)" in plan.emit().source
    kernel = plan.compile(cache=tmp_path)
    rng = np.random.default_rng(size)
    whole, B = rng.standard_normal((3, size)).astype(np.float32), rng.standard_normal(size)
    for place in range(size):
        for odd in (np.nan, np.inf, -np.inf):
            A, b = whole.copy(), B.copy()
            A[1, place], b[place] = odd, odd
            y, z = kernel(A=A, B=b)
            # the loops that pass over a NaN keep one that they begin with
            begins = np.isnan(A[:, 0]) & (function(np.float32([[1, np.nan]]), axis=1) == 1)
            expected = np.where(begins, np.float32(np.nan), function(A, axis=1))
            np.testing.assert_array_equal(y, expected)
            np.testing.assert_array_equal(z, [b.min()])


def test_extremes_of_infinities_and_of_nan_alone(tmp_path):
    kernel = extremes(KEPT[0][0]).compile(cache=tmp_path)
    for value in (np.inf, -np.inf, np.nan, 0.0):
        A, B = np.full((2, 37), value, np.float32), np.full(37, value)
        y, z = kernel(A=A, B=B)
        np.testing.assert_array_equal(y, A[:, 0])
        np.testing.assert_array_equal(z, B[:1])


@pytest.mark.parametrize(
    "value",
    [
        "A[i][j] < y[i] ? y[i] : A[i][j]",  # forgets a NaN at the next number
        "A[i][j] < y[i] || A[i][j] != A[i][j] ? y[i] : A[i][j]",  # a start that is none goes
        "A[i][j] < y[i] && y[i] != y[i] ? y[i] : A[i][j]",
        "A[i][j] < 2 * y[i] ? y[i] : A[i][j]",
        "A[i][0] < y[i] || y[i] != y[i] ? y[i] : A[i][j]",
        "A[i][j] < y[i] || y[i] != y[i] ? y[i] : fabs(A[i][j] - y[i])",
    ],
)
def test_what_depends_on_its_order_is_no_extreme(value):
    with pytest.raises(InvalidOptionError, match="is no sum"):
        po.Plan(po.parse_c(EXTREMES % value)).reassociate("y_1")


def test_threads_share_extremes(tmp_path):
    text = """void f(int N, const double a[N], double m[1]) {
        m[0] = a[0];
        for (int i = 0; i < N; i++)
            m[0] = a[i] < m[0] || m[0] != m[0] ? m[0] : a[i];
    }"""
    plan = po.Plan(po.parse_c(text)).reassociate("m_1").split("m.i", 8).parallelize("m.i_tile")
    kernel = plan.compile(cache=tmp_path)
    a = np.random.default_rng(0).standard_normal(61)
    for place in range(61):
        for odd in (np.nan, np.inf, 0.5):
            given = a.copy()
            given[place] = odd
            found = kernel(a=given, threads=3)
            np.testing.assert_array_equal(found, [given.max()])


@pytest.mark.parametrize("size", [1, 127, 128, 129, 131, 400])
def test_long_rows_are_added_up_in_parts(size, tmp_path):
    plan = po.Plan(po.parse_c(ROWS)).reassociate("y_1", "z_1").vectorize("y.j")
    source = plan.emit().source
    assert "if (M >= 128)" in source
    assert "y_sum = y_sum + y_sum2;" in source
    rng = np.random.default_rng(size)
    A, B, x = (
        rng.integers(-9, 9, (2, size)),
        rng.integers(-9, 9, (2, size)),
        rng.integers(-9, 9, size),
    )
    y, z = plan.compile(cache=tmp_path)(*(v.astype(float) for v in (A, B, x)))
    assert y.tolist() == (A @ x).tolist()
    assert z.tolist() == (1 - B @ x).tolist()
    assert "for all sizes" in str(plan.prove(code=True))


WHOLE = """void f(int N, int M, const int A[N][M], int s[N], long t[1]) {{
    t[0] = 0;
    for (int i = 0; i < N; i++) {{
        s[i] = {start};
        for (int j = 0; j < M; j++)
            s[i] = {update};
    }}
    for (int i = 0; i < N; i++)
        t[0] += s[i];
}}"""
#: what updates of integers do -> how they begin, how C says it, and what NumPy makes of rows
UPDATES = {
    "+": (
        "7",
        "s[i] + A[i][j] * 65537",
        lambda a: 7 + (a * np.int32(65537)).sum(1, dtype=np.int32),
    ),
    "-": ("7", "s[i] - A[i][j]", lambda a: 7 - a.sum(1, dtype=np.int32)),
    "*": ("1", "s[i] * (2 * A[i][j] + 1)", lambda a: (2 * a + 1).prod(1, dtype=np.int32)),
}


@pytest.mark.parametrize("name", UPDATES)
@pytest.mark.parametrize("size", [1, 9, 127, 128, 517])
def test_reductions_of_integers_need_nobodys_leave(name, size, tmp_path):
    start, update, expected = UPDATES[name]
    scop = po.parse_c(WHOLE.format(start=start, update=update))
    plan = po.auto(scop, sizes={"N": 100, "M": 4000}, target=replace(target("native"), cores=1))
    assert ("reassociate", ("s_1",)) in [(move.name, move.args) for move in plan.moves]
    proof = str(plan.prove())
    assert "s.j: of integers, the same in any order: s_1" in proof
    assert "equal up to" not in proof
    a = np.random.default_rng(0).integers(-(2**31), 2**31, (5, size), dtype=np.int32)
    s, t = plan.compile(cache=tmp_path)(A=a)
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(s, expected(a).astype(np.int32))
    assert t[0] == s.sum(dtype=np.int64)


def test_threads_share_reductions_of_integers(tmp_path):
    text = """void f(int N, const int a[N], int low[1], long t[1]) {
        low[0] = a[0];
        t[0] = 0;
        for (int i = 0; i < N; i++)
            t[0] += a[i];
        for (int i = 0; i < N; i++)
            low[0] = a[i] < low[0] ? a[i] : low[0];
    }"""
    plan = po.Plan(po.parse_c(text)).reassociate("t_1", "low_1")
    for array in ("t", "low"):
        plan = plan.split(f"{array}.i", 8).parallelize(f"{array}.i_tile").vectorize(f"{array}.i")
    assert "t.i_tile: of integers, the same in any order: t_1" in str(plan.prove())
    kernel = plan.compile(cache=tmp_path)
    for size in SIZES:
        a = np.random.default_rng(size).integers(-(2**31), 2**31, size, dtype=np.int32)
        low, t = kernel(a=a, threads=2)
        assert (low[0], t[0]) == (a.min(), a.sum(dtype=np.int64))


def test_the_search_shares_sums_of_integers():
    text = "void f(int N, const int a[N], long t[1]) {t[0] = 0; for (int i = 0; i < N; i++) t[0] += a[i];}"
    plan = po.auto(
        po.parse_c(text), sizes={"N": 4_000_000}, target=replace(target("native"), cores=2)
    )
    assert [loop.mark for loop in loops_of(plan.program.tree)] == ["parallel", "vector"]


@pytest.mark.parametrize(
    "type_", ["unsigned char", "short", "unsigned short", "int", "unsigned", "long"]
)
def test_the_check_of_the_code_sees_reductions_of_integers(type_):
    text = f"""void f(int N, const {type_} a[N], {type_} s[1], {type_} p[1], {type_} m[1]) {{
        s[0] = 3; p[0] = 3; m[0] = 3;
        for (int i = 0; i < N; i++) s[0] -= a[i];
        for (int i = 0; i < N; i++) p[0] *= a[i];
        for (int i = 0; i < N; i++) m[0] = a[i] > m[0] ? a[i] : m[0];
    }}"""
    plan = po.auto(po.parse_c(text), sizes={"N": 5000}, target=replace(target("native"), cores=1))
    assert plan.emit().source.count("#pragma omp simd reduction") == 7
    assert "for all sizes (3 claims)" in str(plan.prove(code=True))


def test_two_operations_on_one_array_are_no_lanes(tmp_path):
    text = """void f(int N, const double a[N], double t[2]) {
        t[0] = 0; t[1] = 1;
        for (int i = 0; i < N; i++) { t[0] += a[i]; t[1] *= a[i]; }
    }"""
    plan = po.Plan(po.parse_c(text)).reassociate("t_2", "t_3")
    with pytest.raises(VectorCarriedError):
        plan.vectorize("t.i")
    a = np.random.default_rng(0).uniform(0.9, 1.1, 300)
    found = po.auto(plan.scop, sizes={"N": 5000}, reassociate=True).compile(cache=tmp_path)(a=a)
    np.testing.assert_allclose(found, [a.sum(), a.prod()], rtol=1e-12)
