"""Networks as C libraries and as wheels: built, called, and given what they have to refuse."""

from __future__ import annotations

import ctypes
import shutil
import sys
from itertools import pairwise

import numpy as np
import pytest
from click.testing import CliRunner
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from polyopt.cli import cli
from polyopt.errors import InvalidOptionError
from polyopt.graph import Graph, Node, Value, attributes, compile_graph, compile_model
from polyopt.graph.execution.library import Library
from polyopt.graph.execution.memory import plan_memory
from polyopt.ir.types import BF16, BOOL, F16, F32, F64, I8, I32, I64, U8
from tests.compilers import COMPILERS, CPP_COMPILERS, CPP_LIBRARY, NO_WARNING, OWN
from tests.exported import MDSPAN, in_python, run

STRICT = "WARNINGS=-Wall -Wextra -Werror -Wno-unknown-pragmas"
SANITIZED = ["-g1", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-w"]
#: CMake is tried where it is installed; make alone is enough
BUILDERS = ["make", *(["cmake"] if shutil.which("cmake") else [])]


def small_network():
    """Two results, the second of which is a view of a tensor that goes on; any number of images."""
    rng = np.random.default_rng(5)
    weights = {
        "w": rng.standard_normal((4, 3, 3, 3)), "v": rng.standard_normal((4, 4, 3, 3)) * 0.3,
        "dense": rng.standard_normal((64, 10)) * 0.2, "b": rng.standard_normal(10),
    }  # fmt: skip
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c"], ["r"]),
        helper.make_node("MaxPool", ["r"], ["p"], kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("Conv", ["p", "v"], ["d"], pads=[1, 1, 1, 1]),
        helper.make_node("Add", ["d", "p"], ["s"]),
        helper.make_node("Flatten", ["s"], ["flat"]),
        helper.make_node("Gemm", ["flat", "dense", "b"], ["y"]),
    ]
    ends = [("x", ["batch", 3, 8, 8]), ("y", ["batch", 10]), ("flat", ["batch", 64])]
    values = [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in ends]
    constants = [numpy_helper.from_array(a.astype(np.float32), n) for n, a in weights.items()]
    graph = helper.make_graph(nodes, "small net", values[:1], values[1:], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])


@pytest.fixture(scope="module")
def model():
    return compile_model(small_network())


@pytest.fixture(scope="module")
def folder(model, tmp_path_factory):
    return model.export_library(tmp_path_factory.mktemp("library") / "net")


@pytest.fixture(scope="module")
def images():
    return np.random.default_rng(1).standard_normal((5, 3, 8, 8)).astype(np.float32)


@pytest.fixture(scope="module")
def expected(images):
    return ReferenceEvaluator(small_network()).run(None, {"x": images})


def close(found, wanted):
    return np.abs(found - wanted).max() <= 1e-4 * np.abs(wanted).max()


def build(folder, builder, compiler=OWN):
    """The example of a folder."""
    if builder == "make":
        done = run(["make", "-s", "-C", folder, f"CC={compiler}", STRICT], text=True)
        assert done.returncode == 0, done.stderr
        return folder / f"{folder.name}-example"
    steps = (["-B", folder / "build", "-S", folder, f"-DCMAKE_C_COMPILER={compiler}"],
             ["--build", folder / "build"])  # fmt: skip
    for step in steps:
        done = run(["cmake", *step], text=True)
        assert done.returncode == 0, done.stdout + done.stderr
    return folder / "build" / f"{folder.name}-example"


def copied(folder, tmp_path):
    return shutil.copytree(folder, tmp_path / "small_net")


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("builder", BUILDERS)
def test_any_number_of_images_without_compiling_again(
    folder, images, expected, tmp_path, builder, compiler
):
    out = copied(folder, tmp_path)
    example = build(out, builder, compiler)
    for count in (3, 1, 5):
        done = run([example, out / "small_net.weights", count], input=images[:count].tobytes())
        assert done.returncode == 0, done.stderr
        found = np.frombuffer(done.stdout, np.float32)
        y, flat = found[: count * 10].reshape(count, 10), found[count * 10 :].reshape(count, 64)
        assert close(y, expected[0][:count])
        assert close(flat, expected[1][:count])


