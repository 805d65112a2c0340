"""Compares the arguments of launches with the parameters of their functions, as far as the source's text tells.

The compiler decides what a function takes, but only when a case is compiled, and a GPU's driver never compares. The
text tells it when the YAML is read, unless a macro, a parameter pack or an overload hides the number.
"""

from __future__ import annotations

from pathlib import Path

from runner.device import Form, Source, cache
from runner.device.excerpt import parsed_files
from runner.device.syntax import Kernel as Function
from runner.errors import UsageError
from runner.kernel.declaration import Kernel, Step, each_step


def require_counts(kernel: Kernel) -> None:
    """Raise UsageError for a launch whose function takes another number of arguments."""
    steps = [step for step in each_step(kernel.launches) if isinstance(step, Step)]
    if not steps or kernel.form is not Form.KERNEL:
        return
    functions = {path: _functions(path, kernel.include) for path in kernel.sources}
    for step in steps:
        name = str((step.function or kernel.function)[0]).strip().removeprefix("::")
        named = [f for f in functions[step.source or kernel.source] if f.name == name]
        if named and all(f.is_clear and len(f.parameters) != len(step.arguments) for f in named):
            raise UsageError(f"{kernel.yaml.name}: launches: {_counts(name, named[0], step)}")


def _functions(path: Path, include: tuple[Path, ...]) -> list[Function]:
    """The kernels of a source and of what it includes; none if a macro may make some."""
    files = [file for _, file in parsed_files(Source(path, cache.read(path), "", include=include))]
    if any(file.makes_names for file in files):
        return []
    return [function for file in files for function in file.kernels]


def _counts(name: str, function: Function, step: Step) -> str:
    """Both numbers, in words."""
    takes, names = len(function.parameters), ", ".join(step.arguments)
    listed = ", ".join(f"{p.type}{'*' * p.pointers} {p.name}" for p in function.parameters)
    what = f"'{name}' takes {takes} argument{'s' * (takes != 1)} ({listed})"
    return f"{what}, the launch passes {len(step.arguments)}: {names or 'none'}"
