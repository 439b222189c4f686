"""Which loops threads share."""

from dataclasses import replace

import pytest

import polyopt as po
from polyopt.codegen.target import target
from polyopt.scheduler.context import SearchContext
from polyopt.scheduler.model.machine import costs_of
from polyopt.scheduler.model.objective import is_worth_sharing, predicted, predicted_sharing
from polyopt.scheduler.strategies.inline import inline_cheap
from polyopt.scheduler.threads.parallelize import parallelize_outer
from polyopt.transform.plan import Plan

CONTEXT = SearchContext(target("generic"), {})
TWO = SearchContext(replace(target("generic"), cores=2), {})


def copied(function, *extents, source):
    """One image through a stage of these extents, its last loop in vectors; its marked loops."""
    x = po.input("x", "f32", list(source))
    names = ("n", "c", "y", "i")
    out = po.stage("out", list(extents), lambda *i: function(x, *i), type="f32", indices=names)
    plan = Plan(po.pipeline([out])).vectorize("out.i")
    return parallelize_outer(plan, TWO)


def marks(done):
    found, level = {}, done[0].program.tree
    while level and not isinstance(level[0], str):
        found[level[0].name], level = level[0].mark, level[0].body
    return found


def test_vectors_collected_element_by_element_are_more_work():
    """The same number of elements: lines that lie side by side are soon copied, columns are not."""
    lines = copied(lambda x, n, c, y, i: x[n, c, y, i], 1, 8, 16, 1000, source=(1, 8, 16, 1000))
    assert marks(lines)["out.c"] == ""
    columns = copied(lambda x, n, c, y, i: x[n, c, i, y], 1, 8, 16, 1000, source=(1, 8, 1000, 16))
    assert marks(columns) == {"out.n": "", "out.c": "parallel", "out.y": "", "out.i": "vector"}


def framed(stride):
    """Sums of three elements in a row, every so many, of an image in a frame of zeros."""
    x = po.input("x", "f32", [64, 64])
    inside = po.padded(x, 0)
    frame = po.stage("frame", [64, 66], lambda y, i: inside[y, i - 1], type="f32")
    out = po.stage(
        "out", [64, 64 // stride],
        lambda y, i: frame[y, stride * i] + frame[y, stride * i + 1] + frame[y, stride * i + 2],
        type="f32",
    )  # fmt: skip
    return po.pipeline([out])


def test_a_frame_is_stored_where_vectors_would_step_over_it():
    """Masked loads of every other element are gathers; in a buffer they are whole vectors."""
    remarks = inline_cheap(Plan(framed(2)), CONTEXT)[1]
    assert [(r.kind, r.subject) for r in remarks] == [("refused", "frame")]
    side_by_side = inline_cheap(Plan(framed(1)), CONTEXT)[1][0].numbers["added"]
    assert remarks[0].numbers["added"] > side_by_side


def test_one_iteration_is_shared_by_nobody():
    few = copied(lambda x, n, c, y, i: x[n, c, y, i], 1, 8, 16, 1000, source=(1, 8, 16, 1000))
    assert "parallel" not in marks(few).values()
    two = copied(lambda x, n, c, y, i: x[n, c, y, i], 2, 8, 16, 1000, source=(2, 8, 16, 1000))
    assert marks(two)["out.n"] == "parallel"


def test_a_refusal_names_the_two_predicted_times():
    """It is the call's time on one thread, and what two that have to be woken take for it."""
    done = copied(lambda x, n, c, y, i: x[n, c, y, i], 1, 8, 16, 1000, source=(1, 8, 16, 1000))
    (said,) = [r for r in done[1] if r.subject == "out.c"]
    assert (said.kind, said.move) == ("refused", "parallelize")
    alone, shared = said.numbers["predicted ns"], said.numbers["on all threads"]
    assert alone == pytest.approx(predicted(done[0], TWO, threads=1))
    assert shared > alone / 2 + costs_of(TWO.target).region


def test_a_loop_is_weighed_by_its_own_part_each_time_that_it_is_entered():
    """A short loop inside of a long one, however often it is entered, is not shared; all is."""
    text = """
    void steps(int T, int N, double a[restrict T][N])
    {
        for (int t = 1; t < T; t++) for (int i = 0; i < N; i++) a[t][i] = a[t - 1][i] + 1;
    }
    """
    times = {}
    for count in (500, 500_000):
        plan = Plan(po.parse_c(text)).vectorize("a.i")
        model = replace(TWO, sizes={"T": 1000, "N": count})
        times[count] = predicted_sharing(plan, model, "a.i")
        assert 999 * times[count][0] == pytest.approx(predicted(plan, model, threads=1))
    assert not is_worth_sharing(*times[500])
    assert is_worth_sharing(*times[500_000])


SHORT = """
void f(float x[3][100][1000], float y[3][100][1000]) {
    for (int c = 0; c < 3; c++)
        for (int i = 0; i < END; i++)
            for (int j = 0; j < 1000; j++)
                y[c][i][j] = FROM;
}
"""


def shared(end, value):
    text = SHORT.replace("END", end).replace("FROM", value)
    return parallelize_outer(Plan(po.parse_c(text)).vectorize("y.j"), TWO)


def test_a_short_loop_is_shared_together_with_the_one_inside():
    """Threads start once, and not for each plane; three planes alone are no even shares."""
    done = shared("100", "2 * x[c][i][j]")
    assert marks(done) == {"y.c": "parallel", "y.i": "parallel", "y.j": "vector"}
    assert [(r.kind, r.subject) for r in done[1]] == [("applied", "y.c"), ("applied", "y.i")]
    assert done[0].cost({}).parallel == {"y.c": 300}
    assert "shared together with y.i" in done[1][0].reason


@pytest.mark.parametrize(
    ("end", "value"),
    [("33 * c + 1", "2 * x[c][i][j]"), ("100", "x[c][i][j] + (i > 0 ? y[c][i - 1][j] : 0)")],
)
def test_it_is_shared_alone_where_the_one_inside_depends_on_it_or_on_itself(end, value):
    found = marks(shared(end, value))
    assert [found["y.c"], found["y.i"]].count("parallel") == 1


def test_a_tile_is_one_threads():
    """Its rows are not shared together with the tiles, however few these are."""
    text = SHORT.replace("END", "100").replace("FROM", "2 * x[c][i][j]")
    tiled = Plan(po.parse_c(text)).tile("y", i=50).vectorize("y.j")
    found = marks(parallelize_outer(tiled, TWO))
    assert found == {"y.c": "parallel", "y.i_tile": "parallel", "y.i": "", "y.j": "vector"}
