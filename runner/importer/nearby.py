"""Files near a kernel's file: folders with headers that it needs, and sources that include it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from runner.device import Source, cache
from runner.device.excerpt import needed, reached
from runner.device.syntax import What, parse


def folders_nearby(source: Source) -> Iterator[Path]:
    """Folders around a kernel's file, within its repository, with headers that it includes and needs."""
    files = dict(reached(source))
    words = {w for items in needed(source, files).values() for i in items for w in i.mentions} | {"operator"}
    wanted = {i.path for file in files.values() for i in file.items if i.what is What.INCLUDE and i.path}
    beside = source.path.resolve().parent
    ours = next((n for n, up in enumerate((beside, *beside.parents)) if (up / ".git").exists()), 2)
    found: dict[Path, None] = {}
    for name in sorted(wanted):
        ways = (
            path for up in (beside, *beside.parents)[: ours + 1] for path in (up / name, *sorted(up.glob(f"*/{name}")))
        )
        path = None if cache.find(name, beside, source.folders) else next((p for p in ways if p.is_file()), None)
        if path and words & {n for i in parse(cache.read(path)).items if i.what is not What.HOST for n in i.names}:
            found[path.parents[name.count("/")]] = None
    yield from found


def includers(path: Path) -> Iterator[str]:
    """Sources beside a file, or one folder up, that include it."""
    for folder in filter(Path.is_dir, (path.parent, path.parent.parent)):
        for other in sorted(p for p in folder.iterdir() if p.suffix in (".cu", ".c", ".cpp", ".cc") and p != path):
            names = (found["name"] for found in cache.INCLUDE.finditer(cache.read(other)) if found["open"] == '"')
            if any((folder / name).resolve() == path.resolve() for name in names):
                yield os.path.relpath(other, path.parent)
