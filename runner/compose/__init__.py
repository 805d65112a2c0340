"""Compose jobs from YAML and overrides. Only this package imports Hydra.

`app.run(words, session)` is the door: it reads a command line, composes its jobs and runs them. Composing uses Hydra's
public API: a search path, a config source, `ConfigLoader`. It never instantiates a `_target_`, configures no logging
and runs no callbacks. `recorded.arguments` gives the command line of a stored sweep; `runner show` uses `contents` and
the modules that find and check the folders.

Jobs leave the package; objects and exceptions of Hydra and OmegaConf do not.
"""
