"""The CPU device against recordings of a real GPU (record_on_gpu.py makes them)."""

import json
from pathlib import Path

import numpy as np
import pytest
from conformance_launches import launches

RECORDINGS = sorted((Path(__file__).parent / "recorded").glob("*.npz"))
POISON = 0x7FFBADC07FFBADC0


def defined(computed):
    """Which elements do not come from an undefined read of a lane."""
    size = min(computed.itemsize, 8)
    poison = np.array([POISON], np.uint64).view(np.uint8)[:size].view(computed.dtype)
    return computed != poison[0] if computed.dtype.kind in "iu" and size >= 4 else np.ones(computed.shape, bool)


@pytest.mark.skipif(not RECORDINGS, reason="no recording of a GPU yet: record_on_gpu.py makes one")
@pytest.mark.parametrize("launch", list(launches()), ids=lambda launch: launch.name)
def test_same_as_the_recorded_gpu(bench, launch):
    """Each defined element is what the GPU computed."""
    outputs, _ = bench.conformance(launch)
    for path in RECORDINGS:
        with np.load(path) as recorded:
            about = json.loads(recorded["about"].tobytes())
            for number, computed in enumerate(outputs):
                there = recorded[f"{launch.name}/{number}"].astype(computed.dtype)
                differs = defined(computed) & (computed != there)
                assert not differs.any(), f"{about['gpu']}: output {number}, element {np.flatnonzero(differs)[0]}"
