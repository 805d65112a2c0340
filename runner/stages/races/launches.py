"""Launch a small case on a checked device in each schedule, or take its findings from the cache."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from runner.device import Binary, Device
from runner.device.config import DeviceConfig
from runner.errors import CompileError, DeviceUnavailable, Finding, Hazard, LaunchTimeout
from runner.kernel.case import Case
from runner.kernel.inputs import contents
from runner.stages.checked import builds
from runner.stages.checked.pool import Pool
from runner.sweep.trial import reset, upload


@dataclass(frozen=True)
class Findings:
    """The findings in a case, or the reason why it could not be checked."""

    findings: tuple[dict[str, Any], ...] = ()  # in the form of hazards.json
    violations: tuple[str, ...] = ()  # without a source line, such as a barrier that not all threads reach
    reason: str = ""


def check(pool: Pool, case: Case, config: DeviceConfig, limit_s: float) -> Findings:
    """Compile and launch a case; runs in a thread of the pool.

    `config` is the sweep's, for schedules, sandbox and limits; `limit_s` is the time limit of a launch.
    """
    try:
        binary = pool.compiled(case, config.compile_limits)
    except (CompileError, DeviceUnavailable) as e:
        return Findings(reason=f"it does not compile for the host: {str(e).partition(chr(10))[0]}")
    except OSError as e:
        return Findings(reason=str(e))
    if findings := cached(case, config, limit_s, binary):
        return findings
    answer = pool.call(config, launch_all, case, binary, limit_s, limit_s=limit_s)
    if not isinstance(answer.value, dict):
        return Findings(reason=answer.reason)
    if not answer.value["late"]:  # a timeout is not cached, so the next run tries again
        builds.cache_result("races", case, str(config.schedules), binary=binary, result=answer.value)
    return _findings(answer.value, limit_s)


def cached(case: Case, config: DeviceConfig, limit_s: float, binary: Binary | None = None) -> Findings | None:
    """The findings in the cache; `None` if it lacks them or the case's build."""
    result = builds.cached_result("races", case, str(config.schedules), binary=binary)
    if not isinstance(result, dict) or not isinstance(result.get("findings"), list):
        return None
    return _findings(result, limit_s)


def launch_all(
    device: Device, heartbeat: Callable[[str], Any], case: Case, binary: Binary, limit_s: float
) -> dict[str, Any]:
    """Launch a case once in each schedule of a checked device; runs in a worker, whose parent gets the heartbeat.

    Returns:
        `findings`: in the form of hazards.json. `said`: violations without a source line. `late`: number of schedules
        that timed out.

    Raises:
        CaseError: The device refuses the launch.
    """
    findings: dict[tuple[object, ...], Finding] = {}
    violations: dict[str, None] = {}
    late = 0
    program = device.load(case.source(), binary)
    with ExitStack() as stack:
        heartbeat("inputs")
        launch, arrays = upload(device, program, case, contents(case), stack)
        for order in range(device.info.schedules or 1):
            reset(case, launch, arrays)
            heartbeat("checking")
            try:
                device.launch(dataclasses.replace(launch, order=order), limit_s)
            except Hazard as e:
                findings = {**{f.key: f for f in e.findings}, **findings}
                if not e.findings:
                    violations[str(e)] = None
            except LaunchTimeout:
                late += 1
                break  # the other schedules would time out, too
    plain = [dataclasses.asdict(finding) for finding in findings.values()]
    return {"findings": plain, "said": list(violations), "late": late}


def _findings(result: Mapping[str, Any], limit_s: float) -> Findings:
    findings, violations = tuple(result["findings"]), tuple(result["said"])
    if result["late"] and not (findings or violations):
        return Findings(reason=f"a launch takes more than {limit_s:g} s on the checked CPU device")
    return Findings(findings, violations)
