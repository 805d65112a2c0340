"""The columns of results.csv and lines.csv, in order: type, unit, meaning, and where the report shows each.

The types of the table that is written and read, the columns of the report and the tables in docs/results.md follow from
`COLUMNS` and `OF_LINES`. To add a column, add a line here and fill it in the sweep. A stage declares its columns in its
own leaf module `columns`, which imports only `runner.display.column`.
"""

from __future__ import annotations

from collections.abc import Iterable
from types import MappingProxyType

from runner.display.column import Column, Shown, Type
from runner.stages.lines import columns as lines
from runner.stages.profile import columns as profile
from runner.stages.races import columns as races

STATUSES = MappingProxyType({
    "ok": "the outputs of every checked launch matched, those of the timed ones, too",
    "implausible":
        "the outputs are right, but the time is less than the memory or an empty launch allows; the reason has the "
        "numbers",
    "mismatch": "the outputs differ; the reason lists the first five elements. There are no times",
    "unproven":
        "the outputs matched, but so would have wrong ones: the check lets errors of 10 % of a typical element "
        "through, or compares no element of an output. The reason says what to change "
        "([power](trust.md#the-power-of-a-check)). There are no times",
    "hazard":
        "the CPU device detected a violation of CUDA's rules; the reason has the line, block and thread. Or the result "
        "depends on the order in which threads run; or the checked CPU device found a race, an uninitialized or an "
        "out-of-bounds access ([when](checked.md#by-default)), also in a case on a GPU",
    "skipped": "CUDA leaves the combination undefined, or the device cannot run it",
    "compile_error":
        "the kernel did not compile, or the compiler exceeded a [limit](trust.md#a-cu-is-trusted-code); the job's "
        "compile.log has the compiler's output",
    "launch_error": "the launch was rejected, or faulted",
    "crashed":
        "the worker process died, code in it wrote to its pipe, or the reference failed; the reason says which",
    "timeout":
        "a launch ran longer than `device.time_limit_s`, or inputs and reference took longer than 10 minutes",
    "out_of_memory": "the arrays do not fit",
    "not_run": "the sweep was interrupted before this case",
})  # fmt: skip
"""What the column `status` may say, and what it means, in Markdown for docs/results.md."""

