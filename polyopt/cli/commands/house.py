"""``doctor`` and ``cache``: what polyopt sees of the machine, and what it keeps on it."""

from __future__ import annotations

import importlib.metadata
import platform
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from polyopt import __version__
from polyopt.cli.boundary import MISTAKE
from polyopt.cli.options import json_option
from polyopt.cli.output import bytes_text, console, print_json, print_table, wrapped
from polyopt.cli.waiting import progress
from polyopt.errors import PolyoptError
from polyopt.extras import install_command

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from polyopt.runtime.toolchain import Toolchain


@dataclass(frozen=True)
class Finding:
    """One thing looked at: ``state`` is ``ok``, ``missing`` (optional) or ``broken``."""

    name: str
    state: str
    detail: str
    hint: str = ""


#: the column at which details start
_DETAIL = 21
#: what an extra is for, by one of its distributions
_EXTRAS = {
    "matplotlib": "jupyter", "ipykernel": "jupyter", "ipywidgets": "jupyter", "textual": "tui",
    "pillow": "demo", "onnx": "nn", "halide": "peers", "numba": "peers", "dask": "scale",
}  # fmt: skip


@click.command(short_help="Check compiler, threads, vectors, caches, speed and libraries.")
@json_option
@click.pass_context
def doctor(ctx: click.Context, *, as_json: bool) -> None:
    """Check compiler, OpenMP, cache and libraries, measure memory and arithmetic.

    Exits with 2 if something needed is broken; says what to install.
    """
    with progress("measuring"):
        findings = list(_findings())
    healthy = all(f.state != "broken" for f in findings)
    if as_json:
        print_json({"healthy": healthy, "findings": [asdict(f) for f in findings]})
    else:
        styles = {"ok": "green", "missing": "yellow", "broken": "bold red"}
        out = console()
        for f in findings:
            out.print(f"{f.state:<8}", style=styles[f.state], end="", markup=False)
            shown = wrapped(f"{'':<8}{f.name:<13}{f.detail}", indent=_DETAIL)
            out.print(shown[8:], markup=False, soft_wrap=True)
            if f.hint:
                out.print(f"{'':<{_DETAIL}}hint: {f.hint}", markup=False, soft_wrap=True)
    if not healthy:
        ctx.exit(MISTAKE)


def _findings() -> Iterator[Finding]:
    yield Finding("polyopt", "ok", f"{__version__}, {Path(__file__).resolve().parents[2]}")
    python = f"{platform.python_implementation()} {platform.python_version()}"
    yield Finding("python", "ok", f"{python} on {platform.system()} {platform.machine()}")
    for name in ("islpy", "numpy", "sympy", "pycparser", "pcpp"):
        yield _library(name)
    yield from _guarded("compiler", _compiler)
    yield from _guarded("target", _target)
    yield from _guarded("cache", _cache)
    yield from _guarded("kernels", _kernels)
    for name, extra in _EXTRAS.items():
        yield _library(name, extra)


def _guarded(name: str, look: Callable[[], Iterator[Finding]]) -> Iterator[Finding]:
    try:
        yield from look()
    except PolyoptError as error:
        shown = error.diagnostic
        detail = "; ".join([shown.message, *shown.notes[:1]])
        yield Finding(name, "broken", detail, shown.hint)


def _library(name: str, extra: str = "") -> Finding:
    try:
        return Finding(name, "ok", importlib.metadata.version(name))
    except importlib.metadata.PackageNotFoundError:
        install = install_command(extra, name) if extra else f"pip install {name}"
        return Finding(name, "missing" if extra else "broken", "not installed", install)


def _compiler() -> Iterator[Finding]:
    from polyopt.runtime.toolchain import find_toolchain

    toolchain = find_toolchain()
    yield Finding("compiler", "ok", f"{toolchain} ({' '.join(toolchain.command)})")
    yield _compiles(toolchain)
    if toolchain.has_openmp:
        yield Finding("openmp", "ok", "parallel loops use threads")
    else:
        hint = "install libgomp or libomp, or choose another compiler by POLYOPT_CC"
        yield Finding("openmp", "missing", "kernels run on one thread", hint)
    yield from _limits()


def _compiles(toolchain: Toolchain) -> Finding:
    from polyopt.codegen.target import native_target

    flags = toolchain.flags(native_target().flags)
    with tempfile.TemporaryDirectory(prefix="polyopt-") as folder:
        source = Path(folder, "probe.c")
        source.write_text("int probe(int n) { return n + 1; }\n", encoding="ascii")
        toolchain.compile_library(source, Path(folder, "probe.so"), flags, timeout_s=60)
    return Finding("flags", "ok", " ".join(flags))


