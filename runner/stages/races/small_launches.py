"""A small case launched on a checked device: what was found in it, unless that is known from an earlier run."""

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
class Task:
    """A small case to launch."""

    case: Case
    device: DeviceConfig  # of the sweep: its schedules, sandbox and limits count
    limit_s: float  # of a launch


@dataclass(frozen=True)
class Found:
    """What was found in a case; or why it was not looked at."""

    findings: tuple[dict[str, Any], ...] = ()  # as hazards.json has them
    said: tuple[str, ...] = ()  # rules that were broken at no line
    reason: str = ""


def look(pool: Pool, task: Task) -> Found:
    """Compile and launch a case, in a thread of the pool."""
    try:
        binary = pool.compiled(task.case, task.device.compile_limits)
    except (CompileError, DeviceUnavailable) as e:
        return Found(reason=f"it does not compile for the host: {str(e).partition(chr(10))[0]}")
    except OSError as e:
        return Found(reason=str(e))
    return found_before(task, binary) or _launched(pool, task, binary)


def found_before(task: Task, binary: Binary | None = None) -> Found | None:
    """What is known from an earlier run; `None` if nothing is, or the kernel must be compiled first."""
    binary = binary or builds.built_before(builds.host_source(task.case))
    before = binary and builds.noted(_note(task, binary))
    return _read(before, task) if isinstance(before, dict) and isinstance(before.get("findings"), list) else None


def _launched(pool: Pool, task: Task, binary: Binary) -> Found:
    answer = pool.call(task.device, launched, task.case, binary, task.limit_s, limit_s=task.limit_s)
    if not isinstance(answer.value, dict):
        return Found(reason=answer.reason)
    if not answer.value["late"]:  # what took too long is launched again
        builds.note(_note(task, binary), answer.value)
    return _read(answer.value, task)


def _note(task: Task, binary: Binary) -> Path:
    return builds.note_of("races", task.case, binary, str(task.device.schedules))


def _read(value: dict[str, Any], task: Task) -> Found:
    findings, said = tuple(value["findings"]), tuple(value["said"])
    if value["late"] and not (findings or said):
        return Found(reason=f"a launch takes more than {task.limit_s:g} s on the checked CPU device")
    return Found(findings, said)
