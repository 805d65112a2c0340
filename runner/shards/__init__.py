"""One sweep over several GPUs: its cases are split into shards, and each shard runs on one GPU.

    plan ──split──▶ shards/N/shard.json ──one process each──▶ shards/N/ATTEMPT/ ──merge──▶ the sweep's own folder

A shard's process needs nothing but the folder: the jobs come from plan.json and sources/. Only the parent writes the
sweep's rows, and each start of a shard writes in a folder of its own. So no file has two writers, on any file system.
"""
