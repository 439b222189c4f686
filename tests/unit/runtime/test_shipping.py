"""What users of an exported kernel have: C++ by CMake, and a typed wheel without polyopt."""

from __future__ import annotations

import json
import shutil
import sys

import numpy as np
import pytest

import polyopt as po
from polyopt.runtime.packaging.interface import Interface
from polyopt.runtime.packaging.stub import module_stub
from tests.exported import in_python, run

USER = """
#include <harris.hpp>
#include <cstdio>
#include <vector>

int main() {
    const std::int64_t height = 40, width = 50;
    std::vector<float> image(3 * height * width), corners((height - 6) * (width - 6));
    for (std::size_t k = 0; k < image.size(); ++k) {
        image[k] = static_cast<float>(k * 7 % 31) / 31;
    }
    harris::run(height, width, image, corners);
    std::fwrite(corners.data(), sizeof(float), corners.size(), stdout);
    corners.pop_back();
    try {
        harris::run(height, width, image, corners);
    } catch (const harris::error &refused) {
        return refused.status() == HARRIS_BAD_COUNT ? 0 : 1;
    }
    return 2;
}
"""


@pytest.fixture(scope="module")
def kernel():
    library = po.load_kernel("harris")
    return po.Plan(library.scop).apply(po.load_schedule("harris"), rows=8).compile()


def image():
    return (np.arange(3 * 40 * 50) * 7 % 31).astype(np.float32).reshape(3, 40, 50) / np.float32(31)


def test_a_cpp_program_finds_the_package_by_cmake(kernel, tmp_path):
    """Where CMake is installed; elsewhere the header alone is looked at."""
    out = kernel.export_library(tmp_path / "harris")
    assert "std::span<const float> img" in (out / "harris.hpp").read_text(encoding="ascii")
    if shutil.which("cmake") is None:
        return
    user = tmp_path / "user"
    user.mkdir()
    (user / "user.cpp").write_text(USER, encoding="ascii")
    (user / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.16)\nproject(user LANGUAGES CXX)\n"
        "set(CMAKE_CXX_STANDARD 20)\nfind_package(harris 1.0 REQUIRED)\n"
        "add_executable(user user.cpp)\ntarget_link_libraries(user PRIVATE harris::harris)\n",
        encoding="ascii",
    )
    made, prefix, there = (tmp_path / name for name in ("made", "prefix", "there"))
    for step in (
        ["-S", out, "-B", made],
        ["--build", made],
        ["--install", made, "--prefix", prefix],
        ["-S", user, "-B", there, f"-DCMAKE_PREFIX_PATH={prefix}"],
        ["--build", there],
    ):
        done = run(["cmake", *step], text=True)
        assert done.returncode == 0, done.stdout + done.stderr
    done = run([there / "user"])
    assert done.returncode == 0
    found = np.frombuffer(done.stdout, np.float32).reshape(34, 44)
    np.testing.assert_array_equal(found, kernel(image()))


def test_a_wheel_computes_without_polyopt(kernel, tmp_path):
    np.savez(tmp_path / "data.npz", image=image(), wanted=kernel(image()))
    code = f"""
import numpy as np, harris
data = np.load({str(tmp_path / "data.npz")!r})
print(np.array_equal(harris.run(data["image"]), data["wanted"]))
"""
    wheel = kernel.export_wheel(tmp_path)
    assert in_python(wheel, tmp_path / "site", code) == "True\n"


TYPED = """
import numpy as np
from numpy.typing import NDArray

{imported}

image: NDArray[np.float32] = np.zeros((3, 40, 50), np.float32)
corners: NDArray[np.float32] = {call}(image, threads=2)
again = {call}(image, out=corners, H=40)
wrong: int = {call}(image)
{call}(image.astype(np.float64))
{call}(image, rows=3)
"""


def checked(folder, text):
    """The rules that a type checker says are broken, by the text of the line."""
    (folder / "user.py").write_text(text, encoding="utf-8")
    (folder / "pyrightconfig.json").write_text(
        '{"typeCheckingMode": "strict", "include": ["user.py"]}'
    )
    command = [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable]
    found = json.loads(run([*command, "-p", "."], cwd=folder, text=True).stdout)
    lines = text.splitlines()
    return {(lines[d["range"]["start"]["line"]].split("(")[-1], d["rule"])
            for d in found["generalDiagnostics"]}  # fmt: skip


MISTAKES = {
    ("image)", "reportAssignmentType"),
    ("np.float64))", "reportArgumentType"),
    ("image, rows=3)", "reportCallIssue"),
}


def test_a_type_checker_knows_what_a_wheel_takes(kernel, tmp_path):
    site = tmp_path / "site"
    in_python(kernel.export_wheel(tmp_path), site, "import harris")
    assert checked(site, TYPED.format(imported="import harris", call="harris.run")) == MISTAKES


def test_a_type_checker_knows_what_a_kernel_takes_by_its_stub(kernel, tmp_path):
    (tmp_path / "kernels.pyi").write_text(kernel.stub(), encoding="utf-8")
    text = TYPED.format(imported="from kernels import harris", call="harris")
    assert checked(tmp_path, text) == MISTAKES


def test_a_stub_has_a_name_for_every_argument():
    text = """void f(int n, int from, double a[n], const float b[n], float c[n], _Bool d[n])
    { for (int i = 0; i < n; i++) { a[i] += b[i] * from; c[i] = b[i]; d[i] = 1; } }"""
    made = po.Plan(po.parse_c(text)).compile().stub()
    compile(made, "kernels.pyi", "exec")
    assert "argument_0: int,\n    a: NDArray[np.float64],\n    b: NDArray[np.float32],\n" in made
    assert ") -> tuple[NDArray[np.float64], NDArray[np.float32], NDArray[np.bool_]]:" in made
    assert "out: tuple[NDArray[np.float32] | None, NDArray[np.bool_] | None] | None = ...," in made


def test_the_stub_of_a_network_has_its_model():
    made = module_stub(Interface("net", (), "a \"net\" \\ '''", has_weights=True))
    compile(made, "__init__.pyi", "exec")
    assert "class Model:" in made
    assert "def __call__(\n        self,\n        *,\n        threads: int | None = ...,\n" in made
