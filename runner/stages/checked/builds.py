"""Kernels that were compiled for the checked device, and notes of what was found in a case.

A note in the cache says what was made of a source, or found in a case, so that neither is done twice.
"""

from __future__ import annotations

import functools
import json
import os
import shutil
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runner import __version__
from runner.device import Binary, Source, cache
from runner.device.kinds import CHECKED
from runner.device.limits import Limits
from runner.files import atomic

if TYPE_CHECKING:
    from runner.device.cpu.build import CpuCompiler
    from runner.kernel.case import Case


def host_source(case: Case) -> Source:
    """What is compiled for the host: cases that differ in options for a GPU's compiler share it."""
    return replace(case.source(), options=())


def compiler(limits: Limits = Limits()) -> CpuCompiler:  # noqa: B008  (frozen)
    """The host's C++ compiler, with instrumentation."""
    from runner.device.cpu.build import CpuCompiler  # noqa: PLC0415  (a sweep on a GPU that counts nothing needs none)

    return CpuCompiler(limits=limits, checked=True)


def build(compiler: CpuCompiler, source: Source) -> Binary:
    """Compile a kernel, and note what was made of it. Raises `CompileError` and `OSError`."""
    binary = compiler.compile(source)
    with suppress(OSError):
        atomic.write_text(_note(source), f"{binary.path}\n{compiler.library}")
    return binary


def built_before(source: Source) -> Binary | None:
    """What was made of a kernel earlier. The compiler itself would have to be asked, and to parse the kernel."""
    try:
        binary, library = map(Path, _note(source).read_text(encoding="utf-8").split("\n"))
    except (OSError, ValueError):
        return None
    return Binary(binary, cache.digest(binary), 0.0, cached=True) if all(map(cache.intact, (binary, library))) else None


def _note(source: Source) -> Path:
    """The file that notes what was made of a kernel: its name depends on all that the result depends on."""
    reached = (cache.read(path) for path in cache.includes(source.text, source.folders))
    key = cache.key(*tools(os.environ.get("CXX", "")), repr(source), *reached)
    return cache.default_folder(CHECKED) / "lines" / f"{key}.built"


@functools.cache
def tools(wanted: str) -> tuple[str, ...]:
    """The C++ compilers and the devices' own files, as they were last changed; `wanted` is the variable CXX."""
    found = map(shutil.which, (*wanted.split()[:1], "c++", "g++", "clang++"))
    files = [Path(path).resolve() for path in found if path]
    own = Path(cache.__file__).parent.rglob("*")
    files += sorted(path for path in own if path.suffix != ".pyc" and path.is_file())
    stats = ((path, path.stat()) for path in files)
    return (wanted, *(f"{path} {stat.st_mtime_ns} {stat.st_size}" for path, stat in stats))


def note_of(what: str, case: Case, binary: Binary, *further: str) -> Path:
    """The file that notes what was found in a case: its name depends on all that this depends on."""
    launch = repr(case.launches), repr(case.arrays()), str(case.seed)
    known = __version__, *tools(os.environ.get("CXX", "")), *further
    return cache.default_folder(CHECKED) / what / f"{cache.key(binary.digest, *launch, *known)}.json"


def noted(path: Path) -> Any:
    """What a note says; `None` if there is none."""
    with suppress(OSError, ValueError):
        return json.loads(path.read_text(encoding="utf-8"))
    return None


def note(path: Path, found: Any) -> None:
    """Note what was found. On a full disk the next run finds it again."""
    with suppress(OSError):
        atomic.write_text(path, json.dumps(found))
