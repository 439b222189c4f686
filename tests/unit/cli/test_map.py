"""``polyopt map``: programs that resample, over files, from the command line; whole or not at all."""

from __future__ import annotations

import errno
import os

import numpy as np
import pytest
from click.testing import CliRunner

from polyopt.cli import cli

SOURCE = """
void smooth(int H, int W, const float img[2 * H][2 * W], float out[2 * H][2 * W])
{
    float half[H][W];
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++)
            half[y][x] = img[2 * y][2 * x] + img[2 * y + 1][2 * x]
                + img[2 * y][2 * x + 1] + img[2 * y + 1][2 * x + 1];
    for (int y = 0; y < 2 * H; y++)
        for (int x = 0; x < 2 * W; x++)
            out[y][x] = img[y][x] - half[y / 2][x / 2];
}
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "smooth.c").write_text(SOURCE)
    values = np.random.default_rng(3).integers(0, 100, (46, 58)).astype(np.float32)
    np.save("img.npy", values)
    return tmp_path


def polyopt(*arguments):
    return CliRunner().invoke(cli, list(arguments))


def expected():
    img = np.load("img.npy")
    half = img[::2, ::2] + img[1::2, ::2] + img[::2, 1::2] + img[1::2, 1::2]
    return img - half.repeat(2, 0).repeat(2, 1)


@pytest.mark.parametrize("blocks", ["10,16", "3,58", "46,1"])
def test_boxes_of_a_program_that_resamples(folder, blocks):
    done = polyopt("map", "smooth.c", "img.npy", "-o", "out.npy", "--blocks", blocks, "-w", "2")
    assert done.exit_code == 0, done.output
    assert "a box of out" in done.output
    assert np.array_equal(np.load("out.npy"), expected())
    assert sorted(p.name for p in folder.iterdir()) == ["img.npy", "out.npy", "smooth.c"]


def test_a_result_may_take_the_place_of_what_is_read(folder):
    wanted = expected()
    done = polyopt("map", "smooth.c", "img.npy", "-o", "img.npy", "--blocks", "8,8")
    assert done.exit_code == 0, done.output
    assert np.array_equal(np.load("img.npy"), wanted)
    assert folder.joinpath("smooth.c").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("-o", "no/out.npy"), "no/out.npy cannot be written: No such file or directory"),
        (("-o", "out.npy", "--blocks", "0,0"), "is no shape of boxes of out"),
        (("-o", "out.npy", "--memory", "1KiB", "-w", "1"), "needs more than 1 KiB"),
        (("-o", "out.npy", "-o", "b.npy"), "there is no output left for b.npy"),
    ],
)
def test_what_cannot_be_leaves_what_was_there(folder, arguments, said):
    folder.joinpath("out.npy").write_text("before")
    done = polyopt("map", "smooth.c", "img.npy", *arguments)
    assert done.exit_code == 2
    assert said in done.output
    assert "Traceback" not in done.output
    assert folder.joinpath("out.npy").read_text() == "before"
    assert sorted(p.name for p in folder.iterdir()) == ["img.npy", "out.npy", "smooth.c"]


def test_a_full_disk_is_told_before_anything_is_computed(folder, monkeypatch):
    def full(handle, start, size):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "posix_fallocate", full)
    done = polyopt("map", "smooth.c", "img.npy", "-o", "out.npy")
    assert done.exit_code == 2
    assert "out.npy cannot be written: No space left on device" in done.output
    assert sorted(p.name for p in folder.iterdir()) == ["img.npy", "smooth.c"]


def test_ctrl_c_leaves_no_half_of_a_result(folder, monkeypatch):
    def interrupted(*_arguments, out, **_options):
        out["out"][:4] = 1
        raise KeyboardInterrupt

    monkeypatch.setattr("polyopt.scale.map_blocks", interrupted)
    done = polyopt("map", "smooth.c", "img.npy", "-o", "out.npy")
    assert done.exit_code == 130
    assert sorted(p.name for p in folder.iterdir()) == ["img.npy", "smooth.c"]
