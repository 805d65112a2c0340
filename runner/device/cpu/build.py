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
from runner.device.cpu.translate import Translation, translate
from runner.device.cpu.zones import add_zones
from runner.errors import CompileError

# The headers that a kernel's text can reach.
_SHIM = ("shim.h", "simt/*.h", "cuda/*.h", "half/*.h", "headers/*.h")

_building = threading.Lock()  # several threads compile at once; one of them builds what all need


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
        self._precompiled: dict[str, Path] = {}  # the header to include, by the key of its cache

    @property
    def identity(self) -> str:
        """The host's compiler, and further flags for it."""
        return " ".join((toolchain.find(self._cxx).version, *self._host_flags))

    def many(self, count: int) -> AbstractContextManager[None]:
        """Each compilation is a process anyway."""
        _ = count
        return contextlib.nullcontext()

    def compile(self, source: Source) -> Binary:
        """Compile a kernel, or take its binary from the cache.

        Raises:
            CompileError: with the compiler's own message, at the kernel's own lines.
        """
        started = time.perf_counter()
        tools = toolchain.find(self._cxx)
        runtime = self._runtime(tools)
        unit = translate(source, self._cache / "included")
        folder = source.path.resolve().parent
        moved = f"-ffile-prefix-map={folder}/="  # a kernel that was moved gives the same machine code
        parts = [unit.text, *unit.staged.values()]
        reached = cache.includes(source.text, [source.path.parent])  # by a macro, too
        parts += [path.read_text(encoding="utf-8", errors="surrogateescape") for path in reached]
        parts += [str(runtime), *self._flags(tools), moved, tools.identity, _text_of_sources(*_SHIM)]
        target = self._cache / f"{source.function}-{cache.key(*parts)}.so"
        log_file = target.with_suffix(".log")
        cached = cache.intact(target)
        if not cached:
            for path, staged in unit.staged.items():
                atomic.write_text(path, staged)
            log = self._kernel(tools, runtime, source, unit, [moved, f"-iquote{folder}"], target)
            atomic.write_text(log_file, log)
        log = log_file.read_text(errors="surrogateescape") if log_file.exists() else ""
        seconds = time.perf_counter() - started
        return Binary(target, cache.digest(target), seconds, cached=cached, log=log)

    def _flags(self, tools: Toolchain) -> tuple[str, ...]:
        """The flags of every kernel, which are those of its precompiled header."""
        return (*COMMON_FLAGS, *machine_flags(), *KERNEL_FLAGS, *tools.kernel_flags, *self._host_flags)

    def _kernel(
        self, tools: Toolchain, runtime: Path, source: Source, unit: Translation, own: list[str], target: Path
    ) -> str:
        """Compile and link a kernel. Gives the warnings.

        The quick way takes the shim from a precompiled header and leaves out libstdc++, which takes half of the linking
        and which few kernels need. If it fails for a reason that may be its own, the plain way decides.
        """

        def build(shim: Path, *libraries: str) -> str:
            compiling = [*tools.command, *self._flags(tools), *own, f"-I{NATIVE / 'headers'}", "-include", str(shim)]
            compiling += ["-x", "c++", "-"]
            linking = ["-x", "none", "-Wl,--no-as-needed", str(runtime), "-Wl,-z,defs", "-lm", *libraries]
            if not unit.has_shared:
                return self._run([*compiling, *linking], unit.text, target)
            assembly, log = self._text([*compiling, "-S"], unit.text)
            plain = [*tools.command, "-shared", "-fPIC", "-x", "assembler", "-"]
            return log + self._run([*plain, *linking], add_zones(assembly), target)

        shim = self._shim(tools)
        try:
            return build(shim, "-nodefaultlibs", "-lc", "-lgcc")
        except _CompilerFailed as failed:
            error = failed
        if any(sign in error.log for sign in (str(shim), "PCH", "undefined ", "DSO missing")):
            try:
                return build(NATIVE / "shim.h")
            except _CompilerFailed as failed:
                error = failed
        raise explain_failure(source, error.log)

    def _shim(self, tools: Toolchain) -> Path:
        """A header that includes the shim, with its precompiled form beside it: most of a kernel's compilation.

        It is built once for a compiler and its flags. g++ and clang++ both look for `.gch` beside what is included.
        """
        key = cache.key(_text_of_sources(*_SHIM), *self._flags(tools), tools.identity)
        with _building:
            if key not in self._precompiled:
                header = self._cache / f"shim-{key}.h"
                compiled = header.with_name(f"{header.name}.gch")
                command = [
                    *tools.command,
                    *self._flags(tools),
                    *tools.precompile_flags,
                    "-x",
                    "c++-header",
                    str(header),
                ]
                try:
                    if not (cache.intact(compiled) and header.exists()):
                        atomic.write_text(header, f'#include "{NATIVE / "shim.h"}"\n')
                        self._run(command, "", compiled)
                except (_CompilerFailed, CompileError, OSError):  # the kernel's own compilation tells what is wrong
                    header = NATIVE / "shim.h"
                self._precompiled[key] = header
            return self._precompiled[key]

    def _runtime(self, tools: Toolchain) -> Path:
        """The library that all kernels use, built once.

        Its soname is its path, so that a kernel's binary finds it, and a device needs to know nothing of it.
        """
        # Its threads live until the process ends, so it must not go when the last kernel is unloaded.
        flags = (*COMMON_FLAGS, *machine_flags(), *self._host_flags, "-Wl,-z,nodelete", "-pthread")
        key = cache.key(_text_of_sources("runtime/*", "simt/*.h"), *flags, tools.identity)
        target = self._cache / f"libsimt-{key}.so"
        with _building:
            if not cache.intact(target):
                # One translation unit: a third of the time, and the compiler sees all of it.
                unit = "".join(f'#include "{path}"\n' for path in sorted((NATIVE / "runtime").glob("*.cpp")))
                command = [*tools.command, *flags, f"-Wl,-soname,{target}", "-x", "c++", "-"]
                try:
                    self._run(command, unit, target)
                except _CompilerFailed as failed:
                    raise CompileError("the CPU device's own runtime library does not compile", failed.log) from None
        return target

    def _text(self, command: list[str], text: str) -> tuple[str, str]:
        """Run the compiler; give what it makes as text, and its warnings."""
        made = self._called([*command, "-o", "-"], text)
        return made.stdout.decode(errors="surrogateescape"), made.stderr.decode(errors="replace")

    def _called(self, command: list[str], text: str) -> subprocess.CompletedProcess[bytes]:
        done = subprocess.run(
            command,
            input=text.encode(errors="surrogateescape"),
            capture_output=True,
            check=False,
            cwd=self._cache,  # which the debug information names
            env={**os.environ, "LC_ALL": "C"},
        )
        if done.returncode:
            raise _CompilerFailed(done.stderr.decode(errors="replace"))
        return done

    def _run(self, command: list[str], text: str, target: Path) -> str:
        """Run the compiler, and put its result in place whole. Gives its warnings."""
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(dir=target.parent, prefix=".new-", suffix=target.suffix)
        except OSError as error:
            raise CompileError(
                f"the cache of compiled kernels cannot be written: {error}; set XDG_CACHE_HOME"
            ) from error
        os.close(handle)
        new = Path(name)
        try:
            log = self._called([*command, "-o", name], text).stderr.decode(errors="replace")
            new.chmod(0o700)
            new.replace(target)
            cache.seal(target)
        finally:
            new.unlink(missing_ok=True)
        return log


class _CompilerFailed(Exception):  # said to nobody: what it means depends on what was compiled
    """The compiler gave up; `log` is what it said."""

    def __init__(self, log: str) -> None:
        super().__init__(log)
        self.log = log


def _text_of_sources(*patterns: str) -> str:
    """The names and contents of native sources, for keys of the cache."""
    paths = [path for pattern in patterns for path in sorted(NATIVE.glob(pattern))]
    return "\0".join(f"{path.relative_to(NATIVE)}\0{path.read_text(encoding='utf-8')}" for path in paths)
