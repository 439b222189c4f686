"""fuse: a producer's instances in its consumer's loops, for every shape of producer."""

from __future__ import annotations

import pytest

from polyopt.errors import (
    CoverageError,
    InvalidOptionError,
    LiveOutError,
    NotFusableError,
    OrderViolatedError,
    StorageTooSmallError,
    UnknownNameError,
)
from polyopt.isl import parse_set
from tests.unit.transform.programs import (
    BLUR,
    DESCENDING,
    DIAMOND,
    JACOBI,
    SCAN,
    TRIANGLE,
    TWO_OUTPUTS,
    lines,
    plan,
    right,
)

KEPT = """
void kept(int N, const float a[N], float mid[N], float o[N])
{
    for (int i = 0; i < N; i++)
        mid[i] = a[i] + 1;
    for (int i = 0; i < N - 1; i++)
        o[i] = mid[i] + mid[i + 1];
}
"""
REDUCTION = """
void reduction(int H, int W, int K, const float a[H][W][K], float o[H][W])
{
    float s[H][W];
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++) {
            s[y][x] = 0;
            for (int k = 0; k < K; k++)
                s[y][x] += a[y][x][k];
        }
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++)
            o[y][x] = y > 0 ? s[y][x] + s[y - 1][x] : s[y][x];
}
"""
IN_PLACE = """
void inplace(int N, float A[N], float o[N])
{
    for (int i = 0; i < N; i++)
        A[i] = 2 * A[i];
    for (int i = 0; i < N - 1; i++)
        o[i] = A[i] + A[i + 1];
}
"""
LOCAL_IN_PLACE = """
void local(int N, const float b[N], float o[N])
{
    float A[N];
    for (int i = 0; i < N; i++)
        A[i] = b[i];
    for (int i = 0; i < N; i++)
        A[i] = 2 * A[i];
    for (int i = 0; i < N - 1; i++)
        o[i] = A[i] + A[i + 1];
}
"""


def instances(made, copy):
    """``{ C[t, i] }`` of a fused copy."""
    return made.program.copies[copy].domain.intersect_params(made.scop.context)


# -- effect -------------------------------------------------------------------------------------


def test_the_producer_stands_in_the_tile_before_its_reader():
    made = right(plan(BLUR).tile("out", y=4, x=8).fuse("bx", into="out"))
    assert lines(made) == [
        "for out.y_tile:",
        "  for out.x_tile:",
        "    scratch bx[6][8]",
        "    for bx.y:",
        "      for bx.x:",
        "        bx: bx[...] = ...   (per tile)",
        "    for out.y:",
        "      for out.x:",
        "        out: out[...] = ...",
    ]


def test_it_has_exactly_the_instances_that_the_tile_needs():
    made = plan(BLUR).tile("out", y=4, x=8).fuse("bx", into="out")
    text = """[H, W] -> { B[ty, tx, y, x] : 0 <= x < W and 0 <= y < H + 2 and tx = floor(x/8)
        and 0 <= 4ty < H and 4ty <= y < 4ty + 6 and H >= 1 and W >= 1 }"""
    found = instances(made, "bx@out.x_tile").set_tuple_name("B")
    assert found.is_equal(parse_set(text))


def test_at_a_loop_that_is_named():
    made = right(plan(BLUR).tile("out", y=4, x=8).fuse("bx", into="out", at="out.y_tile"))
    assert "  scratch bx[6][W]" in lines(made)


def test_at_the_innermost_block_by_default_and_else_the_outermost_loop():
    assert "bx@out.x_tile" in plan(BLUR).tile("out", y=4, x=8).fuse("bx", into="out").program.copies
    assert "bx@out.y" in plan(BLUR).fuse("bx", into="out").program.copies


def test_blocks_of_blocks_can_take_it_at_each_level():
    blocks = plan(BLUR).tile("out", y=4, x=8).tile("out", y=2, x=2)
    assert "        scratch bx[4][2]" in lines(right(blocks.fuse("bx", into="out")))
    outer = right(blocks.fuse("bx", into="out", at="out.x_tile"))
    assert "    scratch bx[6][8]" in lines(outer)


def test_into_skewed_tiles():
    made = plan(BLUR).skew("out.x", by="out.y", factor=2).tile("out", y=3, x=3)
    right(made.fuse("bx", into="out"))


def test_into_jammed_rows():
    made = right(plan(BLUR).unroll_and_jam("out.y", 2).fuse("bx", into="out", at="out.y_jam"))
    assert "  scratch bx[4][W]" in lines(made)


def test_a_tile_larger_than_the_program():
    right(plan(BLUR).tile("out", y=64, x=64).fuse("bx", into="out"))


# -- storage ------------------------------------------------------------------------------------


