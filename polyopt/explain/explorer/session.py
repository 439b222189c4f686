"""The explorer: moves on a plan by hand, each proven before it is shown."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polyopt.codegen.target import target as find_target
from polyopt.errors import InvalidOptionError, UserError
from polyopt.explain.choices.placements import PLACES, lay_out, layout_of, place_of
from polyopt.explain.explorer.cache_simulator import check_caches
from polyopt.explain.explorer.calls import read_call
from polyopt.explain.explorer.candidates import candidates, subjects
from polyopt.explain.explorer.drawn import drawn_sizes, small_witnesses
from polyopt.explain.explorer.history import Entry, History
from polyopt.explain.explorer.page import static_html, whole_page
from polyopt.explain.explorer.snapshot import Sizes, plan_data, program_data, refusal_data
from polyopt.scheduler.model.parameters import assumed_sizes
from polyopt.transform.schedule.query import unknown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from polyopt.explain.choices.placements import Layout
    from polyopt.explain.explorer.cache_simulator import CacheLevel
    from polyopt.runtime.measuring.repeat import Timing
    from polyopt.transform.plan import Plan
    from polyopt.transform.schedule.move import Move

    Json = dict[str, Any]


class Explorer:
    """A session on one program: ``plan`` is the plan that is shown, proven.

    All that the panel does is a method too: ``apply("tile('out', y=4, x=4)")``, ``undo()``,
    ``set(bx="scratch")``, ``measure()``. Jupyter, VS Code and marimo show the panel; ``save``
    writes it as a page that needs no Python.
    """

    def __init__(
        self,
        plan: Plan,
        sizes: Mapping[str, int] | None = None,
        *,
        drawn: Mapping[str, int] | None = None,
        caches: Sequence[CacheLevel] | None = None,
    ) -> None:
        levels = () if caches is None else check_caches(caches)
        real = assumed_sizes(plan.scop, sizes)
        self.sizes = Sizes(drawn_sizes(plan.source, drawn), real, levels)
        self.program = program_data(plan, self.sizes)
        label = "the source" if not plan.moves else f"{len(plan.moves)} moves"
        self.history = History((self._entry(plan, label),))
        #: what was refused last, and which move it was; nothing after a move that is legal
        self.refusal: Json | None = None
        self._choices: dict[tuple[int, str], Json] = {}
        self._panel: Any = None

    def __repr__(self) -> str:
        """The program, and how many moves its plan has."""
        entries = len(self.history.entries)
        return f"<Explorer of {self.plan.scop.name}: {entries} plans; a panel in Jupyter>"

    @property
    def plan(self) -> Plan:
        """The plan that is shown."""
        return self.history.shown.plan

    @property
    def script(self) -> str:
        """The calls that make the plan that is shown, as Python."""
        return self.plan.script

    # -- moves --------------------------------------------------------------------------------

    def apply(self, move: str) -> Plan:
        """Make a move as people type it: ``apply("interchange('A.i', 'A.j')")``.

        Raises what the move raises; the panel then shows why, and the plan that it showed before.
        """
        call = read_call(move)
        return self._take(move, lambda: self._replayed(call), call)

    def _replayed(self, move: Move) -> Plan:
        return self.plan.replay(move.name, move.args, dict(move.options))

    def _refused(self, error: UserError, move: Move | None) -> Json:
        return refusal_data(error, () if move is None else small_witnesses(self.plan, move))

    def set(self, *, rows: int = 0, columns: int = 0, strip: int = -1, **places: str) -> Plan:
        """A plan made anew with producers at other places, in tiles and strips of other sizes.

        Raises ``UnknownNameError`` and ``InvalidOptionError`` for what is no producer or place,
        and what the proof raises; the panel then shows what it showed before.
        """
        layout = layout_of(self.plan)
        for name, place in places.items():
            layout = _placed(layout, name, place)
        tile = rows or layout.tile[0], columns or layout.tile[1]
        layout = replace(layout, tile=tile, strip=layout.strip if strip < 0 else strip)
        parts = [f"{n}: {p}" for n, p in places.items()]
        parts += [f"{n} {v}" for n, v in (("rows", rows), ("columns", columns)) if v]
        parts += [f"strip {strip}"] if strip >= 0 else []
        return self._take(", ".join(parts), lambda: self._laid(layout, places))

    def place(self, producer: str, place: str) -> Plan:
        """A plan made anew with one producer elsewhere: what ``set`` does, by name."""
        layout = _placed(layout_of(self.plan), producer, place)
        return self._take(f"{producer}: {place}", lambda: self._laid(layout, [producer]))

    def _laid(self, layout: Layout, moved: Iterable[str]) -> Plan:
        """The plan of a layout, proven. Raises why a producer that was moved is not there."""
        machine = find_target("native")
        laid = lay_out(self.plan.source, layout, self.sizes.real, machine)
        for name in moved:
            if name in laid.elsewhere:
                raise laid.elsewhere[name]
        laid.plan.prove()
        return laid.plan

    def _take(self, label: str, make: Callable[[], Plan], move: Move | None = None) -> Plan:
        try:
            plan = make()
            entry = self._entry(plan, label)
        except UserError as error:
            self.refusal = self._refused(error, move) | {"move": label}
            self._tell()
            raise
        self.refusal = None
        self._choices = {k: v for k, v in self._choices.items() if k[0] <= self.history.at}
        self.history = self.history.then(entry)
        self._tell()
        return plan

    def _entry(self, plan: Plan, label: str) -> Entry:
        return Entry(plan, label, plan_data(plan, self.sizes))

    def undo(self) -> Plan:
        """The plan before the last move. The first one stays."""
        return self.go(self.history.at - 1)

    def redo(self) -> Plan:
        """The plan that was undone last; the same where none was."""
        return self.go(self.history.at + 1)

    def go(self, step: int) -> Plan:
        """The plan after so many moves of the session."""
        self.history = self.history.moved(step)
        self.refusal = None
        self._tell()
        return self.plan

    def measure(self, seconds: float = 0.3) -> Timing:
        """Compile the plan and time it on random arrays of the real sizes; kept in the history.

        Raises what compiling raises.
        """
        from polyopt.runtime.samples import random_inputs

        kernel = self.plan.compile()
        values: dict[str, Any] = dict(random_inputs(kernel, self.sizes.real, 0))
        values |= {n: v for n, v in self.sizes.real.items() if n in kernel.positional}
        timing = kernel.benchmark(seconds=seconds, **values)
        self.history = self.history.timed(timing.median_ms)
        self._tell()
        return timing

    # -- what there is to choose --------------------------------------------------------------

    def choices(self, subject: str) -> Json:
        """Every move proposed at a loop or for a producer, tried: legal, or why not.

        Of a producer also each place that it may have, or why it may not. Raises
        ``UnknownNameError`` for what is neither.
        """
        key = self.history.at, subject
        if key not in self._choices:
            moves = [self._tried(move) for move in candidates(self.plan, subject)]
            is_producer = subject in self.program["producers"]
            places = [self._tried_at(subject, p) for p in PLACES] if is_producer else []
            self._choices[key] = {"moves": moves, "places": places}
        return self._choices[key]

    def _tried(self, move: Move) -> Json:
        told: Json = {"move": str(move)[1:]}
        try:
            self._replayed(move)
        except UserError as error:
            return told | {"refused": self._refused(error, move)}
        return told

    def _tried_at(self, producer: str, place: str) -> Json:
        here = place_of(self.plan.program, producer) == place
        told: Json = {"place": place, "means": PLACES[place], "here": here}
        try:
            if not here:
                self._laid(layout_of(self.plan).with_place(producer, place), [producer])
        except UserError as error:
            return told | {"refused": refusal_data(error)}
        return told

    # -- what is seen -------------------------------------------------------------------------

    def state(self) -> Json:
        """The history and the last refusal: what changes with every move, as data for JSON."""
        return {
            "at": self.history.at,
            "entries": [{"label": e.label, "times": list(e.times), "script": e.plan.script}
                        for e in self.history.entries],
            "refusal": self.refusal,
            "choices": {f"{at}/{name}": found for (at, name), found in self._choices.items()},
        }  # fmt: skip

    def snapshot(self, *, every: bool = False) -> Json:
        """All that a browser needs, as data for JSON; with ``every`` all moves are tried."""
        for subject in subjects(self.plan) if every else ():
            self.choices(subject)
        plans = {str(n): dict(e.data) for n, e in enumerate(self.history.entries)}
        return {"program": self.program, "state": self.state(), "plans": plans}

    def static(self) -> str:
        """The panel as HTML that needs no Python: history, refusals and animations work."""
        return static_html(self.plan, self.snapshot())

    def save(self, path: str | Path) -> Path:
        """Write the panel as a page of its own, with what each move at this plan would do.

        Raises ``InvalidOptionError`` where it cannot be written.
        """
        where = Path(path)
        page = whole_page(self.plan, self.snapshot(every=True))
        try:
            where.write_text(page, encoding="utf-8")
        except OSError as error:
            message = f"{where} cannot be written: {error.strerror or error}"
            raise InvalidOptionError(message) from None
        return where

    # -- the panel ----------------------------------------------------------------------------

    def panel(self) -> Any:  # noqa: ANN401 - anywidget has no types
        """The panel as a widget. Raises ``MissingExtraError`` without anywidget."""
        if self._panel is None:
            from polyopt.explain.explorer.widget import widget

            self._panel = widget(self)
        return self._panel

    def answer(self, request: Json) -> Json:
        """What the panel asks for, done; what it has to be told beside the state.

        Mistakes are told, not raised: the one who asks sits in front of a browser.
        """
        subject = str(request.get("subject", ""))
        try:
            match request.get("action"):
                case "move":
                    self.apply(str(request.get("move", "")))
                case "undo":
                    self.undo()
                case "redo":
                    self.redo()
                case "go":
                    self.go(int(request.get("step", 0)))
                case "place":
                    self.place(subject, str(request.get("place", "")))
                case "choices":
                    self.choices(subject)
                case "measure":
                    return {"said": f"measured: {self.measure()}"}
                case _:
                    return {"said": "the panel asks for something unknown"}
        except UserError as error:
            return {"said": str(error)}
        return {}

    def _tell(self) -> None:
        if self._panel is not None:
            from polyopt.explain.explorer.widget import show

            show(self._panel, self)

    def _ipython_display_(self) -> None:
        """Show the panel, and what it shows for pages that no kernel runs behind.

        Where a kernel runs, that second part is hidden.
        """
        from IPython import display

        jupyter: Any = display  # it has no types
        jupyter.display(self.panel())
        jupyter.display(jupyter.HTML(self.static()))

    def _display_(self) -> Any:  # noqa: ANN401
        """What marimo shows."""
        return self.panel()


def _placed(layout: Layout, producer: str, place: str) -> Layout:
    """The layout with a producer elsewhere. Raises ``UnknownNameError``, ``InvalidOptionError``."""
    if producer not in layout.places:
        raise unknown("producer", producer, layout.places)
    if place not in PLACES:
        message = f"a producer cannot be put {place!r}"
        raise InvalidOptionError(message, hint="places are: " + ", ".join(PLACES))
    return layout.with_place(producer, place)


def explore(
    plan: Plan,
    sizes: Mapping[str, int] | None = None,
    *,
    drawn: Mapping[str, int] | None = None,
    caches: Sequence[CacheLevel] | None = None,
) -> Explorer:
    """The explorer of a plan. The panel itself needs anywidget, a page does not.

    Raises ``InvalidOptionError`` for sizes that the program does not allow, and for no caches.
    """
    return Explorer(plan, sizes, drawn=drawn, caches=caches)
