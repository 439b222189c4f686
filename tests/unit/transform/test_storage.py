"""store, inline, pack: where values live."""

from __future__ import annotations

import pytest

import polyopt as po
from polyopt.errors import (
    CoverageError,
    InvalidOptionError,
    LiveOutError,
    NotFusableError,
    OrderViolatedError,
    StorageTooSmallError,
    UnknownNameError,
)
from polyopt.isl import parse_map
from tests.oracle.transformed import random_arrays, run_plan
from tests.unit.transform.programs import (
    BLUR,
    DIAMOND,
    JACOBI,
    SCAN,
    TRIANGLE,
    fresh,
    lines,
    plan,
    right,
    small_sizes,
)

SCALARS = """
void scalars(int N, const float a[N], float o[N])
{
    for (int i = 0; i < N; i++) {
        float t = 2 * a[i];
        float u = t + 1;
        o[i] = t * u;
    }
}
"""
TABLE = """
void table(int N, const unsigned char a[N], const float t[256], float o[N])
{
    float s[256];
    for (int i = 0; i < 256; i++)
        s[i] = 2 * t[i];
    for (int i = 0; i < N; i++)
        o[i] = s[a[i]] + 1;
}
"""


def tiled():
    return plan(BLUR).tile("out", y=4, x=8).fuse("bx", into="out")


# -- store --------------------------------------------------------------------------------------


def test_a_window_of_the_whole_array():
    together = plan(BLUR).fuse_loops("bx.y", "out.y", shift=2)
    made = right(together.store("bx", at="", fold={"y": 3}))
    assert lines(made)[0] == "scratch bx[3 rolling][W]"
    with pytest.raises(StorageTooSmallError) as caught:
        together.store("bx", at="", fold={"y": 2})
    assert caught.value.witnesses


def test_a_buffer_private_to_a_step_of_time():
    made = right(plan(JACOBI).store("b", at="a.t"))
    assert "  scratch b[N]" in lines(made)


def test_extents_can_be_larger_than_needed_and_no_smaller():
    made = right(tiled().store("bx", extents={"y": 8, "x": 16}))
    assert "    scratch bx[8][16]" in lines(made)
    with pytest.raises(StorageTooSmallError) as caught:
        tiled().store("bx", extents={"x": 7})
    assert "hint: scratch bx[6][8] is enough" in str(caught.value)
    (witness,) = caught.value.witnesses
    assert witness.cell is not None
    assert witness.cell[0] == "bx"


def test_dimensions_by_number_or_by_the_iterator_that_writes_them():
    by_name, by_number = (tiled().store("bx", extents={key: 8}) for key in ("y", 0))
    assert str(by_name) == str(by_number)


def test_a_buffer_goes_outwards_and_back():
    outer = right(tiled().store("bx", at="out.y_tile"))
    assert "  scratch bx[6][W]" in lines(outer)
    assert str(outer.store("bx", at="out.x_tile")) == str(tiled())


def test_full_undoes_store():
    made = right(plan(JACOBI).store("b", at="a.t").store("b", at="full"))
    assert str(made) == str(plan(JACOBI))


def test_a_result_is_not_kept_in_a_buffer():
    with pytest.raises(LiveOutError) as caught:
        plan(BLUR).store("out", at="out.y")
    assert caught.value.witnesses


def test_what_the_caller_gives_is_not_in_a_buffer_that_nothing_fills():
    with pytest.raises(CoverageError, match="which is not filled") as caught:
        plan(BLUR).store("img", at="bx.y")
    assert "hint: pack()" in str(caught.value)


def test_a_buffer_whose_writer_stands_elsewhere():
    with pytest.raises(CoverageError, match="has no producer instance before it") as caught:
        plan(BLUR).store("bx", at="out.y")
    assert caught.value.witnesses


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"at": "out.z"}, UnknownNameError, "no loop is called"),
        ({}, InvalidOptionError, "a loop has to be named"),
        ({"at": "", "fold": {"y": 0}}, InvalidOptionError, "positive whole number"),
        ({"at": "", "fold": {"y": "3"}}, InvalidOptionError, "positive whole number"),
        ({"at": "", "fold": {2: 3}}, InvalidOptionError, "there is no dimension 2"),
        ({"at": "", "extents": {"k": 3}}, InvalidOptionError, "an iterator called 'k'"),
    ],
)
def test_store_says_what_it_wants(options, error, message):
    with pytest.raises(error, match=message):
        plan(BLUR).store("bx", **options)


