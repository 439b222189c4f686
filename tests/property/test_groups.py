"""Short loops in loops that tests tell apart, compiled with the flags that kernels get."""

import pytest

from tests.compilers import COMPILERS

from .groups import different


@pytest.mark.parametrize("compiler", COMPILERS)
def test_generated_c_computes_what_nests_say(compiler):
    assert different(range(100), compiler) == ()