@pytest.mark.parametrize("builder", BUILDERS)
def test_what_is_installed_is_found(folder, tmp_path, builder):
    out, prefix = copied(folder, tmp_path), tmp_path / "prefix"
    build(out, builder)
    install = (
        ["make", "-s", "-C", out, "install", f"PREFIX={prefix}", f"CC={OWN}"]
        if builder == "make"
        else ["cmake", "--install", out / "build", "--prefix", prefix]
    )
    assert run(install).returncode == 0
    (told,) = prefix.rglob("small_net.pc")
    lines = told.read_text(encoding="utf-8").replace("${pcfiledir}", str(told.parent))
    fields = dict(line.split("=", 1) for line in lines.splitlines() if "=" in line)
    for field in tuple(fields):
        known = fields[field]
        fields = {k: v.replace(f"${{{field}}}", known) for k, v in fields.items()}
    (tmp_path / "user.c").write_text(
        "#include <stdio.h>\n#include <small_net.h>\nint main(int n, char **v) {\n"
        "    small_net_model *m; (void)n;\n    puts(small_net_message(small_net_open(v[1], &m)));\n"
        "    small_net_close(m);\n    return 0;\n}\n",
        encoding="ascii",
    )
    program = tmp_path / "user"
    where = [f"-I{fields['includedir']}", f"-L{fields['libdir']}", f"-Wl,-rpath,{fields['libdir']}"]
    done = run([OWN, tmp_path / "user.c", "-o", program, *where, "-lsmall_net"], text=True)
    assert done.returncode == 0, done.stderr
    assert run([program, fields["weights"]], text=True).stdout == "no error\n"


CALLS = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "small_net.h"
#include "small_net_model.h"

static float *floats(size_t count) { return calloc(count, sizeof(float)); }
static void say(const char *what, int status) { printf("%s: %s\\n", what, small_net_message(status)); }

