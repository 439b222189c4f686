"""Results stored past the caches: the same elements, and C that reads back as its source."""

from __future__ import annotations

import ctypes
import re
import subprocess
from dataclasses import replace

import numpy as np
import pytest

import polyopt as po
from polyopt.codegen.equal import NotShownError
from polyopt.codegen.pastcache import NAMES, STRIP, past_functions
from polyopt.codegen.readback import shown_for_all_sizes
from polyopt.codegen.target import target
from polyopt.errors import InternalError, InvalidOptionError, UnsupportedError
from polyopt.frontend.c.emitted import read_emitted
from polyopt.ir.types import TYPES
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
        f"void store_{kind}(void *to, const void *from, int64_t count, int past) {{ "
        f"fetched_{kind}(from, past); streamed_{kind}(to, from, count, past); settled_{kind}(); }}\n"
        for kind in KINDS
    )
    source.write_text(f"#include <stdint.h>\n{text}\n{whole}")
    strict = ["-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", *flags]
    subprocess.run([compiler, *strict, str(source), "-o", str(library)], check=True)
    for kind, dtype in KINDS.items():
        store = getattr(ctypes.CDLL(str(library)), f"store_{kind}")
        full = STRIP // np.dtype(dtype).itemsize
        given = np.arange(full + 9).astype(dtype)
        raw = np.zeros(4 * STRIP, np.uint8)
        start = -raw.ctypes.data % 64
        for count in (0, 1, full - 1, full, full + 1):
            for skipped in (0, np.dtype(dtype).itemsize):
                for past in (0, 1):
                    to = raw[start + skipped :][: 2 * STRIP].view(dtype)
                    to[:] = 77
                    store(
                        ctypes.c_void_p(to.ctypes.data), ctypes.c_void_p(given.ctypes.data),
                        ctypes.c_int64(count), ctypes.c_int(past),
                    )  # fmt: skip
                    assert np.array_equal(to[:count], given[:count])
                    assert (to[count:] == 77).all(), (kind, count, skipped, past)


def streamed(*, past=0):
    plan = po.Plan(po.parse_c(BLUR)).vectorize("out_0.x").parallelize("out_0.y")
    return plan.stream("out", past=past)


@pytest.mark.parametrize("past", [0, 1 << 40])
def test_kernels_have_the_elements_of_their_source(past):
    rng = np.random.default_rng(1)
    kernel = streamed(past=past).compile()
    for height, width in [(5, 1), (3, 63), (7, 64), (4, 65), (9, 192), (2, 200)]:
        img = rng.standard_normal((height + 2, width)).astype(np.float32)
        out = kernel(img)
        three = img[:-2] + img[1:-1] + img[2:]
        assert np.array_equal(out, np.stack([three, img[2:]])), (height, width)


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
    assert shown_for_all_sizes(plan.scop, plan.emit()) >= 0


@pytest.mark.parametrize(
    ("wrong", "seen"),
    [
        (("out_strip[1], x_end - x_strip", "out_strip[0], x_end - x_strip"), NotShownError),
        (("out_strip[0], x_end - x_strip", "out_strip[0], x_end - x_strip - 1"), NotShownError),
        (("&out[1][y][x_strip]", "&out[1][y][0]"), NotShownError),
        (("out_strip[2][64]", "out_strip[2][60]"), InternalError),
        (("to[k] = from[k]", "to[k] = from[0]"), UnsupportedError),
        (("    (void)past;\n", ""), UnsupportedError),
    ],
)
def test_a_wrong_store_is_seen(wrong, seen):
    plan = streamed()
    program = plan.emit()
    changed = replace(program, source=program.source.replace(*wrong))
    assert changed.source != program.source
    with pytest.raises(seen):
        shown_for_all_sizes(plan.scop, changed)


def test_a_store_is_to_an_element():
    program = streamed().emit()
    text = program.source.replace("&out[1][y][x_strip], out_strip", "out_strip[0], out_strip")
    with pytest.raises(UnsupportedError, match="no place to store to"):
        read_emitted(text, program.c_name)


def test_only_results_that_nothing_reads_are_streamed():
    plan = po.Plan(po.parse_c(BLUR))
    with pytest.raises(InvalidOptionError, match="'img' is no result") as caught:
        plan.stream("img")
    assert "there are: out" in str(caught.value)
    with pytest.raises(InvalidOptionError, match="no number of bytes"):
        plan.stream("out", past=-1)


def decided(width, *, last):
    machine = replace(target("avx512"), last_bytes=last)
    return po.auto(po.parse_c(BLUR), target=machine, sizes={"H": 100, "W": width})


def test_results_are_streamed_where_the_caches_do_not_hold_a_call():
    # 4 * 96 * (102 + 200) bytes
    large = decided(96, last=115_000)
    assert "stream out" in str(large)
    assert "streamed_f32" in large.emit().source
    (said,) = [r for r in large.remarks if r.move == "stream"]
    assert said.kind == "applied"
    assert said.numbers == {"bytes": 115_968, "cache bytes": 115_000}
    assert "stream out" not in str(decided(96, last=116_000))


def test_rows_that_start_inside_a_line_are_not_streamed():
    plan = decided(97, last=1000)
    (said,) = [r for r in plan.remarks if r.move == "stream"]
    assert (said.kind, said.reason) == ("refused", "its rows do not start with cache lines")
    assert "streamed" not in plan.emit().source


def test_results_that_take_long_to_compute_are_not_streamed():
    text = BLUR.replace("= img[y + 2][x];", "= img[y][x]" + " / (1 + img[y][x])" * 32 + ";")
    machine = replace(target("avx512"), last_bytes=1000)
    plan = po.auto(po.parse_c(text), target=machine, sizes={"H": 100, "W": 96})
    (said,) = [r for r in plan.remarks if r.move == "stream"]
    assert (said.kind, said.reason) == ("refused", "computing takes longer than moving it")
