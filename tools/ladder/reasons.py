"""Why a step pays, and why it may not: tools/ladder/why.yaml, understood."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ladder.files import of_yaml
from runner.errors import UsageError
from runner.kernel.yaml_reader import Reader


@dataclass(frozen=True)
class Reason:
    """Why a step pays where it does, and why it may not; the second is empty where nobody knows."""

    why: str
    why_not: str


def read(path: Path, names: Sequence[str]) -> dict[str, Reason]:
    """The reasons of all steps.

    Args:
        path: Of the YAML: by kernel, `why` and perhaps `else`.
        names: The steps; the YAML has each of them and nothing more.

    Raises:
        ValueError: if the file is missing, empty or torn; one sentence.
        UsageError: if it does not hold that; one sentence.
    """
    d = Reader(of_yaml(path), path.name)
    d.need(*names)
    d.only(frozenset(names))
    return {name: _reason(d.at(name, d.raw[name])) for name in names}


def _reason(d: Reader) -> Reason:
    d.only(frozenset(("why", "else")))
    d.need("why")
    texts = {key: " ".join(d.text(key).split()) for key in d.raw}
    if empty := [key for key, text in texts.items() if not text]:
        raise UsageError(f"{d.where}: {empty[0]}: a sentence is expected, not '{d.raw[empty[0]]}'")
    return Reason(texts["why"], texts.get("else", ""))
