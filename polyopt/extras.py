"""What is installed for an extra: its packages by name, for polyopt itself is on no index."""

from __future__ import annotations

import re
import shlex
from importlib.metadata import PackageNotFoundError, requires


def install_command(extra: str, library: str = "") -> str:
    """A command that installs what an extra needs, beside polyopt from a checkout or a wheel.

    Where a ``library`` is named that the extra has by this name, that one alone.
    """
    listed = packages(extra)
    named = [p for p in listed if re.match(rf"{re.escape(library)}\b(?!-)", p)] if library else []
    return shlex.join(["pip", "install", *(named or listed)])


def packages(extra: str) -> tuple[str, ...]:
    """The requirements of an extra: ``onnx>=1.16``.

    From a checkout that nothing installed, the checkout with the extra.
    """
    try:
        listed = requires("polyopt") or []
    except PackageNotFoundError:
        return "-e", f".[{extra}]"
    marker = re.compile(rf"""extra == ['"]{re.escape(extra)}['"]""")
    pairs = (line.partition(";") for line in listed)
    return tuple(name.strip() for name, _, condition in pairs if marker.search(condition))
