"""Programs in a real pseudo terminal, and what its screen showed."""

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable
from pathlib import Path

from processes import PATIENCE_S, environment, without_lines
from rich.cells import cell_len

# Makes the terminal the one from which Ctrl-C comes, then becomes the program.
TAKE = "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execvp(sys.argv[1], sys.argv[1:])"
CSI = re.compile(r"\x1b\[[0-9;?]*([A-Za-z])")


class Terminal:
    """A program in a terminal of so many columns."""

    def __init__(self, directory: Path, *command: str, columns: int, **further: str) -> None:
        known = {**environment(), "TERM": "xterm-256color", **further}
        kept = {name: value for name, value in known.items() if name not in ("COLUMNS", "NO_COLOR")}
        self._fd, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 30, columns, 0, 0))
        self._program = subprocess.Popen(
            [sys.executable, "-c", TAKE, *command], cwd=directory, env=kept, start_new_session=True,
            stdin=theirs, stdout=theirs, stderr=theirs,
        )  # fmt: skip
        os.close(theirs)
        self.output = ""

    def press(self, keys: str) -> None:
        """Type something."""
        os.write(self._fd, keys.encode())

    def read(self, until: Callable[[str], bool] = lambda _: False) -> str:
        """Read until the output since the last call satisfies a condition, or the program ends; give that output."""
        fresh, deadline = b"", time.monotonic() + PATIENCE_S
        while not until(fresh.decode(errors="replace")):
            assert time.monotonic() < deadline, fresh
            if select.select([self._fd], [], [], 0.1)[0]:
                try:
                    got = os.read(self._fd, 65536)
                except OSError:  # the program has ended
                    break
                if not got:
                    break
                fresh += got
        text = fresh.decode(errors="replace")
        self.output += text
        return text

    def end(self) -> int:
        """Wait for the program; its exit status."""
        self.read()
        os.close(self._fd)
        return self._program.wait()


def runner(directory: Path, *arguments: str, columns: int, **further: str) -> Terminal:
    """`python -m runner ...` in a terminal."""
    return Terminal(directory, sys.executable, "-m", "runner", *without_lines(arguments), columns=columns, **further)


def frames(output: str) -> list[str]:
    """All lines that the terminal was made to show, one after the other, also those that were replaced."""
    lines = re.split(r"\r\n|\r|\n|\x1b\[2K", output)
    return [text for line in lines if (text := CSI.sub("", line))]


def screen(output: str) -> list[str]:
    """The lines that stay, as the program wrote them; a terminal wraps those that are wider than it is."""
    lines, at = [""], 0
    for part in re.split(r"(\r\n|\r|\n|\x1b\[[0-9;?]*[A-Za-z])", output):
        if part in ("\n", "\r\n"):
            at += 1
            lines += [""] * (at + 1 - len(lines))
        elif part in ("\x1b[2K", "\r"):
            lines[at] = ""
        elif (found := CSI.fullmatch(part)) and found[1] == "A":
            at = max(0, at - int(re.sub(r"\D", "", part) or 1))
        elif not found:
            lines[at] += part
    return [line.rstrip() for line in lines]


def widest(lines: list[str]) -> int:
    """Columns of the longest line."""
    return max(map(cell_len, lines))
