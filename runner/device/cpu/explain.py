"""Explain compiler errors, signals and time limits, each in a sentence with the kernel's own line."""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

from runner.device import Source
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
    """Errors in the generated lines mean that the kernel lacks what the experiment asks of it."""
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
    """The log with its first error on top and without notes that point into the shim."""
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


def line_of(program: CpuProgram, address: int) -> str | None:
    """`file.cu:12` for an instruction: the innermost place that is in the user's code, not in the shim."""
    tool = shutil.which("addr2line") or shutil.which("llvm-addr2line")
    if not address or tool is None:
        return None
    offset = hex(program.code_offset(address))
    said = subprocess.run([tool, "-i", "-e", program.binary, offset], capture_output=True, text=True, check=False)
    for location in said.stdout.splitlines():
        file, _, line = location.split(" ")[0].rpartition(":")
        ours = file.startswith(str(NATIVE)) or Path(file).name in (WRAPPER, PARAMETERS)
        if line.isdigit() and int(line) and not ours and not file.startswith("/usr/"):
            return f"{Path(file).name}:{line}"
    return None


def _where(program: CpuProgram, fault: Fault) -> str:
    place = line_of(program, fault.code_address)
    if place is None and fault.last_line:
        place = f"{Path(fault.last_file.decode(errors='replace')).name}:{fault.last_line}"
    if place is None and program.definition_line:
        place = f"{program.path.name}:{program.definition_line}"
    return place or program.path.name


def _who(fault: Fault) -> str:
    block, thread = ",".join(map(str, fault.block)), ",".join(map(str, fault.thread))
    return f"block ({block}), thread ({thread}) [warp {fault.warp}, lane {fault.lane}]"


def timeout(program: CpuProgram, fault: Fault, time_limit: float) -> str:
    """The sentence for a kernel that did not end."""
    return f"{_where(program, fault)}: still running after the time limit of {time_limit:g} s; {_who(fault)}"


def fault_sentence(program: CpuProgram, fault: Fault, arrays: Sequence[GuardedArray], shared: int) -> str:
    """The sentence for a signal."""
    return f"{_where(program, fault)}: {_what(fault, arrays, shared)}; {_who(fault)}"


def _what(fault: Fault, arrays: Sequence[GuardedArray], shared: int) -> str:
    if fault.signal == signal.SIGFPE:
        return "integer division by zero (or of the smallest integer by -1): its result is undefined on a GPU"
    if fault.signal in (signal.SIGILL, signal.SIGTRAP):
        return "the kernel reached code that the compiler holds for impossible (undefined behaviour in C++)"
    if fault.in_stack_guard:
        return f"local variables need more than {STACK_KIB} KiB of stack"
    if fault.is_unaddressed:
        return "misaligned access to a vector type, or a pointer that is no address"
    verb = "write" if fault.is_write else "read"
    if fault.in_shared_guard:
        return f"out-of-bounds {verb} of dynamic shared memory: byte {fault.shared_offset} of {shared}"
    for array in arrays:
        if array.covers(fault.data_address):
            return _out_of_bounds(array, fault.data_address, verb)
    return f"memory fault: {verb} at {fault.data_address:#x}, in no array of the kernel"


def _out_of_bounds(array: GuardedArray, address: int, verb: str) -> str:
    element = (address - array.pointer) // array.dtype.itemsize
    if 0 <= element < array.size:
        return f"write to read-only input '{array.name}', element {element}"
    return f"out-of-bounds {verb} of '{array.name}': element {element} of {array.size}"