def test_store_of_an_array_that_is_not_there():
    with pytest.raises(UnknownNameError, match="no array is called 'by'"):
        plan(BLUR).store("by", at="out.y")


def test_locals_of_a_loop_are_registers():
    made = right(plan(SCALARS))
    assert lines(made)[1:3] == ["  register t", "  register u"]
    with pytest.raises(CoverageError):
        made.distribute("o.i", at="o")
    widened = made.store("t", at="").store("u", at="")
    right(widened.distribute("o.i", at="o"))


def test_a_fold_of_an_array_that_starts_below_zero_is_right_in_c():
    text = """
    void below(int N, const float a[N + 6], float o[N])
    {
        for (int i = 0; i < N; i++) {
            float sum = 0;
            for (int k = -3; k < 3; k++) {
                float t = 2 * a[i + k + 3];
                sum += t;
            }
            o[i] = sum;
        }
    }
    """
    made = right(plan(text).store("t", at="o.i", fold={1: 3}))
    source = made.compile(openmp=False).source
    assert "[k % 3]" not in source
    sizes = {"N": 5}
    arrays = random_arrays(made.scop, sizes)
    found = made.compile(openmp=False)(arrays["a"], N=5)
    assert (found == run_plan(made, sizes, arrays)["o"]).all()


# -- inline -------------------------------------------------------------------------------------


def test_inline_leaves_no_storage():
    made = right(plan(BLUR).inline("bx"))
    assert lines(made) == ["inline bx", "for out.y:", "  for out.x:", "    out: out[...] = ..."]
    assert not made.program.scratches
    assert {t.access.array for t in made.program.reads} == {"img"}


@pytest.mark.parametrize("order", ["xyg", "gyx", "ygx"])
def test_inline_a_diamond_in_any_order(order):
    made = plan(DIAMOND)
    for producer in order:
        made = made.inline(producer)
    assert lines(right(made))[-2:] == ["for o.i:", "  o: o[...] = ..."]


def test_inline_before_and_after_fusion():
    made = plan(DIAMOND).tile("o", i=4).fuse("x", into="o").fuse("y", into="o").inline("g")
    right(made)
    right(plan(DIAMOND).inline("g").tile("o", i=4).fuse("x", into="o").fuse("y", into="o"))


def test_an_operand_is_the_instance_that_made_the_value():
    made = plan(TRIANGLE).inline("s")
    ((copy, access, operand),) = [
        found for found in made.program.inlined_reads if found[1].array == "s"
    ]
    assert (copy.name, access.array) == ("o_1", "s")
    relation = operand.by_reader(copy.domain).apply_range(operand.to_instance.as_map())
    expected = parse_map("[N] -> { o_1[i, j] -> s[i, j] : 0 <= j <= i < N }")
    assert relation.is_equal(expected)


def test_inline_with_conditions_on_iterators():
    text = """
    void guarded(int N, const float a[N], float o[N])
    {
        float s[N];
        for (int i = 0; i < N; i++)
            s[i] = i > 2 ? a[i - 3] : a[i] + 1;
        for (int i = 0; i < N; i++)
            o[i] = i < N - 2 ? s[i] + s[i + 1] : s[i];
    }
    """
    right(plan(text).inline("s"))


def test_values_of_several_instances_are_not_inlined():
    with pytest.raises(NotFusableError, match="take several instances to compute") as caught:
        plan(SCAN).inline("c")
    assert "hint: fuse it instead" in str(caught.value)


def test_a_result_is_not_inlined():
    with pytest.raises(LiveOutError, match="out is live-out"):
        plan(BLUR).inline("out")


