"""`profile=ncu`: collect Nsight Compute metrics of one launch of each case, in a separate process."""

from __future__ import annotations

import csv
import itertools
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from runner.device import unqualified
from runner.jobs.job import Job
from runner.kernel.case import Case
from runner.stages.profile.stage import ProfileStage, StageResult, Tools
from runner.stages.profile.watched import OUTPUT, watch_all

NAME = "ncu"
DEFAULT = "default"

TIME = "gpu__time_duration.sum"  # ns; the weight of a launch in a case's averages
STALL = "smsp__average_warps_issue_stalled_{}_per_issue_active.ratio"
STALLS = {
    "barrier": "another warp of the block at a barrier",
    "branch_resolving": "a branch target",
    "dispatch_stall": "the dispatcher",
    "drain": "stores at the kernel's end",
    "gmma": "a matrix multiply-add of the warp group",
    "imc_miss": "constant memory",
    "lg_throttle": "the queue for local and global memory",
    "long_scoreboard": "data from global, local or texture memory",
    "math_pipe_throttle": "a busy arithmetic pipe",
    "membar": "a memory fence",
    "mio_throttle": "the queue for shared memory and special functions",
    "misc": "other hardware reasons",
    "no_instruction": "the next instruction",
    "not_selected": "another warp that was ready, too",
    "selected": "nothing: it issued an instruction",
    "short_scoreboard": "data from shared memory or special functions",
    "sleeping": "nanosleep",
    "tex_throttle": "the queue of the texture unit",
    "wait": "a fixed latency of the instruction before",
}
"""What a warp waits for, by its state. Kernel Profiling Guide of Nsight Compute, "Warp Scheduler States"."""

GLOBAL = "l1tex__t_{}_pipe_lsu_mem_global_op_{}.sum"
SHARED = "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_{}.sum", "smsp__inst_executed_op_shared_{}.sum"
BUSY = "sm__pipe_{}_cycles_active.avg.pct_of_peak_sustained_active"

COUNTERS: Mapping[str, tuple[str, ...]] = {
    "ncu_dram_read": ("dram__bytes_read.sum",),
    "ncu_dram_written": ("dram__bytes_write.sum",),
    "ncu_dram_percent": ("dram__throughput.avg.pct_of_peak_sustained_elapsed",),
    "ncu_memory_percent": ("gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed",),
    "ncu_l1_hit_percent": ("l1tex__t_sectors_lookup_hit.sum", "l1tex__t_sectors.sum"),
    "ncu_l2_hit_percent": ("lts__t_sectors_lookup_hit.sum", "lts__t_sectors.sum"),
    "ncu_load_sectors": (GLOBAL.format("sectors", "ld"), GLOBAL.format("requests", "ld")),
    "ncu_store_sectors": (GLOBAL.format("sectors", "st"), GLOBAL.format("requests", "st")),
    "ncu_load_wavefronts": (SHARED[0].format("ld"), SHARED[1].format("ld")),
    "ncu_store_wavefronts": (SHARED[0].format("st"), SHARED[1].format("st")),
    "ncu_instructions": ("smsp__inst_issued.sum",),
    "ncu_issue_percent": ("smsp__issue_active.avg.pct_of_peak_sustained_active",),
    "ncu_warps_percent": ("sm__warps_active.avg.pct_of_peak_sustained_active",),
    "ncu_sm_percent": ("sm__throughput.avg.pct_of_peak_sustained_elapsed",),
    "ncu_fma_percent": (BUSY.format("fma"),),
    "ncu_fp64_percent": (BUSY.format("fp64"),),
    "ncu_tensor_percent": (BUSY.format("tensor"),),
}
"""By column of results.csv: one metric, or the two metrics of a ratio."""

EXECUTED = "smsp__sass_thread_inst_executed_op_{}_pred_on.sum"
OPERATIONS = {
    "float32": {"fadd": 1, "fmul": 1, "ffma": 2},
    "float64": {"dadd": 1, "dmul": 1, "dfma": 2},
    "float16": {"hadd": 1, "hmul": 1, "hfma": 2},
}
"""By precision: thread instructions, and floating-point operations of each; for a roofline of counted operations."""

