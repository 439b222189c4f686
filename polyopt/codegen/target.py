"""The machine that code is made for: vector width, cache sizes, cores."""

from __future__ import annotations

import os
import platform
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from polyopt.errors import InvalidOptionError

_KIB = 1024
#: the last cache of a typical machine
LAST_BYTES = 32 * _KIB * _KIB
#: and its cores: plans for a named target are the same on every machine
_CORES = 4


@dataclass(frozen=True)
class Target:
    """What plans and code depend on: sizes in bytes, caches per core, ``flags`` for the compiler.

    ``registers`` is the number of vector registers, ``last_bytes`` the size of the last cache,
    which cores may share.
    """

    name: str
    isa: str
    vector_bytes: int
    registers: int
    l1_bytes: int
    l2_bytes: int
    cores: int
    flags: tuple[str, ...] = ()
    last_bytes: int = LAST_BYTES

    @property
    def has_packed_dots(self) -> bool:
        """Whether an instruction adds up two products of 16-bit integers."""
        return self.isa in _PACKED_DOTS

    def lanes(self, type_bytes: int) -> int:
        """How many elements of that size one vector holds, at least one."""
        return max(1, self.vector_bytes // type_bytes)


#: isa -> (vector bytes, vector registers)
_VECTORS = {"generic": (16, 16), "avx2": (32, 16), "avx512": (64, 32), "neon": (16, 32)}
#: those with ``pmaddwd`` of whole vectors
_PACKED_DOTS = frozenset({"avx2", "avx512"})
#: Flags that make code for the named target rather than for this machine.
_FLAGS = {
    "generic": (),
    "avx2": ("-mavx2", "-mfma", "-mf16c"),
    "avx512": (
        "-mavx512f", "-mavx512bw", "-mavx512dq", "-mavx512vl", "-mfma", "-mf16c",
        "-mprefer-vector-width=512",
    ),
    "neon": (),
}  # fmt: skip
TARGETS = ("native", *_VECTORS)


def target(name: str | Target = "native") -> Target:
    """The target of that name: ``native`` is this machine, the others typical machines.

    Raises ``InvalidOptionError`` for an unknown name.
    """
    if isinstance(name, Target):
        return name
    if name == "native":
        return native_target()
    if name not in _VECTORS:
        msg = f"no target is called {name!r}"
        raise InvalidOptionError(msg, hint="there are: " + ", ".join(TARGETS))
    return Target(name, name, *_VECTORS[name], 32 * _KIB, 512 * _KIB, _CORES, _FLAGS[name])


@cache
def native_target() -> Target:
    """This machine, as far as it tells; cautious values where it does not."""
    isa = isa_of(cpu_features(), platform.machine())
    flags = ("-march=native",)
    if isa == "avx512":
        flags = (*flags, "-mprefer-vector-width=512")
    l1 = _cache_bytes(1) or 32 * _KIB
    l2 = _cache_bytes(2) or 256 * _KIB
    last = _cache_bytes(4) or _cache_bytes(3) or LAST_BYTES
    return Target("native", isa, *_VECTORS[isa], l1, l2, core_count(), flags, max(l2, last))


def isa_of(features: frozenset[str], architecture: str) -> str:
    """The widest instruction set of ``_VECTORS`` that the features allow."""
    if architecture.lower() in {"arm64", "aarch64"}:
        return "neon"
    if {"avx512f", "avx512bw", "avx512dq", "avx512vl"} <= features:
        return "avx512"
    return "avx2" if {"avx2", "fma"} <= features else "generic"


def core_count() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return max(1, len(os.sched_getaffinity(0)))
    return os.cpu_count() or 1


@cache
def cpu_features() -> frozenset[str]:
    """Feature names as Linux spells them, such as ``avx2``; empty where nothing is known."""
    if platform.system() == "Darwin":
        names = ("machdep.cpu.features", "machdep.cpu.leaf7_features")
        return frozenset(" ".join(map(_sysctl, names)).lower().split())
    info = _cpuinfo()
    return frozenset((info.get("flags") or info.get("Features", "")).split())


@cache
def cpu_name() -> str:
    """The processor's name as people know it."""
    if platform.system() == "Darwin":
        return _sysctl("machdep.cpu.brand_string") or platform.machine()
    info = _cpuinfo()
    return info.get("model name") or info.get("Processor") or platform.machine()


@cache
def cpu_id() -> str:
    """A text that differs between processors for which ``-march=native`` makes other code."""
    fields = ("vendor_id", "cpu family", "model", "CPU implementer", "CPU part")
    info = _cpuinfo()
    known = [info[field] for field in fields if field in info]
    return " ".join([platform.machine(), cpu_name(), *known, *sorted(cpu_features())])


@cache
def _cpuinfo() -> dict[str, str]:
    """What Linux says of the first core, by field; nothing elsewhere."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return {}
    return fields_of(text.split("\n\n", maxsplit=1)[0])


def fields_of(text: str) -> dict[str, str]:
    """Lines such as ``model name : AMD EPYC`` by their fields; of two of one field, the first."""
    pairs = (line.partition(":") for line in reversed(text.splitlines()))
    return {field.strip(): value.strip() for field, colon, value in pairs if colon}


def _sysctl(name: str) -> str:
    try:
        done = subprocess.run(
            ["/usr/sbin/sysctl", "-n", name],
            capture_output=True,
            text=True,
            timeout=10,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def _cache_bytes(level: int) -> int | None:
    """Size of a core's data cache, or ``None`` where the system does not say."""
    if platform.system() == "Darwin":
        kind = "l1d" if level == 1 else f"l{level}"
        text = _sysctl(f"hw.perflevel0.{kind}cachesize") or _sysctl(f"hw.{kind}cachesize")
        return int(text) if text.isdigit() else None
    return _sysfs_cache(Path("/sys/devices/system/cpu/cpu0/cache"), level) or _sysconf_cache(level)


def _sysfs_cache(root: Path, level: int) -> int | None:
    for entry in sorted(root.glob("index*")):
        try:
            kind = (entry / "type").read_text(encoding="ascii").strip()
            found = (entry / "level").read_text(encoding="ascii").strip()
            size = (entry / "size").read_text(encoding="ascii").strip()
        except OSError:
            continue
        scale = {"K": _KIB, "M": _KIB * _KIB}.get(size[-1:], 1)
        digits = size.rstrip("KM")
        if found == str(level) and kind != "Instruction" and digits.isdigit():
            return int(digits) * scale
    return None


def _sysconf_cache(level: int) -> int | None:
    name = "SC_LEVEL1_DCACHE_SIZE" if level == 1 else f"SC_LEVEL{level}_CACHE_SIZE"
    if name not in os.sysconf_names:
        return None
    size = os.sysconf(name)
    return size if size > 0 else None
