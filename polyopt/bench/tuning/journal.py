"""What tuning has measured so far, in a file: an interrupted run goes on where it stopped."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polyopt.codegen.target import cpu_name
from polyopt.errors import InvalidOptionError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from polyopt.runtime.measuring.alternate import Sample

_FORMAT = 1


@dataclass(frozen=True)
class Times:
    """Milliseconds a call of a plan, and of the model's own choice in turn with it."""

    median_ms: float
    min_ms: float
    iqr_ms: float
    runs: int
    noisy: bool
    own_ms: float

    @classmethod
    def of(cls, sample: Sample, own: Sample) -> Times:
        """From the samples of both."""
        return cls(**asdict(sample), own_ms=own.median_ms)


class Journal:
    """Times by the script of a plan, for one program, its sizes and threads, on one processor."""

    def __init__(
        self, path: str | Path, program: str, sizes: Mapping[str, int], threads: int | None
    ) -> None:
        """Read what a file holds, if there is one.

        Raises ``InvalidOptionError`` for a file that is no journal, or is one of other
        measurements.
        """
        self.path = Path(path)
        self.about = {
            "format": _FORMAT,
            "program": program,
            "sizes": dict(sizes),
            "threads": threads,
            "processor": cpu_name(),
        }
        self.entries = self._read() if self.path.exists() else []

    @property
    def known(self) -> dict[str, list[Times]]:
        """The times so far, by the plan's script: one for each measurement."""
        found: dict[str, list[Times]] = {}
        for entry in self.entries:
            found.setdefault(entry["script"], []).append(Times(**entry["times"]))
        return found

    def add(self, name: str, script: str, times: Times) -> None:
        """Keep a measurement; it is on disk when this returns.

        Raises ``InvalidOptionError`` where the file cannot be written.
        """
        self.entries.append({"name": name, "script": script, "times": asdict(times)})
        text = json.dumps({**self.about, "trials": self.entries}, indent=2) + "\n"
        beside = self.path.with_name(f"{self.path.name}.{os.getpid()}.new")
        try:
            beside.write_text(text, encoding="utf-8")
            beside.replace(self.path)
        except OSError as error:
            beside.unlink(missing_ok=True)
            message = f"{self.path} cannot be written: {error.strerror}"
            raise InvalidOptionError(message) from None

    def _read(self) -> list[dict[str, Any]]:
        try:
            document = json.loads(self.path.read_text(encoding="utf-8"))
            entries = list(document["trials"])
            for entry in entries:
                Times(**entry["times"])
                entry["script"].split()
        except OSError as error:
            message = f"{self.path} cannot be read: {error.strerror}"
            raise InvalidOptionError(message) from None
        except (ValueError, KeyError, TypeError, AttributeError):
            message = f"{self.path} is not a journal of tuning"
            raise InvalidOptionError(message, hint="name a file that is not there yet") from None
        for key, value in self.about.items():
            if document.get(key) != value:
                message = f"{self.path} is about {key} {document.get(key)}, not {value}"
                hint = "name another file, or remove this one to measure anew"
                raise InvalidOptionError(message, hint=hint)
        return entries
