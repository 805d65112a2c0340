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

from processes import PATIENCE_S, Program, environment, requested
from rich.cells import cell_len

# Makes the terminal the one from which Ctrl-C comes, then becomes the program.
TAKE = "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execvp(sys.argv[1], sys.argv[1:])"
CSI = re.compile(r"\x1b\[[0-9;?]*([A-Za-z])")


class Terminal:
    """A terminal of so many columns, in which `opened` starts a program, given the terminal's other end."""

    def __init__(self, opened: Callable[[int], subprocess.Popen], columns: int) -> None:
        self._fd, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 30, columns, 0, 0))
        self._program = opened(theirs)
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
        return self.close()

    def close(self) -> int:
        """Close the terminal; the exit status of the program."""
        os.close(self._fd)
        return self._program.wait()


def variables_of_a_terminal(**further: str) -> dict[str, str]:
    """The environment of a program in a terminal."""
    variables = {**environment(), "TERM": "xterm-256color", **further}
    return {name: value for name, value in variables.items() if name not in ("COLUMNS", "NO_COLOR")}


def shell(directory: Path, *command: str, columns: int, **further: str) -> Terminal:
    """A command in a terminal."""

    def opened(end: int) -> subprocess.Popen:
        command_line = [sys.executable, "-c", TAKE, *command]
        streams = {"stdin": end, "stdout": end, "stderr": end}
        return subprocess.Popen(
            command_line, cwd=directory, env=variables_of_a_terminal(**further), start_new_session=True, **streams
        )

    return Terminal(opened, columns)


def runner(directory: Path, *arguments: str, columns: int, **further: str) -> Terminal:
    """`python -m runner ...` in a terminal."""
    request = requested(directory, arguments, "runner", variables_of_a_terminal(**further))
    return Terminal(lambda end: Program(request, stdout=end, stderr=end), columns)


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
