"""What plans cost: exact instances, buffers, and bytes that follow the loops."""

from __future__ import annotations

import pytest

from polyopt.codegen.target import Target
from polyopt.frontend.c import parse_c
from polyopt.isl import parse_set
from polyopt.library import load_scop
from polyopt.scheduler.model.cost import Cost, cost
from polyopt.scheduler.model.symbolic import formula, latex_formula, middle_of, show_formula
from polyopt.scheduler.model.table import human_bytes
from polyopt.transform.plan import Plan

#: a machine of round numbers, so that no test depends on the one it runs on
MACHINE = Target("test", "generic", 16, 16, 32_768, 1_048_576, 4)
SIZES = {"H": 2050, "W": 2050}


@pytest.fixture(scope="module")
def blur() -> Plan:
    return Plan(load_scop("blur"))


@pytest.fixture(scope="module")
def fused(blur: Plan) -> Plan:
    tiled = blur.tile("out", y=64, x=512).fuse("bx", into="out")
    return tiled.parallelize("out.y_tile")


def of(plan: Plan, **sizes: int) -> Cost:
    return cost(plan.program, sizes or SIZES, MACHINE)


def test_the_source_repeats_nothing_and_stores_everything(blur: Plan) -> None:
    bill = of(blur)
    assert bill.instances == {"bx": 2050 * 2048, "out": 2048 * 2048}
    assert bill.work_repeated == 1.0
    assert bill.stored == {"bx": 2050 * 2048 * 2}
    assert bill.scratch_bytes == 0
    # img read, bx written and read, out written
    assert bill.bytes_moved == 2 * (2050 * 2050 + 2 * 2050 * 2048 + 2048 * 2048)
    assert bill.bytes_saved == 0
    assert bill.parallel_tiles == 1


def test_a_fused_producer_repeats_its_halo_and_saves_its_array(fused: Plan) -> None:
    bill = of(fused)
    assert bill.instances["bx"] == 32 * 66 * 2048
    assert bill.repeated["bx"] == pytest.approx(32 * 66 / 2050)
    assert bill.operations == 3 * (32 * 66 * 2048 + 2048 * 2048)
    assert [s.extents for s in bill.scratch] == [(66, 512)]
    assert bill.scratch_bytes == 66 * 512 * 2
    assert bill.scratch[0].fits == "L2"
    assert bill.stored == {}
    assert bill.bytes_moved == bill.compulsory_bytes == 2 * (2050 * 2050 + 2048 * 2048)
    assert bill.bytes_saved == 2 * 2 * 2050 * 2048
    assert bill.parallel == {"out.y_tile": 32}


def test_inlining_evaluates_once_per_read(blur: Plan) -> None:
    bill = of(blur.inline("bx"))
    assert bill.instances == {"bx": 3 * 2048 * 2048, "out": 2048 * 2048}
    assert bill.scratch == ()
    assert bill.bytes_moved == bill.compulsory_bytes


def test_equal_reads_of_an_inlined_producer_count_once() -> None:
    plan = Plan(load_scop("harris"))
    plan = plan.inline("trace")  # read twice, at the same element
    assert cost(plan.program, {"H": 106, "W": 106}, MACHINE).instances["trace"] == 100 * 100


def test_small_intermediates_stay_in_the_cache(blur: Plan) -> None:
    bill = of(blur, H=66, W=66)
    assert "bx" in bill.moved["L2"]
    assert bill.bytes_moved == bill.compulsory_bytes


def test_a_producer_and_its_consumer_of_different_size() -> None:
    scop = load_scop("bn_relu_maxpool")
    sizes = {"N": 2, "C": 64, "H": 112, "W": 112}
    bill = cost(Plan(scop).program, sizes, MACHINE)
    assert bill.source_instances["act"] == 1_605_632
    assert bill.source_instances["out_0"] == 401_408


def test_a_matrix_is_read_again_per_row_until_its_block_fits() -> None:
    plan = Plan(load_scop("gemm"))
    sizes = {"M": 1024, "N": 1024, "K": 1024}
    matrix = 4 * 1024 * 1024
    plain = cost(plan.program, sizes, MACHINE)
    assert plain.moved["memory"]["B"] == 1024 * matrix
    blocked = plan.distribute("C.i", at="C_1").tile("C_1", i=128, j=128, k=128)
    tiled = cost(blocked.program, sizes, MACHINE)
    assert tiled.moved["memory"]["B"] == 8 * matrix
    assert tiled.bytes_saved > 0.9 * plain.bytes_moved


