"""The parent's handle on the process that owns the device (`run_case.serve`), and what crosses the pipe between them.

A kernel that faults, hangs or corrupts the context takes down its own process and nothing else. The parent sees the
pipe close, or kills a worker that has been silent for too long, and starts another.

The parent starts the worker before anything else, so this imports no NumPy. A task and its outcome cross the pipe;
arrays are specified (dtype, shape, fill, seed) rather than sent.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from runner import children
from runner.device import Binary, DeviceInfo, Resources, Source
from runner.device.config import DeviceConfig
from runner.errors import DeviceUnavailable, Finding
from runner.jobs.settings import Protocol
from runner.sweep import sandbox
from runner.sweep.pipe import SECRET, Garbled, Pipe

if TYPE_CHECKING:
    from runner.kernel.case import Case
    from runner.sweep.measure import Round

# Making inputs and references for 2**30 elements takes a while; only launches are held to their own limit.
PATIENCE_S = 600.0
GRACE_S = 5.0
STARTUP_S = 120.0
KILLED_S = 1.0  # after a worker was killed: a batch system kills the parent, too, before it writes that this is a crash
BLOCKED = frozenset((signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR2))
LAUNCHING = ("checking", "warm-up", "measuring")


@dataclass(frozen=True)
class Task:
    """One case for one round."""

    case: Case
    source: Source
    binary: Binary  # the compiled source
    protocol: Protocol
    time_limit_s: float  # a launch that takes longer counts as endless
    fast_math: bool = False  # whether the compiler was told to use fast functions


@dataclass
class Tried:
    """What a right case was launched for besides, as the row says it: launches that were right, too.

    Those that an earlier case of the process made, with the same binary, the same inputs and size, count as well.
    """

    input_launches: int = 0  # with further inputs
    size_launches: int = 0  # at other sizes
    order_launches: int = 0  # in other orders of the threads
    sizes_not_tried: str = ""  # why there are none at other sizes


@dataclass(frozen=True)
class Outcome:
    """The result of a task; `None` where something is unknown."""

    status: str  # as in the row: ok, mismatch, skipped, or what went wrong
    reason: str = ""  # why it is not ok
    value: int | float | None = None  # the one number that sums up the device's outputs
    reference: int | float | None = None  # the same number, computed on the host
    reference_us: float | None = None  # how long the host took for it
    mismatches: int | None = None  # elements that differ
    error_ulp: float | None = None  # the largest error of a float
    allowed_error: float | None = None  # the largest relative error of a typical element that would have passed
    undetected: tuple[str, ...] = ()  # wrong results that would have passed
    undefined_reads: int | None = None  # as the device counted them
    received: tuple[int | None, ...] = ()  # of a shuffle: the input element behind each output of the first block
    note: str = ""  # on a row that is ok
    printed: str = ""  # by the kernel
    findings: tuple[Finding, ...] = ()  # of a checked device; the reason tells the first ones
    resources: Resources | None = None  # registers and the like
    active_blocks: int | None = None  # that fit on a multiprocessor at once
    measured: Round | None = None  # only if ok
    tried: Tried | None = None  # only if ok
    usable: bool = True  # whether the device can take another case; if not, its process ends


@dataclass(frozen=True)
class Call:
    """A function for the worker to call with its open device, a heartbeat and these arguments.

    It gives plain data only: numbers, text, lists, dictionaries. So the pipe need not know what it is for.
    """

    function: Callable[..., Any]
    given: tuple[Any, ...] = ()


@dataclass(frozen=True)
class Answer:
    """What a called function gave, or why it gave nothing."""

    value: Any = None
    reason: str = ""
    usable: bool = True  # whether the device can take another call; if not, its process ends


class Worker:
    """A worker process. It opens a device while its parent does something else."""

    def __init__(self, config: DeviceConfig | None = None, environment: Mapping[str, str] | None = None) -> None:
        """Start the process, which opens the device; without one, `takes` names it later. It has further variables."""
        self.config = config
        self._environment = dict(environment or {})
        self._usable = True
        self._garbled = ""  # why what it sent is no message
        self._info: DeviceInfo | None = None
        self._sandboxed = config is not None and config.sandbox
        command = sandbox.command() if self._sandboxed else []
        (ours, theirs), secret, (printed, prints) = socket.socketpair(), os.urandom(SECRET), os.pipe()
        try:
            self._process = _started(theirs.fileno(), prints, command, self._environment, config)
        finally:
            theirs.close()
            os.close(prints)
        ours.sendall(secret)
        self._pipe = Pipe(ours, secret, printed)
        if config is not None:
            self._send(config)

    def takes(self, config: DeviceConfig) -> bool:
        """Whether this worker's device is the one of `config`; a worker without a device opens it."""
        if self.config is None and not config.sandbox:
            self.config = config
            self._send(config)
        return self.config == config and self.alive

    @property
    def info(self) -> DeviceInfo:
        """The device's properties; waits until it is open. `DeviceUnavailable` if it cannot be opened."""
        if self._info is None:
            answer = self._receive(STARTUP_S)
            if not isinstance(answer, DeviceInfo):
                hangs = self._process.poll() is None and not self._garbled
                self.kill()
                if isinstance(answer, DeviceUnavailable):
                    raise answer
                what = f"the device was not open after {STARTUP_S:g} s" if hangs else "its worker process ended at once"
                raise DeviceUnavailable(f"device={self.config.kind if self.config else '?'}: {what}")
            self._info = answer
        return self._info

    @property
    def alive(self) -> bool:
        """Whether it can take another task."""
        return self._usable and self._process.poll() is None and not self._pipe.closed

    def run(self, task: Task, on_step: Callable[[str], None], meanwhile: Callable[[], None] = lambda: None) -> Outcome:
        """Run one case. Whatever happens to the process becomes the case's outcome.

        `on_step` gets the name of each step; `meanwhile` is called once the worker has the task.
        """
        _ = self.info  # the first answer is the device's
        try:
            self._pipe.send(task, task.time_limit_s + GRACE_S)
        except OSError:
            return self._lost("starting", task.time_limit_s + GRACE_S)
        meanwhile()
        step = "starting"
        while True:
            limit = task.time_limit_s + GRACE_S if step in LAUNCHING else PATIENCE_S
            answer = self._receive(limit)
            if isinstance(answer, str):
                step = answer
                on_step(step)
            elif isinstance(answer, Outcome):
                self._usable = answer.usable
                return answer
            else:
                return self._lost(step, limit)

    def call(self, function: Callable[..., Any], *given: Any, limit: float) -> Answer:
        """Call a function in the process; it may be silent for `limit` seconds. What ends the process is a reason."""
        _ = self.info  # the first answer is the device's
        step = "starting"
        try:
            self._pipe.send(Call(function, given), limit)
        except OSError:
            return Answer(reason=self._lost(step, limit).reason, usable=False)
        while isinstance(answer := self._receive(limit), str):
            step = answer
        if not isinstance(answer, Answer):
            return Answer(reason=self._lost(step, limit).reason, usable=False)
        self._usable = answer.usable
        return answer

    def again(self) -> Worker:
        """Another worker for the same device."""
        return type(self)(self.config, self._environment)

    def close(self) -> None:
        """End the process in an orderly way."""
        with contextlib.suppress(OSError):
            self._pipe.send(None, GRACE_S)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(GRACE_S)
        self.kill()

    def kill(self) -> None:
        """End the process, whatever it is doing."""
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        self._pipe.close()

    def _send(self, config: DeviceConfig) -> None:
        with contextlib.suppress(OSError):  # if the process ended at once, `info` says so
            self._pipe.send(config, STARTUP_S)

    def _receive(self, limit: float) -> object:
        """The next message; `None` if the time is over, the process is gone, or what it sent is no message."""
        try:
            return self._pipe.receive(limit)
        except Garbled as e:
            self._garbled = str(e)
            return None
        except (EOFError, OSError):
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(GRACE_S)
            self._pipe.close()
            return None

    def _lost(self, step: str, limit: float) -> Outcome:
        """End a process that does not answer as it should; why is the case's outcome."""
        silent, alive = not self._pipe.closed, self._process.poll() is None
        self.kill()
        if self._garbled:
            why = f"while {step} ({self._garbled}); code of the kernel or its reference wrote to its descriptors"
            return Outcome("crashed", f"the worker process sent a malformed message {why}")
        if alive and silent:
            return Outcome("timeout", f"still {step} after {limit:g} s; the worker process was ended")
        if alive:
            return Outcome("crashed", f"the worker process closed its pipe while {step}, and was ended")
        code = self._process.returncode
        if self._sandboxed and 128 < code < 128 + signal.NSIG:  # as bubblewrap says it
            code = 128 - code
        if -code == signal.SIGKILL:
            time.sleep(KILLED_S)
        name = next((s.name for s in signal.Signals if s == -code), str(-code))
        how = f"by signal {name}" if code < 0 else f"with exit status {code}"
        status = "not_run" if -code in BLOCKED else "crashed"  # by a batch system, so not the kernel's fault
        return Outcome(status, f"the worker process ended {how} while {step}")


def _started(
    descriptor: int,
    prints: int,
    command: Sequence[str],
    environment: Mapping[str, str],
    config: DeviceConfig | None,
) -> subprocess.Popen[bytes]:
    """Start the process, by a command that sandboxes it; it prints to the descriptor `prints`.

    The signals that a terminal or a batch system sends to all processes of the program are blocked: the parent ends it.
    """
    program = f"from runner.sweep.run_case import serve; serve({descriptor})"
    if config:  # the first import takes long
        program = f"from runner.device.kinds import prepare; prepare({config.kind!r}, {config.index}); {program}"
    before = signal.pthread_sigmask(signal.SIG_BLOCK, BLOCKED)  # the child inherits the mask
    try:
        return subprocess.Popen(
            [*command, sys.executable, "-c", program],
            pass_fds=(descriptor,),
            env={**children.environment(), **environment},
            stdin=subprocess.DEVNULL,
            stdout=prints,
            stderr=prints,
        )
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
