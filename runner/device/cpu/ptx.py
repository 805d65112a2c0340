"""Inline PTX for the CPU device: supported `asm` statements become calls of native/ptx.h.

An instruction that is not there becomes a call that does not compile, with a message at its line; nothing happens if no
kernel reaches it, as in a macro that nobody uses.
"""

from __future__ import annotations

import ast
import re
import zlib

from runner.device.cpu.ptx_instructions import Translation, Unknown, split

HEADER = "simt_ptx.h"

ASM = re.compile(r"\b(?:asm|__asm__|__asm)\s*(?:\b(?:volatile|__volatile__)\s*)?\(")
_LITERAL = re.compile(r'"(?:\\.|[^"\\\n])*"', re.DOTALL)
_OPERAND = re.compile(
    r'\s*(?:\[\s*(?P<name>\w+)\s*\]\s*)?"(?P<constraint>[^"]*)"\s*(?P<expression>\(.*\))\s*', re.DOTALL
)


def rewrite_ptx(text: str, visible: str) -> str:
    """Replace the `asm` statements. `visible` has blank comments and literals. Lines keep their numbers."""
    pieces, end = [], 0
    for found in ASM.finditer(visible):
        if found.start() < end:
            continue
        close = _closing(visible, found.end() - 1)
        if close is None:  # no parenthesis behind it is balanced either; the compiler says so
            break
        inner = text[found.end() : close]
        lines = "".join(re.findall(r"\\?\n", text[found.start() : close]))
        pieces += [text[end : found.start()], _statement(inner, visible[found.end() : close]), " " * bool(lines), lines]
        end = close + 1
    return "".join(pieces) + text[end:]


def _closing(visible: str, at: int) -> int | None:
    depth = 0
    for place in range(at, len(visible)):
        depth += (visible[place] == "(") - (visible[place] == ")")
        if depth == 0:
            return place
    return None


def _statement(inner: str, visible: str) -> str:
    """The C++ for the text between the parentheses of an `asm`."""
    inner = re.sub(r"\\\n", " \n", inner)
    visible = re.sub(r"\\\n", " \n", visible)
    sections = list(split(inner, visible, ":"))
    try:
        operands = [_operand(one) for s in sections[1:3] for one in split(s, _hidden(s), ",") if one.strip()]
        translation = Translation(operands, is_basic=len(sections) == 1)
        return f"({{ {' '.join(translation.lines(_only_literals(sections[0])))} }})"
    except (Unknown, IndexError, KeyError, ValueError):
        code = "".join(_LITERAL.findall(sections[0])).replace("\\n", " ").replace('""', "")
        message = " ".join(code.split()).strip('"').replace("\\", "").replace('"', "'")[:60]
        name = f"simt_no_ptx_{zlib.crc32(message.encode())}"
        return f"({{ SIMT_NOT_HERE(\"inline PTX '{message}' cannot run\" SIMT_GPU_ONLY) void {name}(); {name}(); }})"


def _only_literals(section: str) -> str:
    if _LITERAL.sub("", section).strip():
        raise Unknown  # a macro makes a part of it
    return "".join(ast.literal_eval(literal) for literal in _LITERAL.findall(section))


def _hidden(text: str) -> str:
    return _LITERAL.sub(lambda found: " " * len(found.group()), text)


def _operand(text: str) -> tuple[str, str]:
    found = _OPERAND.fullmatch(text)
    if not found:
        raise Unknown
    return found["name"] or "", " ".join(found["expression"].split())
