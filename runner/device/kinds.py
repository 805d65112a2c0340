"""The kinds of devices, by the word that stands in the column `device`: the only place that spells them out.

Whoever reads a folder asks here what a row's device was; nobody outside this package compares with a kind's name.
"""

from __future__ import annotations

from dataclasses import dataclass

CUDA = "cuda"
CPU = "cpu"
AUTO = "auto"  # a GPU where one can be opened, else the CPU device


@dataclass(frozen=True)
class DeviceKind:
    """A kind of device.

    Attributes:
        label: What people call it, for the middle of a sentence.
        emulated: Whether its times are those of an emulation, and so say nothing about a GPU.
    """

    label: str
    emulated: bool


KINDS = {CUDA: DeviceKind("a GPU", emulated=False), CPU: DeviceKind("the CPU device", emulated=True)}
CHOICES = (AUTO, *KINDS)


def is_emulated(kind: str) -> bool:
    """Whether times of a kind of device are emulated; a kind that nobody knows is taken for hardware."""
    return kind in KINDS and KINDS[kind].emulated


def label(kind: str) -> str:
    """What people call a kind of device."""
    return KINDS[kind].label if kind in KINDS else kind
