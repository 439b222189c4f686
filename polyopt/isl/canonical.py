"""Canonical tuples: where nothing orders statements isl takes them by hashes of their names, and
the names of a program must not change what becomes of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyopt.isl.algebra import empty_set

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from polyopt.isl.api import Set, UnionSet


def canonical_tuples(names: Iterable[str]) -> dict[str, str]:
    """``S0, S1, ...`` for names, in their order."""
    return {name: f"S{number}" for number, name in enumerate(names)}


def on_tuples(parts: Mapping[str, Set], tuples: Mapping[str, str]) -> UnionSet:
    """``{ S0[i]; S1[j] }`` of ``{ A[i] }`` and ``{ B[j] }``, which come by their names."""
    result = empty_set()
    for name, part in parts.items():
        result = result.union(part.set_tuple_name(tuples[name]).to_union_set())
    return result