NO_PERMISSION = "ERR_NVGPUCTRPERM"


class Ncu(ProfileStage):
    """Collects ncu's metrics of each correct case."""

    name, setting = NAME, "metrics"
    by_kernel = True

    def measure(self, jobs: Sequence[Job], tools: Tools) -> Iterator[tuple[Job, StageResult]]:
        """Launch all cases in one process under ncu; after a case that breaks the GPU's context, in a new one."""
        if shutil.which("ncu") is None:
            tools.say("no counters: ncu (Nsight Compute) is not on the PATH; it comes with the CUDA toolkit")
            return
        names = metrics(jobs[0].profile.metrics, operations=jobs[0].profile.roofline)
        lacking = {STALL.format(reason) for reason in STALLS}  # metrics that no message names
        for run in watch_all(command(names), jobs, tools):
            if NO_PERMISSION in f"{run.output}{run.printed}":
                tools.say(
                    f"no counters: this user has no permission to read them ({NO_PERMISSION}); an administrator sets "
                    f"the driver's option NVreg_RestrictProfilingToAdminUsers=0, or run the sweep with CAP_SYS_ADMIN"
                )
                return
            if run.broken:
                tools.say(f"no counters: ncu stopped: {run.reason}")
            launches = read(run.output, names)
            if run.done and not launches:
                errors = [line for line in run.output.splitlines() if line.startswith("==ERROR==")]
                tools.say(f"no counters: ncu returned no metrics{': ' if errors else ''}{'; '.join(errors[:2])}")
                return
            for job, result in _results(run.done, launches, names):
                if unknown := set(result.record.get("missing", ())) - lacking:
                    tools.say(f"{', '.join(sorted(unknown))}: not counted; this GPU or this ncu lacks the metric")
                lacking |= unknown
                yield job, result
            if run.failed:
                yield run.failed, StageResult({"reason": f"the launch failed under ncu: {run.reason}"})


def metrics(names: Iterable[str], *, operations: bool = False) -> list[str]:
    """Expand the names of `profile.metrics` to ncu's metrics, each once.

    `operations` adds the counts of floating-point operations, for a roofline.
    """
    default = [*(m for used in COUNTERS.values() for m in used), *map(STALL.format, STALLS)]
    wanted = [metric for name in names for metric in (default if name == DEFAULT else [name])]
    counts = [EXECUTED.format(op) for ops in OPERATIONS.values() for op in ops] if operations else []
    return list(dict.fromkeys([TIME, *wanted, *counts]))


def command(names: Sequence[str], caches: str = "all") -> list[str]:
    """Build the ncu command line, to be followed by the command to profile. ncu leaves the clocks as they are.

    `caches`: `all` flushes the caches before each launch, as the timing does; `none` does not.
    """
    options = f"--clock-control none --cache-control {caches} --profile-from-start off --target-processes all"
    form = f"--csv --page raw --print-units base --print-kernel-base function --log-file {OUTPUT}"
    return ["ncu", *options.split(), *form.split(), "--metrics", ",".join(names)]


@dataclass(frozen=True)
class CountedLaunch:
    """The metrics of one launch of a kernel."""

    kernel: str  # function, without namespaces and template arguments
    values: Mapping[str, float]  # by metric
    units: Mapping[str, str]  # by metric


def read(text: str, names: Sequence[str]) -> list[CountedLaunch]:
    """Parse these metrics in ncu's CSV output, skipping its messages (lines that begin with `==`).

    Returns:
        The launches in order; empty if there is no table.
    """
    lines = csv.reader(line for line in text.splitlines() if line.startswith('"'))
    head = next(lines, [])
    if "Kernel Name" not in head:
        return []
    units = dict(zip(head, next(lines, []), strict=False))
    launches = []
    for line in lines:
        row = dict(zip(head, line, strict=False))
        values = {name: number for name in names if (number := _number(row.get(name, ""))) is not None}
        launches.append(CountedLaunch(unqualified(row["Kernel Name"]), values, units))
    return launches


