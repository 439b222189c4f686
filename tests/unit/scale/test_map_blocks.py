"""Boxes of any shape, anywhere, by anyone: the same bits as one call."""

import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import dask
import dask.array as da
import numpy as np
import pytest
import zarr

import polyopt as po
from polyopt.errors import (
    ArgumentError,
    InvalidOptionError,
    MemoryLimitError,
    MissingExtraError,
    NotCutError,
)
from polyopt.scale import job
from polyopt.scale.cut import Place
from polyopt.scale.grid import box_shape, bytes_text, parse_bytes
from polyopt.scale.pages import dense_runs

GEMM = """
void gemm(int N, int M, int K, const float A[restrict N][K], const float B[restrict K][M],
          float C[restrict N][M]) {
  for (int i = 0; i < N; i++)
    for (int j = 0; j < M; j++)
      for (int k = 0; k < K; k++)
        C[i][j] = C[i][j] + A[i][k] * B[k][j];
}
"""
DOUBLED = """
void doubled(int N, int M, const float a[restrict N][M], float b[restrict N][M]) {
  for (int i = 0; i < N; i++)
    for (int j = 0; j < M; j++)
      b[i][j] = 2 * a[i][j];
}
"""


@pytest.mark.parametrize("blocks", [(5, 7), (100, 100), (33, 3)])
def test_blocks_of_any_shape_give_the_same_bits(blur, image, blocks):
    expected = blur(image)
    assert po.map_blocks(blur, image, blocks=blocks, workers=2).tobytes() == expected.tobytes()


@pytest.mark.parametrize("blocks", [(10, 12), (36, 8), (40, 40)])
def test_borders_stay_those_of_the_whole_image(pyramid, image, blocks):
    expected = pyramid(image)
    assert po.map_blocks(pyramid, image, blocks=blocks).tobytes() == expected.tobytes()


def test_small_images_are_all_border(pyramid):
    for shape in ((2, 2), (2, 5), (3, 3)):
        image = np.random.default_rng(1).random(shape, dtype=np.float32)
        assert (po.map_blocks(pyramid, image, blocks=(2, 2)) == pyramid(image)).all()


def test_files_larger_than_the_memory_given(blur, tmp_path):
    image = np.random.default_rng(2).random((700, 500), dtype=np.float32)
    np.save(tmp_path / "in.npy", image)
    source = np.load(tmp_path / "in.npy", mmap_mode="r")
    target = np.lib.format.open_memmap(tmp_path / "out.npy", "w+", np.float32, (696, 496))
    po.map_blocks(blur, source, out=target, memory="256 KiB", workers=2)
    assert np.load(tmp_path / "out.npy").tobytes() == blur(image).tobytes()
    with pytest.raises(ArgumentError, match=r"out takes 1\.32 MiB, more than memory= allows"):
        po.map_blocks(blur, source, memory="256 KiB")


def test_a_part_of_a_mapped_file_is_found_by_another_process(blur, tmp_path):
    image = np.random.default_rng(2).random((60, 500), dtype=np.float32)
    np.save(tmp_path / "in.npy", image)
    part = np.load(tmp_path / "in.npy", mmap_mode="r")[13:]
    target = np.lib.format.open_memmap(tmp_path / "out.npy", "w+", np.float32, (60, 496))[3:46]
    steps = []
    po.map_blocks(
        blur,
        part,
        out=target,
        blocks=(20, 300),
        executor="processes",
        workers=1,
        progress=lambda done, of: steps.append((done, of)),
    )
    found = np.load(tmp_path / "out.npy")
    assert found[3:46].tobytes() == blur(image[13:]).tobytes()
    assert not found[:3].any()
    assert steps == [(k, 6) for k in range(1, 7)]


def test_dask_arrays_stay_lazy(blur, pyramid, image):
    lazy = da.from_array(image, chunks=(8, 9))
    found = po.map_blocks(blur, lazy, blocks=(10, 20))
    assert found.chunks == ((10, 10, 10, 3), (20, 17))
    assert isinstance(found, da.Array)
    with dask.config.set(scheduler="synchronous"):
        assert found.compute().tobytes() == blur(image).tobytes()
        twice = po.map_blocks(pyramid, found, blocks=(16, 16)).compute()
    assert twice.tobytes() == pyramid(blur(image)).tobytes()


