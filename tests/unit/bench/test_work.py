"""The limit's two sides: bytes that have to move, operations that have to be done."""

import pytest

import polyopt as po
from polyopt.bench.work import Work, work_of


def work(text, **sizes):
    return work_of(po.parse_c(text), sizes)


def test_blur_reads_and_writes_each_pixel_once_and_does_six_operations():
    height, width = 20, 30
    found = work_of(po.load_kernel("blur").scop, {"H": height, "W": width})
    assert found.bytes_in == 2 * height * width
    assert found.bytes_out == 2 * (height - 2) * (width - 2)
    assert found.operations == 3 * (width - 2) * (height + height - 2)


def test_only_what_is_read_counts():
    found = work(
        "void f(int N, const float a[N], float b[N])"
        "{ for (int i = 0; i < N; i += 2) b[i] = a[0] + a[i]; }",
        N=100,
    )
    assert found == Work(4 * 50, 4 * 50, 50)


def test_an_array_in_place_counts_both_ways():
    found = work("void f(int N, double a[N]) { for (int i = 0; i < N; i++) a[i] = a[i] * 2; }", N=8)
    assert (found.bytes_in, found.bytes_out) == (64, 64)


@pytest.mark.parametrize(("type_", "times"), [("float", 1), ("double", 2), ("int64_t", 2)])
def test_an_operation_on_wide_values_counts_twice(type_, times):
    found = work(
        f"#include <stdint.h>\nvoid f(int N, {type_} a[N])"
        "{ for (int i = 0; i < N; i++) a[i] = a[i] * a[i]; }",
        N=8,
    )
    assert found.operations == 8 * times


def test_results_read_back_are_not_live_in():
    found = work(
        "void f(int N, const float a[N], float s[1])"
        "{ s[0] = 0; for (int i = 0; i < N; i++) s[0] += a[i]; }",
        N=10,
    )
    assert found == Work(40, 4, 10)


def test_what_stays_the_same_along_a_loop_counts_once_there():
    sizes = {"M": 3, "N": 5, "K": 7}
    found = work_of(po.load_kernel("gemm").scop, sizes)
    scaled_a, products, scaled_c = 3 * 7, 2 * 3 * 5 * 7, 3 * 5
    assert found.operations == scaled_a + products + scaled_c


def test_a_guard_of_the_domain_is_counted_exactly():
    found = work(
        "void f(int N, const float a[N][N], float b[N][N])"
        "{ for (int i = 0; i < N; i++) for (int j = 0; j <= i; j++)"
        "  if ((i + j) % 3 == 0) b[i][j] = a[i][j] * 3; }",
        N=9,
    )
    inside = sum((i + j) % 3 == 0 for i in range(9) for j in range(i + 1))
    assert found == Work(4 * inside, 4 * inside, inside)
