"""CUDA sources to cubins, by nvcc or by NVRTC, behind a cache that parallel writers share.

NVRTC is CUDA's compiler as a library, used through cuda.core. It compiles the same sources far faster, without the
host's compiler and headers, and needs neither a GPU nor PyCUDA.
"""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from runner.device import Binary, Compiler, Form, Source, cache, elf, options, unqualified
from runner.device.cuda import libraries
from runner.device.cuda.nvrtc import Nvrtc, first_error, toolkit_headers, toolkits
from runner.device.excerpt import (
    STAND_INS,
    Excerpt,
    excerpt,
    explain_missing,
    listed,
    missing_function,
    stand_ins,
    system_headers,
    without,
)
from runner.device.kinds import CUDA
from runner.device.limits import Limited, Limits
from runner.device.parts import joined
from runner.device.uncompiled import uncompiled
from runner.errors import CompileError, CompileLimit, MissingLibrary
from runner.files import atomic, scratch

_NO_HEADER = re.compile(r'fatal error: (\S+): No such file|(?:cannot|could not) open source file "([^"]+)"')
_NEEDS_HEADER = re.compile(r"(\S+)\(\d+\): [\w ]*error: (?:cannot|could not) open source file")
_NAMING_ERROR = re.compile(rf"{elf.NAMING_FILE}\((?P<line>\d+)\):\s*(?:error:\s*)?(?P<reason>.*)", re.DOTALL)
_PLACE = re.compile(r"(?P<file>[^\s()]+)\((?P<line>\d+)\): error")
_INCLUDED = re.compile(r'^[ \t]*#[ \t]*include[ \t]*["<]([^">\n]+)', re.MULTILINE)
_LINE_NUMBER = re.compile(r"\(\d+\): ")


@dataclass(frozen=True)
class _Made:
    """What a toolchain made of a source."""

    content: bytes  # a cubin, or a shared library
    log: str  # the compiler's warnings
    omitted: str = ""  # as in `Binary`


