"""From a program to a complete C translation unit with what is needed to compile and call it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from polyopt.codegen.ast.expr import Var
from polyopt.codegen.ast.nodes import Parallel, loops_in
from polyopt.codegen.expressions.indices import index_variable
from polyopt.codegen.flop_count import flops_text, little_work, shared_work
from polyopt.codegen.helpers.math.functions import has_vector_math
from polyopt.codegen.index_checks import with_index_checks
from polyopt.codegen.lower.lowering import lower
from polyopt.codegen.pipeline import generate, with_vectors_ahead
from polyopt.codegen.printers.c import print_c
from polyopt.codegen.signature import CProgram, c_prototype
from polyopt.codegen.signed_overflow import needs_wrapv
from polyopt.codegen.time_nests import time_nests
from polyopt.codegen.workarounds.gcc_row_groups import loads_whole_rows
from polyopt.codegen.workarounds.register_pressure import is_crowded
from polyopt.ir.expr import Cast, walk
from polyopt.ir.indices import index_arrays
from polyopt.ir.integers import temp_bounds
from polyopt.ir.types import F32, F64
from polyopt.isl import budget
from polyopt.transform.annotations.reassociate import is_rounded
from polyopt.transform.schedule.tree import loops_of

if TYPE_CHECKING:
    from polyopt.ir.scop import Scop
    from polyopt.transform.schedule.program import ScheduledProgram

#: gcc would keep vectors that one step of a sum loads for the next, in registers that accumulators
#: need; other compilers are not asked
KEEP_ACCUMULATORS = ("-fno-predictive-commoning",)
#: Where gcc (12.2) makes vectors of straight-line code, as of the last iterations of a loop, it
#: takes ``(double)(float)x`` for ``x``: a rounding is lost, on all x86 from its first pass for such
#: vectors on (``-fdump-tree-slp1``). Asked for without contraction alone, where bits are promised;
#: tests/unit/runtime/test_compilers.py says when it can go.
KEEP_ROUNDINGS = ("-fno-tree-slp-vectorize",)
#: gcc 12 takes AMD processors with vectors of 512 bits for older ones, and there storing and
#: loading such a vector for as cheap as half of it: it keeps vectors on the stack where registers
#: would do. These are an older one's costs, where they are twice as much, and this one's features.
#: ``toolchain.py`` knows whom to tell.
_FEATURES = (
    "^avx256_split_regs",
    "^avx128_optimal",
    "256_unaligned_store_optimal",
    "avoid_fma256_chains",
    "use_gather",
)
SPARE_STACK = ("-mtune=znver1", f"-mtune-ctrl={','.join(_FEATURES)}")
#: isl operations for the loops of one function: the library's kernels need at most 6 million
_BUDGET = 100_000_000


def emit(
    program: ScheduledProgram,
    *,
    name: str | None = None,
    notes: tuple[str, ...] = (),
    timed: bool = False,
    libm: bool = False,
) -> CProgram:
    """The C of a program. ``notes`` become its head comment.

    ``name`` is the C function's; by default the Scop's. With ``timed`` a clock is read between its
    nests (``runtime/measuring/nests.py`` has the times); with ``libm`` exp and the like are the C
    library's, whatever comes out. Raises ``NotDecidedError`` where isl takes too long to find the
    loops.
    """
    with budget(_BUDGET, f"the C of {program.scop.name}"):
        return _emit(program, name or program.scop.name, notes, timed=timed, libm=libm)


def _emit(
    program: ScheduledProgram, name: str, notes: tuple[str, ...], *, timed: bool, libm: bool
) -> CProgram:
    scop = program.scop
    tree = lower(program)
    function = generate(tree, program, name)
    sizes = {a.name: index_variable(Var(a.symbol)) for a in tree.arguments if a.kind == "size"}
    little = little_work(program, shared_work(scop, sizes), sizes)
    function = replace(function, notes=notes, little_work=little)
    function = with_vectors_ahead(function, math=has_vector_math(scop) and not libm)
    indices = index_arrays(scop)
    function, checked = with_index_checks(function, indices, tree.arguments)
    function, nests = time_nests(function) if timed else (function, ())
    temps = temp_bounds(scop)
    wraps = any(needs_wrapv(s.value, temps[s.name]) for s in scop.statements)
    wraps |= any(not is_rounded(scop.statement(name)) for name in program.reassociated)
    flags = ("-fwrapv",) if wraps else ()
    if any(loop.mark == "register_tile" for loop in loops_of(program.tree)):
        flags += KEEP_ACCUMULATORS
    if _rounds_between(scop):
        flags += KEEP_ROUNDINGS
    if is_crowded((function.body, *(task.body for task in function.tasks))):
        flags += SPARE_STACK
    printed = print_c(function, weighs=loads_whole_rows(function))
    return CProgram(
        name=name,
        source=printed.text,
        prototype=c_prototype(name, tree.arguments),
        arguments=tree.arguments,
        params=scop.params,
        flags=flags,
        uses_openmp=any(isinstance(loop.kind, Parallel) for loop in loops_in(function.body)),
        flops=flops_text(scop),
        indices=indices,
        checked_indices=checked,
        vector_loops=printed.vector_loops,
        nests=nests,
        origins=printed.origins,
    )


def _rounds_between(scop: Scop) -> bool:
    """Whether doubles become floats, and floats doubles."""
    casts = {
        (node.type, node.operand.type)
        for statement in scop.statements
        for node in walk(statement.value)
        if isinstance(node, Cast)
    }
    return {(F32, F64), (F64, F32)} <= casts
