"""``run`` on photographs: every image kernel, and what is said of input and output that fail."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

from polyopt.cli import cli
from polyopt.cli.views.pictures import as_picture, read_picture, write_picture

pytest.importorskip("PIL")

HEIGHT, WIDTH = 30, 24
KERNELS = [
    "blur", "blur_f32", "harris", "unsharp", "bilateral_grid", "local_laplacian", "interpolate",
    "camera_pipe", "stencil_chain", "pyramid_blend",
]  # fmt: skip
#: those whose result looks like the photograph, and by how many tones it may differ in the mean
ALIKE = {
    "unsharp": 20, "local_laplacian": 45, "interpolate": 12, "camera_pipe": 12,
    "blur_f32": 25, "blur": 25, "bilateral_grid": 25,
}  # fmt: skip


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """An empty folder with a smooth photograph in it."""
    monkeypatch.chdir(tmp_path)
    write_picture(photograph(), "photo.png")
    return tmp_path


def photograph():
    y, x = np.mgrid[0:HEIGHT, 0:WIDTH]
    planes = [60 + 4 * y, 50 + 6 * x, 90 + 2 * (y + x)]
    return np.stack(planes, axis=-1).astype(np.uint8)


def refused(*arguments):
    result = CliRunner().invoke(cli, ["run", *arguments])
    assert result.exit_code == 2, result.output
    assert "Traceback" not in result.stderr
    return result.stderr


@pytest.mark.parametrize("name", KERNELS)
def test_every_image_kernel_runs_on_a_photograph(name):
    # plans of deep programs take long to find and to compile; what is shown is the same
    plan = [] if name in {"blur", "harris", "unsharp"} else ["--unfused"]
    result = CliRunner().invoke(cli, ["run", name, "photo.png", "-o", "out.png", "--json", *plan])
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert found["agrees"] is True
    assert {o["file"] for o in found["outputs"].values()} == {"out.png"}
    picture = read_picture("out.png").astype(float)
    assert abs(picture.shape[0] - HEIGHT) <= 6
    assert abs(picture.shape[1] - WIDTH) <= 6
    assert picture.std() > 5
    if name in ALIKE:
        rows, columns = (min(a, b) for a, b in zip(picture.shape, (HEIGHT, WIDTH), strict=False))
        # a kernel without padding leaves out as much on either side
        top, left = (HEIGHT - rows) // 2, (WIDTH - columns) // 2
        photo = photograph()[top : top + rows, left : left + columns].astype(float)
        if np.ptp(picture, axis=-1).max() == 0:
            photo = photo @ [0.299, 0.587, 0.114]
            picture = picture[..., 0]
        assert np.abs(picture - photo).mean() < ALIKE[name]


def test_two_photographs_are_blended():
    write_picture(photograph()[::-1, ::-1], "other.png")
    result = CliRunner().invoke(
        cli, ["run", "pyramid_blend", "photo.png", "other.png", "-o", "out.jpg", "--unfused"]
    )
    assert result.exit_code == 0, result.output
    picture = read_picture("out.jpg").astype(int)
    other = photograph()[::-1, ::-1].astype(int)
    assert np.abs(picture[:, :3] - photograph()[:, :3]).mean() < 25
    assert np.abs(picture[:, -3:] - other[:, -3:]).mean() < 25
    assert "takes one photograph, not 2" in refused("blur", "photo.png", "other.png")


def test_a_program_of_ones_own_takes_a_photograph(folder):
    (folder / "negative.c").write_text(
        "void negative(int H, int W, const unsigned char a[H][W], unsigned char b[H][W])\n"
        "{ for (int y = 0; y < H; y++) for (int x = 0; x < W; x++) b[y][x] = 255 - a[y][x]; }\n"
    )
    result = CliRunner().invoke(cli, ["run", "negative.c", "photo.png", "-o", "out.png"])
    assert result.exit_code == 0, result.output
    grey = np.rint(photograph() @ np.array([0.299, 0.587, 0.114], np.float32))
    assert np.abs(read_picture("out.png")[..., 0] - (255 - grey)).max() <= 1


def test_what_is_no_photograph_is_refused(folder):
    (folder / "text.jpg").write_text("no picture at all")
    (folder / "half.png").write_bytes((folder / "photo.png").read_bytes()[:60])
    assert "none.jpg cannot be read: No such file" in refused("blur", "none.jpg")
    assert "text.jpg is not a picture" in refused("blur", "text.jpg")
    assert "half.png" in refused("blur", "half.png")
    assert "cannot be read: Is a directory" in refused("blur", ".")


@pytest.mark.parametrize("name", ["blur", "harris", "unsharp", "camera_pipe"])
def test_a_tiny_photograph_runs_or_is_refused(name):
    write_picture(photograph()[:1, :1], "dot.png")
    result = CliRunner().invoke(cli, ["run", name, "dot.png", "--unfused"])
    assert result.exit_code in {0, 2}, result.output
    assert "internal" not in result.output
    if result.exit_code:
        assert "1" in result.stderr


def test_a_place_that_cannot_be_written_is_refused_at_once(folder):
    (folder / "there.png").mkdir()
    assert "there is no folder nowhere" in refused("blur", "photo.png", "-o", "nowhere/out.png")
    assert "it is a folder" in refused("blur", "photo.png", "-o", "there.png")


def test_a_result_that_is_no_picture_is_refused(folder):
    (folder / "scale.c").write_text(
        "void scale(int N, const float a[N], float b[N])\n"
        "{ for (int i = 0; i < N; i++) b[i] = 2.0f * a[i]; }\n"
    )
    assert "no output of scale.c is a picture" in refused("scale.c", "-o", "out.png")
    assert "scale.c has no input that a photograph can be" in refused("scale.c", "photo.png")


def test_arrays_become_pictures_by_their_type():
    assert as_picture(np.array([[-1, 0.5, 7, np.nan]], np.float32)).tolist() == [[0, 128, 255, 0]]
    assert as_picture(np.array([[0, 65535]], np.uint16)).tolist() == [[0, 255]]
    assert as_picture(np.zeros((3, 4, 5), np.uint8)).shape == (4, 5, 3)
