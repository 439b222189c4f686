"""The demo's photograph: found without importing matplotlib, read and written by Pillow."""

from __future__ import annotations

import io
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from polyopt.cli.output import write_file
from polyopt.cli.views.pictures import pillow
from polyopt.errors import MissingExtraError
from polyopt.extras import install_command

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from PIL.Image import Image

_PHOTO = Path("mpl-data", "sample_data", "grace_hopper.jpg")


def photograph(width: int) -> NDArray[np.float32]:
    """The portrait of Grace Hopper that comes with matplotlib, grey in [0, 1], that wide.

    Raises ``MissingExtraError`` without matplotlib or Pillow.
    """
    with pillow().open(photo_file()) as opened:
        wide = _resized(opened.convert("L"), width)
    return np.asarray(wide, np.float32) / np.float32(255)


def colour_photograph(width: int) -> NDArray[np.uint8]:
    """The same in colour: u8 ``[H][W][3]``. Raises ``MissingExtraError``."""
    with pillow().open(photo_file()) as opened:
        return np.asarray(_resized(opened.convert("RGB"), width))


def photo_file() -> Path:
    """Where the portrait is. Raises ``MissingExtraError`` without matplotlib."""
    spec = find_spec("matplotlib")
    folders = spec.submodule_search_locations if spec else None
    if not folders or not Path(folders[0], _PHOTO).is_file():
        msg = "the demo needs matplotlib's sample photograph"
        raise MissingExtraError(msg, hint=install_command("demo"))
    return Path(folders[0], _PHOTO)


def _resized(image: Image, width: int) -> Image:
    return image.resize((width, round(image.height * width / image.width)))


def save_pair(before: NDArray[Any], after: NDArray[Any], path: Path, zoom: int) -> Path:
    """Write two grey images in [0, 1] side by side as PNG, each pixel ``zoom`` wide and high."""
    height = max(before.shape[0], after.shape[0])
    gap = 8 // zoom + 1
    canvas = np.ones((height, before.shape[1] + gap + after.shape[1]), np.float32)
    for image, left in ((before, 0), (after, before.shape[1] + gap)):
        top = (height - image.shape[0]) // 2
        canvas[top : top + image.shape[0], left : left + image.shape[1]] = image
    grey = np.rint(np.clip(canvas, 0, 1) * 255).astype(np.uint8)
    grey = grey.repeat(zoom, axis=0).repeat(zoom, axis=1)
    picture: Image = pillow().fromarray(grey)
    buffer = io.BytesIO()
    picture.save(buffer, "PNG")
    return write_file(path, buffer.getvalue())