def test_a_sliding_window_computes_every_row_once():
    made = right(plan(BLUR).fuse("bx", into="out", storage="sliding"))
    assert lines(made)[0] == "scratch bx[3 rolling][W]"
    found = instances(made, "bx@out.y").set_tuple_name("B")
    text = "[H, W] -> { B[t, y, x] : 0 <= x < W and -2 <= t < H and y = t + 2 and H >= 1 }"
    assert found.is_equal(parse_set(text))


def test_a_sliding_window_in_tiles_moves_inside_each():
    made = right(plan(BLUR).tile("out", y=4, x=4).fuse("bx", into="out", storage="sliding"))
    assert "    scratch bx[3 rolling][4]" in lines(made)
    assert "bx@out.y" in made.program.copies


def test_a_sliding_window_along_either_dimension():
    turned = plan(BLUR).interchange("out.y", "out.x")
    across = right(turned.fuse("bx", into="out", at="out.x", storage="sliding"))
    assert lines(across)[0] == "scratch bx[2 + H][1 rolling]"
    along = right(turned.fuse("bx", into="out", at="out.y", storage="sliding"))
    assert "  scratch bx[3 rolling][1]" in lines(along)


def test_a_sliding_window_of_a_loop_that_falls():
    made = right(plan(DESCENDING).fuse("s", into="o", storage="sliding"))
    assert lines(made)[0] == "scratch s[3 rolling]"


def test_full_storage_writes_the_array_itself():
    made = right(plan(BLUR).fuse("bx", into="out", storage="full", keep=False))
    assert not made.program.scratches
    assert "bx@out.y" in made.program.copies


def test_a_register_holds_one_element():
    made = plan(TRIANGLE).fuse("s", into="o", at="o.j", storage="register")
    assert "    register s" in lines(right(made))
    with pytest.raises(NotFusableError, match=r"scratch bx\[3\]\[1\] in out\.x is more than"):
        plan(BLUR).fuse("bx", into="out", storage="register")


def test_inline_storage_is_the_inline_move():
    made = plan(BLUR).fuse("bx", into="out", storage="inline")
    assert str(right(made)) == str(plan(BLUR).inline("bx"))


def test_unknown_storage():
    with pytest.raises(InvalidOptionError, match="unknown storage 'heap'") as caught:
        plan(BLUR).fuse("bx", into="out", storage="heap")
    assert "scratch, sliding, full" in str(caught.value)


# -- shapes of producers ------------------------------------------------------------------------


@pytest.mark.parametrize("storage", ["scratch", "sliding", "full"])
def test_an_initialisation_and_its_reduction_move_together(storage):
    made = right(plan(REDUCTION).fuse("s", into="o", storage=storage))
    assert {"s_0@o.y", "s_1@o.y"} <= set(made.program.copies)


def test_a_reduction_in_tiles():
    made = right(plan(REDUCTION).tile("o", y=4, x=4).fuse("s", into="o"))
    assert "    scratch s[5][4]" in lines(made)


def test_an_initialisation_does_not_move_without_its_reduction():
    with pytest.raises(
        OrderViolatedError, match="a read of s would run before the write"
    ) as caught:
        plan(REDUCTION).tile("o", y=4).fuse("s_0", into="o", keep=False)
    (witness,) = caught.value.witnesses
    assert (witness.source[0], witness.sink[0]) == ("s_0", "s_1")


def test_a_local_updated_in_place_moves_with_its_update():
    made = right(plan(LOCAL_IN_PLACE).tile("o", i=4).fuse("A", into="o"))
    assert {"A_0@o.i_tile", "A_1@o.i_tile"} <= set(made.program.copies)
    right(plan(LOCAL_IN_PLACE).fuse("A", into="o", storage="sliding"))


def test_half_of_an_update_in_place_is_refused():
    with pytest.raises(CoverageError) as caught:
        plan(LOCAL_IN_PLACE).tile("o", i=4).fuse("A_1", into="o")
    assert caught.value.witnesses


def test_an_update_of_the_caller_s_array_cannot_be_repeated():
    with pytest.raises(CoverageError, match="which is not filled") as caught:
        plan(IN_PLACE).tile("o", i=4).fuse("A", into="o")
    (witness,) = caught.value.witnesses
    assert witness.source[0] == "A"
    assert "hint: pack()" in str(caught.value)
    for storage, error in (("full", OrderViolatedError), ("sliding", CoverageError)):
        with pytest.raises(error) as caught:
            plan(IN_PLACE).tile("o", i=4).fuse("A", into="o", storage=storage)
        assert caught.value.witnesses


def test_a_result_that_is_fused_stays_computed():
    for keep in (None, True):
        made = right(plan(KEPT).tile("o", i=4).fuse("mid", into="o", keep=keep))
        assert {"mid", "mid@o.i_tile"} <= set(made.program.copies)
    with pytest.raises(LiveOutError, match="fusing it away would lose its values"):
        plan(KEPT).tile("o", i=4).fuse("mid", into="o", keep=False)


