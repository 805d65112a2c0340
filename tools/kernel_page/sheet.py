"""A sheet to draw on, written as plain SVG: boxes, lines, arrows, and text that stays text. Lengths are in inches."""

from __future__ import annotations

import html
import math
import textwrap

INK, PALE, BLUE, AMBER, CRIMSON = "#1c1c1e", "#6b6b70", "#0072b2", "#e69f00", "#b3123f"

EDGE = 0.12
"""Margin around a sheet."""

# How a shape of each look is drawn, as CSS. Looks that come later lie on top.
LOOKS = {
    "idle": "fill:#f1f1f2;stroke:#cfcfcf;stroke-width:.8",
    "own": "fill:#f1f1f2;stroke:#8f8f8f;stroke-width:.9",
    "grid": "fill:none;stroke:#d0d0d0;stroke-width:.6",
    "stays": "fill:none;stroke:#8f8f8f;stroke-width:1.1;stroke-dasharray:1.1 1.9",
    "loaded": "fill:none;stroke:#8f8f8f;stroke-width:1.1;marker-end:url(#grey)",
    "added": f"fill:none;stroke:{BLUE};stroke-width:1.3;marker-end:url(#blue)",
    "live": f"fill:#cfe4f3;stroke:{BLUE};stroke-width:.9",
    "halo": f"fill:#fbe8c8;stroke:{AMBER};stroke-width:.9;stroke-dasharray:3 1.5",
    "green": "fill:#cdeae0;stroke:#009e73;stroke-width:.9",
    "amber": f"fill:#f6e3c5;stroke:{AMBER};stroke-width:.9",
    "violet": "fill:#ded5ec;stroke:#7b5ea7;stroke-width:.9",
    "inner": "fill:none;stroke:#a9a9ad;stroke-width:.5",
    "bad": f"fill:#fff4f6;stroke:{CRIMSON};stroke-width:1.4;stroke-dasharray:2.5 1.5",
}
HEAD = (
    '<marker id="{}" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="6" markerHeight="6" markerUnits="userSpaceOnUse" '
    'orient="auto"><path d="M0 .8L8 4L0 7.2z" fill="{}"/></marker>'
)

Point = tuple[float, float]


class Sheet:
    """Gathers shapes and text. Shapes of one look become one path, text of one style one group, so files stay small."""

    def __init__(self) -> None:
        """Start empty."""
        self._shapes: dict[str, list[str]] = {}
        self._text: dict[tuple[float, str, str, bool], list[str]] = {}

    def box(self, corner: Point, wide: float, high: float, look: str) -> None:
        """Draw a rectangle by its upper left corner."""
        x, y = corner
        self._shapes.setdefault(look, []).append(f"M{_px(x)} {_px(y)}h{_px(wide)}v{_px(high)}h{_px(-wide)}z")

    def line(self, look: str, start: Point, end: Point) -> None:
        """Draw a line; the looks `added` and `loaded` have an arrow's head."""
        (x, y), (right, low) = start, end
        to = f"v{_px(low - y)}" if x == right else f"L{_px(right)} {_px(low)}"
        self._shapes.setdefault(look, []).append(f"M{_px(x)} {_px(y)}{to}")

    def words(
        self,
        at: Point,
        text: object,
        size: float = 8.5,
        *,
        anchor: str = "start",
        colour: str = INK,
        bold: bool = False,
    ) -> None:
        """Write text whose middle is at that height."""
        y = at[1] + 0.36 * size / 72
        style = (size, anchor, colour, bold)
        element = f'<text x="{_px(at[0])}" y="{_px(y)}">{html.escape(str(text), quote=False)}</text>'
        self._text.setdefault(style, []).append(element)

    def number(self, at: Point, text: object, size: float = 7.0, colour: str = INK) -> None:
        """Write a number by its middle."""
        self.words(at, text, size, anchor="middle", colour=colour)

    def heading(self, title: str, notes: str, wide: float) -> float:
        """Write a title and, in lines of that width, notes; returns where what follows may begin."""
        self.words((EDGE, 0.14), title, 12, bold=True)
        lines = textwrap.wrap(notes, int((wide - 2 * EDGE) * 14.5))
        for number, line in enumerate(lines):
            self.words((EDGE, 0.47 + 0.165 * number), line, colour=PALE)
        return 0.5 + 0.165 * len(lines)

    def svg(self, wide: float, tall: float) -> bytes:
        """What was drawn, on white."""
        width, height = math.ceil(72 * wide), math.ceil(72 * tall)
        looks = [look for look in LOOKS if look in self._shapes]
        style = "".join(f".{look}{{{LOOKS[look]}}}" for look in looks)
        heads = [
            HEAD.format(name, fill) for name, fill in (("grey", "#8f8f8f"), ("blue", BLUE)) if f"#{name})" in style
        ]
        box = f'width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
        parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" {box} font-family="DejaVu Sans,Verdana,sans-serif">',
            f"<defs><style>{style}</style>{''.join(heads)}</defs>",
            f'<rect width="{width}" height="{height}" fill="#fff"/>',
        ]
        for look in looks:
            shapes = self._shapes[look]
            # A marker is drawn at the end of a whole path, so arrows have a path each.
            paths = shapes if "marker" in LOOKS[look] else ["".join(shapes)]
            parts += [f'<path class="{look}" d="{path}"/>' for path in paths]
        for (size, anchor, colour, bold), elements in self._text.items():
            weight = ' font-weight="bold"' if bold else ""
            parts.append(f'<g font-size="{size:g}" text-anchor="{anchor}" fill="{colour}"{weight}>')
            parts += ["".join(elements), "</g>"]
        return ("\n".join([*parts, "</svg>"]) + "\n").encode()


def _px(inches: float) -> str:
    return f"{72 * inches:.1f}".removesuffix(".0")
