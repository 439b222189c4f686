"""Coverage-guided fuzzing: ``python -m tests.fuzz.fuzz TARGET --seconds 60``, with atheris.

What it learns stays in ``build/fuzz``; an input that fails is written there, and said. Inputs worth
keeping go to ``tests/fuzz/seeds``, which every ``make test`` runs.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

#: whose branches lead the fuzzer: what reads the input, as instrumenting everything takes minutes
_WATCHED = [
    "polyopt.frontend.c", "polyopt.graph.onnx", "polyopt.graph.ops", "polyopt.transform",
    "pycparser",
]  # fmt: skip
SEEDS = Path(__file__).with_name("seeds")


def main() -> None:
    """The command line; ends with libFuzzer's exit code."""
    import atheris

    with atheris.instrument_imports(include=_WATCHED):
        from tests.fuzz.targets import TARGETS
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.fuzz", description=__doc__)
    parser.add_argument("target", choices=TARGETS)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--folder", type=Path, default=Path("build/fuzz"))
    given = parser.parse_args()
    learned = given.folder / given.target
    learned.mkdir(parents=True, exist_ok=True)
    options = [
        f"-max_total_time={given.seconds}", "-timeout=60", "-rss_limit_mb=4096", "-max_len=4096",
        f"-artifact_prefix={given.folder}/{given.target}-", "-print_final_stats=1",
        str(learned), str(SEEDS / given.target),
    ]  # fmt: skip
    atheris.Setup([sys.argv[0], *options], TARGETS[given.target])
    atheris.Fuzz()


if __name__ == "__main__":
    main()
