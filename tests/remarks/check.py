"""Remark coverage: every loop and every producer-consumer pair of every kernel has a remark.

``python -m tests.remarks.check [KERNEL...]`` looks at the automatic and at the unfused plan of each
kernel; ``make test`` does so for some.
"""

from __future__ import annotations

import sys

from polyopt.bench.suites import KERNELS, members
from polyopt.explain import Explanation, explain
from polyopt.explain.remarks.pairs import pairs_of
from polyopt.library import load_kernel
from polyopt.scheduler import auto
from polyopt.transform.plan import Plan
from polyopt.transform.schedule.remark import KINDS
from polyopt.transform.schedule.tree import loops_of


def missing(plan: Plan, found: Explanation) -> list[str]:
    """What has no remark, or one that says nothing; empty where all is well."""
    pairs = {(r.subject, r.consumer) for r in found.pairs}
    loops = {r.subject for r in found.loops}
    wrong = [f"{p.producer} -> {p.consumer}" for p in pairs_of(plan)
             if (p.producer, p.consumer) not in pairs]  # fmt: skip
    wrong += [n.name for n in loops_of(plan.program.tree) if n.name not in loops]
    wrong += [f"{r.subject}: {r.kind!r}" for r in found if r.kind not in KINDS or not r.reason]
    wrong += [line for line in str(found).splitlines() if len(line) > 80]
    return wrong


def main(names: list[str]) -> int:
    """Print a line per kernel; 1 where something has no remark."""
    failed = 0
    for name in names or members(KERNELS):
        kernel = load_kernel(name)
        sizes = kernel.sizes["test"]
        for kind, plan in (
            ("automatic", auto(kernel.scop, target="avx2", sizes=kernel.sizes["bench"])),
            ("unfused", Plan(kernel.scop)),
        ):
            found = explain(plan, sizes)
            wrong = missing(plan, found)
            print(f"{name}, {kind}: {len(found)} remarks; {'; '.join(wrong) or 'nothing missing'}")
            failed += bool(wrong)
    return min(failed, 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