def test_a_part_of_a_result_s_loop_is_told_as_an_instance_of_the_source():
    part = plan(KEPT).split_range("mid.i", at="3")
    with pytest.raises(LiveOutError) as caught:
        part.fuse("mid@mid.i#before", into="o", storage="full", keep=False)
    (witness,) = caught.value.witnesses
    assert witness.source == ("mid", (0,))


def test_keep_leaves_the_original_where_nothing_needs_it():
    made = right(plan(BLUR).tile("out", y=4).fuse("bx", into="out", keep=True))
    assert {"bx", "bx@out.y_tile"} <= set(made.program.copies)


def test_a_producer_of_higher_rank_than_its_consumer():
    text = """
    void ends(int N, int M, const float a[N][M], float o[N])
    {
        float s[N][M];
        for (int i = 0; i < N; i++)
            for (int j = 0; j < M; j++)
                s[i][j] = a[i][j] + 1;
        for (int i = 0; i < N; i++)
            o[i] = s[i][0] + s[i][M - 1];
    }
    """
    made = right(plan(text).tile("o", i=4).fuse("s", into="o"))
    assert "  scratch s[4][M]" in lines(made)
    right(plan(text).fuse("s", into="o", storage="sliding"))


def test_a_producer_that_is_larger_than_needed_makes_only_what_is_needed():
    text = """
    void some(int N, const float a[3 * N + 10], float o[N])
    {
        float g[3 * N + 10];
        for (int i = 0; i < 3 * N + 10; i++)
            g[i] = 3 * a[i];
        for (int i = 0; i < N; i++)
            o[i] = g[2 * i + 3];
    }
    """
    made = right(plan(text).tile("o", i=4).fuse("g", into="o"))
    found = instances(made, "g@o.i_tile").set_tuple_name("G")
    expected = """[N] -> { G[t, i] : N >= 1 and exists k : i = 2k + 3 and 0 <= k < N
        and 4t <= k < 4t + 4 }"""
    assert found.is_equal(parse_set(expected))
    assert "  scratch g[4]" in lines(made)


def test_where_no_iteration_reads_it_there_is_nothing_to_fuse():
    text = """
    void none(int N, const float a[N], float o[N])
    {
        float g[N];
        for (int i = 0; i < N; i++)
            g[i] = 3 * a[i];
        for (int i = 0; i < N; i++)
            if (i > N)
                o[i] = g[i];
            else
                o[i] = 1;
    }
    """
    with pytest.raises(NotFusableError, match=r"nothing inside o\.i_tile reads g"):
        plan(text).tile("o", i=4).fuse("g", into="o")


@pytest.mark.parametrize("storage", ["scratch", "sliding"])
def test_tiles_that_need_nothing_compute_nothing(storage):
    text = """
    void late(int N, const float a[N], float o[N])
    {
        float g[N];
        for (int i = 0; i < N; i++)
            g[i] = 3 * a[i];
        for (int i = 0; i < N; i++)
            if (i > 5)
                o[i] = g[i - 2] + g[i];
            else
                o[i] = 1;
    }
    """
    made = plan(text) if storage == "sliding" else plan(text).tile("o", i=4)
    right(made.fuse("g", into="o", storage=storage))


def test_a_triangle_s_rows():
    made = right(plan(TRIANGLE).tile("o", i=4).fuse("s", into="o"))
    assert "  scratch s[4][N]" in lines(made)


def test_a_recurrence_is_not_recomputed_per_tile():
    with pytest.raises(NotFusableError, match="needs more and more of itself") as caught:
        plan(SCAN).tile("o", i=4).fuse("c", into="o")
    assert "leave it a loop nest of its own" in str(caught.value)
    right(plan(SCAN).fuse_loops("c_1.i", "o.i"))


# -- several consumers --------------------------------------------------------------------------


def test_other_readers_keep_the_original():
    made = right(plan(TWO_OUTPUTS).tile("u", y=4, x=4).fuse("s", into="u"))
    assert {"s", "s@u.x_tile"} <= set(made.program.copies)


def test_two_outputs_can_each_have_a_copy():
    tiled = plan(TWO_OUTPUTS).tile("u", y=4, x=4).tile("v", y=3)
    made = right(tiled.fuse("s", into="u").fuse("s", into="v"))
    assert "s" not in made.program.copies
    assert [s.name for s in made.program.scratches] == ["s@u.x_tile", "s@v.y_tile"]


