"""`CpuCompiler`: compiles kernels to shared objects by the host's C++ compiler, through a shared cache."""

from __future__ import annotations

import functools
import itertools
import os
import platform
import shlex
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from runner.device import Binary, Compiler, Form, Source, cache
from runner.device.cpu import compile_errors
from runner.device.cpu.translate import NATIVE, Translation, translate
from runner.device.cpu.zones import CHECKED_BYTES, add_zones, add_zones_of_variables
from runner.device.excerpt import STAND_INS, Excerpt, excerpt, explain_missing, missing_function, stand_ins
from runner.device.kinds import CPU
from runner.device.limits import Limited, Limits
from runner.device.parts import joined
from runner.device.uncompiled import uncompiled
from runner.errors import CompileError, CompileLimit
from runner.files import atomic, scratch

COMMON_FLAGS = (
    *("-std=c++17", "-O2", "-g1", "-fPIC", "-shared", "-fvisibility=hidden", "-fno-semantic-interposition"),
    "-gdwarf-4",  # binutils 2.40 names wrong files for some lines of DWARF 5
    "-U_FORTIFY_SOURCE",  # the fortified longjmp refuses to switch to another lane's stack
    *(("-mno-red-zone",) if platform.machine() in ("x86_64", "AMD64") else ()),  # the switch of stacks pushes
)
KERNEL_FLAGS = (
    *("-fno-exceptions", "-fno-strict-aliasing", "-fwrapv", "-ffp-contract=off", "-fno-plt", "-Wno-attributes"),
    "-fno-finite-loops",  # keeps loops without side effects, which hang on a GPU, too
    *("-fcheck-new", "-fno-builtin-malloc", "-fno-builtin-free"),  # `new` may give null; none is optimized away
    "-fstack-clash-protection",  # large local arrays touch the guard page instead of jumping over it
    "-Wno-unknown-pragmas",  # #pragma unroll
)
# For g++. Only the launched kernel of a file is compiled. Variable tracking is off: line numbers do not need it, and it
# takes a third of the time.
GCC_FLAGS = (
    *("-fwhole-program", "-fno-var-tracking", "-fno-var-tracking-assignments"),
    "-fno-allocation-dce",  # nor `delete` of what is freed already
    "-fno-aggressive-loop-optimizations",  # keeps iterations beyond an array's end, so that they are detected
)

# For the checked device. Little optimization keeps most accesses in place, and vector accesses whole.
CHECKED_FLAGS = (
    *("-O1", "-fsanitize=thread", "-fsanitize=alignment", "-fsanitize-coverage=trace-pc,trace-cmp"),
    "-DSIMT_CHECKED",
)
GCC_CHECKED_FLAGS = (
    "-fno-tree-sra",
    "-fno-ipa-reference-addressable",  # keeps reads of variables that no kernel writes
    *("--param", "tsan-distinguish-volatile=1", "--param", "tsan-instrument-func-entry-exit=0"),
)
CLANG_CHECKED_FLAGS = (
    *("-mllvm", "-tsan-distinguish-volatile=1", "-mllvm", "-tsan-instrument-func-entry-exit=0"),
    *("-mllvm", "-tsan-instrument-read-before-write=1"),
    *("-mllvm", "-sanitizer-coverage-prune-blocks=0"),  # else the comparison that ends a loop is not reported
)

# The headers that a kernel's text can reach.
_SHIM = ("*.h", "simt/*.h", "cuda/*.h", "half/*.h", "groups/*.h", "libcu/*.h", "cub/*.h", "headers/**/*")

_C_HEADERS = frozenset(
    f"{name}.h"
    for name in "assert complex ctype errno fenv float inttypes iso646 limits locale math memory setjmp signal "
    "stdalign stdarg stdatomic stdbool stddef stdint stdio stdlib string tgmath time wchar wctype".split()
)

# The library is compiled in two units at the same time. Files that call each other often share a unit: in the checked
# device's library those that run for each access, in the other one all but those that run once per launch or fault.
ACCESS_FILES = ("hooks", "monitor", "races", "shadow")
LAUNCH_FILES = ("crew", "deadlock", "diagnostics", "faults", "launch")
LIBRARY_LIMIT_S = 600.0  # for the CPU device's own library and precompiled header
MAX_TRIES = 3  # attempts at a compilation whose cache is deleted meanwhile
DELETED = "the cache of compiled kernels was deleted again and again while this was compiled; run it again"

_building, _precompiling = threading.Lock(), threading.Lock()  # one of the compiling threads builds what all need


@dataclass(frozen=True)
class Toolchain:
    """A C++ compiler: its command, and the first line of its `--version`."""

    command: tuple[str, ...]
    version: str

    @property
    def identity(self) -> str:
        """The compiler and its version, as a part of cache keys."""
        return f"{shutil.which(self.command[0])}\0{' '.join(self.command)}\0{self.version}"

    @property
    def is_clang(self) -> bool:
        """Whether it is clang++; otherwise it is g++."""
        return "clang" in self.version


