"""The explorer as HTML: a part of a notebook's page, or a page of its own."""

from __future__ import annotations

import hashlib
import json
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from polyopt.escaping import markup as escape

if TYPE_CHECKING:
    from collections.abc import Mapping

    from polyopt.transform.plan import Plan

#: where widgets are alive: JupyterLab and its consoles, notebooks of version 7, and 6, VS Code
LIVE = (
    ".jp-NotebookPanel", ".jp-CodeConsole", ".jp-LinkedOutputView", ".notebook_app",
    "body[data-vscode-theme-kind]",
)  # fmt: skip

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>body {{ margin: 0; padding: 8px; background: #fff }}</style>
</head>
<body>
{body}
</body>
</html>
"""


@cache
def resource(name: str) -> str:
    """A file that is installed beside this one, without indentation: pages hold all of it."""
    text = files("polyopt.explain.explorer").joinpath(name).read_text(encoding="utf-8")
    return "\n".join(line.strip() for line in text.split("\n"))


def static_html(plan: Plan, snapshot: Mapping[str, Any]) -> str:
    """The explorer without Python; the loop nest alone where no scripts run.

    Jupyter shows it beside the widget: it hides itself where the widget is alive.
    """
    hidden = ", ".join(f"{place} .polyopt-static" for place in LIVE)
    style = f"<style>{hidden} {{display: none}}</style>"
    return f'{style}<div class="polyopt-static">{_mounted(plan, snapshot)}</div>'


def whole_page(plan: Plan, snapshot: Mapping[str, Any]) -> str:
    """The explorer as a page of its own, which loads nothing from elsewhere."""
    return _PAGE.format(title=escape(plan.scop.name), body=_mounted(plan, snapshot))


def _mounted(plan: Plan, snapshot: Mapping[str, Any]) -> str:
    data = json.dumps(snapshot, separators=(",", ":"))
    safe = data.replace("<", "\\u003c")  # nothing in it ends the script
    name = f"polyopt-{hashlib.sha256(data.encode()).hexdigest()[:12]}"
    call = f'mount(document.getElementById("{name}"), {safe});'
    return (
        f"<style>{resource('explorer.css')}</style>"
        f'<div id="{name}" class="polyopt-explorer"><pre>{escape(str(plan))}</pre></div>'
        f'<script type="module">{resource("explorer.js")}\n{call}</script>'
    )
