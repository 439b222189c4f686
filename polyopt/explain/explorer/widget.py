"""The explorer as a widget: the same module as in a page, with Python behind it."""

from __future__ import annotations

import importlib
from functools import cache
from typing import TYPE_CHECKING, Any

from polyopt.errors import MissingExtraError
from polyopt.explain.explorer.page import resource
from polyopt.extras import install_command

if TYPE_CHECKING:
    from polyopt.explain.explorer.session import Explorer


@cache
def _widget_class() -> Any:  # noqa: ANN401 - anywidget has no types
    """Made when it is first asked for: importing polyopt needs no widgets."""
    try:
        anywidget: Any = importlib.import_module("anywidget")
        traitlets: Any = importlib.import_module("traitlets")
    except ImportError:
        message = "the explorer's panel needs anywidget"
        hint = f"{install_command('jupyter')}; explorer.save('page.html') needs nothing"
        raise MissingExtraError(message, hint=hint) from None
    synced = {
        name: traitlets.Dict().tag(sync=True)
        for name in ("program", "state", "plans", "request", "told")
    }
    fields = {"_esm": resource("explorer.js"), "_css": resource("explorer.css"), **synced}
    return type("ExplorerWidget", (anywidget.AnyWidget,), fields)


def widget(explorer: Explorer) -> Any:  # noqa: ANN401
    """The widget of a session. Raises ``MissingExtraError`` without anywidget."""
    made: Any = _widget_class()(program=explorer.program)
    show(made, explorer)

    def asked(change: Any) -> None:  # noqa: ANN401 - what traitlets tells
        request = change["new"]
        if not request:
            return
        told = {"said": "a defect of polyopt: the kernel's log has it"}
        try:
            told = explorer.answer(request)
        finally:
            show(made, explorer)
            made.told = {"id": request.get("id"), **told}

    made.observe(asked, "request")
    return made


def show(made: Any, explorer: Explorer) -> None:  # noqa: ANN401
    """Send what changed: the state, and the plan that is shown beside the one before it.

    Those that were sent before are in the browser already.
    """
    history = explorer.history
    near = {max(0, history.at - 1), history.at}
    with made.hold_sync():
        made.plans = {str(n): dict(history.entries[n].data) for n in sorted(near)}
        made.state = explorer.state()
