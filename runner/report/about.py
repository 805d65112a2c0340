"""What a report knows of a run beside its rows. Each frame that is taken from another one has it, too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from runner.kernel.metrics import Criterion, Metric

if TYPE_CHECKING:
    import pandas as pd

    from runner.report.searched import Searched


@dataclass(frozen=True)
class About:
    """Of a run."""

    devices: dict[str, Any] = field(default_factory=dict)  # of environment.json, by kind
    gpus: Mapping[str, Any] = field(default_factory=dict)  # the sections `gpus` and `launcher`, and the cases of each
    metrics: Mapping[str, Metric] = field(default_factory=dict)  # that have no column in every run
    further: Sequence[str] = ()  # parameters of the kernels' own
    criterion: Criterion = field(default_factory=Criterion)  # what the cases are ranked by
    search: Searched | None = None
    unfinished: bool = False  # whether more cases or rounds would follow than its rows show
    lack_rounds: int = 0  # cases with fewer rounds than planned

    def __deepcopy__(self, memo: dict[int, Any]) -> About:
        """Itself: pandas copies the attributes of a frame with each column taken from it."""
        return self


NOTHING = About()


def about(frame: pd.DataFrame) -> About:
    """What is known of the run that a frame is of."""
    found: About = frame.attrs.get("about", NOTHING)
    return found


def tell(frame: pd.DataFrame, **known: Any) -> None:
    """Add what is known; frames that were taken from this one earlier do not get it."""
    frame.attrs["about"] = replace(about(frame), **known)
