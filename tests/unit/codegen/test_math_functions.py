"""Math functions in generated C: errors, ends, the same bits everywhere, and only where called."""

import math
import re
import subprocess

import numpy as np
import pytest

import polyopt as po
from polyopt.bench.math_errors import Measured
from polyopt.codegen.helpers.math import floats
from polyopt.codegen.helpers.math.functions import INNER_NAMES, NAMES, VECTOR_MATH, math_functions
from polyopt.codegen.target import cpu_features, target
from polyopt.runtime.toolchain import find_toolchain

from ...compilers import COMPILERS, NO_WARNING

INF, NAN = math.inf, math.nan
#: ulps; docs/math.md has what is found over all floats, and over more doubles
MOST = {
    "exp_f32": 0.91, "exp2_f32": 0.89, "log_f32": 0.501, "log2_f32": 0.501, "tanh_f32": 0.94, "erf_f32": 0.998,
    "pow_f32": 0.51, "sin_f32": 0.502, "cos_f32": 0.502, "tan_f32": 0.502, "exp_f64": 0.8, "exp2_f64": 0.8,
    "log_f64": 0.8, "log2_f64": 0.95, "tanh_f64": 0.98, "erf_f64": 0.9, "pow_f64": 0.85,
}  # fmt: skip
#: what a build may be told of the processor, and the feature that it must have to run
WIDTHS = {
    "generic": (),
    "avx2": ("avx2", "fma"),
    "avx512": ("avx512f", "avx512bw", "avx512dq", "avx512vl"),
}
RUNS = [name for name, needs in WIDTHS.items() if set(needs) <= cpu_features()]


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The library of a type, compiled once for each target, compiler and contraction."""
    made = {}

    def build(type_="f32", machine="native", cc="gcc", *, contract=True, text=None):
        key = type_, machine, cc, contract, text
        if key not in made:
            toolchain = find_toolchain(cc)
            flags = toolchain.flags(target(machine).flags, contract=contract)
            folder = tmp_path_factory.mktemp("math")
            made[key] = Measured(type_, folder, toolchain, flags, text)
        return made[key]

    return build


def swept(library, name):
    """Every 61st float; drawn ones for two arguments, and drawn doubles."""
    if name.endswith("f64") or name.startswith("pow"):
        return library.sweep(name, count=1 << 20)
    return library.sweep(name, step=61)


@pytest.mark.parametrize("name", NAMES)
def test_results_are_within_the_stated_error(built, name):
    assert swept(built(name[-3:]), name).error <= MOST[name] < 1


@pytest.mark.parametrize("name", NAMES)
def test_errors_are_stated_in_the_c_where_they_are_tested(name):
    stated = re.search(
        rf"error <= ([\d.]+) ulp \*/\n.*\nstatic inline \w+ {name}\(", math_functions(NAMES)
    )
    assert float(stated[1]) == MOST[name]


@pytest.mark.parametrize("cc", COMPILERS)
@pytest.mark.parametrize("name", NAMES)
def test_bits_are_the_same_for_all_widths_and_with_contraction(built, name, cc):
    """Once with fused multiply-adds, once without. Calls by themselves are part of the digest where
    they differ from those of vectors."""
    drawn = name.endswith("f64") or name.startswith("pow")
    asked = {"count": 1 << 16} if drawn else {"step": 16381}
    digests = {
        (machine != "generic",
        built(name[-3:], machine, cc, contract=contract).sweep(name, **asked, errors=False).digest)
        for machine in RUNS for contract in (False, True)
    }  # fmt: skip
    native = built(name[-3:]).sweep(name, **asked, errors=False).digest
    digests.add(("fma" in cpu_features(), native))
    assert len(digests) == len({is_fused for is_fused, _ in digests})


@pytest.mark.parametrize("name", floats.FUNCTIONS)
def test_without_multiply_adds_doubles_round_nearly_always(built, name):
    assert swept(built(machine="generic"), name).error <= 0.51


@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("exp_f32", r"fmaf\((0x1\.5554\w+p-3)f, r,"),
        ("tanh_f32", r"p, z, (-0x1\.5555\w+p-2)f\);"),
    ],
)
def test_a_changed_coefficient_is_noticed(built, name, number):
    text = math_functions(NAMES)
    (found,) = re.findall(number, text)
    other = (float.fromhex(found) * (1 + 1e-5)).hex()
    assert swept(built(text=text.replace(found, other)), name).error > 1


@pytest.mark.parametrize(
    ("name", "number", "by"),
    [
        ("pow_f32", "0x1.ec709d12e192ap-1", 1e-5),  # of a logarithm
        ("pow_f32", "0x1.ebfbe045708dcp-3", 1e-5),  # of a power
        ("pow_f64", "0x1.999999999995ap-3", 1e-9),
        ("pow_f64", "0x1.777d0ffda0d24p-56", 1.0),  # what a double of 1 / ln(2) leaves out
    ],
)
def test_a_changed_coefficient_of_powers_is_noticed(built, name, number, by):
    text = math_functions(NAMES)
    assert number in text
    changed = text.replace(number, (float.fromhex(number) * (1 + by)).hex())
    assert swept(built(name[-3:], text=changed), name).error > 1


def test_a_product_that_is_joined_with_an_addition_is_noticed(built):
    """What the digests are for: without the guard, bits hang on the compiler."""
    guarded = "return of_bits_f64(bits_f64(a * b) & ~(uint64_t)1);"
    text = math_functions(NAMES)
    assert guarded in text
    if "fma" not in cpu_features():
        pytest.skip("this processor joins nothing")
    bare = text.replace(guarded, "return a * b;")
    found = {
        built("f64", contract=contract, text=bare)
        .sweep("erf_f64", count=1 << 16, errors=False)
        .digest
        for contract in (False, True)
    }
    assert len(found) == 2


ENDS = {
    "exp": [(INF, INF), (-INF, 0), (0, 1), (-0.0, 1), (88.8, INF), (-103.0, 2.0**-149), (-104, 0), (1e38, INF)],
    "exp2": [(INF, INF), (-INF, 0), (0, 1), (128, INF), (-149, 2.0**-149), (-150, 0), (10, 1024)],
    "log": [(INF, INF), (0, -INF), (-0.0, -INF), (-1, NAN), (-INF, NAN), (1, 0), (2.0**-149, math.log(2) * -149)],
    "log2": [(INF, INF), (0, -INF), (-0.0, -INF), (-1, NAN), (1, 0), (2.0**-149, -149), (8, 3)],
    "tanh": [(INF, 1), (-INF, -1), (0, 0), (-0.0, -0.0), (2.0**-149, 2.0**-149), (-30, -1)],
    "erf": [(INF, 1), (-INF, -1), (0, 0), (-0.0, -0.0), (-30, -1)],
    "sin": [(INF, NAN), (-INF, NAN), (0, 0), (-0.0, -0.0), (2.0**-149, 2.0**-149)],
    "cos": [(INF, NAN), (-INF, NAN), (0, 1), (-0.0, 1), (2.0**-149, 1)],
    "tan": [(INF, NAN), (-INF, NAN), (0, 0), (-0.0, -0.0), (-(2.0**-149), -(2.0**-149))],
}  # fmt: skip


@pytest.mark.parametrize("name", [n for n in NAMES if not n.startswith("pow")])
def test_ends_are_those_of_the_standard(built, name):
    function, type_ = name.split("_")
    pairs = [*ENDS[function], (NAN, NAN)]
    if type_ == "f64":  # where doubles end is not where floats do
        pairs = [(x, y) for x, y in pairs if x in {0, 1, 8, 10} or not math.isfinite(x)]
    kind = {"f32": np.float32, "f64": np.float64}[type_]
    found = built(type_).values(name, [x for x, _ in pairs])
    assert list(map(repr, map(kind, found))) == [repr(kind(y)) for _, y in pairs]


#: C99's F.9.4.4, and numbers on both sides of what it tells apart
BASES = [0, -0.0, 1, -1, 2, -2, 0.5, -0.5, 3, -3, 1.5, INF, -INF, NAN, 1e-45, -1e-45, 3e38, -3e38]
POWERS = [
    0, -0.0, 1, -1, 2, -2, 3, -3, 0.5, -0.5, 1.5, -1.5, INF, -INF, NAN, 8388607.5, 16777215, -16777215, 16777216,
    33554432, 9007199254740991, 9007199254740992, 127, -149, 1e30, -1e30,
]  # fmt: skip


@pytest.mark.parametrize("name", [n for n in NAMES if n.startswith("pow")])
def test_powers_at_their_ends_are_those_of_the_c_library(built, name):
    library = built(name[-3:])
    bases = [x for x in BASES for _ in POWERS]
    powers = POWERS * len(BASES)
    ours = np.array(library.values(name, bases, powers))
    theirs = np.array(library.values(name, bases, powers, library=True))
    assert np.array_equal(np.isnan(ours), np.isnan(theirs))
    kept = ~np.isnan(ours)
    assert np.array_equal(np.signbit(ours[kept]), np.signbit(theirs[kept]))
    np.testing.assert_allclose(ours[kept], theirs[kept], rtol=3e-7, atol=3e-45)


@pytest.mark.parametrize("name", NAMES)
def test_only_what_is_called_is_defined(name, tmp_path):
    text = math_functions({name})
    defined = re.findall(r"^static (?:inline|const) \w+ (\w+)", text, re.MULTILINE)
    assert set(defined) & set(NAMES) == {name}
    for inner in set(defined) - {name}:
        assert len(re.findall(rf"\b{inner}\b", text)) > 1, inner
    source = tmp_path / "one.c"
    arguments = "a, a" if name.startswith("pow") else "a"
    source.write_text(
        f"#include <stdint.h>\n{text}double one(double a) {{ return {name}({arguments}); }}\n"
    )
    command = ["gcc", "-std=gnu11", *NO_WARNING, "-c", str(source), "-o", str(tmp_path / "one.o")]
    assert subprocess.run(command, check=False, capture_output=True, text=True).stderr == ""


def test_nothing_is_defined_where_nothing_is_called():
    assert math_functions({"min_f32", "sqrtf"}) == ""


def one_stage(value, type_=po.f32):
    x = po.input("x", type_, ["N"])
    return po.pipeline(po.stage("out", "N", lambda i: value(x[i])))


@pytest.mark.parametrize("function", ["exp", "tanh", "erf", "log2", "sin"])
def test_kernels_call_ours_and_are_read_back(function):
    scop = one_stage(getattr(po, function))
    plan = po.auto(scop)
    shown = plan.prove(code=True).obligations[-1].detail
    assert f"{function}_f32(x[i])" in plan.emit().source
    assert "math.h" not in plan.emit().source
    assert "for all sizes" in shown


def test_left_over_elements_have_the_bits_of_vectors():
    """However many elements there are, each is what it is alone."""
    kernel = po.auto(one_stage(lambda v: po.exp(v) * po.tanh(v))).compile()
    data = np.linspace(-9, 9, 211, dtype=np.float32)
    whole = kernel(data)
    for count in (1, 3, 7, 15, 16, 17, 31, 33, 100):
        assert np.array_equal(kernel(data[-count:].copy()), whole[-count:])


def test_plans_of_one_program_have_the_same_bits():
    scop = one_stage(lambda v: po.log(v) * po.exp(-v))
    data = np.linspace(0.001, 20, 1003, dtype=np.float32)
    kernels = [po.Plan(scop), po.auto(scop), po.Plan(scop).tile("out", i=7)]
    found = [plan.compile(contract=False)(data) for plan in kernels]
    assert all(np.array_equal(one, found[0]) for one in found)


@pytest.mark.parametrize(("type_", "kind"), [(po.f32, np.float32), (po.f64, np.float64)])
def test_functions_of_functions_are_those_of_rounded_values(type_, kind):
    """gcc 12 takes ``(double)(float)x`` for ``x`` in straight lines, where nothing is in between."""
    data = np.random.default_rng(5).uniform(0.01, 9, 4096).astype(kind)
    for outer, inner in ((po.exp, po.log), (po.log2, po.tanh), (po.tanh, po.exp2)):
        apart = po.auto(one_stage(inner, type_)).compile()(data)
        expected = po.auto(one_stage(outer, type_)).compile()(apart)
        both = po.Plan(one_stage(lambda v, f=outer, g=inner: f(g(v)), type_))
        plans = [both, po.auto(both.scop), both.unroll("out.i", 8)]
        for plan in plans:
            assert np.array_equal(plan.compile()(data), expected)


def test_coefficients_are_those_that_the_script_derives():
    from docs import coefficients as script
    from polyopt.codegen.helpers.math import coefficients as kept

    derived = {}
    exec(script.text(), derived)  # noqa: S102 (a module of ours)
    for name in ("F32", "F64", "CONSTANTS", "TWO_OVER_PI_F32"):
        assert derived[name] == getattr(kept, name), name


@pytest.mark.parametrize("function", ["exp", "log", "tanh", "erf"])
def test_libm_gives_the_c_librarys_bits(function, built):
    plan = po.auto(one_stage(getattr(po, function)))
    data = np.abs(np.random.default_rng(3).normal(0, 2, 20001)).astype(np.float32)
    kernel = plan.compile(libm=True)
    expected = built().values(f"{function}_f32", data, library=True)
    assert kernel(data).tolist() == expected
    assert f"{function}f(" in kernel.source
    assert "times_f64" not in kernel.source
    assert kernel.source != plan.compile().source


def test_integers_are_made_of_the_c_librarys_values():
    scop = one_stage(lambda v: po.cast("i32", po.exp(v) * 1000))
    source = po.auto(scop).emit().source
    assert "expf(" in source
    assert "exp_f32" not in source


def test_functions_without_ours_are_the_c_librarys():
    source = po.auto(one_stage(lambda v: po.fmod(v, 3.0) + po.exp(v))).emit().source
    assert "fmodf(" in source
    assert "exp_f32(" in source
    assert "#include <math.h>" in source


@pytest.mark.parametrize("name", sorted(VECTOR_MATH.values())[:4] + sorted(INNER_NAMES)[:4])
def test_programs_may_have_arrays_of_these_names(name):
    x = po.input(name, po.f32, ["N"])
    scop = po.pipeline(po.stage("out", "N", lambda i: po.exp(x[i]) + po.log(x[i])))
    data = np.linspace(1, 4, 33, dtype=np.float32)
    found = po.auto(scop).compile(check=True)(data)
    np.testing.assert_allclose(found, np.exp(data) + np.log(data), rtol=1e-6)


def test_loops_that_call_ours_become_vectors():
    for type_ in (po.f32, po.f64):
        scop = one_stage(lambda v: po.exp(v) + po.pow(v, 2.4) + po.tanh(v) / po.erf(v), type_)
        outcomes = [loop.outcome for loop in po.auto(scop).compile().vector_loops]
        assert outcomes == ["vectors"]
