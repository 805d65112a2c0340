"""What is seen in a picture, in words: measured maps, wavefronts and sectors, and lanes that do something."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kernel_page.bank_picture import Cells
from kernel_page.drawings import Who
from runner.kernel.access import BANKS
from runner.report.text import count, listed

ALL, LOWER = frozenset(range(32)), frozenset(range(16))
UPPER, EVEN = ALL - LOWER, frozenset(range(0, 32, 2))
"""Lanes of a warp."""


def moved(row: Mapping[str, Any]) -> str:
    """What a shuffle moved, as measured, in words."""
    got = [int(word) if word.isdecimal() else -1 for word in row["received"].split()]
    per_thread, width = int(row.get("per_thread", 1)), int(row.get("width", 32))
    noun, where = "lane", ""
    if per_thread > 1:
        noun, where = "element", f"{row['block']} lanes of {per_thread} elements; "
    pairs = [(i, source) for i, source in enumerate(got) if i < source]
    if pairs and all(0 <= source < len(got) and got[source] == i for i, source in enumerate(got)):
        kept = [i for i, source in enumerate(got) if i == source]
        told = listed([f"{i} with {source}" for i, source in pairs[:2]])
        rest = ", and so on" if len(pairs) > 2 else ""
        stay = f"; {numbers(noun, kept)} {'keeps its' if len(kept) == 1 else 'keep their'} own" if kept else ""
        return f"{where}{noun}s exchange in pairs, {told}{rest}{stay}"
    segments = [got[first : first + width] for first in range(0, len(got), width)]
    alike = [[source - number * width for source in own] for number, own in enumerate(segments)]
    if per_thread == 1 and len(segments) > 1 and all(own == alike[0] for own in alike):
        return f"in each segment of {width} lanes, {'; '.join(_runs(noun, alike[0]))}"
    return where + "; ".join(_runs(noun, got))


def _runs(noun: str, got: list[int]) -> Iterator[str]:
    """Neighbours that did the same: received from as far away, or all from one place."""
    start = 0
    while start < len(got):
        far = same = start + 1
        while far < len(got) and got[far] - far == got[start] - start:
            far += 1
        while same < len(got) and got[same] == got[start]:
            same += 1
        one_place = same > far and same - start > 2
        end = same if one_place else far
        who, distance, several = numbers(noun, list(range(start, end))), got[start] - start, end - start > 1
        if one_place:
            yield f"{who} receive from {noun} {got[start]}"
        elif distance:
            yield f"{who} receive{'' if several else 's'} from {abs(distance)} {'above' if distance > 0 else 'below'}"
        else:
            yield f"{who} {'keep their' if several else 'keeps its'} own"
        start = end


def numbers(noun: str, numbers: list[int]) -> str:
    """`lanes 0 to 3 and 16`."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    words = [f"{r[0]} to {r[-1]}" if len(r) > 2 else " and ".join(map(str, r)) for r in runs]
    return f"{noun}{'' if len(numbers) == 1 else 's'} {listed(words)}"


def served(rows: Sequence[Cells]) -> str:
    """What a bank picture shows of one request."""
    busy = [bank for bank in range(BANKS) if any(row[bank] for row in rows)]
    lanes = {len(cell) for row in rows for cell in row if cell}
    step = BANKS // len(busy)
    regular = len(busy) > 1 and busy == list(range(0, BANKS, step))
    which = numbers("bank", busy) if not regular else "every bank" if step == 1 else f"one bank in {step}"
    if lanes != {1}:
        return f"{which} serving {max(lanes)} lanes at once"
    idle = f", {count(BANKS - len(busy), 'bank')} idle" if len(busy) < BANKS else ""
    each = "one lane" if len(rows) == 1 else "one lane after the other"
    return f"{which} serving {each}{idle}"


def filled(sectors: Sequence[Cells]) -> str:
    """What a sector picture shows of one request."""
    asked = sorted({sum(bool(cell) for cell in cells) for cells in sectors})
    are = "is" if asked == [1] else "are"
    return f"of each sector's {len(sectors[0])} elements, {' or '.join(map(str, asked))} {are} asked for"


def who_does(title: str, panels: Sequence[tuple[str, Sequence[Who]]]) -> str:
    """What a picture of lanes that do something shows."""
    told = []
    for words, rows in panels:
        each = [f"{those_lanes(row.lanes)} {row.does}{_against(row)}" for row in rows]
        told.append(f"{words}: {'; '.join(each)}")
    return f"{title}. {'. '.join(told)}."


def _against(row: Who) -> str:
    if not row.bad:
        return ""
    those = "" if row.bad == row.lanes else f"{numbers('lane', sorted(row.bad))} "
    return f", {those}against the rule"


def those_lanes(lanes: frozenset[int]) -> str:
    """Lanes of a warp, as a sentence begins."""
    if lanes == ALL:
        return "each of the 32 lanes"
    for name, those in (("each even lane", EVEN), ("each odd lane", ALL - EVEN)):
        if lanes == those:
            return name
    return f"each of the {numbers('lane', sorted(lanes))}"
