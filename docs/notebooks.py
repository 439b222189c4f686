"""Notebooks as pages: what stands in their cells, and what the last run of them showed."""

from __future__ import annotations

import base64
import json
import re
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from markdown_it import MarkdownIt

NOT_RUN = "<p><em>Without outputs: <code>make notebooks</code> runs it.</em></p>"
#: what a live panel is to a notebook
WIDGET = "application/vnd.jupyter.widget-view+json"
#: escape sequences that colour a traceback
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def page(path: Path, markdown: MarkdownIt) -> str:
    """A notebook's cells and outputs as HTML, scripts and widgets left out."""
    cells: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))["cells"]
    was_run = any(cell.get("outputs") for cell in cells)
    return "\n".join(
        [*([] if was_run else [NOT_RUN]), *(p for c in cells for p in _cell(c, markdown))]
    )


def _cell(cell: dict[str, Any], markdown: MarkdownIt) -> Iterator[str]:
    text = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        yield markdown.render(text)
        return
    yield f'<pre class="cell"><code>{escape(text)}</code></pre>'
    for output in cell.get("outputs", []):
        yield f'<div class="output">{_output(output)}</div>'


def _output(output: dict[str, Any]) -> str:
    if output["output_type"] == "stream":
        return f"<pre>{escape(''.join(output['text']))}</pre>"
    if output["output_type"] == "error":
        return f"<pre>{escape(_COLOUR.sub('', chr(10).join(output['traceback'])))}</pre>"
    data = {
        kind: "".join(parts)
        for kind, parts in output["data"].items()
        if isinstance(parts, (str, list))
    }
    if WIDGET in output["data"]:
        return ""  # what it shows stands below it as HTML
    if "text/html" in data:
        return data["text/html"]
    if "image/svg+xml" in data:
        return data["image/svg+xml"]
    if "image/png" in data:
        picture = base64.b64encode(base64.b64decode(data["image/png"])).decode()
        return f'<img alt="" src="data:image/png;base64,{picture}">'
    return f"<pre>{escape(data.get('text/plain', data.get('text/latex', '')))}</pre>"
