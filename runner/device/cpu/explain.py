"""From what a signal found to a sentence at the kernel's own line."""

from __future__ import annotations

import shutil
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

from runner.device.cpu.memory import GuardedArray
from runner.device.cpu.native import Fault
from runner.device.cpu.program import CpuProgram
from runner.device.cpu.toolchain import NATIVE
from runner.device.cpu.translate import PARAMETERS, WRAPPER

STACK_KIB = 64  # FiberPool::stack_bytes


def line_of(program: CpuProgram, address: int) -> str | None:
    """`file.cu:12` for an instruction: the innermost place that is the user's own, not the shim's."""
    tool = shutil.which("addr2line") or shutil.which("llvm-addr2line")
    if not address or tool is None:
        return None
    offset = hex(program.code_offset(address))
    said = subprocess.run([tool, "-i", "-e", program.binary, offset], capture_output=True, text=True, check=False)
    for place in said.stdout.splitlines():
        file, _, line = place.split(" ")[0].rpartition(":")
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
