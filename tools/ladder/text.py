"""The words of docs/ladder.md: what it is, how it was made, and of each step what is new, what it gained, and why."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from kernel_page import header
from kernel_page.sections import prose, relative

from ladder.counters import FILE, NOTICED, WAITS, Counted
from ladder.files import Row
from ladder.reasons import Reason
from ladder.steps import PAYS, Step, Sweep
from ladder.tables import WAITING, cells
from runner.kernel.declaration import Kernel

INTRODUCTION = """\
# The ladders

<!-- Written by `{command}`; what is changed here by hand is lost. -->

Each ladder begins with a simple kernel and ends, where arrays are large, at the limit of the hardware; a step adds
one idea to the one before. For each step: what is new, what it gained on this GPU and why, and how far from the limit
it is. Steps that did not pay are here, too. [The kernels](kernels.md) are explained one by one elsewhere, with the
words for a GPU's parts; how the last steps compare with CUB, cuBLAS, CuPy and PyTorch is told [beside their
tables]({limits}).

How to read it:

- A step stands here with its own fastest case among the swept configurations, at each size anew; the sweep's table
  has the others. So a step with more configurations draws more often, which favours it a little, and a gain may be
  that of a configuration that the step before did not have. `blocks` is the most that are launched: a small array
  needs fewer.
- *Against the step before* is the time of the step that a kernel's header calls it new against, over its own: above 1
  it is faster. That step is the row above, where no name says otherwise.
