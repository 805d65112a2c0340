"""Many small numbers in a picture: each digit is one path, used wherever it stands, which keeps the file small."""

from __future__ import annotations

from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.collections import PathCollection
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import TextPath
from matplotlib.transforms import Affine2D


@dataclass(frozen=True)
class Number:
    """A number, the middle of its place in the axes' coordinates, and the name of its look."""

    text: str
    at: tuple[float, float]
    look: str


def write_numbers(
    figure: Figure, axes: Axes, numbers: list[Number], size: float, inks: dict[str, str], bold: str = ""
) -> None:
    """Write numbers into axes whose coordinates are inches.

    Args:
        figure: The figure of the axes.
        axes: Where they stand.
        numbers: What to write.
        size: Of the letters, in points.
        inks: The colour of each look.
        bold: The look that is bold.
    """
    places: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for one in numbers:
        step = (0.696 if one.look == bold else 0.636) * size / 72  # digits are all of one width
        for place, digit in enumerate(one.text):
            x = one.at[0] + (place - (len(one.text) - 1) / 2) * step
            places.setdefault((digit, one.look), []).append((rounded(x), rounded(one.at[1])))
    for (digit, look), at in places.items():
        weight = "bold" if look == bold else "normal"
        path = TextPath((0, 0), digit, size=size / 72, prop=FontProperties(family="DejaVu Sans", weight=weight))
        box = path.get_extents()
        middle = Affine2D().translate(-(box.x0 + box.x1) / 2, -0.365 * size / 72)
        axes.add_collection(
            PathCollection(
                [path.transformed(middle)],
                offsets=at,
                offset_transform=axes.transData,
                transform=figure.dpi_scale_trans,
                linewidths=0.0,
                facecolors=inks[look],
                zorder=6,
                clip_on=False,
            )
        )


def rounded(inches: float) -> float:
    """To a hundredth of a point, which keeps the file short."""
    return round(inches * 7200) / 7200
