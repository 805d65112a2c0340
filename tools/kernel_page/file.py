"""A picture as it lies in docs/pictures."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Picture:
    """A picture.

    Attributes:
        stem: The file's name without its ending.
        svg: What the file holds.
        alt: What is seen, in words.
    """

    stem: str
    svg: bytes
    alt: str


def picture(stem: str, svg: bytes, alt: str) -> Picture:
    """A picture."""
    return Picture(stem, svg, alt)
