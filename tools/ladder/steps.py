"""The ladders: which kernels are their steps, the sweeps that were measured, and each step's best case in them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ladder.files import Row, environment, of_yaml, rows

PAYS = 1.02
"""A step pays at a size where it is at least so many times as fast as the one before: the rounds of the sweeps share a
process, for which docs/compare.md asks for 2 %."""


@dataclass(frozen=True)
class Ladder:
    """A ladder.

    Attributes:
        title: Of its part of the page.
        experiment: Whose kernels are the steps, in order, and whose other swept parameters their configurations.
        sweeps: Of that experiment, by the names of their files.
        copies: Those of the kernels that are no steps but the limit; none where reading alone is the limit.
    """

    title: str
    experiment: str
    sweeps: tuple[str, ...]
    copies: tuple[str, ...] = ()


LADDERS = (
    Ladder("Reductions", "ladder_reduction", ("reduction-int32", "reduction-float32")),
    Ladder("Transposes", "ladder_transpose", ("transpose",), ("copyGmem", "copyVector")),
    Ladder("Stencils", "ladder_stencil", ("stencil",), ("copyVector",)),
)

TO_THE_HOST = "leaves partial sums to the host, whose work is not in the time"
"""What the star beside a step says."""

NUMBERS = (
    "size", "rows", "cols", "median_us", "bytes_read", "bytes_written", "gbps", "registers",
    "occupancy_percent", "bytes_in_flight", "seed",
)  # fmt: skip
NEEDED = (
    "case",
    "binary",
    "seed",
    "kernel",
    "dtype",
    "status",
    "reason",
    "finish",
    "size",
    "rows",
    "cols",
    "median_us",
)
OF_THE_GPU = ("empty_kernel_us",)


@dataclass(frozen=True)
class Sweep:
    """A sweep: its rows, and its environment.json."""

    name: str
    rows: Sequence[Row]
    environment: Mapping[str, Any]

    @property
    def device(self) -> Mapping[str, Any]:
        """The GPU, as the sweep found it."""
        return self.environment["devices"]["cuda"]  # type: ignore[no-any-return]

    @property
    def dtype(self) -> str:
        """Of the elements, in all cases."""
        return next((str(row["dtype"]) for row in self.rows if row["dtype"]), "")

    @property
    def sizes(self) -> list[str]:
        """As they are written, in the order of the sweep."""
        return list(dict.fromkeys(size_of(row) for row in self.rows))


@dataclass(frozen=True)
class Step:
    """A step at one size: its best case, the step that it is measured against, and how many times as fast it is."""

    kernel: str
    row: Row
    against: Row | None

    @property
    def gain(self) -> float | None:
        """The time of the step before over this one's."""
        return None if self.against is None else self.against["median_us"] / self.row["median_us"]

    @property
    def pays(self) -> bool:
        """Whether it is so much faster that it counts; the first, which nothing stands before, does."""
        return self.gain is None or self.gain >= PAYS

    @property
    def whole(self) -> bool:
        """Whether its launch leaves the whole result, and nothing to the host."""
        return bool(self.row["finish"] == "device")


def defined(ladder: Ladder, conf: Path) -> tuple[list[str], list[str]]:
    """The kernels of a ladder, in order, and the parameters of a configuration: those that its experiment sets."""
    path = conf / "experiment" / f"{ladder.experiment}.yaml"
    content = of_yaml(path)
    swept = dict(content["hydra"]["sweeper"]["params"])
    names = [name.strip() for name in swept.pop("kernel").split(",")]
    told_above = ("defaults", "hydra", "on_cpu", "size", "dtype")
    return names, [name for name in (*content, *swept) if name not in told_above]


def read(folder: Path, name: str) -> Sweep:
    """The sweep NAME.csv of a folder, with NAME.json.

    Raises:
        ValueError: if one of them is missing or torn, or no case was right on a GPU; one sentence.
    """
    table = rows(folder / f"{name}.csv", NEEDED, NUMBERS)
    if unsized := [row for row in table if not row["size"]]:
        raise ValueError(f"{name}.csv: a case of {unsized[0]['kernel']} has no size")
    if unseeded := [row for row in table if row["seed"] is None]:
        raise ValueError(f"{name}.csv: a case of {unseeded[0]['kernel']} has no seed")
    if not any(row["status"] == "ok" and row["median_us"] for row in table):
        raise ValueError(f"{name}.csv: no case is ok")
    return Sweep(name, table, environment(folder / f"{name}.json", OF_THE_GPU))


def size_of(row: Row) -> str:
    """A row's size: `4096x4096`, `2^24`."""
    return f"{row['rows']:.0f}x{row['cols']:.0f}" if row["rows"] else power(int(row["size"]))


def power(number: int) -> str:
    """A power of two from 1024 on as such; any other number with commas."""
    return f"2^{number.bit_length() - 1}" if number >= 1024 and number & (number - 1) == 0 else f"{number:,}"


def best(sweep: Sweep, kernel: str, size: str) -> Row | None:
    """The fastest right case of a kernel; `None` if there is none."""
    there = [r for r in sweep.rows if r["kernel"] == kernel and size_of(r) == size and r["status"] == "ok"]
    return min((r for r in there if r["median_us"]), key=lambda r: r["median_us"], default=None)


def shown(sweeps: Mapping[str, Sweep], conf: Path) -> Iterator[tuple[Sweep, Row]]:
    """What is shown of these sweeps: by size, the fastest right case of each kernel of the ladder that has one."""
    for ladder in LADDERS:
        names, _ = defined(ladder, conf)
        for sweep in (sweeps[name] for name in ladder.sweeps if name in sweeps):
            yield from ((sweep, row) for size in sweep.sizes for name in names if (row := best(sweep, name, size)))


def climbed(sweep: Sweep, size: str, names: Sequence[str], previous: Mapping[str, str]) -> list[Step]:
    """The steps that were measured at a size.

    Args:
        sweep: Where.
        size: As `size_of` writes it.
        names: The ladder's kernels, in order, without copies.
        previous: By kernel, the one that its header calls it new against.
    """
    measured = {name: row for name in names if (row := best(sweep, name, size))}
    steps: list[Step] = []
    for name, row in measured.items():
        before = _before(name, names, measured, previous)
        above = steps[-1].row if steps else None
        steps.append(Step(name, row, measured[before] if before else above))
    return steps


def _before(name: str, names: Iterable[str], measured: Mapping[str, Row], previous: Mapping[str, str]) -> str:
    """The nearest measured step that a step is new against; empty where that leaves the ladder."""
    seen = {name}
    before = previous.get(name, "")
    while before in names and before not in measured and before not in seen:
        seen.add(before)
        before = previous.get(before, "")
    return before if before in measured and before not in seen else ""
