"""Kernels as C libraries and as wheels."""

from __future__ import annotations

import ctypes
import json
import shutil

import numpy as np
import pytest
from click.testing import CliRunner

import polyopt as po
from polyopt.cli import cli
from polyopt.errors import InvalidOptionError
from tests.compilers import COMPILERS, CPP_COMPILERS, CPP_LIBRARY, NO_WARNING, OWN
from tests.exported import in_python, run

STRICT = "WARNINGS=-Wall -Wextra -Werror -Wno-unknown-pragmas"
SANITIZED = ["-g1", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-w"]

#: sizes, a scalar, something changed in place, a result, and numbers of rows that are checked
SOURCE = """
#pragma polyopt inbounds
void pick(int N, int M, int K, const int rows[K], const float table[N][M], float scale,
          float sums[M], double out[K][2 * M])
{
    for (int k = 0; k < K; k++)
        for (int m = 0; m < M; m++) {
            out[k][2 * m] = scale * table[rows[k]][m];
            out[k][2 * m + 1] = 1.0;
        }
    for (int n = 0; n < N; n++)
        for (int m = 0; m < M; m++)
            sums[m] += table[n][m];
}
"""
#: what follows from shapes alone by a rounded division, and a size that nothing determines
HALF = """
void half(int N, int from, const double a[N], double b[(N + 1) / 2])
{
    for (int i = 0; i < (N + 1) / 2; i++)
        b[i] = a[2 * i] + from;
}
"""


@pytest.fixture(scope="module")
def kernel():
    return po.Plan(po.parse_c(SOURCE)).compile()


def inputs():
    rng = np.random.default_rng(4)
    table = rng.standard_normal((6, 5)).astype(np.float32)
    return np.array([5, 0, 3], np.int32), table, np.arange(5, dtype=np.float32)


def expected(rows, table, sums):
    out = np.ones((len(rows), 10))
    out[:, ::2] = np.float32(2.5) * table[rows]
    return sums + table.sum(axis=0), out


@pytest.mark.parametrize("compiler", COMPILERS)
def test_the_example_computes(kernel, tmp_path, compiler):
    out = kernel.export_library(tmp_path / "pick")
    done = run(["make", "-s", "-C", out, f"CC={compiler}", STRICT], text=True)
    assert done.returncode == 0, done.stderr
    given = inputs()
    done = run([out / "pick-example", 6, 5, 3, 2.5], input=b"".join(a.tobytes() for a in given))
    assert done.returncode == 0, done.stderr
    sums, result = expected(*given)
    np.testing.assert_allclose(np.frombuffer(done.stdout[:20], np.float32), sums, rtol=1e-5)
    found = np.frombuffer(done.stdout[20:], np.float64).reshape(3, 10)
    np.testing.assert_allclose(found, result, rtol=1e-6)
    for words, said in (
        ([6, 5, 3], "usage: pick-example N M K scale"), ([6, "x", 3, 1], "no whole number"),
        ([6, 5, 3, "y"], "is no number"), ([6, 0, 3, 1], "sizes are not those"),
        ([6, 5, 4, 1], "the input is too short"),
    ):  # fmt: skip
        done = run([out / "pick-example", *words], input=b"".join(a.tobytes() for a in given))
        assert done.returncode == 2
        assert said in done.stderr.decode()


def test_only_the_interface_is_visible(kernel, tmp_path):
    out = kernel.export_library(tmp_path / "pick")
    assert run(["make", "-s", "-C", out, f"CC={OWN}"]).returncode == 0
    library = ctypes.CDLL(str(next(out.glob("libpick.[sd]*[ob]"))))
    assert library["pick_run"]
    for hidden in ("pick_kernel", "pick_processor"):
        with pytest.raises(AttributeError):
            library[hidden]


CALLS = """
#include <cstdio>
#include <cstdint>
#include <cstring>
#include <vector>
#include "pick.hpp"

static void say(const char *what, int status) { std::printf("%s: %d\\n", what, status); }

int main() {
    std::vector<int32_t> rows{5, 0, 3};
    std::vector<float> table(30, 1.0f), sums(5);
    std::vector<double> out(30);
    auto call = [&](int64_t n, int64_t m, int64_t k, float *s, size_t count) {
        return pick_run(n, m, k, rows.data(), rows.size(), table.data(), table.size(), 2.5f, s, count, out.data(), out.size(), 1);
    };
    say("right", call(6, 5, 3, sums.data(), 5));
    std::printf("%g %g %g\\n", sums[0], out[0], out[1]);
    say("other sizes", call(5, 6, 3, sums.data(), 5));
    say("negative", call(-6, -5, 3, sums.data(), 5));
    say("least", call(INT64_MIN, 5, 3, sums.data(), 5));
    say("greatest", call(6, INT64_MAX, 3, sums.data(), 5));
    say("wraps", call((int64_t)1 << 47, (int64_t)1 << 47, 3, sums.data(), 5));
    say("null", call(6, 5, 3, nullptr, 5));
    say("count", call(6, 5, 3, sums.data(), 4));
    say("overlap", call(6, 5, 3, table.data() + 3, 5));
    rows[1] = 6;
    say("above", call(6, 5, 3, sums.data(), 5));
    rows[1] = -1;
    say("below", call(6, 5, 3, sums.data(), 5));
    try {
        pick::run(6, 5, 3, rows, table, 2.5f, sums, out, 1);
    } catch (const pick::error &found) {
        std::printf("%d %s\\n", found.status(), found.what());
    }
    rows[1] = 1;
    pick::run(6, 5, 3, rows, table, 3.0f, sums, out);
    std::printf("%g %g\\n", out[0], out[10]);
    say("no extents", pick_shape(0, nullptr, nullptr));
    std::printf("%s %d\\n", pick_message(-1), std::strcmp(pick_message(99), "no such status"));
    std::printf("%d %d\\n", pick_abi() == PICK_ABI, pick_array_rank(-1));
    return 0;
}
"""
SAID = """\
right: 0
6 2.5 1
other sizes: 4
negative: 3
least: 3
greatest: 3
wraps: 4
null: 2
count: 4
overlap: 6
above: 8
below: 8
8 an element that chooses elements of another array is outside of it
3 3
no extents: 2
no such status 0
1 -1
"""


def test_calls_from_cpp_under_sanitizers(kernel, tmp_path):
    out = kernel.export_library(tmp_path / "pick")
    (tmp_path / "calls.cpp").write_text(CALLS, encoding="ascii")
    for compiler in CPP_COMPILERS:
        objects = []
        for file in [*out.glob("pick*.c"), tmp_path / "calls.cpp"]:
            if file.name == "pick_example.c":
                continue
            objects.append(tmp_path / f"{file.name}.o")
            language = ["-std=c++20", *NO_WARNING] if file.suffix == ".cpp" else ["-std=gnu11"]
            flags = [f for f in SANITIZED if f != "-w" or file.suffix == ".c"]
            command = [compiler, *flags, *language, f"-I{out}", "-c", file, "-o", objects[-1]]
            done = run(command, text=True)
            assert done.returncode == 0, done.stderr
        linked = [compiler, *SANITIZED, *objects, "-o", tmp_path / "calls", CPP_LIBRARY, "-lm"]
        done = run(linked, text=True)
        assert done.returncode == 0, done.stderr
        done = run([tmp_path / "calls"], text=True)
        assert done.stdout == SAID
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", ["Pick", "test"])
def test_cmake_finds_the_package(tmp_path, name):
    """A project of someone else's, where CMake is installed; names may be words of CMake's."""
    kernel = po.Plan(po.parse_c(SOURCE.replace("pick", name))).compile()
    out = kernel.export_library(tmp_path / name)
    text = (out / "CMakeLists.txt").read_text(encoding="utf-8")
    assert f"set(KERNELS {name}_processor.c {name}_kernel.c)" in text
    cmake = shutil.which("cmake")
    if cmake is None:
        return
    user = tmp_path / "user"
    user.mkdir()
    (user / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.16)\nproject(user LANGUAGES C)\n"
        f"find_package({name} 1.0 REQUIRED)\nadd_executable(user user.c)\n"
        f"target_link_libraries(user PRIVATE {name}::{name})\n",
        encoding="ascii",
    )
    (user / "user.c").write_text(
        f"#include <{name}.h>\nint main(void) {{ return {name}_abi() != {name.upper()}_ABI; }}\n",
        encoding="ascii",
    )
    for shared in ("ON", "OFF"):
        prefix = tmp_path / f"prefix{shared}"
        made, there = tmp_path / f"made{shared}", tmp_path / f"user{shared}"
        for step in (
            ["-S", out, "-B", made, f"-DBUILD_SHARED_LIBS={shared}"],
            ["--build", made],
            ["--install", made, "--prefix", prefix],
            ["-S", user, "-B", there, f"-DCMAKE_PREFIX_PATH={prefix}"],
            ["--build", there],
        ):
            done = run([cmake, *step], text=True)
            assert done.returncode == 0, done.stdout + done.stderr
        assert run([there / "user"]).returncode == 0