def test_zarr_boxes_share_no_chunk(blur, image):
    source = zarr.array(image, chunks=(16, 16))
    target = zarr.zeros((33, 37), chunks=(16, 16), dtype="f4")
    po.map_blocks(blur, source, out=target, memory="20 KiB", workers=1)
    assert target[:].tobytes() == blur(image).tobytes()
    with pytest.raises(InvalidOptionError, match="share chunks"):
        po.map_blocks(blur, source, out=target, blocks=(8, 16))
    with pytest.raises(MemoryLimitError, match="a chunk of the results, 16 x 16 of out"):
        po.map_blocks(blur, source, out=target, memory="2 KiB", workers=1)


def test_arrays_that_are_updated_in_place_are_read_and_written_apart():
    kernel = po.Plan(po.parse_c(GEMM)).compile(contract=False)
    rng = np.random.default_rng(4)
    a, b, c = (rng.random(s, dtype=np.float32) for s in ((9, 6), (6, 11), (9, 11)))
    expected = kernel(a, b, c.copy())
    before = c.copy()
    assert po.map_blocks(kernel, a, b, c, blocks=(4, 5)).tobytes() == expected.tobytes()
    assert c.tobytes() == before.tobytes()
    with pytest.raises(ArgumentError, match="would overwrite what other boxes read"):
        po.map_blocks(kernel, a, b, c, out=c, blocks=(4, 5))


#: results that read each other with a halo: three in a chain, and one that is written once more
#: after another has read it, at places that boxes share
CHAINS = {
    "chain": """
void chain(int N, const float a[restrict N], float b[restrict N], float c[restrict N],
           float d[restrict N]) {
  for (int i = 0; i < N; i++) b[i] = 2 * a[i];
  for (int i = 0; i < N; i++) c[i] = 0;
  for (int i = 2; i < N - 1; i++) c[i] = b[i - 2] + b[i + 1];
  for (int i = 1; i < N - 1; i++) d[i] = c[i - 1] + c[i + 1] + b[i];
}
""",
    "again": """
void again(int N, const float a[restrict N], float b[restrict N], float c[restrict N]) {
  for (int i = 0; i < N; i++) b[i] = b[i] + a[i];
  for (int i = 0; i < N; i++) c[i] = b[N - 1 - i];
  for (int i = 0; i < N; i++) b[i] = 3 * b[i] + c[i];
}
""",
}


@pytest.mark.parametrize("name", CHAINS)
def test_results_that_read_each_other_beyond_a_box(name):
    kernel = po.Plan(po.parse_c(CHAINS[name])).compile(contract=False)
    rng = np.random.default_rng(5)
    given = {n: rng.random(23, dtype=np.float32) for n in kernel.positional}
    expected = kernel(**{n: array.copy() for n, array in given.items()})
    for options in ({"workers": 2}, {"workers": 1}):
        found = po.map_blocks(kernel, **given, blocks=(5,), **options)
        assert [f.tobytes() for f in found] == [e.tobytes() for e in expected]
    lazy = {n: da.from_array(array, chunks=7) for n, array in given.items()}
    with dask.config.set(scheduler="synchronous"):
        parts = [part.compute() for part in po.map_blocks(kernel, **lazy, blocks=(5,))]
    assert [p.tobytes() for p in parts] == [e.tobytes() for e in expected]


def test_results_that_read_each_other_are_updated():
    text = CHAINS["chain"].replace("for (int i = 1;", "for (int i = 0; i < N; i++) d[i] = a[i];"
                                   " for (int i = 1;")  # fmt: skip
    kernel = po.Plan(po.parse_c(text)).compile(contract=False)
    a = np.random.default_rng(6).random(40, dtype=np.float32)
    out = kernel(a)
    a[20] += 1
    found = kernel.update({"a": np.s_[20]}, a, out=out)
    assert [o.tobytes() for o in out] == [e.tobytes() for e in kernel(a)]
    assert found.recomputed["b"] < 40


