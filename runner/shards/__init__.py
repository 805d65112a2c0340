"""One sweep over several GPUs: its cases are split into shards, and each shard runs on one GPU.

    plan ──split──▶ shards/N/shard.json ──one process each──▶ shards/N/ATTEMPT/ ──merge──▶ the sweep's own folder

Door: `clusters.run` and `clusters.planned`; `local` lists this machine's GPUs.
Takes: the plan, the sweep's folder, the launcher's settings. Gives: rows in the sweep's folder.
What may not cross: a shard's process reads only the folder (plan.json and sources/). Only the parent writes the sweep's
rows, and each start of a shard writes to a folder of its own, so that every file has one writer on any file system.
"""
