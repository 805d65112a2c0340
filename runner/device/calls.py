"""Functions of the host as programs: what a device calls instead of launching a `__global__` function.

A Python function gets what a kernel would get: its arrays, its numbers, and by the name `stream` the stream on which it
must queue its work. A class prepares in its constructor, which is not timed; each call of its instance is a launch.
"""

from __future__ import annotations

import copy
import inspect
import traceback
from collections.abc import Callable, Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from runner.device import Inside, Launch, Pointers, Program, Resources, Source, Value, View
from runner.errors import LaunchError, NotInstalled
from runner.files import modules

PARAMETER = "stream"
MAX_MESSAGE = 300  # characters of a function's exception

Queue = Callable[[], object]


def plain(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The type by which other libraries know these bits: types that NumPy lacks are unsigned integers."""
    return dtype if dtype.kind in "biufc" else np.dtype(f"u{dtype.itemsize}")


class PythonProgram:
    """A function of a Python file, which is imported in the process that calls it.

    Args:
        source: The file and the function's name.
        argument: Makes what the function gets of an array.
        stream: What the function gets as its stream.
    """

    calls_host = True
    others: tuple[Program, ...] = ()

    def __init__(self, source: Source, argument: Callable[[Any], Any], stream: object) -> None:
        self._source, self._argument, self._stream = source, argument, stream
        self._module = _imported(source.path)
        self._prepared: dict[tuple[Any, ...], Queue] = {}
        self._function = self._find(source.function)

    def sibling(self, function: str) -> PythonProgram:
        """Another function of the same file."""
        other = copy.copy(self)
        other._prepared, other._function = {}, self._find(function)  # noqa: SLF001
        return other

    def _find(self, name: str) -> Callable[..., Any]:
        found = getattr(self._module, name, None)
        if not callable(found):
            raise LaunchError(f"{self._source.path.name}: there is no function '{name}'")
        return found  # type: ignore[no-any-return]

    @property
    def resources(self) -> Resources:
        """Unknown."""
        return Resources(None, None, None)

    def reset(self) -> None:
        """Do nothing: the function's own state is its own."""

    def queue(self, launch: Launch) -> Queue:
        """What queues the launch when it is called. Raises LaunchError for what Python cannot be given."""
        arguments = [self._passed(a) for a in launch.arguments]
        if not inspect.isclass(self._function):
            return self._guarded(self._function, *arguments)
        addresses = (a.pointer if hasattr(a, "pointer") else a.tobytes() for a in launch.arguments)  # type: ignore[union-attr]
        key = tuple(addresses)
        if key not in self._prepared:
            prepared: Any = self._guarded(self._function, *arguments)()
            self._prepared[key] = self._guarded(prepared, named=False)
        return self._prepared[key]

    def _passed(self, argument: Any) -> Any:
        if isinstance(argument, Value | Inside | View):
            raise LaunchError(
                f"{self._source.path.name}: a Python function gets arrays and numbers, "
                f"not {getattr(argument, 'name', '') or 'a pointer'}"
            )
        if isinstance(argument, Pointers):
            return [self._argument(array) for array in argument.arrays]
        return argument.item() if isinstance(argument, np.generic) else self._argument(argument)

    def _guarded(self, function: Callable[..., Any], *arguments: Any, named: bool = True) -> Queue:
        """A call whose exceptions are LaunchErrors."""
        further = {PARAMETER: self._stream} if named else {}

        def call() -> object:
            try:
                return function(*arguments, **further)
            except Exception as e:  # noqa: BLE001  (the code is the user's, it may raise anything)
                what = f"{type(e).__name__}: {' '.join(str(e).split())[:MAX_MESSAGE]}"
                where = _where(e, self._source.path)
                given = f"; it was given {_described(arguments)}" if arguments and isinstance(e, TypeError) else ""
                raise LaunchError(f"{where}: {self._source.function} raised {what}{given}") from None

        return call


def _described(arguments: Iterable[Any]) -> str:
    """Arguments in a few words each, such as `(float32[2, 3], 5, stream=...)`."""
    words = (f"{a.dtype}{list(a.shape)}" if hasattr(a, "shape") else repr(a) for a in arguments)
    return f"({', '.join([*words, f'{PARAMETER}=...'])})"


def _where(error: Exception, path: Path) -> str:
    """The file, with the last of its lines that led to an exception if there is one."""
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
    return f"{path.name}:{lines[-1]}" if lines else path.name


def _imported(path: Path) -> ModuleType:
    """Import a file. Raises NotInstalled or LaunchError."""
    try:
        return modules.load(path)
    except ModuleNotFoundError as e:
        raise NotInstalled(f"{path.name} needs the module '{e.name}', which is not installed") from None
    except Exception as e:  # noqa: BLE001  (the code is the user's)
        raise LaunchError(f"{path.name} cannot be imported: {type(e).__name__}: {str(e)[:MAX_MESSAGE]}") from None


def calls_host(launch: Launch) -> bool:
    """Whether a launch, or one that follows it, calls a function of the host, which no CUDA graph can repeat."""
    return any(getattr(part.program, "calls_host", False) for part in launch.sequence)
