"""A panel for Jupyter: where producers are computed and how large tiles are, by hand.

Each change makes and proves a plan; the loop nest, the bill and the tiles follow. A place that is
refused is taken back, and the refusal shown.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polyopt.codegen.target import target as find_target
from polyopt.errors import InvalidOptionError, MissingExtraError, UserError
from polyopt.escaping import markup as escape
from polyopt.explain.choices.placements import PLACES, lay_out, layout_of, place_of
from polyopt.explain.jupyter import code, cost_html
from polyopt.explain.pictures.draw import draw_tiles, draw_tree
from polyopt.explain.pictures.windows import draw_windows
from polyopt.extras import install_command
from polyopt.scheduler.model.cache import array_bytes
from polyopt.scheduler.model.cost import cost
from polyopt.scheduler.model.parameters import assumed_sizes
from polyopt.transform.schedule.query import unknown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from polyopt.explain.choices.placements import Layout
    from polyopt.transform.plan import Plan

#: producers that get a control of their own: those with the largest arrays
MOST_CONTROLS = 12
_ROWS, _COLUMNS = (4, 8, 16, 32, 64, 128), (32, 64, 128, 256, 512, 1024)
_STRIPS = (0, 16, 32, 64, 128, 256, 512)
#: where widgets are alive: JupyterLab, and notebooks of version 7, and 6
LIVE = (".jp-NotebookPanel", ".notebook_app")


class Explorer:
    """The panel of one program; ``plan`` is what it shows now, proven.

    ``set(bx="scratch", rows=16)`` does what the controls do.
    """

    def __init__(self, plan: Plan, sizes: Mapping[str, int] | None = None) -> None:
        self.plan = plan
        self.sizes = assumed_sizes(plan.scop, sizes)
        self.layout = layout_of(plan)
        self.refusal = ""
        self._machine = find_target("native")
        self._panel: Any = None
        self._views: dict[str, Any] = {}

    def set(self, *, rows: int = 0, columns: int = 0, strip: int = -1, **places: str) -> Plan:
        """The plan with producers at other places, in tiles and strips of other sizes.

        Raises ``UnknownNameError`` and ``InvalidOptionError`` for what is no producer or place,
        and what the proof raises; the panel then shows what it showed before.
        """
        wanted = self.layout
        for name, place in places.items():
            if name not in wanted.places:
                raise unknown("producer", name, wanted.places)
            if place not in PLACES:
                message = f"a producer cannot be put {place!r}"
                raise InvalidOptionError(message, hint="places are: " + ", ".join(PLACES))
            wanted = wanted.with_place(name, place)
        tile = rows or wanted.tile[0], columns or wanted.tile[1]
        strip = wanted.strip if strip < 0 else strip
        return self._take(replace(wanted, tile=tile, strip=strip))

    def _take(self, layout: Layout) -> Plan:
        laid = lay_out(self.plan.scop, layout, self.sizes, self._machine)
        moved = [n for n, p in layout.places.items() if p != self.layout.places[n]]
        for name in moved:
            if name in laid.elsewhere:
                raise laid.elsewhere[name]
        laid.plan.prove()
        self.plan, self.layout = laid.plan, layout
        return laid.plan

    def __repr__(self) -> str:
        """Where producers are; the panel itself is for Jupyter."""
        places = ", ".join(f"{n} {place_of(self.plan.program, n)}" for n in self.layout.places)
        return f"<Explorer of {self.plan.scop.name}: {places}; a panel in Jupyter>"

    # -- what is seen -------------------------------------------------------------------------

    def nest(self) -> str:
        """The loop nest, as HTML."""
        return draw_tree(self.plan).svg

    def bill(self) -> str:
        """The bill, as HTML."""
        return cost_html(cost(self.plan.program, self.sizes, self._machine))

    def tiles(self) -> str:
        """The tiles of the last result; what each stage keeps where windows slide; as SVG."""
        if any(scratch.is_folded for scratch in self.plan.program.scratches):
            return draw_windows(self.plan, self.sizes).svg
        last = [n for n in self.plan.program.places if not self.plan.program.copies[n].outer]
        space = self.plan.program.copies[last[-1]].statement.array
        try:
            return draw_tiles(self.plan, space).svg
        except UserError:
            return draw_windows(self.plan, self.sizes).svg

    def static(self) -> str:
        """All of it as HTML without scripts: what a page shows where no Jupyter runs."""
        places = ", ".join(f"{n}: {place_of(self.plan.program, n)}" for n in self.layout.places)
        return f"<div>{escape(places)}</div>{self.nest()}{self.bill()}{self.tiles()}"

    def save(self, path: str | Path) -> Path:
        """Write what the panel shows as a page of its own, without scripts.

        Raises ``InvalidOptionError`` where it cannot be written.
        """
        where = Path(path)
        page = f'<!doctype html><meta charset="utf-8"><title>{self.plan.scop.name}</title>'
        try:
            where.write_text(page + self.static(), encoding="utf-8")
        except OSError as error:
            message = f"{where} cannot be written: {error.strerror or error}"
            raise InvalidOptionError(message) from None
        return where

    def measure(self, seconds: float = 0.3) -> str:
        """Compile the plan and time it on random arrays of the panel's sizes; a line of text."""
        from polyopt.runtime.samples import random_inputs

        kernel = self.plan.compile()
        values: dict[str, Any] = dict(random_inputs(kernel, self.sizes, 0))
        values |= {n: v for n, v in self.sizes.items() if n in kernel.positional}
        return str(kernel.benchmark(seconds=seconds, **values))

    # -- the panel ----------------------------------------------------------------------------

    def panel(self) -> Any:  # noqa: ANN401 - ipywidgets has no types
        """The controls and views. Raises ``MissingExtraError`` without ipywidgets."""
        if self._panel is None:
            self._panel = self._built()
        return self._panel

    def _built(self) -> Any:  # noqa: ANN401
        try:
            import ipywidgets as widgets
        except ImportError:
            message = "the explorer needs ipywidgets"
            hint = install_command("jupyter")
            raise MissingExtraError(message, hint=hint) from None
        w: Any = widgets
        controls = [
            w.Dropdown(options=list(PLACES), value=self.layout.places[name], description=name)
            for name in self._largest()
        ]
        for control in controls:
            control.observe(self._changed, "value")
        sliders = {
            "rows": (_ROWS, self.layout.tile[0]), "columns": (_COLUMNS, self.layout.tile[1]),
            "strip": (_STRIPS, self.layout.strip),
        }  # fmt: skip
        for name, (options, value) in sliders.items():
            start = min(options, key=lambda option, value=value: abs(option - value))
            slider = w.SelectionSlider(options=options, value=start, description=name,
                                       continuous_update=False)  # fmt: skip
            slider.observe(self._changed, "value")
            controls.append(slider)
        button = w.Button(description="measure", tooltip="compile and time this plan")
        button.on_click(self._timed)
        self._views = {name: w.HTML() for name in ("nest", "bill", "tiles", "said")}
        self._show()
        left = w.VBox([*controls, button, self._views["said"]])
        right = w.VBox([self._views["nest"], self._views["bill"], self._views["tiles"]])
        return w.HBox([left, right])

    def _largest(self) -> list[str]:
        arrays = sorted(
            self.layout.places, key=lambda n: -array_bytes(self.plan.scop.array(n), self.sizes)
        )
        return [n for n in self.layout.places if n in arrays[:MOST_CONTROLS]]

    def _changed(self, change: Any) -> None:  # noqa: ANN401 - what ipywidgets tells
        try:
            self.set(**{change["owner"].description: change["new"]})
            self.refusal = ""
        except UserError as error:
            self.refusal = str(error)
        self._show()

    def _show(self) -> None:
        self._views["nest"].value = self.nest()
        self._views["bill"].value = self.bill()
        self._views["tiles"].value = self.tiles()
        self._views["said"].value = code(self.refusal) if self.refusal else ""

    def _timed(self, _: object) -> None:
        self._views["said"].value = "measuring ..."
        try:
            self._views["said"].value = code(self.measure().replace(" (", "\n("))
        except UserError as error:
            self._views["said"].value = code(str(error))

    def _ipython_display_(self) -> None:
        """Show the panel, and what it shows as plain HTML, for pages that no kernel runs behind.

        Where Jupyter runs, that second part is hidden.
        """
        from IPython import display

        jupyter: Any = display  # it has no types
        jupyter.display(self.panel())
        hidden = ", ".join(f"{place} .polyopt-static" for place in LIVE)
        style = f"<style>{hidden} {{display: none}}</style>"
        jupyter.display(jupyter.HTML(f'{style}<div class="polyopt-static">{self.static()}</div>'))


def explore(plan: Plan, sizes: Mapping[str, int] | None = None) -> Explorer:
    """The panel for a plan. Raises ``MissingExtraError`` without ipywidgets."""
    explorer = Explorer(plan, sizes)
    explorer.panel()
    return explorer
