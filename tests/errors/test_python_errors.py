"""What loop functions and stages refuse, with the place and the reason."""

# ruff: noqa: F722, F821, UP037  (extents are texts in subscripts of annotations)

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from polyopt.errors import (
    InvalidOptionError,
    NonAffineError,
    ProgramSyntaxError,
    TooDeepError,
    TypeMismatchError,
    UnknownNameError,
    UnsupportedError,
    UserError,
)
from polyopt.frontend import stages as po
from polyopt.frontend.loops import ArrayOf, f32, i32, scop, u8, u16

if TYPE_CHECKING:
    from collections.abc import Callable


def refused(function: Callable[..., object], kind: type[UserError], message: str) -> str:
    """The text under the carets, after checking kind, message and line."""
    with pytest.raises(kind, match=message) as found:
        scop(function)
    return pointed_at(found.value)


def pointed_at(error: UserError) -> str:
    span = error.diagnostic.span
    assert span is not None
    assert span.source.name == __file__
    line = Path(__file__).read_text(encoding="utf-8").splitlines()[span.line - 1]
    return line[span.column - 1 : span.column - 1 + span.length]


# loop functions


def test_a_subscript_that_is_not_affine_writes_nowhere() -> None:
    def square(n: int, a: f32["n"]):
        for i in range(n):
            a[i * i] = 0

    assert refused(square, NonAffineError, "where this writes depends") == "a[i * i]"


def test_a_write_at_a_place_that_data_decides() -> None:
    def scatter(p: i32["N"], a: f32["N"]):
        for i in range(len(a)):
            a[p[i] * 2] = 1

    assert refused(scatter, NonAffineError, "depends on data") == "a[p[i] * 2]"


def test_index_arrays_that_no_call_can_check() -> None:
    def some(p: i32["N"], a: f32["N"]):
        for i in range(len(a) - 1):
            a[p[i]] = 1

    def guarded(p: i32["N"], a: f32["N"]):
        for i in range(len(a)):
            if p[i] >= 0:
                a[p[i]] = 1

    def changed(p: i32["N"], a: f32["N"]):
        for i in range(len(a)):
            a[p[i]] = 1
            p[i] = 7

    for function in (some, guarded, changed):
        assert "a[p[i]]" in refused(function, NonAffineError, "not all of 'p' can be checked")


def test_a_bound_from_data() -> None:
    def ragged(p: i32["N"], a: f32["N", "N"]):
        for i in range(len(p)):
            for j in range(p[i]):
                a[i, j] = 1

    assert refused(ragged, NonAffineError, "this loop bound depends on data") == "p[i]"


def test_a_bound_that_multiplies_sizes() -> None:
    def product(n: int, m: int, a: f32["n"]):
        for i in range(n * m):
            a[i] = 1

    assert refused(product, NonAffineError, "not affine in iterators and sizes") == "n * m"


def test_a_float_bound() -> None:
    def halves(n: int, a: f32["n"]):
        for i in range(n / 2):
            a[i] = 1

    assert refused(halves, NonAffineError, "not an integer") == "n / 2"


def test_a_step_that_is_a_size() -> None:
    def steps(n: int, m: int, a: f32["n"]):
        for i in range(0, n, m):
            a[i] = 1

    assert refused(steps, NonAffineError, "step of a loop") == "m"


def test_a_local_array_that_grows() -> None:
    def grows(n: int, a: f32["n"]):
        for i in range(n):
            row = np.empty(i, np.float32)
            row[0] = a[i]

    assert refused(grows, NonAffineError, "may not depend on a loop") == "i"


def test_an_extent_that_is_not_affine() -> None:
    def area(a: f32["H * W"]):
        for i in range(len(a)):
            a[i] = 0

    assert refused(area, NonAffineError, "'H \\* W'") == '"H * W"'


def test_an_extent_that_does_not_parse() -> None:
    def odd(a: ArrayOf["u8", "H -"]):
        a[0] = 0

    assert refused(odd, ProgramSyntaxError, "not a size expression") == '"H -"'


def test_while() -> None:
    def forever(a: f32["N"]):
        while a[0] > 0:
            a[0] -= 1

    assert refused(forever, UnsupportedError, "'while' is not taken") == "while a[0] > 0:"


def test_break() -> None:
    def stops(a: f32["N"]):
        for i in range(len(a)):
            a[i] = 0
            break

    assert refused(stops, UnsupportedError, "'break' is not taken") == "break"


