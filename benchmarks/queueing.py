"""Measures how queueing many launches changes the times of single launches on a GPU.

    python benchmarks/queueing.py [--rounds 5]

A sample is a flush of L2, an event, the launch and an event, all queued during the flush. Then the next sample is
queued at once, or its end is waited for first, or the launch also stands behind a kernel that spins until everything
is queued. The three ways take turns. The table has the median and the width of the middle half of all samples, in
microseconds. This is why `CudaDevice.sample` waits. Needs a GPU, PyCUDA and nvcc.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import numpy as np
from numpy.typing import NDArray
from our_kernels import case_of
from pycuda import driver

from runner.device.config import DeviceConfig
from runner.device.cuda.describe import EMPTY
from runner.device.kinds import compiler_for, open_device
from runner.sweep.trial import contents, poison, upload

Times = NDArray[np.float64]
Step = Callable[[], object]

SAMPLES = 64
SPIN_US = 20
SPIN = b"""
.version 6.0
.target sm_50
.address_size 64
.visible .entry spin(.param .u64 cycles)
{
    .reg .u64 %now, %end;
    .reg .pred %more;
    ld.param.u64 %end, [cycles];
    mov.u64 %now, %clock64;
    add.u64 %end, %end, %now;
again:
    mov.u64 %now, %clock64;
    setp.lt.u64 %more, %now, %end;
    @%more bra again;
    ret;
}
\0"""
CASES = (
    ("reduceShflUnroll", {"size": "256Ki", "block": 128, "unroll": 4}),
    ("reduceShflUnroll", {"size": "16Mi", "block": 256, "unroll": 8}),
    ("transposeSmemPad", {"size": "8192x4096", "block": "32x8"}),
)


def timed(before: Step, launch: Step, after: Step, stream: driver.Stream) -> Times:
    """Samples of a launch, each behind `before` and followed by `after`."""
    events = [(driver.Event(), driver.Event()) for _ in range(SAMPLES)]
    for start, end in events:
        before()
        start.record(stream)
        launch()
        end.record(stream)
        after()
    stream.synchronize()
    return np.array([start.time_till(end) * 1000.0 for start, end in events])


def main() -> None:
    """Take turns, and show."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    device: Any = open_device(DeviceConfig(kind="cuda"))
    compiler = compiler_for(DeviceConfig(kind="cuda"), device.info)
    stream = device.stream
    words = 2 * device.info.l2_bytes // 4
    memory = driver.mem_alloc(4 * words)
    spin, empty = (driver.module_from_buffer(m).get_function(n) for m, n in ((SPIN, "spin"), (EMPTY, "empty")))
    spin.prepare([np.uint64])
    empty.prepare([])
    cycles = np.uint64(SPIN_US * device.info.details["clock_mhz"])

    def flush() -> None:
        driver.memset_d32_async(int(memory), 0, words, stream)

    def blocked() -> None:
        flush()
        spin.prepared_async_call((1, 1), (1, 1, 1), stream, cycles)

    ways: dict[str, tuple[Step, Step]] = {
        "all queued": (flush, lambda: None),
        "one at a time": (flush, stream.synchronize),
        "one at a time, behind a spinning kernel": (blocked, stream.synchronize),
    }
    print(f"{device.info.name}, {rounds} rounds of {SAMPLES} samples, median and width of the middle half, us\n")
    with ExitStack() as stack:
        launches: dict[str, Step] = {"an empty kernel": lambda: empty.prepared_async_call((1, 1), (1, 1, 1), stream)}
        for name, requested in CASES:
            case = case_of(name, requested)
            program = device.load(case.source(), compiler.compile(case.source()))
            launch, arrays = upload(device, program, case, contents(case), stack)
            poison(case, arrays)
            device.launch(launch, 60.0)
            launches[f"{name} {requested}"] = device.queue_function(launch)
        for label, step in launches.items():
            found: dict[str, list[Times]] = {way: [] for way in ways}
            for _, (way, (before, after)) in itertools.product(range(rounds + 1), ways.items()):
                found[way].append(timed(before, step, after, stream))
            print(label)
            for way, times in found.items():
                low, middle, high = np.percentile(np.concatenate(times[1:]), [25, 50, 75])  # the first warms up
                print(f"    {way:42} {middle:8.2f} {high - low:6.2f}")
    device.close()


if __name__ == "__main__":
    main()
