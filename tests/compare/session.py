"""A version's process: started when it is first asked, and again after it died."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from .versions import CompareError

if TYPE_CHECKING:
    from .versions import Version

_WORKER = Path(__file__).with_name("worker.py")
#: seconds for an answer; planning some kernels takes minutes on a slow machine
_LIMIT_S = 900.0


class FailedError(Exception):
    """What a version could not do, in one line."""


class Session:
    """Requests to one version, each answered before the next; ``log`` gets what else it prints."""

    def __init__(self, version: Version, log: Path, limit_s: float = _LIMIT_S) -> None:
        self.version = version
        self._log = log
        self._limit_s = limit_s
        self._process: subprocess.Popen[str] | None = None

    def ask(self, do: str, **arguments: object) -> dict[str, Any]:
        """What the version answers. Raises ``FailedError``."""
        if self._process is None:
            self.start()
        answer = self._answer({"do": do, **arguments})
        if "error" in answer:
            raise FailedError(answer["error"])
        return answer

    def start(self) -> dict[str, Any]:
        """Start the process; who answers. Raises ``CompareError`` for one that does not."""
        environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
        with self._log.open("a", encoding="utf-8") as log:
            self._process = subprocess.Popen(
                [self.version.python, "-I", _WORKER],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True,
                cwd=self.version.tree, env=environment,
            )  # fmt: skip
        try:
            who = self._answer({"do": "hello"})
        except FailedError as error:
            who = {"error": str(error)}
        if "error" in who:
            self.stop()
            message = f"polyopt of {self.version.label} does not start: {who['error']}"
            raise CompareError(f"{message} (see {self._log})")
        if not Path(who["package"]).is_relative_to(self.version.tree.resolve()):
            self.stop()
            message = f"{self.version.label} ran with polyopt from {who['package']}"
            raise CompareError(message)
        return who

    def _answer(self, request: dict[str, object]) -> dict[str, Any]:
        process = self._process
        assert process is not None
        assert process.stdin is not None
        assert process.stdout is not None
        late = threading.Event()

        def end() -> None:
            late.set()
            process.kill()

        timer = threading.Timer(self._limit_s, end)
        timer.start()
        try:
            process.stdin.write(json.dumps(request) + "\n")
            process.stdin.flush()
            line = process.stdout.readline()
        except BrokenPipeError:
            line = ""
        finally:
            timer.cancel()
        if line:
            return json.loads(line)
        status = process.wait()
        self.stop()
        if late.is_set():
            message = f"no answer within {self._limit_s:g} s"
        elif status < 0:
            message = f"its process ended by {signal.Signals(-status).name}"
        else:
            message = f"its process ended with status {status}"
        raise FailedError(message)

    def stop(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                with suppress(BrokenPipeError):
                    stream.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
