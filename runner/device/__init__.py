"""The interface between experiments and hardware.

A `Compiler` turns a `Source` into a `Binary`. It runs in the parent process, on several threads, and never touches the
device. A `Device` lives in the worker process. It loads binaries, uploads arrays, launches kernels and times launches.

What may not cross the door: cases, expected values, tolerances, statistics, run folders. A device sees arrays of bytes
and launches, and reports times and errors.

`runner.device.cuda` (PyCUDA) and `runner.device.cpu` (SIMT execution on the host) implement both. A further back end is
a package with the functions of `kinds.Backend`, and an entry in `kinds.KINDS`.
"""

from __future__ import annotations

import enum
import re
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from runner.device import kinds

if TYPE_CHECKING:  # the parent starts its worker before it imports NumPy
    import numpy as np
    from numpy.typing import NDArray

Dim3 = tuple[int, int, int]

_EARLY_MACRO = re.compile(r"[A-Z][A-Z0-9_]{3,}")  # precedes all headers, so that headers may test it
_OVERLOAD = re.compile(r"(?P<name>[\w:]+\s*(?:<.*>)?)\s*(?P<types>\(.*\))?", re.DOTALL)


def unqualified(function: str) -> str:
    """A function's unqualified name, without template arguments and parameter types."""
    return re.split(r"[<(]", function)[0].rpartition("::")[2].strip()


def pointer_to(function: str) -> tuple[str, str]:
    """The C++ type and value of a pointer to a function; `blur(float*, int)` selects one of several overloads."""
    overload = _OVERLOAD.fullmatch(function)
    if overload is None or overload["types"] is None:
        return f"decltype(&{function})", f"&{function}"
    pointer = f"void (*){overload['types']}"
    return pointer, f"static_cast<{pointer}>(&{overload['name']})"


class Role(enum.StrEnum):
    """What a kernel may do with an array, and what happens to the array around a launch."""

    IN = "in"  # read only; on the CPU device a write is a hazard
    OUT = "out"  # written by the kernel; poisoned before a check
    INOUT = "inout"  # changed in place; restored from its initial content before each launch
    STATE = "state"  # zeroed once; the kernel leaves it ready for its next launch
    SCRATCH = "scratch"  # working memory of the kernel; only the kernel reads it

    @property
    def guard_byte(self) -> int:
        """The byte that fills the memory around an array.

        What a kernel reads behind an input is a huge number of every type, which no error bound covers. What it adds to
        behind an output is a moderate one (3.0 of float32, 32.5 of float64, 2.1 of float16): a huge one, or NaN, would
        absorb what is added, and stay as it was.
        """
        return 0x5C if self is Role.IN else 0x40


@dataclass(frozen=True)
class Texture:
    """A texture object, with the fields of cudaResourceDesc and cudaTextureDesc."""

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
        """The effective modes in x, y, z: with unnormalized coordinates CUDA replaces wrap and mirror by clamp."""
        if self.normalized_coords:
            return self.address_mode
        x, y, z = (m if m == "border" else "clamp" for m in self.address_mode)
        return x, y, z

    def border(self, kind: str) -> bytes:
        """`border_color` as four floats or 32-bit integers; `kind` is NumPy's letter for the array's elements."""
        letter = "f" if kind == "f" or self.promotes else "i" if kind == "i" else "I"
        return struct.pack(f"4{letter}", *(n if letter == "f" else int(n) for n in self.border_color))


@dataclass(frozen=True)
class Surface:
    """A surface object, through which a kernel reads and writes an array."""


class Order(enum.IntEnum):
    """The order of lanes, warps and blocks on the CPU device; a correct kernel gives the same result in each."""

    USUAL = 0  # by their numbers
    REVERSE = 1
    RANDOM = 2  # the number is also the seed; larger numbers are other seeds

    @property
    def description(self) -> str:
        """The order, for messages."""
        return {Order.USUAL: "in order", Order.REVERSE: "in reverse order", Order.RANDOM: "in a random order"}[self]


