"""What the tests of interrupted sweeps share: real processes, which are watched by the files that they leave."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
from support import ROOT

OWN = Path(__file__).parent / "kernels"
PATIENCE_S = 100


def environment(**further):
    """Of a process that finds the package, wherever it is started."""
    return {**os.environ, "PYTHONPATH": str(ROOT), **further}


def start(directory, *arguments, module="runner", **further):
    """`python -m runner ...`, in a process group of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", module, *map(str, arguments)],
        cwd=directory, env=environment(**further), text=True, start_new_session=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


def call(directory, *arguments, module="runner", **further):
    """Likewise, and wait for its end."""
    process = start(directory, *arguments, module=module, **further)
    out, err = process.communicate(timeout=PATIENCE_S)
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def resume(directory, folder, **further):
    """`python -m runner.resume FOLDER`."""
    return call(directory, folder, module="runner.resume", **further)


def wait_until(reached, process=None):
    """Wait for what a process is to leave; it may have ended by then."""
    deadline = time.monotonic() + PATIENCE_S
    while not reached():
        if process is not None and process.poll() is not None:
            return
        assert time.monotonic() < deadline, "it did not come to that"
        time.sleep(0.002)


def kill_all(process):
    """End a program and all that it started, as by kill -9 of its group."""
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


def members(process):
    """The processes of a program's group that are still there; a compiler takes a moment to end."""
    found = subprocess.run(
        ["pgrep", "-g", str(process.pid), "-r", "R,S,D"], capture_output=True, text=True, check=False
    )
    return found.stdout.split()


def table(folder):
    """results.csv, as text where exactness matters."""
    return pd.read_csv(folder / "results.csv", dtype={"value": str, "reference": str, "block": str, "mask": str})


def content(folder):
    """All files of a folder, with their bytes."""
    return {p.relative_to(folder): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}
