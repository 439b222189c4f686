"""Two versions of polyopt beside each other: ``python -m tests.compare BASE``."""
