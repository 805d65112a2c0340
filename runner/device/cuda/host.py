"""C functions of the host that queue their work on a stream: CUB, cuBLAS, thrust, CUTLASS and the like.

nvcc makes a shared library of the source, and the worker calls its function with device pointers, numbers and the
stream. The CUDA runtime in it uses the primary context, which the device has made current.
"""

from __future__ import annotations

import copy
import ctypes
import re
from pathlib import Path
from typing import Any

import numpy as np
from pycuda import driver

from runner.device import Inside, Launch, Program, Resources, Source, Value, View
from runner.device.calls import Queue, plain
from runner.device.cuda import dlpack
from runner.errors import LaunchError, NotInstalled

_NO_SYMBOL = re.compile(r"undefined symbol: (\w+)")
_NO_LIBRARY = re.compile(r"lib[\w.+-]+\.so[\w.]*(?=: cannot open)")


class HostProgram:
    """A function of a shared library that nvcc made."""

    calls_host = True
    others: tuple[Program, ...] = ()

    def __init__(self, path: Path, source: Source, stream: driver.Stream) -> None:
        self._source, self._stream = source, stream
        try:
            self._library = ctypes.CDLL(str(path))
        except OSError as e:
            if missing := _NO_LIBRARY.search(str(e)):
                raise NotInstalled(f"{source.path.name} needs {missing[0]}, which is not installed") from None
            missing = _NO_SYMBOL.search(str(e))
            advice = f"; name the library that has {missing[1]} under 'libraries', as in [cublas]" if missing else ""
            raise LaunchError(f"{source.path.name} cannot be loaded: {e}{advice}") from None
        self._function = self._find(source.function)

    def _find(self, name: str) -> Any:
        try:
            function = self._library[name]
        except AttributeError:
            raise LaunchError(f'{self._source.path.name}: there is no function {name}; declare it extern "C"') from None
        function.restype = ctypes.c_int
        return function

    def sibling(self, function: str) -> HostProgram:
        """Another function of the same library."""
        other = copy.copy(self)
        other._function = self._find(function)  # noqa: SLF001
        return other

    @property
    def resources(self) -> Resources:
        """Unknown: the function launches what it likes."""
        return Resources(None, None, None)

    def reset(self) -> None:
        """Do nothing: the library's own state is its own."""

    def queue(self, launch: Launch) -> Queue:
        """What queues the launch when it is called."""
        arguments = [*map(self._passed, launch.arguments), ctypes.c_void_p(self._stream.handle)]
        function, name = self._function, f"{self._source.path.name}: {self._source.function}"

        def call() -> None:
            if code := function(*arguments):
                raise LaunchError(f"{name} returned {code}; a host function returns 0 if all is well")

        return call

    def _passed(self, argument: Any) -> Any:
        if isinstance(argument, Value) and argument.content == bytes(8):
            return ctypes.c_void_p(None)
        if isinstance(argument, Value | View):
            raise LaunchError(
                f"{self._source.path.name}: a host function gets pointers and numbers, not {argument.name}"
            )
        if isinstance(argument, Inside):
            return ctypes.c_void_p(argument.array.begin + argument.offset)  # type: ignore[attr-defined]
        if isinstance(argument, np.generic):
            number = argument.view(plain(argument.dtype))
            if number.dtype.kind == "f" and number.itemsize == 2:  # ctypes has no such type; its bits are passed alike
                number = number.view(np.uint16)
            return np.ctypeslib.as_ctypes_type(number.dtype)(number.item())
        return ctypes.c_void_p(argument.pointer)


class CudaView:
    """An array of the GPU for Python libraries: the CUDA Array Interface (version 3), and DLPack.

    Args:
        array: The array.
        device: The number of its GPU.
        stream: The stream on which the runner filled it.
    """

    def __init__(self, array: Any, device: int, stream: driver.Stream) -> None:
        self.shape, self.dtype = array.host.shape, plain(array.host.dtype)
        self._array, self._device, self._stream = array, (dlpack.CUDA, device), stream
        self.__cuda_array_interface__ = {
            "shape": self.shape, "typestr": self.dtype.str, "data": (array.pointer, False), "strides": None,
            "version": 3,
        }  # fmt: skip

    def __dlpack_device__(self) -> tuple[int, int]:
        """The kind of device, and its number."""
        return self._device

    def __dlpack__(
        self,
        *,
        stream: int | None = None,
        max_version: tuple[int, int] | None = None,  # every consumer takes the oldest
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """The array as a capsule. Raises BufferError if a copy is wanted, or the array on another device.

        The host waits until the array is filled, unless the consumer uses the runner's stream or asks for none (-1).
        """
        if copy or dl_device not in (None, self._device):
            raise BufferError("an array of the runner is given as it is: without a copy, on the GPU where it lies")
        if stream not in (-1, self._stream.handle):
            self._stream.synchronize()
        host = self._array.host
        dtype = host.dtype if host.dtype.name == "bfloat16" else self.dtype
        return dlpack.capsule(self._array.pointer, self.shape, dtype, self._device, self._array)


class Stream(int):
    """A stream's handle (`cudaStream_t`), which is also an object of the CUDA Stream Protocol."""

    def __cuda_stream__(self) -> tuple[int, int]:
        """The version of the protocol, and the handle."""
        return 0, int(self)