def _target() -> Iterator[Finding]:
    from polyopt.codegen.target import cpu_name, native_target

    t = native_target()
    yield Finding("cpu", "ok", f"{cpu_name()}, {t.cores} cores usable")
    detail = (
        f"{t.isa}: vectors of {t.vector_bytes} bytes, {t.registers} registers, "
        f"L1 {bytes_text(t.l1_bytes)}, L2 {bytes_text(t.l2_bytes)}, "
        f"last cache {bytes_text(t.last_bytes)}"
    )
    yield Finding("target", "ok", detail)


def _limits() -> Iterator[Finding]:
    """Measured with C of our own, a second or two; nothing of it stays."""
    from polyopt.bench.machine import machine

    with tempfile.TemporaryDirectory(prefix="polyopt-") as folder:
        found = machine(None, Path(folder))
    counts = sorted(found.bandwidth_gbs)
    one, *more = (f"{found.bandwidth_gbs[n]:.3g} GB/s" for n in counts)
    many = f"; {more[0]} on {counts[-1]}" if more else ""
    yield Finding("bandwidth", "ok", f"{one} on one thread{many}, from memory and back")
    one, *more = (f"{found.peak_gflops[n]:.3g} Gflop/s" for n in counts)
    many = f"; {more[0]} on {counts[-1]}" if more else ""
    yield Finding("peak", "ok", f"{one} on one thread{many}, multiply-adds on f32")


def _cache() -> Iterator[Finding]:
    from polyopt.runtime.cache import LIBRARY, SOURCE, KernelCache

    store = KernelCache()

    def fill(folder: Path) -> None:
        for name in (SOURCE, LIBRARY):
            (folder / name).write_text("doctor", encoding="ascii")

    key = "doctor"
    entry = store.library(key, key, fill).parent
    for file in entry.iterdir():
        file.unlink()
    entry.rmdir()
    count, size = len(store.list()), bytes_text(store.size())
    yield Finding("cache", "ok", f"{store.directory}: {count} kernels, {size}")


def _kernels() -> Iterator[Finding]:
    from polyopt.library import kernel_names, recipe_names

    names = kernel_names()
    yield Finding("kernels", "ok", f"{len(names)}, {len(recipe_names())} with a recipe")


@click.group(invoke_without_command=True)
@click.pass_context
def cache(ctx: click.Context) -> None:
    """The kernels compiled so far: list (the default), size, clear."""
    if ctx.invoked_subcommand is None:
        ctx.invoke(cache_list, as_json=False)


@cache.command("list")
@json_option
def cache_list(*, as_json: bool) -> None:
    """List the cached kernels, the oldest first."""
    from polyopt.runtime.cache import KernelCache

    store = KernelCache()
    entries = store.list()
    if as_json:
        listed = [
            {"key": e.key, "name": e.name, "bytes": e.bytes, "created": e.created,
             "path": str(e.path)} for e in entries
        ]  # fmt: skip
        print_json({"directory": str(store.directory), "entries": listed})
        return
    rows = [
        (e.name, e.key[:12], bytes_text(e.bytes),
         time.strftime("%Y-%m-%d %H:%M", time.localtime(e.created))) for e in entries
    ]  # fmt: skip
    if rows:
        print_table(
            [("kernel", "left"), ("key", "left"), ("size", "right"), ("made", "left")], rows
        )
    click.echo(f"{len(rows)} kernels in {store.directory}")


@cache.command("size")
@json_option
def cache_size(*, as_json: bool) -> None:
    """Say how much room the cache takes."""
    from polyopt.runtime.cache import KernelCache

    store = KernelCache()
    used, count = store.size(), len(store.list())
    if as_json:
        print_json({"directory": str(store.directory), "bytes": used, "entries": count})
    else:
        click.echo(f"{bytes_text(used)} in {count} kernels, {store.directory}")


@cache.command("clear")
@json_option
def cache_clear(*, as_json: bool) -> None:
    """Remove every cached kernel; they are made again when next needed."""
    from polyopt.runtime.cache import KernelCache

    store = KernelCache()
    removed = store.clear()
    if as_json:
        print_json({"directory": str(store.directory), "removed": removed})
    else:
        click.echo(f"removed {removed} kernels from {store.directory}")
