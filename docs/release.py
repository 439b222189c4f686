"""What a release needs: ends of version ranges, and a wheel that builds to the same bytes.

python docs/release.py oldest | newest | testing | reproducible
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent


def project() -> dict[str, Any]:
    """What pyproject.toml says of polyopt."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)["project"]


def requirements() -> list[str]:
    """What polyopt depends on."""
    return project()["dependencies"]


def testing() -> list[str]:
    """What runs the tests, in the ranges that development has."""
    wanted = project()["optional-dependencies"]["dev"]
    return [one for one in wanted if newest(one) == "hypothesis" or one.startswith("pytest")]


def oldest(requirement: str) -> str:
    """``numpy>=2`` as ``numpy==2.*`` at its lowest: the lower end, exactly."""
    name, version = re.fullmatch(r"([\w-]+)>=([\d.]+).*", requirement).groups()
    parts = version.split(".")
    return f"{name}=={'.'.join([*parts, '0', '0'][: max(3, len(parts))])}"


def newest(requirement: str) -> str:
    """The name alone: whatever is newest, beyond the tested range too."""
    return re.match(r"[\w-]+", requirement)[0]


def versions(current: str, root: Path = ROOT) -> list[dict[str, object]]:
    """The versions that have a tag, and the current one, the newest first; without git it alone."""
    command = ["git", "-C", str(root), "tag", "--list", "v[0-9]*"]
    try:
        said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    except (OSError, subprocess.CalledProcessError):
        said = ""
    tagged = {tag.removeprefix("v") for tag in said.split()}
    return [
        {"version": name, "released": name in tagged}
        for name in sorted(tagged | {current}, key=_numbers, reverse=True)
    ]


def _numbers(version: str) -> list[int]:
    return [int(number) for number in re.findall(r"[0-9]+", version)]


def built(folder: str, stamp: str) -> dict[str, str]:
    """A wheel and a source archive, and their checksums."""
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, str(ROOT)]
    env = os.environ | {"SOURCE_DATE_EPOCH": stamp}
    subprocess.run(command, check=True, env=env, stdout=subprocess.DEVNULL)
    return {f.name: hashlib.sha256(f.read_bytes()).hexdigest() for f in Path(folder).iterdir()}


def reproducible() -> None:
    """Build twice. Exits with a message where the archives differ."""
    command = ["git", "-C", str(ROOT), "log", "-1", "--format=%ct"]
    stamp = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as two:
        first, second = built(one, stamp), built(two, stamp)
    if first != second:
        sys.exit(f"two builds differ: {first} and {second}")
    for name, digest in sorted(first.items()):
        print(f"{digest}  {name}")


def main() -> None:
    """See the module."""
    match sys.argv[1:]:
        case ["oldest"]:
            print("\n".join(map(oldest, requirements())))
        case ["newest"]:
            print("\n".join(map(newest, requirements())))
        case ["testing"]:
            print("\n".join(testing()))
        case ["reproducible"]:
            reproducible()
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main()
