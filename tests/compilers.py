"""The C compilers that tests use: the machine's own, and clang where it is installed.

What a test holds it holds with the machine's own compiler alone; runs with clang carry a mark, by
which ``make test-clang`` chooses them.
"""

from __future__ import annotations

import shutil
import subprocess
import sys

import pytest

OWN = "gcc" if shutil.which("gcc") else "cc"
NAMES = (OWN, *(name for name in ("clang",) if shutil.which(name)))
#: what generated code is compiled with beside its own flags
NO_WARNING = ("-Wall", "-Wextra", "-Werror")


def marked(names):
    """Parameters of a test, those of clang marked as such."""
    return [pytest.param(n, marks=pytest.mark.clang) if n == "clang" else n for n in names]


COMPILERS = marked(NAMES)


def _takes_cpp(compiler):
    command = [compiler, "-x", "c++", "-std=c++20", "-fsyntax-only", "-"]
    done = subprocess.run(command, input=b"#include <span>\n", capture_output=True, check=False)
    return done.returncode == 0


#: what compiles C++ 20: the machine's own compiler where it takes that, as not each C compiler does
CPP_COMPILERS = tuple(name for name in (OWN,) if _takes_cpp(name))
#: the library of C++, for a C compiler that links
CPP_LIBRARY = "-lc++" if sys.platform == "darwin" else "-lstdc++"
