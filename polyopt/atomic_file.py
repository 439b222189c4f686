"""Files that are written whole or not at all."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a file whole or not at all; text is UTF-8."""
    data = content.encode() if isinstance(content, str) else content
    if path.exists() and not path.is_file():  # a pipe, or a terminal
        path.write_bytes(data)
        return
    made = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        made.write_bytes(data)
        made.replace(path)
    finally:
        made.unlink(missing_ok=True)
