"""Short loops in loops that tests tell apart, compiled with the flags that kernels get."""

import shutil

import pytest

from .groups import different

COMPILERS = [name for name in ("gcc", "clang") if shutil.which(name)] or [""]


@pytest.mark.parametrize("compiler", COMPILERS)
def test_generated_c_computes_what_nests_say(compiler):
    assert different(range(100), compiler) == ()
