"""Writes the tables of docs/ that follow from the code: a kernel's YAML, columns and statuses.

python tools/reference_tables.py            # write them
python tools/reference_tables.py --check    # write nothing; exit status 1 if a table is not current
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from runner.columns import COLUMNS, OF_LINES, STATUSES  # noqa: E402  (the path must be there first)
from runner.display.column import Column  # noqa: E402
from runner.kernel import yaml_keys as keys  # noqa: E402

DOCS = ROOT / "docs"
BEGIN = "<!-- {}: written by `python tools/reference_tables.py` -->"
END = "<!-- end of {} -->"
SECTIONS = {
    "family": "families", "parameters": "parameters", "arguments": "arguments", "structs": "structures",
    "launches": "launches", "metrics": "metrics", "reference": "expressions", "texture": "textures-and-surfaces",
    "surface": "textures-and-surfaces", "pointers": "arrays-of-pointers", "fill": "fills",
}  # fmt: skip
"""The section of docs/kernel-yaml.md about a key."""


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown."""
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (head, ["---"] * len(head), *rows))


def of_columns(columns: Sequence[Column]) -> str:
    """Columns, with type, unit and meaning."""
    rows = [(f"`{c.name}`", f"{c.type}{f', {c.unit}' if c.unit else ''}", c.meaning) for c in columns]
    return table(("column", "type, unit", "meaning"), rows)


def of_keys(head: str, *levels: keys.Level) -> str:
    """Keys of a YAML in alphabetical order, each once and with a link to its section."""
    texts = {key: str(schema["description"]) for level in levels for key, schema in level.items()}
    rows = [(_linked(key), texts[key].replace("|", "\\|")) for key in sorted(texts)]
    return table((head, "meaning"), rows)


def of_words(head: str, meanings: Mapping[str, str]) -> str:
    """Words and what they mean."""
    return table((head, "meaning"), [(f"`{word}`", meaning) for word, meaning in meanings.items()])


def _linked(key: str) -> str:
    return f"[`{key}`](#{SECTIONS[key]})" if key in SECTIONS else f"`{key}`"


TABLES = {
    "results.md": {
        "columns": of_columns(COLUMNS),
        "lines": of_columns(OF_LINES),
        "statuses": of_words("status", STATUSES),
    },
    "kernel-yaml.md": {
        "keys": of_keys("key", keys.KEYS),
        "keys of an array": of_keys("key of an array", keys.ARRAY),
        "keys of a number": of_keys("key of a number", keys.SCALAR_ARGUMENT),
        "keys of a pointer": of_keys("key of a pointer", keys.POINTER, {"pointers": keys.POINTERS["pointers"]}),
        "keys of a launch": of_keys("key of a launch", keys.LAUNCH, keys.LOOP),
        "keys of a step": of_keys("key of a step", keys.MEMSET, keys.COPY),
    },
}


def current(text: str, tables: Mapping[str, str]) -> str:
    """The page with up-to-date tables."""
    for name, content in tables.items():
        begin, end = BEGIN.format(name), END.format(name)
        before, _, rest = text.partition(begin)
        if not rest:
            raise ValueError(f"there is no {begin!r}")
        _, _, after = rest.partition(end)
        text = f"{before}{begin}\n{content}\n{end}{after}"
    return text


def main() -> int:
    """Write or check the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; exit status 1 if a table is not current")
    check = parser.parse_args().check
    for name, tables in TABLES.items():
        text = (DOCS / name).read_text(encoding="utf-8")
        if not check:
            (DOCS / name).write_text(current(text, tables), encoding="utf-8")
        elif text != current(text, tables):
            sys.exit(f"docs/{name}: a table is not current; run `python tools/reference_tables.py`")
    return 0


if __name__ == "__main__":
    sys.exit(main())
