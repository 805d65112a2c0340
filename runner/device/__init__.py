"""The interface between experiments and hardware.

A `Compiler` turns a `Source` into a `Binary`. It runs in the parent process, on several threads, and never touches the
device. A `Device` lives in the worker process. It loads binaries, uploads arrays, launches kernels and times launches.
It knows nothing of statistics, files, or the meaning of the numbers.

`runner.device.cuda` (PyCUDA) and `runner.device.cpu` (SIMT execution on the host) implement both. A further back end is
a package with the functions of `kinds.Backend`, and an entry in `kinds.KINDS`.
"""

from __future__ import annotations

import enum
import re
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from runner.device import kinds

if TYPE_CHECKING:  # the parent starts its worker before it imports NumPy
    import numpy as np
    from numpy.typing import NDArray

Dim3 = tuple[int, int, int]

EARLY = re.compile(r"[A-Z][A-Z0-9_]{3,}")  # macros that come before all headers, so that these may ask for them


_OVERLOAD = re.compile(r"(?P<name>[\w:]+\s*(?:<.*>)?)\s*(?P<types>\(.*\))?", re.DOTALL)


def plain(function: str) -> str:
    """A function's own name, without namespaces, template arguments and parameter types."""
    return re.split(r"[<(]", function)[0].rpartition("::")[2].strip()


def pointer_to(function: str) -> tuple[str, str]:
    """The C++ type and value of a pointer to a function; `blur(float*, int)` selects one of several overloads."""
    found = _OVERLOAD.fullmatch(function)
    if found is None or found["types"] is None:
        return f"decltype(&{function})", f"&{function}"
    kind = f"void (*){found['types']}"
    return kind, f"static_cast<{kind}>(&{found['name']})"


class Role(enum.StrEnum):
    """What a kernel may do with an array, and what happens to the array around a launch."""

    IN = "in"  # read only; on the CPU device a write is a hazard
    OUT = "out"  # written by the kernel; poisoned before a check
    INOUT = "inout"  # changed in place; restored from its initial content before each launch
    STATE = "state"  # zeroed once; the kernel leaves it ready for its next launch
    SCRATCH = "scratch"  # working memory of the kernel; only the kernel reads it


@dataclass(frozen=True)
class Texture:
    """How a kernel reads an array through a texture object, in the words of cudaResourceDesc and cudaTextureDesc."""

    resource: str = "array"  # or linear, pitch2d
    address_mode: tuple[str, str, str] = ("wrap", "wrap", "wrap")  # in x, y, z; or clamp, mirror, border
    filter_mode: str = "point"  # or linear
    read_mode: str = "element_type"  # or normalized_float
    normalized_coords: bool = False
    border_color: tuple[int | float, ...] = (0, 0, 0, 0)

    @property
    def promotes(self) -> bool:
        """Whether a fetch converts integers to normalized floats."""
        return self.read_mode == "normalized_float"

    @property
    def address_modes(self) -> tuple[str, str, str]:
        """The modes in x, y, z. CUDA clamps unnormalized coordinates in place of wrapping them."""
        if self.normalized_coords:
            return self.address_mode
        x, y, z = (m if m == "border" else "clamp" for m in self.address_mode)
        return x, y, z

    def border(self, kind: str) -> bytes:
        """The numbers of `border_color` as the driver takes them: floats, or integers of 32 bits read as such.

        `kind` is NumPy's letter for the array's numbers.
        """
        letter = "f" if kind == "f" or self.promotes else "i" if kind == "i" else "I"
        return struct.pack(f"4{letter}", *(n if letter == "f" else int(n) for n in self.border_color))


@dataclass(frozen=True)
class Surface:
    """A kernel reads and writes an array through a surface object."""


class Order(enum.IntEnum):
    """In which order the CPU device runs what CUDA leaves open: a right kernel gives the same result in each."""

    USUAL = 0  # as lanes, warps and blocks are numbered
    REVERSE = 1
    RANDOM = 2  # and the seed of its choices; larger numbers are other seeds

    @property
    def words(self) -> str:
        """The order, for messages."""
        return {Order.USUAL: "in order", Order.REVERSE: "in reverse order", Order.RANDOM: "in a random order"}[self]


