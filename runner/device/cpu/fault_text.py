"""A fault of a kernel in words: the line of the source, the cause, and the thread."""

from __future__ import annotations

import shutil
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

from runner.device.cpu.interface import Fault, LaunchReport
from runner.device.cpu.memory import GuardedArray
from runner.device.cpu.program import CpuProgram
from runner.device.cpu.translate import PARAMETERS, WRAPPER, is_ours

NULL_PAGE = 4096  # bytes, where a structure behind a null pointer lies
HEAP_FULL = "the heap of 8 MiB is full (what earlier launches did not free stays in it)"
STACK_KIB = 64  # FiberPool::stack_bytes


def source_lines(program: CpuProgram, addresses: Sequence[int]) -> dict[int, str]:
    """`file.cu:12` by address: the innermost line of the user's code for instructions or calls, where there is one."""
    tool = shutil.which("addr2line") or shutil.which("llvm-addr2line")
    if not addresses or tool is None:
        return {}
    offsets = "".join(f"{address - program.base:#x}\n" for address in addresses)
    command = [tool, "-a", "-i", "-e", str(program.binary)]
    done = subprocess.run(command, input=offsets, capture_output=True, text=True, check=False)
    lines: dict[int, str] = {}
    address = 0
    for location in done.stdout.splitlines():
        if location.startswith("0x"):
            address = int(location, 16) + program.base
            continue
        file, _, line = location.split(" ")[0].rpartition(":")
        ours = is_ours(file) or Path(file).name in (WRAPPER, PARAMETERS)
        if line.isdigit() and int(line) and not ours and not file.startswith("/usr/"):
            lines.setdefault(address, f"{Path(file).name}:{line}")
    return lines


def fault_message(program: CpuProgram, fault: Fault, cause: str) -> str:
    """A sentence with the line of a fault, its cause, and the thread."""
    lines = source_lines(program, [address for address in fault.code_addresses if address])
    line = next((lines[address] for address in fault.code_addresses if address in lines), program.path.name)
    if not lines and fault.last_line:
        line = f"{Path(fault.last_file.decode(errors='replace')).name}:{fault.last_line}"
    elif not lines and program.definition_line:
        line += f":{program.definition_line}"
    block, thread = ",".join(map(str, fault.block)), ",".join(map(str, fault.thread))
    return f"{line}: {cause}; block ({block}), thread ({thread}) [warp {fault.warp}, lane {fault.lane}]"


def fault_cause(report: LaunchReport, arrays: Sequence[GuardedArray], shared: int) -> str:
    """What the kernel did: `arrays` are those of the launch, `shared` its bytes of dynamic shared memory."""
    fault = report.fault
    without_address = (
        (fault.signal == signal.SIGFPE,
         "integer division by zero (or of the smallest integer by -1): its result is undefined on a GPU"),
        (fault.frees_wrongly,
         "free() or delete of an address that is not allocated: no malloc() or new gave it, or it was freed"),
        (fault.signal in (signal.SIGILL, signal.SIGTRAP),
         "the kernel reached code that the compiler considers unreachable (undefined behaviour in C++)"),
        (fault.in_stack_guard, f"local variables need more than {STACK_KIB} KiB of stack"),
        (fault.is_unaddressed, "misaligned access to a vector type, or an invalid pointer"),
    )  # fmt: skip
    if cause := next((cause for holds, cause in without_address if holds), ""):
        return cause
    verb = "write" if fault.is_write else "read"
    if fault.in_shared_guard:
        return f"out-of-bounds {verb} of dynamic shared memory: byte {fault.shared_offset} of {shared}"
    for array in arrays:
        begin, end = array.guards
        if begin <= fault.data_address < end:
            element = (fault.data_address - array.begin) // array.dtype.itemsize
            if 0 <= element < array.size:
                return f"write to read-only input '{array.name}', element {element}"
            return f"out-of-bounds {verb} of {array.describe_out_of_bounds(element)}"
    if report.heap_was_full and fault.data_address < NULL_PAGE:
        return f"{verb} through a null pointer, which malloc() or new returned: {HEAP_FULL}"
    return f"memory fault: {verb} at {fault.data_address:#x}, in no array of the kernel"
