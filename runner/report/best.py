"""The fastest case of each size, and what a sentence says of it. Pure: a frame in, words out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd

from runner.report.folder import section
from runner.report.ranking import Ranking, noise, rank
from runner.report.table import PEERS, records, timed, varying
from runner.report.text import absent, count, described, one_line, rough, size_of

NAMED = 6
"""Cases that a sentence names."""


@dataclass(frozen=True)
class Best:
    """The fastest case of one size among its peers.

    Attributes:
        ties: the case, and those that cannot be told from it.
        among: how many cases were compared.
    """

    ties: Ranking
    among: int

    @property
    def row(self) -> dict[str, Any]:
        """The case."""
        return self.ties.fastest


@dataclass(frozen=True)
class Told:
    """What is said of one group of comparable cases.

    Attributes:
        clause: the fastest at the largest size, for the middle of a sentence.
        level: by their names, those that cannot be told from it; empty where there are none.
    """

    clause: str
    level: str


def fastest(frame: pd.DataFrame) -> list[Best]:
    """The fastest case of every size within every group of peers, in the order of results.csv, sizes ascending."""
    right = timed(frame)
    known = frame.attrs.get("devices", {})
    of_device = {
        str(device): noise(records(rows), section(known, str(device))) for device, rows in right.groupby("device")
    }
    found = []
    for _, peers in right.groupby(PEERS, dropna=False, sort=False):
        for _, same_size in peers.groupby(["size", "rows", "cols"], dropna=False):
            rows = records(same_size)
            found.append(Best(rank(rows, of_device[str(rows[0]["device"])]), len(rows)))
    return found


def differing_peers(frame: pd.DataFrame) -> list[str]:
    """Those of the words that separate groups of peers that have more than one value among the timed cases."""
    right = timed(frame)
    return [name for name in PEERS if len(right[name].unique()) > 1]


def of_note(frame: pd.DataFrame) -> pd.DataFrame:
    """The cases without launches of a single block that only shuffles: it takes as long as any launch does."""
    telling = frame[(frame["shuffle"] == "") | (frame["grid"] != "1")]
    telling.attrs = frame.attrs
    return telling


def worth_telling(found: list[Best]) -> list[Best]:
    """Of each group the fastest at its largest size: a GPU's before the emulated, then the one of most cases."""
    # Sizes ascend, so that the largest of each group stays.
    largest = list({tuple(best.row[name] for name in PEERS): best for best in found}.values())
    compared = [best for best in largest if best.among > 1]
    # Of several groups with one case each, none is the fastest of anything: the table has their times.
    chosen = compared or (largest if len(largest) == 1 else [])
    return sorted(chosen, key=lambda best: (best.row["device"] == "cpu", -best.among))


def told(frame: pd.DataFrame, found: list[Best]) -> list[Told]:
    """What to say of each group that is worth telling."""
    right = timed(frame)
    right.attrs = frame.attrs
    shown = [name for name in varying(right) if name not in ("size", "device", "dtype", "seed")]
    apart = differing_peers(frame)
    return [Told(_clause(best, shown, apart), _names(best, shown)) for best in worth_telling(found)]


def _clause(best: Best, shown: list[str], apart: list[str]) -> str:
    row = best.row
    size = size_of(row)
    group = ", ".join(f"{n} {one_line(str(row[n]), 40)}" for n in apart if n != "device" and not absent(row[n]))
    where = (f" at {size}" if size else "") + (f" ({group})" if group else "")
    if best.among == 1:
        return f"{described(row, shown)}{where} takes {_speed(row)}"
    first = "shortest emulated time" if row["device"] == "cpu" else "fastest"
    return f"{first}{where} is {described(row, shown)}, with {_speed(row)}{_ties(best.ties)}"


def _speed(row: dict[str, Any]) -> str:
    """Time, bandwidth and share of the limits of a case, in words."""
    time = f"{rough(row['median_us'])} µs"
    if row["device"] == "cpu":
        return f"{time} on the CPU device, which says nothing about a GPU"
    limits = [("percent_peak", "the peak"), ("percent_copy", "a copy on the device")]
    shares = [f"{row[name]:.0f} % of {limit}" for name, limit in limits if not absent(row[name])]
    return ", ".join([time, *([] if absent(row["gbps"]) else [f"{rough(row['gbps'])} GB/s", *shares])])


def _ties(found: Ranking) -> str:
    level, unsure = len(found.tied), len(found.undecided)
    words = (
        f"; {count(level, 'further case')} cannot be told from it, within {100 * found.margin:.1f} %" if level else ""
    )
    return words + (f"; {count(unsure, 'further case')} may be slower, by too little to be certain" if unsure else "")


def _names(best: Best, shown: list[str]) -> str:
    level = best.ties.tied
    names = [described(row, shown) for row in level[:NAMED]]
    if not level or len(set(names)) < len(names):  # a seed is not told: it is no reason for a time
        return ""
    more = [f"{len(level) - NAMED} more"] if len(level) > NAMED else []
    return f"Level with {described(best.row, shown)}: {'; '.join(names + more)}."
