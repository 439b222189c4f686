"""Is a change slower? Two versions of polyopt in turns on the same inputs.

    python -m tests.compare 37f96f8 --suite images --minutes 25

compares a commit with the working tree as it is, and goes on where an earlier run of the same two
stopped. With files instead of a commit, it shows what they have found together. The exit status is
1 where the new version is slower, fails, or has other results.
"""

from __future__ import annotations

import argparse
import sys
import time
from contextlib import ExitStack
from pathlib import Path

from .driver import FIELD, SUITES, Options, compare, parts
from .ratios import LEAST_ROUNDS
from .records import BASE, NEW, Comparison, load, merged, save
from .report import report, troubles
from .session import Session
from .versions import CompareError, of_commit, of_tree

ROOT = Path(__file__).resolve().parents[2]
PURPOSES = ("bench", "demo", "test", "tiny")


def main(arguments: list[str] | None = None) -> int:
    """See the module."""
    options = _parser().parse_args(arguments)
    try:
        if options.base and all(name.endswith(".json") for name in options.base):
            return _shown(options)
        return _compared(options)
    except CompareError as error:
        print(f"compare: {error}", file=sys.stderr)
        return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tests.compare",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("base", nargs="*", help="a commit, or results (.json) to show together")
    parser.add_argument(
        "--suite", default="all", help=f"{', '.join(SUITES)}, {FIELD}, or all without {FIELD}"
    )
    parser.add_argument("--kernels", default="", help="names or patterns; all without")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--rounds", type=int, default=Options.rounds, help="turns of each version")
    parser.add_argument("--minutes", type=float, help="stop after so long, to go on later")
    parser.add_argument("--sizes", default="bench", help=", ".join(PURPOSES))
    parser.add_argument("--all", action="store_true", help="measure the same code, too")
    parser.add_argument("-o", "--output", type=Path, help="the result, as JSON; its text beside it")
    return parser


def _shown(options: argparse.Namespace) -> int:
    """Results of several runs as one."""
    first, *others = (load(Path(name)) for name in options.base)
    for other in others:
        first = merged(first, other)
    if options.output:
        _saved(first, options.output)
    print(report(first), end="")
    return int(bool(troubles(first)))


def _compared(options: argparse.Namespace) -> int:
    chosen = _options(options)
    if len(options.base) != 1:
        message = "compared with which commit? make compare BASE=<commit>"
        raise CompareError(message)
    place = ROOT / "build" / "compare"
    versions = {BASE: of_commit(ROOT, options.base[0], place), NEW: of_tree(ROOT, place)}
    _tell_dependencies(versions[BASE].dependencies, versions[NEW].dependencies)
    path = options.output
    if path is None:
        names = "-".join(version.folder.name for version in versions.values())
        purpose = "" if options.sizes == PURPOSES[0] else f"-{options.sizes}"
        path = place / f"{names}{purpose}.json"
    with ExitStack() as stack:
        sessions = {
            side: stack.enter_context(Session(v, path.with_name(f"{path.stem}.{side}.log")))
            for side, v in versions.items()
        }
        path.parent.mkdir(parents=True, exist_ok=True)
        who = {side: session.start() for side, session in sessions.items()}
        machine = {name: who[NEW][name] for name in ("cpu", "cores", "compiler")}
        told = {side: {"label": v.label, "digest": v.digest} for side, v in versions.items()}
        state = Comparison(told, machine, options.sizes)
        if path.exists():
            state = merged(state, load(path))
        state, left = compare(
            state, sessions, chosen, saved=lambda now: save(now, path), report=_progress
        )
    _saved(state, path)
    print(report(state), end="")
    print(f"in {path.resolve()}")
    if left:
        print(f"{left} kernel{'s' * (left > 1)} left: the same command goes on")
    return int(bool(troubles(state)))


def _progress(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _saved(comparison: Comparison, path: Path) -> None:
    save(comparison, path)
    path.with_suffix(".txt").write_text(report(comparison), encoding="utf-8")


def _options(options: argparse.Namespace) -> Options:
    """Raises ``CompareError`` for what is none."""
    if options.suite not in {*SUITES, FIELD, "all"}:
        known = ", ".join((*SUITES, FIELD))
        message = f"there is no suite {options.suite!r}; there are {known}, all"
        raise CompareError(message)
    if options.sizes not in PURPOSES:
        message = f"there are no sizes {options.sizes!r}; there are {', '.join(PURPOSES)}"
        raise CompareError(message)
    threads = parts(options.threads)
    if not threads or not all(t.isdecimal() and int(t) > 0 for t in threads):
        message = f"THREADS={options.threads!r} are no numbers of threads, such as 1,2"
        raise CompareError(message)
    if options.rounds < 1:
        message = f"ROUNDS={options.rounds} is below 1; {LEAST_ROUNDS} and more give an interval"
        raise CompareError(message)
    end = float("inf") if options.minutes is None else time.monotonic() + 60 * options.minutes
    return Options(
        suites=SUITES if options.suite == "all" else (options.suite,),
        kernels=tuple(parts(options.kernels)),
        threads=tuple(dict.fromkeys(map(int, threads))),
        rounds=options.rounds,
        measure_all=options.all,
        end=end,
    )


def _tell_dependencies(base: tuple[str, ...], new: tuple[str, ...]) -> None:
    other = sorted(set(base) ^ set(new))
    if other:
        _progress(f"both run with the packages of new, but differ in: {', '.join(other)}")


if __name__ == "__main__":
    sys.exit(main())
