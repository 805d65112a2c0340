"""What is asked of a sweep's cases besides verdict and times: a package for each stage; `runner.stages.all` lists them.

A stage implements `runner.sweep.stage.Stage`. It gets the rows on disk and gives columns and records of its own; the
engine, the worker and what they send to each other know none. Other packages read a stage's records through its module
of readers, such as `lines.costs`.
"""
