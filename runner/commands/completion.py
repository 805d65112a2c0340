"""Completion in a shell: `eval "$(runner -sc install=bash)"`. Hydra completes overrides; this adds the rest.

The shell calls `runner -sc query=bash` with the line so far in COMP_LINE. This module completes subcommands, options,
run folders and kernel names. Hydra completes the overrides of a sweep.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import sys
from collections.abc import Iterable, Sequence
from importlib import import_module

from runner.cli import COMMANDS, COMPLETION, OPTIONS_WITH_VALUE, SWEEP_OPTIONS, options, split
from runner.compose.names import CONF
from runner.errors import UsageError
from runner.record import runs
from runner.sweep.session import Session

OPTIONS_WITH_FILE = (
    "--config-dir", "-cd", "--config-path", "-cp", "--html", "--csv", "--into", "--junit", "--sarif", "--source",
    "--to",
)  # fmt: skip
RUN_COMMANDS = ("compare", "export", "repeat", "report", "resume")  # subcommands whose arguments are runs
INTERNAL_KEYS = ("family=", "schema=", "kernel.", "on_cpu.")  # keys that a command line cannot set
MAX_RUNS = 20  # that are offered

# Replaces Hydra's own script, which changes COMP_WORDBREAKS for every command and adds no space after a complete word.
BASH = """\
_runner_completion()
{
    local line=${COMP_LINE:0:$COMP_POINT}
    local word=""
    [[ $line == *[![:space:]] ]] && word=${line##*[[:space:]]}
    local IFS=$'\\n'
    COMPREPLY=($(COMP_LINE=$line "${COMP_WORDS[0]}" -sc query=bash 2>/dev/null))
    # Readline replaces what follows the last of its separators, and `=` is among them.
    local before=${word%"${word##*=}"}
    [[ $COMP_WORDBREAKS == *=* ]] && COMPREPLY=("${COMPREPLY[@]#"$before"}")
    [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} != *[=/.,] ]] && COMPREPLY[0]+=" "
}
complete -o nospace -o default -F _runner_completion runner
"""


def main(arguments: Sequence[str]) -> int:
    """Answer `-sc install=bash` and a shell's query. Hydra installs the completion of other shells.

    Raises UsageError if `-sc` has none of install, uninstall and query.
    """
    request = next((a for a in arguments if a.startswith(COMPLETION)), "")
    if request == "install=bash":
        sys.stdout.write(BASH)
    elif request == "uninstall=bash":
        sys.stdout.write("complete -r runner\nunset -f _runner_completion\n")
    elif request.startswith("query="):
        sys.stdout.write("".join(f"{word}\n" for word in candidates(os.environ.get("COMP_LINE", ""))))
    elif request:
        _run_hydra(arguments)
    else:
        raise UsageError(
            f"{' '.join(arguments)}: expected install=SHELL, uninstall=SHELL or query=SHELL, such as install=bash"
        )
    return 0


def candidates(line: str) -> list[str]:
    """List the candidates for the last word of a line; empty where the shell completes file names."""
    words = line.split()[1:]
    last = words.pop() if words and not line[-1].isspace() else ""
    command, before = split(words)
    choices: Iterable[str] = ()
    overrides: list[str] = []
    if last.startswith("-"):
        choices = SWEEP_OPTIONS if command == "sweep" else _options_of(command)
    elif before and before[-1] in OPTIONS_WITH_FILE:
        pass
    elif command == "show" or (command == "judge" and before and before[-1] in ("--kernel", "--baseline")):
        choices = _names("kernel", "experiment") if command == "show" else _names("kernel")
    elif command in RUN_COMMANDS:
        choices = [runs.LATEST, f"{runs.LATEST}~1", *map(str, runs.below(runs.OUTPUTS)[:MAX_RUNS])]
    elif command in ("sweep", "judge"):
        is_named = len(before) < len(words)  # the line names its subcommand
        choices = () if is_named or any("=" in word for word in before) else COMMANDS
        overrides = _overrides(last, before)
    return [*(word for word in choices if word.startswith(last)), *overrides]


def _options_of(command: str) -> list[str]:
    with contextlib.redirect_stdout(io.StringIO()) as text, contextlib.suppress(SystemExit):
        import_module(COMMANDS[command]).main(["--help"])
    return ["--help", *re.findall(r"--[a-z][a-z-]*", text.getvalue().partition("\n\n")[0])]


def _names(*groups: str) -> list[str]:
    return sorted(path.stem for group in groups for path in (CONF / group).glob("*.yaml"))


def _overrides(last: str, before: Sequence[str]) -> list[str]:
    """List Hydra's candidates. Completing after a comma, which Hydra cannot do, is added here."""
    _, before = options(before)
    chosen = [w for i, w in enumerate(before) if w in OPTIONS_WITH_VALUE or (i and before[i - 1] in OPTIONS_WITH_VALUE)]
    key, equals, values = last.partition("=")
    earlier, comma, start = values.rpartition(",")
    os.environ["COMP_LINE"] = " ".join(["runner", *(w for w in before if w not in chosen), key + equals + start])
    with contextlib.redirect_stdout(io.StringIO()) as answer, contextlib.suppress(UsageError):
        _run_hydra([*chosen, "-sc", "query=bash"])
    words = [word for word in answer.getvalue().split() if not word.startswith(INTERNAL_KEYS)]
    return [word.replace("=", f"={earlier}{comma}", 1) for word in words] if comma else words


def _run_hydra(arguments: Sequence[str]) -> None:
    from runner.compose import app  # noqa: PLC0415  (Hydra is slow to import)

    app.run(arguments, Session())
