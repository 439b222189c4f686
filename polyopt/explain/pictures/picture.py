"""Pictures of plain shapes: as self-contained SVG text, or drawn by matplotlib.

Colours are those of Okabe and Ito, told apart by colour-blind people; overlap is also hatched,
so that nothing rests on colour alone.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polyopt.errors import InvalidOptionError, MissingExtraError
from polyopt.escaping import markup as escape
from polyopt.extras import install_command
from polyopt.oneline import one_line, some

if TYPE_CHECKING:
    from collections.abc import Iterable

#: orange, sky blue, green, yellow, blue, vermilion, purple (M. Okabe and K. Ito, 2008)
PALETTE = ("#E69F00", "#56B4E9", "#009E73", "#F0E442", "#0072B2", "#D55E00", "#CC79A7")
INK, FAINT = "#222222", "#BBBBBB"
_CHAR = 0.6  # width of a character, in font sizes
_RIM = 3.0  # of text with a halo: half of it lies outside the letters


@dataclass(frozen=True)
class Rect:
    """A box; ``hatch`` draws slanted lines over it, ``title`` shows on hovering."""

    x: float
    y: float
    width: float
    height: float
    fill: str = "none"
    stroke: str = INK
    opacity: float = 1.0
    hatch: bool = False
    title: str = ""

    def moved(self, x: float, y: float) -> Rect:
        """The box elsewhere."""
        return replace(self, x=self.x + x, y=self.y + y)


@dataclass(frozen=True)
class Dot:
    """A filled circle."""

    x: float
    y: float
    radius: float
    fill: str
    title: str = ""

    def moved(self, x: float, y: float) -> Dot:
        """The circle elsewhere."""
        return replace(self, x=self.x + x, y=self.y + y)


@dataclass(frozen=True)
class Line:
    """A line, with an arrow head at its end if asked; ``title`` shows on hovering."""

    x1: float
    y1: float
    x2: float
    y2: float
    stroke: str = INK
    width: float = 1.0
    arrow: bool = False
    dashed: bool = False
    title: str = ""

    def moved(self, x: float, y: float) -> Line:
        """The line elsewhere."""
        return replace(self, x1=self.x1 + x, y1=self.y1 + y, x2=self.x2 + x, y2=self.y2 + y)


@dataclass(frozen=True)
class Text:
    """Text at its baseline; ``anchor`` is ``start``, ``middle`` or ``end``.

    ``halo`` is the colour of a rim, for text that lines may run through.
    """

    x: float
    y: float
    text: str
    size: float = 11.0
    anchor: str = "start"
    fill: str = INK
    halo: str = ""

    def moved(self, x: float, y: float) -> Text:
        """The text elsewhere."""
        return replace(self, x=self.x + x, y=self.y + y)


Shape = Rect | Dot | Line | Text


@dataclass(frozen=True)
class Picture:
    """Shapes in points, y downwards. Jupyter shows it; ``save`` writes SVG, PNG or PDF."""

    width: float
    height: float
    shapes: tuple[Shape, ...]
    #: what the picture shows, for those who cannot see it
    label: str

    def __repr__(self) -> str:
        """What it shows, and of how many shapes."""
        return one_line(self, self.label, some(len(self.shapes), "shape"))

    @property
    def svg(self) -> str:
        """The picture as one SVG element that needs nothing else."""
        size = f'width="{_n(self.width)}" height="{_n(self.height)}"'
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} '
            f'viewBox="0 0 {_n(self.width)} {_n(self.height)}" role="img" '
            f'font-family="sans-serif" style="background:#fff;max-width:100%;height:auto">'
            f"<title>{escape(self.label)}</title>{self.definitions}{self.body}</svg>"
        )

    @property
    def body(self) -> str:
        """The shapes alone, as SVG."""
        return "".join(map(_svg, self.shapes))

    @property
    def definitions(self) -> str:
        """What shapes refer to: the hatching and the arrow's head."""
        return _definitions(self.shapes)

    def _repr_html_(self) -> str:
        return self.svg

    def _repr_svg_(self) -> str:
        return self.svg

    def save(self, path: str | Path) -> Path:
        """Write the picture; the name's ending chooses SVG, PNG or PDF.

        Raises ``InvalidOptionError`` for another ending or a place that cannot be written,
        ``MissingExtraError`` where PNG or PDF needs matplotlib and it is not installed.
        """
        where = Path(path)
        if where.suffix not in {".svg", ".png", ".pdf"}:
            message = f"pictures are saved as .svg, .png or .pdf, not as {where.suffix!r}"
            raise InvalidOptionError(message)
        try:
            if where.suffix == ".svg":
                where.write_text(self.svg, encoding="utf-8")
            else:
                self.figure().savefig(where, dpi=150)
        except OSError as error:
            message = f"{where} cannot be written: {error.strerror or error}"
            raise InvalidOptionError(message) from None
        return where

    def figure(self) -> Any:  # noqa: ANN401
        """The picture as a matplotlib figure, outside pyplot: nothing has to be closed.

        Raises ``MissingExtraError`` without matplotlib.
        """
        try:
            from matplotlib.figure import Figure
        except ImportError:
            message = "this needs matplotlib"
            hint = f"{install_command('demo')}, or use .svg"
            raise MissingExtraError(message, hint=hint) from None
        figure: Any = Figure(figsize=(self.width / 72, self.height / 72))
        axes: Any = figure.add_axes((0, 0, 1, 1))
        axes.set_xlim(0, self.width)
        axes.set_ylim(self.height, 0)
        axes.axis("off")
        for shape in self.shapes:
            _draw(axes, shape)
        return figure


