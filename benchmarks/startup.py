"""How long one case takes from the shell to its verdict, beside a bare script that does the least for it.

    python benchmarks/startup.py [--device cpu|cuda] [--times 7] [--imports] [--most RATIO]

`python -m runner kernel=reduceShfl size=2**20` and benchmarks/bare_DEVICE.py take turns, so that a change of the
machine's load hits both. Both caches are warm: the kernel is compiled, and each command runs once before it is timed.
The table has medians and the range in seconds, and the ratio to the bare script.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
KERNEL = ROOT / "conf" / "kernel" / "reduceShfl.yaml"
VERDICT = "Passed:"
SHOWN = 15  # imports


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--times", type=int, default=7, help="how often each is run; default: 7")
    parser.add_argument("--imports", action="store_true", help="also list the slowest imports of the runner's process")
    parser.add_argument("--most", type=float, help="fail if verdict / bare is more than that")
    options = parser.parse_args()
    runner = [sys.executable, "-m", "runner", "kernel=reduceShfl", f"device={options.device}", "size=2**20"]
    bare = [sys.executable, str(ROOT / "benchmarks" / f"bare_{options.device}.py"), *binary(options.device)]
    with tempfile.TemporaryDirectory() as folder:
        for command in (runner, bare):
            timed(command, folder)
        taken = [(*timed(runner, folder, VERDICT), timed(bare, folder)[1]) for _ in range(options.times)]
        verdict, whole, least = map(list, zip(*taken, strict=True))
        show("bare script", least, least)
        show("runner: verdict", verdict, least)
        show("runner: report drawn", whole, least)
        if options.imports:
            show_imports(runner, folder)
    ratio = statistics.median(verdict) / statistics.median(least)
    return 1 if options.most and ratio > options.most else 0


def environment() -> dict[str, str]:
    """Ours, with this checkout importable and with Python's cache of compiled modules, which is part of warm caches."""
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "PYTHONPATH": os.pathsep.join(paths), "PYTHONUNBUFFERED": "1"}


def timed(command: Sequence[str], folder: str, until: str = "") -> tuple[float, float]:
    """Seconds until a line that starts with `until`, and until the process ends."""
    started = time.perf_counter()
    process = subprocess.Popen(
        command, cwd=folder, env=environment(), text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    seen = None
    for line in process.stdout or ():
        if until and line.startswith(until):
            seen = time.perf_counter() - started
    if process.wait() or (until and seen is None):
        raise SystemExit(f"{' '.join(command)} failed: run it by hand to see why")
    ended = time.perf_counter() - started
    return ended if seen is None else seen, ended


def binary(device: str) -> list[str]:
    """The bare script's arguments; compiles the kernel by the runner's own compiler, in a process of its own."""
    code = f"import sys; sys.path.insert(0, {str(ROOT / 'benchmarks')!r}); import startup; startup.compiled({device!r})"
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment(), check=True, text=True, stdout=subprocess.PIPE
    )
    return done.stdout.split("\n")[:-1]


def compiled(device: str) -> None:
    """Compile the kernel, and print the bare script's arguments, one a line."""
    import yaml  # noqa: PLC0415  (not in the process that times)

    from runner.device.config import DeviceConfig  # noqa: PLC0415
    from runner.device.kinds import compiler_for, open_device  # noqa: PLC0415
    from runner.kernel import from_yaml  # noqa: PLC0415
    from runner.kernel.resolve import make  # noqa: PLC0415

    config = DeviceConfig(kind=device)
    opened = open_device(config)
    kernel = from_yaml.read(KERNEL.stem, yaml.safe_load(KERNEL.read_text(encoding="utf-8")), KERNEL)
    source = make(kernel, {"size": 2**20}, 0).source()
    made = compiler_for(config, opened.info).compile(source)
    opened.close()
    for path in [made.path] if device == "cuda" else [source.path, made.path]:
        print(path)


def show(name: str, seconds: Sequence[float], least: Sequence[float]) -> None:
    """A line of the table."""
    median = statistics.median(seconds)
    ratio = median / statistics.median(least)
    print(f"{name:22} {median:6.2f} s   {min(seconds):5.2f} to {max(seconds):5.2f}   {ratio:5.2f}")


def show_imports(command: Sequence[str], folder: str) -> None:
    """The slowest imports of the runner's own process; an import's time contains those that it makes."""
    timed_imports = [command[0], "-X", "importtime", *command[1:]]
    done = subprocess.run(timed_imports, cwd=folder, env=environment(), capture_output=True, text=True, check=False)
    found = []
    for line in done.stderr.splitlines():
        if line.startswith("import time:") and line.count("|") == 2:
            _, cumulative, name = line.removeprefix("import time:").split("|")
            if cumulative.strip().isdigit():
                found.append((int(cumulative) / 1000, name.strip()))
    for milliseconds, name in sorted(found, reverse=True)[:SHOWN]:
        print(f"{milliseconds:8.0f} ms  {name}")


if __name__ == "__main__":
    raise SystemExit(main())
