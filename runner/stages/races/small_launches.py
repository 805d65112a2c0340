"""Launch a small case on a checked device, or take its findings from the cache."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runner.device import Binary
from runner.device.config import DeviceConfig
from runner.errors import CompileError, DeviceUnavailable
from runner.kernel.case import Case
from runner.stages.checked import builds
from runner.stages.checked.pool import Pool
from runner.stages.races.launched import launched


@dataclass(frozen=True)
class SmallLaunch:
    """A small case to launch."""

    case: Case
    device: DeviceConfig  # the sweep's, for schedules, sandbox and limits
    limit_s: float  # time limit of a launch


@dataclass(frozen=True)
class Findings:
    """The findings in a case, or the reason why it could not be checked."""

    findings: tuple[dict[str, Any], ...] = ()  # in the form of hazards.json
    said: tuple[str, ...] = ()  # violations without a source line
    reason: str = ""


def look(pool: Pool, task: SmallLaunch) -> Findings:
    """Compile and launch a case; runs in a thread of the pool."""
    try:
        binary = pool.compiled(task.case, task.device.compile_limits)
    except (CompileError, DeviceUnavailable) as e:
        return Findings(reason=f"it does not compile for the host: {str(e).partition(chr(10))[0]}")
    except OSError as e:
        return Findings(reason=str(e))
    return found_before(task, binary) or _launched(pool, task, binary)


def found_before(task: SmallLaunch, binary: Binary | None = None) -> Findings | None:
    """Return the cached findings; `None` if the case or its build is not in the cache.

    Args:
        task: The case.
        binary: Its build, if known.
    """
    binary = binary or builds.built_before(builds.host_source(task.case))
    before = binary and builds.noted(_note(task, binary))
    return _read(before, task) if isinstance(before, dict) and isinstance(before.get("findings"), list) else None


def _launched(pool: Pool, task: SmallLaunch, binary: Binary) -> Findings:
    answer = pool.call(task.device, launched, task.case, binary, task.limit_s, limit_s=task.limit_s)
    if not isinstance(answer.value, dict):
        return Findings(reason=answer.reason)
    if not answer.value["late"]:  # a timeout is not cached, so the next run tries again
        builds.note(_note(task, binary), answer.value)
    return _read(answer.value, task)


def _note(task: SmallLaunch, binary: Binary) -> Path:
    return builds.note_of("races", task.case, binary, str(task.device.schedules))


def _read(value: dict[str, Any], task: SmallLaunch) -> Findings:
    findings, said = tuple(value["findings"]), tuple(value["said"])
    if value["late"] and not (findings or said):
        return Findings(reason=f"a launch takes more than {task.limit_s:g} s on the checked CPU device")
    return Findings(findings, said)