def test_what_does_not_fit_is_refused_with_numbers():
    kernel = po.Plan(po.parse_c(GEMM)).compile()
    a, b, c = (np.zeros(s, np.float32) for s in ((4, 9000), (9000, 4), (4, 4)))
    with pytest.raises(MemoryLimitError) as caught:
        po.map_blocks(kernel, a, b, c, memory="64 KiB", workers=1)
    text = str(caught.value)
    assert "the smallest box, 1 x 1 of C, needs 70.3 KiB of arrays" in text
    assert "A: 35.2 KiB" in text
    with pytest.raises(MemoryLimitError, match="every result reads it"):
        po.map_blocks(po.cuts(po.Plan(po.parse_c(TOTAL)))[0].plan, a, memory="64 KiB", workers=1)


TOTAL = """
void total(int N, int M, const float A[restrict N][M], float s[restrict 1]) {
  s[0] = 0;
  for (int i = 0; i < N; i++)
    for (int j = 0; j < M; j++)
      s[0] = s[0] + A[i][j];
}
"""


def test_boxes_are_as_large_as_the_memory_allows(blur):
    (found,) = po.cuts(blur)
    sizes = {"H": 100_004, "W": 50_004}
    shapes = [box_shape(found, sizes, limit=1 << n, workers=2) for n in (24, 28, 40)]
    assert shapes[0][0] < shapes[1][0] < shapes[2][0]
    assert shapes[1][1] == 50_000


def test_boxes_are_alike_and_workers_get_as_many(blur):
    (found,) = po.cuts(blur)
    rows = box_shape(found, {"H": 6_004, "W": 6_004}, limit=1 << 40, workers=3)[0]
    pieces = [min(rows, 6_000 - first) for first in range(0, 6_000, rows)]
    assert len(pieces) % 3 == 0
    assert rows - pieces[-1] < 8 * len(pieces)


def test_the_kernels_own_threads_share_what_lies_in_memory(blur, image, tmp_path):
    def boxes(given, **options):
        told: list[tuple[int, int]] = []
        found = po.map_blocks(
            blur, given, workers=2, progress=lambda done, of: told.append((done, of)), **options
        )
        assert found.tobytes() == blur(image).tobytes()
        return len(told)

    np.save(tmp_path / "in.npy", image)
    mapped = np.load(tmp_path / "in.npy", mmap_mode="r")
    assert boxes(image) == 1
    assert boxes(image, memory=image.nbytes) > 1
    assert boxes(image, blocks=(8, 64)) > 1
    assert boxes(np.asfortranarray(image)) == boxes(mapped)


def test_a_broken_worker_is_replaced(blur, image, tmp_path):
    """The worker that gets the third box ends; boxes that it had are computed by another."""
    script = f"""
import os, sys
import numpy as np
import polyopt as po
from polyopt.scale import job

class Once:
    shape, dtype = (37, 41), np.dtype("f4")
    def __getitem__(self, box):
        if box[0].start >= 20 and not os.path.exists({str(tmp_path / "gone")!r}):
            open({str(tmp_path / "gone")!r}, "w").close()
            os._exit(9)
        return np.load({str(tmp_path / "in.npy")!r})[box]

if __name__ == "__main__":
    sys.path.insert(0, os.getcwd())
    from tests.unit.scale.conftest import BLUR
    kernel = po.Plan(po.parse_c(BLUR)).compile(contract=False)
    found = po.map_blocks(kernel, Once(), blocks=(10, 41), executor="processes", workers=1)
    np.save({str(tmp_path / "out.npy")!r}, found)
"""
    np.save(tmp_path / "in.npy", image)
    (tmp_path / "broken.py").write_text(script)
    subprocess.run([sys.executable, str(tmp_path / "broken.py")], check=True, timeout=120)
    assert (tmp_path / "gone").exists()
    plain = po.Plan(blur.plan.scop).compile(contract=False)
    assert np.load(tmp_path / "out.npy").tobytes() == plain(image).tobytes()


