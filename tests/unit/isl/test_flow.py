"""The last write before each read: what isl finds, what it loses, and what the definition says."""

import itertools

import pytest

from polyopt.isl import UnionMap, flow, last_writes, parse_union_map

CHAIN = (
    "[N] -> { R[i, j] -> A[i + j] : 0 <= i < N and 0 <= j < 3 }",
    "[N] -> { W[i] -> A[i] : 1 <= i < N; V[i] -> A[2i] : 0 <= 2i < N }",
    "[N] -> { R[i, j] -> [i, 1, j]; W[i] -> [i, 2, 0]; V[i] -> [i, 0, 0] }",
)
#: columns of three, then in the order of their remainders by two: the last reader reads them all
REMAINDERS = (
    "[N] -> { R[a] -> A[a] : 0 <= a < N }",
    (
        "[N] -> { U[0] -> A[0] : N > 0; U[2] -> A[2] : N > 2; V[1] -> A[1] : N > 1;"
        " W[q, q + 2] -> A[q + 2] : q mod 3 = 0 and 3 <= q <= N - 3;"
        " W[q, q] -> A[q] : q mod 3 = 0 and 3 <= q < N;"
        " X[q, j] -> A[j] : q mod 3 = 0 and q >= 3 and q <= j <= q + 2 and j < N"
        " and 3*floor((1 + j)/3) <= j and 3*floor(j/3) < j }"
    ),
    (
        "[N] -> { R[a] -> [3, 0, 0, 0, 0, 0]; U[j] -> [0, j, 0, 0, 0, 0]; V[j] -> [1, j, 0, 0, 0, 0];"
        " W[q, j] -> [2, o, p, q, j, 0] : (j + o) mod 2 = 0 and -1 <= o <= 0 and j - 1 <= 2p <= j;"
        " X[q, j] -> [2, o, p, q, j, 1] : (j + o) mod 2 = 0 and -1 <= o <= 0 and j - 1 <= 2p <= j }"
    ),
)


def relations(texts: tuple[str, str, str], size: int) -> tuple[UnionMap, UnionMap, UnionMap]:
    bound = parse_union_map(f"[N] -> {{ [] -> [] : N = {size} }}").params()
    reads, writes, times = map(parse_union_map, texts)
    return reads.intersect_params(bound), writes.intersect_params(bound), times


@pytest.mark.parametrize("texts", [CHAIN, REMAINDERS])
def test_every_read_has_a_source_or_none(texts):
    reads, writes, times = map(parse_union_map, texts)
    found = last_writes(reads, writes, times)
    with_source, without = found.sources.range(), found.without.wrap()
    assert with_source.union(without).is_equal(reads.wrap())
    assert with_source.intersect(without).is_empty()


@pytest.mark.parametrize("texts", [CHAIN, REMAINDERS])
@pytest.mark.parametrize("size", [1, 3, 7])
def test_the_source_is_the_last_of_all_writes_before_the_read(texts, size):
    reads, writes, times = relations(texts, size)
    same_cell = writes.apply_range(reads.reverse()).intersect(times.lex_lt_union_map(times))
    overwritten = writes.apply_range(writes.reverse()).intersect(times.lex_lt_union_map(times))
    hidden = overwritten.apply_range(same_cell)
    found = last_writes(*map(parse_union_map, texts)).pairs
    assert not same_cell.is_empty()
    assert found.intersect_params(reads.params()).is_equal(same_cell.subtract(hidden))


def test_what_isl_finds_is_what_the_definition_says(monkeypatch):
    reads, writes, times = map(parse_union_map, CHAIN)
    asked = last_writes(reads, writes, times)
    monkeypatch.setattr(flow, "_is_whole", lambda *_: False)
    defined = last_writes(reads, writes, times)
    assert asked.sources.is_equal(defined.sources)
    assert asked.without.is_equal(defined.without)


def test_isl_loses_reads_where_remainders_meet(monkeypatch):
    """Once it does not, the second way in ``last_writes`` can go."""
    reads, writes, times = map(parse_union_map, REMAINDERS)
    monkeypatch.setattr(flow, "_is_whole", lambda *_: True)
    found = last_writes(reads, writes, times)
    known = found.sources.range().union(found.without.wrap())
    assert not reads.wrap().is_subset(known)


@pytest.mark.parametrize("texts", [CHAIN, REMAINDERS])
def test_pairs_of_pieces_say_what_all_writes_at_once_do(monkeypatch, texts):
    """As where isl's own search is not decided within its share of operations."""
    reads, writes, times = map(parse_union_map, texts)
    monkeypatch.setattr(flow, "_ALL_READS", 1)
    monkeypatch.setattr(flow, "_ONE_READ", 1)
    paired = last_writes(reads, writes, times)
    defined = flow.defined_last_writes(reads, writes, times)
    assert paired.sources.is_equal(defined.sources)
    assert paired.without.is_equal(defined.without)


def test_hundreds_of_updates_of_one_array_are_searched_through_at_once(monkeypatch):
    """The search looks at every pair of a read and a write of an array: its budget grows with them."""
    many = 200

    def read_by_read(*_):
        raise AssertionError

    monkeypatch.setattr(flow, "each_last_writes", read_by_read)
    names = [f"S{k}" for k in range(many)]
    cells = parse_union_map("{ " + "; ".join(f"{n}[i] -> A[i] : 0 <= i < 9" for n in names) + " }")
    times = parse_union_map(
        "{ " + "; ".join(f"{n}[i] -> [{k}, i]" for k, n in enumerate(names)) + " }"
    )
    found = last_writes(cells, cells, times)
    pairs = itertools.pairwise(names)
    expected = "; ".join(f"{one}[i] -> {next_}[i] : 0 <= i < 9" for one, next_ in pairs)
    assert found.pairs.is_equal(parse_union_map(f"{{ {expected} }}"))


def test_one_read_is_searched_for_among_the_writes_of_its_array():
    reads = parse_union_map("{ R[i] -> A[i] : 0 <= i < 9 }")
    writes = parse_union_map("{ W[i] -> A[i] : 0 <= i < 5; V[i] -> B[i] : 0 <= i < 9 }")
    times = parse_union_map("{ R[i] -> [2, i]; W[i] -> [0, i]; V[i] -> [1, i] }")
    found = flow.each_last_writes(reads, writes, times)
    assert found.pairs.is_equal(parse_union_map("{ W[i] -> R[i] : 0 <= i < 5 }"))
    assert found.without.is_equal(parse_union_map("{ R[i] -> A[i] : 5 <= i < 9 }"))
