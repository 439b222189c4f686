"""Quotients and remainders by a size: exact where they are given, and given where few."""

import pytest

from polyopt.isl import PwAff, Set, affine_param, floor_quotient, floor_remainder

DOMAIN = Set("[n] -> { [i] : 0 <= i < n }")
FORMS = {
    "i + 1": lambda i, _: i + 1,
    "i - 1": lambda i, _: i - 1,
    "i + n": lambda i, n: i + n,
    "2i - n": lambda i, n: 2 * i - n,
    "2i": lambda i, _: 2 * i,
    "n - i": lambda i, n: n - i,
}


def divided(text, domain=DOMAIN):
    form = PwAff(f"[n] -> {{ [i] -> [({text})] }}")
    divisor = affine_param(domain.get_space(), "n")
    return floor_quotient(form, divisor, domain), floor_remainder(form, divisor, domain)


@pytest.mark.parametrize("text", FORMS)
@pytest.mark.parametrize("n", [1, 2, 5])
def test_they_are_pythons(text, n):
    quotient, remainder = divided(text)
    for i in range(n):
        value = FORMS[text](i, n)
        point = Set(f"[n] -> {{ [i] : i = {i} and n = {n} }}")
        for found, wanted in ((quotient, value // n), (remainder, value % n)):
            here = found.intersect_domain(point)
            assert here.min_val().to_python() == here.max_val().to_python() == wanted


@pytest.mark.parametrize(("text", "domain"), [
    ("7i", DOMAIN),  # up to seven times the size
    ("i", Set("[n] -> { [i] : 0 <= i }")),  # any number of times
    ("i", Set("[n] -> { [i] : 0 <= i < 3 and n < 5 }")),  # by a size that may be zero
])  # fmt: skip
def test_others_are_not_affine(text, domain):
    assert divided(text, domain) == (None, None)
