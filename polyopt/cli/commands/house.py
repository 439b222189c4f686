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
from polyopt.oneline import some

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from polyopt.runtime.toolchain import Toolchain
    from polyopt.scheduler.model.machine import Value


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
    "matplotlib": "jupyter", "ipykernel": "jupyter", "anywidget": "jupyter", "textual": "tui",
    "pillow": "demo", "onnx": "nn", "halide": "peers", "numba": "peers", "dask": "scale",
}  # fmt: skip


#: what the time model's costs are counted in, where it is not cycles
_UNITS = {
    "clock": "10^9 Hz", "divide": "cycles/byte", "bandwidth": "bytes/cycle",
    "shared": "bytes/cycle", "region": "ns",
}  # fmt: skip
_LEGEND = """
Instructions are of vectors; gather, call and integer divide are per number.
bandwidth: one core reads from the second-level cache, the last one, memory;
shared: all cores together. region: to start threads and wait for the last.
"""


@click.command(short_help="Check compiler, threads, vectors, caches, speed and libraries.")
@click.option(
    "--measure", is_flag=True,
    help="Measure what instructions, caches and threads cost here, and keep it: the time model "
    "goes by it from then on. A few seconds; best while nothing else runs.",
)  # fmt: skip
@json_option
@click.pass_context
def doctor(ctx: click.Context, *, measure: bool, as_json: bool) -> None:
    """Check compiler, OpenMP, cache and libraries, measure memory and arithmetic.

    Exits with 2 if something needed is broken; says what to install.
    """
    with progress("measuring"):
        if measure:
            _measure()
        findings = list(_findings())
    healthy = all(f.state != "broken" for f in findings)
    if as_json:
        costs = {"costs": _costs_in_use()} if measure else {}
        print_json({"healthy": healthy, "findings": [asdict(f) for f in findings], **costs})
    else:
        styles = {"ok": "green", "missing": "yellow", "broken": "bold red"}
        out = console()
        for f in findings:
            out.print(f"{f.state:<8}", style=styles[f.state], end="", markup=False)
            shown = wrapped(f"{'':<8}{f.name:<13}{f.detail}", indent=_DETAIL)
            out.print(shown[8:], markup=False, soft_wrap=True)
            if f.hint:
                out.print(f"{'':<{_DETAIL}}hint: {f.hint}", markup=False, soft_wrap=True)
        if measure:
            click.echo()
            _print_costs()
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
    yield _costs()
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
    # a list of features is longer than a line
    return Finding("flags", "ok", " ".join(flags).replace(",", ", "))


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


def _measure() -> None:
    from polyopt.bench.costs import measured
    from polyopt.codegen.target import core_count
    from polyopt.scheduler.model.machine import keep_measured

    keep_measured(measured(), core_count())


def _costs() -> Finding:
    """Which costs the time model goes by."""
    from polyopt.codegen.target import core_count, native_target
    from polyopt.scheduler.model.machine import measured_costs

    found, name, command = measured_costs(), "costs", "polyopt doctor --measure"
    if found.fault:
        detail = f"{found.path} is ignored: {found.fault}"
        return Finding(name, "missing", detail, f"{command} writes it anew")
    if not found.values:
        detail = f"those of a typical machine with {native_target().isa}"
        return Finding(name, "ok", detail, f"{command} finds out those of this one")
    detail = f"measured on {some(found.cores, 'core')}, {found.path}"
    hint = f"{command} measures on all {core_count()}" if found.cores != core_count() else ""
    return Finding(name, "ok", detail, hint)


def _costs_in_use() -> dict[str, object]:
    from polyopt.codegen.target import native_target
    from polyopt.scheduler.model.machine import costs_of

    return asdict(costs_of(native_target()))


def _print_costs() -> None:
    """What was measured beside what is typical."""
    from polyopt.codegen.target import native_target
    from polyopt.scheduler.model.machine import measured_costs, typical_costs

    typical = asdict(typical_costs(native_target()))
    rows = [
        (name.replace("_", " "), _digits(value), _digits(typical[name]), _UNITS.get(name, "cycles"))
        for name, value in measured_costs().values.items()
    ]
    titles = ("cost", "here", native_target().isa, "in")
    print_table(list(zip(titles, ("left", "right", "right", "left"), strict=True)), rows)
    click.echo(_LEGEND.rstrip())


def _digits(cost: Value) -> str:
    return ", ".join(f"{number:g}" for number in (cost if isinstance(cost, tuple) else (cost,)))


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
