"""Races, uninitialized and out-of-bounds accesses, looked for in what a sweep found right: on the host, by default.

The door is `stage.Races`: once a sweep's times and verdicts are on disk, it launches a small case of each compiled
variant on the checked CPU device, in processes of its own, and a finding makes the variant's rows a `hazard`. The room
reads jobs and rows, and writes the columns `races_at` and `races_skipped`, and hazards.json. What it never does: launch
on the device that is measured, or change a time.

    stage      which rows, how long, what becomes of them
    variants   which cases are one variant, and in which order they are looked at
    small      the small case of a variant
    small_launches  what a launch of it found, now or in an earlier run
    launched   one launch in each schedule, in a process of the pool
"""