def test_continue() -> None:
    def skips(a: f32["N"]):
        for i in range(len(a)):
            if i > 0:
                continue
            a[i] = 0

    assert refused(skips, UnsupportedError, "'continue' is not taken") == "continue"


def test_for_else() -> None:
    def ends(a: f32["N"]):
        for i in range(len(a)):
            a[i] = 0
        else:  # noqa: PLW0120
            a[0] = 1

    assert refused(ends, UnsupportedError, "for ... else") == "for i in range(len(a)):"


def test_loops_with_two_variables() -> None:
    def pairs(a: f32["N"]):
        for i, j in range(len(a)):
            a[i] = j

    assert refused(pairs, UnsupportedError, "one variable") == "i, j"

    def numbered(a: f32["N"]):
        for i, value in enumerate(a):
            a[i] = value * 2

    assert refused(numbered, UnsupportedError, "one variable") == "i, value"


def test_loops_over_elements() -> None:
    def elements(a: f32["N"]):
        for value in a:
            a[0] = value

    assert refused(elements, UnsupportedError, r"loops run over range\(") == "a"


def test_slices() -> None:
    def slices(a: f32["N"]):
        a[1:] = 0

    assert refused(slices, UnsupportedError, "slices are not taken") == "1:"


def test_whole_arrays() -> None:
    def whole(a: f32["N"], b: f32["N"]):
        a[0] = b

    assert refused(whole, UnsupportedError, "cannot be used as a number") == "b"


def test_too_many_subscripts() -> None:
    def many(a: f32["N"]):
        a[0] = a[0, 0]

    assert refused(many, UnsupportedError, "2 subscripts where 'a' has 1") == "a[0, 0]"


def test_unknown_functions() -> None:
    def unknown(a: f32["N"]):
        a[0] = math.gamma(a[0])

    assert refused(unknown, UnsupportedError, "a call of math.gamma") == "math.gamma(a[0])"


def test_helpers_that_do_more_than_return() -> None:
    def helper(v):
        w = v + 1
        return w * w

    def calls(a: f32["N"]):
        a[0] = helper(a[0])

    assert refused(calls, UnsupportedError, "more than one return") == "helper(a[0])"


def test_names_that_do_not_exist() -> None:
    def typo(image: f32["N"]):
        image[0] = imge[0]

    assert refused(typo, UnknownNameError, "'imge' is not defined") == "imge"


def test_size_names_are_not_python_names() -> None:
    def sizes(a: f32["N"]):
        for i in range(N):
            a[i] = 0

    with pytest.raises(UnknownNameError, match="'N' is not defined") as found:
        scop(sizes)
    assert "`N = a.shape[0]`" in found.value.diagnostic.hint


def test_a_loops_variable_after_the_loop() -> None:
    def after(a: f32["N"]):
        for i in range(len(a)):
            last = a[i]
            a[i] = last + 1
            last = last + 2
        a[0] = last

    assert refused(after, UnknownNameError, "'last' has no value here") == "last"


def test_a_local_of_one_branch_used_after_it() -> None:
    def last_positive(a: f32["N"], out: f32["N"]):
        for i in range(len(a)):
            if a[i] > 0:
                last = a[i]
            out[i] = last

    assert refused(last_positive, UnknownNameError, "'last' has no value here") == "last"


def test_a_literal_that_does_not_fit() -> None:
    def wide(a: u8["N"]):
        for i in range(len(a)):
            a[i] = a[i] + 300

    assert refused(wide, TypeMismatchError, "300 does not fit in u8") == "a[i] + 300"


def test_bits_of_floats() -> None:
    def bits(a: f32["N"]):
        a[0] = a[0] & 1

    assert refused(bits, TypeMismatchError, "& is not defined on f32") == "a[0] & 1"


def test_a_float_subscript() -> None:
    def nearest(a: f32["N"]):
        a[0] = a[a[0]]

    assert refused(nearest, TypeMismatchError, "has to be an integer") == "a[0]"


def test_a_local_that_changes_its_type() -> None:
    def changes(a: u16["N"], out: f32["N"]):
        for i in range(len(a)):
            t = a[i]
            t = t * 0.5
            out[i] = t

    assert refused(changes, TypeMismatchError, "'t' is u16 and would become f64") == "t"


def test_half_precision() -> None:
    def half(a: u8["N"], out: f32["N"]):
        out[0] = np.sqrt(a[0])

    assert refused(half, TypeMismatchError, "half precision") == "np.sqrt(a[0])"


