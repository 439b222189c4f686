"""Kernels that are measured together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyopt.library import kernel_names

if TYPE_CHECKING:
    from collections.abc import Mapping

#: all kernels, and pipelines of images
KERNELS, IMAGES = "kernels", "images"
_MEMBERS: Mapping[str, tuple[str, ...]] = {
    IMAGES: (
        "blur", "blur_f32", "harris", "unsharp", "stencil_chain", "interpolate",
        "bilateral_grid", "local_laplacian", "camera_pipe",
    ),
}  # fmt: skip
SUITES = (KERNELS, *_MEMBERS)


def members(suite: str) -> tuple[str, ...]:
    """Names of the kernels of a suite that there are."""
    there = kernel_names()
    return tuple(name for name in _MEMBERS.get(suite, there) if name in there)