@dataclass(frozen=True)
class Source:
    """One variant of a kernel, ready for a compiler."""

    path: Path  # the kernel's `.cu`; messages name it
    text: str  # its content
    function: str  # the `__global__` function in it as C++ names it, such as `reduce` or `sums::reduce<float, BLOCK>`
    macros: tuple[tuple[str, str], ...] = ()  # (name, replacement) in order: `#define` lines, never `-D` flags
    constants: tuple[str, ...] = ()  # `__constant__` or `__device__` arrays that are set before a launch
    headers: tuple[str, ...] = ()  # CUDA's headers that the macros need, such as `cuda_fp16.h`; included first
    further: tuple[str, ...] = ()  # other `__global__` functions in it that a program of launches needs
    cooperative: bool = False  # launched with all blocks resident at once, so that they can wait for each other
    include: tuple[Path, ...] = ()  # further folders with what it includes
    options: tuple[str, ...] = ()  # for a GPU's compiler; see `runner.device.options`

    @property
    def folders(self) -> tuple[Path, ...]:
        """The folders in which included files are searched."""
        return (self.path.resolve().parent, *self.include)

    @property
    def functions(self) -> tuple[str, ...]:
        """All functions that are launched."""
        return (self.function, *self.further)

    @property
    def plain_function(self) -> str:
        """The function's own name, without namespaces and a template's arguments."""
        return plain(self.function)

    @property
    def late_macros(self) -> tuple[tuple[str, str], ...]:
        """The macros with short or lower-case names, which would change what a toolkit's headers mean."""
        return tuple((name, value) for name, value in self.macros if not EARLY.fullmatch(name))

    def defines(self, further: Sequence[str] = ()) -> str:
        """The lines before the text: the headers, and one `#define` line per macro.

        `further` headers, which the text includes, come before the late macros, which they must not see.
        """
        early = [macro for macro in self.macros if macro not in self.late_macros]
        lines = [f"#include <{name}>\n" for name in self.headers]
        lines += [f"#define {name} {value}\n" for name, value in early]
        lines += [f"#include <{name}>\n" for name in further]
        return "".join((*lines, *(f"#define {name} {value}\n" for name, value in self.late_macros)))


@dataclass(frozen=True)
class Binary:
    """A compiled `Source` in a cache on disk: a cubin, or a shared object of the CPU device."""

    path: Path  # complete as soon as it exists (written aside, then renamed)
    digest: str  # SHA-256 of its bytes, in hex
    seconds: float  # compile time; for a cache hit, of the lookup
    cached: bool
    log: str = ""  # the compiler's warnings

    @property
    def name(self) -> str:
        """The name in tables: the beginning of its digest."""
        return self.digest[:12]


class Compiler(Protocol):
    """Source to binary, through a cache that parallel writers share."""

    @property
    def identity(self) -> str:
        """The toolchain, its version and its options, in one line; a `CompileError` if it is not installed.

        Results of different toolchains are not comparable.
        """

    def compile(self, source: Source) -> Binary:
        """Compile, or take the binary from the cache. A `CompileError` has the message at the kernel's own lines."""

    def disassembled(self, source: Source, binary: Binary) -> tuple[str, str] | None:
        """A GPU's machine code as nvdisasm writes it: the binary's own, and with lines; `None` if it is the host's.

        An `OSError` if it cannot be disassembled; the message says why.
        """

    def ptx(self, source: Source) -> str:
        """The PTX that a GPU's machine code is made from; empty if there is none."""

    def stop(self) -> None:
        """End what other threads compile, and compile nothing else."""


@dataclass(frozen=True)
class Resources:
    """Registers and memory of one compiled kernel; `None` where the device does not report them."""

    registers: int | None  # per thread
    shared_bytes: int | None  # static shared memory per block
    local_bytes: int | None  # local memory (spills, indexed arrays) per thread


@dataclass(frozen=True)
class DeviceInfo:
    """The properties of an open device."""

    kind: str  # a key of `kinds.KINDS`; the column `device`
    name: str  # such as `NVIDIA H200`
    arch: str  # the compiler's target, such as `sm_90` or `x86_64`
    peak_gbps: float | None  # theoretical memory bandwidth, 10^9 bytes per second; None where it means nothing
    l2_bytes: int  # size of the last-level cache that a cold sample flushes; 0 where none is flushed
    shared_limit: int  # largest static + dynamic shared memory of a block, in bytes
    memory_bytes: int  # total memory
    schedules: int = 0  # orders of threads in which it looks for races; 0 if it does not
    versions: dict[str, str] = field(default_factory=dict)  # driver, toolkit, compiler and the like, by name
    details: dict[str, Any] = field(default_factory=dict)  # clocks, bus width, multiprocessors and the like, by name

    @property
    def gpu(self) -> str:
        """Its name and UUID, which tell GPUs of one model apart; empty for the CPU device."""
        return f"{self.name} {self.details.get('uuid', '')}".strip() if self.is_gpu else ""

    @property
    def is_gpu(self) -> bool:
        """Whether kernels run on a GPU; otherwise their times say nothing about one."""
        return kinds.is_gpu(self.kind)

    @property
    def label(self) -> str:
        """What people call this kind of device."""
        return kinds.label(self.kind)


