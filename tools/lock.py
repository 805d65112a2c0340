"""Writes constraints.txt: the newest versions that pip resolves for pyproject.toml with its extras."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
HEAD = "# Written by `make lock`. The versions that the tests ran with, for `pip install -c constraints.txt`.\n"


def resolved(python: str) -> list[str]:
    """`name==version` of each package, sorted."""
    command = [python, *"-m pip install --dry-run --ignore-installed --quiet --report - .[dev,docs,cuda]".split()]
    report = json.loads(subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout)
    found = [(i["metadata"]["name"].lower(), i["metadata"]["version"]) for i in report["install"]]
    return sorted(f"{name}=={version}" for name, version in found if name != "kernel-runner")


def main() -> None:
    """Resolve in an empty environment, and write the file."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        lines = resolved(f"{folder}/bin/python")
    (ROOT / "constraints.txt").write_text(HEAD + "\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