COLUMNS = (
    Column("case", "text", "",
           "Hash of kernel, parameters and seed, 12 hexadecimal digits. Device and timing do not affect it, so "
           "it joins runs on different devices."),
    Column("kernel", "text", "", "Name of the kernel."),
    Column("block", "text", "", "Threads per block; `32x16` for two dimensions."),
    Column("block_x", "integer", "threads", "Block size in x."),
    Column("block_y", "integer", "threads", "Block size in y."),
    Column("size", "integer", "elements", "Number of elements."),
    Column("rows", "integer", "", "Rows of a two-dimensional size, or the parameter of a kernel without a size."),
    Column("cols", "integer", "", "Columns of a two-dimensional size, or that parameter."),
    Column("width", "integer", "lanes",
           "Shuffle width. Like all parameters, empty if the kernel does not read it. Columns of the kernels' own "
           "parameters follow `dtype`."),
    Column("mask", "text", "", "Member mask of the shuffles, in hexadecimal."),
    Column("unroll", "integer", "", "Unroll factor."),
    Column("dtype", "text", "", "Element type."),
    Column("seed", "integer", "", "Random seed of the inputs."),
    Column("device", "text", "",
           "Kind of device: `cuda` or `cpu`. `cpu` is this project's CPU device, whose times say nothing about "
           "a GPU."),
    Column("status", "text", "", "Outcome, see [Statuses](#statuses).", Shown.ALWAYS),
    Column("reason", "text", "", "Why the status is not `ok`.", Shown.ALWAYS),
    Column("note", "text", "", "A remark on a row that is `ok`, such as the first undefined read.", Shown.CALCULATED),
    *races.COLUMNS,
    Column("grid", "text", "blocks", "Blocks of the launch.", Shown.ON_REQUEST),
    Column("shared_dynamic", "integer", "bytes", "Dynamic shared memory per block.", Shown.ON_REQUEST),
    Column("value", "text", "", "Exact sum of the device's outputs.", Shown.CALCULATED),
    Column("reference", "text", "", "Exact sum of the CPU reference."),
    Column("reference_us", "real", "us", "Time of the NumPy reference on the host."),
    Column("mismatches", "integer", "elements", "Number of elements that differ from the reference.", Shown.CALCULATED),
    Column("max_error_ulp", "real", "",
           "Largest error of a float at the first launch, in units in the last place of the expected value. Empty for "
           "integers.", Shown.CALCULATED),
    Column("allowed_error", "real", "",
           "Largest relative error of a typical element that the checks of the outputs would have let through: 0 if "
           "only the expected values pass for some inputs, `inf` if any value does. From 0.1 on a case is `unproven`.",
           Shown.CALCULATED),
    Column("undetected", "text", "",
           "Wrong results that all checks would have let through, such as a shift by one element if all elements are "
           "equal.", Shown.ON_REQUEST),
    Column("tolerance", "text", "",
           "The `tolerance` of the kernel's YAML, which replaces the bound of the rounding error, such as "
           "`rtol=1e-05 atol=0`. Empty if there is none.", Shown.CALCULATED),
    Column("undefined_reads", "integer", "",
           "Shuffles that read a lane whose value CUDA leaves undefined. Only the CPU device counts "
           "them.", Shown.CALCULATED),
    Column("shuffle", "text", "", "For a kernel that is one shuffle: operation and argument, such as `down 2`."),
    Column("received", "text", "",
           "For a kernel that is one shuffle: for each output element of the first block (at most 128), the index of "
           "the input element whose value it received. `?` marks a value that no input element has. Empty if "
           "two input elements are equal, as with `fill=ones`."),
    Column("rounds", "integer", "",
           "Number of rounds that measured the case. A round measures every case of the sweep once.", Shown.ON_REQUEST),
    Column("samples", "integer", "", "Timed launches of all rounds.", Shown.ON_REQUEST),
    Column("checked_launches", "integer", "",
           "Launches whose outputs were checked: the timed ones, and four more per round.",
           Shown.ON_REQUEST),
    Column("input_sets", "integer", "",
           "Number of input sets between which timed launches alternate: 2, or 1 if the fill is always the same or "
           "the inputs are larger than 256 MiB.", Shown.ON_REQUEST),
    Column("input_launches", "integer", "",
           "Launches with [further inputs](trust.md#further-inputs) that were right, too. What an equal binary was "
           "launched with earlier in the process counts as well. Empty if the case was not right.", Shown.ON_REQUEST),
    Column("size_launches", "integer", "",
           "The same for launches at [other sizes](trust.md#other-sizes).", Shown.ON_REQUEST),
    Column("order_launches", "integer", "",
           "The same for launches in other orders of lanes, warps and blocks, on the CPU device.", Shown.ON_REQUEST),
    Column("sizes_not_tried", "text", "",
           "Why `size_launches` is 0, such as a macro that depends on the size.", Shown.ON_REQUEST),
    Column("emulated_us", "real", "us",
           "Median time of a launch on the CPU device. It says nothing about a GPU, so it is not ranked, charted or "
           "compared, and no column that follows from times is filled there."),
    Column("median_us", "real", "us",
           "Median time of a launch on a GPU. With several rounds, the mean of the rounds' medians.", Shown.MEASURED),
    Column("ci_low_us", "real", "us",
           "Lower end of the 95 % confidence interval of `median_us`, from order statistics. With fewer than 6 "
           "samples, the minimum.", Shown.MEASURED),
    Column("ci_high_us", "real", "us", "Upper end of that interval.", Shown.MEASURED),
    Column("min_us", "real", "us", "Shortest sample.", Shown.ON_REQUEST),
    Column("q1_us", "real", "us", "Lower quartile of the samples.", Shown.ON_REQUEST),
    Column("q3_us", "real", "us", "Upper quartile of the samples.", Shown.ON_REQUEST),
    Column("round_spread_percent", "real", "%",
           "Standard deviation of the rounds' medians, relative to their mean.", Shown.MEASURED),
    Column("stop_reason", "text", "",
           "Why a round took no more samples: `precise` (the median reached the requested precision), `max_samples` "
           "or `max_time`. With several rounds, the first that is not `precise`.", Shown.ON_REQUEST),
    Column("hot_samples", "integer", "", "Timed batches of the hot mode."),
    Column("hot_median_us", "real", "us",
           "With `timing.hot=true`: median time of a launch in a batch of back-to-back launches with "
           "warm caches.", Shown.MEASURED),
    Column("hot_ci_low_us", "real", "us", "Lower end of the 95 % confidence interval of `hot_median_us`."),
    Column("hot_ci_high_us", "real", "us", "Upper end of that interval."),
    Column("bytes_read", "integer", "bytes",
           "Minimum number of bytes read, as the kernel's YAML declares."),
    Column("bytes_written", "integer", "bytes",
           "Minimum number of bytes written, as the kernel's YAML declares."),
    Column("operations", "integer", "",
           "Minimum number of arithmetic operations performed, as the kernel's YAML declares."),
    Column("gbps", "real", "GB/s",
           "Effective bandwidth: `bytes_read` plus `bytes_written`, divided by `median_us`.", Shown.MEASURED),
    Column("percent_peak", "real", "%", "`gbps` relative to the theoretical peak bandwidth.", Shown.MEASURED),
    Column("percent_copy", "real", "%",
           "`gbps` relative to a device-to-device copy measured in the same sweep.", Shown.MEASURED),
    Column("gflops", "real", "GFLOP/s",
           "`operations` divided by `median_us`, unless the kernel's YAML or the experiment defines this metric "
           "otherwise. Columns of further metrics follow.", Shown.MEASURED),
    Column("enqueue_us", "real", "us", "Median time the host takes to queue a launch (a contender: per flush)."),
    Column("host_bound", "flag", "",
           "In more than 5 % of the samples the host queued the launch too late for the flush to hide it, and "
           "took more than 1 % of the median."),
    Column("timer_limited", "flag", "",
           "The median is less than twice that of an empty kernel, so most of it is launch overhead."),
    Column("throttled", "flag", "", "NVML reported throttling right after the samples used."),
    Column("remeasured", "integer", "", "How often a round was repeated because of throttling."),
    Column("clock_reasons", "text", "", "NVML's reasons for lower clocks."),
    Column("sm_mhz", "integer", "MHz", "SM clock after measuring, the lowest of all rounds."),
    Column("temperature_c", "integer", "°C", "GPU temperature after measuring, the highest of all rounds."),
    Column("power_w", "real", "W", "GPU power after measuring, the highest of all rounds."),
    *profile.ENERGY,
    *lines.COLUMNS,
    *profile.COUNTERS,
    Column("registers", "integer", "", "Registers per thread, from the driver.", Shown.ON_REQUEST),
    Column("shared_bytes", "integer", "bytes", "Static shared memory per block.", Shown.ON_REQUEST),
    Column("local_bytes", "integer", "bytes",
           "Local memory per thread, from the driver: spills and indexed arrays.", Shown.ON_REQUEST),
    Column("blocks_per_sm", "integer", "", "Blocks that fit on an SM, from the driver."),
    Column("occupancy_percent", "real", "%",
           "Warps of the blocks that fit on an SM, relative to the warps that it can hold.", Shown.ON_REQUEST),
    Column("waves", "real", "",
           "Blocks of the grid divided by the blocks that fit on the whole GPU at once.", Shown.ON_REQUEST),
    Column("bytes_in_flight", "integer", "bytes",
           "Bytes that loads can have in flight on an SM: `in_flight` of the kernel's YAML times the threads of its "
           "resident blocks. Bandwidth is bytes in flight divided by memory latency. Empty if not declared, and on the "
           "CPU device.", Shown.ON_REQUEST),
    Column("compile_s", "real", "s", "Time to compile the kernel or to load it from the cache."),
    Column("wall_s", "real", "s",
           "Time of the case in all its rounds: inputs, reference, checks and timed launches, without compiling."),
    Column("compiler", "text", "", "Compiler of a GPU kernel: `nvcc` or `nvrtc`."),
    Column("finish", "text", "",
           "Where the result is completed, as the kernel's YAML declares: `device`, or `host` if the host adds "
           "partial sums, which is not timed."),
    Column("family", "text", "",
           "Family of the kernel. Cases of different families are not ranked against each other."),
    Column("baseline", "text", "", "The kernel that this one is compared with: the previous step."),
    Column("ceiling", "flag", "",
           "Whether the kernel is a ceiling, as its YAML declares: it does less than the others of its family, so it "
           "is not ranked."),
    Column("launcher", "text", "",
           "`batch`, `gpus` or `slurm` if the case was measured together with those that it is compared with, "
           "otherwise the Hydra launcher that ran it separately."),
    Column("binary", "text", "",
           "First 12 digits of the SHA-256 of the compiled kernel. Equal values mean the same machine code."),
    Column("gpu", "text", "",
           "Name and UUID of the GPU. Cases on different GPUs are not ranked against each other. Empty on the CPU "
           "device.", Shown.ON_REQUEST),
    Column("job", "integer", "", "Number of the job and of its folder."),
)  # fmt: skip