@dataclass(frozen=True)
class Requirements:
    """What a case needs from a device beyond what every device offers."""

    kernel: str  # its name, for messages
    min_arch: int  # the lowest compute capability, such as 90 for `sm_90`; 0 for any
    gpu_only: str  # why only a GPU can run it; empty if every device can
    hazard: str  # the CUDA rule that the case breaks on purpose; empty if none
    cache: str  # the preferred split of on-chip memory; `none` for no preference


@dataclass(frozen=True)
class LaunchDiagnostics:
    """Observations during a launch that are not errors."""

    undefined_reads: int | None = None  # reads of a lane that is not in the mask, or has exited; None if unknown
    first: str = ""  # the first such read, in words
    printed: str = ""  # by the kernel


@dataclass(frozen=True)
class Timed:
    """Launches that were timed one by one."""

    us: NDArray[np.float64]  # microseconds of each launch alone, shape (n,)
    enqueue_us: NDArray[np.float64]  # microseconds for which the host queued each launch; zeros without a queue


@dataclass(frozen=True)
class GpuState:
    """The state of a GPU at one moment (NVML)."""

    sm_mhz: int  # clock of the multiprocessors
    temperature_c: int | None  # None if unknown
    power_w: float | None  # power draw; None if unknown
    reasons: tuple[str, ...]  # why the clocks are below their maximum, in NVML's words
    throttled: bool  # slowed down so much that times cannot be trusted


@dataclass(frozen=True)
class Energy:
    """A stretch of launches back to back, between two updates of a GPU's energy counter."""

    watts: float  # of the whole board
    seconds: float
    us: float  # duration of a launch
    idle_w: float  # while nothing runs and the context is open
    alone: bool = True  # whether no other process used the GPU

    @property
    def joules(self) -> float:
        """Of a launch."""
        return self.watts * self.us * 1e-6


class Program(Protocol):
    """A kernel loaded on a device."""

    @property
    def resources(self) -> Resources:
        """Its use of registers and memory."""

    def sibling(self, function: str) -> Program:
        """Another function of the same module; `Source.further` names it."""

    def reset(self) -> None:
        """Bring its `__device__` and `__constant__` variables back to their content at the first call."""


class Array(Protocol):
    """An array on a device."""

    @property
    def role(self) -> Role:
        """What the kernel may do with it."""

    @property
    def pointer(self) -> int:
        """The address that a kernel receives."""

    def read(self) -> NDArray[Any]:
        """Copy the content back, in the shape in which it was uploaded."""

    def fill_bytes(self, value: int) -> None:
        """Set every byte to `value` (0 to 255): poison, or zero."""

    def restore(self) -> None:
        """Bring back the content that was uploaded."""

    def digest(self) -> int:
        """A hash of the content, and of the bytes around it that `overrun` looks at."""

    def overrun(self) -> str:
        """Where the kernel wrote outside the array, in words; empty if it did not, or if the launch failed for it."""

    def free(self) -> None:
        """Give the memory back. The array is dead afterwards."""


@dataclass(frozen=True)
class Value:
    """A vector or a structure that is passed by value, or a null pointer."""

    content: bytes
    alignment: int  # of the parameter
    name: str  # its type, for messages; empty for a null pointer


NULL = Value(bytes(8), 8, "")


@dataclass(frozen=True)
class Inside:
    """A pointer into an array that is an argument of its own, too."""

    array: Array
    offset: int  # bytes from the array's first element


@dataclass(frozen=True)
class View:
    """A texture object of an array that the kernel also accesses in another way."""

    array: Array
    pointer: int  # the object
    name: str  # of the array, for messages
    kept: object  # what the object needs in memory

    what = "texture"


