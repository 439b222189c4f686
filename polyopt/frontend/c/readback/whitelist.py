"""How emitted C may say things that reading it back gives no meaning: anything else is refused.

A clause, a storage class or a counter's type that is read over would let code pass that does
something else: threads share a ``static`` buffer, ``omp parallel`` alone runs a loop in each.
"""

# The parser's trees have no types.
# pyright: basic, reportAttributeAccessIssue=false, reportOptionalMemberAccess=false

from __future__ import annotations

import re
from itertools import accumulate

from pycparser import c_ast

from polyopt.frontend.c.readback.parallel_loops import COLLAPSE, inside
from polyopt.frontend.c.syntax.nodes import text_of
from polyopt.frontend.c.syntax.usage import nodes

_PRAGMAS = (
    re.compile(
        r"omp parallel for( collapse\(\d+\))? num_threads\(threads\) schedule\(dynamic, [^;{}]*\)"
    ),
    re.compile(r"omp parallel for( collapse\(\d+\))? num_threads\(threads\) schedule\(static\)"),
    # each iteration adds its part in the order of all
    re.compile(r"omp parallel for num_threads\(threads\) schedule\(dynamic, 1\) ordered"),
    re.compile(r"omp ordered"),
    re.compile(
        r"omp simd( safelen\(\d+\))?( reduction\(([+*]|max|min|max_or_nan|min_or_nan) : \w+\))*"
    ),
    re.compile(r"omp simd safelen\(1\) simdlen\(1\)"),
)
#: what compilers are asked, and changes no meaning
_ADVICE = re.compile(r"GCC unroll \d+")


def without_advice(tree: c_ast.FileAST) -> c_ast.FileAST:
    """The tree without pragmas that only ask compilers for something, in place."""
    for node in nodes(tree):
        if isinstance(node, c_ast.Compound):
            node.block_items = [i for i in node.block_items or [] if not _is_advice(i)] or None
    return tree


def _is_advice(item: c_ast.Node) -> bool:
    return isinstance(item, c_ast.Pragma) and _ADVICE.fullmatch(item.string) is not None


def odd_pragma(text: str) -> str:
    """What is wrong with a pragma before a loop; "" for those that are emitted."""
    words = " ".join(text.split())
    for known in _PRAGMAS:
        if known.fullmatch(words):
            _, chunk, rest = words.partition("(dynamic, ")
            hidden = chunk and not _is_closed_last(rest.removesuffix(" ordered"))
            return f"#pragma {words}" if hidden else ""
    return f"#pragma {words}"


def _is_closed_last(chunk: str) -> bool:
    """Whether the parenthesis before a chunk's size is closed by its last character: no clause
    stands behind it."""
    depth = list(accumulate(((c == "(") - (c == ")") for c in chunk), initial=1))
    return 0 not in depth[:-1] and depth[-1] == 0


def odd_loop(loop: c_ast.For, pragma: str) -> str:
    """What is wrong with a loop under a pragma."""
    return _odd_counter(loop) or _odd_nest(loop, pragma)


def _odd_counter(loop: c_ast.For) -> str:
    """What is wrong with a loop's counter: it is of 64 bits, and the loop's own."""
    decls = loop.init.decls if isinstance(loop.init, c_ast.DeclList) else []
    kinds = [getattr(getattr(d.type, "type", None), "names", None) for d in decls]
    return "" if kinds == [["int64_t"]] else "counter that is no int64_t"


def _odd_nest(loop: c_ast.For, pragma: str) -> str:
    """What is wrong with loops that threads share together: nothing stands between them, and the
    bounds of an inner one do not depend on the outer ones."""
    found = COLLAPSE.search(pragma)
    outer: set[str] = set()
    for _ in range(int(found[1]) - 1 if found else 0):
        outer.add(loop.init.decls[0].name)
        body = inside(loop)
        if len(body) != 1 or not isinstance(body[0], c_ast.For):
            return "statement between loops that are collapsed"
        loop = body[0]
        if _odd_counter(loop) or not outer.isdisjoint(
            {*_names_in(loop.init), *_names_in(loop.cond)}
        ):
            return "collapsed loop whose bounds change"
    return ""


def _names_in(node: c_ast.Node | None) -> set[str]:
    return {part.name for part in nodes(node) if isinstance(part, c_ast.ID)}


def odd_failure(node: c_ast.If, allocated: list[str]) -> str:
    """What is wrong with a test that ends a kernel: it is for memory that is not there, releases
    what there is, and tells of it."""
    missing = " || ".join(f"!{name}" for name in allocated)
    *releases, end = node.iftrue.block_items
    released = [text_of(item) for item in releases]
    plain = not node.iffalse and text_of(end) == "return 1;"
    tested = text_of(node.cond).replace("(", "").replace(")", "")
    if plain and tested == missing and released == [f"release({n})" for n in allocated]:
        return ""
    return "such end before its end"


def odd_threads(node: c_ast.Assignment) -> str:
    """What is wrong with another number of threads: there is one where there is little work."""
    return "" if text_of(node) == "threads = 1" else "number of threads but 1 and the caller's"


def odd_storage(decl: c_ast.Decl) -> str:
    """What is wrong with a local's storage: all calls share what is static and not constant."""
    if not decl.storage or (decl.storage == ["static"] and "const" in _qualities(decl)):
        return ""
    return f"{' '.join(decl.storage)} {decl.name}"


def _qualities(node: c_ast.Node) -> list[str]:
    found = list(getattr(node, "quals", None) or [])
    inner = getattr(node, "type", None)
    return found + _qualities(inner) if isinstance(inner, c_ast.Node) else found
