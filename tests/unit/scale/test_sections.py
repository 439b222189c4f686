"""A subdomain computes its box as the whole program does, and the proof sees where it would not."""

from dataclasses import replace

import numpy as np
import pytest

import polyopt as po
from polyopt.analysis.alignment import alignment
from polyopt.analysis.interpreter.interpret import interpret
from polyopt.analysis.needed import components, needed
from polyopt.analysis.sets.points import parameter_value
from polyopt.errors import NotCutError
from polyopt.ir.expr import Load, rewrite
from polyopt.ir.verify import verify
from polyopt.isl import parse_map, parse_union_map
from polyopt.transform.subdomain.proof import prove_subdomain
from polyopt.transform.subdomain.subdomain import cuttable, subdomain
from tests.unit.scale.conftest import BLUR, resampled

SUM = """
void sum(int N, int M, const double A[restrict N][M], double s[restrict N]) {
  for (int i = 0; i < N; i++) {
    s[i] = 0;
    for (int j = 0; j < M; j++)
      s[i] = s[i] + A[i][j];
  }
}
"""
STEPS = """
void steps(int T, int N, double a[restrict N], double b[restrict N]) {
  for (int t = 0; t < T; t++) {
    for (int i = 1; i < N - 1; i++)
      b[i] = a[i - 1] + a[i] + a[i + 1];
    for (int i = 1; i < N - 1; i++)
      a[i] = b[i - 1] + b[i] + b[i + 1];
  }
}
"""
HISTOGRAM = """
void histogram(int N, const unsigned char v[restrict N], int h[restrict 16]) {
  for (int k = 0; k < 16; k++) {
    h[k] = 0;
    for (int i = 0; i < N; i++)
      h[k] = h[k] + (v[i] == k);
  }
}
"""
SCAN = """
void scan(int N, int M, const double A[restrict N][M], double s[restrict N][M]) {
  for (int i = 0; i < N; i++)
    for (int j = 0; j < M; j++) {
      if (i == 0) s[i][j] = A[i][j];
      if (i > 0) s[i][j] = s[i - 1][j] * 0.5 + A[i][j];
    }
}
"""


def cut(text, output, dims=None):
    scop = po.parse_c(text) if isinstance(text, str) else text
    deps = scop.dependences()
    found = subdomain(deps, [output], dims=dims)
    verify(found.scop)
    prove_subdomain(found, deps)
    return found, deps


def slab(found, name):
    shown = found.slabs[name]
    return [str(form).split("->")[1] for form in (*shown.offset, *shown.extents)]


def test_the_halo_is_derived():
    found, _ = cut(BLUR, "out")
    assert slab(found, "img") == [" { [(y_first)] }", " { [(x_first)] }", " { [(4 + y_count)] }", " { [(4 + x_count)] }"]  # fmt: skip
    assert found.scop.params == ("y_count", "x_count", "img_span1", "out_span1")


def test_away_from_borders_a_section_is_the_program_on_a_smaller_image():
    found, _ = cut(BLUR, "out")
    assert not found.scop.array("rows").lower
    assert "first" not in str(found.scop)


def test_samples_taken_down_begin_at_whole_ones():
    scop = resampled()
    found, deps = cut(scop, "up")
    assert alignment(deps, ["up"]) == 2
    assert {axis.unit for axis in found.axes} == {2}
    assert slab(found, "img")[0] == " { [(-1 + 2y_first)] }"


def test_a_reduction_reads_its_whole_row():
    found, _ = cut(SUM, "s")
    assert found.slabs["A"].whole == (False, True)


def test_a_recurrence_reads_all_that_is_before():
    found, _ = cut(SCAN, "s")
    sizes = {"N": 90, "M": 50, "i_first": 40, "i_count": 5, "j_first": 10, "j_count": 7}
    low, wide = ([parameter_value(f, sizes) for f in forms] for forms in (found.slabs["A"].offset, found.slabs["A"].extents))  # fmt: skip
    assert (low, wide) == ([0, 10], [45, 7])


def test_steps_in_time_widen_the_halo_by_two_each():
    found, deps = cut(STEPS, "a")
    at = {"T": 3, "N": 100, "i_first": 40, "i_count": 5}
    whole = scop_values(deps.scop, at)
    assert section_values(found, deps.scop, at) == whole[40:45].tolist()


