"""A run folder: its files, their contents, and how they stay readable if the program ends at any moment.

`folder.RunFolder` writes and reads single files; `run.read` gives a whole run. A missing or torn file is `None`, a
malicious or damaged one a `UsageError`. Other exceptions of parsing are `runs.MALFORMED`; `runs.reading` turns them
into a `UsageError`.
"""
