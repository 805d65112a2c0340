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
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from runner.device import Binary, Source, cache, elf, options, unqualified
from runner.device.cuda.nvrtc import Nvrtc, first_error, toolkits
from runner.device.excerpt import excerpt, explained, system_headers, unnamed
from runner.device.kinds import CUDA
from runner.device.limits import Limited, Limits
from runner.errors import CompileError, CompileLimit
from runner.files import atomic

_NO_HEADER = re.compile(r'fatal error: (\S+): No such file|(?:cannot|could not) open source file "([^"]+)"')
_OF_NAMING = re.compile(rf"{elf.NAMING_FILE}\((?P<line>\d+)\):\s*(?:error:\s*)?(?P<reason>.*)", re.DOTALL)
_AT_A_LINE = re.compile(r"\(\d+\): ")


class CudaCompiler:
    """A toolchain behind the cache, for an architecture such as `sm_90`."""

    def __init__(self, arch: str, toolchain: Nvcc | Nvrtc, cache_dir: Path | None = None) -> None:
        self._arch = arch
        self._toolchain = toolchain
        self._folder = cache_dir or cache.default_folder(CUDA)

    def compile(self, source: Source) -> Binary:
        """Compile, or take the cubin from the cache."""
        started = time.perf_counter()
        if reason := options.refusal([option for option in source.options if option != options.PTX]):
            raise CompileError(f"{source.path.name}: compile_options: {reason}")
        text = _unit(source, {})
        reached = cache.includes(source.text, source.folders)
        included = [cache.read(path) for path in reached]
        parts = (*source.functions, *included, self._arch, *self._toolchain.identity(), *source.options)
        name = cache.key(text, *parts)
        path, warnings = self._folder / f"{name}.cubin", ""
        cached = cache.intact(path)
        if not cached:
            with cache.alone(path, lambda: self._toolchain.stopped):
                cached = cache.intact(path)
                if not cached:
                    cubin, warnings = self._with_options(source, text)
                    atomic.write(path, cubin)
                    cache.seal(path)
        return Binary(path, cache.digest(path), time.perf_counter() - started, cached, warnings)

    def stop(self) -> None:
        """Abort compilations, and refuse new ones."""
        self._toolchain.stop()

    def disassembled(self, source: Source, binary: Binary) -> tuple[str, str]:
        """The output of nvdisasm for a binary, and for the same kernel compiled with line information."""
        from runner.device.cuda import nvdisasm  # noqa: PLC0415  (few runs need it)

        if (tool := nvdisasm.find()) is None:
            raise OSError(
                "nvdisasm is not on the PATH; it comes with the CUDA toolkit and the package nvidia-cuda-nvdisasm"
            )
        lined = self.compile(replace(source, options=(*source.options, options.LINES)))
        return nvdisasm.disassembled(tool, binary.path), nvdisasm.disassembled(tool, lined.path)

    def ptx(self, source: Source) -> str:
        """The PTX of a kernel, from a second compilation."""
        made = self.compile(replace(source, options=(*source.options, options.PTX)))
        return made.path.read_text(encoding="utf-8", errors="replace").rstrip("\0")

    def _with_options(self, source: Source, text: str) -> tuple[bytes, str]:
        """The cubin and the warnings; an error without a line number mentions the case's own options."""
        try:
            return self._named(source, text)
        except CompileError as e:
            if not source.options or isinstance(e, CompileLimit) or _AT_A_LINE.search(str(e)):
                raise
            raise CompileError(f"{e} (compile_options={' '.join(source.options)})", e.log) from None

    def _named(self, source: Source, text: str) -> tuple[bytes, str]:
        if all(function == unqualified(function) for function in source.functions):
            made = self._cubin(source, text, "")
            if options.PTX in source.options:  # it has no symbols
                return made
            there = {s.name for s in elf.symbols(made[0])}
            if all(elf.kernel_symbol(made[0], function, i) in there for i, function in enumerate(source.functions)):
                return made
        try:
            return self._cubin(source, text, elf.naming(source.functions))
        except CompileError as e:
            ours = _OF_NAMING.search(str(e))
            if not ours:
                raise
            function = source.functions[int(ours["line"]) - 2]
            raise CompileError(f"{source.path}: {explained(source, function, ours['reason'])}", e.log) from None

    def _cubin(self, source: Source, text: str, further: str) -> tuple[bytes, str]:
        """Compile the whole file, or if that fails only the part that the kernel needs, without missing headers.

        NVRTC does not compile host code, and nvcc may lack a header that only the host's code needs.
        """
        try:
            folders = (source.path.parent, *source.include)
            return self._toolchain.cubin(source.path.name, f"{text}{further}", folders, self._arch, source.options)
        except CompileError as e:
            if (
                isinstance(e, CompileLimit)
                or _OF_NAMING.search(str(e))
                or not (_absent(e) or self._toolchain.lacks_host)
            ):
                raise
            error = e
        missing: set[str] = set()
        while True:
            missing |= _absent(error)
            needed = excerpt(source, lambda name: name not in missing)  # noqa: B023  (called at once)
            if needed is None and (function := unnamed(source)):
                raise CompileError(f"{source.path}: {explained(source, function, '')}", error.log)
            if needed is None:
                raise error
            named = ", ".join(f"<{name}>" for name in sorted(missing))
            try:
                made, log = self._excerpt(source, needed.texts, further)
            except CompileLimit:
                raise
            except CompileError as e:
                if _absent(e) - missing:
                    error = e
                    continue
                raise (CompileError(f"{e} (there is no {named})", e.log) if missing else e) from None
            note = f"there is no {named}; the kernel was compiled without it" if missing else ""
            return made, "\n".join(filter(None, (log, note)))

    def _excerpt(self, source: Source, texts: Mapping[Path, str], further: str) -> tuple[bytes, str]:
        """Compile a part of the files, in a copy of their folders."""
        own = source.path.resolve()
        with tempfile.TemporaryDirectory() as root:
            folder = Path(f"{root}{own.parent}")
            folder.mkdir(parents=True)
            for path, text in texts.items():
                copy = Path(f"{root}{path}")
                copy.parent.mkdir(parents=True, exist_ok=True)
                copy.write_text(f'#line 1 "{path}"\n{text}', encoding="utf-8", errors="surrogateescape")
            folders = [Path(f"{root}{path}") for path in source.folders]
            unit = f"{_unit(source, texts)}{further}"
            return self._toolchain.cubin(own.name, unit, folders, self._arch, source.options)

    @property
    def identity(self) -> str:
        """The architecture and the toolchain, in one line."""
        return " ".join((self._arch, *filter(None, self._toolchain.identity())))


