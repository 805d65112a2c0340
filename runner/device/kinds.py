"""The kinds of devices: the only module that spells their names, which stand in the column `device`.

Code outside this package asks here instead of comparing with a name.
"""

from __future__ import annotations

from dataclasses import dataclass

CUDA = "cuda"
CPU = "cpu"
AUTO = "auto"  # the first kind below that is present


@dataclass(frozen=True)
class DeviceKind:
    """A kind of device."""

    label: str  # its usual name, for the middle of a sentence
    emulated: bool  # its times are emulated and say nothing about a GPU
    compilers: tuple[str, ...] = ()  # that a user can choose between; empty if there is no choice


# The back end of a kind is the package `runner.device.KIND`. `auto` tries them in this order.
KINDS = {
    CUDA: DeviceKind("a GPU", emulated=False, compilers=("nvcc", "nvrtc")),
    CPU: DeviceKind("the CPU device", emulated=True),
}
CHOICES = (AUTO, *KINDS)


def is_emulated(kind: str) -> bool:
    """Whether times of a kind of device are emulated; an unknown kind counts as hardware."""
    return kind in KINDS and KINDS[kind].emulated


def label(kind: str) -> str:
    """The usual name of a kind of device."""
    return KINDS[kind].label if kind in KINDS else kind


def has_compilers(kind: str) -> bool:
    """Whether a user chooses the compiler for a kind of device."""
    return kind in KINDS and bool(KINDS[kind].compilers)
