"""Which picture each kernel has. Shuffles are measured on the CPU device; the others are drawn or follow from accesses.

A kernel for which there is no rule has no picture.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kernel_page import ideas, memory
from runner.device import Compiler, Device
from runner.device.opening import compiler_for, open_device
from runner.errors import RunnerError
from runner.kernel.declaration import Kernel, written
from runner.kernel.lanes import received
from runner.kernel.resolve import make
from runner.report import draw_lanes
from runner.settings import DeviceConfig
from runner.sweep.run_case import contents, launch_once

_CPU = DeviceConfig(kind="cpu", threads=2)

# The cases of a shuffle that are drawn, a step each; of a kernel that is not here, its defaults.
_ARRAY = {"block": 4, "size": 16, "per_thread": 4, "lane_mask": 1}
EXAMPLES: dict[str, Sequence[Mapping[str, Any]]] = {
    "shflBroadcast": [{"src_lane": 2, "width": 16}],
    "shflUp": [{"delta": 2, "width": 16}],
    "shflDown": [{"delta": 2, "width": 16}],
    "shflWrap": [{"offset": 2, "width": 16}, {"offset": -2, "width": 16}],
    "shflXor": [{"lane_mask": 1, "width": 16}, {"lane_mask": 16, "width": 16}],
    "shflXorArray": [_ARRAY],
    "shflSwap": [{**_ARRAY, "first": 0, "second": 3}],
}

# Launches of one shuffle that together show how other kernels work: the title, the shuffle, its cases.
STEPS: dict[str, tuple[str, str, Sequence[Mapping[str, Any]]]] = {
    "butterfly": (
        "The butterfly: after five exchanges each lane has the sum of all",
        "shflXor",
        [{"lane_mask": 16 >> n} for n in range(5)],
    ),
    "tree": (
        "The tree: after five steps lane 0 has the sum of all",
        "shflDown",
        [{"delta": 16 >> n} for n in range(5)],
    ),
    "scan": (
        "The scan: a lane adds what it receives, unless it kept its own",
        "shflUp",
        [{"delta": 1 << n, "width": 8} for n in range(3)],
    ),
    "broadcast": ("The broadcast: lane 0 tells all others", "shflBroadcast", [{"src_lane": 0}]),
}
IDEAS = {"folding": ideas.folding, "halo": ideas.halo, "vectors": ideas.vectors, "tiles": ideas.tiles}

# The picture that several kernels share.
SHARED = {
    "butterfly": "warpReduce reduceShfl reduceShflUnroll",
    "tree": "blockReduce",
    "scan": "warpScan",
    "broadcast": "bcast",
    "folding": "reduceGmem reduceGmemUnroll reduceThreadFence reduceSmem reduceSmemDyn reduceSmemUnroll "
    "reduceSmemUnrollDyn",
    "halo": "stencil1dConstant stencil1dLdg stencil1dRestrict",
    "vectors": "stencil1dVector stencil1dShfl",
    "tiles": "reduceVector reduceInFlight reduceGridStride reduceRedux reduceLastBlock reduceStream reduceFlagged "
    "reducePacked reduceBulk",
}
_SHOWN = {kernel: stem for stem, kernels in SHARED.items() for kernel in kernels.split()}


@dataclass(frozen=True)
class Picture:
    """A file of docs/pictures: its name without the ending, its content, and what is seen in words."""

    stem: str
    svg: bytes
    alt: str


@dataclass
class Studio:
    """Makes each picture once, and has one CPU device for all."""

    kernels: Mapping[str, Kernel]
    _device: Device = field(default_factory=lambda: open_device(_CPU))
    _compiler: Compiler | None = None
    _made: dict[str, Picture] = field(default_factory=dict)

    def picture(self, kernel: Kernel) -> Picture | None:
        """The picture of a kernel. Kernels whose pictures would look the same share one."""
        stem = _SHOWN.get(kernel.name, kernel.name)
        if stem not in self._made:
            drawn = self._draw(kernel, stem)
            if drawn is None:
                return None
            made = Picture(stem, *drawn)
            self._made[stem] = next((p for p in self._made.values() if p.svg == made.svg), made)
        return self._made[stem]

    def refusal(self, kernel: Kernel) -> str:
        """What the CPU device says of a kernel that breaks a rule of CUDA, with its defaults."""
        try:
            self.launch(kernel, {})
        except RunnerError as e:
            return str(e)
        return ""

    def close(self) -> None:
        """Give the device back."""
        self._device.close()

    def _draw(self, kernel: Kernel, stem: str) -> tuple[bytes, str] | None:
        if stem in IDEAS:
            return IDEAS[stem]()
        if stem in ideas.RULES:
            return ideas.rule(*ideas.RULES[stem])
        if stem in STEPS:
            title, shuffle, cases = STEPS[stem]
            return self._lanes(self.kernels[shuffle], cases, title)
        if kernel.shuffle and not kernel.gpu_only:
            cases = EXAMPLES.get(kernel.name, [{}])
            return self._lanes(kernel, cases, f"{kernel.name}: which lane's register each lane received")
        return memory.picture(kernel) if kernel.accesses else None

    def _lanes(self, kernel: Kernel, cases: Sequence[Mapping[str, Any]], title: str) -> tuple[bytes, str]:
        rows = [self.measured(kernel, given) for given in cases]
        told = [f"{row['shuffle']}: {_sources(row['received'])}" for row in rows]
        return draw_lanes(
            rows, f"{title} (measured)"
        ), f"{title}. Where the lanes' values come from, {'; '.join(told)}."

    def measured(self, kernel: Kernel, given: Mapping[str, Any]) -> dict[str, Any]:
        """A row of results.csv, as far as a lane picture reads it."""
        if kernel.shuffle is None:
            raise ValueError(f"{kernel.name} declares no shuffle")
        case = make(kernel, given, 0)
        elements = int(case.variables["block"]) * int(case.variables.get("per_thread", 1))
        got = received(contents(case)["in"][:elements], self.launch(kernel, given)["out"][:elements])
        kinds = {p.name: p.kind for p in kernel.parameters}
        values = {name: written(kinds[name], value) for name, value in case.parameters if name not in ("size", "dtype")}
        return {
            "kernel": kernel.name,
            **values,
            "shuffle": f"{kernel.shuffle.operation} {kernel.shuffle.argument(case.variables)}",
            "received": " ".join("?" if i is None else str(i) for i in got),
            "device": self._device.info.kind,
        }

    def launch(self, kernel: Kernel, given: Mapping[str, Any]) -> Mapping[str, Any]:
        """What one launch on the CPU device leaves in the arrays.

        Raises:
            RunnerError: if the device refuses the kernel.
        """
        self._compiler = self._compiler or compiler_for(_CPU, self._device.info)
        case = make(kernel, given, 0)
        if case.excluded:
            raise RunnerError(f"{case.label}: {case.excluded}")
        outputs, _ = launch_once(self._device, case, self._compiler.compile(case.source()))
        return outputs


def _sources(received: str) -> str:
    """The lanes that values came from, in short: `0-1, 0-13`; the beginning is enough where there are many runs."""
    told = ideas.ranges([int(word) if word.isdecimal() else -1 for word in received.split()]).split(", ")
    return ", ".join(told if len(told) <= 8 else [*told[:6], "..."])
