"""A sheet to draw on, written as plain SVG: boxes, lines, and text that stays text. Lengths are in inches."""

from __future__ import annotations

import html
import math
import textwrap

INK, PALE = "#1c1c1e", "#6b6b70"

EDGE = 0.12
"""Margin around a sheet."""

# The CSS of each look. Later looks lie on top.
LOOKS = {
    "idle": "fill:#f1f1f2;stroke:#cfcfcf;stroke-width:.8",
    "grid": "fill:none;stroke:#d0d0d0;stroke-width:.6",
    "live": "fill:#cfe4f3;stroke:#0072b2;stroke-width:.9",
}

Point = tuple[float, float]


class Sheet:
    """Collects shapes and text. One path per look and one group per text style keep the file small."""

    def __init__(self) -> None:
        self._shapes: dict[str, list[str]] = {}
        self._text: dict[tuple[float, str, str, bool], list[str]] = {}

    def box(self, corner: Point, wide: float, high: float, look: str) -> None:
        """Draw a rectangle, given its upper left corner."""
        x, y = corner
        self._shapes.setdefault(look, []).append(f"M{_px(x)} {_px(y)}h{_px(wide)}v{_px(high)}h{_px(-wide)}z")

    def line(self, start: Point, high: float) -> None:
        """Draw a vertical line of a grid."""
        self._shapes.setdefault("grid", []).append(f"M{_px(start[0])} {_px(start[1])}v{_px(high)}")

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
        """Write text, vertically centred at a point."""
        element = (
            f'<text x="{_px(at[0])}" y="{_px(at[1] + 0.36 * size / 72)}">{html.escape(str(text), quote=False)}</text>'
        )
        self._text.setdefault((size, anchor, colour, bold), []).append(element)

    def number(self, at: Point, text: object, size: float = 7.0, colour: str = INK) -> None:
        """Write a number, centred at a point."""
        self.words(at, text, size, anchor="middle", colour=colour)

    def heading(self, title: str, notes: str, wide: float) -> float:
        """Write a title and, wrapped to a width, notes; returns the y where the drawing may begin."""
        self.words((EDGE, 0.14), title, 12, bold=True)
        lines = textwrap.wrap(notes, int((wide - 2 * EDGE) * 14.5))
        for number, line in enumerate(lines):
            self.words((EDGE, 0.47 + 0.165 * number), line, colour=PALE)
        return 0.5 + 0.165 * len(lines)

    def svg(self, wide: float, tall: float) -> bytes:
        """The drawing on white."""
        width, height = math.ceil(72 * wide), math.ceil(72 * tall)
        looks = [look for look in LOOKS if look in self._shapes]
        style = "".join(f".{look}{{{LOOKS[look]}}}" for look in looks)
        box = f'width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
        parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" {box} font-family="DejaVu Sans,Verdana,sans-serif">',
            f"<defs><style>{style}</style></defs>",
            f'<rect width="{width}" height="{height}" fill="#fff"/>',
        ]
        parts += [f'<path class="{look}" d="{"".join(self._shapes[look])}"/>' for look in looks]
        for (size, anchor, colour, bold), elements in self._text.items():
            weight = ' font-weight="bold"' if bold else ""
            parts.append(f'<g font-size="{size:g}" text-anchor="{anchor}" fill="{colour}"{weight}>')
            parts += ["".join(elements), "</g>"]
        return ("\n".join([*parts, "</svg>"]) + "\n").encode()


def _px(inches: float) -> str:
    return f"{72 * inches:.1f}".removesuffix(".0")