def _unit(source: Source, texts: Mapping[Path, str]) -> str:
    """The text to compile; `texts` replace the contents of some files."""
    own = source.path.resolve()
    there = system_headers(source, texts) if source.late_macros else ()
    return f'{source.defines(there)}#line 1 "{source.path.name}"\n{texts.get(own, source.text)}'


def _absent(error: CompileError) -> set[str]:
    return {name for names in _NO_HEADER.findall(error.log) for name in names if name}


class Nvcc:
    """nvcc with the user's options, called by PyCUDA as SourceModule calls it."""

    lacks_host = False

    def __init__(self, options: Sequence[str], limits: Limits = Limits()) -> None:  # noqa: B008  (frozen)
        self._options = tuple(options)
        self._limited = Limited(limits)

    @property
    def stopped(self) -> bool:
        """Whether `stop` was called."""
        return self._limited.stopped

    def stop(self) -> None:
        """Kill every running nvcc."""
        self._limited.stop()

    def identity(self) -> tuple[str, ...]:
        """Version and options of nvcc, which determine the cubin together with source and architecture."""
        _, version = self._found
        return (*self._options, *(os.environ.get(name, "") for name in options.NVCC_FLAGS), version)

    def cubin(
        self, name: str, text: str, folders: Sequence[Path], arch: str, further: Sequence[str]
    ) -> tuple[bytes, str]:
        """Compile a translation unit.

        Args:
            name: The file's name, for messages.
            text: Its content.
            folders: The include path.
            arch: The architecture, such as `sm_90`.
            further: Further options.

        Returns:
            The cubin and the warnings.

        Raises:
            CompileError: With nvcc's message, or `CompileLimit` beyond a limit.
        """
        from pycuda import compiler, driver  # noqa: PLC0415  (not for NVRTC, nor for what is in the cache)
        from pytools import prefork  # noqa: PLC0415

        nvcc, _ = self._found
        _calls.limited = self._limited
        prefork.forker = _calls
        try:
            made: bytes = compiler.compile(
                text,
                nvcc=nvcc,
                options=[*self._options, *(option for option in further if option != options.PTX)],
                target="ptx" if options.PTX in further else "cubin",
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
        return made, _calls.warnings

    @functools.cached_property
    def _found(self) -> tuple[str, str]:
        nvcc = find_nvcc()
        if nvcc is None:
            raise CompileError("nvcc is not on the PATH; install the CUDA toolkit, or use device=cpu")
        return nvcc, version_of(nvcc)


class _Calls(threading.local):
    """Replaces PyCUDA's process starter (pytools.prefork.Forker) by one with limits, separately in each thread.

    Attributes:
        warnings: nvcc's messages on success, which PyCUDA would print.
    """

    limited: Limited
    warnings = ""

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
    return shutil.which("nvcc") or next(
        (nvcc for home in toolkits() if (nvcc := shutil.which(f"{home}/bin/nvcc"))), None
    )


def version_of(nvcc: str) -> str:
    """The output of `nvcc --version`. Raises CompileError if nvcc does not work."""
    try:
        done = subprocess.run([nvcc, "--version"], capture_output=True, text=True, check=True, timeout=60)
    except (OSError, subprocess.SubprocessError) as e:
        raise CompileError(f"{nvcc} does not work: {e}") from e
    return done.stdout