REFUSED = """
def refused(call):
    try:
        call()
    except Exception as error:
        print(type(error).__name__, error)
"""


def test_a_wheel_computes_and_refuses(kernel, tmp_path):
    rows, table, sums = inputs()
    wanted = expected(rows, table, sums)
    names = ("rows", "table", "sums", "wanted", "out")
    arrays = dict(zip(names, (rows, table, sums, *wanted), strict=True))
    np.savez(tmp_path / "data.npz", **arrays)
    code = f"""{REFUSED}
import numpy as np, pick
d = dict(np.load({str(tmp_path / "data.npz")!r}))
sums = d["sums"].copy()
found, out = pick.run(d["rows"], d["table"], 2.5, sums)
print(found is sums, np.allclose(found, d["wanted"]), np.allclose(out, d["out"]))
refused(lambda: pick.run(d["rows"] + 1, d["table"], 2.5, sums))
refused(lambda: pick.run(d["rows"], d["table"], "x", sums))
refused(lambda: pick.run(d["rows"], d["table"], 2.5, sums[:4]))
refused(lambda: pick.run(d["rows"], d["table"], 2.5, d["table"][0]))
sums.flags.writeable = False
refused(lambda: pick.run(d["rows"], d["table"], 2.5, sums))
refused(lambda: pick.run(d["rows"], [1.0], 2.5, sums))
"""
    wheel = kernel.export_wheel(tmp_path)
    assert in_python(wheel, tmp_path / "site", code).splitlines() == [
        "True True True",
        "ValueError pick: an element that chooses elements of another array is outside of it",
        "TypeError scale is a str, not a number",
        "ValueError sums has the shape (4,), but (5,) is needed",
        "ValueError pick: an array that is written shares memory with another",
        "ValueError sums is written, but the array is read-only",
        "TypeError table is a list, not a NumPy array",
    ]


