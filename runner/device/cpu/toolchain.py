"""The host's C++ compiler: where it is, which version it is, and the flags that kernels need."""

from __future__ import annotations

import functools
import os
import platform
import shlex
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from runner.errors import CompileError

NATIVE = Path(__file__).parent / "native"

COMMON_FLAGS = (
    "-std=c++17",
    "-O2",
    "-g1",
    "-gdwarf-4",  # binutils 2.40 names wrong files for some lines of DWARF 5
    "-fPIC",
    "-shared",
    "-fvisibility=hidden",
    "-fno-semantic-interposition",
    "-U_FORTIFY_SOURCE",  # its longjmp refuses to leave a lane's stack
)
X86_FLAGS = ("-mno-red-zone",)  # the switch of stacks pushes
KERNEL_FLAGS = (
    "-fno-exceptions",
    "-fno-strict-aliasing",
    "-fno-finite-loops",  # C++ may take a loop without effect for finite and drop it; on a GPU it hangs, and so here
    "-fwrapv",
    "-ffp-contract=off",
    "-fno-plt",
    "-fstack-clash-protection",  # large local arrays touch the guard page instead of jumping over it
    "-Wno-unknown-pragmas",  # #pragma unroll
    "-Wno-attributes",
)
_GCC_FLAGS = (
    "-fwhole-program",
    "-fno-var-tracking",
    "-fno-var-tracking-assignments",
    "-fno-aggressive-loop-optimizations",  # a loop beyond an array's end is to be found, not to be ended early
)


@dataclass(frozen=True)
class Toolchain:
    """A C++ compiler.

    Attributes:
        command: How to start it.
        version: The first line of what it says of itself.
    """

    command: tuple[str, ...]
    version: str

    @property
    def identity(self) -> str:
        """What a cached result depends on: another compiler, or another version, makes another binary."""
        return f"{shutil.which(self.command[0])}\0{' '.join(self.command)}\0{self.version}"

    @property
    def is_clang(self) -> bool:
        """Whether it is clang++, not g++."""
        return "clang" in self.version

    @property
    def kernel_flags(self) -> tuple[str, ...]:
        """Flags of g++ for kernels.

        Of several kernels in a file, only the one that is launched is compiled. No instruction says where a variable
        is: lines do not need it, and it takes a third of the time.
        """
        return () if self.is_clang else _GCC_FLAGS

    @property
    def precompile_flags(self) -> tuple[str, ...]:
        """Flags for a precompiled header: clang++ would refuse it once the headers have been installed again."""
        return ("-Xclang", "-fno-pch-timestamp") if self.is_clang else ()


def machine_flags() -> tuple[str, ...]:
    """Flags that only this machine's kind of CPU knows."""
    return X86_FLAGS if platform.machine() in ("x86_64", "AMD64") else ()


def find(cxx: str | None = None) -> Toolchain:
    """Find the compiler: `cxx`, or `$CXX`, or the first of the usual ones.

    Raises:
        CompileError: if there is none, or it does not work.
    """
    wanted = cxx or os.environ.get("CXX")
    if wanted:
        command = tuple(shlex.split(wanted))
        if not command or shutil.which(command[0]) is None:
            raise CompileError(
                f"the C++ compiler '{wanted}' is not there: install g++ (Debian: apt-get install g++) or set CXX"
            )
        return _ask(command)
    for name in ("c++", "g++", "clang++"):
        if shutil.which(name):
            return _ask((name,))
    raise CompileError("no C++ compiler found: install g++ (Debian: apt-get install g++) or set CXX")


def _ask(command: tuple[str, ...]) -> Toolchain:
    executable = shutil.which(command[0])
    return _ask_once(command, Path(executable).stat().st_mtime_ns if executable else 0)


@functools.lru_cache(maxsize=8)
def _ask_once(command: tuple[str, ...], _stamp: int) -> Toolchain:
    """Start the compiler once for each state of its file."""
    try:
        said = subprocess.run([*command, "--version"], capture_output=True, text=True, check=True, timeout=60)
    except (OSError, subprocess.SubprocessError) as error:
        raise CompileError(f"the C++ compiler '{' '.join(command)}' does not work: {error}") from error
    lines = said.stdout.strip().splitlines()
    return Toolchain(command, lines[0] if lines else "unknown version")