def test_any_executor_will_do(blur, image):
    with ThreadPoolExecutor(1) as pool:
        found = po.map_blocks(blur, image, blocks=(12, 12), executor=pool)
    assert found.tobytes() == blur(image).tobytes()


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"memory": "much"}, InvalidOptionError, "'much' is no amount of memory"),
        ({"executor": "magic"}, InvalidOptionError, "runs nothing"),
        ({"workers": 0}, InvalidOptionError, "no number of workers"),
        ({"blocks": (3,)}, InvalidOptionError, "no shape of boxes"),
        ({"blocks": (0, 3)}, InvalidOptionError, "no shape of boxes"),
        ({"nothing": 3}, ArgumentError, "nothing is no argument of blur"),
        ({"out": np.zeros((3, 3), np.float32)}, ArgumentError, r"but \(33, 37\) is needed"),
        ({"out": (1, 2)}, ArgumentError, "out= has 2 arrays, not 1"),
        ({"out": {"img": 1}}, ArgumentError, "out= names 'img'"),
    ],
)
def test_options_that_make_no_sense(blur, image, options, error, message):
    with pytest.raises(error, match=message):
        po.map_blocks(blur, image, **options)


def test_arguments_that_do_not_fit(blur, image):
    with pytest.raises(ArgumentError, match="blur needs img"):
        po.map_blocks(blur)
    with pytest.raises(ArgumentError, match="float32 of rank 2 is needed"):
        po.map_blocks(blur, image.astype(np.float64))
    with pytest.raises(ArgumentError, match="not an array"):
        po.map_blocks(blur, [[1.0]])
    with pytest.raises(InvalidOptionError, match="is no kernel"):
        po.map_blocks("blur", image)


def test_a_kernel_without_its_program_says_so(blur, image):
    travelled = pickle.loads(pickle.dumps(blur))
    assert travelled(image).tobytes() == blur(image).tobytes()
    with pytest.raises(NotCutError, match="does not say which program"):
        po.map_blocks(travelled, image)


def test_without_dask_the_extra_is_named(blur, image, monkeypatch):
    lazy = da.from_array(image, chunks=9)
    monkeypatch.setitem(sys.modules, "dask", None)
    with pytest.raises(MissingExtraError, match="dask arrays need dask"):
        po.map_blocks(blur, lazy)


def test_amounts_of_memory():
    assert [parse_bytes(t) for t in ("1GiB", "1.5 mb", "2k", "77", 5)] == [1 << 30, 3 << 19, 2048, 77, 5]  # fmt: skip
    assert [bytes_text(n) for n in (5, 2048, 3 << 19, 1 << 50)] == ["5 bytes", "2 KiB", "1.5 MiB", "1.02e+03 TiB"]  # fmt: skip


def test_a_cut_says_what_it_reads(blur):
    text = str(po.cuts(blur)[0])
    assert "reads img[y_first .. y_first + (y_count + 4) - 1, x_first" in text


# -- pages of mapped files ----------------------------------------------------------------------


def mapped(folder, values):
    """The values as a mapped file, and a mapped file for as many."""
    np.save(folder / "given.npy", values)
    out = np.lib.format.open_memmap(folder / "out.npy", "w+", values.dtype, values.shape)
    return np.load(folder / "given.npy", mmap_mode="r"), out


@pytest.mark.parametrize(("memory", "given_back"), [("1MiB", False), ("64KiB", True)])
def test_files_that_fit_stay_in_memory(tmp_path, monkeypatch, memory, given_back):
    kernel = po.auto(po.parse_c(DOUBLED)).compile()
    given, out = mapped(tmp_path, np.arange(256.0 * 100).reshape(256, 100).astype("f4"))
    calls = []
    monkeypatch.setattr(job, "release", calls.append)
    po.map_blocks(kernel, a=given, out=out, memory=memory)
    assert np.array_equal(out, 2 * given)
    assert bool(calls) == given_back


def test_only_pages_of_the_box_itself_are_brought_in(tmp_path):
    array, _ = mapped(tmp_path, np.zeros((64, 4096), "f4"))
    row = 4096 * 4
    begin = array.ctypes.data + 8 * row
    assert dense_runs(array, Place((8, 0), (16, 4096))) == [(begin, begin + 16 * row)]
    assert dense_runs(array, Place((8, 100), (1, 90))) == [(begin + 400, begin + 760)]
    rows = dense_runs(array, Place((0, 8), (64, 100)))
    assert [stop - start for start, stop in rows] == [400] * 64
    planes, _ = mapped(tmp_path, np.zeros((4, 64, 256), "f4"))
    # the columns between a plane's first and last are other boxes'
    assert dense_runs(planes, Place((1, 0, 8), (2, 64, 100))) == []
    assert len(dense_runs(planes, Place((1, 0, 0), (2, 64, 256)))) == 1
