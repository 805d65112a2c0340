"""An SVG in fewer bytes, as the page embeds every figure: matplotlib writes metadata, long names and many digits.

Texts stay in it as comments, so that a figure can be searched.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections import Counter

SVG, HREF = "http://www.w3.org/2000/svg", "{http://www.w3.org/1999/xlink}href"
INHERITED = frozenset(
    ("fill", "stroke", "stroke-width", "fill-opacity", "stroke-opacity", "stroke-linejoin", "stroke-linecap")
)
"""Properties that mean the same for a group as for each of its parts; an opacity, for one, does not."""

EVERYWHERE = "*{stroke-linejoin: round; stroke-linecap: butt}"
"""matplotlib's rule for every element, which would outdo what a group says; said for the whole figure, it does not."""

UNREADABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
"""What no XML may hold, not even in a comment."""

LETTER, COARSE = "scale(0.015625)", 16
"""How matplotlib draws a letter: on a grid of 1/6400 of its size, of which one of 1/400 cannot be told."""


def compact(svg: bytes) -> bytes:
    """The same picture, to a hundredth of a point, in less than half the bytes."""
    parser = ET.XMLParser(target=ET.TreeBuilder(insert_comments=True))  # noqa: S314 - matplotlib wrote it
    root = ET.fromstring(UNREADABLE.sub("\N{REPLACEMENT CHARACTER}", svg.decode()), parser)  # noqa: S314
    for part in root.findall(f"{{{SVG}}}metadata"):
        root.remove(part)
    for element in root.iter():
        element.tail = None
        if isinstance(element.tag, str):
            element.tag = element.tag.removeprefix(f"{{{SVG}}}")
            element.text = (element.text or "").strip()
            _shorten(element)
    _rename(root)
    _unwrap(root)
    _share(root)
    root.set("xmlns", SVG)
    text: str = ET.tostring(root, encoding="unicode")
    return text.replace('" />', '"/>').encode() + b"\n"


def _shorten(element: ET.Element) -> None:
    """Numbers, paths and places of an element, each in the fewest letters."""
    attributes = element.attrib
    if HREF in attributes:
        attributes["href"] = attributes.pop(HREF)
        placed = re.fullmatch(r"translate\(([-\d.]+) 0\)", attributes.get("transform", ""))  # a letter of a word
        if placed:
            attributes["x"] = f"{float(placed[1]):.0f}"  # in hundredths of the letters' size
            del attributes["transform"]
        attributes.update({name: _rounded(attributes[name], 1) for name in ("x", "y") if name in attributes})
    if "d" in attributes:
        if attributes.get("transform") == LETTER:
            attributes["transform"] = f"scale({COARSE * 0.015625:g})"
            attributes["d"] = _letter(attributes["d"])
        else:
            attributes["d"] = _path(attributes["d"])
    if "style" in attributes:
        attributes["style"] = attributes["style"].replace("; ", ";").replace(": ", ":")
    if attributes.get("transform", "").startswith("translate"):
        place, _, scale = attributes["transform"].partition(" scale")  # of which every digit counts
        attributes["transform"] = _rounded(place, 2) + (f" scale{scale}" if scale else "")


def _rounded(text: str, digits: int) -> str:
    return re.sub(r"-?\d+\.\d+", lambda m: f"{float(m[0]):.{digits}f}".rstrip("0").rstrip("."), text)


def _path(data: str) -> str:
    """A path without the spaces that say nothing, lines along an axis said shortly."""
    written, at = [], ["", ""]
    for command, numbers in re.findall(r"([A-Za-z])([^A-Za-z]*)", _rounded(data, 2)):
        to = numbers.split()
        if command == "L" and to[1] == at[1]:
            written.append(f"H{to[0]}")
        elif command == "L" and to[0] == at[0]:
            written.append(f"V{to[1]}")
        else:
            written.append(f"{command}{' '.join(to)}")
        at = to[-2:] or ["", ""]
    return "".join(written)


def _letter(data: str) -> str:
    """A letter on the coarser grid, each point told from the last one."""
    written, at, last = "", (0, 0), ""
    for command, numbers in re.findall(r"([MLQz])([^MLQz]*)", data):
        whole = [round(float(number) / COARSE) for number in numbers.split()]
        points = list(zip(whole[::2], whole[1::2], strict=True))
        steps = [str(to - of) for point in points for to, of in zip(point, at, strict=True)]
        if command == "M":
            start = points[0]
        at = points[-1] if points else start
        told = " ".join(steps) if command == last else command.lower() + " ".join(steps)
        written += told if not written or told[0] in "mlqz-" else f" {told}"
        last = command
    return written.replace(" -", "-")


def _rename(root: ET.Element) -> None:
    """Short ids for what is referred to, none for the rest."""
    short: dict[str, str] = {}
    for element in root.iter():
        for name, value in element.attrib.items():
            if found := re.search(r"#([\w-]+)", value if name == "href" or "url(" in value else ""):
                new = short.setdefault(found[1], f"i{len(short)}")
                element.attrib[name] = value.replace(f"#{found[1]}", f"#{new}")
    for element in root.iter():
        known = short.get(element.attrib.pop("id", ""))
        if known:
            element.set("id", known)


def _unwrap(parent: ET.Element) -> None:
    """Groups that say nothing give way to their parts; what all parts say, the group says once."""
    parts: list[ET.Element] = []
    for child in parent:
        _unwrap(child)
        parts += list(child) if child.tag == "g" and not child.attrib else [child]
    parent[:] = parts
    drawn = [part for part in parent if isinstance(part.tag, str) and part.tag != "defs"]
    styles = {part.get("style", "") for part in drawn}
    style = styles.pop() if len(styles) == 1 else ""
    names = {told.partition(":")[0] for told in style.split(";")}
    if parent.tag == "g" and "style" not in parent.attrib and len(drawn) > 1 and names <= INHERITED:
        parent.set("style", style)
        for part in drawn:
            part.attrib.pop("style", None)


def _share(root: ET.Element) -> None:
    """Styles that occur often become classes."""
    often = Counter(element.get("style") for element in root.iter())
    sheet = root.find("defs/style")
    if sheet is None or sheet.text != EVERYWHERE:
        return
    names = {style: f"s{n}" for n, style in enumerate(s for s, number in often.items() if s and number > 1)}
    sheet.text = "".join(f".{name}{{{style}}}" for style, name in names.items())
    root.set("style", EVERYWHERE[2:-1])
    for element in root.iter():
        if element.get("style") in names:
            element.set("class", names[element.attrib.pop("style")])
