"""Races, uninitialized and out-of-bounds accesses, looked for in what a sweep found right: on the host, by default.

The door is `looking.run`: once a sweep's times and verdicts are on disk, it launches a small case of each compiled
variant on the checked CPU device, in worker processes of its own, and a finding makes the variant's rows a `hazard`.
`looking.lacks` says whether a row still waits for that. The room reads jobs and rows, and writes the columns
`races_at` and `races_skipped`, and hazards.json. What it never does: launch on the device that is measured, or change a
time.

    looking    which rows, how long, what becomes of them
    variants   which cases are one variant, and in which order they are looked at
    small      the small case of a variant
    pool       the processes that launch, and the compiler
    launched   one launch in each schedule, in such a process
    known      the cache of what was found before
"""
