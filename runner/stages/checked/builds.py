"""The cache of the checked device: which library a source was compiled to, and what a stage found in a case."""

from __future__ import annotations

import functools
import json
import os
import shutil
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runner import __version__
from runner.device import Binary, Source, cache, options, parts
from runner.device.kinds import CHECKED
from runner.device.limits import Limits
from runner.files import atomic

if TYPE_CHECKING:
    from runner.device.cpu.build import CpuCompiler
    from runner.kernel.case import Case


def host_source(case: Case) -> Source:
    """The case's source without options that only a GPU's compiler knows: cases that differ in those share a build."""
    source = case.source()
    return source.with_options(tuple(option for option in source.options if option == options.RELAXED))


def compiler(limits: Limits) -> CpuCompiler:
    """Make the host's C++ compiler, with instrumentation."""
    from runner.device.cpu.build import CpuCompiler  # noqa: PLC0415  (only if a stage uses the checked device)

    return CpuCompiler(limits=limits, checked=True)


def build(compiler: CpuCompiler, source: Source) -> Binary:
    """Compile a kernel and record the build in the cache."""
    binary = compiler.compile(source)
    with suppress(OSError):
        atomic.write_text(
            _build_path(source), "\n".join(map(str, (binary.path, compiler.library, *(o.path for o in binary.others))))
        )
    return binary


def cached_build(source: Source) -> Binary | None:
    """Return the cached build of a source, or `None`. This neither starts the compiler nor parses the kernel."""
    try:
        first, library, *others = map(Path, _build_path(source).read_text(encoding="utf-8").split("\n"))
    except (OSError, ValueError):
        return None
    return parts.of_paths([first, *others]) if all(map(cache.intact, (first, library, *others))) else None


def _build_path(source: Source) -> Path:
    """The cache file that names a source's build. Its key covers the source, its headers and the compilers."""
    headers = (cache.read(path) for part in source.parts for path in cache.includes(part.text, part.folders))
    key = cache.key(*tools(os.environ.get("CXX", "")), repr(source), *headers)
    return cache.default_folder(CHECKED) / "lines" / f"{key}.built"


@functools.cache
def tools(cxx: str) -> tuple[str, ...]:
    """Fingerprint the C++ compilers and the device package's files by time and size. `cxx` is the variable CXX."""
    compilers = map(shutil.which, (*cxx.split()[:1], "c++", "g++", "clang++"))
    files = [Path(path).resolve() for path in compilers if path]
    own = Path(cache.__file__).parent.rglob("*")
    files += sorted(path for path in own if path.suffix != ".pyc" and path.is_file())
    stats = ((path, path.stat()) for path in files)
    return (cxx, *(f"{path} {stat.st_mtime_ns} {stat.st_size}" for path, stat in stats))


def cached_result(stage: str, case: Case, *settings: str, binary: Binary | None = None) -> Any:
    """Read a stage's cached result for a case, whose build may be known; `None` if the cache lacks it or the build."""
    if binary := binary or cached_build(host_source(case)):
        with suppress(OSError, ValueError):
            return json.loads(_result_path(stage, case, binary, settings).read_text(encoding="utf-8"))
    return None


def cache_result(stage: str, case: Case, *settings: str, binary: Binary, result: Any) -> None:
    """Cache a result. If the disk is full, the next run computes it again."""
    with suppress(OSError):
        atomic.write_text(_result_path(stage, case, binary, settings), json.dumps(result))


def _result_path(stage: str, case: Case, binary: Binary, settings: Sequence[str]) -> Path:
    """The key has the case's launches, arrays and seed, and settings such as the number of schedules."""
    launch = repr(case.steps), repr(case.arrays()), str(case.seed)
    versions = __version__, *tools(os.environ.get("CXX", ""))
    return cache.default_folder(CHECKED) / stage / f"{cache.key(binary.digest, *launch, *versions, *settings)}.json"
