"""Where and with what a sweep was run: enough to explain a difference.

It names no person and no machine: no absolute path, and no host name unless asked for.
"""

from __future__ import annotations

import importlib.metadata
import os
import platform
import re
import shlex
import subprocess
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from runner import __version__, noise
from runner.device import DeviceInfo
from runner.device.opening import processor

PACKAGES = ("hydra-core", "omegaconf", "numpy", "pandas", "matplotlib", "jinja2", "pycuda", "cuda-core", "nvidia-ml-py")


def gather(arguments: Sequence[str], *, record_host: bool) -> dict[str, Any]:
    """What is known before a device is open.

    Args:
        arguments: The command line after the program's name.
        record_host: Whether to name the machine and the working directory.
    """
    found: dict[str, Any] = {
        "command": shlex.join(["python", "-m", "runner", *(_relative(a) for a in arguments)]),
        "started_utc": datetime.now(UTC).isoformat(timespec="seconds"),
        "runner": __version__,
        "git": _git(),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "cpu": f"{processor()}, {os.cpu_count()} cores",
        "packages": {name: v for name in PACKAGES if (v := _version(name))},
        "devices": {},
    }
    if record_host:
        found["host"] = platform.node()
        found["directory"] = str(Path.cwd())
    return found


def device(info: DeviceInfo) -> dict[str, Any]:
    """The entry of a device in environment.json."""
    return {
        "kind": info.kind,
        "name": info.name,
        "arch": info.arch,
        "peak_gbps": info.peak_gbps,
        "l2_bytes": info.l2_bytes,
        "shared_limit": info.shared_limit,
        "memory_bytes": info.memory_bytes,
        **info.details,
        "versions": info.versions,
        "noise": noise.known(info),
    }


_ABSOLUTE = re.compile(r"(?<![\w.)])/[\w.+~ -]+(?:/[\w.+~ -]+)*")


def _relative(argument: str) -> str:
    """Make absolute paths relative to the working directory; of others, only the last part stays."""
    if argument.startswith("/"):  # an option's value is one path, whatever characters it has
        return _shortened(Path(argument))
    return _ABSOLUTE.sub(lambda found: _shortened(Path(found[0])), argument)


def _shortened(path: Path) -> str:
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else f".../{path.name}"


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _git() -> dict[str, Any] | None:
    """Commit of the runner's checkout; `None` if it is installed without one."""
    root = Path(__file__).resolve().parents[1]
    if not (root / ".git").exists():
        return None
    commit = _output("git", "-C", str(root), "rev-parse", "HEAD")
    status = _output("git", "-C", str(root), "status", "--porcelain", "--untracked-files=no")
    return {"commit": commit, "dirty": bool(status)} if commit else None


def _output(*command: str) -> str | None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None