def test_a_read_that_finds_its_element_in_data_is_not_inlined():
    with pytest.raises(NotFusableError, match="finds its element in data"):
        plan(TABLE).inline("s")
    right(plan(TABLE).tile("o", i=4).fuse("s", into="o"))


def test_an_operand_whose_inputs_have_changed():
    with pytest.raises(OrderViolatedError) as caught:
        plan(JACOBI).inline("b")
    assert caught.value.witnesses


def test_the_proof_sees_an_operand_of_another_instance(monkeypatch):
    from dataclasses import replace

    from polyopt.transform.schedule import access as touch

    right_operand = touch._operand

    def last_of_all(scop, flow, copy, access):
        operand = right_operand(scop, flow, copy, access)
        if access.ref != "out_r0":
            return operand
        return replace(operand, domain=operand.domain.lexmax())

    monkeypatch.setattr(touch, "_operand", last_of_all)
    with pytest.raises(OrderViolatedError, match="would compute another instance"):
        fresh(BLUR).inline("bx")


# -- pack ---------------------------------------------------------------------------------------


def test_pack_copies_what_a_tile_reads():
    made = right(tiled().pack("img", at="out.x_tile"))
    assert lines(made)[:6] == [
        "for out.y_tile:",
        "  for out.x_tile:",
        "    scratch bx[6][8]",
        "    scratch img[6][10]",
        "    for img@pack.img_0:",
        "      for img@pack.img_1:",
    ]


def test_pack_of_a_local_and_at_every_level():
    right(plan(BLUR).tile("out", y=4, x=4).pack("bx", at="out.x_tile"))
    for loop in ("bx.y", "bx.x"):
        right(plan(BLUR).pack("img", at=loop))


def test_pack_of_what_inlined_operands_read():
    made = right(plan(BLUR).inline("bx").tile("out", y=4, x=4).pack("img", at="out.x_tile"))
    assert "    scratch img[6][6]" in lines(made)


def test_a_pack_in_tiles_of_another_step_than_the_loop_s_stays_small():
    # which tiles have an iteration is a question of divisions: where they are left unknown, each
    # intersection of the answer with itself doubles its pieces
    text = """
    void strided(int N, const float a[N + 5], float o[N + 5])
    {
        for (int ii = 0; ii < N + 5; ii += 3)
            for (int i = ii; i < ii + 3 && i < N + 5; i++)
                o[i] = a[i] - a[N + 4 - i];
    }
    """
    made = right(plan(text).tile("o", ii=5).pack("a", at="o.ii_tile"))
    pack = next(copy for copy in made.program.copies.values() if copy.fills)
    twice = pack.domain.intersect(pack.domain).intersect(pack.domain)
    assert twice.n_basic_set() <= pack.domain.n_basic_set() <= 2


def test_pack_of_what_the_loop_itself_changes():
    text = """
    void wave(int N, float a[N + 1])
    {
        for (int i = 0; i < N; i++)
            a[i + 1] = a[i] + 1;
    }
    """
    with pytest.raises((OrderViolatedError, LiveOutError, StorageTooSmallError, CoverageError)):
        plan(text).tile("a", i=4).pack("a", at="a.i_tile")


def test_pack_refuses_what_makes_no_sense():
    with pytest.raises(UnknownNameError, match="no array is called 'im'"):
        plan(BLUR).pack("im", at="bx.y")
    with pytest.raises(NotFusableError, match=r"nothing inside out\.y reads img"):
        plan(BLUR).pack("img", at="out.y")
    text = "void s(int N, float f, float o[N]) { for (int i = 0; i < N; i++) o[i] = f; }"
    with pytest.raises(InvalidOptionError, match="f is a scalar"):
        plan(text).pack("f", at="o.i")


def test_every_size_keeps_the_buffers_in_their_extents():
    made = tiled().pack("img", at="out.x_tile")
    for sizes in small_sizes(made.scop):
        assert run_plan(made, sizes, random_arrays(made.scop, sizes)).keys() == {"out"}
    assert isinstance(made, po.Plan)
