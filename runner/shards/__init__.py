"""One sweep as a Slurm job array: its cases are split into shards, and each task runs a shard on one GPU.

    plan ──split──▶ shards/N/shard.json ──one task each──▶ shards/N/ATTEMPT/ ──merge──▶ the sweep's own folder

Door: `parent.run` and `parent.planned`.
Takes: the plan, the sweep's folder, the launcher's settings. Gives: rows in the sweep's folder.
What may not cross: a shard's process reads only the folder (plan.json and sources/). Only the parent writes the sweep's
rows, and each start of a shard writes to a folder of its own, so that every file has one writer on any file system.
"""
