"""Large buffers ask Linux for large pages, for no byte that is not theirs."""

from __future__ import annotations

import subprocess
import sys

import pytest

import polyopt as po
from polyopt.codegen.ast.names import c_name
from polyopt.codegen.printers.headers import before
from polyopt.codegen.printers.vocabulary import uses_in
from polyopt.runtime.toolchain import find_toolchain

#: a program of its own ``madvise``, which takes note of what it is asked
ASKED = """
#include <stdlib.h>

static uintptr_t first, last;

int madvise(void *start, size_t bytes, int advice) {
    first = (uintptr_t)start;
    last = first + bytes;
    return advice == 14 ? -1 : 0;
}

int main(void) {
    for (size_t bytes = (size_t)1 << 20; bytes <= (size_t)1 << 24; bytes *= 2) {
        for (size_t more = 0; more < 3; more++) {
            first = last = 0;
            const size_t size = bytes + more - 1;
            char *found = buffer(size);
            const uintptr_t low = (uintptr_t)found;
            if (!found || low % 64) { return 1; }
            if ((last != 0) != (size >= (size_t)1 << 22)) { return 2; }
            if (last && (first % 4096 || first < low || last > low + size)) { return 3; }
            if (last && last - first + ((size_t)1 << 17) < size) { return 4; }
            found[size - 1] = 1;
            release(found);
        }
    }
    return 0;
}
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="there is no such call")
def test_they_ask_for_their_own_pages_and_nearly_all(tmp_path):
    source, program = tmp_path / "asked.c", tmp_path / "asked"
    source.write_text(before(uses_in("char *x = buffer(1); release(x);")) + ASKED)
    find_toolchain().compile_program(source, program, ["-O1", "-Wall", "-Wextra", "-Werror"])
    assert subprocess.run([program], check=False).returncode == 0


def test_no_buffer_asks_for_nothing():
    assert "madvise" not in before(uses_in("x[0] = 1;"))


def test_a_program_may_have_the_name_itself():
    image = po.input("madvise", po.f32, ("H", "W"))
    out = po.stage("out", ("H", "W"), lambda y, x: image[y, x] + 1)
    scop = po.pipeline(out, name="named", context=["H >= 1", "W >= 1"])
    assert c_name("madvise") == "madvise_"
    assert "madvise_[" in po.Plan(scop).compile().source