def scop_values(scop, at):
    rng = np.random.default_rng(3)
    given = {a.name: rng.random(tuple(parameter_value(e, at) for e in a.extents)) for a in scop.arrays if a.is_live_in}  # fmt: skip
    return interpret(scop, {p: at[p] for p in scop.params}, given)["a"]


def section_values(found, scop, at):
    """The subdomain, interpreted on slabs that were cut out by hand; what is outside is NaN."""
    rng = np.random.default_rng(3)
    given = {a.name: rng.random(tuple(parameter_value(e, at) for e in a.extents)) for a in scop.arrays if a.is_live_in}  # fmt: skip
    sizes = dict(at)
    slabs = {}
    for name, whole in given.items():
        low = parameter_value(found.slabs[name].offset[0], sizes)
        extent = parameter_value(found.slabs[name].extents[0], sizes)
        slabs[name] = np.full(extent, np.nan)
        inside = range(max(low, 0), min(low + extent, len(whole)))
        slabs[name][inside.start - low : inside.stop - low] = whole[inside.start : inside.stop]
    out = interpret(found.scop, {p: sizes[p] for p in found.scop.params}, slabs)["a"]
    start = at["i_first"] - parameter_value(found.slabs["a"].offset[0], sizes)
    return out[start : start + at["i_count"]].tolist()


def test_a_histogram_reads_everything_and_is_not_cut():
    found, deps = cut(HISTOGRAM, "h")
    assert found.axes == ()
    assert found.slabs["v"].whole == (True,)
    assert cuttable(deps.scop, "h") == (0,)
    spread = replace(deps.scop.statements[1], spread={0: deps.scop.array("h").extents[0]})
    assert cuttable(deps.scop.with_statements(spread), "h") == ()


def test_a_slab_that_lies_elsewhere_is_disproved():
    """One row too far: each value is read from the neighbour of what the program reads."""
    found, deps = cut(BLUR, "out")
    rows = found.scop.statement("rows")
    image = found.scop.array("img")
    one = image.extents[0].sub(image.extents[0]).add(parse_map("{ [] -> [1] }").as_pw_multi_aff().get_at(0).project_domain_on_params())  # fmt: skip

    def moved(node):
        if not isinstance(node, Load):
            return node
        first = node.index[0].form.sub(one.insert_domain(node.index[0].form.get_domain_space()))
        return replace(node, index=(replace(node.index[0], form=first), *node.index[1:]))

    broken = found.scop.with_statements(replace(rows, value=rewrite(rows.value, moved)))
    with pytest.raises(NotCutError, match="reads another element of the caller's"):
        prove_subdomain(replace(found, scop=broken), deps)


def test_a_missing_instance_is_disproved():
    found, deps = cut(BLUR, "out")
    rows = found.scop.statement("rows")
    last = found.scop.statement("out").domain
    short = rows.domain.subtract(rows.domain.lexmax())
    broken = found.scop.with_statements(replace(rows, domain=short))
    assert not last.is_empty()
    with pytest.raises(NotCutError, match="reads a value that another instance wrote"):
        prove_subdomain(replace(found, scop=broken), deps)


def test_a_lost_result_is_disproved():
    found, deps = cut(BLUR, "out")
    out = found.scop.statement("out")
    broken = found.scop.with_statements(
        replace(out, domain=out.domain.subtract(out.domain.lexmin()))
    )
    with pytest.raises(NotCutError):
        prove_subdomain(replace(found, scop=broken), deps)


def test_what_is_needed_is_closed():
    deps = resampled().dependences()
    found = subdomain(deps, ["up"])
    before = deps.flow.intersect_range(found.instances).domain()
    assert before.is_subset(found.instances)
    typical = {"H": 1 << 20, "W": 1 << 20}
    assert needed(deps, deps.scop.array("up").elements(deps.scop.params).to_union_set(), typical).is_equal(deps.scop.domain)  # fmt: skip


def test_circles_come_as_one_producers_first():
    flow = parse_union_map("{ a[] -> b[]; b[] -> c[]; c[] -> b[]; c[] -> d[] }")
    assert components(["d", "c", "b", "a"], flow) == [{"a"}, {"b", "c"}, {"d"}]
