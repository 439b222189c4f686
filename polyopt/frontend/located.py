"""Errors raised without a place get the place of what was being read."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from polyopt.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from polyopt.source import Span


@contextmanager
def located(span: Callable[[], Span | None]) -> Generator[None]:
    """Give ``span()`` to any user error from the block that has no span yet."""
    try:
        yield
    except UserError as error:
        found = error.diagnostic
        if found.span is not None:
            raise
        raise type(error)(found.message, span=span(), notes=found.notes, hint=found.hint) from None
