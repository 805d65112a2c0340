"""The subcommands, a module with `main(arguments)` each; `runner.cli.COMMANDS` lists them.

`python -m runner.NAME` runs one, too: the modules of this package are found below `runner` (`runner/__init__.py`).
A module imports what takes long when it runs, so that Ctrl-C is quiet from the start.
"""
