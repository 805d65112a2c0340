"""A sweep on several GPUs: cases are ranked within one, the page tells how the GPUs differ, and no UUID is in the way."""

from pathlib import Path

import pytest
from report_runs import ENVIRONMENT, sweep

from runner.report import cells, figures, findings
from runner.report.about import tell
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


def test_gpus_that_differ_much_are_not_drawn_as_one(frame, run_folder):
    """Sizes on GPUs that differ by less than 1 % share a line; otherwise each GPU has its figures."""
    assert set(frame["place"]) == {""}
    slower = {**GPUS, UUIDS[1]: {"name": MODEL, "shards": [1], "reference": {"1": taken(103.0)}}}
    rows = [{**row, "gpu": f"{MODEL} {UUIDS[row['size'] > 2**20]}"} for row in sweep()]
    folder = run_folder(rows, "apart", environment={**ENVIRONMENT, "gpus": slower}, columns=[*rows[0]])
    assert set(load(folder)["place"]) == set(SHORT)


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
    tell(frame, gpus={"gpus": known})
    assert cells.of_gpus(frame).lines == []
    assert sentences({"gpus": known}) == []


def replicated(run_folder, name, *, slower=1.002, replicate=True):
    """A sweep that both GPUs measured; `slower` is the second one, in all cases and in the reference case."""
    rows = []
    for place, uuid in enumerate(UUIDS):
        for number, row in enumerate(sweep()):
            scaled = {n: f"{float(row[n]) * slower**place:.9g}" for n in ("median_us", "ci_low_us", "ci_high_us")}
            job = place * len(sweep()) + number
            rows.append({**row, **scaled, "gpu": f"{MODEL} {uuid}", "job": job, "rounds": 5, "round_spread_percent": 0})
    known = {u: {"name": MODEL, "reference": {"0": taken(100.0 * slower**n)}} for n, u in enumerate(UUIDS)}
    environment = {**ENVIRONMENT, "gpus": known, "launcher": {"replicate": replicate}}
    return load(run_folder(rows, name, environment=environment, columns=[*rows[0]]))


def test_gpus_that_measured_all_cases_are_pooled(run_folder):
    """A case has one row: the mean over the GPUs, in an interval that includes both; the jobs of both are known."""
    frame, alone = replicated(run_folder, "both"), load(run_folder(sweep(), "one"))
    assert len(frame) == len(alone) == 72
    assert set(frame["gpu"]) == {f"{MODEL} (2)"}
    assert set(frame["rounds"]) == {10}
    assert list(frame["jobs"]) == [(n, n + 72) for n in range(72)]
    assert frame["median_us"].to_list() == pytest.approx((alone["median_us"] * 1.001).to_list())
    assert (frame["ci_low_us"] <= alone["ci_low_us"] * 1.0001).all()
    assert (frame["ci_high_us"] >= alone["ci_high_us"] * 1.0019).all()
    assert frame["round_spread_percent"].to_list() == pytest.approx([100 * 0.001 * (10 / 9) ** 0.5] * 72, rel=0.01)
    assert len(findings.fastest(frame)) == len(findings.fastest(alone))
    assert len(findings.ratios(frame)) == len(findings.ratios(alone)) > 0
    assert "the mean over the GPUs" in " ".join(findings.judge(frame).further)
    assert [line.cells[1].text for line in cells.of_gpus(frame).lines] == ["72", "72"]


@pytest.mark.parametrize(("slower", "replicate"), [(1.02, True), (1.002, False)])
def test_gpus_that_differ_are_not_pooled(slower, replicate, run_folder):
    """Nor are those of a sweep that was not replicated: each has its own ranking, ratios and figures."""
    frame, alone = replicated(run_folder, "both", slower=slower, replicate=replicate), load(run_folder(sweep(), "one"))
    assert len(frame) == 2 * len(alone)
    assert len(findings.fastest(frame)) == 2 * len(findings.fastest(alone))
    assert len(findings.ratios(frame)) == 2 * len(findings.ratios(alone))
    titles = [figure.title for figure in figures.choose(Path(), frame, findings.ratios(frame))]
    assert all(any(name in title for title in titles) for name in SHORT)


def test_the_figure_of_gpus(run_folder):
    """It has each round of the reference case on each GPU; a run on one GPU has none."""
    one, both = load(run_folder(sweep(), "one")), replicated(run_folder, "both")
    assert not any(figure.stem == "gpus" for figure in figures.choose(Path(), one, {}))
    (figure,) = (figure for figure in figures.choose(Path(), both, {}) if figure.stem == "gpus")
    assert [(row["gpu"], row["round"]) for row in figure.rows()] == [(name, 1) for name in SHORT]
    assert all(name[-8:].encode() in figures.drawn(figure).files["svg"] for name in SHORT)


def test_a_name_is_short():
    """Eight digits of a UUID stay; a name without one stays as it is."""
    assert short(f"{MODEL} {UUIDS[0]}") == SHORT[0]
    assert short("MIG-4b1c2f0a-1111-2222-3333-444455556666") == "4b1c2f0a"
    assert short("NVIDIA H200 0000:19:00.0") == "NVIDIA H200 0000:19:00.0"
    assert short("") == ""
