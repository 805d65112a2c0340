"""Whether a GPU and the CPU device leave the same bits, for what CUDA's headers offer a kernel.

    python tests/conformance.py [OUT.txt]

Runs the tests of cooperative groups, libcu++, CUB, wmma, cuRAND and the Math API on both devices, keeps each
array that a kernel left, and compares them test by test. NaNs are equal to each other. Needs a GPU, PyCUDA, nvcc, g++
and pytest. Exit status: 0 all tests passed and the arrays were compared, 1 a test failed, 2 a device is missing.
"""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import support

from runner.bounds.rounding import is_float

TOPICS = {
    "test_groups": "cooperative groups, libcu++",
    "test_cub": "CUB",
    "test_wmma": "wmma",
    "test_curand": "cuRAND",
    "test_intrinsics": "Math API, atomics",
}
Arrays = list[np.ndarray[Any, Any]]


class Recorder:
    """A plugin of pytest that keeps what each test's launches leave, by test and device."""

    def __init__(self) -> None:
        self.left: dict[str, dict[str, Arrays]] = defaultdict(lambda: defaultdict(list))
        self._test = ""

    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """The test's name without its device."""
        self._test = re.sub(r"\b(cpu|cuda)-|\[(cpu|cuda)\]", "", item.nodeid)

    def recording(self, call: Any) -> Any:
        """`Bench.call`, with its results kept."""

        def recorded(bench: support.Bench, *arguments: Any, **how: Any) -> Arrays:
            arrays: Arrays = call(bench, *arguments, **how)
            self.left[self._test][bench.device.info.kind] += arrays
            return arrays

        return recorded

    def table(self) -> pd.DataFrame:
        """One row for each test that ran on both devices."""
        rows = []
        for test, devices in self.left.items():
            if len(devices) == 2 and len({len(arrays) for arrays in devices.values()}) == 1:
                pairs = list(zip(*devices.values(), strict=True))
                topic = TOPICS[Path(test.partition("::")[0]).stem]
                counts = {"arrays": len(pairs), "elements": sum(a.size for a, _ in pairs)}
                rows.append(
                    {"topic": topic, "test": test, **counts, "different": sum(_different(a, b) for a, b in pairs)}
                )
        return pd.DataFrame(rows)


def _different(first: np.ndarray[Any, Any], other: np.ndarray[Any, Any]) -> int:
    """How many elements differ in their bits; NaNs are alike."""
    words = f"u{first.dtype.itemsize}"
    same = first.view(words) == other.view(words)
    if is_float(first.dtype):
        same |= np.isnan(first) & np.isnan(other)
    return int((~same).sum())


def main(out: str | None = None) -> int:
    """Run the tests, print the table and write it."""
    recorder = Recorder()
    support.Bench.call = recorder.recording(support.Bench.call)  # type: ignore[method-assign]
    files = [str(path) for name in TOPICS if (path := Path(__file__).with_name(f"{name}.py")).exists()]
    failed = pytest.main([*files, "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-k", "cpu or cuda"], [recorder])
    table = recorder.table()
    if table.empty:
        sys.stderr.write("conformance: no test ran on both devices\n")
        return 2
    lines = []
    for topic, part in table.groupby("topic", sort=False):
        equal = int((part.different == 0).sum())
        lines.append(
            f"{topic}: {len(part)} tests, {part.arrays.sum()} arrays, {part.elements.sum()} elements; "
            f"{part.different.sum()} elements differ; {equal} tests equal bit for bit"
        )
        lines += [
            f"    {row.different} of {row.elements} differ: {row.test}" for row in part.itertuples() if row.different
        ]
    text = "\n".join(lines) + "\n"
    sys.stdout.write(text)
    if out:
        Path(out).write_text(text, encoding="utf-8")
    return int(bool(failed))


if __name__ == "__main__":
    raise SystemExit(main(*sys.argv[1:2]))
