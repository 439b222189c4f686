"""Kernels that are measured together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyopt.library import kernel_names

if TYPE_CHECKING:
    from collections.abc import Mapping

#: all kernels but those of the field, pipelines of images, and nests of loops that affine
#: schedulers are measured by
KERNELS, IMAGES, AFFINE = "kernels", "images", "affine"
#: programs as users write them, by class of what the field computes: those of ``kernels/field/``,
#: measured and tested where the suite is named, and in no other one
FIELD = "field"
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
SUITES = (KERNELS, *_MEMBERS, FIELD)


def members(suite: str) -> tuple[str, ...]:
    """Names of the kernels of a suite that there are."""
    there, of_field = kernel_names(), kernel_names(FIELD)
    if suite == FIELD:
        return of_field
    wanted = _MEMBERS.get(suite, there)
    return tuple(name for name in wanted if name in there and name not in of_field)
