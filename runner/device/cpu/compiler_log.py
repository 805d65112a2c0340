"""What the compiler said, made readable."""

from __future__ import annotations

import re

from runner.device import Source
from runner.device.cpu.toolchain import NATIVE
from runner.device.cpu.translate import WRAPPER
from runner.errors import CompileError

_ERROR = re.compile(r"^(?P<file>[^\n:]+):(?P<line>\d+):(?:\d+:)? (?:fatal )?error: (?P<text>.*)$", re.MULTILINE)
_UNRESOLVED = re.compile(r"undefined reference to [`'](?P<name>[^']+)'|undefined symbol: (?P<other>\S+)")
_LOCATION = re.compile(r"^(?:In file included from|\s+from) |^(?P<file>[^\s:][^\n:]*):\d+")
_POISONED = re.compile(r"poisoned \"?'?(?:asm|__asm__)|poisoned identifier")
_NO_PTX = "inline PTX cannot run on the CPU device"


def explain_failure(source: Source, log: str) -> CompileError:
    """The error to raise for a kernel that does not compile."""
    errors = list(_ERROR.finditer(log))
    own = [found for found in errors if found["file"] != WRAPPER and not _is_ours(found["file"])]
    if _POISONED.search(log):
        log = f"{log.rstrip()}\n{_NO_PTX}\n"
    if own:
        first = own[0]
        text = f"{first['file']}:{first['line']}: {first['text']}"
        if _POISONED.search(first["text"]):
            text += f" ({_NO_PTX})"
        return CompileError(f"{source.path} does not compile: {text}", _without_noise(log, first.group()))
    for found in errors:
        if found["file"] == WRAPPER:
            return CompileError(f"{source.path}: {_about_wrapper(source, log, found['text'])}", log)
    unresolved = _UNRESOLVED.search(log)
    if unresolved:
        name = unresolved["name"] or unresolved["other"]
        return CompileError(f"{source.path} does not link: '{name}' is declared, but defined nowhere", log)
    first_line = errors[0]["text"] if errors else (log.strip().splitlines() or ["the compiler gave no reason"])[0]
    return CompileError(f"{source.path} does not compile: {first_line}", log)


def _about_wrapper(source: Source, log: str, text: str) -> str:
    """Errors in the lines that we add mean that the kernel lacks what the experiment asks of it."""
    for name in source.constants:
        word = re.escape(name)
        if re.search(rf"'{word}' (?:was not|has not been) declared|undeclared identifier '{word}'", log):
            return f"has no __constant__ or __device__ variable '{name}'"
    if re.search(rf"'{re.escape(source.function)}'", text):
        return f"has no function '{source.function}' (an extern \"C\" __global__ function of that name is needed)"
    return f"'{source.function}' cannot be launched: {text} (an extern \"C\" __global__ void function is needed)"


def _is_ours(file: str) -> bool:
    return file.startswith(str(NATIVE))


def _without_noise(log: str, first_error: str) -> str:
    """The log with its first error on top, and without the notes that point into the shim."""
    kept, skipping = [], False
    for line in log.splitlines():
        found = _LOCATION.match(line)
        if found and found["file"]:
            skipping = _is_ours(found["file"]) and " error:" not in line
        elif found:
            skipping = False
        if not skipping:
            kept.append(line)
    body = "\n".join(kept)
    return f"{body}\n" if body.startswith(first_error) else f"{first_error}\n\n{body}\n"
