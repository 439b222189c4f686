"""The command line: ``polyopt`` and ``python -m polyopt``."""

from polyopt.cli.root import cli, main

__all__ = ["cli", "main"]
