"""Tests of what needs PyTorch: `make test-torch` installs it. Elsewhere they are not collected."""

from importlib.util import find_spec

import pytest

collect_ignore_glob = [] if find_spec("torch") else ["test_*.py"]


@pytest.fixture(autouse=True)
def alone():
    """Let no test see another's numbers or traces.

    ``torch.compile`` keeps its traces by code object, so that two nets of one class are one to it,
    and leaves a dimension open that both have otherwise.
    """
    import torch

    torch.manual_seed(0)
    torch.compiler.reset()
