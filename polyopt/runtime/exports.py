"""What a kernel can be written out as: a folder that checks and times it, a C library, a wheel."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from polyopt.arguments import checks_methods

if TYPE_CHECKING:
    from pathlib import Path

    from polyopt.runtime.kernel import Kernel


@checks_methods
class KernelExports:
    """The methods of a kernel that write files."""

    @property
    def _kernel(self) -> Kernel:
        return cast("Kernel", self)

    def export(self, directory: Path | str, /, **sizes: int) -> Path:
        """Write a standalone directory: header, C, reference, ``bench.c``, Makefile.

        ``sizes`` are what ``bench`` runs on unless told otherwise on its command line.
        """
        from polyopt.runtime.export import export

        return export(self._kernel, directory, sizes)

    def stub(self) -> str:
        """The signature of calls for type checkers and editors: the text of a ``.pyi`` file.

        It declares a function called as the program; sizes that follow from shapes are keywords.
        """
        from polyopt.runtime.packaging.stub import kernel_stub

        return kernel_stub(self._kernel)

    def export_library(self, directory: Path | str) -> Path:
        """Write a C library: header, C, ``CMakeLists.txt``, ``Makefile``, pkg-config, an example.

        ``NAME_run`` there checks what it is given, and returns a status; ``NAME_message`` says
        what one means. Raises ``InvalidOptionError`` when the directory cannot be written.
        """
        from polyopt.runtime.packaging.export import export_library

        return export_library(self._kernel, directory)

    def export_wheel(
        self,
        directory: Path | str,
        *,
        name: str | None = None,
        version: str = "1.0.0",
        openmp: bool = True,
    ) -> Path:
        """Write a wheel into a directory; its path. What is installed from it needs NumPy alone.

        Its module, called ``name`` or else as the program, has a function ``run``. It is compiled
        for the target of this kernel: ``target="avx2"`` of ``compile`` runs on most processors.
        ``openmp=False`` makes a library of one thread that needs no OpenMP.

        Raises ``InvalidOptionError`` for a name that is no module's or another's, for what is no
        version, and when the directory cannot be written; ``CompilerFailedError``.
        """
        from polyopt.runtime.packaging.export import export_wheel

        return export_wheel(self._kernel, directory, name, version, openmp=openmp)
