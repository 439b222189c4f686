"""A wheel with a compiled library and a module that calls it, which need NumPy alone."""

from __future__ import annotations

import base64
import hashlib
import io
import keyword
import platform
import re
import sys
import sysconfig
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from polyopt.codegen.target import core_count
from polyopt.errors import InvalidOptionError
from polyopt.escaping import printable
from polyopt.runtime.export import write_directory
from polyopt.runtime.packaging.module import module_text
from polyopt.runtime.packaging.stub import module_stub
from polyopt.runtime.processes import helpers, result_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from polyopt.runtime.packaging.build_files import Sources
    from polyopt.runtime.packaging.interface import Interface
    from polyopt.runtime.toolchain import Toolchain

#: names of modules that are names of packages as well
_MODULE = re.compile(r"[A-Za-z][A-Za-z0-9_]*", re.ASCII)
#: what the standard on versions (PEP 440) takes, in its normal form
_VERSION = re.compile(r"\d+(\.\d+)*((a|b|rc)\d+)?(\.post\d+)?(\.dev\d+)?")
#: the earliest time that archives can hold: the same files make the same wheel
_WHEN = (1980, 1, 1, 0, 0, 0)
#: what is compiled around the kernels, in which nothing is computed
_PLAIN = ("-std=gnu11", "-O2")


@dataclass(frozen=True)
class Wheel:
    """A wheel's interface, module and version."""

    interface: Interface
    name: str
    version: str

    @classmethod
    def of(cls, interface: Interface, name: str | None, version: str) -> Wheel:
        """The wheel of that name, by default the library's.

        Raises ``InvalidOptionError`` for a name that cannot be imported, or that others have, and
        for what is no version.
        """
        chosen = interface.name if name is None else name
        if not _MODULE.fullmatch(chosen) or keyword.iskeyword(chosen):
            msg = f"{chosen!r} cannot be the name of a module"
            raise InvalidOptionError(msg, hint="letters, digits and _, such as name='my_net'")
        if chosen in sys.stdlib_module_names or chosen in {"numpy", "polyopt"}:
            msg = f"{chosen!r} is the name of another module"
            raise InvalidOptionError(msg, hint="choose another: name='my_net'")
        if not _VERSION.fullmatch(version):
            msg = f"{version!r} is not a version as packages have them"
            raise InvalidOptionError(msg, hint="such as version='1.0' or '1.2.post1'")
        return cls(interface, chosen, version)

    @property
    def tag(self) -> str:
        """For any Python 3 on this kind of machine."""
        system = sysconfig.get_platform().replace("universal2", platform.machine())
        return f"py3-none-{re.sub(r'[-.]', '_', system)}"

    @property
    def distribution(self) -> str:
        """The normalised name, as file names have it."""
        return re.sub(r"_+", "_", self.name).strip("_").lower()

    @property
    def file(self) -> str:
        """The name of the wheel's file."""
        return f"{self.distribution}-{self.version}-{self.tag}.whl"


def write_wheel(
    wheel: Wheel,
    made: Sources,
    toolchain: Toolchain,
    more: Mapping[str, bytes],
    directory: Path,
    *,
    openmp: bool,
) -> Path:
    """Compile, and write the wheel into a directory; its path.

    ``more`` are further files of the module. Without ``openmp`` the library needs no OpenMP, and
    has one thread. Raises ``InvalidOptionError`` when the directory cannot be written, and what the
    toolchain raises.
    """
    library = _compiled(wheel.interface.name, made, toolchain, openmp=openmp)
    module = {
        "__init__.py": module_text(wheel.interface, wheel.version).encode(),
        "__init__.pyi": module_stub(wheel.interface).encode(),
        "py.typed": b"",
        f"lib{wheel.interface.name}.so": library,
        **more,
    }
    files = {f"{wheel.name}/{file}": data for file, data in module.items()}
    write_directory(directory, {wheel.file: _packed(wheel, files)})
    return directory / wheel.file


def _compiled(name: str, made: Sources, toolchain: Toolchain, *, openmp: bool) -> bytes:
    """The shared library, each kernel compiled as it was before."""
    plain = (*_PLAIN, "-fvisibility=hidden")
    kernels = {
        file: [f for f in (*made.flags[file], "-fvisibility=hidden") if openmp or f != "-fopenmp"]
        for file in made.kernels
    }
    commands: dict[str, Sequence[str]] = {f: plain for f in made.others if f.endswith(".c")}
    with tempfile.TemporaryDirectory(prefix="polyopt-") as folder:
        for file, text in made.files.items():
            Path(folder, file).write_text(text, encoding="utf-8")
        objects = [Path(folder, f"{file}.o") for file in (*commands, *kernels)]
        with helpers(core_count()) as pool:
            jobs = [
                pool.submit(toolchain.compile_object, Path(folder, file), made_file, flags)
                for (file, flags), made_file in zip(
                    {**commands, **kernels}.items(), objects, strict=True
                )
            ]
            for job in jobs:
                result_of(job)
        library = Path(folder, f"lib{name}.so")
        threads = any("-fopenmp" in flags for flags in kernels.values())
        toolchain.link_library(objects, library, ("-fopenmp",) if threads else ())
        return library.read_bytes()


def _packed(wheel: Wheel, files: Mapping[str, bytes]) -> bytes:
    """The archive: files, what describes them, and their digests."""
    info = f"{wheel.distribution}-{wheel.version}.dist-info"
    described = {
        f"{info}/METADATA": (
            f"Metadata-Version: 2.1\nName: {wheel.distribution.replace('_', '-')}\n"
            f"Version: {wheel.version}\nSummary: {printable(wheel.interface.title)}\n"
            "Requires-Python: >=3.9\nRequires-Dist: numpy\n"
        ),
        f"{info}/WHEEL": (
            f"Wheel-Version: 1.0\nGenerator: polyopt\nRoot-Is-Purelib: false\nTag: {wheel.tag}\n"
        ),
    }
    held = {**files, **{path: text.encode() for path, text in described.items()}}
    record = "".join(f"{path},sha256={_digest(data)},{len(data)}\n" for path, data in held.items())
    held[f"{info}/RECORD"] = f"{record}{info}/RECORD,,\n".encode()
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, data in held.items():
            entry = zipfile.ZipInfo(path, _WHEN)
            entry.external_attr = 0o644 << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, data)
    return packed.getvalue()


def _digest(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