int main(int argc, char **argv) {
    small_net_model *m = NULL, *n = NULL;
    float *x = floats(3 * 192), *y = floats(30), *flat = floats(192), *z = floats(30);
    int64_t size = 3, extents[4];
    for (int k = 0; k < 3 * 192; k++) x[k] = (float)(k % 7) - 3;
    for (int k = 2; k < argc; k++) { say("open", small_net_open(argv[k], &m)); if (m) { say("verify", small_net_verify(m)); small_net_close(m); } }
    say("no path", small_net_open(NULL, &m));
    say("no place", small_net_open(argv[1], NULL));
    say("open", small_net_open(argv[1], &m));
    say("verify", small_net_verify(m));
    say("right", small_net_run(m, 3, x, 576, y, 30, flat, 192, 1));
    say("no model", small_net_run(NULL, 3, x, 576, y, 30, flat, 192, 1));
    say("no input", small_net_run(m, 3, NULL, 576, y, 30, flat, 192, 1));
    say("no output", small_net_run(m, 3, x, 576, NULL, 30, flat, 192, 1));
    say("short", small_net_run(m, 3, x, 575, y, 30, flat, 192, 1));
    say("other count", small_net_run(m, 2, x, 576, y, 30, flat, 192, 1));
    say("none", small_net_run(m, 0, x, 0, y, 0, flat, 0, 1));
    say("negative", small_net_run(m, -3, x, 576, y, 30, flat, 192, 1));
    say("huge", small_net_run(m, INT64_MAX, x, 576, y, 30, flat, 192, 1));
    say("wraps", small_net_run(m, (int64_t)1 << 47, x, 0, y, 0, flat, 0, 1));
    say("crooked", small_net_run(m, 3, (float *)((char *)x + 2), 576, y, 30, flat, 192, 1));
    say("overlap", small_net_run(m, 3, x, 576, x + 10, 30, flat, 192, 1));
    say("overlap", small_net_run(m, 3, x, 576, flat + 170, 30, flat, 192, 1));
    say("threads", small_net_run(m, 3, x, 576, y, 30, flat, 192, -1));
    say("threads", small_net_run(m, 3, x, 576, y, 30, flat, 192, 5000));
    say("all threads", small_net_run(m, 3, x, 576, y, 30, flat, 192, 0));
    m->is_busy = 1;
    say("busy", small_net_run(m, 3, x, 576, y, 30, flat, 192, 1));
    m->is_busy = 0;
    say("reserve", small_net_reserve(m, NULL));
    size = (int64_t)1 << 46;
    say("reserve", small_net_reserve(m, &size));
    size = 3;
    say("reserve", small_net_reserve(m, &size));
    say("shape", small_net_shape(0, &size, extents));
    printf("%d %d %d %d\\n", (int)extents[0], (int)extents[1], (int)extents[2], (int)extents[3]);
    say("shape", small_net_shape(3, &size, extents));
    printf("%s %s %d\\n", small_net_array_name(2), small_net_array_name(3) ? "some" : "none", small_net_array_rank(1));
    say("share", small_net_share(m, &n));
    printf("same weights: %d, own memory: %d\\n", n->weights == m->weights, small_net_memory(n) == 0);
    small_net_close(m);
    say("after", small_net_run(n, 3, x, 576, z, 30, flat, 192, 1));
    printf("same results: %d\\n", !memcmp(y, z, 120));
    small_net_close(n);
    small_net_close(NULL);
    free(x); free(y); free(flat); free(z);
    return 0;
}
"""
SAID = """\
open: the weights cannot be opened and mapped
open: the weights cannot be opened and mapped
open: the weights are not as long as they say
open: the weights are not as long as they say
open: the file does not hold weights
open: the file does not hold weights
open: the weights are of another version of the format
open: the weights are in another order of bytes
open: the weights are those of another library
open: no error
verify: the weights are not those that were written
no path: a pointer is null
no place: a pointer is null
open: no error
verify: no error
right: no error
no model: a pointer is null
no input: a pointer is null
no output: a pointer is null
short: an array does not have as many elements as the sizes say
other count: an array does not have as many elements as the sizes say
none: sizes are not those that it is made for, or too large
negative: sizes are not those that it is made for, or too large
huge: sizes are not those that it is made for, or too large
wraps: an array does not have as many elements as the sizes say
crooked: an array does not start at a multiple of its elements' size
overlap: an array that is written shares memory with another
overlap: an array that is written shares memory with another
threads: the number of threads is not from 0 to 4096
threads: the number of threads is not from 0 to 4096
all threads: no error
busy: another call is running on this model
reserve: a pointer is null
reserve: out of memory
reserve: no error
shape: no error
3 3 8 8
shape: an array does not have as many elements as the sizes say
flat none 2
share: no error
same weights: 1, own memory: 1
after: no error
same results: 1
"""


def broken(weights, tmp_path):
    """Files that are no weights of the library, in the order in which ``SAID`` has them."""
    data = weights.read_bytes()

    def changed(start, new):
        return data[:start] + new + data[start + len(new) :]

    contents = [
        data[:-8], data[:40], b"", b"PNG" + data[3:], changed(8, (9).to_bytes(4, sys.byteorder)),
        changed(12, bytes(reversed(data[12:16]))), changed(40, bytes(32)), changed(200, b"\x7f\x01"),
    ]  # fmt: skip
    files = [tmp_path / f"broken{k}" for k in range(len(contents))]
    for path, content in zip(files, contents, strict=True):
        path.write_bytes(content)
    return [tmp_path / "missing", tmp_path, *files]


def test_statuses_under_sanitizers(folder, tmp_path):
    program, weights = tmp_path / "calls", folder / "small_net.weights"
    (tmp_path / "calls.c").write_text(CALLS, encoding="ascii")
    files = [f for f in folder.glob("*.c") if f.name != "small_net_example.c"]
    flags = [*SANITIZED, "-std=gnu11", f"-I{folder}"]
    done = run([OWN, *flags, tmp_path / "calls.c", *files, "-o", program, "-lm"], text=True)
    assert done.returncode == 0, done.stderr
    limits = {"ASAN_OPTIONS": "allocator_may_return_null=1"}
    done = run([program, weights, *broken(weights, tmp_path)], text=True, env=limits)
    assert done.stdout == SAID
    assert done.returncode == 0, done.stderr


CPP = """
#include <cstdio>
#include <utility>
#include <vector>
#include "small_net.hpp"

