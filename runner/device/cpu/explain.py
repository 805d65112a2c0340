"""Explain compiler errors, signals and time limits, each in a sentence with the kernel's own line."""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

from runner.device import Source
from runner.device.cpu.host_only import MARK
from runner.device.cpu.memory import GuardedArray
from runner.device.cpu.program import CpuProgram, Fault
from runner.device.cpu.toolchain import NATIVE
from runner.device.cpu.translate import PARAMETERS, WRAPPER
from runner.errors import CompileError

STACK_KIB = 64  # FiberPool::stack_bytes

_ERROR = re.compile(r"^(?P<file>[^\n:]+):(?P<line>\d+):(?:\d+:)? (?:fatal )?error: (?P<text>.*)$", re.MULTILINE)
_UNRESOLVED = re.compile(r"undefined reference to [`'](?P<name>[^']+)'|undefined symbol: (?P<other>\S+)")
_LOCATION = re.compile(r"^(?:In file included from|\s+from) |^(?P<file>[^\s:][^\n:]*):\d+")
_POISONED = re.compile(r"poisoned \"?'?(?:asm|__asm__)|poisoned identifier")
_HOST_ONLY = re.compile(rf"{MARK}(\w+)")
_NO_PTX = "inline PTX cannot run on the CPU device"


def explain_failure(source: Source, log: str) -> CompileError:
    """The error to raise for a kernel that does not compile."""
    errors = list(_ERROR.finditer(log))
    if _POISONED.search(log):
        log = f"{log.rstrip()}\n{_NO_PTX}\n"
    first = next((e for e in errors if e["file"] != WRAPPER and not _is_ours(e["file"])), None)
    refused = next(((e, found) for e in errors if (found := _HOST_ONLY.search(e["text"]))), None)
    if refused:
        error, name = refused[0], refused[1][1]
        text = (
            f"{error['file']}:{error['line']}: a kernel cannot call '{name}', a function of the host (nvcc refuses it)"
        )
        return CompileError(f"{source.path} does not compile: {text}", log.replace(MARK, ""))
    if first:
        text = f"{first['file']}:{first['line']}: {first['text']}"
        if _POISONED.search(first["text"]):
            text += f" ({_NO_PTX})"
        return CompileError(f"{source.path} does not compile: {text}", _without_noise(log, first.group()))
    wrapped = next((e["text"] for e in errors if e["file"] == WRAPPER), None)
    if wrapped is not None:
        return CompileError(f"{source.path}: {_about_wrapper(source, log, wrapped)}", log)
    if unresolved := _UNRESOLVED.search(log):
        name = unresolved["name"] or unresolved["other"]
        return CompileError(f"{source.path} does not link: '{name}' is declared, but defined nowhere", log)
    first_line = errors[0]["text"] if errors else (log.strip().splitlines() or ["the compiler gave no reason"])[0]
    return CompileError(f"{source.path} does not compile: {first_line}", log)


def _about_wrapper(source: Source, log: str, text: str) -> str:
    """Explain an error in the generated lines: the kernel lacks something that the experiment needs."""
    for name in source.constants:
        word = re.escape(name)
        if re.search(rf"'{word}' (?:was not|has not been) declared|undeclared identifier '{word}'", log):
            return f"has no __constant__ or __device__ variable '{name}'"
    if f"'{source.function}'" in text:
        return f"has no function '{source.function}' (a __global__ function of that name, in no namespace, is needed)"
    return f"'{source.function}' cannot be launched: {text} (a __global__ void function, no template, is needed)"


def _is_ours(file: str) -> bool:
    """Whether the file is the shim's, also where another checkout filled the cache."""
    return "/".join(("", *NATIVE.parts[-3:], "")) in file


def _without_noise(log: str, first_error: str) -> str:
    """The log with its first error on top and without notes that point into the shim."""
    kept, skipping = [], False
    for line in log.splitlines():
        if found := _LOCATION.match(line):
            skipping = _is_ours(found["file"] or "") and " error:" not in line
        if not skipping:
            kept.append(line)
    body = "\n".join(kept)
    return f"{body}\n" if body.startswith(first_error) else f"{first_error}\n\n{body}\n"


def _line_of(program: CpuProgram, address: int) -> str | None:
    """`file.cu:12` for an instruction: the innermost line of the user's code, not of the shim."""
    tool = shutil.which("addr2line") or shutil.which("llvm-addr2line")
    if not address or tool is None:
        return None
    offset = hex(address - program.code_begin)
    said = subprocess.run([tool, "-i", "-e", program.binary, offset], capture_output=True, text=True, check=False)
    for location in said.stdout.splitlines():
        file, _, line = location.split(" ")[0].rpartition(":")
        ours = _is_ours(file) or Path(file).name in (WRAPPER, PARAMETERS)
        if line.isdigit() and int(line) and not ours and not file.startswith("/usr/"):
            return f"{Path(file).name}:{line}"
    return None


def _sentence(program: CpuProgram, at: Fault, what: str) -> str:
    """The line, the event and the thread."""
    line = _line_of(program, at.code_address)
    if line is None:
        file, number = program.path.name, program.definition_line
        if at.last_line:
            file, number = Path(at.last_file.decode(errors="replace")).name, at.last_line
        line = f"{file}:{number}" if number else file
    block, thread = ",".join(map(str, at.block)), ",".join(map(str, at.thread))
    return f"{line}: {what}; block ({block}), thread ({thread}) [warp {at.warp}, lane {at.lane}]"


def timeout(program: CpuProgram, at: Fault, time_limit: float) -> str:
    """The sentence for a kernel that did not end."""
    return _sentence(program, at, f"still running after the time limit of {time_limit:g} s")


def fault(program: CpuProgram, at: Fault, arrays: Sequence[GuardedArray], shared: int) -> str:
    """The sentence for a signal."""
    return _sentence(program, at, _what(at, arrays, shared))


def _what(at: Fault, arrays: Sequence[GuardedArray], shared: int) -> str:
    if at.signal == signal.SIGFPE:
        return "integer division by zero (or of the smallest integer by -1): its result is undefined on a GPU"
    if at.signal in (signal.SIGILL, signal.SIGTRAP):
        return "the kernel reached code that the compiler considers unreachable (undefined behaviour in C++)"
    if at.in_stack_guard:
        return f"local variables need more than {STACK_KIB} KiB of stack"
    if at.is_unaddressed:
        return "misaligned access to a vector type, or a pointer that is no address"
    verb = "write" if at.is_write else "read"
    if at.in_shared_guard:
        return f"out-of-bounds {verb} of dynamic shared memory: byte {at.shared_offset} of {shared}"
    for array in arrays:
        if array.covers(at.data_address):
            element = (at.data_address - array.begin) // array.dtype.itemsize
            if 0 <= element < array.size:
                return f"write to read-only input '{array.name}', element {element}"
            return f"out-of-bounds {verb} of '{array.name}': element {element} of {array.size}"
    return f"memory fault: {verb} at {at.data_address:#x}, in no array of the kernel"
