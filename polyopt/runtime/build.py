"""A C program made into a shared library, through the cache."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from polyopt.codegen.target import core_count, cpu_id
from polyopt.codegen.validate.on_build import NOT_CHECKED
from polyopt.errors import CompilerFailedError, InvalidOptionError
from polyopt.runtime.cache import LIBRARY, SOURCE, KernelCache, content_key
from polyopt.runtime.load import is_library
from polyopt.runtime.processes import helpers, result_of
from polyopt.runtime.reports.notes import CompilerReport, about, read_report, write_report
from polyopt.runtime.toolchain import find_toolchain

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from polyopt.codegen.signature import CProgram
    from polyopt.codegen.target import Target
    from polyopt.codegen.validate.on_build import CodeCheck
    from polyopt.runtime.toolchain import Toolchain

#: Part of every cache key: raised when what we compile around the C text changes.
_FORMAT = "2"


@dataclass(frozen=True, eq=False)
class Built:
    """A library, and how it was made: enough to make its reference alike."""

    library: Path
    toolchain: Toolchain
    flags: tuple[str, ...]
    uses_openmp: bool
    target: Target
    #: the reference program, or what makes it: few kernels are asked for theirs
    given_reference: CProgram | Callable[[], CProgram] | None
    contract: bool
    cache: KernelCache
    remarks: tuple[str, ...] = ()
    #: what was shown of the C text; see ``check`` of ``build_library``
    checked: str = NOT_CHECKED

    @cached_property
    def reference(self) -> CProgram | None:
        """The same function unscheduled, made when it is first asked for."""
        given = self.given_reference
        return given() if callable(given) else given

    @cached_property
    def report(self) -> CompilerReport | None:
        """What the compiler said of loops when it made the library; ``None`` where that is not
        known."""
        return read_report(self.library.parent)

    @property
    def default_threads(self) -> int:
        """Threads of a call that does not say: all cores, or one without OpenMP."""
        return core_count() if self.uses_openmp else 1


def build_library(
    program: CProgram,
    target: Target,
    *,
    reference: CProgram | Callable[[], CProgram] | None = None,
    cc: str | None = None,
    openmp: bool | None = None,
    contract: bool | None = None,
    cache: Path | str | None = None,
    check: CodeCheck | None = None,
) -> Built:
    """Compile, or find compiled, ``program`` for ``target``; see ``compile_kernel``.

    With ``check`` the C text is validated while the compiler runs, once for each entry of the
    cache. Raises ``InternalError`` where it is wrong.
    """
    toolchain = find_toolchain(cc)
    if openmp and not toolchain.has_openmp:
        msg = f"{toolchain} does not compile OpenMP"
        raise InvalidOptionError(
            msg, hint="leave out openmp=True, or choose another compiler by cc="
        )
    remarks: tuple[str, ...] = ()
    threaded = program.uses_openmp and openmp is not False
    if threaded and not toolchain.has_openmp:
        threaded = False
        remarks = (f"{toolchain} has no OpenMP: the kernel runs on one thread",)
    once = program.may_contract if contract is None else contract
    flags = toolchain.flags((*target.flags, *program.flags), openmp=threaded, contract=once)
    store = KernelCache(cache)
    found, checked = _stored(program, toolchain, flags, store, check)
    return Built(
        found, toolchain, flags, threaded, target, reference, once, store, remarks, checked
    )


def build_like(built: Built, program: CProgram) -> Built:
    """Another program, compiled with the same compiler, target and options."""
    flags = built.toolchain.flags((*built.target.flags, *program.flags), contract=built.contract)
    found, checked = _stored(program, built.toolchain, flags, built.cache)
    return replace(
        built, library=found, flags=flags, uses_openmp=False, given_reference=None, remarks=(),
        checked=checked,
    )  # fmt: skip


def _stored(
    program: CProgram,
    toolchain: Toolchain,
    flags: tuple[str, ...],
    store: KernelCache,
    check: CodeCheck | None = None,
) -> tuple[Path, str]:
    """The library, and what the check said, now or when it was built."""
    fact = f"code {check.key}" if check else ""
    machine = cpu_id() if "-march=native" in flags else ""
    command = "\0".join(toolchain.command)
    key = content_key(
        _FORMAT,
        program.source,
        "\0".join(flags),
        command,
        toolchain.version,
        toolchain.identity,
        machine,
    )

    def build(directory: Path) -> dict[str, str]:
        source = directory / SOURCE
        source.write_text(program.source, encoding="utf-8")
        made = directory / LIBRARY
        with helpers(1) as aside:
            compiled = aside.submit(toolchain.compile_reported, source, made, flags)
            facts = {fact: check()} if check else {}
            told = result_of(compiled)
        if told is not None:
            write_report(about(told, program.vector_loops), directory)
        if made.exists() and not is_library(made):
            msg = "what the C compiler made is no library"
            hint = "see `polyopt doctor`; another compiler is chosen with POLYOPT_CC"
            raise CompilerFailedError(msg, hint=hint)
        return facts

    found = store.library(key, program.name, build)
    if check is None:
        return found, NOT_CHECKED
    checked = store.facts(key).get(fact)
    if checked is None:  # it was built without, or for another program
        checked = check()
        store.add_facts(key, {fact: checked})
    return found, checked
