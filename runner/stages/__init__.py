"""Stages: what runs after a sweep's timed rounds, one package each. `runner.stages.all` lists them in order.

`checked` is no stage: it is the pool of checked CPU devices that `lines` and `races` share.

Door: `all.ALL`, a tuple of `runner.sweep.stage.Stage`.
Takes: a `Bench` with the finished rows on disk.
Gives: columns of results.csv, and records in the run folder. Other packages read a stage's records through its reader
module, such as `lines.costs`, `code.machine_code` or `profile.stage.records`.
What may not cross: the engine, the worker and the messages between them name no stage, and no stage changes a time.
"""
