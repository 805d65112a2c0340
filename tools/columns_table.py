"""Writes the tables of columns in docs/results.md from `runner.columns`.

python tools/columns_table.py            # write it
python tools/columns_table.py --check    # write nothing; exit status 1 if the table is not current
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from runner.columns import COLUMNS, OF_LINES  # noqa: E402  (the path must be there first)
from runner.display.column import Column  # noqa: E402

PAGE = ROOT / "docs" / "results.md"
BEGIN = "<!-- {}: written by `python tools/columns_table.py` -->"
END = "<!-- end of {} -->"
TABLES = {"columns": COLUMNS, "lines": OF_LINES}


def table(columns: Sequence[Column]) -> str:
    """Columns as a Markdown table."""
    lines = [f"| `{c.name}` | {c.type}{f', {c.unit}' if c.unit else ''} | {c.meaning} |" for c in columns]
    return "\n".join(["| column | type, unit | meaning |", "|---|---|---|", *lines])


def current(text: str) -> str:
    """The page with up-to-date tables."""
    for name, columns in TABLES.items():
        begin, end = BEGIN.format(name), END.format(name)
        before, _, rest = text.partition(begin)
        _, _, after = rest.partition(end)
        text = f"{before}{begin}\n{table(columns)}\n{end}{after}"
    return text


def main() -> int:
    """Write or check the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; exit status 1 if the table is not current")
    text = PAGE.read_text(encoding="utf-8")
    if not parser.parse_args().check:
        PAGE.write_text(current(text), encoding="utf-8")
    elif text != current(text):
        sys.exit("docs/results.md: a table of columns is not current; run `python tools/columns_table.py`")
    return 0


if __name__ == "__main__":
    sys.exit(main())
