"""What others called something, as text that stands among ours: one line, and nothing but text.

Names come from files: tensors of a network, functions, paths. In a comment one could end it, in a
string close it, and go on as code.
"""

from __future__ import annotations

import html
import re

#: what C reads otherwise inside of comments: their ends and starts, and trigraphs
_IN_COMMENTS = re.compile(r"\*(?=/)|/(?=\*)|\?(?=\?)")
#: bytes that a C string holds as they are
_PLAIN = frozenset(range(0x20, 0x7F)) - frozenset(b'"\\')


def printable(text: str, kept: str = "") -> str:
    r"""The text with escapes for what prints nothing or moves the cursor: ``\n``, ``\x1b``.

    Those in ``kept`` stay.
    """
    return "".join(c if c.isprintable() or c in kept else _escaped(c) for c in text)


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")


def comment(text: str) -> str:
    r"""The text as a line of a comment in C: ``*/`` as ``* /``, and no backslash at the end, behind
    which the line would go on.
    """
    shown = _IN_COMMENTS.sub(lambda found: f"{found[0]} ", printable(text))
    ends = len(shown) - len(shown.rstrip("\\ "))
    return f"{shown}." if "\\" in shown[len(shown) - ends :] else shown


def c_string(text: str) -> str:
    r"""The text as a C string, in UTF-8: ``"a\"b"``. Whatever is no plain ASCII is in octal."""
    data = text.encode("utf-8", "backslashreplace")
    body = "".join(chr(byte) if byte in _PLAIN else _octal(byte) for byte in data)
    return '"' + body.replace("??", "?\\?") + '"'


def _octal(byte: int) -> str:
    """One byte; octal escapes end after three digits, whatever stands behind them."""
    return f"\\{chr(byte)}" if byte in b'"\\' else f"\\{byte:03o}"


def markup(text: str) -> str:
    """The text as HTML and SVG: entities for what is markup, escapes for what XML cannot hold."""
    return html.escape(printable(text, "\n\t"))
