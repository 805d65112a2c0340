"""Functions and loops of a source as ranges of lines, which tell whether a loop leads from one line to another."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from runner.device.cpu.ptx import closing

_LOOP = re.compile(r"\b(for|while|do)\b")
_CONDITION = re.compile(r"\b(if|else|switch)\b")
_CONTROL = re.compile(r"\s*(for|while|if|else|do)\b")


@dataclass(frozen=True)
class Lines:
    """A range of lines, both ends included."""

    first: int
    last: int

    def holds(self, *lines: int) -> bool:
        """Whether the range contains all of these lines."""
        return all(self.first <= line <= self.last for line in lines)


@dataclass(frozen=True)
class _Function(Lines):
    is_kernel: bool


class Code:
    """The functions and loops of a source whose comments and strings are blank."""

    def __init__(self, visible: str) -> None:
        self._text = visible
        self._functions = tuple(self._bodies())
        self._loops = tuple(self._statements(_LOOP))
        self._conditions = tuple(self._statements(_CONDITION))

    def in_one_function(self, *lines: int) -> bool:
        """Whether one function contains all of these lines."""
        return any(function.holds(*lines) for function in self._functions)

    def loop_of(self, *lines: int) -> Lines | None:
        """The innermost loop that contains all of these lines."""
        around = [loop for loop in self._loops if loop.holds(*lines)]
        return min(around, key=lambda loop: loop.last - loop.first, default=None)

    def is_kernel(self, line: int) -> bool:
        """Whether the line is in a `__global__` function, which runs once per launch."""
        return any(function.holds(line) and function.is_kernel for function in self._functions)

    def is_conditional(self, line: int, within: Lines) -> bool:
        """Whether the line depends on a condition in these lines."""
        conditions = (c for c in self._conditions if within.holds(c.first, c.last))
        return any(c.holds(line) for c in conditions)

    def decides(self, first: int, last: int) -> bool:
        """Whether the last line depends on a condition in the first one."""
        return any(c.first == first < last and c.holds(last) for c in self._conditions)

    def matches(self, pattern: re.Pattern[str], within: Lines) -> list[int]:
        """The lines in a range that contain a pattern."""
        return [
            number
            for number, line in enumerate(self._text.splitlines(), start=1)
            if within.holds(number) and pattern.search(line)
        ]

    def _line(self, offset: int) -> int:
        return self._text.count("\n", 0, offset) + 1

    def _end(self, offset: int) -> int:
        """The offset behind the bracket that closes the one at `offset`; the end of the text if it is unbalanced."""
        end = closing(self._text, offset)
        return len(self._text) if end is None else end + 1

    def _bodies(self) -> Iterator[_Function]:
        """The outermost braces that follow a closing parenthesis: bodies of functions."""
        offset = ended = 0
        while (offset := self._text.find("{", offset)) >= 0:
            before = self._text[ended:offset].rstrip()
            if before.endswith(")"):
                end = self._end(offset)
                head = before[max(before.rfind(";"), before.rfind("}"), before.rfind("{")) + 1 :]
                yield _Function(self._line(offset), self._line(end - 1), "__global__" in head)
                offset = ended = end
            else:
                offset += 1

    def _statements(self, keyword: re.Pattern[str]) -> Iterator[Lines]:
        for match in keyword.finditer(self._text):
            end = self._statement(match.end(), has_head=match[1] not in ("do", "else"))
            yield Lines(self._line(match.start()), self._line(end - 1))

    def _statement(self, offset: int, *, has_head: bool) -> int:
        """The end of a loop's body, from the offset behind its keyword."""
        if has_head:
            opened = self._text.find("(", offset)
            offset = self._end(opened) if opened >= 0 else len(self._text)
        if inner := _CONTROL.match(self._text, offset):
            return self._statement(inner.end(), has_head=inner[1] not in ("else", "do"))
        while offset < len(self._text) and self._text[offset] not in ";}":
            if self._text[offset] == "{":
                return self._end(offset)
            offset = self._end(offset) if self._text[offset] in "([{" else offset + 1
        return offset + 1
