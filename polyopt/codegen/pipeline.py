"""The passes on a function's tree, in order.

Each is a file of its own, which says what it requires and leaves alone. Functions that some of them
call have no place among other code: C that is put into the user's goes without these.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from polyopt.codegen.ast.nodes import Function
from polyopt.codegen.passes.aligned_loads import aligned_loads
from polyopt.codegen.passes.cse_across import cse_across
from polyopt.codegen.passes.dce import dce
from polyopt.codegen.passes.distribute_conversions import distribute_conversions
from polyopt.codegen.passes.distribute_terms import distribute_terms
from polyopt.codegen.passes.early_exits import early_exits
from polyopt.codegen.passes.licm import licm
from polyopt.codegen.passes.nontemporal_stores import NontemporalStores, nontemporal_stores
from polyopt.codegen.passes.scalar_replacement import scalar_replacement
from polyopt.codegen.passes.speculative_loads import speculative_loads
from polyopt.codegen.passes.superword_branches import superword_branches
from polyopt.codegen.passes.table_permute import table_permute
from polyopt.codegen.passes.transpose_in_registers import transpose_in_registers
from polyopt.codegen.passes.vector_math import vector_math
from polyopt.codegen.threads.collapse import collapse
from polyopt.codegen.threads.outline import outline
from polyopt.codegen.workarounds.gcc_masked_groups import unmasked
from polyopt.codegen.workarounds.gcc_slp import chains_apart
from polyopt.codegen.workarounds.gcc_unroll import unrolled

if TYPE_CHECKING:
    from polyopt.codegen.ast.nodes import Block
    from polyopt.codegen.lower.lowering import Tree
    from polyopt.transform.schedule.program import ScheduledProgram


def generate(tree: Tree, program: ScheduledProgram, name: str) -> Function:
    """The function of a lowered program, called ``name``, as C compilers get it."""
    function = function_of(tree, program, name)
    function = replace(function, body=collapse(function.body))
    return outline(function) if tree.is_whole else function


def function_of(tree: Tree, program: ScheduledProgram, name: str) -> Function:
    """The function after the passes, with what threads run inside of its loops: targets that have
    kernels take these out in their own way."""
    arguments = tuple(a.parameter for a in tree.arguments)
    return Function(name, arguments, run_passes(tree, program), tree.heap, tree.private)


def run_passes(tree: Tree, program: ScheduledProgram) -> Block:
    """The block of a function after the passes."""
    block = licm(_with_loads(tree) if tree.is_whole else tree.body)
    if tree.is_whole:
        block = table_permute(block)
        block = transpose_in_registers(block)
        block = nontemporal_stores(block, _streams(tree, program))
    block = scalar_replacement(block)
    block = chains_apart(block)
    block = dce(replace(block, buffers=(*tree.local, *block.buffers)))
    block = cse_across(block)
    block = unmasked(block, heard=tree.is_whole)
    return aligned_loads(unrolled(block)) if tree.is_whole else block


def with_vectors_ahead(function: Function, *, math: bool) -> Function:
    """The function with vectors ahead of loops whose iterations wait: of searches their tests, of
    sums their terms; and conversions of short vectors apart.

    ``math`` makes vectors of math functions, which are the C library's without.
    """
    function = superword_branches(early_exits(function))
    function = distribute_conversions(distribute_terms(function, math=math))
    return vector_math(function) if math else function


def _with_loads(tree: Tree) -> Block:
    sizes = frozenset(a.symbol for a in tree.arguments if a.kind == "size")
    return speculative_loads(tree.body, sizes, frozenset(tree.symbols.values()) - sizes)


def _streams(tree: Tree, program: ScheduledProgram) -> NontemporalStores:
    past = {tree.symbols[array]: size for array, size in program.nontemporal.items()}
    return NontemporalStores(past, {a.symbol: a for a in tree.arguments})
