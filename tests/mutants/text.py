"""Wrong C: faults in the printed text, in all that is no statement of the source: how loops are
shared, how memory comes and goes, and the small functions that every file brings along."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from .kinds import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_PARALLEL = r"#pragma omp parallel for(?: collapse\(\d+\))? num_threads\(threads\)"
_SIMD = r"#pragma omp simd(?! safelen\(1\))"


def _each(pattern: str, new: str | Callable[[re.Match[str]], str]):
    """The text with one match replaced, for each."""

    def make(text: str) -> Iterator[str]:
        for found in re.finditer(pattern, text, re.MULTILINE):
            made = new(found) if callable(new) else found.expand(new)
            if made != found[0]:
                yield text[: found.start()] + made + text[found.end() :]

    return make


def _next(found: re.Match[str]) -> str:
    """Neighbours at another distance."""
    return f"{found[1]}{int(found[2]) + 1}_"


def _turned(found: re.Match[str]) -> str:
    return found[0].replace("<", ">") if "<" in found[0] else found[0].replace(">", "<")


def _longer_rows(found: re.Match[str]) -> str:
    return re.sub(r"(\w+\[restrict .*?\])\[(.*?)\]", r"\1[\2 + 1]", found[0])


def _like_iterators(text: str) -> Iterator[str]:
    """A local of a block is called like the iterator of a loop: of one around, or of another."""
    iterators = dict.fromkeys(re.findall(r"for \(int64_t (\w+) = ", text))
    for found in re.finditer(r"^( +)const \w+ (\w+) = ", text, re.MULTILINE):
        less = len(found[1]) - 1
        end = re.compile(rf"^ {{0,{less}}}\}}", re.MULTILINE).search(text, found.end())
        stop = end.start() if end else len(text)
        for iterator in iterators:
            block = re.sub(rf"\b{found[2]}\b", iterator, text[found.start() : stop])
            yield text[: found.start()] + block + text[stop:]


_REPLACED = tuple(
    Kind("text", name, _each(pattern, new))
    for name, pattern, new in (
        ("each thread runs all", "#pragma omp parallel for", "#pragma omp parallel"),
        ("two loops shared as one", f"({_PARALLEL})", r"\1 collapse(2)"),
        ("a number of threads of its own", r"num_threads\(threads\)", "num_threads(4)"),
        ("sizes that each thread has", f"({_PARALLEL})", r"\1 private(H)"),
        ("threads and then lanes", "#pragma omp parallel for", "#pragma omp parallel for simd"),
        ("threads for lanes", f"{_SIMD}.*", "#pragma omp parallel for"),
        ("threads that wait for nobody", f"({_PARALLEL})", r"\1 nowait"),
        ("lanes that move another counter", f"({_SIMD})", r"\1 linear(x : 2)"),
        ("lanes of two loops", f"({_SIMD})", r"\1 collapse(2)"),
        ("lanes with a last value each", f"({_SIMD})", r"\1 lastprivate(x)"),
        ("a promise to one compiler", f"{_SIMD}.*", "#pragma GCC ivdep"),
        ("a promise that is not kept", f"{_SIMD} safelen.*", "#pragma omp simd simdlen(64)"),
        ("sums joined by another operation", r"reduction\(\+", "reduction(*"),
        ("sums that are not joined", r" reduction\(\+ : \w+\)", ""),
        ("marks of lanes left out", f"^{_SIMD}.*\n", ""),
        ("an order of threads left out", "^#pragma omp ordered.*\n", ""),
        ("a buffer of all calls", r"_Alignas\(64\) ", "static _Alignas(64) "),
        ("a counter of 8 bits", r"for \(int64_t", "for (int8_t"),
        ("a counter without a sign", r"for \(int64_t", "for (uint64_t"),
        ("numbers of their own width", r"\(u?int64_t\)(?=\w)", ""),
        ("numbers of half the width", r"\(int64_t\)(?=\w)", "(int32_t)"),
        ("numbers without a sign", r"\(int64_t\)(?=\w)", "(uint32_t)"),
        ("a literal without a sign", r"(?<= [-+*/%] )(\d+)\b(?![.\]])", r"\1u"),
        ("a failure at the end", r"return 0;\n}", "return 1;\n}"),
        ("a success at the start", r"^{\n    \(void\)threads;", "{\n    return 0;"),
        ("a buffer that is kept", r"^ *release\(\w+\);\n", ""),
        ("a buffer that is released early", r"^(    for (?:.*\n)*)( *release\(\w+\);\n)", r"\2\1"),
        ("a buffer that is released twice", r"^( *release\(\w+\);\n)", r"\1\1"),
        ("buffers that are used though one is missing", r"( \|\| )(?=!)", " && "),
        ("a missing buffer told as success", r"return 1;", "return 0;"),
        ("results with longer rows", r"(\w+\[restrict .*?\])\[(.*?)\]", r"\1[\2 + 1]"),
        ("all arrays with longer rows", r"(?s).*", _longer_rows),
        ("sizes exchanged", r"(int64_t \w+), (int64_t \w+)(?=, )", r"\2, \1"),
        ("sizes of 32 bits", r"int64_t (?=\w+, const)", "int32_t "),
        ("numbers of another type", r"const (?:float|uint16_t|uint8_t) (?=\w+\[)", "const double "),
        ("another function of the same name", r"\A", "static int min_i64;\n"),
        (
            "an end before the end",
            r"^(    for .*)",
            r"    if (W > 9) {\n        return 0;\n    }\n\1",
        ),
        ("an end with a buffer kept", r"^(    if \(!\w+.*\n)( *release.*)", r"\1"),
        ("no thread at all", r"threads = 1;", "threads = 0;"),
        ("a buffer that is not tested", r"if \(!\w+( \|\| )?", "if ("),
        (
            "memory for one element less",
            r"buffer\(sizeof\((\w+)\[(.*?)\]",
            r"buffer(sizeof(\1[\2 - 1]",
        ),
        ("memory for one thread", r"\[threads\]", "[1]"),
        ("memory of another type", r"buffer\(sizeof\(float", "buffer(sizeof(uint8_t"),
        ("the memory of the first thread", r"\[omp_get_thread_num\(\)\]", "[0]"),
        ("a helper's opposite", r"return a [<>] b", _turned),
        ("memory of half its size", r"\(bytes \+ 63\)", "(bytes / 2 + 63)"),
        ("memory that starts anywhere", r"aligned_alloc\(64, .*\)", "malloc(bytes)"),
        ("vectors of another length", r"vector_size\((\d+)\)", r"vector_size(2 * \1)"),
        ("vectors that start where lines do", r"aligned\(\d\)", "aligned(64)"),
        ("a helper of one operand", r"return a [<>] b \? a : b;", "return a;"),
        ("another helper", r"(?<!inline int64_t )\bmin_i64\(", "max_i64("),
        (
            "a stored piece that is shorter",
            r"^( +streamed_\w+\(&.*?, \w+\[\w+\], .*?)(,)",
            r"\1 - 1\2",
        ),
        (
            "a stored piece that is longer",
            r"^( +streamed_\w+\(&.*?, \w+\[\w+\], .*?)(,)",
            r"\1 + 1\2",
        ),
        ("each piece the first", r"\w+_strip\d* == [^,]*", "1"),
        ("no piece the first", r"\w+_strip\d* == [^,]*", "0"),
        ("each piece the last", r"(\w+)_end\d* == [^,]*", "1"),
        ("no piece the last", r"\w+_end\d* == [^,]*", "0"),
        ("pieces that keep what others do", r"\w+_strip\d*\[[1-9]\](?=, )", "out_strip[0]"),
        ("a strip for each piece", r"^( +_Alignas.*_strip.*\n)( +for .*\n)", r"\2\1"),
        ("a piece stored elsewhere", r"^( +streamed_\w+\(&\w+\[\w+\]\[)", r"\g<1>1 + "),
        ("a piece that is not stored", r"^ +streamed_\w+\((?:[^;]|\n)*?;\n", ""),
        ("stores that are not waited for", r"^ +settled_\w+\(\);\n", ""),
        ("rows that all begin with a line", r"if \(first && behind\)", "if (0)"),
        ("rows whose last elements are left out", r"for \(; last && k", "for (; 0 && k"),
        ("nothing kept of a piece", r"!last && j < \d+", "0"),
        ("a fetch that stores", r"__builtin_prefetch\(from \+ k\)", "*(float *)(from + k) = 0"),
        ("a fetch that is left out", r"^ +fetched_\w+\((?:[^;]|\n)*?;\n", ""),
        ("neighbours one further on", r"\b(before|behind)(\d+)_(?=\w+\(&)", _next),
        ("neighbours on the other side", r"\bbefore(\d+_\w+\(&)", r"behind\1"),
        ("lanes in another order", r"(__builtin_shufflevector\([^;]*?)(\d+), (\d+)", r"\1\3, \2"),
        ("vectors that start one later", r"(const int64_t \w+_line = )", r"\g<1>1 + "),
        ("vectors that end one later", r"(const int64_t \w+_past = )", r"\g<1>1 + "),
        ("a first or last vector one later", r"(const int64_t [a-z] = )", r"\g<1>1 + "),
        ("a second vector left out", r"if \(\w+_line > \d+\)", "if (0)"),
        ("a last but one vector left out", r"if \(\w+_past < .*\)", "if (0)"),
        ("vectors in rows too short for them", r"if \((\w+ - \w+) < \d+\)", r"if (\1 < 0)"),
    )
)
KINDS = (*_REPLACED, Kind("text", "a local called like an iterator", _like_iterators))
