"""A T4 file as a kernel: one with its parameters that cannot run, so that `device=replay` has something to replay."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from runner import t4
from runner.columns import RESERVED
from runner.config import read_kernel
from runner.errors import UsageError
from runner.importer.written import write_new
from runner.kernel.declaration import VOCABULARY
from runner.kernel.expression import FUNCTIONS
from runner.limited_yaml import load_yaml

_CU = """// {name} stands for a kernel that was measured elsewhere: device=replay gives its recorded times.

extern "C" __global__ void {name}(int* out)
{{
    out[0] = 0;
}}
"""
_YAML = """\
# python -m runner --config-dir {into} kernel={name} device=replay device.recording={file}
summary: A kernel that was measured elsewhere; {file} has its times
origin: {file}, a T4 file with {count} results
parameters:
{parameters}
arguments:
  - {{name: out, role: out, dtype: int32, shape: 1}}
grid: 1
reference: {{out: arange(1)}}
"""


def of_t4(file: Path, kernel: str | None, into: Path) -> str:
    """Write the kernel of a T4 file; gives what to say.

    A `UsageError` if a parameter cannot be one of ours, or if the files are there.
    """
    entries, _ = t4.read(file)
    name = kernel or re.sub(r"\W+", "_", file.name.partition(".")[0]).strip("_") or "recorded"
    name = name if name[0].isalpha() else f"k{name}"
    parameters = []
    for parameter in entries[0].configuration:
        if parameter in RESERVED or parameter in FUNCTIONS or parameter in VOCABULARY or not parameter.isidentifier():
            raise UsageError(
                f"{file}: '{parameter}' means something else to the runner; if the file is an export of a run, replay "
                "it with the kernel of that run"
            )
        values = list(dict.fromkeys(entry.configuration[parameter] for entry in entries))
        if all(isinstance(value, int | float) for value in values):
            values.sort()
        shown = ", ".join(map(_shown, values))
        parameters.append(f"  {parameter}: {{default: {_shown(values[0])}, allowed: [{shown}]}}")
    folder = into / "kernel"
    written = {
        folder / f"{name}.cu": _CU.format(name=name),
        folder / f"{name}.yaml": _YAML.format(
            name=name, into=into, file=file, count=f"{len(entries):,}", parameters="\n".join(parameters)
        ),
    }
    with TemporaryDirectory() as there:  # what is written can be used
        trial = {Path(there) / path.name: text for path, text in written.items()}
        write_new(trial)
        path, text = list(trial.items())[-1]
        try:
            read_kernel(name, load_yaml(text), path)
        except UsageError as e:
            raise UsageError(f"{file}: no kernel can stand for it: {e}") from None
    write_new(written)
    command = ["--config-dir", str(into), f"kernel={name}", "device=replay", f"device.recording={file}"]
    return "".join(f"{path}\n" for path in written) + f"Replay it: python -m runner {shlex.join(command)}\n"


def _shown(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else str(value)