class CudaCompiler(Compiler):
    """A toolchain behind the cache, for an architecture such as `sm_90`."""

    def __init__(
        self,
        arch: str,
        toolchain: Nvcc | Nvrtc,
        cache_dir: Path | None = None,
        limits: Limits = Limits(),  # noqa: B008  (frozen)
    ) -> None:
        self._arch = arch
        self._toolchain = toolchain
        self._host = toolchain if isinstance(toolchain, Nvcc) else Nvcc((), limits)  # NVRTC compiles no host code
        self._folder = cache_dir or cache.default_folder(CUDA)

    def compile(self, source: Source) -> Binary:
        """Compile, or take the cubin from the cache."""
        if source.others:
            return joined([self.compile(part) for part in source.parts])
        started = time.perf_counter()
        if source.form in (Form.BINARY, Form.PYTHON):
            return uncompiled(source)
        if reason := options.refusal([option for option in source.options if option != options.PTX]):
            raise CompileError(f"{source.path.name}: compile_options: {reason}")
        cache.refuse_special(source.path, source.text, source.folders)
        text = _unit(source, {})
        included = [cache.read(path) for path in cache.includes(source.text, source.folders)]
        is_host = source.form is Form.HOST
        toolchain = self._host_toolchain() if is_host else self._toolchain
        parts = (*source.functions, *included, self._arch, *toolchain.identity(), *source.options, *source.libraries)
        parts += stand_ins()
        path, warnings = self._folder / f"{cache.key(text, *parts)}.{'so' if is_host else 'cubin'}", ""
        note = path.with_suffix(".omitted")

        def build() -> None:
            nonlocal warnings
            compiled = self._library if is_host else self._compile_with_options
            made = compiled(source, text)
            warnings = made.log
            if made.omitted:
                atomic.write_text(note, made.omitted)
            atomic.write(path, made.content)
            cache.seal(path)

        cached = cache.build_once(path, build, lambda: self._toolchain.stopped)
        omitted = note.read_text(encoding="utf-8") if note.exists() else ""
        return Binary(path, cache.digest(path), time.perf_counter() - started, cached, warnings, omitted)

    def stop(self) -> None:
        """Abort compilations, and refuse new ones."""
        self._toolchain.stop()
        self._host.stop()

    def _host_toolchain(self) -> Nvcc:
        """Nvcc, which alone compiles host code. Raises MissingLibrary if it is not installed."""
        if find_nvcc() is None:
            raise MissingLibrary("a host function needs nvcc, which is not on the PATH; install the CUDA toolkit")
        return self._host

    def _library(self, source: Source, text: str) -> _Made:
        """A shared library with a host function."""
        return _Made(*self._host_toolchain().library(source, self._arch, text))

    def _compile_with_options(self, source: Source, text: str) -> _Made:
        """The cubin; an error without a line number mentions the case's own options."""
        try:
            return self._compile_named(source, text)
        except CompileError as e:
            if not source.options or isinstance(e, CompileLimit) or _LINE_NUMBER.search(str(e)):
                raise
            raise CompileError(f"{e} (compile_options={' '.join(source.options)})", e.log) from None

    def _compile_named(self, source: Source, text: str) -> _Made:
        """Compile, with additional text only if the symbols of the functions cannot be found otherwise."""
        if all(function == unqualified(function) for function in source.functions):
            made = self._cubin(source, text, "")
            names = {s.name for s in elf.symbols(made.content)}
            symbols = (elf.kernel_symbol(made.content, function, i) for i, function in enumerate(source.functions))
            if options.PTX in source.options or names.issuperset(symbols):  # PTX has no symbols
                return made
        try:
            return self._cubin(source, text, elf.naming(source.functions))
        except CompileError as e:
            error = _NAMING_ERROR.search(str(e))
            if not error:
                raise
            function = source.functions[int(error["line"]) - 2]
            raise CompileError(f"{source.path}: {explain_missing(source, function, error['reason'])}", e.log) from None

    def _cubin(self, source: Source, text: str, naming: str) -> _Made:
        """Compile the whole file, or if that fails only the part that the kernel needs, without missing headers.

        Code of the host may not compile: NVRTC takes none, and nvcc refuses what another system has. An error in the
        kernel's own lines is final.
        """
        try:
            folders = (source.path.parent, *source.include)
            name = source.path.name
            return _Made(*self._toolchain.cubin(name, f"{text}{naming}", folders, self._arch, source.options))
        except CompileError as e:
            if isinstance(e, CompileLimit) or _NAMING_ERROR.search(str(e)):
                raise
            whole = error = e
        missing: set[str] = set()
        while True:
            missing |= _missing_headers(error)
            needed = excerpt(source, lambda name: name not in missing)  # noqa: B023  (called at once)
            if needed is None and (function := missing_function(source)):
                raise CompileError(f"{source.path}: {explain_missing(source, function, '')}", error.log)
            if needed is None or (not missing and self._is_needed(source, needed, whole)):
                raise error
            headers = listed(missing)
            try:
                cubin, log = self._compile_excerpt(source, needed.texts, naming)
            except CompileError as e:
                if isinstance(e, CompileLimit):
                    raise
                if _missing_headers(e) - missing:
                    error = e
                    continue
                raise (CompileError(f"{e} (there is no {headers})", e.log) if missing else e) from None
            refused = str(whole).removeprefix(f"{source.path.name}: ")
            return _Made(cubin, log, without(missing) or f"compiled without its code for the host ({refused})")

    def _is_needed(self, source: Source, needed: Excerpt, error: CompileError) -> bool:
        """Whether the line of an error is a part of what the kernel needs."""
        own = needed.texts[source.path.resolve()].split("\n")
        place = _PLACE.search(str(error))
        if place is None or self._toolchain.lacks_host:
            return False
        line = int(place["line"]) - 1
        return place["file"] == source.path.name and line < len(own) and bool(own[line].strip())

    def _compile_excerpt(self, source: Source, texts: Mapping[Path, str], naming: str) -> tuple[bytes, str]:
        """Compile a part of the files, in a copy of their folders."""
        own = source.path.resolve()
        with scratch.folder() as root:
            for path, text in texts.items():
                copy = Path(f"{root}{path}")
                copy.parent.mkdir(parents=True, exist_ok=True)
                copy.write_text(f'#line 1 "{path}"\n{text}', encoding="utf-8", errors="surrogateescape")
                _copy_links(root, text, (path.parent, *source.folders))
            folders = [*(Path(f"{root}{path}") for path in source.folders), STAND_INS]
            unit = f"{_unit(source, texts)}{naming}"
            return self._toolchain.cubin(own.name, unit, folders, self._arch, source.options)

    @property
    def identity(self) -> str:
        """The architecture and the toolchain, in one line."""
        return " ".join((self._arch, *filter(None, self._toolchain.identity())))


def _unit(source: Source, texts: Mapping[Path, str]) -> str:
    """The text to compile; `texts` replace the contents of some files."""
    own = source.path.resolve()
    headers = system_headers(source, texts) if source.late_macros else ()
    return f'{source.defines(headers)}#line 1 "{source.path.name}"\n{texts.get(own, source.text)}'


