"""The winners as JSON and as CSV."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict

from runner.display.table import Table
from runner.winners.winner import GROUPS, NUMBERS, SIZES, Winner

SCHEMA = 1


def as_json(winners: Sequence[Winner], origin: str) -> str:
    """One object with the list `winners`."""
    content = {"schema": SCHEMA, "run": origin, "winners": [asdict(one) for one in winners]}
    return json.dumps(content, indent=2, allow_nan=False) + "\n"


def as_csv(winners: Sequence[Winner]) -> str:
    """A row for each winner. Columns of macros begin with `macro_`; a cell that a winner lacks is empty."""
    parameters = list(dict.fromkeys(name for one in winners for name in one.parameters))
    macros = list(dict.fromkeys(name for one in winners for name in one.macros))
    heads = ["gpu", "kernel", *GROUPS, *SIZES, *parameters, *(f"macro_{name}" for name in macros), *NUMBERS]
    rows = []
    for one in winners:
        cells = [one.gpu, one.kernel, *(one.group[name] for name in GROUPS)]
        cells += [str(one.size.get(name, "")) for name in SIZES]
        cells += [one.parameters.get(name, "") for name in parameters]
        cells += [one.macros.get(name, "") for name in macros]
        cells += [f"{one.numbers[name]:.6g}" if name in one.numbers else "" for name in NUMBERS]
        rows.append([*cells, str(one.tied), str(one.undecided), str(one.among)])
    return Table.of([*heads, "tied", "undecided", "among"], rows).csv()
