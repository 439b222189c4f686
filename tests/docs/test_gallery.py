"""The gallery: made by a command, complete, small, and what the command makes today."""

import re

import pytest

from docs import gallery, pages

FOLDER = pages.DOCS / "gallery"
#: of them a test makes one anew
ANEW = "harris"


def section(text, name):
    return text.split(f"\n## {name}\n")[1].split("\n## ")[0]


def test_every_pipeline_is_shown_with_pictures_plan_and_cost():
    text = (FOLDER / "index.md").read_text(encoding="utf-8")
    assert re.findall(r"^## (.+)$", text, re.MULTILINE) == list(gallery.PIPELINES)
    for name in gallery.PIPELINES:
        shown = section(text, name)
        pictures = re.findall(r"!\[[^\]]*\]\(([^)]+)\)", shown)
        assert len(pictures) == 3
        for picture in pictures:
            assert 500 < (FOLDER / picture).stat().st_size < 48 * 1024
        assert "\n    " in shown.split("```text")[1]
        assert "| bytes moved |" in shown


def test_the_gallery_is_small_and_holds_nothing_else():
    files = list(FOLDER.iterdir())
    assert len(files) == 1 + 3 * len(gallery.PIPELINES)
    assert sum(file.stat().st_size for file in files) < 1024 * 1024


def test_the_gallery_is_what_its_command_makes(tmp_path):
    pytest.importorskip("matplotlib")
    pytest.importorskip("PIL")
    gallery.main(tmp_path, [ANEW])
    made, kept = (
        (f / "index.md").read_text(encoding="utf-8") for f in (tmp_path, FOLDER)
    )  # fmt: skip
    assert section(made, ANEW) == section(kept, ANEW).rstrip("\n") + "\n", "run `make gallery`"
    drawn = f"{ANEW}.svg"
    assert (tmp_path / drawn).read_text() == (FOLDER / drawn).read_text(), "run `make gallery`"
