"""Tests of what needs PyTorch: `make test-torch` installs it. Elsewhere they are not collected."""

from importlib.util import find_spec

collect_ignore_glob = [] if find_spec("torch") else ["test_*.py"]