int main(int, char **argv) {
    std::vector<float> x(576, 1.0f), y(30), flat(192), z(30);
    small_net::model one(argv[1]), two = one.share();
    one.verify();
    one.run(3, x, y, flat, 1);
    one = std::move(two);
    one.run(3, x, z, flat);
    std::printf("%d\\n", y == z && y[0] != 0.0f);
    try {
        one.run(2, x, y, flat);
    } catch (const small_net::error &found) {
        std::printf("%d\\n", found.status() == SMALL_NET_BAD_COUNT);
    }
    try {
        small_net::model("missing");
    } catch (const std::runtime_error &found) {
        std::printf("%s\\n", found.what());
    }
}
"""


def test_models_in_cpp_under_sanitizers(folder, tmp_path):
    (tmp_path / "calls.cpp").write_text(CPP, encoding="ascii")
    for compiler in CPP_COMPILERS:
        objects = []
        for file in [*folder.glob("*.c"), tmp_path / "calls.cpp"]:
            if file.name == "small_net_example.c":
                continue
            objects.append(tmp_path / f"{file.name}.o")
            language = ["-std=gnu11"] if file.suffix == ".c" else ["-std=c++20"]
            command = [compiler, *SANITIZED, *language, f"-I{folder}", "-c", file]
            assert run([*command, "-o", objects[-1]]).returncode == 0
        linked = [compiler, *SANITIZED, *objects, "-o", tmp_path / "calls", CPP_LIBRARY, "-lm"]
        assert run(linked).returncode == 0
        done = run([tmp_path / "calls", folder / "small_net.weights"], text=True)
        assert done.stdout == "1\n1\nthe weights cannot be opened and mapped\n"
        assert done.returncode == 0, done.stderr


SHAPED = """
#include "small_net.hpp"

void run(small_net::model &net, float *x, float *y, float *flat) {
    std::mdspan<float, std::dextents<int, 4>> images(x, 3, 3, 8, 8);
    std::mdspan<float, std::dextents<int, 2>> classes(y, 3, 10), values(flat, 3, 64);
    net.run(images, classes, values, 1);
}
"""


def test_models_in_cpp_take_arrays_with_shapes(folder, tmp_path):
    (tmp_path / "mdspan").write_text(MDSPAN, encoding="ascii")
    (tmp_path / "shaped.cpp").write_text(SHAPED, encoding="ascii")
    for compiler in CPP_COMPILERS:
        language = ["-std=c++20", "-D__cpp_lib_mdspan=202207L", *NO_WARNING, "-fsyntax-only"]
        where = [f"-I{folder}", f"-I{tmp_path}"]
        done = run([compiler, *language, *where, tmp_path / "shaped.cpp"], text=True)
        assert done.returncode == 0, done.stderr


def test_a_processor_that_cannot_run_it(folder, images, tmp_path):
    out = copied(folder, tmp_path)
    (out / "small_net_processor.c").write_text(
        "int small_net_processor(void) { return 0; }\nint small_net_processors(void) { return 1; }",
        encoding="ascii",
    )
    assert run(["make", "-s", "-C", out, f"CC={OWN}"]).returncode == 0
    done = run([out / "small_net-example", out / "small_net.weights", 1], input=b"", text=False)
    assert done.returncode == 2
    assert b"compiled for a processor that can do more" in done.stderr


@pytest.mark.xdist_group("networks")
def test_memory_is_planned_as_for_calls_from_python(tmp_path, compiled_network):
    """Without tensors that are results: those are the caller's."""
    model = compiled_network("mobilenet", size=32, width=8, classes=10)
    out = model.export_library(tmp_path / "mobilenet")
    assert run(["make", "-s", "-C", out, f"CC={OWN}", STRICT]).returncode == 0
    library = ctypes.CDLL(str(next(out.glob("libmobilenet.[sd]*[ob]"))))
    library.mobilenet_memory.restype = ctypes.c_size_t
    handle = ctypes.c_void_p()
    weights = str(out / "mobilenet.weights").encode()
    assert library.mobilenet_open(weights, ctypes.byref(handle)) == 0
    assert library.mobilenet_reserve(handle, None) == 0
    planned = plan_memory(Library(model).tensors)
    assert 0 < library.mobilenet_memory(handle) == planned.bytes < planned.unshared_bytes
    library.mobilenet_close(handle)


