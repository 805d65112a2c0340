"""The GPUs of this machine, and the environment variables that make a process see one of them alone."""

from __future__ import annotations

import itertools
import os
from collections.abc import Sequence

from runner.errors import UsageError


def visible() -> list[str]:
    """List the GPUs that this process may use.

    Returns:
        The entries of `CUDA_VISIBLE_DEVICES`, or the UUIDs of all GPUs; empty without NVML.
    """
    if (variable := os.environ.get("CUDA_VISIBLE_DEVICES")) is not None:  # an empty value or -1 hides all GPUs
        return list(itertools.takewhile(lambda entry: entry not in ("", "-1"), map(str.strip, variable.split(","))))
    try:
        import pynvml  # noqa: PLC0415  (optional)

        pynvml.nvmlInit()
        handles = [pynvml.nvmlDeviceGetHandleByIndex(i) for i in range(pynvml.nvmlDeviceGetCount())]
        return [str(pynvml.nvmlDeviceGetUUID(handle)) for handle in handles]
    except Exception:  # noqa: BLE001  (NVML may be missing, and raises its own classes)
        return []


def environments(chosen: Sequence[str]) -> list[dict[str, str]]:
    """The environment variables of a process for each chosen GPU.

    Args:
        chosen: Numbers or UUIDs of GPUs; empty for all.

    Returns:
        One mapping for each GPU; empty if the machine has none and none was chosen.

    Raises:
        UsageError: A chosen GPU does not exist, or is listed twice.
    """
    available = visible()
    gpus = []
    for name in chosen:
        if name.isdecimal() and int(name) >= len(available):
            numbers = f"0 to {len(available) - 1}" if len(available) > 1 else "0" if available else "none"
            raise UsageError(f"hydra.launcher.gpus={name}: no such GPU on this machine; available: {numbers}")
        if not name.isdecimal() and not name.startswith(("GPU-", "MIG-")):  # CUDA would hide all GPUs
            raise UsageError(f"hydra.launcher.gpus={name}: expected a number, or a UUID (GPU-..., MIG-...)")
        gpus.append(available[int(name)] if name.isdecimal() else name)
    if twice := next((gpu for gpu in gpus if gpus.count(gpu) > 1), ""):
        raise UsageError(
            f"hydra.launcher.gpus: {twice} is listed twice; two workers on one GPU disturb each other's times"
        )
    return [{"CUDA_VISIBLE_DEVICES": gpu} for gpu in gpus or available]
