"""How much the GPUs of one sweep differ: by the reference case, which each of them measured in every round."""

from __future__ import annotations

import re
import statistics
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from runner.report.text import count, rough
from runner.runs import MALFORMED


@dataclass(frozen=True)
class Gpu:
    """A GPU of the sweep, and the medians of the reference case on it in microseconds, the rounds in order."""

    uuid: str
    name: str
    case: str
    rounds_us: tuple[float, ...]

    @property
    def us(self) -> float:
        """The mean of the rounds' medians."""
        return statistics.fmean(self.rounds_us)

    @property
    def drift(self) -> float:
        """The last round against the first, as a fraction."""
        return self.rounds_us[-1] / self.rounds_us[0] - 1


def short(gpu: str) -> str:
    """A GPU's name with the first eight digits of its UUID: `NVIDIA H200 4b1c2f0a`."""
    return re.sub(r"(?:GPU|MIG)-([0-9a-f]{8})-[0-9a-f-]+", r"\1", gpu)


def gpus(environment: Mapping[str, Any]) -> list[Gpu]:
    """The GPUs of a sweep that measured the reference case, one for each shard; empty if the record is malformed."""
    try:
        return [
            Gpu(uuid, str(known["name"]), str(taken["case"]), tuple(map(float, taken["rounds_us"])))
            for uuid, known in environment.get("gpus", {}).items()
            for taken in known.get("reference", {}).values()
            if taken["rounds_us"]
        ]
    except MALFORMED:
        return []


def sentences(environment: Mapping[str, Any]) -> list[str]:
    """What a reader must know of a sweep on several GPUs; empty for one."""
    by_model: dict[str, list[Gpu]] = {}
    for gpu in gpus(environment):
        by_model.setdefault(gpu.name, []).append(gpu)
    found = []
    for name, alike in by_model.items():
        number = len({gpu.uuid for gpu in alike})
        if number < 2:
            continue
        times = [gpu.us for gpu in alike]
        spread = 100 * (max(times) / min(times) - 1)
        drift = 100 * max(abs(gpu.drift) for gpu in alike)
        found.append(
            f"{count(number, 'GPU')} of the model {name}: the reference case {alike[0].case} takes {rough(min(times))} "
            f"to {rough(max(times))} µs on them, a spread of {spread:.2f} %; on one GPU, from the first round to the "
            f"last, it changes by at most {drift:.2f} %. Cases are ranked within one GPU."
        )
    return found
