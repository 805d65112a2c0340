"""The joules of `profile.energy` against nvidia-smi's average power over a minute of the same launches, on one GPU.

python benchmarks/energy.py [SECONDS [KERNEL,KERNEL]] > docs/h200/energy.txt
"""

from __future__ import annotations

import csv
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from runner.device import Energy
from runner.device.kinds import compiler_for
from runner.record import stored_sweep
from runner.record.folder import RunFolder
from runner.stages.profile.energy import batch
from runner.sweep.worker import PATIENCE_S, Worker

SWEEP = ["size=16384x16384", "block=256", "timing=quick", "profile=energy"]
QUERY = "power.draw.average,power.draw.instant,temperature.gpu,clocks.sm,clocks.mem,utilization.gpu"
SETTLED_S = 3.0  # before the first of nvidia-smi's values that count: its average is over a second
INTERVAL_S, FULL = 0.2, 95  # between two lines of nvidia-smi; percent of utilization of a GPU that is fully used


def main() -> None:
    """Sweep, then run each case again for long while nvidia-smi looks on."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 60.0
    with tempfile.TemporaryDirectory() as root:
        folder = Path(root) / "sweep"
        kernels = sys.argv[2] if len(sys.argv) > 2 else "copyVector"
        command = [
            sys.executable,
            "-m",
            "runner",
            f"kernel={kernels}",
            *SWEEP,
            "device=cuda",
            f"hydra.sweep.dir={folder}",
        ]
        subprocess.run(command, check=True, stdout=sys.stderr)
        rows = {int(row["job"]): row for row in csv.DictReader((folder / "results.csv").open(encoding="utf-8"))}
        jobs = [job for job in stored_sweep.jobs_of(RunFolder(folder), set(rows)) if rows[job.number]["joules"]]
        worker = Worker(jobs[0].device)
        print(f"{worker.info.gpu.rpartition(' ')[0]}, driver {worker.info.versions.get('nvidia_driver')}; J a launch\n")
        head = (
            "joules",
            "+-",
            "W",
            "idle W",
            "us",
            f"{seconds:g} s: smi W",
            "smi J",
            "counter J",
            "difference",
            "MHz",
            "C",
        )
        print(f"{'case':44}" + "".join(f"{word:>14}" for word in head))
        for job in jobs:
            row = rows[job.number]
            binary = compiler_for(job.device, worker.info, job.compiler).compile(job.case.source())
            watch = _watch(job.device.index)
            answer = worker.call(batch, job.case, binary, job.device.time_limit_s, seconds, limit=seconds + PATIENCE_S)
            watch.terminate()
            seen = _under_load(watch)
            if not isinstance(answer.value, dict) or not seen:
                print(f"{job.case.label}: {answer.value or answer.reason or 'nvidia-smi printed no power'}")
                continue
            counted = Energy(**answer.value)
            own, watts = float(row["joules"]), statistics.fmean(values[0] for values in seen)
            smi_j = watts * counted.us * 1e-6
            cells = [
                f"{own:.5g}", f"{float(row['joules_ci']):.2g}", f"{float(row['energy_w']):.1f}",
                f"{float(row['idle_w']):.1f}", f"{float(row['energy_us']):.2f}", f"{watts:.1f}", f"{smi_j:.5g}",
                f"{counted.joules:.5g}", f"{100 * (own / smi_j - 1):+.2f} %",
                f"{statistics.fmean(v[3] for v in seen):.0f}", f"{seen[0][2]:.0f} to {seen[-1][2]:.0f}",
            ]  # fmt: skip
            print(f"{job.case.kernel.name:44}" + "".join(f"{cell:>14}" for cell in cells), flush=True)
        worker.close()


def _watch(index: int) -> subprocess.Popen[str]:
    command = [
        "nvidia-smi",
        "-i",
        str(index),
        f"--query-gpu={QUERY}",
        "--format=csv,noheader,nounits",
        "-lms",
        f"{1000 * INTERVAL_S:.0f}",
    ]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def _under_load(watch: subprocess.Popen[str]) -> list[list[float]]:
    """What nvidia-smi printed while the GPU was fully used, without the first and the last seconds of that."""
    lines = [
        [float(cell) for cell in line.split(",")]
        for line in watch.communicate()[0].splitlines()
        if line.count(",") == 5
    ]
    return [line for line in lines if line[5] >= FULL][int(SETTLED_S / INTERVAL_S) : -5]


if __name__ == "__main__":
    main()