def find_toolchain(cxx: str | None = None) -> Toolchain:
    """Find the compiler: `cxx`, `$CXX`, or the first of the usual ones.

    Raises CompileError if no compiler is found, or if it does not work.
    """
    name = cxx or os.environ.get("CXX") or next(filter(shutil.which, ("c++", "g++", "clang++")), None)
    if name is None:
        raise CompileError("no C++ compiler found: install g++ (Debian: apt-get install g++) or set CXX")
    command = tuple(shlex.split(name))
    if not command or shutil.which(command[0]) is None:
        raise CompileError(
            f"the C++ compiler '{name}' is not there: install g++ (Debian: apt-get install g++) or set CXX"
        )
    try:
        done = subprocess.run([*command, "--version"], capture_output=True, text=True, check=True, timeout=60)
    except (OSError, subprocess.SubprocessError) as error:
        raise CompileError(f"the C++ compiler '{name}' does not work: {error}") from error
    return Toolchain(command, done.stdout.strip().partition("\n")[0] or "unknown version")


@dataclass(frozen=True)
class _Unit:
    """A kernel to compile and link."""

    source: Source
    translation: Translation
    needed: Excerpt | None  # the part of its files that is compiled; `None`: all
    runtime: Path
    flags: list[str]  # of this kernel
    target: Path


