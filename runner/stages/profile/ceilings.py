"""`profile.roofline=true`: measure the GPU's ceilings (bandwidth, arithmetic) for the roofline figure."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence

from runner import children
from runner.jobs.job import Job
from runner.stages.profile.stage import ProfileStage, StageResult, Tools

NAME = "roofline"
LIMIT_S = 120.0


class Ceilings(ProfileStage):
    """Measures the ceilings of a GPU once and writes them to the record of each job."""

    name = setting = NAME

    def steps(self, jobs: Sequence[Job]) -> int:
        """One: the ceilings are those of the GPU."""
        _ = jobs
        return 1

    def measure(self, jobs: Sequence[Job], tools: Tools) -> Iterator[tuple[Job, StageResult]]:
        """Measure the ceilings in a process of its own."""
        tools.progress.show_step("measuring the ceilings of the GPU")
        command = [sys.executable, "-m", "runner.device.cuda.ceilings", str(jobs[0].device.index)]
        environment = {**children.environment(), **tools.environment}
        try:
            done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=LIMIT_S, check=True)
            ceilings = json.loads(done.stdout)
        except (subprocess.SubprocessError, ValueError) as e:
            message = (getattr(e, "stderr", None) or str(e)).strip() or type(e).__name__
            tools.say(f"no ceilings: {message.splitlines()[-1]}")
            return
        yield from ((job, StageResult({"ceilings": ceilings})) for job in jobs)
