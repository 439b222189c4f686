"""All faults and what comes of them, as a page: ``python -m tests.faults.table -o FILE``."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from .cases import CASES, works

_HEAD = """\
# Faults, and what comes of them

Each is injected, and what the user is told is the first line that follows. Then it is taken away: *lost* is *nothing* where the
same request succeeds from what is left, and nothing half-written is. Written by `make faults`.

| fault | what the user sees | lost |
|---|---|---|
"""


def main() -> int:
    """Inject all faults; the exit code is 1 where something is lost, or told otherwise."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-o", "--output", type=Path, required=True)
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
    options.output.write_text(_HEAD + "\n".join(rows) + "\n", encoding="utf-8")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
