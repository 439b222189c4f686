"""All faults and what comes of them, as a page: ``python -m tests.faults.table -o FILE``."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from .cases import CASES, works
from .crowds import crowds

_HEAD = """\
# Faults, and what comes of them

Each is injected, and what the user is told is the first line that follows. Then it is taken away: *lost* is *nothing* where the
same request succeeds from what is left, and nothing half-written is. Written by `make faults`.

| fault | what the user sees | lost |
|---|---|---|
"""

_MANY = """
# Many at once, and many in a row

Each compilation at once with others is made once, whoever comes first. What is compiled one after the other is forgotten each time,
so nothing may be left of it. Where isl computes, some memory stays all the same: its Python bindings (islpy 2026.2.2) never free the
32 bytes around a value that is handed to isl, nor a text that isl returns. With bindings in which that is mended, 3 kB each stay.

| what | what came of it |
|---|---|
"""


def main() -> int:
    """Inject all faults; the exit code is 1 where something is lost, or told otherwise."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--threads", type=int, default=64)
    parser.add_argument("--processes", type=int, default=16)
    parser.add_argument("--compilations", type=int, default=10_000)
    options = parser.parse_args()
    rows: list[str] = []
    failed = False
    for case in CASES:
        with tempfile.TemporaryDirectory() as folder:
            told = case.run(Path(folder))
            kept = works(Path(folder))
        failed = failed or not kept or case.says not in told
        rows.append(f"| {case.name} | {told.replace('|', ' ')} | {'nothing' if kept else 'LOST'} |")
        print(rows[-1], flush=True)
    many: list[str] = []
    for what, seen, right in crowds(options.threads, options.processes, options.compilations):
        failed = failed or not right
        many.append(f"| {what} | {seen}{'' if right else ': WRONG'} |")
        print(many[-1], flush=True)
    page = _HEAD + "\n".join(rows) + "\n" + _MANY + "\n".join(many) + "\n"
    options.output.write_text(page, encoding="utf-8")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