@dataclass(frozen=True)
class Launch:
    """One kernel launch, with everything that a device needs for it; or several in order, timed as one."""

    program: Program  # from `Device.load`
    grid: Dim3  # blocks in x, y, z
    block: Dim3  # threads of a block in x, y, z
    shared: int  # dynamic shared memory per block, in bytes
    arguments: tuple[Array | np.generic | Value | Inside | View, ...]  # NumPy scalars have the kernel's own types
    cache: str = "none"  # preferred split of on-chip memory: shared, l1, equal, or percent of it as shared memory; none
    order: int = Order.USUAL  # in which lanes, warps and blocks run, where the device can choose; see `Order`
    variables: tuple[Array, ...] = ()  # `__device__` arrays that the kernel writes
    then: tuple[Launch, ...] = ()  # the launches that follow it; they run in its order

    @property
    def all(self) -> tuple[Launch, ...]:
        """Itself and those that follow."""
        return (self, *self.then)

    def arrays(self, *roles: Role) -> list[Array]:
        """The arrays among the arguments and variables that have one of `roles`."""
        import numpy as np  # noqa: PLC0415  (see the top)

        passed = (a.array if isinstance(a, View) else a for one in self.all for a in one.arguments)
        given = [a for a in passed if not isinstance(a, np.generic | Value | Inside)]
        each = {id(a): a for a in (*given, *self.variables)}
        return [a for a in each.values() if a.role in roles]


Around = Callable[[Launch], None]  # what is done before and after a timed launch


class Device(Protocol):
    """A device that runs kernels. It is opened in the worker process and used by one thread."""

    @property
    def info(self) -> DeviceInfo:
        """The device's properties."""

    @property
    def usable(self) -> bool:
        """Whether another launch can be made; a faulted CUDA context cannot."""

    @property
    def survives_errors(self) -> bool:
        """Whether the device can still be used after an unexpected exception."""

    def load(self, source: Source, binary: Binary) -> Program:
        """Make the kernel ready to launch."""

    def set_constant(self, program: Any, name: str, value: NDArray[Any]) -> None:
        """Write a `__constant__` or `__device__` array of the program (`Source.constants` names it)."""

    def place(self, name: str, value: NDArray[Any], role: Role, offset: int = 0, lead: int = 0) -> Array:
        """Copy an array to the device; `OutOfMemory` if it does not fit.

        Args:
            name: The kernel's name for it; messages use it.
            value: The content, of any shape; C-contiguous.
            role: What the kernel may do with it.
            offset: Elements of nobody before the content, for a deliberate misalignment; guarded.
            lead: Elements of the content before the pointer that the kernel gets, such as a halo.
        """

    def image(self, name: str, value: NDArray[Any], role: Role, channels: int, how: Texture | Surface) -> Array:
        """Copy an array to the device, for a kernel that gets a texture or surface object of it.

        Args:
            name: The kernel's name for it; messages use it.
            value: The content: up to three axes, x last, and one more of the channels if there are several.
            role: What the kernel may do with it.
            channels: Numbers of a texel: 1, 2 or 4.
            how: The object.
        """

    def view(self, name: str, array: Any, channels: int, how: Texture) -> View:
        """A texture object of an array from `place` or, for a CUDA array, from `image`; `release` destroys it."""

    def release(self, view: View) -> None:
        """Destroy a view's object, before its array is freed."""

    def variable(self, program: Any, name: str, value: NDArray[Any], role: Role) -> Array:
        """A `__device__` array of the program as an array that the kernel writes; `value` is its first content."""

    def launch(self, launch: Launch, time_limit: float) -> LaunchDiagnostics:
        """Launch once and wait for the end, at most `time_limit` seconds; a `LaunchError` says why not."""

    def active_blocks(self, launch: Launch) -> int | None:
        """How many of the launch's blocks fit on a multiprocessor at once; `None` where there is none."""

    def sample(self, launches: Sequence[Launch], time_limit: float, prepare: Around, accept: Around) -> Timed:
        """Time launches one by one, on a GPU each with a flushed L2 cache.

        Args:
            launches: What to launch, in order.
            time_limit: Seconds that each may take.
            prepare: Called before each launch, and before the flush: it poisons the outputs and restores the inputs.
            accept: Called after each launch: it checks the outputs. Neither is within the time.
        """

    def batch(self, launches: Sequence[Launch], time_limit: float) -> float:
        """Total microseconds of launches back to back, with nothing restored or flushed."""

    def energy(self, launch: Launch, seconds: float, time_limit: float) -> Energy | str:
        """The energy of launches back to back for at least so many seconds, or why it cannot be measured."""

    def conditions(self) -> GpuState | None:
        """The device's state now; `None` if it is unknown."""

    def forget_spoilt_inputs(self) -> bool:
        """Drop the inputs kept for further cases if a kernel wrote to them; return whether one did."""

    def close(self) -> None:
        """Release the memory and the context of the device."""
