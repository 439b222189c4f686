"""The file with a network's weights: a header, then each constant at a multiple of 64 bytes.

The header says what the file is (magic, version, order of bytes), how long it is and where the
first weight is, a sum over the weights, and a digest that the library has as well: kernels may rest
on what weights are, so a library takes the ones that it was made with, and no others.
"""

from __future__ import annotations

import hashlib
import struct
import zlib
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from polyopt.graph.execution.memory import aligned

if TYPE_CHECKING:
    from collections.abc import Mapping

    from polyopt.graph.ir.graph import Array

#: the first bytes of every such file
MAGIC = "POLYOPTW"
#: of the format
VERSION = 1
#: magic, version, order of bytes, bytes of the file, bytes before the weights, sum, digest
_HEADER = struct.Struct("=8sIIQQQ32s")
#: reads as this where bytes are in the order in which they were written
_ORDER = 0x01020304


@dataclass(frozen=True, eq=False)
class Weights:
    """Constants of a network, in the order in which they lie in the file."""

    arrays: Mapping[str, Array]

    @cached_property
    def offsets(self) -> Mapping[str, int]:
        """Bytes from the first weight to each."""
        found: dict[str, int] = {}
        end = 0
        for name, array in self.arrays.items():
            found[name] = end
            end = aligned(end + array.nbytes)
        return found

    @cached_property
    def contents(self) -> bytes:
        """The constants at their places."""
        packed = bytearray(sum(aligned(array.nbytes) for array in self.arrays.values()))
        for name, start in self.offsets.items():
            array = self.arrays[name]
            packed[start : start + array.nbytes] = array.tobytes()
        return bytes(packed)

    @property
    def start(self) -> int:
        """Bytes before the first weight."""
        return aligned(_HEADER.size)

    @property
    def file_bytes(self) -> int:
        """Bytes of the file."""
        return self.start + len(self.contents)

    @cached_property
    def identity(self) -> bytes:
        """A digest of names, types, shapes and contents."""
        described = [(n, a.dtype.name, a.shape, self.offsets[n]) for n, a in self.arrays.items()]
        return hashlib.sha256(repr(described).encode() + b"\0" + self.contents).digest()

    @property
    def file(self) -> bytes:
        """The whole file."""
        header = _HEADER.pack(
            MAGIC.encode(), VERSION, _ORDER, self.file_bytes, self.start,
            zlib.crc32(self.contents), self.identity,
        )  # fmt: skip
        return header.ljust(self.start, b"\0") + self.contents
