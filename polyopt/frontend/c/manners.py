"""How emitted C may say things that reading it back gives no meaning: anything else is refused.

A clause, a storage class or a counter's type that is read over would let code pass that does
something else: threads share a ``static`` buffer, ``omp parallel`` alone runs a loop in each.
"""

from __future__ import annotations

import re

from pycparser import c_ast

_PRAGMAS = (
    re.compile(r"omp parallel for num_threads\(threads\) schedule\(dynamic, [^;{}]*\)"),
    re.compile(r"omp parallel for num_threads\(threads\) schedule\(static\)"),
    # each iteration adds its part in the order of all
    re.compile(r"omp parallel for num_threads\(threads\) schedule\(dynamic, 1\) ordered"),
    re.compile(r"omp ordered"),
    re.compile(r"omp simd( safelen\(\d+\))?( reduction\((\+|\*|min|max) : \w+\))*"),
    re.compile(r"omp simd safelen\(1\) simdlen\(1\)"),
)
#: clauses that a chunk's size must not hide
_CLAUSE = re.compile(r"\b(collapse|\w*private|shared|reduction|linear|nowait|ordered|if|copyin)\b")


def odd_pragma(text: str) -> str:
    """What is wrong with a pragma before a loop; "" for those that are emitted."""
    words = " ".join(text.split())
    for known in _PRAGMAS:
        if known.fullmatch(words):
            chunk = words.partition("schedule")[2].removesuffix("1) ordered")
            return f"#pragma {words}" if _CLAUSE.search(chunk) else ""
    return f"#pragma {words}"


def odd_counter(loop: c_ast.For) -> str:
    """What is wrong with a loop's counter: it is of 64 bits, and the loop's own."""
    decls = loop.init.decls if isinstance(loop.init, c_ast.DeclList) else []
    kinds = [getattr(getattr(d.type, "type", None), "names", None) for d in decls]
    return "" if kinds == [["int64_t"]] else "counter that is no int64_t"


def odd_status(node: c_ast.Return) -> str:
    """What is wrong with a kernel's end: it succeeds."""
    fails = isinstance(node.expr, c_ast.Constant) and node.expr.value != "0"
    return "end that tells of a failure" if fails else ""


def odd_storage(decl: c_ast.Decl) -> str:
    """What is wrong with a local's storage: all calls share what is static and not constant."""
    if not decl.storage or (decl.storage == ["static"] and "const" in _qualities(decl)):
        return ""
    return f"{' '.join(decl.storage)} {decl.name}"


def _qualities(node: c_ast.Node) -> list[str]:
    found = list(getattr(node, "quals", None) or [])
    inner = getattr(node, "type", None)
    return found + _qualities(inner) if isinstance(inner, c_ast.Node) else found
