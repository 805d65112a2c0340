"""The check for races, uninitialized and out-of-bounds accesses, which every sweep runs by default.

Door: `stage.Races`. Once times and verdicts are on disk, it launches a small case of each compiled variant on the
checked CPU device, in worker processes. A finding turns the variant's rows into a `hazard`.
Takes: jobs and rows. Gives: the columns `races_at` and `races_skipped`, and hazards.json.
What may not cross: nothing is launched on the measured device, and no time changes.

    stage     which rows are checked, for how long, and how their rows change
    variants  which cases are one variant, the order of variants, and the small case of a variant
    launches  the findings in a small case, from the cache or from a launch in each schedule
"""
