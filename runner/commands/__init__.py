"""The subcommands, one module each. `runner.cli.COMMANDS` lists them.

Door: `main(arguments)` of each module; `python -m runner.NAME` calls it, too, because `runner/__init__.py` finds these
modules below `runner`. `run_sweep.run_sweep` serves the commands that run cases.
Takes: the command line's words.
Gives: the exit status, and text on stdout and stderr.
What may not cross: no other package imports a command; `runner.cli` names them, and `runner.__main__` starts them.

The module of a command has its parser, so that `--help` is quick. `runner.cli.run_function` then imports its work from
a second module, which is slow to import, so that Ctrl-C during the start prints no traceback.
"""
