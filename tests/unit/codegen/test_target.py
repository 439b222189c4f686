"""Targets, C names, prototypes and extents."""

from __future__ import annotations

import subprocess

import pytest

from polyopt.codegen.ast.names import c_name, c_names
from polyopt.codegen.expressions.affine import c_condition, c_extent
from polyopt.codegen.printers.c_expr import c_text, hints
from polyopt.codegen.signature import c_prototype, signature_of, sizes_called
from polyopt.codegen.target import (
    TARGETS,
    _sysfs_cache,
    core_count,
    fields_of,
    isa_of,
    native_target,
    target,
)
from polyopt.errors import InvalidOptionError
from polyopt.ir.scop import Array, Scop
from polyopt.ir.types import F32, F64, U16
from polyopt.isl import affine_constant, affine_param, params_space, parse_set
from tests.compilers import COMPILERS

PARAMS = ("H", "W")
SPACE = params_space(PARAMS)
H, W = (affine_param(SPACE, p) for p in PARAMS)


def minus(value, number: int):
    return value.sub(affine_constant(SPACE, number))


def test_native_target_is_plausible() -> None:
    found = native_target()
    assert found.l1_bytes <= found.l2_bytes
    assert found.vector_bytes in {16, 32, 64}
    assert found.cores == core_count() >= 1
    assert found.flags[0] == "-march=native"
    assert target("native") is target(found)


@pytest.mark.parametrize("name", TARGETS)
def test_named_targets(name: str) -> None:
    found = target(name)
    assert found.name == name
    assert found.lanes(4) == found.vector_bytes // 4


def test_unknown_target_lists_those_there_are() -> None:
    with pytest.raises(InvalidOptionError, match="avx512"):
        target("cuda")


def test_isa_follows_features() -> None:
    wide = frozenset({"avx512f", "avx512bw", "avx512dq", "avx512vl", "avx2", "fma"})
    assert isa_of(wide, "x86_64") == "avx512"
    assert isa_of(wide - {"avx512bw"}, "x86_64") == "avx2"
    assert isa_of(frozenset({"sse2"}), "x86_64") == "generic"
    assert isa_of(frozenset(), "arm64") == "neon"
    assert "-mprefer-vector-width=512" in target("avx512").flags


def test_fields_of_a_core_are_read_by_their_names() -> None:
    text = "model\t\t: 17\nmodel name\t: AMD EPYC: 7\nflags\t\t: fpu avx2\npower management:\n"
    found = fields_of(text + "no field\nmodel : 18\n")
    assert found == {
        "model": "17", "model name": "AMD EPYC: 7", "flags": "fpu avx2", "power management": "",
    }  # fmt: skip


def test_cache_sizes_from_sysfs(tmp_path) -> None:
    for index, (kind, level, size) in enumerate(
        [("Instruction", 1, "64K"), ("Data", 1, "48K"), ("Unified", 2, "2M")]
    ):
        entry = tmp_path / f"index{index}"
        entry.mkdir()
        for name, text in (("type", kind), ("level", level), ("size", size)):
            (entry / name).write_text(f"{text}\n")
    assert _sysfs_cache(tmp_path, 1) == 48 * 1024
    assert _sysfs_cache(tmp_path, 2) == 2 << 20
    assert _sysfs_cache(tmp_path, 3) is None


def test_names() -> None:
    assert c_name("in") == "in"
    assert c_name("int") == "int_"
    assert c_name("exp") == "exp_"
    assert c_name("2d") == "_2d"
    assert c_name("a.b") == "a_b"
    assert c_name("min_f32") == "min_f32_"
    assert c_name("linux") == "linux_"
    assert c_names(["int", "int_", "x"], taken=["x"]) == {"int": "int_", "int_": "int__", "x": "x_"}


def scop() -> Scop:
    arrays = (
        Array("in", U16, (H, W), "in"),
        Array("double", F32, (), "in"),
        Array("out", U16, (minus(H, 2), minus(W, 2)), "out"),
        Array("sum", F64, (), "inout"),
    )
    context = parse_set("[H, W] -> { : H >= 3 and W >= 3 and H mod 2 = 0 }")
    signature = ("in", "double", "W", "out", "sum", "H")
    return Scop("blur", PARAMS, context, arrays, (), (), signature=signature)


def test_prototype_declares_sizes_before_arrays() -> None:
    arguments = signature_of(scop())
    assert [a.name for a in arguments] == ["H", "W", "in", "double", "out", "sum"]
    assert [a.kind for a in arguments] == ["size", "size", "array", "scalar", "array", "array"]
    assert c_prototype("blur", arguments) == (
        "int blur(int64_t H, int64_t W, const uint16_t in[restrict H][W], float double_, "
        "uint16_t out[restrict H - 2][W - 2], double *restrict sum, int threads)"
    )


@pytest.mark.parametrize("compiler", COMPILERS)
def test_prototype_compiles_without_a_warning(tmp_path, compiler: str) -> None:
    prototype = c_prototype("blur", signature_of(scop()))
    path = tmp_path / "blur.c"
    path.write_text(
        f"#include <stdint.h>\n{prototype};\n{prototype} {{\n"
        "    (void)threads;\n    out[0][0] = in[0][0];\n    *sum += double_;\n    return 0;\n}\n"
    )
    subprocess.run(
        [compiler, "-Wall", "-Wextra", "-Werror", "-c", str(path), "-o", str(tmp_path / "o")],
        check=True,
    )


def test_extents_and_conditions_as_c() -> None:
    context = scop().context
    names = sizes_called({"H": "H", "W": "W_"})

    def text(extent):
        return c_text(c_extent(extent, context, names).node, hints)

    assert text(minus(W, 2)) == "W_ - 2"
    half = minus(W, 3).scale_down_val(affine_constant(SPACE, 2).as_aff().get_constant_val()).floor()
    assert "/ 2" in text(half)
    assert text(H.max(W)) == "H >= W_ ? H : W_"
    assert c_text(c_condition(context, names), hints) == "H >= 3 && W_ >= 3 && H % 2 == 0"