- A step **pays** at a size where it is at least {percent:.0f} % faster: the rounds of these sweeps share a process,
  and then a change must be so large to count ([comparing runs](compare.md#how-it-is-decided)). One that pays at no
  size **did not pay**.
- The limit of a sum is an empty kernel's time in the same sweep, and the time to read the array at the best bandwidth
  of merely reading, which `benchmarks/reduction.py` measured ([table]({reading})): that of the largest array, so a
  kernel that only reads does not reach it where arrays are small. The limit of a transpose or a stencil is the
  fastest copy of the same size in the same sweep; the driver's own is hardly faster anywhere ([tables]({limits})).
- Times are medians of single launches with a cold L2, as [results.md](results.md#how-it-is-measured) says. The flush
  before each leaves L2 full of changed lines, which must be written back before they make room.

What is said of a launch, in *Counted* and in the second table of a size:

- *Registers*: of a thread. *Occupancy*: how many of the warps that a multiprocessor can hold, it holds. *KiB in
  flight*: what loads may have under way on a multiprocessor at once, calculated from what the source asks for. (With
  `unroll=8` and 32 registers there is no room for it: the compiler asks for half, and then for the other half.)
- What follows was counted by Nsight Compute, in a launch of that very case, with empty caches. *Instructions an
  element*: those of warps, times 32. *Sectors*: how many of 32 bytes a warp's request to global memory moves, loads
  before stores; side by side they are 4 for elements of 4 bytes, and 16 for vectors of 16. *Wavefronts*: the passes
  that one to shared memory needs; 1 for 4 bytes a thread and 4 for 16 is best, and below 1 no lane of some warps
  takes part. *L1 hits*: the share of the loaded sectors that the L1 cache had.
- *A warp waits for*: its stall reasons from {noticed:.0f} % of its time on. Memory is Nsight's long scoreboard and LG
  throttle; shared memory its short scoreboard and MIO throttle, where shuffles wait, too; barrier; fence its membar;
  stores its drain: at its end it waits for them; instructions its no instruction, branch resolving and IMC miss: for
  what to do next; arithmetic its wait and math pipe throttle. What is missing to 100 is being issued, waiting for its
  turn, and smaller reasons; each was counted in a replay of its own, so a line may also add up to more, and shares
  differ by some per cent from count to count. These are shares of a time that shrinks from step to step: one may grow
  while a kernel becomes faster, and a sum at its limit waits for memory alone.
- A reason tells a mechanism. Where it says *meant* or *should*, nobody has measured that it is so.
"""


def made_by(sweeps: Sequence[Sweep], folder: Path, page: Path) -> Iterator[str]:
    """How the sweeps were made: a list, and the table of what ran where."""
    yield "\n## How it was measured\n"
    counters = relative(page.parent / below(folder) / FILE, page)
    yield f"`sh docs/ladder.sh {folder.as_posix()}` ran these sweeps, each with all its cases side by side, and then"
    yield f"`tools/count_ladder.py` counted ([csv]({counters})):\n"
    yield "| sweep | date (UTC) | GPU | driver | CUDA | command |\n|---|---|---|---|---|---|"
    for sweep in sweeps:
        files = [(kind, page.parent / below(folder) / f"{sweep.name}.{kind}") for kind in ("csv", "html", "json")]
        links = ", ".join(f"[{kind}]({relative(path, page)})" for kind, path in files)
        versions = sweep.device.get("versions", {})
        told = (
            f"{sweep.name} ({links})",
            str(sweep.environment.get("started_utc", ""))[:10],
            str(sweep.device["name"]),
            str(versions.get("nvidia_driver", "")),
            str(versions.get("cuda_driver", "")),
            f"`{sweep.environment.get('command', '')}`",
        )
        yield f"| {' | '.join(told)} |"


def unmeasured(lacking: Sequence[str], folder: Path) -> Iterator[str]:
    """The part of a ladder of which there is no sweep yet."""
    yield f"Not measured yet: on a GPU `sh docs/ladder.sh {folder.as_posix()} {' '.join(lacking)}` does it."


def below(folder: Path) -> Path:
    """The folder from docs/ on: where the page lies."""
    return Path(*folder.parts[folder.parts.index("docs") + 1 :]) if "docs" in folder.parts else folder


def section(kernel: Kernel, found: Mapping[tuple[str, str], Step], reason: Reason) -> Iterator[str]:
    """What is told of one step.

    Args:
        kernel: The step.
        found: By dtype and size, the step as measured.
        reason: Why it pays where it does, and why it may not.
    """
    head = header.read(kernel.source)
    against = f" against [{head.previous}](kernels.md#{head.previous.lower()})" if head.previous else ""
    yield f"\n### {kernel.name}\n"
    yield f"**New{against}:** {prose(head.new, kernel)} ([more](kernels.md#{kernel.name.lower()}))\n"
    yield f"**What it gained:** {gained(found)}\n"
    if paid(found):
        yield f"**Why:** {reason.why}"
    elif reason.why_not:
        yield f"**Why not:** {reason.why_not}"


def changed(found: Mapping[tuple[str, str], Step], counted: Mapping[str, Counted]) -> Iterator[str]:
    """What the counters say of a step and the one before it, at the size where the time changed most."""
    changes = [
        (abs(math.log(step.gain)), place, step, step.against)
        for place, step in found.items()
        if step.gain and step.against
    ]
    if not changes:
        return
    _, (dtype, size), step, before = max(changes, key=lambda change: change[0])
    told = "; ".join(_differences(before, step.row, counted)) or "no difference"
    yield f"\n**Counted** at {dtype}, {size}, from {before['kernel']} to {step.kernel}: {told}."


def _differences(before: Row, now: Row, counted: Mapping[str, Counted]) -> list[str]:
    """`KiB in flight 8 → 64`, for each number that is another one."""
    old, new = counted[before["case"]], counted[now["case"]]
    then, there = cells(before, old), cells(now, new)
    pairs = {head: (then[head] or "none", there[head] or "none") for head in then if head != WAITING}
    told = [f"{head} {' → '.join(pair)}" for head, pair in pairs.items() if len(set(pair)) > 1]
    few = f"under {100 * NOTICED:.0f}"
    waits = {
        what: [f"{100 * c.waits[what]:.0f}" if c.waits[what] >= NOTICED else few for c in (old, new)] for what in WAITS
    }
    other = [f"{what} {' → '.join(shares)} %" for what, shares in waits.items() if len(set(shares)) > 1]
    return [*told, *([f"a warp waits for {', '.join(other)} of its time"] if other else [])]


def gained(found: Mapping[tuple[str, str], Step]) -> str:
    """The ratios of a step at each size, in words."""
    if not found:
        return "it has no time in these sweeps."
    measured = _measured(found)
    if not measured:
        return "nothing, it is the first step."
    verdict = "" if paid(found) else "**It did not pay.** "
    return f"{verdict}{_at_each(measured)}.{_more(found)}"


def paid(found: Mapping[tuple[str, str], Step]) -> bool:
    """Whether a step paid at some size; the first one, with nothing before it, did."""
    later = [step for step in found.values() if step.against is not None]
    return any(step.pays for step in later) if later else bool(found)


def _measured(found: Mapping[tuple[str, str], Step]) -> dict[tuple[str, str], float]:
    return {place: step.gain for place, step in found.items() if step.gain is not None}


def _at_each(measured: Mapping[tuple[str, str], float]) -> str:
    """`int32: 1.204 times as fast at 2^20, level at 2^24 (0.998), slower at 2^28 (0.962)`."""
    parts = []
    for dtype in dict.fromkeys(dtype for dtype, _ in measured):
        words = [_word(gain, size) for (of, size), gain in measured.items() if of == dtype]
        parts.append(f"{dtype}: {', '.join(words)}")
    return "; ".join(parts)


def _word(gain: float, size: str) -> str:
    if gain >= PAYS:
        return f"{gain:.3f} times as fast at {size}"
    return f"level at {size} ({gain:.3f})" if gain > 1 / PAYS else f"slower at {size} ({gain:.3f})"


def _more(found: Mapping[tuple[str, str], Step]) -> str:
    """A step that leaves nothing to the host does more than one that does."""
    for step in found.values():
        if step.against and step.against["finish"] == "host" and step.whole:
            return f" It does more than {step.against['kernel']}, which leaves partial sums to the host."
    return ""
