"""What crosses the pipe between the sweep and its worker: a task, and its outcome.

Arrays are specified (dtype, shape, fill, seed) rather than sent. The module imports nothing that is slow to import,
because the parent starts its worker first of all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from runner.device import Binary, Resources, Source
    from runner.kernel.case import Case
    from runner.settings import Protocol
    from runner.sweep.measure import Round


@dataclass(frozen=True)
class Task:
    """One case for one round.

    Attributes:
        case: What to run.
        source: The variant that was compiled.
        binary: The compiled variant.
        protocol: How to measure it.
        time_limit_s: Seconds after which a launch counts as endless.
    """

    case: Case
    source: Source
    binary: Binary
    protocol: Protocol
    time_limit_s: float


@dataclass(frozen=True)
class Outcome:
    """The result of a task.

    Attributes:
        status: As in the row: ok, mismatch, skipped, or what went wrong.
        reason: Why it is not ok.
        value: The one number that sums up the outputs, computed from the device's outputs.
        reference: The same number, computed on the host.
        reference_us: How long the host took for it.
        mismatches: Elements that differ; `None` if nothing was compared.
        undefined_reads: As the device counted them.
        received: Of a shuffle: the input element that each element of the first block's output holds, as observed.
        note: A remark on a row that is ok.
        printed: What the kernel printed.
        resources: Registers and the like; `None` if the kernel was never loaded.
        active_blocks: How many of its blocks fit on a multiprocessor at once; `None` if unknown.
        measured: `None` unless ok.
        usable: Whether the device can take another case; if not, its process ends.
    """

    status: str
    reason: str = ""
    value: int | float | None = None
    reference: int | float | None = None
    reference_us: float | None = None
    mismatches: int | None = None
    undefined_reads: int | None = None
    received: tuple[int | None, ...] = ()
    note: str = ""
    printed: str = ""
    resources: Resources | None = None
    active_blocks: int | None = None
    measured: Round | None = None
    usable: bool = True
