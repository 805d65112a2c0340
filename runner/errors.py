"""The exceptions of the program.

    RunnerError
      UsageError           the request is impossible: one sentence, exit status 2, no case is run
        KernelMistake      a kernel's YAML is wrong: in a sweep of several kernels the others run
      DeviceUnavailable    the requested device cannot be opened
      CaseError            one case failed; it becomes a row, and the sweep goes on
        CompileError
          CompileLimit     the compiler exceeded a limit and was ended
          MissingLibrary   a host function needs a library or a compiler that is missing here
        LaunchError        the launch was refused, or the device faulted
          Hazard           the kernel violates a rule of CUDA, and the CPU device detected it
          LaunchTimeout    the kernel exceeded its time limit
          OutOfMemory      the arrays do not fit
          NotResident      the blocks of a cooperative launch do not fit on the device at once
          NotInstalled     a contender's library is missing here

Every message says what is wrong, where, the offending value, and which values are allowed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


class RunnerError(Exception):
    """Base of all errors that carry a message for the user."""


class UsageError(RunnerError):
    """An impossible request; the message is one sentence."""


class KernelMistake(UsageError):
    """A kernel's YAML cannot be understood."""


class DeviceUnavailable(RunnerError):
    """The requested device cannot be opened here."""


class CaseError(RunnerError):
    """One case failed.

    Attributes:
        status: The status of its row.
    """

    status = "crashed"


class CompileError(CaseError):
    """The compiler rejected the kernel.

    Attributes:
        log: The compiler's output, with line numbers of the kernel's own file.
    """

    status = "compile_error"

    def __init__(self, message: str, log: str = "") -> None:
        super().__init__(message)
        self.log = log


class CompileLimit(CompileError):
    """The compiler took too much time or memory, and was ended."""


class MissingLibrary(CompileError):
    """A host function needs a library, a header or a compiler that is not installed here."""

    status = "skipped"


class LaunchError(CaseError):
    """The device refused the launch, or faulted during it."""

    status = "launch_error"


Place = tuple[int, int, int]


@dataclass(frozen=True)
class Finding:
    """A violation that the checked device found at a pair of lines. The details describe its first occurrence."""

    kind: str  # race, unwritten, unwaited, outside, read_only, misaligned
    text: str  # one sentence
    line: str  # such as `k.cu:12`; empty if unknown
    other_line: str  # the earlier access of a race, or the asynchronous copy that was not waited for
    array: str
    space: str  # shared or global
    element: int
    count: int  # occurrences
    block: Place
    thread: Place
    other_block: Place | None = None
    other_thread: Place | None = None
    same_value: bool = False  # whether both threads always write the same value
    order: int = 0  # the first schedule that showed it
    advice: str = ""  # the missing synchronization, and between which lines; also the end of `text`

    @property
    def key(self) -> tuple[object, ...]:
        """Identifies the violation across schedules."""
        return self.kind, frozenset((self.line, self.other_line)), self.space, self.array


MAX_FINDINGS = 5  # in one message


def join_findings(texts: Sequence[str]) -> str:
    """The first findings in one line."""
    more = len(texts) - MAX_FINDINGS
    return "; also ".join([*texts[:MAX_FINDINGS], *([f"{more} more"] if more > 0 else [])])


class Hazard(LaunchError):
    """The kernel violates a rule of CUDA. The message has the line, block and thread."""

    status = "hazard"

    def __init__(self, message: str, findings: tuple[Finding, ...] = ()) -> None:
        super().__init__(message)
        self.findings = findings


class LaunchTimeout(LaunchError):
    """The kernel was still running after its time limit."""

    status = "timeout"


class OutOfMemory(LaunchError):
    """The arrays of the case do not fit into the device's memory."""

    status = "out_of_memory"


class NotInstalled(LaunchError):
    """The library of a contender is not installed here."""

    status = "skipped"


class NotResident(LaunchError):
    """The blocks of a cooperative launch do not fit on the device at once."""

    status = "skipped"
