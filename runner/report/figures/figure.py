"""A drawn figure, as the page takes it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Drawn:
    """A drawn figure."""

    section: str
    stem: str
    title: str
    caption: str
    svg: bytes
    picture: Any

    @property
    def files(self) -> dict[str, bytes]:
        """The content of each file, by its ending."""
        return {"svg": self.svg, "png": self.picture.png, "csv": self.picture.csv}