OF_LINES = lines.OF_LINES

BY_NAME = MappingProxyType({column.name: column for column in COLUMNS})
NAMES = tuple(BY_NAME)

_COMMON_PARAMETERS = frozenset(("block", "size", "width", "mask", "unroll", "dtype"))
_FURTHER = (
    *"timing profile experiment hydra schema record_host on_cpu metrics".split(),  # of a configuration
    *"rank_by max_cases lines racecheck search zip".split(),
    *("grid_x", "grid_y"),  # in expressions
    *("emulated", "row", "cost"),  # added when a run is read
)

RESERVED = frozenset((*NAMES, *_FURTHER)) - _COMMON_PARAMETERS
"""Names that are refused for a kernel's parameters."""


def of_type(*types: Type) -> list[str]:
    """The names of the columns of these types."""
    return [column.name for column in COLUMNS if column.type in types]


def shown(*where: Shown) -> list[str]:
    """The names of the columns that the report shows in these places: numbers first, then text, which is wide."""
    columns = sorted((column for column in COLUMNS if column.shown in where), key=lambda column: column.type == "text")
    return [column.name for column in columns]


def table_names(own: Iterable[str], metrics: Iterable[str] = ()) -> list[str]:
    """The names of all columns of a table: own parameters precede the seed, further metrics follow `gflops`.

    Args:
        own: The parameters that kernels declare beyond the vocabulary.
        metrics: The metrics that kernels and experiments declare.
    """
    seed, gflops = NAMES.index("seed"), NAMES.index("gflops")
    return [*NAMES[:seed], *own, *NAMES[seed : gflops + 1], *metrics, *NAMES[gflops + 1 :]]