def test_arguments_without_a_type() -> None:
    def untyped(a):
        a[0] = 0

    assert refused(untyped, UnsupportedError, "'a' has no type") == "a"


def test_arguments_of_another_type() -> None:
    def listed(a: list):
        a[0] = 0

    assert refused(listed, UnsupportedError, "the type list of 'a'") == "list"


def test_iterators_used_twice() -> None:
    def nested(a: f32["N", "N"]):
        for i in range(len(a)):
            for i in range(len(a)):  # noqa: PLW2901
                a[i, i] = 0

    assert refused(nested, UnsupportedError, "'i' is in use") == "i"


def test_returning_too_early() -> None:
    def early(a: f32["N"]):
        for i in range(len(a)):
            return a[i]
        return None

    assert refused(early, UnsupportedError, "return stands at the end") == "return a[i]"


def test_returning_a_number() -> None:
    def value(a: f32["N"]):
        return a[0] + 1

    assert refused(value, UnsupportedError, "only arrays are returned") == "a[0] + 1"


def test_swapping() -> None:
    def swap(a: f32["N"]):
        a[0], a[1] = a[1], a[0]

    assert "a[0], a[1]" in refused(swap, UnsupportedError, "reads what it has just changed")


def test_assigning_an_argument() -> None:
    def assigns(n: int, a: f32["n"]):
        n = n + 1
        a[0] = n

    assert refused(assigns, UnsupportedError, "'n' cannot be assigned again") == "n"


def test_columns_are_counted_in_characters() -> None:
    def accents(a: f32["N"], größe: f32["N"]):  # noqa: PLC2401
        a[0] = größe[0] + "é"

    assert refused(accents, UnsupportedError, "constant of type str") == '"é"'


HEAD = "from polyopt.frontend.loops import f32\n\ndef {name}(a: f32['N']):\n    a[0] = "


def test_deep_expressions(tmp_path) -> None:
    text = HEAD.format(name="deep") + "-" * 300 + "a[0]\n"
    with pytest.raises(TooDeepError, match="more than 256 levels"):
        scop(_loaded(tmp_path, text, "deep"))


def test_long_sums(tmp_path) -> None:
    head = HEAD.format(name="long")
    with pytest.raises(TooDeepError, match="more than 256 levels"):
        scop(_loaded(tmp_path, head + " + ".join(["a[0]"] * 900) + "\n", "long"))
    assert scop(_loaded(tmp_path, head + " + ".join(["a[0]"] * 200) + "\n", "long")).statements


def _loaded(folder, text: str, name: str):
    path = folder / f"{name}{len(text)}.py"
    path.write_text(text)
    names: dict[str, object] = {}
    exec(compile(text, str(path), "exec"), names)  # noqa: S102
    return names[name]


def test_functions_without_source() -> None:
    names: dict[str, object] = {}
    exec("def hidden(a): pass", names)  # noqa: S102
    with pytest.raises(UnsupportedError, match="source of 'hidden' cannot be found"):
        scop(names["hidden"])


def test_the_message_shows_the_line_and_carets() -> None:
    def shown(p: i32["N"], a: f32["N"]):
        for i in range(p[0]):
            a[i] = 1

    with pytest.raises(NonAffineError) as found:
        scop(shown)
    text = str(found.value)
    assert re.search(r"test_python_errors\.py:\d+:24: non-affine: this loop bound", text)
    code, carets = text.splitlines()[1:3]
    start = carets.index("^")
    assert code[start : start + carets.count("^")] == "p[0]"


# stages


def in_stage(
    function: Callable[..., object], kind: type[UserError], message: str, extents: object = "N"
) -> str:
    with pytest.raises(kind, match=message) as found:
        po.pipeline(po.stage("s", extents, function))
    return pointed_at(found.value)


@pytest.fixture
def row() -> po.Input:
    return po.input("row", "u8", "N")


def test_truth_of_a_stages_condition(row) -> None:
    place = in_stage(lambda x: row[x] if x > 0 else 0, UnsupportedError, "not known while")
    assert place == "x > 0"


def test_chained_comparisons(row) -> None:
    place = in_stage(lambda x: po.select(0 < x < 3, 1, 2), UnsupportedError, "not known while")
    assert place == "0 < x < 3"


def test_ranks(row) -> None:
    assert in_stage(lambda x: row[x, 0], UnsupportedError, "'row' has 1 dim") == "row[x, 0]"
    assert in_stage(lambda x: row + x, TypeMismatchError, "an array, not a number") == "row + x"