def _copy_links(root: Path, text: str, folders: Sequence[Path]) -> None:
    """Make the links by whose names a text includes files again, to the copies of their folders below `root`."""
    for name in _INCLUDED.findall(text):
        for path in (Path(os.path.abspath(folder / name)) for folder in folders):  # noqa: PTH100  (it keeps links)
            link = next((part for part in reversed(path.parents) if part.is_symlink()), None)
            if link and path.is_file() and not (copy := Path(f"{root}{link}")).is_symlink():
                copy.parent.mkdir(parents=True, exist_ok=True)
                copy.symlink_to(f"{root}{link.resolve()}", target_is_directory=True)


def _missing_headers(error: CompileError) -> set[str]:
    """The headers of the source that are missing, and those of the toolkit that include one of the host, for NVRTC."""
    ours = {name for file in _NEEDS_HEADER.findall(error.log) for name in _toolkit_name(Path(file))}
    return ours or {name for names in _NO_HEADER.findall(error.log) for name in names if name}


def _toolkit_name(path: Path) -> list[str]:
    """How a source includes a header of the toolkit; empty for another file."""
    return [str(path.relative_to(folder)) for folder in toolkit_headers() if path.is_relative_to(folder)][-1:]


class Nvcc(Limited):
    """nvcc with the user's options."""

    lacks_host = False

    def __init__(self, flags: Sequence[str], limits: Limits = Limits()) -> None:  # noqa: B008  (frozen)
        super().__init__(limits)
        self._flags = tuple(flags)

    def identity(self) -> tuple[str, ...]:
        """Version and options of nvcc, which determine the cubin together with source and architecture."""
        _, version = self._nvcc
        return (*self._flags, *options.nvcc_environment(), version)

    def cubin(
        self, name: str, text: str, folders: Sequence[Path], arch: str, flags: Sequence[str]
    ) -> tuple[bytes, str]:
        """Compile a translation unit to a cubin and warnings. Raises CompileError, or CompileLimit beyond a limit.

        `name` is the file's name for messages, `folders` the include path, and `flags` are those of the case.
        """
        from pycuda import compiler, driver  # noqa: PLC0415  (not for NVRTC, nor for what is in the cache)
        from pytools import prefork  # noqa: PLC0415

        nvcc, _ = self._nvcc
        _calls.limited = self
        prefork.forker = _calls
        try:
            cubin: bytes = compiler.compile(
                text,
                nvcc=nvcc,
                options=[*self._flags, *(option for option in flags if option != options.PTX)],
                target="ptx" if options.PTX in flags else "cubin",
                no_extern_c=True,  # permits templates and C++ headers; kernels declare extern "C" themselves
                arch=arch,
                cache_dir=False,
                include_dirs=[str(folder) for folder in folders],
            )
        except driver.CompileError as e:
            log = f"{e.stdout or ''}{e.stderr or ''}".strip()
            raise CompileError(f"{name}: {first_error(log, 'nvcc failed')}", log) from None
        except CompileLimit as e:
            raise CompileLimit(f"{name}: {e}", e.log) from None
        return cubin, _calls.warnings

    def library(self, source: Source, arch: str, text: str) -> tuple[bytes, str]:
        """Compile a translation unit with a host function to a shared library and warnings. Raises CompileError."""
        nvcc, _ = self._nvcc
        return libraries.build(self, nvcc, source, arch, self._flags, text)

    @functools.cached_property
    def _nvcc(self) -> tuple[str, str]:
        nvcc = find_nvcc()
        if nvcc is None:
            raise CompileError("nvcc is not on the PATH; install the CUDA toolkit, or use device=cpu")
        return nvcc, version_of(nvcc)


class _Calls(threading.local):
    """Replaces PyCUDA's process starter (pytools.prefork.Forker) by one with limits, separately in each thread."""

    limited: Limited
    warnings = ""  # nvcc's messages on success, which PyCUDA would print

    def call_capture_output(
        self,
        command: Sequence[str],
        cwd: str | None = None,
        error_on_nonzero: bool = True,  # noqa: FBT001, FBT002, ARG002
    ) -> tuple[int, bytes, bytes]:
        done = self.limited.run(command, cwd=cwd)
        if done.returncode:
            return done.returncode, done.stdout, done.stderr
        self.warnings = (done.stdout + done.stderr).decode(errors="replace").strip()
        return 0, b"", b""


_calls = _Calls()


def find_nvcc() -> str | None:
    """Find nvcc on the PATH or in an installed toolkit."""
    return shutil.which("nvcc") or shutil.which("nvcc", path=os.pathsep.join(f"{home}/bin" for home in toolkits()))


def version_of(nvcc: str) -> str:
    """The output of `nvcc --version`. Raises CompileError if nvcc does not work."""
    try:
        done = subprocess.run([nvcc, "--version"], capture_output=True, text=True, check=True, timeout=60)
    except (OSError, subprocess.SubprocessError) as e:
        raise CompileError(f"{nvcc} does not work: {e}") from e
    return done.stdout
