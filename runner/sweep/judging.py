"""What the outputs of a launch say: whether they are right, what they add up to, and what a shuffle moved."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from runner.device import Array, Role
from runner.errors import UsageError
from runner.kernel.case import Case
from runner.kernel.check import CheckResult, check
from runner.kernel.dtypes import is_float
from runner.kernel.lanes import MOST_RECEIVED, exchange_of, received
from runner.kernel.reference import Expected


def require_outputs(case: Case, expected: Expected) -> None:
    """Every output must be in the reference, or a kernel that writes nothing would pass.

    Raises:
        UsageError: if one is missing, or if there is one that the kernel does not write.
    """
    out = {a.name for a in case.kernel.arrays if a.role is Role.OUT}
    possible = out | {a.name for a in case.kernel.arrays if a.role is Role.INOUT}
    given = set(expected.outputs)
    if not given or not out <= given <= possible:
        raise UsageError(
            f"the reference gives {', '.join(sorted(given)) or 'nothing'}; {', '.join(sorted(out or possible))} "
            "is expected"
        )


def judge(case: Case, arrays: Mapping[str, Array], expected: Expected) -> tuple[CheckResult, int | float | None]:
    """Compare what the outputs hold now.

    Args:
        case: What was launched.
        arrays: On the device, by their names.
        expected: What the reference gives.

    Returns:
        The verdict, and the one number that sums the outputs up; `None` if the kernel declares none.
    """
    roles = {a.name: a.role for a in case.kernel.arrays}
    actual = {n: a.read() for n, a in arrays.items() if roles[n] in (Role.OUT, Role.INOUT)}
    verdict = check(actual, expected.outputs, case.count("depth"))
    if overrun := next((f"the kernel wrote outside '{n}', {o}" for n, a in arrays.items() if (o := a.overrun())), ""):
        reason = f"{overrun}; {verdict.reason}" if verdict.reason else overrun
        verdict = CheckResult(max(verdict.mismatches, 1), verdict.compared, reason)
    if case.kernel.value is None:
        return verdict, None
    # Integers wrap in their own type; the sum of floats is shown as the host would add them up.
    wide = {n: a.astype(np.float64) if is_float(a.dtype) else a for n, a in actual.items()}
    return verdict, np.asarray(case.kernel.value({**case.variables, **wide}).value).item()


def moved(case: Case, arrays: Mapping[str, Array], inputs: Mapping[str, NDArray[Any]]) -> tuple[int | None, ...]:
    """What a shuffle moved within the first block, told from its input and its output; empty if that cannot be told."""
    if case.kernel.shuffle is None:
        return ()
    rule = exchange_of(case.kernel.shuffle.operation, case.kernel.shuffle.argument(case.variables), case.variables)
    given = inputs["in"][: len(rule.source)]
    sources = received(given, arrays["out"].read()[: min(len(given), MOST_RECEIVED)])
    # A thread beyond the last element holds 0, which may be the value of an element, too: such a source is not told.
    beyond = rule.source[: len(sources)] >= len(inputs["in"])
    return tuple(None if b else i for i, b in zip(sources, beyond[: len(sources)], strict=True))


def remark(case: Case, sources: tuple[int | None, ...]) -> str:
    """What is worth knowing of a case in which the device found nothing."""
    if case.hazard:
        return f"the hazard that its YAML declares was not found: {case.hazard}"
    if case.kernel.shuffle and not sources:
        return "what was received cannot be told, as two elements of the first block are alike"
    return ""
