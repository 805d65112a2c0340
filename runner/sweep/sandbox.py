"""A sandbox for the worker (`device.sandbox=true`): bubblewrap around it, and limits that it sets for itself.

There is no network, no other process, no terminal and no file that can be written but in a scratch folder in memory.
Everything can be read. The compiler and references in Python are not in it: the parent imports these, too.
"""

from __future__ import annotations

import contextlib
import os
import resource
import shutil
import subprocess
from pathlib import Path

from runner.errors import DeviceUnavailable

SCRATCH = "/dev/shm"  # noqa: S108  (a new one)
_FILE_BYTES = 1 << 30
_PROCESSES = 4096  # and threads
_SHARE = 0.75  # of the host's memory


def command() -> list[str]:
    """The words before a command that sandbox it; a `DeviceUnavailable` if that is impossible here."""
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
    """Limit what this process, the worker, may take.

    Args:
        memory: Whether to limit its memory, too. CUDA reserves addresses for all memory of the host, so this is not for
            a process that opens a GPU.
    """
    limits = {resource.RLIMIT_FSIZE: _FILE_BYTES, resource.RLIMIT_CORE: 0, resource.RLIMIT_NPROC: _PROCESSES}
    if memory:
        limits[resource.RLIMIT_AS] = int(_SHARE * os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    for what, most in limits.items():
        with contextlib.suppress(ValueError, OSError):  # it is lower already
            resource.setrlimit(what, (most, most))
