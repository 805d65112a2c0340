"""The parent's handle on the worker process, which owns the device (`run_case.serve`), and the messages between them.

A kernel that faults, hangs or corrupts the context takes down its worker only. The parent sees the pipe close, or kills
a worker that has been silent for too long, and starts another.

A task and its outcome cross the pipe. Arrays do not: the worker makes them from dtype, shape, fill and seed. The parent
starts the worker before anything else, so this module does not import NumPy.
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
from runner.sweep.pipe import SECRET, MalformedMessage, Pipe

if TYPE_CHECKING:
    from runner.kernel.case import Case
    from runner.kernel.sizes import OtherSizes
    from runner.sweep.measure import Round

PATIENCE_S = 600.0  # limit of a step that launches nothing: inputs and references of 2**30 elements take minutes
LOADING_S = 120.0  # limit of loading a program: a Python function may import a large library
GRACE_S = 5.0  # added to the time limit of a launch
STARTUP_S = 120.0
KILLED_S = 1.0  # wait after SIGKILL: a batch system then kills the parent, too, before it records a crash
BLOCKED = frozenset((signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR2))
SERVER = "runner.sweep.run_case"  # the module that the worker process runs
NO_LIBRARY = 97  # its exit status if an import fails, which the program itself tells if it fails there, too
LAUNCHING = ("checking", "warm-up", "measuring")


@dataclass(frozen=True)
class Task:
    """One case for one round."""

    case: Case
    source: Source
    binary: Binary  # the compiled source
    protocol: Protocol
    time_limit_s: float  # of a launch; a longer one is a timeout
    fast_math: bool = False  # whether it was compiled with fast, less exact functions
    sizes: OtherSizes | None = None  # those of a case whose launch is not slow; `None`: the worker finds them


@dataclass
class FurtherLaunches:
    """The further launches that were checked and right. The fields are columns of the row.

    Launches of an earlier case in this process with the same binary, inputs and size count as well.
    """

    input_launches: int = 0  # with further inputs
    size_launches: int = 0  # at other sizes
    order_launches: int = 0  # in other orders of the threads
    sizes_not_tried: str = ""  # why `size_launches` is 0


@dataclass(frozen=True)
class Outcome:
    """The result of a task; `None` where a value is unknown."""

    status: str  # of the row: ok, mismatch, skipped, ...
    reason: str = ""  # why it is not ok
    value: int | float | None = None  # the kernel's declared `value` of the device's outputs
    reference: int | float | None = None  # the same of the reference's outputs
    reference_us: float | None = None  # time of the reference on the host
    mismatches: int | None = None  # elements that differ
    error_ulp: float | None = None  # the largest error of a float
    allowed_error: float | None = None  # the largest relative error of a typical element that would have passed
    undetected: tuple[str, ...] = ()  # wrong results that would have passed
    undefined_reads: int | None = None  # counted by the device
    received: tuple[int | None, ...] = ()  # of a shuffle: the input index behind each output of the first block
    note: str = ""  # on a row that is ok
    printed: str = ""  # by the kernel
    findings: tuple[Finding, ...] = ()  # of a checked device; the reason has the first ones
    resources: Resources | None = None  # registers, shared and local memory
    active_blocks: int | None = None  # blocks that fit on a multiprocessor at once
    measured: Round | None = None  # only if ok
    further: FurtherLaunches | None = None  # only if ok
    usable: bool = True  # whether the device can take another case; if not, the process ends


@dataclass(frozen=True)
class Call:
    """A function that the worker calls with its open device, a heartbeat and `given`.

    It must return plain data (numbers, text, lists, dictionaries): the pipe refuses objects of other types.
    """

    function: Callable[..., Any]
    given: tuple[Any, ...] = ()


@dataclass(frozen=True)
class Answer:
    """The result of a `Call`."""

    value: Any = None
    reason: str = ""  # why there is no value
    usable: bool = True  # whether the device can take another call; if not, the process ends


class Worker:
    """A worker process. It opens its device in the background.

    An exception of the worker, other than `DeviceUnavailable`, never reaches the caller: it becomes an outcome.
    """

    def __init__(self, config: DeviceConfig | None = None, environment: Mapping[str, str] | None = None) -> None:
        """Start the process.

        Args:
            config: The device to open; `None` if `takes` names it later.
            environment: Environment variables of the process in addition to this one's.

        Raises:
            DeviceUnavailable: The sandbox that the configuration asks for cannot be created.
        """
        self.config = config
        self._environment = dict(environment or {})
        self._usable = True
        self._unneeded = 0  # calls whose answer is to be skipped
        self._malformed = ""  # why the last message was malformed
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
        """Whether this worker has the device of `config`. A worker without a device opens it."""
        if self.config is None and not config.sandbox:
            self.config = config
            self._send(config)
        return self.config == config and self.alive

    @property
    def info(self) -> DeviceInfo:
        """The device's properties. Waits until the device is open.

        Raises:
            DeviceUnavailable: The device cannot be opened.
        """
        if self._info is None:
            answer = self._receive(STARTUP_S)
            if not isinstance(answer, DeviceInfo):
                hangs = self._process.poll() is None and not self._malformed
                self.kill()
                if isinstance(answer, DeviceUnavailable):
                    raise answer
                what = f"the device was not open after {STARTUP_S:g} s" if hangs else "its worker process ended at once"
                if self._process.returncode == NO_LIBRARY:
                    what = (
                        f'its worker process cannot import a library; {sys.executable} -c "import {SERVER}" says which'
                    )
                raise DeviceUnavailable(f"device={self.config.kind if self.config else '?'}: {what}")
            self._info = answer
        return self._info

    @property
    def alive(self) -> bool:
        """Whether it can take another task."""
        return self._usable and self._process.poll() is None and not self._pipe.closed

    def run(self, task: Task, on_step: Callable[[str], None], meanwhile: Callable[[], None] = lambda: None) -> Outcome:
        """Run one case. If the process crashes or hangs, this becomes the case's outcome.

        Args:
            task: The case.
            on_step: Called with the name of each step.
            meanwhile: Called once the worker has the task.

        Raises:
            DeviceUnavailable: The device cannot be opened.
        """
        _ = self.info  # the worker's first message is the device's properties
        self.finish_calls()
        try:
            self._pipe.send(task, task.time_limit_s + GRACE_S)
        except OSError:
            return self._lost("starting", task.time_limit_s + GRACE_S)
        meanwhile()
        step = "starting"
        while True:
            longest = LOADING_S if step == "loading" else PATIENCE_S
            limit = task.time_limit_s + GRACE_S if step in LAUNCHING else longest
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
        """Call a function in the process. If the process ends, the answer's reason says how.

        Args:
            function: A module-level function, see `Call`.
            *given: Its arguments after the device and the heartbeat.
            limit: Seconds that may pass without a heartbeat.

        Raises:
            DeviceUnavailable: The device cannot be opened.
        """
        _ = self.info  # the worker's first message is the device's properties
        self.finish_calls()
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

    def start_call(self, function: Callable[..., Any], *given: Any) -> None:
        """Let the process call a function whose answer nobody needs, as for `call`, while it would be idle.

        Nothing is started while the process works on an earlier one. `finish_calls` waits for the end.
        """
        if self._unneeded:
            return
        _ = self.info
        with contextlib.suppress(OSError):  # the next task reports the lost process
            self._pipe.send(Call(function, given), GRACE_S)
            self._unneeded += 1

    def finish_calls(self) -> None:
        """Wait for the end of what `start_call` has started. If the process ended, `alive` is false."""
        while self._unneeded:
            answer = self._receive(PATIENCE_S)
            if isinstance(answer, str):
                continue
            self._unneeded = self._unneeded - 1 if isinstance(answer, Answer) else 0
            self._usable &= isinstance(answer, Answer) and answer.usable

    def close(self) -> None:
        """End the process in an orderly way."""
        with contextlib.suppress(OSError):
            self._pipe.send(None, GRACE_S)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(GRACE_S)
        self.kill()

    def kill(self) -> None:
        """Kill the process."""
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        self._pipe.close()

    def _send(self, config: DeviceConfig) -> None:
        with contextlib.suppress(OSError):  # if the process ended at once, `info` raises
            self._pipe.send(config, STARTUP_S)

    def _receive(self, limit: float) -> object:
        """The next message; `None` after `limit` seconds, if the process ended, or if the message is malformed."""
        try:
            return self._pipe.receive(limit)
        except MalformedMessage as e:
            self._malformed = str(e)
            return None
        except (EOFError, OSError):
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(GRACE_S)
            self._pipe.close()
            return None

    def _lost(self, step: str, limit: float) -> Outcome:
        """Kill a process that did not answer; the outcome says why."""
        silent, alive = not self._pipe.closed, self._process.poll() is None
        self.kill()
        if self._malformed:
            why = f"while {step} ({self._malformed}); code of the kernel or its reference wrote to its descriptors"
            return Outcome("crashed", f"the worker process sent a malformed message {why}")
        if alive and silent:
            return Outcome("timeout", f"still {step} after {limit:g} s; the worker process was ended")
        if alive:
            return Outcome("crashed", f"the worker process closed its pipe while {step}, and was ended")
        code = self._process.returncode
        if self._sandboxed and 128 < code < 128 + signal.NSIG:  # bubblewrap exits with 128 + signal
            code = 128 - code
        if -code == signal.SIGKILL:
            time.sleep(KILLED_S)
        name = next((s.name for s in signal.Signals if s == -code), str(-code))
        how = f"by signal {name}" if code < 0 else f"with exit status {code}"
        status = "not_run" if -code in BLOCKED else "crashed"  # a batch system sends these, not the kernel
        return Outcome(status, f"the worker process ended {how} while {step}")


def _started(
    descriptor: int,
    prints: int,
    command: Sequence[str],
    environment: Mapping[str, str],
    config: DeviceConfig | None,
) -> subprocess.Popen[bytes]:
    """Start the process behind the prefix `command`, which may sandbox it. It prints to the descriptor `prints`.

    Signals that a terminal or a batch system sends to all processes of the program are blocked: the parent ends it.
    """
    imports = f"from {SERVER} import serve"
    if config:  # start slow imports of the device first
        opening = f"start_opening_gpu({config.kind!r}, {config.index})"
        imports = f"from runner.device.kinds import start_opening_gpu; {opening}; {imports}"
    program = f"try: {imports}\nexcept ImportError: raise SystemExit({NO_LIBRARY}) from None\nserve({descriptor})"
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
