"""Parse a command line: the options of Hydra, anywhere, and overrides."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from typing import NoReturn

from runner.cli import COMPLETION, OPTIONS_WITH_VALUE, SWEEP_OPTIONS
from runner.compose.names import nearest
from runner.errors import UsageError
from runner.kernel.declaration import VOCABULARY, Kind

OPTIONS = frozenset(name for name, kind in VOCABULARY.items() if kind is Kind.OPTIONS)
INFO = ("all", "config", "defaults", "searchpath")
REFUSED = {
    **dict.fromkeys(("--run", "-r"), "one case is a sweep, too; leave it out"),
    "--experimental-rerun": "python -m runner repeat FOLDER runs a sweep again",
    "--hydra-help": "docs/hydra.md lists what works as in Hydra; `runner --help` lists the options",
}


class Arguments(argparse.Namespace):
    """A parsed command line."""

    words: tuple[str, ...]  # the options, then the overrides
    overrides: list[str]
    help: bool
    cfg: str  # the configuration to print instead of running: job, hydra or all
    package: str  # the part of it to print; empty for all
    resolve: bool  # whether to resolve its ${...}
    info: str  # one of `INFO`
    completion: str  # install=SHELL, uninstall=SHELL or query=SHELL
    config_path: str | None
    config_name: str
    config_dir: str | None


def read(words: Sequence[str]) -> Arguments:
    """Parse the words after `runner`. Raises UsageError if an option is unknown, unsupported, or lacks its value."""
    ordered = _ordered(words)
    for word, instead in REFUSED.items():
        if word in (name.partition("=")[0] for name in ordered):
            raise UsageError(f"{word}: not supported; {instead}")
    parsed = _parser().parse_args(ordered, Arguments(words=tuple(ordered), completion=""))
    for option, given in (("--package", parsed.package), ("--resolve", parsed.resolve)):
        if given and not parsed.cfg:
            raise UsageError(f"{option}: only --cfg job, hydra or all uses it; it prints the configuration")
    if parsed.shell_completion:
        requests = [text for text in parsed.overrides if text.startswith(COMPLETION)]
        parsed.completion = next(iter(requests), "")
        parsed.overrides = [text for text in parsed.overrides if text not in requests]
    return parsed


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """Called by argparse."""
        word = message.rpartition(" ")[2].removeprefix("--")
        near = nearest(word, [o.removeprefix("--") for o in SWEEP_OPTIONS]).replace("you mean ", "you mean --")
        raise UsageError(f"cannot read the command line: {message}{near or '; --help shows how to write it'}")


def _parser() -> _Parser:
    parser = _Parser(add_help=False)
    parser.add_argument("overrides", nargs="*")
    for long, short in (("--help", "-h"), ("--multirun", "-m"), ("--shell-completion", "-sc")):
        parser.add_argument(long, short, action="store_true")
    parser.add_argument("--resolve", action="store_true")
    parser.add_argument("--cfg", "-c", choices=["job", "hydra", "all"], default="")
    parser.add_argument("--info", "-i", const="all", nargs="?", choices=INFO, default="")
    parser.add_argument("--package", "-p", default="")
    parser.add_argument("--config-path", "-cp")
    parser.add_argument("--config-name", "-cn", default="config", type=lambda t: (t or "config").removesuffix(".yaml"))
    parser.add_argument("--config-dir", "-cd")
    return parser


def _ordered(words: Sequence[str]) -> list[str]:
    """Move options to the front: argparse refuses overrides on both sides of an option."""
    options, overrides, rest = [], [], list(words)
    while rest:
        word = rest.pop(0)
        if not word.startswith("-"):
            overrides.append(_with_quotes(word))
            continue
        options.append(word)
        if word in OPTIONS_WITH_VALUE and rest:
            options.append(rest.pop(0))
        elif word in ("--info", "-i"):  # its value may be left out
            options.append(rest.pop(0) if rest and rest[0] in INFO else "all")
    return [*options, *overrides]


def _with_quotes(override: str) -> str:
    """Quote compiler options: Hydra's grammar accepts `=` only in a quoted value."""
    key, _, value = override.partition("=")
    if key.lstrip("+") not in OPTIONS or re.search(r"['\"(]", value):
        return override
    return f"{key}={re.sub(r'[^][,]*=[^][,]*', lambda found: quote(found[0].strip()), value)}"


def quote(text: str) -> str:
    """Quote text, such as a path, as the value of an override if Hydra's grammar needs it."""
    if re.fullmatch(r"[A-Za-z0-9/._+-]+", text):
        return text
    # Within quotes only backslashes before a quote are escaped.
    escaped = re.sub(r"(\\+)(?='|$)", r"\1\1", text).replace("'", "\\'")
    return f"'{escaped}'"
