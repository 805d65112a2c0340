"""Each kernel's picture: a shuffle is measured on the CPU device, accesses are counted there, DRAWN is drawn by hand.

A kernel for which there is no rule has no picture.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kernel_page import memory
from runner.device import Compiler, Device
from runner.device.config import DeviceConfig
from runner.device.kinds import compiler_for, open_device
from runner.errors import RunnerError
from runner.kernel.declaration import Kernel, value_text
from runner.kernel.lanes import received
from runner.kernel.resolve import make
from runner.report import draw_lanes
from runner.sweep.trial import contents, launch_once

_CPU = DeviceConfig(kind="cpu", threads=2)

# The cases that a shuffle's picture shows, one step each. Default: the kernel's defaults.
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

# Launches of one shuffle that show, step by step, how another kernel works: the title, the shuffle, its cases.
STEPS: dict[str, tuple[str, str, Sequence[Mapping[str, Any]]]] = {
    "butterfly": (
        "The butterfly: after five exchanges each lane has the sum of all lanes",
        "shflXor",
        [{"lane_mask": 16 >> n} for n in range(5)],
    ),
    "tree": (
        "The tree: after five steps lane 0 has the sum of all lanes",
        "shflDown",
        [{"delta": 16 >> n} for n in range(5)],
    ),
    "scan": (
        "The scan: a lane adds the value it receives, unless it kept its own",
        "shflUp",
        [{"delta": 1 << n, "width": 8} for n in range(3)],
    ),
    "broadcast": ("The broadcast: all lanes receive lane 0's register", "shflBroadcast", [{"src_lane": 0}]),
}

# Pictures that are drawn by hand: files of docs/pictures, and what they show in words.
DRAWN = {
    "folding": "Blocks of 16 and 11 threads reduce their elements. With 16, the upper 8 elements are added to the "
    "lower 8, then 4 to 4, 2 to 2 and 1 to 1. With 11, 5 are added and the middle one waits; 6, 3, 2 and 1 remain.",
    "halo": "A block of 8 threads loads 16 elements into shared memory: each thread its own, and threads 0 to 3 also "
    "one of the 4 elements before and one of the 4 elements after. Thread 3 reads 4 elements on each side of its own.",
    "vectors": "Five threads have a vector of 4 elements each. Thread 2 computes outputs 8 to 11. It needs inputs 4 to "
    "15, the vectors of threads 1, 2 and 3.",
    "tiles": "Above, one tile of a block of 4 threads: thread 0 loads elements 0 to 3 as one vector, thread 1 the next "
    "four, and so on; a second round of vectors is requested before the first has arrived. Below, 8 tiles: with one "
    "tile per block, blocks 0 to 7 take one each; with 4 blocks and a stride, block 0 takes tiles 0 and 4.",
    "barrierDivergent": "A barrier in two branches. Broken: even lanes wait at one barrier and odd lanes at another. "
    "Repaired: all lanes wait at the same barrier.",
    "maskWithoutCaller": "Callers that the mask does not name. Broken: the mask names lanes 0 to 15, but all 32 lanes "
    "call the shuffle. Repaired: only lanes 0 to 15 call it.",
    "maskNamesAbsent": "Lanes that the mask names but that do not call. Broken: the mask names all 32 lanes, but only "
    "lanes 0 to 15 call the shuffle; the others are at the barrier. Repaired: the mask names lanes 0 to 15.",
}
HAND = Path(__file__).resolve().parents[2] / "docs" / "pictures"

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
    "setRowReadCol": "setRowReadColDyn", "setRowReadColDynPad": "setRowReadColPad", "transposeSmem": "transposeSmemDyn",
}  # fmt: skip
_SHOWN = {kernel: stem for stem, kernels in SHARED.items() for kernel in kernels.split()}


@dataclass(frozen=True)
class Picture:
    """A file of docs/pictures: its stem, its content, and its alternative text."""

    stem: str
    svg: bytes
    alt: str


@dataclass
class Studio:
    """Makes each picture once, with one CPU device."""

    kernels: Mapping[str, Kernel]
    _device: Device = field(default_factory=lambda: open_device(_CPU))
    _compiler: Compiler | None = None
    _made: dict[str, Picture] = field(default_factory=dict)

    def picture(self, kernel: Kernel) -> Picture | None:
        """A kernel's picture, or `None`. Kernels with equal pictures share one."""
        stem = _SHOWN.get(kernel.name, kernel.name)
        if stem not in self._made:
            drawn = self._draw(kernel, stem)
            if drawn is None:
                return None
            made = Picture(stem, *drawn)
            self._made[stem] = next((p for p in self._made.values() if p.svg == made.svg), made)
        return self._made[stem]

    def refusal(self, kernel: Kernel) -> str:
        """The CPU device's error for a counterexample with its defaults."""
        if kernel.family == "race":  # which the plain CPU device does not see
            checked = DeviceConfig(kind="checked", threads=1)
            device = open_device(checked)
            studio = Studio(self.kernels, device, compiler_for(checked, device.info))
            return studio._said(kernel)
        return self._said(kernel)

    def _said(self, kernel: Kernel) -> str:
        try:
            self.launch(kernel, {})
        except RunnerError as e:
            return str(e)
        return ""

    def close(self) -> None:
        """Give the device back."""
        self._device.close()

    def _draw(self, kernel: Kernel, stem: str) -> tuple[bytes, str] | None:
        if stem in DRAWN:
            return (HAND / f"{stem}.svg").read_bytes(), DRAWN[stem]
        if stem in STEPS:
            title, shuffle, cases = STEPS[stem]
            return self._lanes(self.kernels[shuffle], cases, title)
        if kernel.shuffle and not kernel.gpu_only:
            cases = EXAMPLES.get(kernel.name, [{}])
            return self._lanes(kernel, cases, f"{kernel.name}: which lane's register each lane received")
        return memory.picture(self.kernels.get(stem, kernel)) if memory.is_drawn(kernel) else None

    def _lanes(self, kernel: Kernel, cases: Sequence[Mapping[str, Any]], title: str) -> tuple[bytes, str]:
        rows = [self.measured(kernel, given) for given in cases]
        sources = "; ".join(f"{row['shuffle']}: {_sources(row['received'])}" for row in rows)
        return draw_lanes(rows, f"{title} (measured)"), f"{title}. Source lanes, {sources}."

    def measured(self, kernel: Kernel, given: Mapping[str, Any]) -> dict[str, Any]:
        """The columns of results.csv that a lane picture needs."""
        if kernel.shuffle is None:
            raise ValueError(f"{kernel.name} declares no shuffle")
        case = make(kernel, given, 0)
        elements = int(case.variables["block"]) * int(case.variables.get("per_thread", 1))
        got = received(contents(case)["in"][:elements], self.launch(kernel, given)["out"][:elements])
        kinds = {p.name: p.kind for p in kernel.parameters}
        values = {
            name: value_text(kinds[name], value) for name, value in case.parameters if name not in ("size", "dtype")
        }
        return {
            "kernel": kernel.name,
            **values,
            "shuffle": f"{kernel.shuffle.operation} {kernel.shuffle.argument(case.variables)}",
            "received": " ".join("?" if i is None else str(i) for i in got),
            "device": self._device.info.kind,
        }

    def launch(self, kernel: Kernel, given: Mapping[str, Any]) -> Mapping[str, Any]:
        """The arrays after one launch on the CPU device.

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
    """The source lanes in short, such as `0-1, 0-13`; of many runs, the first six."""
    runs = memory.ranges([int(word) if word.isdecimal() else -1 for word in received.split()]).split(", ")
    return ", ".join(runs if len(runs) <= 8 else [*runs[:6], "..."])