def test_what_does_not_run_at_some_size_costs_nothing_there() -> None:
    text = """
    void late(int N, const float a[N], float b[N])
    {
        for (int i = 0; i < N; i++)
            b[i] = 0;
        for (int i = 100; i < N; i++)
            for (int j = 0; j < i; j++)
                b[i] += a[j];
    }
    """
    plan = Plan(parse_c(text))
    assert cost(plan.program, {"N": 60}).bytes_moved < cost(plan.program, {"N": 6000}).bytes_moved


def test_time_steps_pass_over_their_grids() -> None:
    plan = Plan(load_scop("jacobi_2d"))
    bill = cost(plan.program, {"T": 10, "N": 1300}, MACHINE)
    assert bill.moved["memory"]["A"] == 2 * 10 * 1300 * 1300 * 4


def test_the_table_fits_a_terminal(fused: Plan) -> None:
    text = str(of(fused))
    assert max(map(len, text.splitlines())) <= 80
    assert "bx[66][512]" in text
    assert "33.6 MB" in text


def test_bytes_in_words() -> None:
    assert [human_bytes(n) for n in (0, 999, 1000, 12_840_000, 3.2e9)] == [
        "0 B", "999 B", "1 KB", "12.8 MB", "3.2 GB",
    ]  # fmt: skip


def test_formulas_have_the_numbers_of_whole_tiles(fused: Plan) -> None:
    bill, forms = of(fused), formula(fused.program)
    given = {"T_y": 64, "T_x": 512, **SIZES}

    def value(name: str) -> float:
        form = forms[name]
        assert form is not None
        return float(form.subs({symbol: given[symbol.name] for symbol in form.free_symbols}))

    assert value("instances of bx@out.x_tile") == bill.instances["bx"]
    assert value("scratch bytes") == bill.scratch_bytes
    assert value("operations") == bill.operations
    assert value("work repeated") == pytest.approx(bill.work_repeated)
    assert value("live bytes") == bill.compulsory_bytes
    assert {s.name for s in forms["scratch bytes"].free_symbols} == {"T_x", "T_y"}


def test_other_tile_sizes_follow_from_the_formula(blur: Plan, fused: Plan) -> None:
    forms = formula(fused.program)
    other = of(blur.tile("out", y=32, x=256).fuse("bx", into="out"))
    form = forms["instances of bx@out.x_tile"]
    given = {"T_y": 32, "T_x": 256, **SIZES}
    assert form.subs({s: given[s.name] for s in form.free_symbols}) == other.instances["bx"]


def test_formulas_share_what_rows_of_a_block_share(blur: Plan) -> None:
    plan = blur.inline("bx").unroll_and_jam("out.y", 8)
    work = formula(plan.program)["operations"]
    sizes = {"H": 66, "W": 50}  # whole blocks
    found = work.subs({x: sizes[x.name] for x in work.free_symbols})
    assert found == cost(plan.program, sizes).operations == 64 * 48 * (3 * 10 / 8 + 3)


def test_formulas_of_windows_count_a_strip_once(blur: Plan) -> None:
    """Rows inside a strip are not the rows of the whole array once more for each strip."""
    plan = blur.tile("out", y=128).fuse("bx", into="out", at="out.y", storage="sliding")
    work = formula(plan.program)["operations"]
    sizes = {"H": 514, "W": 50}  # whole strips
    values = {**sizes, "T_y": 128}
    found = work.subs({x: values[x.name] for x in work.free_symbols})
    assert found == cost(plan.program, sizes).operations


def test_what_has_no_formula_says_so() -> None:
    plan = Plan(load_scop("bn_relu_maxpool"))
    assert formula(plan.program)["instances of out_1"] is None
    assert "instances of out_1 = no closed form" in show_formula(plan.program)
    assert "no closed form" in latex_formula(plan.program)


def test_latex_escapes_names(fused: Plan) -> None:
    text = latex_formula(fused.program)
    assert r"bx@out.x\_tile" in text
    assert text.startswith(r"\begin{aligned}")


def test_the_middle_of_iterations_is_one_of_them() -> None:
    """Blocks of rows leave holes: what runs at usual sizes is looked at, not what does not."""
    for text, middle in (
        ("{ [i, j] : 0 <= i <= 10 }", 5),
        ("{ [i, j] : i = 0 or i = 10 }", 10),
        ("{ [i, j] : 0 <= i <= 9 and i mod 8 = 0 }", 8),
    ):
        assert middle_of(parse_set(text), 0) == middle