def test_a_wheel_needs_no_polyopt(model, images, expected, tmp_path):
    wheel = model.export_wheel(tmp_path, name="seen", version="2.1", openmp=False)
    assert wheel.name.startswith("seen-2.1-py3-none-")
    np.savez(tmp_path / "data.npz", x=images, y=expected[0], flat=expected[1])
    code = f"""
import numpy as np, seen
data = np.load({str(tmp_path / "data.npz")!r})
def wrong(found, wanted): return int(np.abs(found - wanted).max() > 1e-4 * np.abs(wanted).max())
print(seen.__version__)
for count in (5, 2):
    y, flat = seen.run(data["x"][:count])
    print(wrong(y, data["y"][:count]), wrong(flat, data["flat"][:count]))
with seen.Model() as first:
    second = first.share()
first.close()
second.verify()
y, flat = np.zeros((5, 10), np.float32), np.zeros((5, 64), np.float32)
found = second(data["x"], out=(y, flat), threads=1)
print(found[0] is y, wrong(y, data["y"]))
def refused(call):
    try:
        call()
    except Exception as error:
        print(type(error).__name__, error)
refused(lambda: first(data["x"]))
refused(lambda: second(data["x"].astype(np.float64)))
refused(lambda: second(data["x"][:, :2].copy()))
refused(lambda: second(data["x"][:, :, ::2]))
refused(lambda: second(data["x"][0]))
refused(lambda: second(data["x"], batch=4))
refused(lambda: second(data["x"], out=y))
refused(lambda: second(data["x"], out=(y[:4], None)))
refused(lambda: second(data["x"], threads=-1))
refused(lambda: seen.Model("none"))
"""
    assert in_python(wheel, tmp_path / "site", code).splitlines() == [
        "2.1", "0 0", "0 0", "True 0",
        "ValueError this model of seen is closed",
        "TypeError x is an array of float64, but float32 is needed",
        "ValueError x has the shape (5, 2, 8, 8), but (5, 3, 8, 8) is needed",
        "ValueError x is not contiguous: numpy.ascontiguousarray makes a copy that is",
        "ValueError x has 3 dimensions, but 4 are needed",
        "ValueError x has the shape (5, 3, 8, 8), but (4, 3, 8, 8) is needed",
        "TypeError out= has 1 arrays, but there are 2 outputs",
        "ValueError y has the shape (4, 10), but (5, 10) is needed",
        "ValueError seen: the number of threads is not from 0 to 4096",
        "ValueError seen: the weights cannot be opened and mapped",
    ]  # fmt: skip


