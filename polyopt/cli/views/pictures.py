"""Pictures in files: read into a kernel's inputs, and made of its outputs.

A kernel's file may say how: ``from_photo(photo)`` gives inputs by name from a photograph, u8
``[H][W][3]`` (from several, where it has several parameters without default), and
``to_picture(outputs, inputs)`` a picture, u8 ``[H][W]`` or ``[H][W][3]``. Else the first array of
rank 2 is grey, and the first of 3 planes red, green and blue: floats in [0, 1], or all of a type.
"""

from __future__ import annotations

import inspect
import io
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from polyopt.cli.output import write_file
from polyopt.errors import InvalidOptionError, MissingExtraError
from polyopt.extras import install_command
from polyopt.isl import constant_value

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from polyopt.cli.program import Program
    from polyopt.ir.scop import Array
    from polyopt.runtime.measuring.arguments import Values

    #: u8, ``[H][W]`` or ``[H][W][3]``
    Picture = NDArray[np.uint8]

#: how the names of pictures that are written end, and Pillow's name for each format
FORMATS = {".png": "PNG", ".jpg": "JPEG", ".jpeg": "JPEG"}
_GREY = np.array([0.299, 0.587, 0.114], np.float32)


def pillow() -> Any:  # noqa: ANN401 - the module
    """Pillow's ``Image``. Raises ``MissingExtraError`` where it is not installed."""
    try:
        from PIL import Image
    except ImportError:
        msg = "reading and writing pictures needs Pillow"
        raise MissingExtraError(msg, hint=install_command("demo")) from None
    return Image


def read_picture(file: str) -> Picture:
    """A photograph as u8 ``[H][W][3]``, upright. Raises ``InvalidOptionError``."""
    image: Any = pillow()
    from PIL import ImageOps

    try:
        with image.open(file) as opened:
            upright: Any = ImageOps.exif_transpose(opened)
            if upright.mode.startswith("I;16"):
                upright = image.fromarray((np.asarray(upright) >> 8).astype(np.uint8))
            return np.asarray(upright.convert("RGB"))
    except image.UnidentifiedImageError:
        msg = f"{file} is not a picture that Pillow can read"
    except image.DecompressionBombError as error:
        msg = f"{file} is too large: {error}"
    except OSError as error:
        msg = f"{file} cannot be read: {error.strerror or error}"
    except (ValueError, SyntaxError) as error:
        msg = f"{file} is a broken picture: {error}"
    raise InvalidOptionError(msg, hint="give a photograph, such as a JPEG or PNG file")


def is_picture(path: str) -> bool:
    """Whether a name is one of a picture that can be written."""
    return Path(path).suffix.lower() in FORMATS


def check_place(path: str) -> None:
    """Refuse a file that cannot be written, before anything is computed.

    Raises ``InvalidOptionError``.
    """
    target = Path(path)
    folder = target.parent
    if target.is_dir():
        reason = "it is a folder"
    elif not folder.is_dir():
        reason = f"there is no folder {folder}"
    elif not os.access(folder, os.W_OK):
        reason = f"the folder {folder} is not writable"
    else:
        return
    msg = f"{target} cannot be written: {reason}"
    raise InvalidOptionError(msg)


def write_picture(picture: NDArray[Any], path: str | Path) -> Path:
    """Write a picture; the name's ending chooses the format. Raises ``InvalidOptionError``."""
    target = Path(path)
    buffer = io.BytesIO()
    image: Any = pillow().fromarray(np.ascontiguousarray(picture))
    options = {"quality": 85, "optimize": True} if FORMATS[target.suffix.lower()] == "JPEG" else {}
    image.save(buffer, FORMATS[target.suffix.lower()], **options)
    return write_file(target, buffer.getvalue())


def inputs_from(program: Program, photos: Sequence[Picture]) -> Values:
    """The inputs that photographs give; others of the program keep their usual contents.

    Raises ``InvalidOptionError`` where the program takes no photograph, or not so many of them,
    or none so small.
    """
    own = _function(program, "from_photo")
    most = _most(own) if own else 1
    if len(photos) > most:
        count = "one photograph" if most == 1 else f"up to {most} photographs"
        msg = f"{program.name} takes {count}, not {len(photos)}"
        raise InvalidOptionError(msg)
    if own is None:
        array = image_of([a for a in program.scop.arrays if a.is_live_in])
        if array is None:
            msg = f"{program.name} has no input that a photograph can be"
            raise InvalidOptionError(msg, hint="give arrays: --input NAME=FILE.npy")
        return {array.name: np.ascontiguousarray(as_array(photos[0], array))}
    try:
        made = own(*photos)
    except ValueError as error:
        height, width = photos[0].shape[:2]
        msg = f"{program.name} cannot take a photograph of {width} x {height} pixels: {error}"
        raise InvalidOptionError(msg) from None
    return {n: np.ascontiguousarray(v) if np.ndim(v) else v for n, v in made.items()}


def picture_of(program: Program, outputs: Mapping[str, Any], inputs: Mapping[str, Any]) -> Picture:
    """A picture of what was computed.

    Raises ``InvalidOptionError`` where no output is an image.
    """
    own = _function(program, "to_picture")
    if own is not None:
        return own(dict(outputs), dict(inputs))
    array = image_of([a for a in program.scop.arrays if a.is_live_out])
    if array is None:
        msg = f"no output of {program.name} is a picture"
        raise InvalidOptionError(msg, hint="--output DIR writes arrays")
    return as_picture(outputs[array.name])


def _function(program: Program, name: str) -> Callable[..., Any] | None:
    module = program.kernel.module if program.kernel else None
    return cast("Callable[..., Any] | None", getattr(module, name, None))


def _most(function: Callable[..., object]) -> int:
    return len(inspect.signature(function).parameters)


def image_of(arrays: Sequence[Array]) -> Array | None:
    """The first array that is an image: of two dimensions, or of three planes."""
    return next((a for a in arrays if a.rank == 2 or _has_planes(a)), None)


def _has_planes(array: Array) -> bool:
    return array.rank == 3 and constant_value(array.extents[0]) == 3


def as_array(photo: Picture, array: Array) -> NDArray[Any]:
    """A photograph as an array's type: in grey, or as planes of red, green and blue."""
    planes = np.moveaxis(photo, -1, 0) if array.rank == 3 else photo @ _GREY
    kind = array.type.dtype
    if kind.kind == "f":
        return (planes / 255).astype(kind)
    return np.rint(planes / 255 * np.iinfo(kind).max).astype(kind)


def as_picture(values: NDArray[Any]) -> Picture:
    """An image in an array as a picture; what lies outside of [0, 1] is black or white."""
    scale = 1 if values.dtype.kind == "f" else np.iinfo(values.dtype).max
    tones = np.nan_to_num(np.clip(values / scale, 0, 1))
    tones = np.moveaxis(tones, 0, -1) if values.ndim == 3 else tones
    return np.rint(tones * 255).astype(np.uint8)
