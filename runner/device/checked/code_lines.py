"""Functions, loops and conditions of a source as ranges of lines: whether a loop leads from one line to another."""

from __future__ import annotations

import re
from dataclasses import dataclass

import tree_sitter

from runner.device.cpu.translate import blank_comments_and_literals
from runner.device.syntax import descendants, parse, text_of

_LOOPS = ("for_statement", "for_range_loop", "while_statement", "do_statement")
_CONDITIONS = ("if_statement", "else_clause", "switch_statement", "preproc_if", "preproc_ifdef", "preproc_else")


@dataclass(frozen=True)
class Lines:
    """A range of lines, both ends included."""

    first: int
    last: int

    def holds(self, *lines: int) -> bool:
        """Whether the range contains all of these lines."""
        return all(self.first <= line <= self.last for line in lines)


def _lines(first: tree_sitter.Node, last: tree_sitter.Node | None = None) -> Lines:
    return Lines(first.start_point[0] + 1, (last or first).end_point[0] + 1)


def _types(node: tree_sitter.Node) -> list[str]:
    return [child.type for child in node.named_children]


class Code:
    """The functions, loops and conditions of a source."""

    def __init__(self, text: str) -> None:
        self._text_lines = blank_comments_and_literals(text).splitlines()
        nodes = list(descendants(parse(text).root))
        bodies = [(n, n.child_by_field_name("body")) for n in nodes if n.type == "function_definition"]
        self._functions = [_lines(body) for _, body in bodies if body]
        self._kernels = [_lines(body) for n, body in bodies if body and "__global__" in text_of(n).partition("{")[0]]
        self._loops = [_lines(n) for n in nodes if n.type in _LOOPS]
        conditions = (n for n in nodes if n.type in _CONDITIONS)
        # An `if` ends before its `else`, and `else if` is that second `if`.
        parts = (n for n in conditions if not (n.type == "else_clause" and _types(n)[-1:] == ["if_statement"]))
        self._conditions = [_lines(n, n.child_by_field_name("consequence")) for n in parts]

    def in_one_function(self, *lines: int) -> bool:
        """Whether one function contains all of these lines."""
        return any(function.holds(*lines) for function in self._functions)

    def loop_of(self, *lines: int) -> Lines | None:
        """The innermost loop that contains all of these lines."""
        loops = [loop for loop in self._loops if loop.holds(*lines)]
        return min(loops, key=lambda loop: loop.last - loop.first, default=None)

    def is_kernel(self, line: int) -> bool:
        """Whether the line is in a `__global__` function, which runs once per launch."""
        return any(kernel.holds(line) for kernel in self._kernels)

    def is_conditional(self, line: int, within: Lines) -> bool:
        """Whether the line depends on a condition in these lines."""
        return any(within.holds(c.first, c.last) and c.holds(line) for c in self._conditions)

    def decides(self, first: int, last: int) -> bool:
        """Whether the last line depends on a condition in the first one."""
        return any(c.first == first < last and c.holds(last) for c in self._conditions)

    def matches(self, pattern: re.Pattern[str], within: Lines) -> list[int]:
        """The lines in a range that contain a pattern."""
        return [n for n, line in enumerate(self._text_lines, start=1) if within.holds(n) and pattern.search(line)]
