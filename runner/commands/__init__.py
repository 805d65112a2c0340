"""The subcommands, one module each. `runner.cli.COMMANDS` lists them.

Door: `main(arguments)` of each module; `python -m runner.NAME` calls it, too, because `runner/__init__.py` finds these
modules below `runner`. `sweep.run_sweep` and `sweep.finish` serve the commands that run cases.
Takes: the command line's words.
Gives: the exit status, and text on stdout and stderr.
What may not cross: only `runner.__main__` and `runner.cli` know the commands. Slow imports are inside functions, so
that Ctrl-C during the start prints no traceback.
"""