def test_loops_of_the_copies_have_names_of_their_own():
    tiled = plan(TWO_OUTPUTS).tile("u", y=4, x=4).tile("v", y=3)
    made = tiled.fuse("s", into="u").fuse("s", into="v")
    names = [name for copy in made.program.places for name in made.loops(copy)]
    inner = [made.loops(copy)[-1] for copy in made.program.places]
    assert len(set(inner)) == len(inner), names
    right(made.vectorize(inner[0], 4).vectorize(inner[2], 4))


def test_a_window_belongs_to_the_nest_that_it_moves_along():
    made = plan(TWO_OUTPUTS).fuse("s", into="u", storage="sliding")
    assert "s" in right(made).program.copies
    right(made.fuse("s", into="v", storage="sliding"))
    right(made.tile("v", y=4, x=4).fuse("s", into="v"))
    right(made.fuse("s", into="v", storage="full"))


def test_outputs_merged_first_share_one_copy():
    together = plan(TWO_OUTPUTS).fuse_loops("u.y", "v.y", depth=2).tile("v", y=4, x=4)
    made = right(together.fuse("s", into="v"))
    assert "    scratch s[6][6]" in lines(made)
    assert "s" not in made.program.copies


def test_dropping_what_another_nest_reads_is_refused():
    with pytest.raises(OrderViolatedError) as caught:
        plan(TWO_OUTPUTS).tile("u", y=4).fuse("s", into="u", keep=False)
    assert caught.value.witnesses


@pytest.mark.parametrize("order", ["xyg", "yxg"])
@pytest.mark.parametrize("storage", ["scratch", "sliding"])
def test_a_diamond_fuses_from_its_output_backwards(order, storage):
    made = plan(DIAMOND)
    if storage == "scratch":
        made = made.tile("o", i=4)
    for producer in order:
        made = made.fuse(producer, into="o", storage=storage)
    right(made)
    assert not {"x", "y", "g"} & set(made.program.copies)


def test_half_a_diamond():
    made = plan(DIAMOND).tile("o", i=4).fuse("x", into="o").fuse("g", into="o")
    assert {"g", "y"} <= set(right(made).program.copies)


def test_a_producer_in_the_loops_of_a_fused_producer():
    made = plan(DIAMOND).tile("o", i=4).fuse("x", into="o").fuse("g", into="o", at="x.i")
    right(made)
    assert "    scratch g[3]" in lines(made)


def test_a_chain_is_fused_from_the_output_backwards():
    with pytest.raises(
        NotFusableError, match=r"x has producers fused into its own loops: g@x\.i"
    ) as e:
        plan(DIAMOND).fuse("g", into="x").fuse("x", into="o")
    assert "consumers first" in str(e.value)


def test_names_of_loops_survive_that_a_producer_s_own_loops_go():
    first = plan(TWO_OUTPUTS).tile("u", y=4, x=4).tile("v", y=3).fuse("s", into="u")
    packed = first.pack("a", at="s@u_x_tile.y")
    made = right(packed.fuse("s", into="v"))
    assert "      scratch a[1][5]" in lines(made)


# -- refusals -----------------------------------------------------------------------------------


def test_a_producer_that_is_there_already():
    fused = plan(BLUR).fuse("bx", into="out")
    with pytest.raises(NotFusableError, match=r"is inside out\.y already"):
        fused.fuse("bx", into="out")
    with pytest.raises(NotFusableError, match=r"b is inside a\.t already"):
        plan(JACOBI).fuse("b", into="a")


def test_a_producer_whose_own_loops_are_gone():
    fused = plan(DIAMOND).tile("o", i=4).fuse("x", into="o")
    with pytest.raises(NotFusableError, match="its own loops are gone") as caught:
        fused.fuse("x", into="y")
    assert "keep=True" in str(caught.value)


def test_a_consumer_that_does_not_read_it():
    with pytest.raises(NotFusableError, match=r"nothing inside o\.i_tile reads g from the array"):
        plan(DIAMOND).tile("o", i=4).fuse("g", into="o")


def test_names_that_do_not_exist():
    with pytest.raises(UnknownNameError, match="no computation space is called 'by'"):
        plan(BLUR).fuse("by", into="out")
    with pytest.raises(UnknownNameError, match="'output'"):
        plan(BLUR).fuse("bx", into="output")
    with pytest.raises(UnknownNameError, match=r"no loop is called 'out\.z'"):
        plan(BLUR).fuse("bx", into="out", at="out.z")


def test_a_window_over_iterations_that_run_in_parallel_is_refused_there():
    from polyopt.errors import ParallelCarriedError

    with pytest.raises(ParallelCarriedError) as caught:
        plan(BLUR).fuse("bx", into="out", storage="sliding").parallelize("out.y")
    assert caught.value.witnesses


def test_a_fold_smaller_than_the_window():
    with pytest.raises(StorageTooSmallError):
        plan(BLUR).fuse("bx", into="out", storage="sliding").store("bx", fold={"y": 2})