def test_sizes_that_shapes_do_not_tell(tmp_path):
    kernel = po.Plan(po.parse_c(HALF)).compile()
    code = f"""{REFUSED}
import numpy as np, half
a = np.arange(5.0)
print(half.run(3, a), half.run(3, a, N=5))
refused(lambda: half.run(1 << 40, a))
refused(lambda: half.run(3, a, N=6))
refused(lambda: half.run(3.5, a))
refused(lambda: half.run(3, a, N=1 << 70))
refused(lambda: half.run(3, a, out=np.zeros(2)))
"""
    wheel = kernel.export_wheel(tmp_path, version="0.1")
    assert in_python(wheel, tmp_path / "site", code).splitlines() == [
        "[3. 5. 7.] [3. 5. 7.]",
        "ValueError from = 1099511627776 does not fit its type",
        "ValueError a has the shape (5,), but (6,) is needed",
        "TypeError from is a float, not a whole number",
        "ValueError the size 1180591620717411303424 is too large",
        "ValueError b has the shape (2,), but (3,) is needed",
    ]


def test_a_name_that_others_have(kernel, tmp_path):
    with pytest.raises(InvalidOptionError, match="the name of another module"):
        kernel.export_wheel(tmp_path, name="polyopt")


def test_from_the_shell(tmp_path):
    source = tmp_path / "half.c"
    source.write_text(HALF, encoding="ascii")
    out = tmp_path / "out"
    result = CliRunner().invoke(cli, ["export", str(source), str(out), "--json"])
    assert result.exit_code == 0, result.output
    assert {"half.h", "CMakeLists.txt", "half.pc.in"} < set(json.loads(result.stdout)["files"])
    assert run(["make", "-s", "-C", out, f"CC={OWN}"]).returncode == 0
    given = np.arange(5.0)
    done = run([out / "half-example", 5, 3], input=given.tobytes())
    np.testing.assert_array_equal(np.frombuffer(done.stdout), [3.0, 5.0, 7.0])
    options = ["--wheel", "--name", "halved", "--release", "3.1", "--no-openmp"]
    result = CliRunner().invoke(cli, ["export", str(source), str(out / "dist"), *options])
    assert result.exit_code == 0, result.output
    assert [p.name[:15] for p in (out / "dist").iterdir()] == ["halved-3.1-py3-"]
    refused = CliRunner().invoke(cli, ["export", str(source), str(out), "--name", "halved"])
    assert refused.exit_code == 2
    assert "are for wheels" in refused.stderr


def test_build_is_the_short_name_for_a_wheel(tmp_path):
    from click.testing import CliRunner

    from polyopt.cli import cli

    file = tmp_path / "twice.c"
    file.write_text("void twice(int n, const float a[n], float b[n]) {\n"
                    "    for (int i = 0; i < n; i++)\n        b[i] = 2 * a[i];\n}\n")  # fmt: skip
    asked = ["build", str(file), str(tmp_path / "dist"), "--name", "twice_lib", "--no-openmp"]
    shown = CliRunner().invoke(cli, asked)
    assert shown.exit_code == 0, shown.output
    (wheel,) = (tmp_path / "dist").iterdir()
    assert wheel.name.startswith("twice_lib-1.0.0-")
    assert wheel.suffix == ".whl"