class Form(enum.StrEnum):
    """What a source holds, and so how a device runs it."""

    KERNEL = "kernel"  # CUDA C++ with a `__global__` function
    HOST = "host"  # CUDA C++ with an `extern "C"` function of the host, which gets a stream and queues work on it
    PYTHON = "python"  # a Python function of the same kind
    BINARY = "binary"  # PTX, a cubin or a fatbin with a `__global__` function

    @property
    def label(self) -> str:
        """What it is, in the middle of a sentence."""
        return {
            Form.KERNEL: "a kernel",
            Form.HOST: "a host function",
            Form.PYTHON: "a Python function",
            Form.BINARY: "a binary",
        }[self]

    @property
    def calls_host(self) -> bool:
        """Whether the device calls a function of the host, which launches whatever it likes."""
        return self in (Form.HOST, Form.PYTHON)


BINARIES = (".ptx", ".cubin", ".fatbin")


CUDA_ENDINGS = (".cu", ".cuh", ".c", ".cc", ".cpp", ".cxx", ".h", ".hh", ".hpp", ".hip", ".inc", ".inl")
"""How the name of a file with CUDA C++ ends. A run keeps its sources, and so no YAML can have `/etc/passwd` as one."""


def form_of(path: Path, *, host: bool) -> Form:
    """The form of a source: `host` tells a C function from a `__global__` one, the file's ending tells the rest."""
    endings = {".py": Form.PYTHON, **dict.fromkeys(BINARIES, Form.BINARY)}
    return endings.get(path.suffix, Form.HOST if host else Form.KERNEL)


@dataclass(frozen=True)
class Source:
    """One variant of a kernel, ready for a compiler."""

    path: Path  # the kernel's `.cu`; messages name it
    text: str  # its content
    function: str  # the function in it as C++ names it, such as `reduce` or `sums::reduce<float, BLOCK>`
    macros: tuple[tuple[str, str], ...] = ()  # (name, replacement) in order: `#define` lines, never `-D` flags
    constants: tuple[str, ...] = ()  # `__constant__` or `__device__` arrays that are set before a launch
    headers: tuple[str, ...] = ()  # CUDA headers that the macros need, such as `cuda_fp16.h`; included first
    other_functions: tuple[str, ...] = ()  # further `__global__` functions that a program of launches needs
    cooperative: bool = False  # a cooperative launch: all blocks are resident at once and can synchronize
    include: tuple[Path, ...] = ()  # further include folders
    options: tuple[str, ...] = ()  # options of a GPU's compiler; see `runner.device.options`
    form: Form = Form.KERNEL
    libraries: tuple[str, ...] = ()  # that a host function is linked with, such as `cublas`
    others: tuple[Source, ...] = ()  # further sources of a program of launches; see `runner.device.parts`

    @property
    def parts(self) -> tuple[Source, ...]:
        """The sources that are compiled one by one: this one without the others, and the others."""
        return (replace(self, others=()) if self.others else self, *self.others)

    def with_options(self, options: tuple[str, ...]) -> Source:
        """The same, compiled with other options of a GPU's compiler."""
        return replace(self, options=options, others=tuple(o.with_options(options) for o in self.others))

    @property
    def folders(self) -> tuple[Path, ...]:
        """The include path: the source's own folder, then `include`."""
        return (self.path.resolve().parent, *self.include)

    @property
    def functions(self) -> tuple[str, ...]:
        """All functions that are launched."""
        return (self.function, *self.other_functions)

    @property
    def plain_function(self) -> str:
        """The function's unqualified name, without template arguments."""
        return unqualified(self.function)

    @property
    def late_macros(self) -> tuple[tuple[str, str], ...]:
        """The macros with short or lower-case names, which could change the meaning of a toolkit's headers."""
        return tuple((name, value) for name, value in self.macros if not _EARLY_MACRO.fullmatch(name))

    def defines(self, included: Sequence[str] = ()) -> str:
        """The `#include` and `#define` lines before the text; late macros follow the headers that the text includes."""
        late = [f"#define {name} {value}\n" for name, value in self.late_macros]
        early = [f"#define {name} {value}\n" for name, value in self.macros if (name, value) not in self.late_macros]
        headers, own = ([f"#include <{name}>\n" for name in names] for names in (self.headers, included))
        return "".join((*headers, *early, *own, *late))


