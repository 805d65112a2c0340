"""The pictures of docs/kernels.md, and in words what is seen in each.

Those of shuffles are measured: the kernel runs on the CPU device. Those of memory follow from the accesses that the
kernel's YAML declares. A kernel that no rule is made for has no picture.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kernel_page import drawings, memory, tiles, vectors, words
from kernel_page.drawings import Who
from kernel_page.file import Picture, picture
from kernel_page.words import ALL, EVEN, LOWER, UPPER
from runner.device import Compiler, Device
from runner.device.opening import compiler_for, open_device
from runner.errors import RunnerError
from runner.kernel.declaration import Kernel
from runner.kernel.lanes import received
from runner.kernel.parameters import written
from runner.kernel.resolve import make
from runner.report import draw_lanes
from runner.settings import DeviceConfig
from runner.sweep.upload import contents, launch_once

_CPU = DeviceConfig(kind="cpu", threads=2)

# Of shuffles: the cases that are drawn, in steps; of a kernel that is not here, its defaults.
EXAMPLES: dict[str, Sequence[Mapping[str, Any]]] = {
    "shflBroadcast": [{"src_lane": 2, "width": 16}],
    "shflUp": [{"delta": 2, "width": 16}],
    "shflDown": [{"delta": 2, "width": 16}],
    "shflWrap": [{"offset": 2, "width": 16}, {"offset": -2, "width": 16}],
    "shflXor": [{"lane_mask": 1, "width": 16}, {"lane_mask": 16, "width": 16}],
    "shflXorArray": [{"block": 4, "size": 16, "per_thread": 4, "lane_mask": 1}],
    "shflSwap": [{"block": 4, "size": 16, "per_thread": 4, "lane_mask": 1, "first": 0, "second": 3}],
}


@dataclass(frozen=True)
class Steps:
    """Several launches of a shuffle that together show how another kernel goes on."""

    title: str
    shuffle: str
    cases: Sequence[Mapping[str, Any]]


STEPS = {
    "butterfly": Steps(
        "The butterfly: after five exchanges each lane has the sum of all",
        "shflXor",
        [{"lane_mask": 16 >> n} for n in range(5)],
    ),
    "tree": Steps(
        "The tree: after five steps lane 0 has the sum of all",
        "shflDown",
        [{"delta": 16 >> n} for n in range(5)],
    ),
    "scan": Steps(
        "The scan: a lane adds what it receives, unless it kept its own",
        "shflUp",
        [{"delta": 1 << n, "width": 8} for n in range(3)],
    ),
    "broadcast": Steps("The broadcast: lane 0 tells all others", "shflBroadcast", [{"src_lane": 0}]),
}

# What is drawn for kernels whose YAML does not say it.
SHOWN = {
    **dict.fromkeys(("warpReduce", "reduceShfl", "reduceShflUnroll"), "butterfly"),
    "blockReduce": "tree",
    "warpScan": "scan",
    "bcast": "broadcast",
    **dict.fromkeys(("reduceGmem", "reduceGmemUnroll", "reduceThreadFence"), "folding"),
    **dict.fromkeys(("reduceSmem", "reduceSmemDyn", "reduceSmemUnroll", "reduceSmemUnrollDyn"), "folding"),
    **dict.fromkeys(("stencil1dConstant", "stencil1dLdg", "stencil1dRestrict"), "halo"),
    **dict.fromkeys(("stencil1dVector", "stencil1dShfl"), "vectors"),
    **dict.fromkeys(("reduceVector", "reduceInFlight", "reduceGridStride", "reduceRedux", "reduceLastBlock"), "tiles"),
    **dict.fromkeys(("reduceStream", "reduceFlagged", "reducePacked", "reduceBulk"), "tiles"),
}


# Which lanes of the first warp do what, in the counterexamples.
WAITING: dict[str, tuple[str, Sequence[tuple[str, Sequence[Who]]]]] = {
    "barrierDivergent": (
        "A barrier in two branches",
        [
            ("As it is", [Who("waits at one barrier", EVEN, EVEN), Who("waits at another", ALL - EVEN, ALL - EVEN)]),
            ("REPAIRED", [Who("waits at the barrier", ALL)]),
        ],
    ),
    "maskWithoutCaller": (
        "Callers that the mask does not name",
        [
            ("As it is", [Who("is named by the mask", LOWER), Who("calls the shuffle", ALL, UPPER)]),
            ("REPAIRED", [Who("is named by the mask", LOWER), Who("calls the shuffle", LOWER)]),
        ],
    ),
    "maskNamesAbsent": (
        "Lanes that the mask names, but that do not call",
        [
            (
                "As it is",
                [
                    Who("is named by the mask", ALL, UPPER),
                    Who("calls the shuffle", LOWER),
                    Who("is at the barrier", UPPER),
                ],
            ),
            ("REPAIRED", [Who("is named by the mask", LOWER), Who("calls the shuffle", LOWER)]),
        ],
    ),
}


@dataclass
class Studio:
    """Makes pictures, each once."""

    kernels: Mapping[str, Kernel]
    _device: Device = field(default_factory=lambda: open_device(_CPU))
    _compiler: Compiler | None = None
    _made: dict[str, Picture] = field(default_factory=dict)

    def picture(self, kernel: Kernel) -> Picture | None:
        """The picture of a kernel; kernels that would look the same have one in common."""
        shown = SHOWN.get(kernel.name, kernel.name)
        if shown not in self._made:
            made = self._make(kernel, shown)
            if made is None:
                return None
            same = next((p for p in self._made.values() if p.svg == made.svg), made)
            self._made[shown] = same
        return self._made[shown]

    def refusal(self, kernel: Kernel) -> str:
        """What the CPU device says of a kernel that breaks a rule of CUDA, at its defaults."""
        try:
            self.launch(kernel, {})
        except RunnerError as e:
            return str(e)
        return ""

    def close(self) -> None:
        """Give the device back."""
        self._device.close()

    def _make(self, kernel: Kernel, shown: str) -> Picture | None:
        if shown in STEPS:
            steps = STEPS[shown]
            return self._lanes(self.kernels[steps.shuffle], steps.cases, shown, steps.title)
        if shown == "folding":
            return picture(shown, drawings.folding(), _FOLDING)
        if shown == "halo":
            return picture(shown, drawings.halo(), _HALO)
        if shown == "vectors":
            return picture(shown, vectors.vectors(), vectors.WORDS)
        if shown == "tiles":
            return picture(shown, tiles.tiles(), tiles.WORDS)
        if shown in WAITING:
            return picture(shown, drawings.waiting(*WAITING[shown]), words.who_does(*WAITING[shown]))
        if kernel.shuffle and not kernel.gpu_only:  # the CPU device runs it for its picture
            return self._lanes(kernel, EXAMPLES.get(kernel.name, [{}]), shown)
        if any(a.memory == "shared" for a in kernel.accesses):
            return memory.banks(kernel)
        return memory.sectors(kernel) if kernel.accesses else None

    def _lanes(self, kernel: Kernel, cases: Sequence[Mapping[str, Any]], stem: str, title: str = "") -> Picture:
        rows = [self.measured(kernel, given) for given in cases]
        told = [f"{row['shuffle']}: {words.moved(row)}" for row in rows]
        title = title or f"{kernel.name}: which lane's register each lane received"
        return picture(stem, draw_lanes(rows, f"{title} (measured)"), f"{title}. {'. '.join(told)}.")

    def measured(self, kernel: Kernel, given: Mapping[str, Any]) -> dict[str, Any]:
        """A row of results.csv, as far as a lane picture reads it."""
        if kernel.shuffle is None:
            raise ValueError(f"{kernel.name} declares no shuffle")
        case = make(kernel, given, 0)
        block = int(case.variables["block"])
        elements = block * int(case.variables.get("per_thread", 1))
        got = received(contents(case)["in"][:elements], self.launch(kernel, given)["out"][:elements])
        kinds = {p.name: p.kind for p in kernel.parameters}
        values = {name: written(kinds[name], value) for name, value in case.parameters}
        for name in ("size", "dtype"):  # they change nothing of what is drawn
            values.pop(name, None)
        argument = kernel.shuffle.argument(case.variables)
        cell = " ".join("?" if i is None else str(i) for i in got)
        shuffle = f"{kernel.shuffle.operation} {argument}"
        return {"kernel": kernel.name, **values, "shuffle": shuffle, "received": cell, "device": "cpu"}

    def launch(self, kernel: Kernel, given: Mapping[str, Any]) -> Mapping[str, Any]:
        """What one launch on the CPU device leaves in the arrays.

        Raises:
            RunnerError: or one of its children, if it refuses.
        """
        self._compiler = self._compiler or compiler_for(_CPU, self._device.info)
        case = make(kernel, given, 0)
        if case.excluded:
            raise RunnerError(f"{case.label}: {case.excluded}")
        outputs, _ = launch_once(self._device, case, self._compiler.compile(case.source()))
        return outputs


_FOLDING = (
    "Blocks of 16 and of 11 threads are folded. Of 16 places, the upper 8 are added onto the lower 8, then 4 onto 4, "
    "2 onto 2, and 1 onto 1, which holds the sum of all 16. Of 11 places 5 are added and the middle one stays, which "
    "leaves 6, then 3, then 2, then 1, the sum of all 11."
)
_HALO = (
    "A block of 8 threads loads 16 elements into shared memory: each thread its own, and threads 0 to 3 also one of "
    "the 4 elements before the block's and one of the 4 behind. Thread 3 then reads 4 elements on each side of its "
    "own, from the left halo up to its block's last."
)
