"""Under which conditions times were taken: the command, the day, the versions."""

from __future__ import annotations

import shlex
from contextlib import suppress
from datetime import UTC, datetime
from importlib import metadata
from platform import python_version
from typing import TYPE_CHECKING

from polyopt import __version__
from polyopt.bench.peers import COMPILERS, FRAMEWORKS, LIBRARIES
from polyopt.bench.peers.compilers import compiler_version
from polyopt.errors import CompilerMissingError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def conditions(arguments: Sequence[str], peers: Sequence[str] = ()) -> dict[str, object]:
    """What ``bench --json`` says of a run beside its times.

    ``arguments`` are those of the command line; ``peers`` are those asked for.
    """
    return {
        "command": shlex.join(["polyopt", *arguments]),
        "date": datetime.now(tz=UTC).date().isoformat(),
        "peers": list(peers),
        "versions": {"polyopt": __version__, "Python": python_version(), **_versions(peers)},
    }


def _versions(peers: Iterable[str]) -> dict[str, str]:
    """The versions of peers that are installed."""
    distributions = metadata.packages_distributions()
    found: dict[str, str] = {}
    for peer in peers:
        if peer in COMPILERS:
            with suppress(CompilerMissingError):
                found[peer] = compiler_version(peer)
            continue
        for distribution in distributions.get(
            {**LIBRARIES, **FRAMEWORKS}[peer].partition(".")[0], ()
        )[:1]:
            found[peer] = metadata.version(distribution)
    return found
