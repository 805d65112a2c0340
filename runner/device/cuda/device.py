"""A GPU: loading, uploading, launching, timing."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import gc
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pycuda import driver

from runner.device import (
    Binary,
    Device,
    Energy,
    Form,
    GpuState,
    Launch,
    LaunchCallback,
    LaunchDiagnostics,
    Role,
    Source,
    Surface,
    Texture,
    Timed,
    View,
    parts,
)
from runner.device.calls import PythonProgram, calls_host
from runner.device.cuda import energy
from runner.device.cuda.describe import Nvml, describe, measure_overhead
from runner.device.cuda.driver_calls import Graph, call
from runner.device.cuda.guard import Guard
from runner.device.cuda.host import CudaView, HostProgram, Stream
from runner.device.cuda.program import CudaArray, CudaProgram, Inputs, StreamMemory, Variable, active_blocks
from runner.device.cuda.textures import CudaImage, view
from runner.device.excerpt import explain_missing
from runner.errors import DeviceUnavailable, LaunchError, LaunchTimeout, OutOfMemory

L2_FACTOR = 2  # the flush writes twice the size of the L2 cache, so that the launch behind it does not wait for Python
MIN_FLUSH_BYTES = 64 << 20
MAX_FLUSHES, FLUSH_MARGIN = 20, 1.6  # before a function of the host, which may take long to queue its work
FORGET = 0.98  # per sample, so that the first calls, which compile or make handles, do not count for long
BUSY_S = 0.002  # seconds of polling without a pause
INPUTS_SHARE = 16  # a sixteenth of the memory caches inputs for further cases


class CudaDevice(Device):
    """One GPU with its primary context, which the constructor pushes and `close` pops.

    After a fault the context is not `usable`: every call in this process fails.
    """

    survives_errors = False  # an unexpected error may leave the context faulted

    def __init__(self, index: int = 0, l2_lines: str = "dirty") -> None:
        try:
            driver.init()
            count = driver.Device.count()
            if not 0 <= index < count:
                raise DeviceUnavailable(f"device.index={index}: available: {count} GPUs, numbered from 0")
            self._gpu, self._index = driver.Device(index), index
            self._context = self._gpu.retain_primary_context()
            self._context.push()
        except driver.Error as e:
            raise DeviceUnavailable(f"device=cuda: the GPU cannot be opened: {e}") from None
        self.usable = True
        self._idle_w: float | str | None = None
        self._spent = dict[int, float]()  # recent microseconds of the host to queue a launch, by program
        try:
            self.stream = driver.Stream()
            self.memory = StreamMemory(self.stream)
            self._nvml = Nvml(self._gpu.pci_bus_id())
            l2_bytes = self._gpu.get_attribute(driver.device_attribute.L2_CACHE_SIZE)
            self._flush_words = max(L2_FACTOR * l2_bytes, MIN_FLUSH_BYTES) // 4
            self._flush_memory = driver.mem_alloc(self._flush_words * 4)
            self._guard = Guard(self._gpu, self.stream)
            self._clean = l2_lines == "clean"
            overhead = measure_overhead(self.stream, self._flush)
            self.info = describe(self._gpu, overhead, self._nvml)
            self._inputs = Inputs(self.info.memory_bytes // INPUTS_SHARE)
        except driver.Error as e:
            self._context.pop()
            what = "has too little free memory" if isinstance(e, driver.MemoryError) else "does not work"
            raise DeviceUnavailable(f"device=cuda: the GPU {what}: {e}") from None

    def load(self, source: Source, binary: Binary) -> CudaProgram | HostProgram | PythonProgram:
        """Make the kernel ready to launch."""
        if source.form is Form.HOST:
            return HostProgram(binary.path, source, self.stream)
        if source.form is Form.PYTHON:
            given = functools.partial(CudaView, device=self._index, stream=self.stream)
            return PythonProgram(source, given, Stream(self.stream.handle))
        return parts.loaded(source, binary, self._load_kernel)  # type: ignore[no-any-return]

    def _load_kernel(self, source: Source, binary: Binary) -> CudaProgram:
        try:
            content = binary.path.read_bytes()
            program = CudaProgram(content, source.functions, self.stream, cooperative=source.cooperative)
        except driver.Error as e:
            if isinstance(e, driver.LogicError) and "not found" in str(e) and source.form is Form.BINARY:
                raise LaunchError(f"{source.path.name} has no __global__ function '{source.function}'") from None
            if isinstance(e, driver.LogicError) and "not found" in str(e):
                missing = explain_missing(source, source.function, "the cubin lacks it")
                raise LaunchError(f"{source.path}: {missing}") from None
            raise LaunchError(f"{source.path.name}: the kernel {source.function} cannot be loaded: {e}") from None
        if "this_grid" in source.text and not source.cooperative:
            program.hint = "; grid_group::sync needs 'cooperative: true' in the kernel's YAML"
        return program

    def set_constant(self, program: CudaProgram, name: str, value: NDArray[Any]) -> None:
        """Write a `__constant__` or `__device__` array."""
        pointer = program.address_of(name, value.nbytes)
        driver.memcpy_htod(pointer, np.ascontiguousarray(value))
        program.save(pointer)

    def place(self, name: str, value: NDArray[Any], role: Role, offset: int = 0, lead: int = 0) -> CudaArray:
        """Copy an array to the GPU."""
        try:
            return self._upload(value, role, offset, lead)
        except driver.MemoryError:
            raise OutOfMemory(f"'{name}' ({value.nbytes} bytes) does not fit into the GPU's memory") from None
        except driver.Error as e:
            self.usable = False
            raise LaunchError(f"'{name}' cannot be uploaded: {e}") from None

    def _upload(self, value: NDArray[Any], role: Role, offset: int, lead: int) -> CudaArray:
        try:
            return CudaArray(value, role, offset, lead, self.stream, self._guard, self._inputs)
        except driver.MemoryError:
            if not self._inputs.forget():
                raise
        return CudaArray(value, role, offset, lead, self.stream, self._guard, None)

    def image(self, name: str, value: NDArray[Any], role: Role, channels: int, access: Texture | Surface) -> CudaImage:
        """Copy an array to the GPU, and make a texture or surface object of it."""
        try:
            return CudaImage(value, role, channels, access, self.stream, self._guard)
        except (driver.MemoryError, OutOfMemory):
            raise OutOfMemory(f"'{name}' ({value.nbytes} bytes) does not fit into the GPU's memory") from None

    def view(self, name: str, array: CudaArray | CudaImage, channels: int, texture: Texture) -> View:
        """A texture object of an array."""
        try:
            return view(array, channels, texture)
        except LaunchError as e:
            raise LaunchError(f"'{name}': {e}") from None

    def release(self, view: View) -> None:
        """Destroy the object."""
        call("cuTexObjectDestroy", ctypes.c_uint64(view.pointer))

    def variable(self, program: CudaProgram, name: str, value: NDArray[Any], role: Role) -> Variable:
        """A `__device__` array of the program that the kernel writes."""
        return Variable(program.address_of(name, value.nbytes), value, role, self.stream, self._guard)

    def forget_spoilt_inputs(self) -> bool:
        """Drop the inputs kept for further cases if a kernel has written to them."""
        with self._launch_errors():
            return self._inputs.forget_if_spoilt()

    def launch(self, launch: Launch, time_limit: float) -> LaunchDiagnostics:
        """Launch once and wait for the end. A kernel that hangs makes the device unusable."""
        with self._launch_errors(getattr(launch.kernel.program, "hint", "")):
            self.queue_function(launch)()
            self._wait(time_limit)
        return LaunchDiagnostics()

    def active_blocks(self, launch: Launch) -> int | None:
        """The driver's occupancy: blocks of the launch per multiprocessor; `None` if an old driver lacks the call."""
        if calls_host(launch):
            return None
        try:
            return active_blocks(launch)
        except (LaunchError, OSError, AttributeError):  # an old driver lacks the call
            return None

    def sample(
        self, launches: Sequence[Launch], time_limit: float, prepare: LaunchCallback, accept: LaunchCallback
    ) -> Timed:
        """Time launches one by one: prepare, flush, then the launch between two events, queued during the flush.

        A launch ends before the next one is queued. A GPU that fetches the next one meanwhile slows the current one
        down by about half a microsecond, with jitter (benchmarks/queueing.py).
        """
        stream, count = self.stream, len(launches)
        graphs = contextlib.ExitStack()
        unique = {id(launch): launch for launch in launches}
        queues = {key: self._sequence_queue(launch, graphs) for key, launch in unique.items()}
        before, after = driver.Event(), driver.Event()
        times, enqueue = np.empty(count), np.empty(count)
        collected = gc.isenabled()
        gc.disable()  # a garbage collection between flush and launch would delay the launch
        try:
            with self._launch_errors():
                for i, launch in enumerate(launches):
                    queue = queues[id(launch)]
                    prepare(launch)
                    self._guard.overwrite_shared_and_local(
                        max(part.program.resources.local_bytes or 0 for part in launch.sequence)
                    )
                    flushes = self._flushes(launch)
                    for _ in range(flushes):
                        self._flush()
                    started = time.perf_counter_ns()
                    before.record(stream)
                    queue()
                    spent = (time.perf_counter_ns() - started) / 1000.0
                    enqueue[i] = spent / flushes
                    key = id(launch.kernel.program)
                    self._spent[key] = max(spent, FORGET * self._spent.get(key, 0.0))
                    after.record(stream)
                    self._wait(time_limit)
                    times[i] = before.time_till(after) * 1000.0
                    accept(launch)
        finally:
            if collected:
                gc.enable()
            if self.usable:
                graphs.close()
        return Timed(times, enqueue)

    def _flushes(self, launch: Launch) -> int:
        """How often to flush before a launch: the host time of a function of the host must pass meanwhile."""
        if not calls_host(launch):
            return 1
        needed = FLUSH_MARGIN * self._spent.get(id(launch.kernel.program), 0.0) / self.info.details["flush_us"]
        return min(MAX_FLUSHES, 1 + int(needed))

    def batch(self, launches: Sequence[Launch], time_limit: float) -> float:
        """Time launches back to back, in a graph, so that they do not wait for Python."""
        queues = {id(launch): self.queue_function(launch) for launch in launches}
        before, after = driver.Event(), driver.Event()

        def queue_all() -> None:
            for launch in launches:
                queues[id(launch)]()

        with self._captured(launches, queue_all) as queue:
            before.record(self.stream)
            queue()
            after.record(self.stream)
            self._wait(time_limit)
        return float(before.time_till(after)) * 1000.0

    def energy(self, launch: Launch, seconds: float, time_limit: float) -> Energy | str:
        """Measure the energy of launches back to back, queued in graphs of many launches."""
        if self._idle_w is None:
            self._idle_w = energy.idle_watts(self._nvml.joules)
        if isinstance(self._idle_w, str):
            return self._idle_w
        self.batch([launch], time_limit)  # a warm-up
        count = energy.launches_per_call(self.batch([launch] * 3, 3 * time_limit) / 3)
        queue_one = self.queue_function(launch)

        def queue_all() -> None:
            for _ in range(count):
                queue_one()

        with self._captured([launch], queue_all) as queue_many:
            queue = energy.Queue(lambda: driver.Event().record(self.stream), queue_many, count, time_limit)
            measured = energy.measure(self._nvml.joules, queue, seconds, self._idle_w)
            self._wait(energy.QUEUES * count * time_limit)
        return measured if isinstance(measured, str) else replace(measured, exclusive=self._nvml.processes() <= 1)

    @contextlib.contextmanager
    def _captured(self, launches: Sequence[Launch], queue_all: Callable[[], None]) -> Iterator[Callable[[], None]]:
        """A function that queues the launches as a graph, or singly if the driver cannot capture cooperative ones."""
        if any(map(calls_host, launches)):
            with self._launch_errors():
                yield queue_all
            return
        try:
            with self._launch_errors():
                try:
                    graph = Graph(self.stream.handle, queue_all)
                except LaunchError:
                    if not any(getattr(launch.kernel.program, "cooperative", None) for launch in launches):
                        raise
                    yield queue_all
                else:
                    with contextlib.closing(graph):
                        yield graph.launch
        except LaunchError:
            self.usable = False  # the stream may still be capturing
            raise

    def conditions(self) -> GpuState | None:
        """The GPU's current state, from NVML."""
        return self._nvml.conditions()

    def close(self) -> None:
        """Free the flush buffer and pop the context; a context still pushed at exit aborts the process."""
        if self.usable:
            self._inputs.forget()
            self._flush_memory.free()
        with contextlib.suppress(driver.Error):
            self._context.pop()

    def _flush(self) -> None:
        driver.memset_d32_async(int(self._flush_memory), 0, self._flush_words, self.stream)
        if self._clean:  # what is read replaces what was written
            self._guard.read(int(self._flush_memory), self._flush_words)

    def queue_function(self, launch: Launch) -> Callable[[], None]:
        """Prepare the launch; the returned function queues it on this device's stream."""
        queues = [part.program.queue(part) for part in launch.sequence]  # type: ignore[attr-defined]

        def queue_all() -> None:
            for queue in queues:
                queue()

        return queue_all if len(queues) > 1 else queues[0]

    def _sequence_queue(self, launch: Launch, graphs: contextlib.ExitStack) -> Callable[[], None]:
        """As `queue_function`, with several launches as one graph, so that they do not wait for Python."""
        queue = self.queue_function(launch)
        if not launch.next_launches or calls_host(launch):
            return queue
        try:
            return graphs.enter_context(contextlib.closing(Graph(self.stream.handle, queue))).launch
        except LaunchError:
            self.usable = False  # the stream may still be capturing
            raise

    def _wait(self, time_limit: float) -> None:
        """Poll the stream until it is idle or the time limit expires.

        The first `BUSY_S` seconds are polled without a pause, to see the end of a short kernel at once.
        """
        started = time.monotonic()
        while not self.stream.is_done():
            waited = time.monotonic() - started
            if waited > time_limit:
                self.usable = False
                raise LaunchTimeout(f"still running after {time_limit:g} s")
            if waited > BUSY_S:
                time.sleep(min(waited / 10, 0.005))
        self.stream.synchronize()

    @contextlib.contextmanager
    def _launch_errors(self, hint: str = "") -> Iterator[None]:
        """Turn the driver's errors into LaunchError, with a hint; the device is unusable then."""
        try:
            yield
        except driver.Error as e:
            self.usable = False
            if isinstance(e, driver.MemoryError):
                raise OutOfMemory(f"the launch does not fit into the GPU's memory: {e}") from None
            raise LaunchError(f"the GPU refused the launch or faulted in it: {e}{hint}") from None


def present(index: int) -> bool:
    """Whether a GPU with this index exists, without opening it."""
    try:
        driver.init()
        return 0 <= index < int(driver.Device.count())
    except driver.Error:
        return False
