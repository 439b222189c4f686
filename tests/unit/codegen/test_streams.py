"""Results stored past the caches: the same elements, and C that reads back as its source."""

from __future__ import annotations

import ctypes
import re
import subprocess
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

import polyopt as po
from polyopt.codegen.helpers.nontemporal import LINE, NAMES, STRIP, past_functions
from polyopt.codegen.target import target
from polyopt.codegen.validate.translation import ReadBack
from polyopt.errors import InternalError, InvalidOptionError, UnsupportedError
from polyopt.frontend.c.readback.emitted import parse_emitted
from polyopt.ir.types import TYPES
from polyopt.transform.legality.equivalence import NotShownError
from tests.unit.codegen.test_cexpr import COMPILERS

BLUR = """\
void blur(int H, int W, float img[H + 2][W], float out[2][H][W]) {
#pragma scop
  for (int y = 0; y < H; y++)
    for (int x = 0; x < W; x++) {
      out[0][y][x] = img[y][x] + img[y + 1][x] + img[y + 2][x];
      out[1][y][x] = img[y + 2][x];
    }
#pragma endscop
}
"""
KINDS = {"f32": np.float32, "f64": np.float64, "u8": np.uint8, "u16": np.uint16}


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("flags", [["-march=native"], []], ids=["native", "plain"])
def test_pieces_arrive_whole(compiler, flags, tmp_path):
    source, library = tmp_path / "past.c", tmp_path / "past.so"
    text = past_functions([(name, TYPES[kind]) for name in NAMES for kind in KINDS])
    whole = "".join(
        f"void store_{kind}(void *to, void *strip, int64_t count, int first, int last, int past) {{ "
        f"fetched_{kind}(strip, past); streamed_{kind}(to, strip, count, first, last, past); "
        f"settled_{kind}(); }}\n"
        for kind in KINDS
    )
    source.write_text(f"#include <stdint.h>\n{text}\n{whole}")
    strict = ["-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", *flags]
    subprocess.run([compiler, *strict, str(source), "-o", str(library)], check=True)
    for kind, dtype in KINDS.items():
        store = getattr(ctypes.CDLL(str(library)), f"store_{kind}")
        size = np.dtype(dtype).itemsize
        full, line = STRIP // size, LINE // size
        row = (np.arange(3 * full) % 251).astype(dtype)
        raw = np.zeros(6 * STRIP, np.uint8)
        aligned = -raw.ctypes.data % LINE
        for count, skipped, past in product(
            (1, line - 1, line, full - 1, full, full + 1, 2 * full, 3 * full - 1),
            (0, 1, line // 2, line - 1),
            (0, 1),
        ):
            around = raw[aligned : aligned + 5 * STRIP].view(dtype)
            around[:] = 77
            to = around[skipped:]
            strip = np.full(line + full, 99, dtype)
            for start in range(0, count, full):
                piece = row[start : min(start + full, count)]
                strip[line : line + len(piece)] = piece
                store(
                    ctypes.c_void_p(to[start:].ctypes.data), ctypes.c_void_p(strip.ctypes.data),
                    ctypes.c_int64(len(piece)), ctypes.c_int(start == 0),
                    ctypes.c_int(start + full >= count), ctypes.c_int(past),
                )  # fmt: skip
            assert np.array_equal(to[:count], row[:count]), (kind, count, skipped, past)
            assert (around[:skipped] == 77).all(), (kind, count, skipped, past)
            assert (to[count:] == 77).all(), (kind, count, skipped, past)


def streamed(*, past=0):
    plan = po.Plan(po.parse_c(BLUR)).vectorize("out_0.x").parallelize("out_0.y")
    return plan.store_nontemporal("out", past=past)


@pytest.mark.parametrize("past", [0, 1 << 40])
def test_kernels_have_the_elements_of_their_source(past):
    rng = np.random.default_rng(1)
    kernel = streamed(past=past).compile()
    for height, width in [(5, 1), (3, 63), (7, 64), (4, 65), (9, 192), (2, 200)]:
        img = rng.standard_normal((height + 2, width)).astype(np.float32)
        three = img[:-2] + img[1:-1] + img[2:]
        for skipped in (0, 1, 7, 15):
            around = np.full(skipped + 2 * height * width + 16, 7, np.float32)
            out = around[skipped : skipped + 2 * height * width].reshape(2, height, width)
            kernel(img, out=out, threads=1 + skipped % 2)
            assert np.array_equal(out, np.stack([three, img[2:]])), (height, width)
            assert (around[:skipped] == 7).all()
            assert (around[skipped + 2 * height * width :] == 7).all()


def test_c_fetches_the_next_row_and_reads_back_as_its_source():
    plan = streamed(past=1 << 20)
    source = plan.emit().source
    fetched = re.findall(r"^ +fetched_f32\(&(.*?),\s+4 \* ", source, re.MULTILINE)
    assert fetched == ["img[min_i64(y + 3, H + 2 - 1)][x_strip]"]
    stored = re.findall(r"^ +streamed_f32\(&(.*?), (\S+), ", source, re.MULTILINE)
    rows = [f"out[{k}][y][x_strip]" for k in range(2)]
    assert stored == [(row, f"out_strip[{k}]") for k, row in enumerate(rows)]
    # in each iteration that threads share, and at the end
    assert len(re.findall(r"^ +settled_f32\(\);", source, re.MULTILINE)) == 2
    assert ReadBack(plan.scop, plan.emit()).claims() >= 0


@pytest.mark.parametrize(
    ("wrong", "seen"),
    [
        (("&out[1][y][x_strip]", "&out[0][y][x_strip]"), NotShownError),
        (("&out[1][y][x_strip]", "&out[1][0][x_strip]"), NotShownError),
        (("out_strip[2][80]", "out_strip[2][72]"), InternalError),
        (("to[k] = strip[16 + k]", "to[k] = strip[16]"), UnsupportedError),
        (("to[k] = strip[16 + k]", "to[k] = strip[15 + k]"), UnsupportedError),
        (("    (void)first, (void)last, (void)past;\n", ""), UnsupportedError),
    ],
)
def test_a_wrong_store_is_seen(wrong, seen):
    plan = streamed()
    program = plan.emit()
    changed = replace(program, source=program.source.replace(*wrong))
    assert changed.source != program.source
    with pytest.raises(seen):
        ReadBack(plan.scop, changed).claims()


@pytest.mark.parametrize(
    ("wrong", "match"),
    [
        (("out_strip[0], x_end - x_strip", "out_strip[0], x_end - x_strip - 1"), "its neighbours"),
        (("x_strip == 0", "x_strip == 64"), "its neighbours"),
        (("x_strip == 0", "1"), "its neighbours"),
        (("x_end == W", "x_end == W - 1"), "its neighbours"),
        (("x_end == W", "x_end != W"), "its neighbours"),
        (("x_strip < W;", "x_strip < W - 9;"), "its neighbours"),
        (("const int64_t x_end", "int64_t x_end"), "its neighbours"),
        (("x_strip += 64", "x_strip += 32"), "its neighbours"),
        (("x_strip += 64", "x_strip += W"), "its neighbours"),
        (("&out[1][y][x_strip], out_strip", "out_strip[0], out_strip"), "other use"),
        (("&out[1][y][x_strip]", "&out[1][y][0]"), "where its loop is"),
        (("&out[0][y][x_strip]", "&out[0][x_end][x_strip]"), "another one for each piece"),
        (("out_strip[1], x_end", "out_strip[0], x_end"), "strip of two rows"),
        (("out_strip[0][x - x_strip + 16] =", "out_strip[0][x - x_strip + 15] ="), "other use"),
        (("out_strip[0][x - x_strip + 16] =", "out_strip[0][x] ="), "other use"),
        (("+ img[y + 2][x];\n", "+ out[0][y][x];\n"), "other use"),
    ],
)
def test_a_piece_out_of_turn_is_seen(wrong, match):
    program = streamed().emit()
    assert program.source.count("streamed_f32(&") == 2
    head, _, calls = program.source.partition("static void blur_y")
    text = f"{head}static void blur_y{calls.replace(*wrong, 1)}"
    assert text != program.source
    with pytest.raises(UnsupportedError, match=match):
        parse_emitted(text, program.c_name).scop()


@pytest.mark.parametrize(
    ("pattern", "new", "match"),
    [
        (r"> 0\);", "> x_strip);", "another one for each piece"),
        (r"x_strip (\+=?) 64", r"x_strip \1 8", "its neighbours"),
        (r"( +_Alignas.*\n)( +for .*x_strip.*\n)", r"\2\1", "another one for each piece"),
        (r"( +for .*x_strip = 0.*\n)", r"#pragma omp parallel for\n\1", "a loop that is shared"),
        (r"( +)(streamed_f32\(&out[^;]*;)", r"\1if (y > 1) {\2}", "outside a loop"),
    ],
)
def test_pieces_are_stored_in_a_loop_of_their_own(pattern, new, match):
    program = streamed().emit()
    text = re.sub(pattern, new, program.source)
    assert text != program.source
    with pytest.raises(UnsupportedError, match=match):
        parse_emitted(text, program.c_name).scop()


@pytest.mark.parametrize("first", ["f32", "u8"])
def test_results_of_several_types_are_stored_in_pieces_of_a_line_or_more(first):
    scalars = {"f32": "float", "u8": "unsigned char"}
    names = [first, *({*scalars} - {first})]
    outs = ", ".join(f"{scalars[name]} {name}[H][W]" for name in names)
    body = " ".join(f"{name}[y][x] = img[y][x];" for name in names)
    loops = f"for (int y = 0; y < H; y++) for (int x = 0; x < W; x++) {{ {body} }}"
    scop = po.parse_c(f"void both(int H, int W, unsigned char img[H][W], {outs}) {{ {loops} }}")
    plan = po.Plan(scop).vectorize(f"{names[0]}.x").store_nontemporal(*names, past=0)
    source = plan.emit().source
    assert "_strip += 256" in source
    assert {"f32_strip[272]", "u8_strip[320]"} <= {*re.findall(r"\w+_strip\[\d+\]", source)}
    rng = np.random.default_rng(1)
    kernel = plan.compile()
    for height, width in [(3, 61), (4, 700)]:
        img = rng.integers(0, 255, (height, width), np.uint8)
        for result in kernel(img):
            assert np.array_equal(result, img)
    assert ReadBack(scop, plan.emit()).claims() >= 0


def test_only_results_that_nothing_reads_are_streamed():
    plan = po.Plan(po.parse_c(BLUR))
    with pytest.raises(InvalidOptionError, match="'img' is no result") as caught:
        plan.store_nontemporal("img")
    assert "there are: out" in str(caught.value)
    with pytest.raises(InvalidOptionError, match="no number of bytes"):
        plan.store_nontemporal("out", past=-1)


def decided(width, *, last):
    machine = replace(target("avx512"), last_bytes=last)
    return po.auto(po.parse_c(BLUR), target=machine, sizes={"H": 100, "W": width})


def test_results_are_streamed_where_the_caches_do_not_hold_a_call():
    # 4 * 96 * (102 + 200) bytes
    large = decided(96, last=115_000)
    assert "store_nontemporal out" in str(large)
    assert "streamed_f32" in large.emit().source
    (said,) = [r for r in large.remarks if r.move == "store_nontemporal"]
    assert said.kind == "applied"
    assert said.numbers == {"bytes": 115_968, "cache bytes": 115_000}
    assert "store_nontemporal out" not in str(decided(96, last=116_000))


def test_rows_may_start_inside_a_line():
    assert "streamed_f32(&out" in decided(97, last=1000).emit().source


def test_results_that_take_long_to_compute_are_not_streamed():
    text = BLUR.replace("= img[y + 2][x];", "= img[y][x]" + " / (1 + img[y][x])" * 32 + ";")
    machine = replace(target("avx512"), last_bytes=1000)
    plan = po.auto(po.parse_c(text), target=machine, sizes={"H": 100, "W": 96})
    (said,) = [r for r in plan.remarks if r.move == "store_nontemporal"]
    assert (said.kind, said.reason) == ("refused", "computing takes longer than moving it")


def test_results_with_much_computed_in_place_are_not_streamed():
    machine = replace(target("avx512"), last_bytes=1000)
    plan = po.auto(po.load_kernel("harris").scop, target=machine, sizes={"H": 200, "W": 300})
    (said,) = [r for r in plan.remarks if r.move == "store_nontemporal"]
    assert (said.kind, said.reason) == ("refused", "computing it takes longer than storing it")


PLANES = """
void planes(int C, int H, int W, const float img[C][H][W], float out[C][H][W])
{
    for (int c = 0; c < C; c++)
        for (int y = 0; y < H; y++)
            for (int x = 0; x < W; x++)
                out[c][y][x] = 2 * img[c][y][x];
}
"""


def test_threads_that_share_nested_loops_wait_in_the_innermost():
    plan = po.Plan(po.parse_c(PLANES)).vectorize("out.x").parallelize("out.c")
    plan = plan.parallelize("out.y").store_nontemporal("out", past=0)
    plan.prove(code=True)
    kernel = plan.compile()
    assert "collapse(2)" in kernel.source
    img = np.random.default_rng(0).standard_normal((3, 5, 200)).astype(np.float32)
    for threads in (1, 3):
        assert np.array_equal(kernel(img, threads=threads), 2 * img)
