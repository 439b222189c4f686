"""Whatever the C library and the compiler have of a name, a program may have it too.

The compiler is asked for every macro, and for every function and type, of the headers that
generated code includes.
"""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess

import numpy as np
import pytest

import polyopt as po
from polyopt.codegen.ast.names import (
    c_name,
    c_names,
    fresh,
    function_name,
    hidden_macros,
    is_reserved,
    names_in,
)
from polyopt.codegen.helpers.nontemporal import INTRINSICS

COMPILER = shutil.which("gcc") or "cc"
HEADERS = f"#include <stdint.h>\n#include <math.h>\n{INTRINSICS}"
#: those whose names are asked for: programs may have all of them
ASKED = (
    f"{HEADERS}#include <stdlib.h>\n#include <string.h>\n#include <stdio.h>\n#include <time.h>\n"
)
#: what generated code itself makes, with names that are made up from others
OURS = (
    "min_i64", "max_f32", "floordiv_i64", "lookup_u8", "streamed_f32", "f32x16", "f64x8_at",
    "before1_f32x16", "threads", "buffer", "madvise", "inside", "row", "column", "plane", "fixed",
    "v1", "y_tile", "y_tile_of", "a__", "b__", "polyopt", "aligned_alloc", "omp_get_thread_num",
    "omp_get_max_threads", "omp_x", "T", "W", "time", "index", "read", "free", "abs", "main",
)  # fmt: skip


def _asked(*flags):
    done = subprocess.run(
        [COMPILER, "-E", *flags, "-x", "c", "-"],
        input=ASKED, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return done.stdout


@pytest.fixture(scope="module")
def names():
    """Macros, and all identifiers in the headers' text: functions, types, members, parameters.

    Those with underscores first are one kind: some will do.
    """
    macros = re.findall(r"^#define (\w+)", _asked("-dM", "-fopenmp"), re.MULTILINE)
    words = re.findall(r"\b[A-Za-z_]\w*", re.sub(r"^#.*", "", _asked(), flags=re.MULTILINE))
    found = dict.fromkeys([*OURS, *macros, *words])
    hidden = [name for name in found if name.startswith("_")]
    keywords = {"double", "float", "int", "long", "char", "void"}  # C has them, no program of ours
    return [n for n in found if not n.startswith("_") and n not in keywords] + hidden[::97]


def test_names_are_identifiers_and_stay_apart(names):
    given = c_names(names)
    assert len(set(given.values())) == len(names) > 500
    assert not any(map(is_reserved, given.values()))
    for name in ("H", "W", "i", "j", "img", "out", "time", "index", "N_MAX", "A_0", "int_t2"):
        assert c_name(name) == name
    for name in ("f32x", "min_i", "before1_f32x"):
        taken = {name, *(f"{name}{k}" for k in (2, 3, 8, 32))}
        assert not is_reserved(fresh(name, taken))


def _compiled(path, text, *flags):
    path.with_suffix(".c").write_text(text)
    build = [COMPILER, "-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", *flags]
    command = [*build, str(path.with_suffix(".c")), "-o", str(path), "-lm"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:2000]
    return ctypes.CDLL(str(path))


def test_every_name_may_be_a_parameter_an_array_a_local_and_a_function(names, tmp_path):
    lines: list[str] = []
    for k, name in enumerate(c_names(names).values()):
        loop = f"for (int64_t {name} = 0; {name} < n_; {name}++)"
        lines += [
            f"long size{k}(int64_t {name}) {{ return {name} + {k}; }}",
            f"long array{k}(int64_t n_, const int64_t {name}[restrict n_]) {{ return {name}[1]; }}",
            f"long local{k}(int64_t n_) {{ long s_ = 0; {loop} {{ s_ += {name}; }} return s_; }}",
        ]
    functions = dict.fromkeys(map(function_name, names))
    lines += [f"long {name}(long n_, long m_, long k_, long l_);" for name in functions]
    lines += [f"long {name}(long n_, long m_, long k_, long l_) {{ return n_ - m_ + k_ - l_; }}"
              for name in functions]  # fmt: skip
    undefined = "".join(f"#undef {name}\n" for name in hidden_macros(names_in("\n".join(lines))))
    # compilers say where a function is like none that they know
    known = "-Wno-builtin-declaration-mismatch"
    library = _compiled(
        tmp_path / "all.so", HEADERS + undefined + "\n".join(lines), "-march=native", known
    )
    values = (ctypes.c_int64 * 2)(3, 5)
    for k in range(0, len(names), 50):
        found = [getattr(library, f"size{k}")(7), getattr(library, f"array{k}")(2, values)]
        assert [*found, getattr(library, f"local{k}")(5)] == [7 + k, 5, 10]


#: every role, in the parts of generated code that headers, tasks and buffers come with
SOURCE = """
void f(int time, int M_PI_2, int free, const double index[time][M_PI_2], double read[time][M_PI_2],
       double FP_NAN[free], const double a__[free])
{
    double abs[time][M_PI_2];
    for (int j1 = 0; j1 < time; j1++)
        for (int linux = 0; linux < M_PI_2; linux++)
            abs[j1][linux] = sqrt(fabs(index[j1][linux]));
    for (int errno = 0; errno < time; errno++)
        for (int stdin = 0; stdin < M_PI_2; stdin++)
            read[errno][stdin] = abs[time - 1 - errno][M_PI_2 - 1 - stdin] + time;
    for (int threads = 0; threads < free; threads++)
        FP_NAN[threads] = a__[threads] > 0 ? INFINITY : fmod(a__[threads], 2) / free;
}
"""


@pytest.mark.parametrize("name", ["lgamma", "isnan", "read", "memcpy", "EXIT_FAILURE", "min_f64"])
def test_a_program_of_such_names(name, tmp_path):
    plan = po.Plan(po.parse_c(SOURCE)).parallelize("abs.j1").vectorize("FP_NAN.threads")
    made = plan.emit(name=name)
    function = getattr(_compiled(tmp_path / "f.so", made.source, "-fopenmp"), made.c_name)
    index = np.arange(6.0).reshape(2, 3) - 2
    a = np.array([1.0, -5.0, -1.5, -3.0, 2.0])
    read, found = np.zeros((2, 3)), np.zeros(5)
    pointers = [ctypes.c_void_p(x.ctypes.data) for x in (index, read, found, a)]
    assert function(*map(ctypes.c_int64, (2, 3, 5)), *pointers, 2) == 0
    assert np.array_equal(read, np.sqrt(abs(index[::-1, ::-1])) + 2)
    assert np.array_equal(found, np.where(a > 0, np.inf, np.fmod(a, 2) / 5))


def test_work_is_told_by_the_names_that_sizes_have():
    source = po.Plan(po.parse_c(SOURCE)).parallelize("abs.j1").emit().source
    (line,) = (line for line in source.splitlines() if "< 100000" in line)
    assert "free_" in line
    assert not re.search(r"\bfree\b", line)
