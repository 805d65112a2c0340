"""docs/first-kernel.md and docs/how-to/: files are written, commands run in order in an empty folder, outputs are real.

A block that opens with a language and a path is a file. A block of `console` has commands, each after `$ `, and their
output. `python tests/test_tutorial.py --write` (`make tutorial`) runs them all and writes the outputs into the document.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = {
    path.stem: path for path in (ROOT / "docs" / "first-kernel.md", *sorted((ROOT / "docs" / "how-to").glob("*.md")))
}
BLOCK = re.compile(r"^( *)```(\w+)(?: (\S+))?\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)


def played(text: str, folder: Path) -> str:
    """The document, with the outputs that its commands give in that folder."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "120", "LC_ALL": "C.UTF-8"}
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}"

    def run(block: re.Match[str]) -> str:
        indent, language, path, indented = block.groups()
        content = textwrap.dedent(indented)
        if path:
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(content, encoding="utf-8")
        if language != "console":
            return block[0]
        lines = ["```console"]
        for command in re.findall(r"^\$ (.*)$", content, re.MULTILINE):
            done = subprocess.run(
                ["bash", "-c", command], cwd=folder, env=environment, capture_output=True, text=True, check=False
            )
            assert done.returncode in (0, 1), done.stderr  # 1: a case failed, on purpose
            output = done.stdout.replace(f"{folder}/", "")
            lines += [f"$ {command}", *(line.rstrip() for line in output.splitlines())]
        return textwrap.indent("\n".join([*lines, "```"]), indent)

    return BLOCK.sub(run, text)


def normalised(text: str) -> str:
    """The document without what differs from run to run: times of day, measured times, percentages, spaces."""
    text = re.sub(r"\d{4}-\d\d-\d\d", "DATE", text)
    text = re.sub(r"\d\d-\d\d-\d\d|\d\d:\d\d(:\d\d)?", "TIME", text)
    text = re.sub(r"[\d,.]+ (µs|us|ms|s|%)(?!\w)", r"# \1", text)
    return re.sub(r"[ ─]+", " ", text)


@pytest.mark.parametrize("page", PAGES)
def test_a_page_shows_what_its_commands_print(page: str, tmp_path: Path) -> None:
    """Every file, command and output of these pages is real; `make tutorial` brings the outputs up to date."""
    text = PAGES[page].read_text(encoding="utf-8")
    assert normalised(played(text, tmp_path)).splitlines() == normalised(text).splitlines()


if __name__ == "__main__":
    if sys.argv[1:2] != ["--write"] or not PAGES.keys() >= set(sys.argv[2:]):
        raise SystemExit(f"usage: python tests/test_tutorial.py --write [{' | '.join(PAGES)}]")
    for name in sys.argv[2:] or PAGES:
        with tempfile.TemporaryDirectory() as scratch:
            text = played(PAGES[name].read_text(encoding="utf-8"), Path(scratch).resolve())
            PAGES[name].write_text(text, encoding="utf-8")
