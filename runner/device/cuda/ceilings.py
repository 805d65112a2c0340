"""The ceilings of a GPU's bandwidth and arithmetic throughput, measured and theoretical.

`python -m runner.device.cuda.ceilings INDEX` measures one GPU and prints JSON. That takes two seconds.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from typing import Any

CHAINS, UNROLLED, TURNS = 8, 16, 1024  # independent chains of FMAs per thread, unroll factor, iterations
THREADS, BLOCKS_PER_SM = 256, 8
SAMPLES = 7


@dataclass(frozen=True)
class Fma:
    """The FMA of a precision: PTX instruction, register type, results per instruction, lowest architecture."""

    instruction: str
    type: str
    results: int
    arch: int = 70
    per_clock: tuple[tuple[int, int], ...] = ()  # results per SM and clock, by compute capability


# CUDA C++ Programming Guide, "Throughput of Native Arithmetic Instructions"; NVIDIA's white papers of A100 and H100.
PRECISIONS = {
    "float32": Fma("fma.rn.f32", "f32", 1, per_clock=((70, 64), (75, 64), (80, 64), (86, 128), (89, 128), (90, 128))),
    "float64": Fma("fma.rn.f64", "f64", 1, per_clock=((70, 32), (75, 2), (80, 32), (86, 2), (89, 2), (90, 64))),
    "float16": Fma("fma.rn.f16x2", "b32", 2, 70, ((70, 128), (75, 128), (80, 256), (86, 128), (89, 128), (90, 256))),
    "bfloat16": Fma("fma.rn.bf16x2", "b32", 2, 80, ((80, 128), (86, 128), (89, 128), (90, 256))),
    "int32": Fma("mad.lo.s32", "b32", 1, per_clock=((70, 64), (75, 64), (80, 64), (86, 64), (89, 64), (90, 64))),
}  # fmt: skip


def ptx(precision: str) -> bytes:
    """The PTX of a kernel `work` with FMAs in registers; each thread writes one result."""
    fma = PRECISIONS[precision]
    wide = fma.type == "f64"
    add = {"f32": "add.f32", "f64": "add.f64"}.get(fma.type, "xor.b32")
    start = {"f32": "cvt.rn.f32.u32", "f64": "cvt.rn.f64.u32"}.get(fma.type, "mov.b32")
    chains = range(CHAINS)
    lines = [
        ".version 7.0", f".target sm_{fma.arch}", ".address_size 64", ".visible .entry work(.param .u64 out)", "{",
        ".reg .u64 %to, %at; .reg .u32 %t, %b, %n, %i; .reg .pred %p;",
        f".reg .{fma.type} %x, %y, {', '.join(f'%a{i}' for i in chains)};",
        "mov.u32 %t, %tid.x; mov.u32 %b, %ctaid.x; mov.u32 %n, %ntid.x; mad.lo.u32 %t, %b, %n, %t;",
        f"{start} %x, %t; {start} %y, %b;", *(f"{start} %a{i}, %n;" for i in chains), "mov.u32 %i, 0;", "again:",
        *(f"{fma.instruction} %a{i}, %a{i}, %x, %y;" for _ in range(UNROLLED) for i in chains),
        f"add.u32 %i, %i, 1; setp.lt.u32 %p, %i, {TURNS}; @%p bra again;",
        *(f"{add} %a0, %a0, %a{i};" for i in chains[1:]),
        "ld.param.u64 %to, [out]; cvta.to.global.u64 %to, %to;",
        f"mul.wide.u32 %at, %t, {8 if wide else 4}; add.u64 %to, %to, %at; st.global.{fma.type} [%to], %a0; ret;", "}",
    ]  # fmt: skip
    return "\n".join(lines).encode() + b"\0"


def measure(index: int) -> dict[str, Any]:
    """Measure the ceilings of a GPU: GB/s, and by precision 1e9 operations per second (an FMA counts as two)."""
    from pycuda import driver  # noqa: PLC0415  (only where there is a GPU)

    from runner.device.cuda.describe import copy_gbps  # noqa: PLC0415

    driver.init()
    gpu = driver.Device(index)
    context = gpu.retain_primary_context()
    context.push()
    try:
        get, attribute = gpu.get_attribute, driver.device_attribute
        multiprocessors, stream = get(attribute.MULTIPROCESSOR_COUNT), driver.Stream()
        major, minor = gpu.compute_capability()
        arch, mhz = 10 * major + minor, get(attribute.CLOCK_RATE) / 1000
        peak = 2 * get(attribute.MEMORY_CLOCK_RATE) * 1e3 * get(attribute.GLOBAL_MEMORY_BUS_WIDTH) / 8 / 1e9
        blocks = multiprocessors * BLOCKS_PER_SM
        out = driver.mem_alloc(8 * blocks * THREADS)
        measured, theoretical = {}, {}
        for name, fma in PRECISIONS.items():
            if arch < fma.arch:
                continue
            work = driver.module_from_buffer(ptx(name)).get_function("work")
            times = []
            for _ in range(SAMPLES):
                before, after = driver.Event(), driver.Event()
                before.record(stream)
                work(out, block=(THREADS, 1, 1), grid=(blocks, 1), stream=stream)
                after.record(stream)
                after.synchronize()
                times.append(before.time_till(after) * 1e-3)
            operations = 2 * fma.results * CHAINS * UNROLLED * TURNS * blocks * THREADS
            measured[name] = operations / min(times) / 1e9
            if per_clock := dict(fma.per_clock).get(arch):
                theoretical[name] = 2 * per_clock * multiprocessors * mhz * 1e6 / 1e9
        return {
            "gbps": {"measured": copy_gbps(stream), "theoretical": peak or None},
            "gflops": {"measured": measured, "theoretical": theoretical},
            "clock_mhz": mhz,
        }
    finally:
        context.pop()


if __name__ == "__main__":
    json.dump(measure(int(sys.argv[1])), sys.stdout)