class CpuCompiler(Compiler):
    """Compiles kernels for the CPU device; with `checked` it instruments each memory access.

    By default binaries are cached in the user's cache folder, and the compiler is `$CXX` or the first one found.
    """

    def __init__(
        self,
        cache_dir: Path | None = None,
        cxx: str | None = None,
        host_flags: Sequence[str] = (),
        limits: Limits = Limits(),  # noqa: B008  (frozen)
        *,
        checked: bool = False,
    ) -> None:
        self._cache = (Path(cache_dir) if cache_dir is not None else cache.default_folder(CPU)).absolute()
        self._cxx = cxx
        self._host_flags = tuple(host_flags)
        self._limited = Limited(limits)
        self._checked = checked
        self._precompiled: dict[str, Path] = {}  # the header to include, by the key of its cache

    @functools.cached_property
    def _tools(self) -> Toolchain:
        return find_toolchain(self._cxx)

    @property
    def identity(self) -> str:
        """The host's compiler and its further flags."""
        return " ".join((self._tools.version, *self._host_flags))

    @property
    def library(self) -> Path:
        """The runtime library of all kernels."""
        return self._runtime()[0]

    @property
    def is_ready(self) -> bool:
        """Whether the library is in the cache, which takes seconds to compile. Raises CompileError like `compile`."""
        return cache.intact(self._library)

    def stop(self) -> None:
        """Abort compilations, and refuse new ones."""
        self._limited.stop()

    def compile(self, source: Source) -> Binary:
        """Compile, or take the binary from the cache. A cache that is deleted meanwhile is filled again."""
        if source.form is Form.PYTHON:
            return uncompiled(source)
        if source.others:
            return joined([self.compile(part) for part in source.parts])
        cache.refuse_special(source.path, source.text, source.folders)
        for tries_left in reversed(range(MAX_TRIES)):
            runtime = None
            try:
                runtime, built = self._runtime()
                return self._compiled(source, runtime, built=built)
            except CompileLimit as error:
                raise CompileLimit(f"{source.path}: {error}", error.log) from None
            except (CompileError, OSError) as error:
                gone = not cache.intact(runtime) if runtime else isinstance(error, FileNotFoundError)
                if not gone:
                    raise
                if not tries_left:
                    raise CompileError(f"{source.path.name}: {DELETED}") from None
                with _precompiling:
                    self._precompiled.clear()
        raise AssertionError

    def _compiled(self, source: Source, runtime: Path, *, built: bool) -> Binary:
        started = time.perf_counter()
        needed = excerpt(source, _has_header)
        unit = translate(source, self._cache / "included", needed.texts if needed else None)
        folder = source.path.resolve().parent
        moved = f"-ffile-prefix-map={folder}/="  # the same machine code for a source in another folder
        parts = [unit.text, *unit.staged.values(), source.text]
        parts += map(cache.read, cache.includes(source.text, source.folders))  # reached by a macro, too
        parts += [str(runtime), *self._flags, moved, self._tools.identity, _text_of_sources(*_SHIM), *stand_ins()]
        target = self._cache / f"{source.plain_function}-{cache.key(*parts)}.so"
        log_file = target.with_suffix(".log")
        flags = [moved, f"-iquote{folder}", *(f"-I{path}" for path in source.include)]

        def build() -> None:
            atomic.write_text(log_file, self._build(_Unit(source, unit, needed, runtime, flags, target)))

        def is_linked() -> bool:
            return not built or target.stat().st_mtime_ns >= runtime.stat().st_mtime_ns

        cached = self._build_once(target, build, is_linked)
        log = log_file.read_text(errors="surrogateescape") if log_file.exists() else ""
        omitted = needed.without if needed else ""
        return Binary(target, cache.digest(target), time.perf_counter() - started, cached, log, omitted)

    def _build_once(self, target: Path, build: Callable[[], None], is_valid: Callable[[], bool] = lambda: True) -> bool:
        return cache.build_once(target, build, lambda: self._limited.stopped, is_valid)

    def _build(self, unit: _Unit) -> str:
        """Compile the needed part of a kernel's file, or else the whole file. Returns the warnings."""
        if function := missing_function(unit.source):
            raise CompileError(f"{unit.source.path}: {explain_missing(unit.source, function, 'not found')}")
        try:
            return self._build_unit(unit)
        except CompileError as error:
            whole = translate(unit.source, self._cache / "included")
            is_pointless = unit.needed is None or whole.text == unit.translation.text
            if is_pointless or isinstance(error, (compile_errors.HostOnly, CompileLimit)):
                raise
            try:  # the needed part is an approximation by names
                return self._build_unit(replace(unit, translation=whole, needed=None))
            except CompileError as of_whole:
                raise CompileError(str(error), f"{error.log}\n\nThe whole file:\n{of_whole.log}") from None

    @property
    def _flags(self) -> tuple[str, ...]:
        """The flags of all kernels, shared with the precompiled header."""
        flags = (*COMMON_FLAGS, *KERNEL_FLAGS, *(() if self._tools.is_clang else GCC_FLAGS))
        if self._checked:
            flags += (*CHECKED_FLAGS, *(CLANG_CHECKED_FLAGS if self._tools.is_clang else GCC_CHECKED_FLAGS))
        return (*flags, *self._host_flags)

    def _build_unit(self, unit: _Unit) -> str:
        """Compile and link a kernel. Returns the warnings.

        First with the shim's precompiled header and without libstdc++, which takes half of the link time and is rarely
        needed. If that fails for a reason that these may cause, the kernel is compiled without them.
        """
        translation = unit.translation
        for path, staged in translation.staged.items():
            atomic.write_text(path, staged)

        def build(shim: Path, *libraries: str) -> str:
            compiling = [*self._tools.command, *self._flags, *unit.flags, f"-I{NATIVE / 'headers'}", f"-I{STAND_INS}"]
            compiling += ["-include", str(shim), "-x", "c++", "-"]
            linking = ["-x", "none", "-Wl,--no-as-needed", str(unit.runtime), "-Wl,-z,defs", "-lm", *libraries]
            if not (translation.has_shared or self._checked):  # with -fsanitize it would be linked to a library
                return self._compile_to(unit.target, [*compiling, *linking], translation.text)
            done = self._run([*compiling, "-S", "-o", "-"], translation.text)
            assembly, log = done.stdout.decode(errors="surrogateescape"), done.stderr.decode(errors="replace")
            assembling = [*self._tools.command, "-shared", "-fPIC", "-x", "assembler", "-"]
            if self._checked and self._tools.is_clang:  # which copies structures by these, without instrumentation
                assembling += [f"-Wl,--wrap={function}" for function in ("memcpy", "memset")]
            sizes = (CHECKED_BYTES, CHECKED_BYTES) if self._checked else ()
            assembly = add_zones(assembly, *sizes)
            if self._checked:
                assembly = add_zones_of_variables(assembly)
            return log + self._compile_to(unit.target, [*assembling, *linking], assembly)

        shim = self._shim()
        try:
            return build(shim, "-nodefaultlibs", "-lc", "-lgcc")
        except _CompilerFailed as failed:
            error = failed
        if any(sign in error.log for sign in (str(shim), "PCH", "undefined ", "DSO missing")):
            try:
                return build(NATIVE / "shim.h")
            except _CompilerFailed as failed:
                error = failed
        raise compile_errors.explain(unit.source, error.log, unit.needed)

    def _shim(self) -> Path:
        """A header that includes the shim, precompiled, which saves most of a kernel's compile time.

        It is built once per compiler and flags. g++ and clang++ both look for a `.gch` file beside the header.
        """
        key = cache.key(_text_of_sources(*_SHIM), *self._flags, self._tools.identity)
        with _precompiling:
            if key not in self._precompiled:
                header = self._cache / f"shim-{key}.h"
                compiled = header.with_name(f"{header.name}.gch")
                # clang++ would refuse it once the headers have been installed again.
                timestamp = ("-Xclang", "-fno-pch-timestamp") if self._tools.is_clang else ()
                command = [*self._tools.command, *self._flags, *timestamp, "-x", "c++-header", str(header)]

                def build() -> None:
                    atomic.write_text(header, f'#include "{NATIVE / "shim.h"}"\n')
                    self._compile_to(compiled, command, "", LIBRARY_LIMIT_S)

                try:
                    self._build_once(compiled, build, header.exists)
                except (CompileError, OSError):  # the kernel's own compilation reports the error
                    header = NATIVE / "shim.h"
                self._precompiled[key] = header
            return self._precompiled[key]

    def _runtime(self) -> tuple[Path, bool]:
        """The runtime library, and whether it was built now.

        Its soname is its path, so that the dynamic linker finds it when a kernel is loaded.
        """
        target, flags = self._library, self._library_flags

        def build() -> None:
            # Few translation units: including all files once takes a third of the time, and the compiler inlines more.
            paths = [path for folder in self._library_folders for path in sorted((NATIVE / folder).glob("*.cpp"))]
            apart = ACCESS_FILES if self._checked else LAUNCH_FILES
            units = [[p for p in paths if p.stem in apart], [p for p in paths if p.stem not in apart]]
            texts = ["".join(f'#include "{path}"\n' for path in unit) for unit in units]
            linking = [*self._tools.command, *flags, f"-Wl,-soname,{target}"]
            try:
                with (
                    scratch.folder() as folder,
                    ThreadPoolExecutor() as pool,
                ):
                    objects = [f"{folder}/{number}.o" for number in range(len(units))]
                    commands = [[*self._tools.command, *flags, "-c", "-x", "c++", "-", "-o", to] for to in objects]
                    pool.submit(self._shim)  # on a core that is idle meanwhile
                    list(pool.map(self._run, commands, texts, itertools.repeat(LIBRARY_LIMIT_S)))
                    self._compile_to(target, [*linking, *objects], "", LIBRARY_LIMIT_S)
            except _CompilerFailed as failed:
                first = next(filter(str.strip, failed.log.splitlines()), "the compiler gave no reason")
                why = f"the CPU device's own runtime library does not compile: {first}"
                raise CompileError(why, failed.log) from None

        with _building:
            return target, not self._build_once(target, build)

    @property
    def _library_folders(self) -> tuple[str, ...]:
        return ("runtime", "checked") if self._checked else ("runtime",)

    @property
    def _library_flags(self) -> tuple[str, ...]:
        checked = ("-DSIMT_CHECKED",) if self._checked else ()
        # Its threads live until the process ends, so it must not go when the last kernel is unloaded.
        return (*COMMON_FLAGS, *checked, *self._host_flags, "-Wl,-z,nodelete", "-pthread")

    @functools.cached_property
    def _library(self) -> Path:
        """The path of the runtime library, which may not have been compiled yet."""
        texts = _text_of_sources(*(f"{folder}/*" for folder in self._library_folders), "simt/*.h")
        return self._cache / f"libsimt-{cache.key(texts, *self._library_flags, self._tools.identity)}.so"

    def _run(self, command: list[str], text: str, min_limit_s: float = 0.0) -> subprocess.CompletedProcess[bytes]:
        done = self._limited.run(
            command,
            text.encode(errors="surrogateescape"),
            self._cache,  # which the debug information names
            {**os.environ, "LC_ALL": "C"},
            min_limit_s,
        )
        if done.returncode:
            raise _CompilerFailed(done.stderr.decode(errors="replace"))
        return done

    def _compile_to(self, target: Path, command: list[str], text: str, min_limit_s: float = 0.0) -> str:
        """Run the compiler, and rename its complete result to `target`. Returns the warnings."""
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
            log = self._run([*command, "-o", name], text, min_limit_s).stderr.decode(errors="replace")
            new.chmod(0o700)  # `FileNotFoundError` if the cache was deleted meanwhile
            new.replace(target)
            cache.seal(target)
        except _CompilerFailed as error:
            if not new.parent.is_dir():
                raise FileNotFoundError(new.parent) from error  # the cache was deleted meanwhile
            raise
        finally:
            new.unlink(missing_ok=True)
        return log


class _CompilerFailed(CompileError):
    """The compiler failed; the caller interprets its log."""

    def __init__(self, log: str) -> None:
        super().__init__("the compiler failed", log)


@functools.lru_cache(maxsize=8)
def _text_of_sources(*patterns: str) -> str:
    """The names and contents of native sources, for cache keys."""
    paths = [path for pattern in patterns for path in sorted(NATIVE.glob(pattern)) if path.is_file()]
    return "\0".join(f"{path.relative_to(NATIVE)}\0{path.read_text(encoding='utf-8')}" for path in paths)


def _has_header(name: str) -> bool:
    """Whether a kernel can include a header of the shim, C or C++."""
    return name.isidentifier() or name in _C_HEADERS or (NATIVE / "headers" / name).is_file()
