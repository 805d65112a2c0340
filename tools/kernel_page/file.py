"""A picture as it lies in docs/pictures."""

from __future__ import annotations

import itertools
import re
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
    """A picture, made smaller."""
    return Picture(stem, compact(svg), alt)


def compact(svg: bytes) -> bytes:
    """The same picture in fewer bytes: matplotlib writes comments, metadata, long names and many digits."""
    text = re.sub(r"<!--.*?-->|<metadata>.*?</metadata>", "", svg.decode(), flags=re.DOTALL)
    text = re.sub(r"-?\d+\.\d{3,}", lambda m: f"{float(m[0]):.3f}".rstrip("0").rstrip("."), text)
    text = re.sub(r"\s*\n\s*", "\n", text)
    text = re.sub(r' d="([^"]*)"', lambda m: f' d="{_path(m[1])}"', text)
    text = re.sub(r'transform="translate\(([-\d.]+) 0\)"/>', r'x="\1"/>', text)  # of a letter
    text = text.replace("xlink:href", "href")
    named = dict.fromkeys(re.findall(r'(?:href="|url\()#([\w-]+)', text))
    short = {name: f"i{number}" for number, name in enumerate(named)}
    text = re.sub(r' id="([\w-]+)"', lambda m: f' id="{short[m[1]]}"' if m[1] in short else "", text)
    text = re.sub(r'(href="|url\()#([\w-]+)', lambda m: f"{m[1]}#{short[m[2]]}", text)
    return re.sub(r'(?:<use [^>]*? style="[^"]*"/>\n)+', lambda m: _grouped(m[0]), text).encode()


def _path(data: str) -> str:
    """A path, with lines along an axis said shortly."""
    written, at = [], ["", ""]
    for command, numbers in re.findall(r"([A-Za-z])([^A-Za-z]*)", data):
        to = numbers.split()
        if command == "L" and to[1] == at[1]:
            written.append(f"H{to[0]}")
        elif command == "L" and to[0] == at[0]:
            written.append(f"V{to[1]}")
        else:
            written.append(f"{command}{' '.join(to)}")
        at = to[-2:] or at
    return "".join(written)


def _grouped(uses: str) -> str:
    """Neighbours of one style, with the style said once."""
    found = re.findall(r'<use ([^>]*?) style="([^"]*)"/>', uses)
    groups = itertools.groupby(found, key=lambda use: use[1])
    return "".join(f'<g style="{style}">{"".join(f"<use {at}/>" for at, _ in own)}</g>\n' for style, own in groups)
