"""`python -m runner.importer FILE`: write a YAML for each kernel of a `.cu`, a script for Kernel Tuner, or a T1 file.

The YAML has what the parser finds, and `???` for what only the author knows. A T4 file, which has results, becomes a
run folder. Existing files are never overwritten.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from runner.cli import Parser, run_command
from runner.errors import UsageError

if TYPE_CHECKING:
    from runner.device.syntax import Kernel
    from runner.importer.tuning import Tuning


def main(arguments: Sequence[str] | None = None) -> int:
    """Import a file; returns the exit status."""
    parser = Parser(
        "import", "Write a YAML for each kernel of a file, with ??? where you must fill in; or read a T4 file."
    )
    parser.add_argument("file", type=Path, help="a .cu, a script for Kernel Tuner (.py), or a T1 or T4 file (.json)")
    parser.add_argument("--kernel", metavar="NAME", help="only this kernel; default: all kernels of the file")
    parser.add_argument(
        "--source", type=Path, metavar="FILE.cu", help="the kernel's file, if the script does not name it"
    )
    parser.add_argument(
        "--into",
        type=Path,
        metavar="FOLDER",
        help="for --config-dir, default: my_kernels; for a T4 file, the run folder, default: outputs/imported/NAME",
    )
    given = parser.parse_args(arguments)
    return run_command(lambda: _import(given.file, given.kernel, given.source, given.into))


def _import(file: Path, kernel: str | None, source: Path | None, into: Path | None) -> int:
    for given in filter(None, (file, source)):
        if given.exists() and not (given.is_file() or given.is_dir()):  # reading a pipe would block
            raise UsageError(f"{given}: expected a regular file")
    if _is_t4(file):
        from runner.importer.recorded import of_t4  # noqa: PLC0415

        sys.stdout.write(of_t4(file, kernel, into))
        return 0
    from runner.importer.tuning import of_script, of_t1  # noqa: PLC0415  (Ctrl-C is quiet from the start)

    read = {".py": of_script, ".json": of_t1}.get(file.suffix)
    tuning, into = read(file) if read else None, into or Path("my_kernels")
    for name, path in _written(file, tuning, kernel, source, into).items():
        sys.stdout.write(f"{path}\n")
        where = f"--config-dir {into} kernel={name}"
    sys.stdout.write(f"Fill in each ???, then: python -m runner {where} device=cpu\n")
    return 0


def _is_t4(file: Path) -> bool:
    """Whether a file is T4: a .json with results, or a .json.gz. Other JSON is T1."""
    if file.name.endswith(".json.gz"):
        return True
    try:
        return file.suffix == ".json" and '"results"' in file.read_text(encoding="utf-8", errors="replace")
    except OSError as e:
        raise UsageError(f"{file}: {e.strerror or e}") from None


def _written(file: Path, tuning: Tuning | None, kernel: str | None, source: Path | None, into: Path) -> dict[str, Path]:
    from runner.device import Source, cache  # noqa: PLC0415
    from runner.device.excerpt import parsed_files  # noqa: PLC0415
    from runner.importer.found import find, folders_nearby  # noqa: PLC0415
    from runner.importer.written import name_of, write_new, written  # noqa: PLC0415

    folder = into / "kernel"
    files: dict[Path, str] = {}
    if tuning:
        kernel = kernel or tuning.function
    path = source or (tuning.source if tuning else file)
    if path is None and tuning and tuning.text:
        path = folder / f"{kernel}.cu"
        files[path], text = tuning.text, tuning.text
    elif path is None:
        raise UsageError(f"{file}: it does not name the kernel's source file; add --source FILE.cu")
    else:
        text = cache.read(path)
    plain = re.sub(r"<.*", "", kernel or "").rpartition("::")[2]
    chosen: list[Kernel] = []
    kernels: list[Kernel] = []
    for _, part in parsed_files(Source(path, text, "")):  # then its includes, if the file itself lacks the kernel
        kernels += [k for k in part.kernels if k.has_body]
        chosen = chosen or [k for k in kernels if not plain or k.name.rpartition("::")[2] == plain]
    if not chosen:
        names = f"available: {', '.join(map(str, kernels))}" if kernels else "it has no __global__ function"
        raise UsageError(f"{path}: it has no kernel '{kernel}'; {names}" if kernel else f"{path}: {names}")
    named: dict[str, Path] = {}
    for one in chosen:
        include = tuple(folders_nearby(Source(path, text, one.name)))
        found = find(Source(path, text, one.name, include=include), one)
        name, count = name_of(found), 2
        while name in named:  # overloads
            name, count = f"{name_of(found)}_{count}", count + 1
        named[name] = folder / f"{name}.yaml"
        overloads = sum(k.name == one.name for k in kernels) > 1
        files[named[name]] = written(found, folder, tuning, overloads=overloads)
    write_new(files)
    return named


if __name__ == "__main__":
    sys.exit(main())
