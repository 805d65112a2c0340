"""`CpuCompiler`: kernels to shared objects, through a cache on disk that several processes may share."""

from __future__ import annotations

import contextlib
import os
import subprocess
import tempfile
import threading
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from runner import atomic
from runner.device import Binary, Source, cache
from runner.device.cpu import toolchain
from runner.device.cpu.explain import explain_failure
from runner.device.cpu.toolchain import COMMON_FLAGS, KERNEL_FLAGS, NATIVE, Toolchain, machine_flags
from runner.device.cpu.translate import translate
from runner.errors import CompileError

# What a kernel's text can reach of ours.
_SHIM = ("shim.h", "simt/*.h", "cuda/*.h", "half/*.h", "headers/*.h")

_building_runtime = threading.Lock()  # several threads compile at once; one of them builds what all need


class CpuCompiler:
    """Compiles kernels for the CPU device.

    Args:
        cache_dir: Where binaries are kept; by default the user's cache folder.
        cxx: The C++ compiler; by default `$CXX`, or the first one found.
        host_flags: Further flags for it.
    """

    def __init__(self, cache_dir: Path | None = None, cxx: str | None = None, host_flags: Sequence[str] = ()) -> None:
        self._cache = (Path(cache_dir) if cache_dir is not None else cache.default_folder("cpu")).absolute()
        self._cxx = cxx
        self._host_flags = tuple(host_flags)

    @property
    def identity(self) -> str:
        """The host's compiler, and further flags for it."""
        return " ".join((toolchain.find(self._cxx).version, *self._host_flags))

    def many(self, count: int) -> AbstractContextManager[None]:
        """Each is a process anyway."""
        _ = count
        return contextlib.nullcontext()

    def compile(self, source: Source) -> Binary:
        """Compile a kernel, or find what was compiled before.

        Raises:
            CompileError: with the compiler's own message, at the kernel's own lines.
        """
        started = time.perf_counter()
        tools = toolchain.find(self._cxx)
        runtime = self._runtime(tools)
        unit = translate(source, self._cache / "included")
        nowhere = f"-ffile-prefix-map={source.path.resolve().parent}/="  # a kernel that was moved is the same code
        flags = (*COMMON_FLAGS, *machine_flags(), *KERNEL_FLAGS, *self._host_flags, nowhere)
        parts = [unit.text, *unit.staged.values()]
        reached = cache.includes(source.text, [source.path.parent])  # by a macro, too
        parts += [path.read_text(encoding="utf-8", errors="surrogateescape") for path in reached]
        parts += [str(runtime), *flags, tools.identity, _text_of_sources(*_SHIM)]
        key = cache.key(*parts)
        target = self._cache / f"{source.function}-{key}.so"
        log_file = target.with_suffix(".log")
        cached = cache.intact(target)
        if not cached:
            for path, staged in unit.staged.items():
                atomic.write_text(path, staged)
            includes = [f"-iquote{source.path.resolve().parent}"]
            shim = ["-include", str(NATIVE / "shim.h")]
            command = [
                *tools.command,
                *flags,
                f"-I{NATIVE / 'headers'}",
                *includes,
                *shim,
                "-x",
                "c++",
                "-",
                "-x",
                "none",
            ]
            log = self._run(
                [*command, "-Wl,--no-as-needed", str(runtime), "-Wl,-z,defs", "-lm"], unit.text, target, source
            )
            atomic.write_text(log_file, log)
        log = log_file.read_text(errors="surrogateescape") if log_file.exists() else ""
        seconds = time.perf_counter() - started
        return Binary(target, cache.digest(target), seconds, cached=cached, log=log)

    def _runtime(self, tools: Toolchain) -> Path:
        """The library that all kernels use, built once.

        Its soname is its path, so that a kernel's binary finds it, and a device needs to know nothing of it.
        """
        # Its threads live until the process ends, so it must not go when the last kernel is unloaded.
        flags = (*COMMON_FLAGS, *machine_flags(), *self._host_flags, "-Wl,-z,nodelete", "-pthread")
        key = cache.key(_text_of_sources("runtime/*", "simt/*.h"), *flags, tools.identity)
        target = self._cache / f"libsimt-{key}.so"
        with _building_runtime:
            if not cache.intact(target):
                # One translation unit: a third of the time, and the compiler sees all of it.
                unit = "".join(f'#include "{path}"\n' for path in sorted((NATIVE / "runtime").glob("*.cpp")))
                command = [*tools.command, *flags, f"-Wl,-soname,{target}", "-x", "c++", "-"]
                self._run(command, unit, target, None)
        return target

    def _run(self, command: list[str], text: str, target: Path, source: Source | None) -> str:
        """Run the compiler, and put its result in place whole. Gives its warnings."""
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(dir=target.parent, prefix=".new-", suffix=".so")
        except OSError as error:
            raise CompileError(
                f"the cache of compiled kernels cannot be written: {error}; set XDG_CACHE_HOME"
            ) from error
        os.close(handle)
        aside = Path(name)
        try:
            done = subprocess.run(
                [*command, "-o", str(aside)],
                input=text.encode(errors="surrogateescape"),
                capture_output=True,
                check=False,
                cwd=target.parent,  # which the debug information names
                env={**os.environ, "LC_ALL": "C"},
            )
            said = done.stderr.decode(errors="replace")
            if done.returncode and source is not None:
                raise explain_failure(source, said)
            if done.returncode:
                raise CompileError("the CPU device's own runtime library does not compile", said)
            aside.chmod(0o700)
            aside.replace(target)
            cache.seal(target)
        finally:
            aside.unlink(missing_ok=True)
        return said


def _text_of_sources(*patterns: str) -> str:
    """The names and contents of native sources, for keys of the cache."""
    paths = [path for pattern in patterns for path in sorted(NATIVE.glob(pattern))]
    return "\0".join(f"{path.relative_to(NATIVE)}\0{path.read_text(encoding='utf-8')}" for path in paths)
