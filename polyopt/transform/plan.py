"""Plan: an immutable scheduling state. Each move returns a new, legal plan.

A move that would change what the program computes raises there and then, with witnesses. A plan
prints as the loop nest it stands for, and remembers the moves that made it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from inspect import signature
from itertools import chain
from typing import TYPE_CHECKING, Any, Concatenate, Literal, ParamSpec, cast

from polyopt.analysis.bounds import check_bounds, check_initialized
from polyopt.arguments import checks_arguments, checks_methods
from polyopt.errors import IllegalScheduleError, InvalidOptionError
from polyopt.ir.scop import Scop
from polyopt.isl import budget, exclusive, exclusive_property
from polyopt.transform.annotations import loop_kinds as marks
from polyopt.transform.annotations.nontemporal import store_nontemporal
from polyopt.transform.annotations.reassociate import reassociate
from polyopt.transform.editing import PlanEditing
from polyopt.transform.hints import advised
from polyopt.transform.legality.proof import DEFAULT_BUDGET, Flow, Proof, check, program_flow, prove
from polyopt.transform.loops.delay_updates import delay_updates
from polyopt.transform.loops.diamond_tile import diamond
from polyopt.transform.loops.fuse_loops import distribute, fuse_loops
from polyopt.transform.loops.interchange import interchange, reorder
from polyopt.transform.loops.reschedule import check_first, reschedule
from polyopt.transform.loops.reverse import reverse
from polyopt.transform.loops.skew import shift, skew
from polyopt.transform.loops.split import split
from polyopt.transform.loops.split_range import split_range
from polyopt.transform.loops.tile import tile
from polyopt.transform.queries import PlanQueries
from polyopt.transform.rewrites import PlanRewrites
from polyopt.transform.schedule.identity import initial_program, reads_unwritten, source_program
from polyopt.transform.schedule.limits import check_depth
from polyopt.transform.schedule.move import Move
from polyopt.transform.schedule.printer import show_plan, show_script
from polyopt.transform.schedule.query import loops_around
from polyopt.transform.schedule.registry import registered
from polyopt.transform.serialize import arrived, load_plan, write_moves
from polyopt.transform.source.proof import source_shown
from polyopt.transform.storage.fuse import fuse
from polyopt.transform.storage.inline import inline
from polyopt.transform.storage.pack import pack
from polyopt.transform.storage.store_at import store

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from polyopt.codegen.signature import CProgram
    from polyopt.runtime.kernel import Kernel
    from polyopt.transform.schedule.program import ScheduledProgram

_Given = ParamSpec("_Given")


@checks_methods
@dataclass(frozen=True, eq=False, repr=False)
class Plan(PlanEditing, PlanRewrites, PlanQueries):
    """How a Scop is to run: loops, fusion, storage, marks.

    Names, never positions: ``"out"`` is the computation space that writes array ``out``,
    ``"out.y"`` its loop ``y``, ``"out.y_tile"`` the block loop that tiling made of it. ``source``
    is the Scop it was made for, and ``scop`` the same but for moves that
    change the program (``separate_filter``, ``clone_stage``, ``double_buffer``, ...). ``stages``
    are programs on the way from the one to the other, each proven to be the one before.

    Making one raises ``OutOfBoundsError`` or ``UninitializedError`` for a program that leaves
    its arrays or reads what nothing wrote, and ``NotDecidedError`` on a spent budget.
    """

    scop: Scop
    program: ScheduledProgram = field(default=None)  # type: ignore[assignment]
    moves: tuple[Move, ...] = ()
    #: the flow of the source program, shared by all plans made from one
    original: Flow = field(default=None, repr=False)  # type: ignore[assignment]
    #: remarks of whoever chose the moves, for ``explain``
    remarks: tuple[Any, ...] = ()
    checked: bool = True
    source: Scop = field(default=None, repr=False)  # type: ignore[assignment]
    #: programs that the proof compares in turn, between ``source`` and ``scop``
    stages: tuple[Scop, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        if not isinstance(cast("object", self.scop), Scop):
            message = f"a plan is made for a Scop, not for a {type(self.scop).__name__}"
            has_one = isinstance(getattr(self.scop, "scop", None), Scop)
            hint = "it has one: its .scop" if has_one else 'po.parse_c("file.c") gives one'
            raise InvalidOptionError(message, hint=hint)
        if cast("Scop | None", self.source) is None:
            object.__setattr__(self, "source", self.scop)
        if cast("Flow | None", self.original) is None:
            with budget(DEFAULT_BUDGET, f"the dependences of {self.scop.name}"):
                check_bounds(self.scop)
                original = program_flow(source_program(self.scop))
                if reads_unwritten(self.scop, original.no_source):
                    check_initialized(self.scop, self.scop.dependences())
                _ = original.seen  # within the budget
            object.__setattr__(self, "original", original)
        if cast("ScheduledProgram | None", self.program) is None:
            with exclusive():
                program = replace(initial_program(self.scop), flow=self.original.seen)
            object.__setattr__(self, "program", program)

    # -- moves: loops -----------------------------------------------------------------------

    def tile(self, space: str, /, **sizes: int) -> Plan:
        """Blocks of ``sizes`` iterations: ``tile("out", y=64, x=512)``. Again for more levels.

        Raises ``NotPermutableError`` or ``OrderViolatedError`` where blocks would reverse a
        dependence, ``InvalidOptionError`` for sizes below 1.
        """
        return self._apply(tile, space, **sizes)

    def split(self, loop: str, size: int) -> Plan:
        """One loop in two; the new outer one is called ``<loop>_tile``."""
        return self._apply(split, loop, size)

    def interchange(self, one: str, other: str) -> Plan:
        """Two loops of a perfect nest exchanged. Raises ``OrderViolatedError``."""
        return self._apply(interchange, one, other)

    def reorder(self, *loops: str) -> Plan:
        """Loops of a perfect nest in the order given, from the outside in."""
        return self._apply(reorder, *loops)

    def skew(self, loop: str, by: str, factor: int = 1) -> Plan:
        """``factor`` times the enclosing loop ``by`` added to the loop's value."""
        return self._apply(skew, loop, by=by, factor=factor)

    def reverse(self, loop: str) -> Plan:
        """Loop reversal: iterations from the last to the first. Raises ``OrderViolatedError``
        where the loop carries a dependence."""
        return self._apply(reverse, loop)

    def diamond(self, time: str, space: str, size: int) -> Plan:
        """Tiles of a loop over time and one over space that start at once: ``size`` wide at most.

        ``<time>_tile`` goes from one row of tiles to the next, ``<space>_tile`` along a row, whose
        tiles are independent. Raises ``NotPermutableError`` where dependences forbid one face.
        """
        return self._apply(diamond, time, space, size)

    def shift(self, space: str, /, **amounts: int) -> Plan:
        """All iterations of a space later by so many: ``shift("out", y=2)``."""
        return self._apply(shift, space, **amounts)

    def fuse_loops(self, one: str, other: str, *, depth: int = 1, shift: int = 0) -> Plan:
        """Loop fusion: neighbouring loops made one, the second later by ``shift``."""
        return self._apply(fuse_loops, one, other, depth=depth, shift=shift)

    def distribute(self, loop: str, at: str) -> Plan:
        """One loop in two after each other; the second starts with the statements of ``at``."""
        return self._apply(distribute, loop, at=at)

    def split_range(self, loop: str, at: str) -> Plan:
        """Index-set splitting: a loop in three at the iteration that the loop ``at`` around it is
        in, or in two at a value that sizes give, as isl writes it: ``at="floor((N)/2)"``.

        Raises ``NotFusableError`` where there are no iterations on both sides.
        """
        return self._apply(split_range, loop, at=at)

    def delay_updates(self, space: str, at: str) -> Plan:
        """Delayed updates: those of ``space`` that nothing else in an iteration of loop ``at``
        needs, at its end, a nest of their own. Raises ``NotFusableError`` where there are none.
        """
        return self._apply(delay_updates, space, at=at)

    def reschedule(self, *, fusion: str = "smart", loop: str | None = None) -> Plan:
        """All loops anew, in the order that isl's scheduler finds: permutable bands; of the nest of
        one outermost ``loop`` alone, where one is named.

        ``fusion`` says where statements share loops: ``min`` nowhere, ``smart`` where none of
        them loses a permutable loop, ``hybrid`` where isl finds them near, ``max`` wherever it is
        legal. Of such moves only ``split_range`` may come before it. Raises ``NotDecidedError`` on
        a spent budget, ``NotPermutableError`` after moves that it would undo.
        """
        check_first(self.moves)
        return self._apply(reschedule, fusion=fusion, loop=loop)

    # -- moves: producers and storage -------------------------------------------------------

    def fuse(
        self,
        producer: str,
        into: str,
        *,
        at: str | None = None,
        storage: str = "scratch",
        keep: bool | None = None,
    ) -> Plan:
        """Pull ``producer`` into ``into``, with exactly the instances it needs there.

        ``at`` names the loop (default: the innermost block loop of ``into``, else its outermost
        loop). ``storage``: ``scratch`` per iteration of that loop, ``sliding`` window, ``full``
        array, ``register`` or ``inline`` (computed at each read). ``keep=True`` keeps the
        original beside it; ``keep=False`` insists on dropping it.

        Raises ``NotFusableError``, ``CoverageError``, ``LiveOutError``, ``StorageTooSmallError``.
        """
        return self._apply(fuse, producer, into=into, at=at, storage=storage, keep=keep)

    def inline(self, producer: str) -> Plan:
        """Compute ``producer`` at each of its reads and never store it."""
        return self._apply(inline, producer)

    def store(
        self,
        array: str,
        *,
        at: str | None = None,
        fold: Mapping[int | str, int] | None = None,
        extents: Mapping[int | str, int] | None = None,
    ) -> Plan:
        """Keep ``array`` in a buffer private to each iteration of loop ``at``; ``"full"`` undoes.

        ``fold={"y": 3}`` keeps a window of 3, indexed modulo 3. Raises ``StorageTooSmallError``.
        """
        return self._apply(store, array, at=at, fold=fold, extents=extents)

    def pack(
        self,
        array: str,
        *,
        at: str,
        read: str | None = None,
        order: Sequence[int] | None = None,
        scaled: bool | None = None,
    ) -> Plan:
        """Copy what an iteration of loop ``at`` reads of ``array`` into a buffer, and read that.

        ``read`` is the name of the one reference that the buffer is for, ``order`` gives the
        array's dimensions as the buffer has them (``(1, 0)`` transposes), and ``scaled`` buffers
        what operations with constants and scalars make of the elements: ``alpha * A[i][k]``.
        """
        order = tuple(order) if isinstance(order, list) else order  # as a file has it
        return self._apply(pack, array, at=at, read=read, order=order, scaled=scaled)

    # -- moves: marks -----------------------------------------------------------------------

    def parallelize(self, loop: str, *, schedule: str = "dynamic") -> Plan:
        """Share a loop's iterations between threads: ``dynamic``, in pieces as they get free, or
        ``static``, one piece each, the same in every call. A loop directly inside of a parallel
        one is collapsed with it. Raises ``ParallelCarriedError``."""
        named = None if schedule == "dynamic" else schedule
        return self._apply(marks.parallelize, loop, schedule=named)

    def vectorize(self, loop: str, width: int = 0, *, aligned: bool = False) -> Plan:
        """``width`` iterations of an innermost loop at once (0: as the target has lanes); with
        ``aligned`` neighbours along it come from aligned vectors of that width, shifted."""
        return self._apply(marks.vectorize, loop, width, aligned=aligned or None)

    def unroll(self, loop: str, factor: int = 0) -> Plan:
        """Unroll ``factor`` times; 0 means completely."""
        return self._apply(marks.unroll, loop, factor)

    def unroll_and_jam(self, loop: str, factor: int) -> Plan:
        """``factor`` iterations of an outer loop together, inside its inner loops."""
        return self._apply(marks.unroll_and_jam, loop, factor)

    def separate_full_tiles(self, loop: str) -> Plan:
        """Full tiles, which then have no tests, apart from partial ones at a loop's border."""
        return self._apply(marks.separate_full_tiles, loop)

    def register_tile(self, loop: str) -> Plan:
        """Register tile: the elements that the loops inside update stay in registers across a loop.

        The loops inside: reductions, then unrolled ones of constant length, then a vector loop
        with a width. Nests of another form are left as they are.
        """
        return self._apply(marks.register_tile, loop)

    def store_nontemporal(self, *arrays: str, past: int = 0) -> Plan:
        """Non-temporal stores: past caches of ``past`` bytes, where a call works on more."""
        return self._apply(store_nontemporal, *arrays, past=past)

    def reassociate(self, *statements: str) -> Plan:
        """Free the order of reductions, for vector and parallel loops: of floats they round
        otherwise, of integers they are the same in any order."""
        return self._apply(reassociate, *statements)

    # -- what it is -------------------------------------------------------------------------

    def prove(self, *, operations: int = DEFAULT_BUDGET, code: bool = False) -> Proof:
        """Show that this plan computes what the source does; with ``code`` that its C does, too.

        Raises the ``IllegalScheduleError`` that fits, or ``NotDecidedError`` on a spent budget.
        """
        proof = self._proof if operations == DEFAULT_BUDGET else self._proven(operations)
        if not code:
            return proof
        from polyopt.codegen.emit import emit
        from polyopt.codegen.validate.translation import check_code

        shown = check_code(self.scop, emit(self.program), operations=operations)
        return Proof((*proof.obligations, shown))

    @exclusive_property
    def _proof(self) -> Proof:
        return self._proven(DEFAULT_BUDGET)

    def _proven(self, operations: int) -> Proof:
        proof = prove(self.program, self.original, operations=operations)
        programs = (self.source, *self.stages, self.scop)
        shown = chain.from_iterable(map(source_shown, programs, programs[1:]))
        return Proof((*shown, *proof.obligations))

    @property
    def script(self) -> str:
        """The calls that make this plan, as Python."""
        return show_script(self.moves)

    def loops(self, space: str) -> tuple[str, ...]:
        """The names of the loops that all statements of a space share, from the outside in."""
        return tuple(loop.name for loop in loops_around(self.program, space))

    def __str__(self) -> str:
        """The loop nest, short and readable."""
        return show_plan(self.program)

    # -- files ------------------------------------------------------------------------------

    def save(self, path: str | Path) -> None:
        """Write the moves as JSON; ``load`` makes them again on the same program.

        Raises ``InvalidOptionError`` where the file cannot be written.
        """
        write_moves(path, self.source, self.moves)

    @classmethod
    def load(cls, path: str | Path, scop: Scop) -> Plan:
        """The plan of a file, checked move by move.

        Raises ``InvalidOptionError`` on files that hold none, one of another format, or one of
        another program: it says of which, and what differs.
        """
        return load_plan(path, cls(scop))

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        """A plan travels as its program and its moves, which are made again where it arrives."""
        moves = tuple((m.name, m.args, dict(m.options)) for m in self.moves)
        return arrived, (type(self), self.source, moves, self.remarks, self.checked)

    def replay(self, name: str, args: Sequence[Any], options: Mapping[str, Any]) -> Plan:
        """Make one move by its name, as a file gives it.

        Raises ``UnknownNameError`` where there is no such move, ``InvalidOptionError`` where it
        takes other arguments.
        """
        found = registered(name)
        move = getattr(self, name) if found.is_own else partial(found.function, None)
        try:
            given = signature(move).bind(*args, **options)
        except TypeError as error:
            message = f"{name}: {error}"
            raise InvalidOptionError(message) from None
        if not found.is_own:
            make = self._anew if found.kind == "source" else self._apply
            move = partial(make, checks_arguments(found.function))
        return move(*given.args, **given.kwargs)

    # -- running (late imports: people expect these on the plan) ------------------------------

    def emit(self, *, name: str | None = None, libm: bool = False) -> CProgram:
        """The plan as C: proven first, then generated.

        exp, log and the like are functions that compilers make vectors of, with the same bits
        everywhere; with ``libm``, and where integers come out, they are the C library's.
        """
        from polyopt.codegen.emit import emit

        self.prove()
        head = f"{self.scop.name}: generated by polyopt from this plan, proven equal to its source"
        notes = (head, "", *str(self).splitlines())
        return emit(self.program, name=name, notes=notes, libm=libm)

    def compile(
        self,
        *,
        target: str = "native",
        cc: str | None = None,
        openmp: bool | None = None,
        contract: bool | None = None,
        libm: bool = False,
        cache: Path | str | None = None,
        check: bool | Literal["later"] | None = None,
    ) -> Kernel:
        """The plan as a callable: NumPy arrays in, NumPy arrays out.

        ``cc`` names the C compiler, ``contract`` lets ``a * b + c`` round once (``None``: where
        only floats come out, so that integers are the source's), ``libm`` takes exp and the like
        from the C library (``emit``), ``cache`` is the directory that keeps compiled kernels. New C
        is validated within a budget, unless ``check`` (``POLYOPT_CHECK``) is off, while it is
        compiled, or, with ``"later"``, beside the first calls, which raise ``WrongCodeError`` once
        it is refused: ``kernel.proof`` waits for the result. Raises ``CompilerMissingError``,
        ``CompilerFailedError``, ``CacheError``, and what ``prove`` does.
        """
        from polyopt.codegen.validate.on_build import CodeCheck, is_asked_for
        from polyopt.runtime.kernel import compile_kernel

        program = self.emit(libm=libm)
        kernel = compile_kernel(
            program,
            self.scop.context,
            check=CodeCheck(self.scop, program) if is_asked_for(check=check) else None,
            aside=check == "later",
            reference=partial(self._unscheduled, libm=libm),
            target_name=target, cc=cc, openmp=openmp, contract=contract, cache=cache,
        )  # fmt: skip
        kernel.plan = self
        return kernel

    # -- inside -----------------------------------------------------------------------------

    def _unscheduled(self, *, libm: bool) -> CProgram:
        """The source in its own order, as C: what a kernel is compared with."""
        from polyopt.codegen.emit import emit

        name = f"{self.scop.name}_reference"
        return emit(initial_program(self.source), name=name, libm=libm)

    def _apply(
        self,
        function: Callable[Concatenate[ScheduledProgram, _Given], ScheduledProgram],
        /,
        *args: _Given.args,
        **options: _Given.kwargs,
    ) -> Plan:
        """The plan after a registered transformation: checked, unless a whole series is proven."""
        kept = tuple((k, v) for k, v in options.items() if v is not None)
        move = Move(function.__name__, args, kept)
        try:
            with budget(DEFAULT_BUDGET, f"the move {move.name}"):
                program = function(self.program, *args, **options)
                check_depth(program)
            if self.checked:
                check(program, self.original)
        except IllegalScheduleError as error:
            raise (advised(error, self, move) if self.checked else error) from None
        return replace(self, program=program, moves=(*self.moves, move), remarks=())
