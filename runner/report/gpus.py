"""Sentences on a sweep over several GPUs: how much the GPUs differ, and how their cases are ranked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from runner.display.text import count, rough
from runner.record import gpus
from runner.record.runs import section
from runner.statistics import THRESHOLD


def sentences(environment: Mapping[str, Any]) -> list[str]:
    """Describe each GPU model with several GPUs.

    Args:
        environment: The run's `gpus`, from environment.json.

    Returns:
        One sentence group per model; empty for a single GPU.
    """
    found = []
    for name, alike in gpus.by_model(environment).items():
        number = len({gpu.uuid for gpu in alike})
        if number < 2:
            continue
        times, percent = [gpu.us for gpu in alike], 100 * gpus.spread(alike)
        drift = 100 * max(abs(gpu.drift) for gpu in alike)
        found.append(
            f"{count(number, 'GPU')} of the model {name}: the reference case {alike[0].case} takes {rough(min(times))} "
            f"to {rough(max(times))} µs on them, a spread of {percent:.2f} %; on one GPU, from the first round to the "
            f"last, it changes by at most {drift:.2f} %. {_ranked(environment, alike)}"
        )
    return found


def _ranked(environment: Mapping[str, Any], alike: Sequence[gpus.Gpu]) -> str:
    if not section(environment, "launcher").get("replicate"):
        return "Cases are ranked within one GPU."
    if gpus.spread(alike) > THRESHOLD:
        return f"That is more than {100 * THRESHOLD:g} %, so each GPU's cases are ranked on their own."
    return "Each GPU measured all cases: a time is the mean over the GPUs, and its interval includes their difference."