@dataclass(frozen=True)
class Binary:
    """A compiled `Source` in a cache on disk: a cubin, or a shared object of the CPU device."""

    path: Path  # complete as soon as it exists (written aside, then renamed)
    digest: str  # SHA-256 of its bytes, in hex
    seconds: float  # compile time; for a cache hit, the time of the lookup
    cached: bool
    log: str = ""  # the compiler's warnings
    omitted: str = ""  # what was left out of its files to compile it, such as a missing header; empty if nothing was
    others: tuple[Binary, ...] = ()  # those of the source's `others`; the digest is that of all

    @property
    def parts(self) -> tuple[Binary, ...]:
        """The binaries of the source's parts. Only their paths count: the digest of the first is that of all."""
        return (self, *self.others)

    @property
    def name(self) -> str:
        """The name in tables: the beginning of its digest."""
        return self.digest[:12]


class Compiler(Protocol):
    """Compiles sources to binaries, through a cache that parallel writers share. It may not use an open device."""

    @property
    def identity(self) -> str:
        """The toolchain, its version and its options, in one line. Raises CompileError if it is not installed."""

    def compile(self, source: Source) -> Binary:
        """Compile, or take the binary from the cache. A CompileError refers to the lines of the kernel's own file."""

    def stop(self) -> None:
        """Abort the compilations of other threads, and refuse new ones."""


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
    peak_gbps: float | None  # theoretical memory bandwidth, 10^9 bytes per second; None on the CPU device
    l2_bytes: int  # size of the last-level cache, which a cold sample flushes; 0 if samples flush no cache
    shared_limit: int  # largest static + dynamic shared memory of a block, in bytes
    memory_bytes: int  # total memory
    schedules: int = 0  # orders of threads in which it detects races; 0 without race detection
    versions: dict[str, str] = field(default_factory=dict)  # driver, toolkit, compiler and the like, by name
    details: dict[str, Any] = field(default_factory=dict)  # clocks, bus width, multiprocessors and the like, by name

    @property
    def gpu(self) -> str:
        """Name and UUID, which distinguish GPUs of one model; empty for the CPU device."""
        return f"{self.name} {self.details.get('uuid', '')}".strip() if self.is_gpu else ""

    @property
    def is_gpu(self) -> bool:
        """Whether kernels run on a GPU, so that their times are a GPU's."""
        return kinds.is_gpu(self.kind)

    @property
    def label(self) -> str:
        """The usual name of this kind of device."""
        return kinds.label(self.kind)


@dataclass(frozen=True)
class Requirements:
    """What a case needs from a device beyond the abilities of every device."""

    kernel: str  # its name, for messages
    min_arch: int  # the lowest compute capability, such as 90 for `sm_90`; 0 for any
    gpu_only: str  # why only a GPU can run it; empty if every device can
    opaque: str  # why the checked device cannot look into it, such as `a Python function`; empty if it can
    hazard: str  # the CUDA rule that the case breaks on purpose; empty if none
    cache: str  # the preferred split of on-chip memory; `none` for no preference


@dataclass(frozen=True)
class LaunchDiagnostics:
    """Observations during a launch that are not errors."""

    undefined_reads: int | None = None  # shuffles that read a lane outside the mask or an exited one; None if unknown
    first_undefined_read: str = ""  # in words
    printed: str = ""  # the kernel's output of printf
    allocated_null: str = ""  # why malloc() or new returned null; empty if none did


@dataclass(frozen=True)
class Timed:
    """Launches that were timed one by one."""

    us: NDArray[np.float64]  # microseconds of each launch alone, shape (n,)
    enqueue_us: NDArray[np.float64]  # host time to queue each launch, microseconds, shape (n,); zeros without a queue


@dataclass(frozen=True)
class GpuState:
    """The state of a GPU at one moment (NVML)."""

    sm_mhz: int  # clock of the multiprocessors
    temperature_c: int | None  # None if unknown
    power_w: float | None  # power draw; None if unknown
    reasons: tuple[str, ...]  # why the clocks are below their maximum (NVML's clocks event reasons)
    throttled: bool  # slowed down so much that times are not reliable


@dataclass(frozen=True)
class Energy:
    """Launches back to back, measured between two updates of a GPU's energy counter."""

    watts: float  # mean power of the whole board
    seconds: float
    us: float  # duration of a launch
    idle_w: float  # power while the GPU is idle with an open context
    exclusive: bool = True  # whether no other process used the GPU

    @property
    def joules(self) -> float:
        """The energy of a launch."""
        return self.watts * self.us * 1e-6


