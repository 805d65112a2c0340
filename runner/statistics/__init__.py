"""Pure statistics of timed launches: no files, no tables, no devices.

`summary` reduces samples to medians and intervals; `decision` compares two times. Report and comparison use both.
"""

# isort: off
# fmt: off
from runner.statistics.summary import (
    SAMPLE, Samples, Spread, Summary, Times, geometric_mean, median_ranks, of_rounds, pooled, round_medians, spread_of,
    spread_percent, summarize, unthrottled,
)
from runner.statistics.decision import (
    ASSUMED, ENOUGH_ROUNDS, MANY_ROUNDS, THRESHOLD, THRESHOLD_FEW_ROUNDS, WIDEST_TIE, Decision, Noise, Side, Word,
    decide,
)

__all__ = [
    "ASSUMED", "ENOUGH_ROUNDS", "MANY_ROUNDS", "SAMPLE", "THRESHOLD", "THRESHOLD_FEW_ROUNDS", "WIDEST_TIE", "Decision",
    "Noise", "Samples", "Side", "Spread", "Summary", "Times", "Word", "decide", "geometric_mean", "median_ranks",
    "of_rounds", "pooled", "round_medians", "spread_of", "spread_percent", "summarize", "unthrottled",
]
