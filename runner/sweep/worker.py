"""The process that owns the device, and the parent's handle on it.

A kernel that faults, hangs or poisons the context takes its process with it, and nothing else: the parent sees the
pipe close, or kills a worker that has not been heard of for too long, and starts another.

What crosses the pipe is small: cases, and arrays as specifications (dtype, shape, fill, seed) rather than bytes.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path

from runner.device import DeviceInfo
from runner.device.opening import open_device
from runner.errors import DeviceUnavailable
from runner.settings import DeviceConfig
from runner.sweep.attempt import Outcome, Task, attempt

# Making inputs and references for 2**30 elements takes a while; only a launch is held to its own limit.
PATIENCE_S = 600.0
GRACE_S = 5.0
STARTUP_S = 120.0
PR_SET_PDEATHSIG = 1  # linux/prctl.h
LAUNCHING = ("checking", "warm-up", "measuring")


class Worker:
    """A worker process, which opens a device while its parent does something else."""

    def __init__(self, config: DeviceConfig) -> None:
        """Start the process; whether the device could be opened is known with `info`."""
        self.config = config
        self._usable = True
        self._info: DeviceInfo | None = None
        ours, theirs = socket.socketpair()
        with theirs:
            self._process = _started(theirs.fileno())
        self._pipe = Connection(ours.detach())
        with contextlib.suppress(OSError):  # a process that ended at once is told of by `info`
            self._pipe.send(config)

    @property
    def info(self) -> DeviceInfo:
        """What is known of the device; waits until it is open.

        Raises:
            DeviceUnavailable: if it cannot be opened.
        """
        if self._info is None:
            answer = self._receive(STARTUP_S)
            if not isinstance(answer, DeviceInfo):
                hangs = self._process.poll() is None
                self.kill()
                if isinstance(answer, DeviceUnavailable):
                    raise answer
                what = f"the device was not open after {STARTUP_S:g} s" if hangs else "its worker process ended at once"
                raise DeviceUnavailable(f"device={self.config.kind}: {what}")
            self._info = answer
        return self._info

    @property
    def opened(self) -> bool:
        """Whether `info` is there without waiting for it, or what is wrong instead."""
        try:
            return self._info is not None or self._pipe.closed or self._pipe.poll(0)
        except OSError:
            return True

    @property
    def alive(self) -> bool:
        """Whether another task can be given."""
        return self._usable and self._process.poll() is None and not self._pipe.closed

    def run(self, task: Task, told: Callable[[str], None], meanwhile: Callable[[], None] = lambda: None) -> Outcome:
        """Run one case; whatever happens to the process becomes the case's outcome.

        Args:
            task: What to run.
            told: Called with the name of each step.
            meanwhile: Called once the worker has the task.

        Raises:
            DeviceUnavailable: if the device cannot be opened.
        """
        _ = self.info  # the first answer is the device's
        try:
            self._pipe.send(task)
        except OSError:
            return self._died("starting")
        meanwhile()
        step = "starting"
        while True:
            limit = task.time_limit_s + GRACE_S if step in LAUNCHING else PATIENCE_S
            answer = self._receive(limit)
            if isinstance(answer, str):
                step = answer
                told(step)
            elif isinstance(answer, Outcome):
                self._usable = answer.usable
                return answer
            elif self._process.poll() is None and not self._pipe.closed:
                self.kill()
                return Outcome("timeout", f"still {step} after {limit:g} s; the worker process was ended")
            else:
                return self._died(step)

    def close(self) -> None:
        """End the process in good order."""
        with contextlib.suppress(OSError):
            self._pipe.send(None)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(GRACE_S)
        self.kill()

    def kill(self) -> None:
        """End the process, whatever it is doing."""
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        self._pipe.close()

    def _receive(self, limit: float) -> object:
        """The next message; `None` if the time is over or the process is gone."""
        try:
            return self._pipe.recv() if self._pipe.poll(limit) else None
        except (EOFError, OSError):
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(GRACE_S)
            self._pipe.close()
            return None

    def _died(self, step: str) -> Outcome:
        self.kill()
        code = self._process.returncode
        how = f"by signal {signal.Signals(-code).name}" if code < 0 else f"with exit status {code}"
        return Outcome("crashed", f"the worker process ended {how} while {step}")


def _started(descriptor: int) -> subprocess.Popen[bytes]:
    """The process; it never hears of Ctrl-C, which reaches all of the program's processes: the parent ends it."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # as it is here, so it is in the child
    try:
        return subprocess.Popen(
            [sys.executable, "-m", "runner.sweep.worker", str(descriptor)],
            pass_fds=(descriptor,),
            env=_environment(),
            stdin=subprocess.DEVNULL,
        )
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _environment() -> dict[str, str]:
    """Ours, with the package importable from wherever it was imported here."""
    root = str(Path(__file__).resolve().parents[2])
    paths = [root, *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}


def serve(descriptor: int) -> None:
    """The worker's side: open the device, then run tasks until there are no more."""
    _die_with_parent()
    pipe = Connection(descriptor)
    try:
        device = open_device(pipe.recv())
    except DeviceUnavailable as e:
        with contextlib.suppress(OSError):
            pipe.send(e)
        return
    except (EOFError, ConnectionError):
        return  # the parent is gone
    try:
        pipe.send(device.info)
        while (task := pipe.recv()) is not None:
            outcome = attempt(device, task, pipe.send)
            pipe.send(outcome)
            if not outcome.usable:
                pipe.close()
                os._exit(1)  # a kernel may still run, and leaving the context in good order would wait for it
    except (EOFError, ConnectionError):
        return  # the parent is gone
    finally:
        device.close()


def _die_with_parent() -> None:
    """Have the kernel end this process with the parent: in the middle of a launch nobody looks at the pipe."""
    with contextlib.suppress(OSError, AttributeError):  # where there is no prctl, the next answer ends it
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


if __name__ == "__main__":
    serve(int(sys.argv[1]))
