"""YAML and overrides to jobs: the only package that knows Hydra.

`app.run(arguments, session)` takes the words of a command line and runs what they ask for. Hydra's public face does the
composing: a search path, a source of files, `ConfigLoader`. It never instantiates what a configuration names by
`_target_`, configures no logging and runs no callbacks. Nothing of Hydra's crosses the door: what leaves is a `Job`.
"""
