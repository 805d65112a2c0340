"""The columns of results.csv that the stages of the config group `profile` fill."""

from __future__ import annotations

from runner.display.column import Column, Shown

ENERGY = (
    Column("joules", "real", "J",
           "With `profile.energy=true`: energy of a launch, from NVML's counter of the whole board, including idle "
           "power, in batches of back-to-back launches with warm caches ([method](energy.md)).", Shown.MEASURED),
    Column("joules_ci", "real", "J", "Half the 95 % confidence interval of `joules`.", Shown.MEASURED),
    Column("gbps_per_watt", "real", "GB/s/W",
           "`bytes_read` plus `bytes_written`, divided by `joules`.", Shown.MEASURED),
    Column("energy_us", "real", "us", "Time of a launch in these batches.", Shown.ON_REQUEST),
    Column("energy_w", "real", "W", "Mean power of the board in these batches.", Shown.ON_REQUEST),
    Column("idle_w", "real", "W", "Power of the idle board before these batches, with an open context."),
)  # fmt: skip

COUNTERS = (
    Column("ncu_dram_read", "integer", "bytes",
           "Bytes that a launch read from DRAM, counted by Nsight Compute (`profile=ncu`, [how](profile.md)). This "
           "and the next columns measure one launch with cold caches in a separate process. If a case has several "
           "launches, counts are added, and percentages are averages weighted by time.", Shown.ON_REQUEST),
    Column("ncu_dram_written", "integer", "bytes", "Bytes that the launch wrote to DRAM.", Shown.ON_REQUEST),
    Column("ncu_dram_percent", "real", "%", "DRAM throughput relative to the GPU's peak.", Shown.ON_REQUEST),
    Column("ncu_memory_percent", "real", "%", "Throughput of the busiest part of the memory system, caches included.",
           Shown.ON_REQUEST),
    Column("ncu_l1_hit_percent", "real", "%", "Sectors found in the L1 cache.", Shown.ON_REQUEST),
    Column("ncu_l2_hit_percent", "real", "%", "Sectors found in the L2 cache.", Shown.ON_REQUEST),
    Column("ncu_load_sectors", "real", "", "Sectors per request of global loads, counted by the hardware."),
    Column("ncu_store_sectors", "real", "", "The same for global stores."),
    Column("ncu_load_wavefronts", "real", "", "Wavefronts per shared-memory load, counted by the hardware."),
    Column("ncu_store_wavefronts", "real", "", "The same for shared-memory stores."),
    Column("ncu_instructions", "integer", "", "Instructions that warps issued.", Shown.ON_REQUEST),
    Column("ncu_issue_percent", "real", "%", "Cycles in which a scheduler issued an instruction.", Shown.ON_REQUEST),
    Column("ncu_warps_percent", "real", "%",
           "Active warps relative to what an SM can hold (achieved occupancy).", Shown.ON_REQUEST),
    Column("ncu_sm_percent", "real", "%", "Throughput of the SM's busiest part relative to its peak.",
           Shown.ON_REQUEST),
    Column("ncu_fma_percent", "real", "%", "Cycles in which the FP32 multiply-add pipe was busy."),
    Column("ncu_fp64_percent", "real", "%", "The same for the FP64 pipe."),
    Column("ncu_tensor_percent", "real", "%", "The same for the tensor pipe."),
    Column("ncu_stalls", "text", "",
           "What warps waited for: the three longest warp states of Nsight Compute, as shares of all waiting.",
           Shown.ON_REQUEST),
)  # fmt: skip
