"""The Python face: run a sweep, find runs, and read them as pandas data frames.

    keywords ──overrides──▶ command line ──sweeping──▶ `process`, in a process of its own ──▶ run folder ──▶ `Run`

Door: the names of `runner` itself, which imports these modules late. This one imports nothing: the process of a sweep
starts with it, and would wait for pandas.
Takes: plain values. Gives: a `Run`, which reads a finished folder.
What may not cross: Hydra's state, signal handlers, caches of files, and the matplotlib backend belong to the process of
the sweep, so that a notebook can run one sweep after another while its user edits the kernels.
"""
