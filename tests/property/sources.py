"""Random C files with marked regions, as applications write them: they print what they compute.

Arithmetic is on unsigned integers, which wrap, and on doubles that stay whole: results do not
depend on the order of additions.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

_HEAD = """\
#include <stdio.h>
#include <stdlib.h>
#define N {n}
#define M {m}
#define AT(a, i, j) a[(i) * M + (j)]
typedef unsigned int word;
struct cell {{ word key; double weight; }};
static word a[N], b[N], grid[N][M], flat[N * M];
static int at[N], start[N + 1];
static double x[N], y[N], z[N][M];
static struct cell cells[N];
static word mix(word v, int by) {{ return v * 3u + (word)by; }}
static void bump(int n, word *to, word by)
{{
    for (int q = 0; q < n; q++)
        to[q] += by + (word)q;
}}
static void setup(void)
{{
    word seed = {seed}u;
    for (int i = 0; i < N; i++) {{
        seed = seed * 1664525u + 1013904223u;
        a[i] = seed >> 20; b[i] = seed >> 9; at[i] = (int)((seed >> 13) % N);
        start[i + 1] = start[i] + (int)((seed >> 17) % 3);
        if (start[i + 1] > N) start[i + 1] = N;
        x[i] = (double)(seed >> 25); cells[i].key = seed >> 22; cells[i].weight = i;
    }}
    for (int i = 0; i < N * M; i++) {{ flat[i] = (word)i * 7u; grid[i / M][i % M] = (word)i; }}
}}
"""
_TAIL = """\
    for (int i = 0; i < N; i++) {
        printf("%u %u %.17g %.17g %u %.17g\\n", a[i], b[i], x[i], y[i], cells[i].key, cells[i].weight);
        for (int j = 0; j < M; j++)
            printf("%u %u %.17g\\n", grid[i][j], flat[i * M + j], z[i][j]);
    }
    printf("%u %d\\n", total, found);
    return 0;
}
"""

#: nests of one statement or more; {c} and {d} are small numbers, {op} an operator
NESTS = (
    "for (i = 0; i < N; i++) a[i] {op}= b[i] + {c}u;",
    "for (i = {c}; i < N; i++) a[i] = a[i - {c}] {op} b[i];",
    "for (i = N - 1; i >= 0; i -= {c}) b[i] = mix(a[i], {d});",
    "for (i = 0; i < N; i++) b[i] = a[at[i]] {op} {c}u;",
    "for (i = 0; i < N; i++) a[at[i]] += b[i] {op} {c}u;",
    "for (i = 0; i < N; i++) {{ if (a[i] % {d}u == 0) continue; b[i] {op}= a[i]; }}",
    ("for (i = 0; i < N; i++) {{ word v = a[i] % 97u; int k = 0; while (v > 1u && k < 9) {{"
    " v = v % 2u ? v * 3u + 1u : v / 2u; k++; }} b[i] {op}= (word)k; }}"),
    ("for (i = 0; i < N; i++) {{ double sum = {c}; for (k = start[i]; k < start[i + 1]; k++)"
    " sum += x[at[k]]; y[i] = sum; }}"),
    "for (i = 0; i < N; i++) for (k = start[i]; k < start[i + 1]; k++) grid[at[k]][{c}] += a[i];",
    "for (i = 0; i < N; i++) {{ total += a[i]; if (b[i] > {c}00u) total {op}= b[i]; }}",
    "for (i = 0; i < N; i++) {{ if (x[i] > {c}0) {{ found = i; break; }} }}",
    ("for (i = 1; i < N; i++) for (j = 1; j < M; j++)"
    " AT(flat, i, j) {op}= AT(flat, i - 1, j) + flat[i * M + j - 1];"),
    "for (i = 0; i < N; i++) for (j = 0; j < M; j++) grid[i][j] = flat[i * M + j] {op} a[i];",
    "for (i = 0; i < N; i++) {{ cells[i].key {op}= a[i]; cells[i].weight += x[i]; }}",
    "for (i = 0; i < N; i++) bump(M, grid[i], a[i] {op} {c}u);",
    "for (j = 0; j < M; j++) {{ s = 0; for (i = 0; i < N; i++) s += grid[i][j]; flat[j] = s; }}",
    "for (i = 0; i < N; i++) for (j = 0; j <= i && j < M; j++) z[i][j] = x[i] * {c} + j;",
    "for (t = 0; t < {d}; t++) for (i = 1; i < N - 1; i++) a[i] = a[i - 1] + a[i + 1] {op} {c}u;",
    ("for (i = 0; i < N; i++) for (j = 0; j < M; j++) {{ if ((i + j) % {d} == 0) z[i][j] = 1;"
    " else if (grid[i][j] > a[i]) z[i][j] += y[i]; }}"),
    "for (i = 0; i < N / 2; i++) y[2 * i] = x[i] + y[2 * i + 1];",
)  # fmt: skip


@dataclass
class RandomFile:
    """The text of a C file and the seed it comes from."""

    seed: int
    text: str = field(repr=False)

    def __str__(self) -> str:
        """The text, as a failing test shows it."""
        return self.text


def random_file(seed: int) -> RandomFile:
    """The file of that seed: one to three regions of one to four nests."""
    draw = random.Random(seed)  # noqa: S311
    sizes = {"n": draw.choice((5, 7, 16, 33)), "m": draw.choice((5, 8, 17))}
    lines = [_HEAD.format(seed=draw.randrange(1, 1 << 30), **sizes)]
    lines += ["int main(void)", "{", "    int i, j, k, t, found = -1;", "    word s, total = 1;"]
    lines.append("    setup();")
    for _ in range(draw.randint(1, 3)):
        lines.append("#pragma scop")
        for _ in range(draw.randint(1, 4)):
            numbers = {"c": draw.randint(1, 4), "d": draw.randint(2, 5), "op": draw.choice("+-*^")}
            lines.append("    " + draw.choice(NESTS).format(**numbers))
        lines.append("#pragma endscop")
    lines.append(_TAIL)
    text = "\n".join(lines)
    unused = [name for name in ("j", "k", "t") if f"for ({name} =" not in text]
    text = "".join(line + "\n" for line in text.splitlines())
    silent = "".join(f" (void){name};" for name in (*unused, "s"))
    return RandomFile(seed, text.replace("    setup();", f"    s = 0;{silent}\n    setup();"))