def test_the_same_network_is_the_same_wheel(model, tmp_path):
    first, second = (model.export_wheel(tmp_path / name, name="net") for name in "ab")
    assert first.read_bytes() == second.read_bytes()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"name": "numpy"}, "'numpy' is the name of another module"),
        ({"name": "json"}, "'json' is the name of another module"),
        ({"name": "a-b"}, "'a-b' cannot be the name of a module"),
        ({"name": "lambda"}, "'lambda' cannot be the name of a module"),
        ({"version": "1 beta"}, "'1 beta' is not a version"),
    ],
)
def test_names_and_versions_that_no_package_has(model, tmp_path, options, said):
    with pytest.raises(InvalidOptionError, match=said):
        model.export_wheel(tmp_path / "out", **options)
    assert not (tmp_path / "out").exists()


def hostile():
    """Names that end comments and strings, are words of C, C++ and Python, or like each other."""
    names = ('a"*/b', "class", "in", "NULL", "x", "x_count")
    nodes = [Node(f"s{k}", "add", pair) for k, pair in enumerate(pairwise(names))]
    nodes.append(Node("lambda", "reshape", ("NULL",), attributes(shape=(6,))))
    inputs = tuple(Value(name, (2, 3), F32) for name in names)
    return Graph(
        "*/ int\n; \"' net", inputs, {"s9": np.ones(3, np.float32)}, tuple(nodes),
        ("s0", "s4", "lambda", "s9", "x", "s0"),
    )  # fmt: skip


def test_any_name_and_results_that_nothing_computes(tmp_path):
    model = compile_graph(hostile())
    wheel = model.export_wheel(tmp_path, name="strange")
    rng = np.random.default_rng(2)
    arrays = [rng.standard_normal((2, 3)).astype(np.float32) for _ in range(6)]
    np.save(tmp_path / "x.npy", np.stack(arrays))
    code = f"""
import numpy as np, strange
x = np.load({str(tmp_path / "x.npy")!r})
s0, s4, flat, ones, copy, again = strange.run(*x)
print((s0 == x[0] + x[1]).all(), (s4 == x[4] + x[5]).all(), (flat == x[3].ravel()).all())
print((ones == 1).all(), (copy == x[4]).all(), (again == s0).all(), again is not s0)
"""
    assert in_python(wheel, tmp_path / "site", code) == "True True True\nTrue True True True\n"
    out = model.export_library(tmp_path / "out")
    done = run(["make", "-s", "-C", out, f"CC={OWN}", STRICT], text=True)
    assert done.returncode == 0, done.stderr
    (header,) = (h for h in out.glob("*.h") if not h.name.endswith("_model.h"))
    plain = tmp_path / "plain.c"
    plain.write_text(f'#include "{header.name}"\n', encoding="ascii")
    standard = ["-std=c99", "-pedantic", *NO_WARNING, "-fsyntax-only", f"-I{out}"]
    done = run([OWN, *standard, plain], text=True)
    assert done.returncode == 0, done.stderr
    plain.write_text(f'#include "{header.name}pp"\n', encoding="ascii")
    standard = ["-x", "c++", "-std=c++20", "-pedantic", *NO_WARNING, "-fsyntax-only", f"-I{out}"]
    for compiler in CPP_COMPILERS:
        done = run([compiler, *standard, plain], text=True)
        assert done.returncode == 0, done.stderr


def test_every_type_of_element(tmp_path):
    """Truth values are bytes outside, halves their bits; bfloat16 has no dtype of NumPy's."""
    types = {"b": BOOL, "h": F16, "z": BF16, "d": F64, "i": I8, "u": U8, "l": I64}
    inputs = tuple(Value(name, (4, 5), dtype) for name, dtype in types.items())
    nodes = (
        Node("not_b", "logical_not", ("b",)), Node("rh", "relu", ("h",)), Node("rz", "relu", ("z",)),
        *(Node(f"r{name}", "add", (name, name)) for name in "diul"),
    )  # fmt: skip
    model = compile_graph(Graph("kinds", inputs, {}, nodes, tuple(n.name for n in nodes)))
    wheel = model.export_wheel(tmp_path)
    code = """
import numpy as np, kinds as module
r = np.random.default_rng(0)
bits = r.integers(0, 1 << 16, (4, 5)).astype(np.uint16) & 0xff7f
b = r.integers(0, 2, (4, 5)).astype(bool)
h, d = r.standard_normal((4, 5)).astype(np.float16), r.standard_normal((4, 5))
i, u, l = (r.integers(0, 60, (4, 5)).astype(t) for t in (np.int8, np.uint8, np.int64))
found = module.run(b, h, bits, d, i, u, l)
relu = np.where(bits >> 15, 0, bits).astype(np.uint16)
for one, two in zip(found, (~b, np.maximum(h, 0), relu, 2 * d, 2 * i, 2 * u, 2 * l)):
    print(one.dtype == two.dtype, (one == two).all())
"""
    assert in_python(wheel, tmp_path / "site", code) == "True True\n" * 7