def test_stage_slices(row) -> None:
    assert in_stage(lambda x: row[x:], UnsupportedError, "slices") == "row[x:]"


def test_literals_that_do_not_fit(row) -> None:
    assert in_stage(lambda x: row[x] + 256, TypeMismatchError, "256 does not fit") == "row[x] + 256"


def test_float_subscripts(row) -> None:
    place = in_stage(lambda x: row[row[x] * 0.5], TypeMismatchError, "has to be an integer")
    assert place == "row[row[x] * 0.5]"


def test_indices_of_another_stage(row) -> None:
    kept = []
    po.stage("first", "N", lambda x: kept.append(x) or row[x])
    place = in_stage(lambda y: row[y + kept[0]], TypeMismatchError, "belongs to another")
    assert place


def test_texts_and_lists_are_no_numbers(row) -> None:
    assert in_stage(lambda x: row[x] + "1", TypeMismatchError, "str is not a number")
    assert in_stage(lambda x: [row[x]], TypeMismatchError, "list is not a number")


def test_numbers_of_dimensions_differ() -> None:
    with pytest.raises(InvalidOptionError, match=r"has 2 dimension\(s\), its function takes 1"):
        po.stage("s", ["H", "W"], lambda x: x)


def test_reductions_name_their_ranges(row) -> None:
    with pytest.raises(InvalidOptionError, match=r"takes \(k\), the ranges are of \(j\)"):
        po.stage("s", "N", lambda x: po.sum(lambda k: row[x + k], j=3))


def test_bounds_of_reductions_are_affine(row) -> None:
    place = in_stage(
        lambda x: po.sum(lambda k: row[k], k=row[x]), NonAffineError, "depends on data"
    )
    assert place == "row[x]"


def test_names_are_unique_in_a_pipeline(row) -> None:
    first = po.stage("s", "N", lambda x: row[x])
    second = po.stage("s", "N", lambda x: first[x] + 1)
    with pytest.raises(InvalidOptionError, match=r"two arrays of this pipeline are called 's'"):
        po.pipeline(second)


def test_names_are_identifiers() -> None:
    with pytest.raises(InvalidOptionError, match="has to be an identifier"):
        po.input("two words", "u8", ["N"])


def test_sizes_are_no_arrays() -> None:
    field = po.input("N", "u8", ["N"])
    with pytest.raises(InvalidOptionError, match="both a size and an array"):
        po.pipeline(po.stage("s", "N", lambda x: field[x]))


def test_sizes_that_are_not_affine(row) -> None:
    with pytest.raises(NonAffineError, match=r"H \* W"):
        po.pipeline(po.stage("s", "H * W", lambda x: row[x]))
    with pytest.raises(ProgramSyntaxError, match="'H -' is not a size"):
        po.stage("s", "H -", lambda x: row[x])


def test_types_that_do_not_exist() -> None:
    with pytest.raises(InvalidOptionError, match="'u24' is not a scalar type"):
        po.input("img", "u24", ["N"])


def test_outputs_are_stages(row) -> None:
    with pytest.raises(InvalidOptionError, match="an output is a stage"):
        po.pipeline(row)
    with pytest.raises(InvalidOptionError, match="at least one output"):
        po.pipeline([])


def test_a_context_that_cannot_be(row) -> None:
    out = po.stage("out", "N - 10", lambda x: row[x])
    with pytest.raises(InvalidOptionError, match="no sizes satisfy"):
        po.pipeline(out, context="N < 5")


def test_stage_expressions_too_deep(row) -> None:
    def sums(x):
        total = row[x]
        for _ in range(1000):
            total = total + row[x]
        return total

    assert in_stage(sums, TooDeepError, "more than 256") == "total + row[x]"


def test_numpy_functions_that_are_not_taken(row) -> None:
    assert in_stage(lambda x: np.arcsinh(row[x]), UnsupportedError, "np.arcsinh is not taken")


def test_stage_expressions_that_explode(row) -> None:
    def squares(x):
        total = po.cast("f64", row[x])
        for _ in range(40):
            total = total * total
        return total

    assert in_stage(squares, TooDeepError, "more than 20,000 operations") == "total * total"


def test_loop_expressions_that_explode() -> None:
    def sixteen(v):
        return square(square(square(square(v))))

    def square(v):
        return v * v

    def explodes(a: f32["N"]):
        a[0] = sixteen(sixteen(sixteen(sixteen(a[0]))))

    place = refused(explodes, TooDeepError, "an expression of 196,607 operations")
    assert place.startswith("a[0] = sixteen(")
