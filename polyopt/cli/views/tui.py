"""The page of ``view`` to walk through with the keyboard: a tab per section."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from polyopt.errors import MissingExtraError
from polyopt.extras import install_command

try:
    from textual.app import App
    from textual.containers import Horizontal, VerticalScroll
    from textual.widgets import Footer, Static, TabbedContent, TabPane
except ImportError as error:
    _MESSAGE = "the text interface needs textual"
    raise MissingExtraError(_MESSAGE, hint=install_command("tui")) from error

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.binding import BindingType

    from polyopt.cli.commands.viewing import Section


class Viewer(App[None]):
    """Sections as tabs; the loop nest and the C side by side where there is room."""

    CSS = """
    VerticalScroll { padding: 0 1; }
    TabPane Horizontal > VerticalScroll { width: 1fr; }
    .narrow TabPane Horizontal { layout: vertical; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        ("q", "quit", "leave"),
        ("right,l", "turn(1)", "next"),
        ("left,h", "turn(-1)", "previous"),
    ]

    def __init__(self, name: str, sections: list[Section]) -> None:
        super().__init__()
        self.title = name
        self._sections = sections

    def compose(self) -> ComposeResult:
        """A tab per section, the loop nest with its C in the first."""
        both = [s for s in self._sections if s.title in {"plan", "C"}]
        others = [s for s in self._sections if s not in both]
        with TabbedContent():
            with TabPane("plan and C", id="both"), Horizontal():
                for section in both:
                    with VerticalScroll():
                        yield Static(section.coloured(), id=f"{section.title}-text")
            for section in others:
                with TabPane(section.title, id=section.title), VerticalScroll():
                    yield Static(section.coloured(), id=f"{section.title}-text")
        yield Footer()

    def on_resize(self) -> None:
        """Side by side needs room: else one above the other."""
        self.set_class(self.size.width < 110, "narrow")

    def action_turn(self, step: int) -> None:
        """The next or the previous tab."""
        tabs = self.query_one(TabbedContent)
        names = ["both", *(s.title for s in self._sections if s.title not in {"plan", "C"})]
        tabs.active = names[(names.index(tabs.active) + step) % len(names)]


def walk(name: str, sections: list[Section]) -> None:
    """Show the sections until the user leaves."""
    Viewer(name, sections).run()
