"""Kernels that are measured together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyopt.library import kernel_names

if TYPE_CHECKING:
    from collections.abc import Mapping

#: all kernels, pipelines of images, and nests of loops that affine schedulers are measured by
KERNELS, IMAGES, AFFINE = "kernels", "images", "affine"
#: layers and whole networks, which ``nn`` lists
NN = "nn"
_MEMBERS: Mapping[str, tuple[str, ...]] = {
    IMAGES: (
        "blur", "blur_f32", "harris", "unsharp", "stencil_chain", "interpolate",
        "bilateral_grid", "local_laplacian", "camera_pipe",
    ),
    AFFINE: (
        "gemm", "2mm", "3mm", "gemver", "gesummv", "syrk", "syr2k", "trmm", "symm", "mvt", "atax",
        "bicg", "doitgen", "covariance", "correlation", "lu", "ludcmp", "cholesky", "trisolv",
        "durbin", "gramschmidt", "jacobi_1d", "jacobi_2d", "heat_3d", "seidel_2d", "fdtd_2d", "adi",
        "deriche", "floyd_warshall", "nussinov",
    ),
}  # fmt: skip
#: those of the affine suite that BLAS has functions for, and stencils that can be tiled in time
CONTRACTIONS = (
    "gemm", "2mm", "3mm", "syrk", "syr2k", "trmm", "symm", "doitgen", "covariance", "correlation",
)  # fmt: skip
TIME_STENCILS = ("jacobi_2d", "heat_3d", "seidel_2d", "fdtd_2d")
SUITES = (KERNELS, *_MEMBERS)


def members(suite: str) -> tuple[str, ...]:
    """Names of the kernels of a suite that there are."""
    there = kernel_names()
    return tuple(name for name in _MEMBERS.get(suite, there) if name in there)
