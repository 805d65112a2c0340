"""`python -m runner.importer FILE`: write a YAML for each kernel of a `.cu`, a script for Kernel Tuner, or a T1 file.

The YAML has what the parser finds, and `???` for what only the author knows. A T4 file, which has results, becomes a
run folder. Existing files are never overwritten.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from runner.cli import Parser, run_function


def main(arguments: Sequence[str] | None = None) -> int:
    """Import a file; returns the exit status."""
    parser = Parser(
        "import", "Write a YAML for each kernel of a file, with ??? where you must fill in; or read a T4 file."
    )
    parser.add_argument("file", type=Path, help="a .cu, a script for Kernel Tuner (.py), or a T1 or T4 file (.json)")
    parser.add_argument("--kernel", metavar="NAME", help="only this kernel; default: all kernels of the file")
    source = "the kernel's file, if the script does not name it"
    parser.add_argument("--source", type=Path, metavar="FILE.cu", help=source)
    into = "for --config-dir, default: my_kernels; for a T4 file, the run folder, default: outputs/imported/NAME"
    parser.add_argument("--into", type=Path, metavar="FOLDER", help=into)
    parsed = parser.parse_args(arguments)
    return run_function("runner.importer.convert:convert", parsed.file, parsed.kernel, parsed.source, parsed.into)


if __name__ == "__main__":
    sys.exit(main())
