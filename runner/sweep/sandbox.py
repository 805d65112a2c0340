"""The worker's sandbox (`device.sandbox=true`): bubblewrap, and resource limits that the worker sets for itself.

The worker can read every file, and write only to a scratch folder in memory. It has no network and no terminal and sees
no other process. The compiler runs outside. References in Python are imported inside, as nobody but the worker
imports them.
"""

from __future__ import annotations

import contextlib
import os
import resource
import shutil
import subprocess
from pathlib import Path

from runner.errors import DeviceUnavailable

SCRATCH = "/dev/shm"  # noqa: S108  (a tmpfs of the sandbox's own)
_FILE_BYTES = 1 << 30
_PROCESSES = 4096  # and threads
_SHARE = 0.75  # of the host's memory


def command() -> list[str]:
    """The command prefix that runs a command in the sandbox.

    Raises:
        DeviceUnavailable: Bubblewrap is not installed, or cannot create a sandbox here.
    """
    bwrap = shutil.which("bwrap")
    if bwrap is None:
        raise DeviceUnavailable("device.sandbox=true: bubblewrap is not installed (Debian: apt-get install bubblewrap)")
    gpus = [word for path in sorted(Path("/dev").glob("nvidia*")) for word in ("--dev-bind", str(path), str(path))]
    words = [
        *(bwrap, "--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL"),
        *("--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", *gpus, "--tmpfs", SCRATCH),
        *("--setenv", "TMPDIR", SCRATCH, "--"),
    ]
    tried = subprocess.run([*words, "true"], capture_output=True, text=True, check=False, timeout=60)
    if tried.returncode:
        said = (tried.stderr.strip().splitlines() or ["it gave no reason"])[-1]
        raise DeviceUnavailable(f"device.sandbox=true: bubblewrap cannot make a sandbox here: {said}")
    return words


def limit(*, memory: bool) -> None:
    """Limit the file size, processes and core dumps of this process, the worker.

    Args:
        memory: Whether to limit its address space, too. Pass False on a GPU, since CUDA reserves addresses for all
            memory of the host.
    """
    limits = {resource.RLIMIT_FSIZE: _FILE_BYTES, resource.RLIMIT_CORE: 0, resource.RLIMIT_NPROC: _PROCESSES}
    if memory:
        limits[resource.RLIMIT_AS] = int(_SHARE * os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    for what, most in limits.items():
        with contextlib.suppress(ValueError, OSError):  # the limit is lower already
            resource.setrlimit(what, (most, most))
