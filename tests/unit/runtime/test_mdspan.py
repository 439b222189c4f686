"""Exported libraries on ``std::mdspan``, which compilers of today's distributions lack: a header
stands in for it, with the standard's rules of which arrays become which."""

from __future__ import annotations

import polyopt as po
from tests.compilers import CPP_COMPILERS, CPP_LIBRARY, NO_WARNING
from tests.exported import MDSPAN, run

SOURCE = """
void smooth(int n, int m, const float u[n][m], float out[n][m - 2], double scale, double sum[1])
{
    for (int i = 0; i < n; i++)
        for (int j = 1; j < m - 1; j++)
            out[i][j - 1] = scale * (u[i][j - 1] + 2 * u[i][j] + u[i][j + 1]);
    sum[0] = 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m - 2; j++)
            sum[0] += out[i][j];
}
"""
CALLS = """
#include <cstdio>
#include <vector>
#include "smooth.hpp"

int main() {
    std::vector<float> u(24), out(16);
    std::vector<double> sum(1);
    for (std::size_t k = 0; k < u.size(); k++) {
        u[k] = static_cast<float>(k);
    }
    std::mdspan<float, std::dextents<int, 2>> grid(u.data(), 4, 6), found(out.data(), 4, 4);
    std::mdspan<float, std::dextents<std::size_t, 2>> other(out.data(), 8, 2);
    std::mdspan<double, std::dextents<std::size_t, 1>> total(sum.data(), 1);
    smooth::run(grid, found, 0.25, total);
    std::printf("%g %g\\n", out[15], sum[0]);
    sum[0] = 0;
    smooth::run(4, 6, u, out, 0.25, sum, 1);
    std::printf("%g\\n", sum[0]);
    for (int columns : {4, 2}) {
        std::mdspan<float, std::dextents<int, 2>> narrow(u.data(), 4, columns);
        try {
            smooth::run(columns == 4 ? grid : narrow, other, 0.25, total);
        } catch (const smooth::error &error) {
            std::printf("%d %s\\n", error.status(), error.what());
        }
    }
    return 0;
}
"""
SAID = """\
22 184
184
4 an array does not have as many elements as the sizes say
3 sizes are not those that it is made for, or too large
"""


def test_sizes_come_from_extents_and_all_extents_are_checked(tmp_path):
    kernel = po.Plan(po.parse_c(SOURCE)).compile()
    out = kernel.export_library(tmp_path / "smooth")
    (tmp_path / "mdspan").write_text(MDSPAN, encoding="ascii")
    (tmp_path / "calls.cpp").write_text(CALLS, encoding="ascii")
    for compiler in CPP_COMPILERS:
        objects = []
        for file in [*out.glob("smooth*.c"), tmp_path / "calls.cpp"]:
            if file.name == "smooth_example.c":
                continue
            objects.append(tmp_path / f"{file.name}.o")
            own = ["-std=c++20", "-D__cpp_lib_mdspan=202207L", *NO_WARNING]
            flags = own if file.suffix == ".cpp" else ["-std=gnu11"]
            command = [compiler, *flags, f"-I{out}", f"-I{tmp_path}", "-c", file, "-o", objects[-1]]
            done = run(command, text=True)
            assert done.returncode == 0, done.stderr
        done = run(
            [compiler, *objects, "-o", tmp_path / "calls", CPP_LIBRARY, "-lm", "-fopenmp"],
            text=True,
        )
        assert done.returncode == 0, done.stderr
        assert run([tmp_path / "calls"], text=True).stdout == SAID


def test_an_older_standard_is_told_which_one_is_needed(tmp_path):
    out = po.Plan(po.parse_c(SOURCE)).compile().export_library(tmp_path / "smooth")
    for compiler in CPP_COMPILERS:
        command = [compiler, "-x", "c++", "-std=c++17", "-fsyntax-only", out / "smooth.hpp"]
        done = run(command, text=True)
        assert done.returncode != 0
        assert "smooth.hpp needs C++20" in done.stderr
        assert done.stderr.count(": error:") == 1