class Program(Protocol):
    """A kernel loaded on a device. It stays in the worker process; results hold `resources` alone."""

    others: tuple[Program, ...] = ()  # those of the source's `others`

    @property
    def resources(self) -> Resources:
        """The registers and memory that it uses."""

    def sibling(self, function: str) -> Program:
        """Another function of the same module, one of `Source.other_functions`."""

    def reset(self) -> None:
        """Restore its `__device__` and `__constant__` variables to their content at the first call of `reset`."""


class MemoryProgram(Program):
    """The program of memsets and copies between launches; each device has one.

    A launch of it has three arguments: the array that it writes, the bytes that a memset repeats (a `Value` of 1, 2 or
    4) or the array that is copied, and the number of bytes to write. Its grid and block mean nothing.
    """

    @property
    def resources(self) -> Resources:
        """None."""
        return Resources(None, None, None)

    def sibling(self, function: str) -> Program:
        """Itself: it has no functions."""
        _ = function
        return self

    def reset(self) -> None:
        """Do nothing: it has no variables."""


class Array(Protocol):
    """An array on a device. It stays in the worker process; `read` copies the content."""

    role: Role  # what the kernel may do with it
    pointer: int  # the address that a kernel receives

    def read(self) -> NDArray[Any]:
        """Copy the content to the host, in the shape in which it was uploaded."""

    def fill_bytes(self, value: int) -> None:
        """Set every byte to `value` (0 to 255): poison, or zero."""

    def restore(self) -> None:
        """Restore the uploaded content."""

    def digest(self) -> int:
        """A hash of the content, and of the guard bytes around it."""

    def overrun(self) -> str:
        """Where the kernel wrote outside the array, in words; empty if no guard byte changed or there is none."""
        return ""

    def free(self) -> None:
        """Free the memory. The array must not be used afterwards."""


@dataclass(frozen=True)
class Value:
    """A vector or a structure passed by value, or a null pointer."""

    content: bytes
    alignment: int  # of the parameter, in bytes
    name: str  # its type, for messages; empty for a null pointer
    arrays: tuple[Array, ...] = ()  # to which a structure's members point


NULL = Value(bytes(8), 8, "")


@dataclass(frozen=True)
class Inside:
    """A pointer into an array that is also an argument itself."""

    array: Array
    offset: int  # bytes from the array's first element


@dataclass(frozen=True)
class View:
    """A texture object of an array that the kernel also accesses by a pointer or another object."""

    array: Array
    pointer: int  # the object's handle
    name: str  # of the array, for messages
    keep_alive: object  # what the object refers to

    object_kind = "texture"


@dataclass(frozen=True)
class Pointers:
    """An array of pointers (`float**`) to arrays."""

    table: Array  # of their addresses; the kernel may only read it
    arrays: tuple[Array, ...]

    @property
    def pointer(self) -> int:
        """The address that a kernel receives."""
        return self.table.pointer


@dataclass(frozen=True)
class Launch:
    """One kernel launch with all that a device needs for it; `next_launches` are timed as one with it."""

    program: Program  # from `Device.load`
    grid: Dim3  # blocks in x, y, z
    block: Dim3  # threads of a block in x, y, z
    shared: int  # dynamic shared memory per block, in bytes
    # NumPy scalars have the kernel's own types.
    arguments: tuple[Array | np.generic | Value | Inside | View | Pointers, ...]
    cache: str = "none"  # preferred split of on-chip memory: shared, l1, equal, or percent of it as shared memory; none
    order: int = Order.USUAL  # the order of lanes, warps and blocks, for the CPU device; see `Order`
    variables: tuple[Array, ...] = ()  # `__device__` arrays that the kernel writes
    next_launches: tuple[Launch, ...] = ()  # the launches that follow; `order` applies to them, too
    loaded: Program | None = None  # what `Device.load` gave, of which the launches are siblings

    @property
    def sequence(self) -> tuple[Launch, ...]:
        """This launch and those that follow."""
        return (self, *self.next_launches)

    @property
    def module(self) -> Program:
        """The loaded program with all functions and variables."""
        return self.loaded or self.program

    @property
    def kernel(self) -> Launch:
        """The first launch that is neither a memset nor a copy."""
        return next(part for part in self.sequence if not isinstance(part.program, MemoryProgram))

    def arrays(self, *roles: Role) -> list[Array]:
        """The arrays among the arguments and variables that have one of `roles`."""
        import numpy as np  # noqa: PLC0415  (see the top)

        arrays: list[Array] = []
        for a in (a for launch in self.sequence for a in launch.arguments):
            if isinstance(a, Pointers):
                arrays += (a.table, *a.arrays)
            elif isinstance(a, Value):
                arrays += a.arrays
            elif not isinstance(a, np.generic | Inside):
                arrays.append(a.array if isinstance(a, View) else a)
        return [a for a in {id(a): a for a in (*arrays, *self.variables)}.values() if a.role in roles]


