"""The demo: what it prints, and the pictures and C it leaves."""

import re
from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner

from polyopt.cli import cli
from polyopt.cli.commands import demo
from polyopt.cli.views.photo import save_pair


@pytest.fixture
def shown(tmp_path, monkeypatch):
    """What the demo prints on small pictures, made in an empty folder."""
    pytest.importorskip("PIL")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(demo, "SCENES", tuple(replace(s, width=96) for s in demo.SCENES))
    monkeypatch.setattr(demo, "photograph", photograph)
    result = CliRunner().invoke(cli, ["demo", "--out", "shown"])
    assert result.exit_code == 0, result.output
    return result.stdout


def photograph(width):
    """A disc on a ramp, in the portrait's proportions."""
    y, x = np.mgrid[0 : round(600 * width / 512), 0:width] / width
    return np.where((x - 0.5) ** 2 + (y - 0.5) ** 2 < 0.1, 1.0, x).astype(np.float32)


def test_it_shows_plan_bill_proof_reasons_and_times(shown):
    for name in ("blur", "conv2d"):
        assert f"== {name}: " in shown
    for part in ("the plan", "the bill", "the proof", "the reasons"):
        assert shown.count(f"== {part}") == 2
    assert shown.count("proved: the plan's dataflow is the source's") == 2
    assert shown.count("the fused result equals that of the NumPy reference") == 2
    assert len(re.findall(r"^unfused, 1 thread +[\d.]+~? +[\d.]+ +1\.00", shown, re.MULTILINE)) == 2
    assert len(re.findall(r"^fused, 1 thread +[\d.]+~? +[\d.]+ +[\d.]+", shown, re.MULTILINE)) == 2


def test_it_writes_pictures_and_c(shown, tmp_path):
    from PIL import Image

    for name in ("blur", "conv2d"):
        for file in (f"{name}.png", f"{name}.c", f"{name}_unfused.c"):
            assert f"shown/{file}" in shown
            assert (tmp_path / "shown" / file).stat().st_size > 200
        with Image.open(tmp_path / "shown" / f"{name}.png") as picture:
            pixels = np.asarray(picture)
        half = pixels.shape[1] // 2
        assert pixels[:, :half].std() > 10
        assert pixels[:, half:].std() > 10


def test_pictures_stand_side_by_side(tmp_path):
    from PIL import Image

    path = save_pair(np.zeros((6, 4)), np.ones((4, 2)), tmp_path / "pair.png", 2)
    with Image.open(path) as picture:
        pixels = np.asarray(picture)
    assert pixels.shape == (12, 2 * (4 + 5 + 2))
    assert np.all(pixels[:, :8] == 0)
    assert np.all(pixels[:, 8:] == 255)
