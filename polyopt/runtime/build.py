"""A C program made into a shared library, through the cache."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from polyopt.codegen.target import core_count, cpu_id
from polyopt.codegen.validate.on_build import NOT_CHECKED, PENDING
from polyopt.errors import CompilerFailedError, InvalidOptionError
from polyopt.runtime.cache import LIBRARY, SOURCE, KernelCache, content_key
from polyopt.runtime.checking.aside import Pending
from polyopt.runtime.load import is_library
from polyopt.runtime.processes import helpers, result_of
from polyopt.runtime.reports.notes import CompilerReport, about, read_report, write_report
from polyopt.runtime.toolchain import find_toolchain

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Executor
    from pathlib import Path

    from polyopt.codegen.signature import CProgram
    from polyopt.codegen.target import Target
    from polyopt.codegen.validate.on_build import Check
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
    #: the check that goes on; then ``checked`` says nothing yet
    pending: Pending | None = None

    @property
    def is_checked(self) -> bool:
        """Whether its C was checked, or is being."""
        return self.checked != NOT_CHECKED

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


def build_library(  # noqa: PLR0913 (options of a build, by name)
    program: CProgram,
    target: Target,
    *,
    reference: CProgram | Callable[[], CProgram] | None = None,
    cc: str | None = None,
    openmp: bool | None = None,
    contract: bool | None = None,
    cache: Path | str | None = None,
    check: Check | None = None,
    aside: bool = False,
) -> Built:
    """Compile, or find compiled, ``program`` for ``target``; see ``compile_kernel``.

    With ``check`` the C text is validated while the compiler runs, once for each entry of the
    cache; ``aside`` in another process, and nothing waits for it. Raises ``InternalError`` where it
    is wrong.
    """
    order = _ordered(program, target, cc=cc, openmp=openmp, contract=contract, cache=cache)
    built = order.built_before(check) if check and aside else order.built(check)
    return replace(built, given_reference=reference)


def start_build(
    program: CProgram,
    target: Target,
    pool: Executor,
    *,
    cc: str | None = None,
    cache: Path | str | None = None,
    check: Check | None = None,
) -> Callable[[], Built]:
    """The same in a thread of a pool; what comes back waits for it.

    With ``check`` the C text is validated here, beside the compiler: isl computes in one thread.
    Raises ``InternalError`` where it is wrong, and what finding the compiler does.
    """
    order = _ordered(program, target, cc=cc, openmp=None, contract=None, cache=cache)
    library = pool.submit(order.built)
    fact = _fact(check)
    known = order.cache.facts(order.key).get(fact) if check else NOT_CHECKED
    checked = known if known is not None or check is None else check()

    def finished() -> Built:
        built = result_of(library)
        if known is None:
            order.cache.add_facts(order.key, {fact: checked or ""})
        return replace(built, checked=checked or "")

    return finished


def build_like(built: Built, program: CProgram) -> Built:
    """Another program, compiled with the same compiler, target and options."""
    flags = built.toolchain.flags((*built.target.flags, *program.flags), contract=built.contract)
    order = _Order(
        program, built.toolchain, flags, threaded=False, target=built.target,
        contract=built.contract, cache=built.cache,
    )  # fmt: skip
    return order.built()


@dataclass(frozen=True, eq=False)
class _Order:
    """A library that is wanted: see ``Built``."""

    program: CProgram
    toolchain: Toolchain
    flags: tuple[str, ...]
    threaded: bool
    target: Target
    contract: bool
    cache: KernelCache
    remarks: tuple[str, ...] = ()

    @cached_property
    def key(self) -> str:
        """What it is called in the cache."""
        return content_key(
            _FORMAT,
            self.program.source,
            "\0".join(self.flags),
            "\0".join(self.toolchain.command),
            self.toolchain.version,
            self.toolchain.identity,
            cpu_id() if "-march=native" in self.flags else "",
        )

    def built(self, check: Check | None = None) -> Built:
        """It, from the cache, or made with its C text checked meanwhile."""
        fact = _fact(check)

        def build(directory: Path) -> dict[str, str]:
            with helpers(1) as aside:
                compiled = aside.submit(self._compile, directory)
                facts = {fact: check()} if check else {}
                told = result_of(compiled)
            if told is not None:
                write_report(about(told, self.program.vector_loops), directory)
            _need_library(directory / LIBRARY)
            return facts

        found = self.cache.library(self.key, self.program.name, build)
        return Built(
            found, self.toolchain, self.flags, self.threaded, self.target, None, self.contract,
            self.cache, self.remarks, self._checked(fact, check) if check else NOT_CHECKED,
        )  # fmt: skip

    def built_before(self, check: Check) -> Built:
        """It, with its C text checked in another process, where that was not done before."""
        fact, built = _fact(check), self.built()
        known = self.cache.facts(self.key).get(fact)
        if known is not None:
            return replace(built, checked=known)
        pending = Pending(
            self.program.name,
            check,
            lambda text: self.cache.add_facts(self.key, {fact: text}),
            lambda: self.cache.drop(built.library),
        )
        return replace(built, checked=PENDING, pending=pending)

    def _compile(self, directory: Path) -> CompilerReport | None:
        source = directory / SOURCE
        source.write_text(self.program.source, encoding="utf-8")
        return self.toolchain.compile_reported(source, directory / LIBRARY, self.flags)

    def _checked(self, fact: str, check: Check) -> str:
        known = self.cache.facts(self.key).get(fact)
        if known is None:  # it was built without, or for another program
            known = check()
            self.cache.add_facts(self.key, {fact: known})
        return known


def _ordered(
    program: CProgram,
    target: Target,
    *,
    cc: str | None,
    openmp: bool | None,
    contract: bool | None,
    cache: Path | str | None,
) -> _Order:
    """What is to be built, with the compiler that there is. Raises ``InvalidOptionError``."""
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
    return _Order(program, toolchain, flags, threaded, target, once, KernelCache(cache), remarks)


def _fact(check: Check | None) -> str:
    """The name of what a check found, among the facts of an entry."""
    return f"code {check.key}" if check else ""


def _need_library(made: Path) -> None:
    """Raises ``CompilerFailedError`` where a compiler ended well with something else."""
    if made.exists() and not is_library(made):
        msg = "what the C compiler made is no library"
        hint = "see `polyopt doctor`; another compiler is chosen with POLYOPT_CC"
        raise CompilerFailedError(msg, hint=hint)
