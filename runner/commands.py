"""The subcommands and our own options of a sweep. They are read before any slow import."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

COMMANDS = {
    "sweep": "",  # what `runner` does without a subcommand
    "list": "runner.list",
    "report": "runner.report.__main__",
    "compare": "runner.compare.__main__",
    "repeat": "runner.repeat",
    "resume": "runner.resume",
    "calibrate": "runner.calibrate",
    "judge": "runner.judge",
    "import": "runner.importer.__main__",
    "export": "runner.export",
    "show": "runner.show",
}
"""The subcommands with their modules."""

WITH_VALUE = ("--config-dir", "-cd", "--config-path", "-cp", "--config-name", "-cn", "--package", "-p", "--cfg", "-c")
"""Options whose value is the next word."""


@dataclass(frozen=True)
class Options:
    """What a sweep prints and does. Each field is an option with `_` in place of `-`."""

    dry_run: bool = False  # print the plan and run nothing
    quiet: bool = False  # print only the result and the report's path
    json: bool = False  # print the rows as JSON lines on stdout, and everything else on stderr


OPTIONS = {f"--{name.replace('_', '-')}": name for name in Options.__dataclass_fields__}
OF_A_SWEEP = (*OPTIONS, "--cfg", "--config-dir", "--help", "--info", "--multirun", "--version")


def split(arguments: Sequence[str]) -> tuple[str, list[str]]:
    """The subcommand and the other words. Only the first word that is no option or option's value can be one."""
    rest = list(arguments)
    for at, word in enumerate(rest):
        if not word.startswith("-") and (at == 0 or rest[at - 1] not in WITH_VALUE):
            return (rest.pop(at), rest) if word in COMMANDS else ("sweep", rest)
    return "sweep", rest


def options(arguments: Sequence[str]) -> tuple[Options, list[str]]:
    """Our options, and the other words."""
    return Options(**{OPTIONS[a]: True for a in arguments if a in OPTIONS}), [a for a in arguments if a not in OPTIONS]
