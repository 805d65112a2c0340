"""Shared by all commands: their names and options, exit statuses, and one-sentence usage errors.

All imports at the top are fast, so that Ctrl-C shows no traceback from the start.
"""

from __future__ import annotations

import argparse
import atexit
import contextlib
import gc
import io
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, NoReturn

from runner import interruption
from runner.errors import DeviceUnavailable, UsageError

FAILED, MISTAKE, INTERRUPTED = 1, 2, 130
MAX_WORD, MAX_LINE = 160, 1000  # characters; longer ones are cut

COMMANDS = {
    "sweep": "runner.commands.sweep",  # the default
    "list": "runner.commands.list",
    "report": "runner.report.__main__",
    "compare": "runner.compare.__main__",
    "history": "runner.history.__main__",
    "repeat": "runner.commands.repeat",
    "resume": "runner.commands.resume",
    "profile": "runner.commands.profile",
    "calibrate": "runner.commands.calibrate",
    "judge": "runner.commands.judge",
    "import": "runner.importer.__main__",
    "export": "runner.commands.export",
    "show": "runner.commands.show",
    "check": "runner.commands.check",
}
"""The subcommands and their modules."""

OPTIONS_WITH_VALUE = (
    "--config-dir", "-cd", "--config-path", "-cp", "--config-name", "-cn", "--package", "-p", "--cfg", "-c",
)  # fmt: skip
"""Options whose value is the next word."""

COMPLETION = ("query=", "install=", "uninstall=")  # what `-sc` is followed by: one of these and a shell


@dataclass(frozen=True)
class Options:
    """The options of a sweep. The command line writes a field with `-` in place of `_`."""

    dry_run: bool = False  # print the plan and run nothing
    quiet: bool = False  # print only the result and the report's path
    json: bool = False  # print the rows as JSON lines on stdout, and everything else on stderr


OPTIONS = {f"--{name.replace('_', '-')}": name for name in Options.__dataclass_fields__}
SWEEP_OPTIONS = (*OPTIONS, "--cfg", "--config-dir", "--help", "--info", "--multirun", "--version")


def split(arguments: Sequence[str]) -> tuple[str, list[str]]:
    """The subcommand and the other words. Only the first positional word can be a subcommand."""
    rest = list(arguments)
    for index, word in enumerate(rest):
        if not word.startswith("-") and (index == 0 or rest[index - 1] not in OPTIONS_WITH_VALUE):
            return (rest.pop(index), rest) if word in COMMANDS else ("sweep", rest)
    return "sweep", rest


def options(arguments: Sequence[str]) -> tuple[Options, list[str]]:
    """Parse the options of `Options`; they, and the other words."""
    return Options(**{OPTIONS[a]: True for a in arguments if a in OPTIONS}), [a for a in arguments if a not in OPTIONS]


class Parser(argparse.ArgumentParser):
    """Parses the arguments of `runner COMMAND`, and reports a mistake in one sentence."""

    def __init__(self, command: str, description: str) -> None:
        super().__init__(prog=f"runner {command}", description=description)

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        """Called by argparse after --help."""
        flush()
        super().exit(status, message)

    def error(self, message: str) -> NoReturn:
        """Print the mistake with a hint to --help, and exit with the status of a usage error."""
        sys.exit(say(f"{message}; {self.prog} --help shows how to write it", MISTAKE))


def run_function(name: str, *arguments: Any) -> int:
    """Import a function and run it as a command. A command parses its words first, so that its --help is quick.

    Args:
        name: Its module and its name, as `runner.commands.overview:print_runs`. The module may be slow to import.
        arguments: Its arguments. It returns the exit status, or `None` for 0.
    """

    def work() -> int:
        module, _, function = name.partition(":")
        with importing():
            imported = import_module(module)
        return int(getattr(imported, function)(*arguments) or 0)

    return run_command(work)


@contextlib.contextmanager
def importing() -> Iterator[None]:
    """Delay signals while modules are imported. Python does not look for garbage then, nor in the modules later."""
    gc.disable()
    try:
        with interruption.held():
            yield
    finally:
        gc.freeze()
        gc.enable()


def run_command(work: Callable[[], int]) -> int:
    """Run a command, including its imports, and print its errors as one-line messages.

    Returns:
        The command's status; 2 after a usage error, 130 after Ctrl-C, 1 if the reader of stdout closed it.
    """
    _open_streams()
    try:
        os.getcwd()  # noqa: PTH109  (pathlib is slow)
    except OSError as e:
        return say(f"the working folder cannot be used: {e.strerror}; change to another one", MISTAKE)
    interruption.listen()
    atexit.register(gc.freeze)  # so that Python does not search all memory for cycles when the process ends
    try:
        status = work()
        flush()
    except KeyboardInterrupt as e:
        interruption.ignore()
        return e.args[0] if e.args else say("interrupted", INTERRUPTED)
    except SystemExit:  # of argparse, after --help
        flush()
        raise
    except BrokenPipeError:  # the reader left, as in `... | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return FAILED
    except OSError as e:
        return say(f"{e.filename or 'standard output or a file'}: {e.strerror or e}", MISTAKE)
    except (UsageError, DeviceUnavailable) as e:
        return say(str(e), MISTAKE)
    except ImportError as e:  # of a library, for lack of memory or of a file
        return say(f"a library cannot be imported: {_cause(e)}", MISTAKE)
    except Exception:
        if not interruption.heard():  # a signal in foreign code may surface as any error
            raise
        return say("interrupted", INTERRUPTED)
    return status


def _cause(error: BaseException) -> str:
    """Why a module cannot be imported: NumPy wraps the system's words in a page of advice."""
    while error.__cause__ or error.__context__:
        error = error.__cause__ or error.__context__ or error
    return str(error)


def _open_streams() -> None:
    if os.environ.get("COLUMNS", "").strip("0") == "":  # a width of 0 would print nothing
        os.environ.pop("COLUMNS", None)
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed, as by `>&-`
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115, PTH123
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # some terminals cannot show a micro sign


def flush() -> None:
    """Flush stdout now rather than at exit, and ignore a closed pipe."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def say(sentence: str, status: int) -> int:
    """Print a sentence on stderr, and return the status."""
    print(f"runner: {printable(sentence)}", file=sys.stderr)  # noqa: T201
    return status


def escaped(text: str, kept: str = "") -> str:
    """The text with its control characters escaped, apart from those to keep: a stranger's may control a terminal."""
    return "".join(c if c.isprintable() or c in kept else c.encode("unicode_escape").decode("ascii") for c in text)


def printable(text: str) -> str:
    """One line for a terminal: control characters are escaped, long words and lines are cut."""
    words = (w if len(w) <= MAX_WORD else f"{w[: MAX_WORD - 40]}...{w[-20:]}" for w in escaped(text).split(" "))
    line = " ".join(words)
    return line if len(line) <= MAX_LINE else f"{line[:MAX_LINE]}..."
