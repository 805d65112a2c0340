"""The columns of results.csv, in their order. docs/results.md says what each means."""

from __future__ import annotations

# What the case is, what came of it, what it cost, what is known of the kernel. The parameters that kernels declare
# beyond the common ones come after `dtype`.
COMMON = ("block", "block_x", "block_y", "size", "rows", "cols", "width", "mask", "unroll", "dtype")
AFTER = (
    "seed", "device", "status", "reason", "note", "grid", "shared_dynamic", "value", "reference", "reference_us",
    "mismatches", "undefined_reads", "shuffle", "received", "rounds", "samples", "median_us", "ci_low_us", "ci_high_us",
    "min_us", "q1_us", "q3_us", "round_spread_percent", "stop_reason", "hot_samples", "hot_median_us", "hot_ci_low_us",
    "hot_ci_high_us", "bytes_read", "bytes_written", "operations", "gbps", "percent_peak", "percent_copy", "enqueue_us",
    "host_bound", "timer_limited", "throttled", "remeasured", "clock_reasons", "sm_mhz", "temperature_c", "power_w",
    "shared_load_wavefronts", "shared_store_wavefronts", "global_load_sectors", "global_store_sectors", "registers",
    "shared_bytes", "local_bytes", "blocks_per_sm", "occupancy_percent", "waves", "bytes_in_flight", "compile_s",
    "compiler", "finish", "family", "baseline", "launcher", "binary", "job",
)  # fmt: skip
INTEGERS = (
    "block_x", "block_y", "size", "rows", "cols", "width", "unroll", "seed", "shared_dynamic", "mismatches",
    "undefined_reads", "rounds", "samples", "hot_samples", "remeasured", "sm_mhz", "temperature_c", "bytes_read",
    "bytes_written", "operations", "registers", "shared_bytes", "local_bytes", "blocks_per_sm", "bytes_in_flight",
    "job",
)  # fmt: skip

# No parameter may have the name of a column, of a configuration key, or of what expressions see beside parameters.
RESERVED = frozenset(
    ("case", "kernel", "block_x", "block_y", "rows", "cols", *AFTER,
     "timing", "experiment", "hydra", "schema", "record_host", "on_cpu", "grid_x", "grid_y")
)  # fmt: skip
