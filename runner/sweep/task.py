"""What crosses the pipe between the parent and its worker: a task, and its outcome. This imports no NumPy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from runner.device import Binary, Resources, Source
from runner.settings import Protocol

if TYPE_CHECKING:
    from runner.kernel.case import Case
    from runner.sweep.measure import Round


@dataclass(frozen=True)
class Task:
    """One case for one round."""

    case: Case
    source: Source
    binary: Binary  # the compiled source
    protocol: Protocol
    time_limit_s: float  # a launch that takes longer counts as endless
    fast_math: bool = False  # whether the compiler was told to use fast functions


@dataclass(frozen=True)
class Outcome:
    """The result of a task; `None` where something is unknown."""

    status: str  # as in the row: ok, mismatch, skipped, or what went wrong
    reason: str = ""  # why it is not ok
    value: int | float | None = None  # the one number that sums up the device's outputs
    reference: int | float | None = None  # the same number, computed on the host
    reference_us: float | None = None  # how long the host took for it
    mismatches: int | None = None  # elements that differ
    undefined_reads: int | None = None  # as the device counted them
    received: tuple[int | None, ...] = ()  # of a shuffle: the input element behind each output of the first block
    note: str = ""  # on a row that is ok
    printed: str = ""  # by the kernel
    resources: Resources | None = None  # registers and the like
    active_blocks: int | None = None  # that fit on a multiprocessor at once
    measured: Round | None = None  # only if ok
    usable: bool = True  # whether the device can take another case; if not, its process ends
