"""What tests of exported files share: commands, and Python without polyopt."""

from __future__ import annotations

import subprocess
import sys


def run(command, **options):
    """A command, whatever it ends with, and what it printed."""
    return subprocess.run([str(w) for w in command], capture_output=True, check=False, **options)


def in_python(wheel, target, code):
    """What a process prints that has a wheel and NumPy, and no polyopt."""
    pip = [sys.executable, "-m", "pip", "install", "-q", "--no-index", "--no-deps"]
    done = run([*pip, "--disable-pip-version-check", "--target", target, wheel], text=True)
    assert done.returncode == 0, done.stderr
    blocked = f"import sys; sys.modules['polyopt'] = None; sys.path.insert(0, {str(target)!r})\n"
    done = run([sys.executable, "-W", "error", "-c", blocked + code], text=True, cwd=target)
    assert done.returncode == 0, done.stderr
    return done.stdout