def summed(launches: Sequence[CountedLaunch]) -> dict[str, float]:
    """Combine the metrics of a case's launches: `.sum` metrics are added, the others averaged by time."""
    combined = {}
    for name in dict.fromkeys(name for launch in launches for name in launch.values):
        pairs = [(o.values[name], o.values.get(TIME, 1.0)) for o in launches if name in o.values]
        time = sum(weight for _, weight in pairs)
        mean = sum(value * weight for value, weight in pairs) / time if time else 0.0
        combined[name] = sum(value for value, _ in pairs) if name.endswith(".sum") else mean
    return combined


def columns(values: Mapping[str, float]) -> dict[str, Any]:
    """Compute the columns of results.csv from a case's metrics. A metric without a column becomes `ncu_METRIC`."""
    row: dict[str, Any] = {}
    for name, (metric, *per) in COUNTERS.items():
        if metric not in values:
            continue
        if not per:
            row[name] = values[metric]
        elif values.get(per[0]):
            row[name] = values[metric] / values[per[0]] * (100 if name.endswith("percent") else 1)
    for integer in ("ncu_dram_read", "ncu_dram_written", "ncu_instructions"):
        if integer in row:
            row[integer] = round(row[integer])
    if shares := [(reason, share) for reason, share in stalls(values) if reason != "selected"]:
        row["ncu_stalls"] = ", ".join(f"{reason} {100 * share:.0f} %" for reason, share in shares[:3])
    with_columns = {*metrics([DEFAULT], operations=True)}
    return row | {f"ncu_{name}": value for name, value in values.items() if name not in with_columns}


def functions(case: Case) -> list[str]:
    """List the kernels that a case launches, in order, without namespaces and template arguments."""
    parts = case.source().parts
    return [unqualified(launch.function or parts[launch.part].function) for launch in case.launches]


def stalls(values: Mapping[str, float]) -> list[tuple[str, float]]:
    """Compute the fraction of a warp's time in each state, the longest first."""
    waits = {reason: values.get(STALL.format(reason), 0.0) for reason in STALLS}
    total = sum(waits.values())
    shares = [(reason, wait / total) for reason, wait in waits.items() if total and wait]
    return sorted(shares, key=lambda entry: -entry[1])


def operations(values: Mapping[str, float], precision: str) -> float | None:
    """Sum the floating-point operations of a precision, such as `float32`; `None` if they were not counted."""
    counts = [(values.get(EXECUTED.format(op)), each) for op, each in OPERATIONS.get(precision, {}).items()]
    totals = [number * each for number, each in counts if number is not None]
    return sum(totals) if totals and len(totals) == len(counts) else None


def _results(
    done: Sequence[Job], launches: Sequence[CountedLaunch], names: Sequence[str]
) -> Iterator[tuple[Job, StageResult]]:
    """Assign the launches, which are in order, to their cases."""
    remaining = iter(launches)
    for job in done:
        expected = functions(job.case)
        own = list(itertools.islice(remaining, len(expected)))
        if [launch.kernel for launch in own] != expected:
            counted = ", ".join(launch.kernel for launch in own) or "none"
            yield job, StageResult({"reason": f"ncu counted the launches {counted} instead of {', '.join(expected)}"})
            continue
        values = summed(own)
        record: dict[str, Any] = {
            "launches": [{"kernel": launch.kernel, "metrics": dict(launch.values)} for launch in own],
            "units": {name: own[0].units.get(name, "") for name in values},
            "metrics": values,
        }
        if missing := [name for name in names if name not in values]:
            record["missing"] = missing
        yield job, StageResult(record, columns(values))


def _number(text: str) -> float | None:
    try:
        return float(text.replace(",", ""))
    except ValueError:  # n/a, or a text such as `(no data)`
        return None
