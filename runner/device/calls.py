"""Functions of the host as programs: what a device calls instead of launching a `__global__` function.

A Python function gets what a kernel would get: its arrays, its numbers, and by the name `stream` the stream on which it
must queue its work. A class prepares in its constructor, which is not timed; each call of its instance is a launch.
"""

from __future__ import annotations

import importlib.util
import inspect
import sys
import traceback
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from runner.device import Inside, Launch, Resources, Source, Value, View
from runner.errors import LaunchError, NotInstalled

PARAMETER = "stream"
MAX_MESSAGE = 300  # characters of a function's exception

Queue = Callable[[], None]


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

    capturable = False  # a CUDA graph would need the function's cooperation

    def __init__(self, source: Source, argument: Callable[[Any], Any], stream: object) -> None:
        self._source, self._argument, self._stream = source, argument, stream
        self._module = _imported(source.path)
        self._prepared: dict[tuple[Any, ...], Queue] = {}
        self._function = self._find(source.function)

    def sibling(self, function: str) -> PythonProgram:
        """Another function of the same file."""
        other = PythonProgram.__new__(PythonProgram)
        other.__dict__ = {**self.__dict__, "_prepared": {}}
        other._function = other._find(function)  # noqa: SLF001
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
            made: list[Any] = []
            self._guarded(lambda *given, **named: made.append(self._function(*given, **named)), *arguments)()
            self._prepared[key] = self._guarded(made[0], named=False)
        return self._prepared[key]

    def _passed(self, argument: Any) -> Any:
        if isinstance(argument, Value | Inside | View):
            raise LaunchError(
                f"{self._source.path.name}: a Python function gets arrays and numbers, "
                f"not {getattr(argument, 'name', '') or 'a pointer'}"
            )
        return argument.item() if isinstance(argument, np.generic) else self._argument(argument)

    def _guarded(self, function: Callable[..., Any], *arguments: Any, named: bool = True) -> Queue:
        """A call whose exceptions are LaunchErrors."""
        further = {PARAMETER: self._stream} if named else {}

        def call() -> None:
            try:
                function(*arguments, **further)
            except Exception as e:  # noqa: BLE001  (the code is the user's, it may raise anything)
                what = f"{type(e).__name__}: {' '.join(str(e).split())[:MAX_MESSAGE]}"
                where = _where(e, self._source.path)
                raise LaunchError(f"{where}: {self._source.function} raised {what}") from None

        return call


def _where(error: Exception, path: Path) -> str:
    """The file, with the last of its lines that led to an exception if there is one."""
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
    return f"{path.name}:{lines[-1]}" if lines else path.name


def _imported(path: Path) -> Any:
    """Import a file, as modules in different folders may have the same name. Raises NotInstalled or LaunchError."""
    spec = importlib.util.spec_from_file_location(f"calls_{zlib.crc32(str(path).encode()):08x}", path)
    if spec is None or spec.loader is None:
        raise LaunchError(f"{path.name} is not a module")
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(path.parent))  # for its own imports
    before, sys.dont_write_bytecode = sys.dont_write_bytecode, True  # writes no __pycache__ into a run folder
    try:
        spec.loader.exec_module(module)
    except ModuleNotFoundError as e:
        raise NotInstalled(f"{path.name} needs the module '{e.name}', which is not installed") from None
    except Exception as e:  # noqa: BLE001  (the code is the user's)
        raise LaunchError(f"{path.name} cannot be imported: {type(e).__name__}: {str(e)[:MAX_MESSAGE]}") from None
    finally:
        sys.dont_write_bytecode = before
        sys.path.remove(str(path.parent))
    return module


def as_launched(sequence: Sequence[Launch]) -> bool:
    """Whether all of these launches are of `__global__` functions, and none calls a function of the host."""
    return all(getattr(launch.program, "capturable", True) for launch in sequence)
