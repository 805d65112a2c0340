"""Shared libraries of host functions, which nvcc makes (`Form.HOST`)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from runner.device import Source, cache
from runner.device.cuda.nvrtc import first_error
from runner.device.limits import Limited
from runner.errors import CompileError, MissingLibrary
from runner.files import scratch

FLAGS = ("-shared", "-Xcompiler", "-fPIC", "-O3", "-std=c++17")

_NO_HEADER = re.compile(r"fatal error: (\S+): No such file")
_NO_LIBRARY = re.compile(r"cannot find -l([^\s:]+)")


def build(
    compiler: Limited, nvcc: str, source: Source, arch: str, flags: Sequence[str], text: str
) -> tuple[bytes, str]:
    """Compile a translation unit to a shared library; returns its bytes and nvcc's messages.

    Raises:
        MissingLibrary: A library that the YAML names, or a header that the source includes by `<>`, is not installed.
        CompileError: nvcc rejects it.
    """
    name = source.path.name
    with scratch.folder() as folder:
        unit, target = (folder / Path(name).with_suffix(ending) for ending in (".cu", ".so"))
        unit.write_text(text, encoding="utf-8", errors="surrogateescape")
        toolkit = Path(nvcc).resolve().parent.parent
        done = compiler.run([
            *(nvcc, *FLAGS, f"-arch={arch}", *flags, *source.options),
            *(word for path in source.folders for word in ("-I", str(path))),
            *(str(unit), "-o", str(target), *(f"-l{library}" for library in source.libraries)),
            f"-Xlinker=-rpath={toolkit / 'lib64'}",
        ])  # fmt: skip
        log = (done.stdout + done.stderr).decode(errors="replace").replace(f"{folder}/", "").strip()
        if done.returncode == 0:
            return target.read_bytes(), log
    texts = [source.text, *map(cache.read, cache.includes(source.text, source.folders))]
    lacking = [header for header in _NO_HEADER.findall(log) if any(f"<{header}>" in own for own in texts)]
    lacking += [f"lib{library}" for library in _NO_LIBRARY.findall(log)]
    if lacking:
        raise MissingLibrary(f"{name} needs {lacking[0]}, which is not installed", log)
    raise CompileError(f"{name}: {first_error(log, 'nvcc failed')}", log)