def test_indices_of_the_caller_are_checked_by_the_library(tmp_path):
    table, places = Value("table", (4, 3), I32), Value("k", (5,), I64)
    read = Node("y", "gather", ("table", "k"), attributes(axis=0))
    model = compile_graph(Graph("lookup", (table, places), {}, (read,), ("y",)))
    wheel = model.export_wheel(tmp_path, name="lookup_net")
    code = """
import numpy as np, lookup_net
t = np.arange(12, dtype=np.int32).reshape(4, 3)
for last in (3, -4, 4, -5):
    i = np.array([0, 1, 2, 1, last])
    try:
        print((lookup_net.run(t, i) == t[i]).all())
    except Exception as error:
        print(error)
"""
    said = "an element that chooses elements of another array is outside of it"
    found = in_python(wheel, tmp_path / "site", code).splitlines()
    assert found[:2] == ["True", "True"]
    assert all(said in line for line in found[2:])
    assert len(found) == 4


def test_kernels_of_integers_round_as_they_did(tmp_path):
    """Products and sums may be rounded once where floats come out, and not where integers do."""
    nodes = (
        Node("y", "exp", ("x",)),
        Node("a", "arg_max", ("x",), attributes(axis=1, keepdims=0)),
    )
    graph = Graph("mixed", (Value("x", (64, 3), F32),), {}, nodes, ("y", "a"))
    model = compile_graph(graph)
    kept = [step.kernel.kernel.built.contract for step in model.steps]
    assert sorted(kept) == [False, True]
    for out in (model.export(tmp_path / "one"), model.export_library(tmp_path / "two")):
        said = run(["make", "-n", "-C", out], text=True).stdout.splitlines()
        for number, contract in enumerate(kept, 1):
            (line,) = (s for s in said if s.endswith(f"-o mixed_kernel_{number}.o"))
            flags = [f for f in line.split() if f.startswith("-ffp-contract=")]
            assert flags[-1] == f"-ffp-contract={'fast' if contract else 'off'}"


def test_a_directory_that_cannot_be_made(model, tmp_path):
    (tmp_path / "file").write_text("")
    for export in (model.export_library, model.export_wheel):
        with pytest.raises(InvalidOptionError, match="cannot be written"):
            export(tmp_path / "file" / "out")


def test_from_the_shell(one_layer, tmp_path):
    out = tmp_path / "out"
    result = CliRunner().invoke(cli, ["export", str(one_layer), str(out)])
    assert result.exit_code == 0, result.output
    assert run(["make", "-s", "-C", out, f"CC={OWN}"]).returncode == 0
    x = np.random.default_rng(0).standard_normal((1, 3, 16, 16)).astype(np.float32)
    done = run([out / "net-example", out / "net.weights"], input=x.tobytes())
    (wanted,) = ReferenceEvaluator(str(one_layer)).run(None, {"input": x})
    assert close(np.frombuffer(done.stdout, np.float32).reshape(wanted.shape), wanted)
    refused = CliRunner().invoke(cli, ["export", str(one_layer), str(out), "--unfused"])
    assert refused.exit_code == 2
    assert "are for single programs" in refused.stderr