def _n(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def _definitions(shapes: Iterable[Shape]) -> str:
    found = list(shapes)
    parts: list[str] = []
    if any(isinstance(s, Rect) and s.hatch for s in found):
        parts.append(
            '<pattern id="po-hatch" width="5" height="5" patternUnits="userSpaceOnUse" '
            f'patternTransform="rotate(45)"><line x1="0" y1="0" x2="0" y2="5" stroke="{INK}" '
            'stroke-width="1.4" stroke-opacity="0.55"/></pattern>'
        )
    if any(isinstance(s, Line) and s.arrow for s in found):
        parts.append(
            '<marker id="po-arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="6" '
            'markerHeight="6" orient="auto"><path d="M0 0L8 4L0 8z" fill="context-stroke"/>'
            "</marker>"
        )
    return f"<defs>{''.join(parts)}</defs>" if parts else ""


def _svg(shape: Shape) -> str:
    match shape:
        case Rect():
            box = (
                f'x="{_n(shape.x)}" y="{_n(shape.y)}" width="{_n(shape.width)}" '
                f'height="{_n(shape.height)}"'
            )
            title = f"<title>{escape(shape.title)}</title>" if shape.title else ""
            drawn = (
                f'<rect {box} fill="{shape.fill}" fill-opacity="{shape.opacity:g}" '
                f'stroke="{shape.stroke}">{title}</rect>'
            )
            return drawn + (f'<rect {box} fill="url(#po-hatch)"/>' if shape.hatch else "")
        case Dot():
            title = f"<title>{escape(shape.title)}</title>" if shape.title else ""
            return (
                f'<circle cx="{_n(shape.x)}" cy="{_n(shape.y)}" r="{_n(shape.radius)}" '
                f'fill="{shape.fill}">{title}</circle>'
            )
        case Line():
            extra = ' marker-end="url(#po-arrow)"' if shape.arrow else ""
            extra += ' stroke-dasharray="3 3"' if shape.dashed else ""
            drawn = (
                f'<line x1="{_n(shape.x1)}" y1="{_n(shape.y1)}" x2="{_n(shape.x2)}" '
                f'y2="{_n(shape.y2)}" stroke="{shape.stroke}" stroke-width="{_n(shape.width)}"'
                f"{extra}"
            )
            title = f"><title>{escape(shape.title)}</title></line>" if shape.title else "/>"
            return drawn + title
        case Text():
            rim = (
                f' stroke="{shape.halo}" stroke-width="{_RIM:g}" stroke-linejoin="round" '
                'paint-order="stroke"' if shape.halo else ""
            )  # fmt: skip
            return (
                f'<text x="{_n(shape.x)}" y="{_n(shape.y)}" font-size="{_n(shape.size)}" '
                f'text-anchor="{shape.anchor}" fill="{shape.fill}"{rim}>{escape(shape.text)}</text>'
            )


def _draw(axes: Any, shape: Shape) -> None:  # noqa: ANN401
    from matplotlib.patches import Circle, Rectangle

    match shape:
        case Rect():
            face = "none" if shape.fill == "none" else shape.fill
            place = (shape.x, shape.y), shape.width, shape.height
            edge = shape.stroke
            axes.add_patch(Rectangle(*place, facecolor=face, alpha=shape.opacity, linewidth=0))
            hatch = "////" if shape.hatch else None
            axes.add_patch(
                Rectangle(*place, fill=False, edgecolor=edge, hatch=hatch, linewidth=0.8)
            )
        case Dot():
            axes.add_patch(Circle((shape.x, shape.y), shape.radius, color=shape.fill))
        case Line():
            style = "dashed" if shape.dashed else "solid"
            arrow = {
                "arrowstyle": "-|>" if shape.arrow else "-", "color": shape.stroke,
                "linewidth": shape.width, "linestyle": style, "shrinkA": 0, "shrinkB": 0,
            }  # fmt: skip
            ends = (shape.x2, shape.y2), (shape.x1, shape.y1)
            axes.annotate("", *ends, arrowprops=arrow)
        case Text():
            _write(axes, shape)


def _write(axes: Any, shape: Text) -> None:  # noqa: ANN401
    from matplotlib.patheffects import withStroke

    side = {"start": "left", "middle": "center", "end": "right"}[shape.anchor]
    written = axes.text(shape.x, shape.y, shape.text, fontsize=shape.size * 0.8, ha=side,
                        color=shape.fill, parse_math=False)  # fmt: skip
    if shape.halo:
        written.set_path_effects([withStroke(linewidth=_RIM, foreground=shape.halo)])


def text_width(text: str, size: float = 11.0) -> float:
    """About how wide a text is."""
    return _CHAR * size * len(text)
