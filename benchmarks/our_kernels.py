"""Cases of the project's own kernels, for benchmarks that measure in their own process."""

from __future__ import annotations

import functools
from collections.abc import Mapping

import yaml

from runner.compose.names import CONF
from runner.errors import UsageError
from runner.kernel import from_yaml
from runner.kernel.case import Case
from runner.kernel.declaration import Kernel
from runner.kernel.resolve import make


def case_of(kernel: str, requested: Mapping[str, object]) -> Case:
    """A case of one of our kernels; parameters that it does not read are ignored.

    Raises:
        UsageError: if it cannot be.
    """
    case = make(_kernel(kernel), requested, 0)
    if case.excluded:
        raise UsageError(f"{case.label}: {case.excluded}")
    return case


@functools.cache
def _kernel(name: str) -> Kernel:
    path = CONF / "kernel" / f"{name}.yaml"
    return from_yaml.read(name, yaml.safe_load(path.read_text(encoding="utf-8")), path)
