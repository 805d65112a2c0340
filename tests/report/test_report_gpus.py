"""A sweep on several GPUs: cases are ranked within one, the page tells how the GPUs differ, and no UUID is in the way."""

import pytest
from report_runs import ENVIRONMENT, sweep

from runner.report import cells, findings
from runner.report.gpus import sentences, short
from runner.report.table import load

MODEL = "NVIDIA H200"
UUIDS = ("GPU-4b1c2f0a-1111-2222-3333-444455556666", "GPU-9d1c2f0a-1111-2222-3333-444455556666")
SHORT = [f"{MODEL} {uuid[4:12]}" for uuid in UUIDS]


def taken(*rounds):
    """What a shard notes of the reference case."""
    return {"case": "reduceShfl block=64", "rounds_us": list(rounds)}


GPUS = {
    UUIDS[0]: {"name": MODEL, "shards": [0], "reference": {"0": taken(100.0, 101.0)}},
    UUIDS[1]: {"name": MODEL, "shards": [1], "reference": {"1": taken(101.0, 102.0)}},
}


@pytest.fixture
def frame(run_folder):
    """A sweep whose two larger sizes are another GPU's."""
    rows = [{**row, "gpu": f"{MODEL} {UUIDS[row['size'] > 2**20]}"} for row in sweep()]
    return load(run_folder(rows, environment={**ENVIRONMENT, "gpus": GPUS}, columns=[*rows[0]]))


def test_cases_of_different_gpus_are_not_ranked_against_each_other(frame):
    """The same case on two GPUs wins twice: each GPU has its own ranking, and is named by eight digits."""
    frame["size"] = 2**20
    best = findings.fastest(frame)
    assert [one.fastest["gpu"] for one in best] == SHORT
    said = findings.judge(frame)
    assert all(name in said.headline + " ".join(said.further) for name in SHORT)
    assert not any(uuid in said.headline + " ".join(said.further) for uuid in UUIDS)


def test_the_table_of_gpus(frame):
    """A line a GPU: its cases, the reference case, how much slower it is than the fastest, and its drift."""
    table = cells.of_gpus(frame)
    assert [[cell.text for cell in line.cells] for line in table.lines] == [
        [SHORT[0], "36", "100.5", "0.00", "1.00", "reduceShfl block=64"],
        [SHORT[1], "36", "101.5", "1.00", "0.99", "reduceShfl block=64"],
    ]
    (sentence,) = sentences({"gpus": GPUS})
    assert "a spread of 1.00 %" in sentence


@pytest.mark.parametrize("known", [{}, {UUIDS[0]: GPUS[UUIDS[0]]}, {"x": {"reference": {"0": 3}}}, {"x": 5}])
def test_one_gpu_or_a_malformed_record_has_no_table(known, frame):
    """There is nothing to compare, so there is neither a table nor a sentence."""
    frame.attrs["gpus"] = {"gpus": known}
    assert cells.of_gpus(frame).lines == []
    assert sentences({"gpus": known}) == []


def test_a_name_is_short():
    """Eight digits of a UUID stay; a name without one stays as it is."""
    assert short(f"{MODEL} {UUIDS[0]}") == SHORT[0]
    assert short("MIG-4b1c2f0a-1111-2222-3333-444455556666") == "4b1c2f0a"
    assert short("NVIDIA H200 0000:19:00.0") == "NVIDIA H200 0000:19:00.0"
    assert short("") == ""