LaunchCallback = Callable[[Launch], None]  # called before or after a timed launch


class Device(Protocol):
    """A device that runs kernels. It is opened in the worker process and used by one thread.

    In come programs, arrays, roles and launches; out go arrays, times and errors. A device never judges a result: which
    values are correct, and which cases are fast, is decided by its callers.
    """

    info: DeviceInfo
    usable: bool  # whether further launches are possible; false after a fault of the CUDA context
    memory: MemoryProgram
    survives_errors: bool  # whether the device can still be used after an unexpected exception

    def load(self, source: Source, binary: Binary) -> Program:
        """Load the kernel. Raises LaunchError if the device refuses the binary."""

    def set_constant(self, program: Any, name: str, value: NDArray[Any]) -> None:
        """Write a `__constant__` or `__device__` array of the program, one of `Source.constants`."""

    def place(self, name: str, value: NDArray[Any], role: Role, offset: int = 0, lead: int = 0) -> Array:
        """Copy an array to the device. Raises OutOfMemory if it does not fit.

        Args:
            name: The kernel's name for it, for messages.
            value: The content, of any shape; C-contiguous.
            role: What the kernel may do with it.
            offset: Padding elements before the content, for a deliberate misalignment; guarded.
            lead: Elements of the content before the pointer that the kernel gets, such as a halo.
        """

    def image(self, name: str, value: NDArray[Any], role: Role, channels: int, access: Texture | Surface) -> Array:
        """Copy an array to the device, for a kernel that gets a texture or surface object of it.

        Args:
            name: The kernel's name for it, for messages.
            value: The content, shape (x,), (y, x) or (z, y, x), followed by an axis of channels if `channels` > 1.
            role: What the kernel may do with it.
            channels: Numbers per texel: 1, 2 or 4.
            access: The object.
        """

    def view(self, name: str, array: Any, channels: int, texture: Texture) -> View:
        """Create a texture object of an array from `place`, or of a CUDA array from `image`; `release` destroys it."""

    def release(self, view: View) -> None:
        """Destroy a view's object, before its array is freed."""

    def variable(self, program: Any, name: str, value: NDArray[Any], role: Role) -> Array:
        """A `__device__` array of the program as an array that the kernel writes; `value` is its initial content."""

    def launch(self, launch: Launch, time_limit: float) -> LaunchDiagnostics:
        """Launch once and wait for the end, at most `time_limit` seconds. Raises LaunchError with the reason."""

    def active_blocks(self, launch: Launch) -> int | None:  # noqa: ARG002
        """The occupancy: blocks of the launch that one multiprocessor can hold; `None` on the CPU device."""
        return None

    def sample(
        self, launches: Sequence[Launch], time_limit: float, prepare: LaunchCallback, accept: LaunchCallback
    ) -> Timed:
        """Time launches one by one, on a GPU each with a flushed L2 cache. Raises as `launch`.

        Args:
            launches: What to launch, in order.
            time_limit: Seconds for each launch.
            prepare: Called before each launch and its flush, outside the time: it poisons outputs, restores inputs.
            accept: Called after each launch, outside the time: it checks the outputs.
        """

    def batch(self, launches: Sequence[Launch], time_limit: float) -> float:
        """Total microseconds of launches back to back, without restoring arrays or flushing caches between them."""

    def energy(self, launch: Launch, seconds: float, time_limit: float) -> Energy | str:  # noqa: ARG002
        """Measure the energy of launches back to back for at least `seconds`; a text says why that is impossible."""
        return f"{self.info.label} has no energy counter"

    def conditions(self) -> GpuState | None:
        """The GPU's current state; `None` if unknown."""
        return None

    def forget_spoilt_inputs(self) -> bool:
        """Drop the cached inputs if a kernel has written to them; returns whether one has."""
        return False

    def close(self) -> None:
        """Release the memory and the context of the device."""
