"""C compilers: a program's own C as they make it, by themselves or with a polyhedral optimiser."""

from __future__ import annotations

import subprocess
import tempfile
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from polyopt.bench.peers.call import Offer, PeerCall, nothing
from polyopt.bench.peers.source import Memory, build, source_text
from polyopt.codegen.target import native_target
from polyopt.errors import CompilerFailedError, CompilerMissingError, MissingExtraError
from polyopt.runtime.toolchain import find_toolchain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polyopt.bench.peers.call import Request
    from polyopt.bench.peers.source import Built, SourceText
    from polyopt.runtime.toolchain import Toolchain

#: seconds that a compiler may take for one form
_TIMEOUT_S = 20.0
#: calls longer than this are tried once
_LONG_S = 0.5
_PROBE = "void probe(int n, double *a) { for (int i = 0; i < n; i++) a[i] = 1; }\n"


@dataclass(frozen=True)
class Compiler:
    """A command, what it is told besides the flags of our own C, and what makes it use threads."""

    command: str
    flags: tuple[str, ...] = ()
    #: with the number in place of ``{threads}``; empty where it uses one thread only
    parallel: tuple[str, ...] = ()
    hint: str = ""

    def flags_for(self, threads: int) -> tuple[str, ...]:
        """The flags of a form on so many threads."""
        more = self.parallel if threads > 1 else ()
        return (*self.flags, *(flag.format(threads=threads) for flag in more))


def _llvm(*options: str) -> tuple[str, ...]:
    return tuple(part for option in options for part in ("-mllvm", option))


COMPILERS = {
    "clang": Compiler("clang"),
    "gcc": Compiler("gcc"),
    "graphite": Compiler(
        "gcc",
        ("-floop-nest-optimize", "-fgraphite-identity"),
        ("-floop-parallelize-all", "-ftree-parallelize-loops={threads}"),
        hint="it needs a gcc that was built with isl",
    ),
    "polly": Compiler(
        "clang",
        _llvm("-polly", "-polly-vectorizer=stripmine"),
        (*_llvm("-polly-parallel", "-polly-num-threads={threads}"), "-fopenmp=libgomp"),
        hint="it needs a clang that was built with Polly, such as Debian's",
    ),
}


def compiler_version(peer: str) -> str:
    """The version line of a peer's compiler."""
    return find_toolchain(COMPILERS[peer].command).version


@cache
def check_compiler(peer: str) -> None:
    """Raises ``MissingExtraError`` where a compiler, or its optimiser, is not on the machine."""
    compiler = COMPILERS[peer]
    try:
        toolchain = find_toolchain(compiler.command)
    except CompilerMissingError as error:
        msg = f"the peer {peer} is not installed ({error.diagnostic.message})"
        raise MissingExtraError(msg, hint=f"install {compiler.command}") from None
    said = _complaints(toolchain, compiler.flags_for(2))
    if said:
        msg = f"the peer {peer} is not installed ({said.splitlines()[0]})"
        raise MissingExtraError(msg, hint=compiler.hint)


def _complaints(toolchain: Toolchain, flags: tuple[str, ...]) -> str:
    """What a compiler says to flags; nothing where it takes them all."""
    if not flags:
        return ""
    with tempfile.TemporaryDirectory(prefix="polyopt-") as folder:
        source, library = Path(folder, "probe.c"), Path(folder, "probe.so")
        source.write_text(_PROBE, encoding="ascii")
        files = ("-shared", "-fPIC", str(source), "-o", str(library))
        done = subprocess.run(
            [*toolchain.command, "-O2", *flags, *files],
            capture_output=True, text=True, errors="replace", check=False, timeout=60,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
    return done.stderr.strip()


def calls(request: Request, peer: str) -> Offer:
    """The fastest form for each number of threads, by a first call of each.

    Sizes are arguments, as in the source, or constants, as benchmark suites have them.
    """
    offer = Offer()
    if request.scop is None:
        return offer
    made = _Forms(request, peer, source_text(request.scop, request.sizes))
    chosen: dict[tuple[bool, int], list[int]] = {}
    for threads in request.threads:
        fastest = made.fastest(threads)
        if fastest is not None:
            chosen.setdefault(fastest, []).append(threads)
    offer.calls += [made.peer_call(*form, tuple(counts)) for form, counts in chosen.items()]
    offer.notes += made.notes
    return offer


class _Forms:
    """What a compiler makes of a text, each form when it is first asked for."""

    def __init__(self, request: Request, peer: str, text: SourceText) -> None:
        self.request, self.peer, self.text = request, peer, text
        self.compiler = COMPILERS[peer]
        self.toolchain = find_toolchain(self.compiler.command)
        self.memory = Memory(text, request.sizes, request.inputs, request.outputs)
        self.notes: list[str] = []
        self._built: dict[tuple[bool, int], Built | None] = {}
        self._seconds: dict[tuple[bool, int], float] = {}

    def fastest(self, threads: int) -> tuple[bool, int] | None:
        """Whether sizes are constants, and the threads that the compiler may use.

        Threads are tried of the form that is the faster on one: some forms take minutes.
        """
        best = self._fastest_of([(False, 1), (True, 1)])
        if best is None or threads == 1 or not self.compiler.parallel:
            return best
        return self._fastest_of([best, (best[0], threads)])

    def _fastest_of(self, forms: Sequence[tuple[bool, int]]) -> tuple[bool, int] | None:
        works = {form: taken for form in forms if (taken := self.seconds(*form)) is not None}
        return min(works, key=works.__getitem__, default=None)

    def seconds(self, fixed: bool, threads: int) -> float | None:  # noqa: FBT001
        """What a first call takes; ``None`` where the form does not compile."""
        built = self._form(fixed, threads)
        if built is None:
            return None
        if (fixed, threads) not in self._seconds:
            taken = self._timed(built)
            again = taken if taken > _LONG_S else self._timed(built)
            self._seconds[fixed, threads] = min(taken, again)
        return self._seconds[fixed, threads]

    def _timed(self, built: Built) -> float:
        self.memory.restore()
        start = time.perf_counter()
        self.memory.call(built)
        return time.perf_counter() - start

    def _form(self, fixed: bool, threads: int) -> Built | None:  # noqa: FBT001
        if (fixed, threads) not in self._built:
            self._built[fixed, threads] = self._compiled(fixed, threads)
        return self._built[fixed, threads]

    def _compiled(self, fixed: bool, threads: int) -> Built | None:  # noqa: FBT001
        flags = self.toolchain.flags(native_target().flags)
        known = self.request.sizes if fixed else None
        try:
            return build(
                self.text,
                self.toolchain,
                (*flags, *self.compiler.flags_for(threads)),
                known=known,
                timeout_s=_TIMEOUT_S,
            )
        except CompilerFailedError as error:
            said = error.diagnostic.message
            self.notes.append(f"{self.peer} of {self.request.kernel}: {said}")
            return None

    def peer_call(self, fixed: bool, threads: int, counts: tuple[int, ...]) -> PeerCall:  # noqa: FBT001
        """A form for the numbers of threads on which it is the fastest."""
        built = self._form(fixed, threads)
        assert built is not None
        schedule = "constant sizes" if fixed else "sizes as arguments"
        if self.compiler.parallel and threads > 1:
            schedule += ", parallel"
        return PeerCall(
            self.peer,
            schedule,
            lambda: self.memory.call(built),
            nothing,
            self.memory.results,
            built.compile_s,
            restore=self.memory.restore if self.memory.changes_inputs else None,
            threads=counts,
        )
