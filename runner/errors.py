"""Everything that can go wrong, as one tree.

    RunnerError
      UsageError              the user asked for something that cannot be: one sentence, exit status 2, nothing run
      DeviceUnavailable    the asked-for device is not there
      CaseError            one case failed; it becomes a row, the sweep goes on
        CompileError
        LaunchError        the launch was refused, or the device faulted
          Hazard           the CPU device caught the kernel breaking one of CUDA's rules
          LaunchTimeout    the kernel did not end within its time limit
          OutOfMemory      the arrays do not fit

Every message names what is wrong, where, the offending value, and what is allowed.
"""

from __future__ import annotations


class RunnerError(Exception):
    """Base of all errors that carry a message for the user."""


class UsageError(RunnerError):
    """A request that cannot be carried out; the message is one sentence."""


class DeviceUnavailable(RunnerError):
    """The device that was asked for cannot be opened here."""


class CaseError(RunnerError):
    """One case failed. `status` is the word that its row carries."""

    status = "crashed"


class CompileError(CaseError):
    """The compiler refused the kernel; `log` is what it said, at the kernel's own lines."""

    status = "compile_error"

    def __init__(self, message: str, log: str = "") -> None:
        super().__init__(message)
        self.log = log


class LaunchError(CaseError):
    """The device refused the launch, or faulted while it ran."""

    status = "launch_error"


class Hazard(LaunchError):
    """The kernel breaks one of CUDA's rules; the message has its line, block and thread."""

    status = "hazard"


class LaunchTimeout(LaunchError):
    """The kernel was still running after its time limit."""

    status = "timeout"


class OutOfMemory(LaunchError):
    """The arrays of the case do not fit into the device's memory."""

    status = "out_of_memory"
