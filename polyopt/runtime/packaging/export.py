"""A kernel as a folder with a C library, or as a wheel: all files, or none when something fails."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from polyopt.runtime.export import write_directory
from polyopt.runtime.packaging.build_files import build_files
from polyopt.runtime.packaging.kernel import kernel_interface, kernel_sources
from polyopt.runtime.packaging.wheel import Wheel, write_wheel

if TYPE_CHECKING:
    from polyopt.runtime.kernel import Kernel


def export_library(kernel: Kernel, directory: Path | str) -> Path:
    """See ``Kernel.export_library``. Raises ``InvalidOptionError``."""
    interface = kernel_interface(kernel)
    made = kernel_sources(kernel, interface)
    return write_directory(Path(directory), {**made.files, **build_files(interface, made)})


def export_wheel(
    kernel: Kernel, directory: Path | str, name: str | None, version: str, *, openmp: bool
) -> Path:
    """See ``Kernel.export_wheel``. Raises what ``write_wheel`` raises."""
    interface = kernel_interface(kernel)
    wheel = Wheel.of(interface, name, version)
    made = kernel_sources(kernel, interface)
    return write_wheel(wheel, made, kernel.built.toolchain, {}, Path(directory), openmp=openmp)
