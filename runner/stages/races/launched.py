"""Launch a case on the checked device in each schedule, and collect the findings; runs in a worker process."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from runner.device import Binary, Device
from runner.errors import Finding, Hazard, LaunchTimeout
from runner.kernel.case import Case
from runner.kernel.inputs import contents
from runner.sweep.trial import reset, upload

Plain = dict[str, Any]


def launched(device: Device, heartbeat: Callable[[str], Any], case: Case, binary: Binary, limit: float) -> Plain:
    """Launch a case once in each schedule of a checked device.

    Args:
        device: The worker's checked device.
        heartbeat: Tells the pool which phase begins.
        case: The case.
        binary: Its kernel, compiled for the checked device.
        limit: Time limit of a launch, in seconds.

    Returns:
        `findings`: in the form of hazards.json. `said`: violations without a source line, such as a barrier that not
        all threads reach. `late`: number of schedules that timed out.

    Raises:
        CaseError: The device refuses the launch.
    """
    found: dict[tuple[object, ...], Finding] = {}
    said: dict[str, None] = {}
    late = 0
    program = device.load(case.source(), binary)
    with ExitStack() as stack:
        heartbeat("inputs")
        launch, arrays = upload(device, program, case, contents(case), stack)
        for order in range(device.info.schedules or 1):
            reset(case, launch, arrays)
            heartbeat("checking")
            try:
                device.launch(dataclasses.replace(launch, order=order), limit)
            except Hazard as e:
                found = {**{f.key: f for f in e.findings}, **found}
                if not e.findings:
                    said[str(e)] = None
            except LaunchTimeout:
                late += 1
                break  # the other schedules would time out, too
    return {"findings": [dataclasses.asdict(f) for f in found.values()], "said": list(said), "late": late}
