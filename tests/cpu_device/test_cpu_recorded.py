"""What warps and blocks compute: as a recorded GPU (record_on_gpu.py), and what a GPU leaves undefined is counted."""

import json
from pathlib import Path

import numpy as np
import pytest
from conformance_launches import launches, shuffle_cases, source_lane

RECORDINGS = sorted((Path(__file__).parent / "recorded").glob("*.npz"))
POISON = 0x7FFBADC07FFBADC0
LAUNCHES = {launch.name: launch for launch in launches()}


def defined(computed):
    """Which elements do not come from an undefined read of a lane."""
    size = min(computed.itemsize, 8)
    poison = np.array([POISON], np.uint64).view(np.uint8)[:size].view(computed.dtype)
    return computed != poison[0] if computed.dtype.kind in "iu" and size >= 4 else np.ones(computed.shape, bool)


@pytest.mark.skipif(not RECORDINGS, reason="no recording of a GPU yet: record_on_gpu.py makes one")
@pytest.mark.parametrize("launch", LAUNCHES.values(), ids=LAUNCHES)
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


def test_shuffles_read_the_lane_that_the_ptx_manual_names(bench):
    """All kinds, widths, masks and arguments, also beyond 31 and negative; a lane outside the mask is poison, and counted."""
    (out,), findings = bench.conformance(LAUNCHES["shuffleCases"])
    out = out.reshape(-1, 32)
    expected = np.full_like(out, -1)
    undefined = 0
    for row, (kind, width, argument, mask) in zip(expected, shuffle_cases(), strict=True):
        for lane in (lane for lane in range(32) if mask >> lane & 1):
            source = source_lane(kind, width, argument, lane)
            named = mask >> source & 1
            row[lane] = 100 + source if named else POISON & 0xFFFFFFFF
            undefined += not named
    wrong = np.flatnonzero((out != expected).any(axis=1))
    assert wrong.size == 0, [shuffle_cases()[i] for i in wrong[:5]]
    assert findings.undefined_reads == undefined > 10000
    assert "which is not named in the mask: the value is undefined on a GPU" in findings.first_undefined_read


@pytest.mark.parametrize("alive", [1, 17, 20, 31, 32])
def test_returned_lanes_may_stay_in_the_mask(bench, alive):
    """Collectives complete without them; reading one is undefined, and counted."""
    _, findings = bench.conformance(LAUNCHES[f"exitedLanes-{alive}"])
    assert findings.undefined_reads == sum(lane ^ 16 >= alive for lane in range(alive))
