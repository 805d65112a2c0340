"""A sweep on several GPUs: cases are ranked within one, the page tells how the GPUs differ, and no UUID is in the way."""

from dataclasses import replace

import pytest
from report_runs import ENVIRONMENT, sweep

from runner.record import ranking
from runner.record.gpus import short
from runner.record.run import read
from runner.report import figures, findings, tables
from runner.report.findings import gpu_sentences

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
def run(run_folder):
    """A sweep whose two larger sizes are another GPU's."""
    rows = [{**row, "gpu": f"{MODEL} {UUIDS[row['size'] > 2**20]}"} for row in sweep()]
    return read(run_folder(rows, environment={**ENVIRONMENT, "gpus": GPUS}, columns=[*rows[0]]))


def test_cases_of_different_gpus_are_not_ranked_against_each_other(run):
    """The same case on two GPUs wins twice: each GPU has its own ranking, and is named by eight digits."""
    run = run.with_frame(run.frame.assign(size=2**20))
    best = ranking.fastest(run)
    assert [one.fastest["gpu"] for one in best] == SHORT
    said = findings.judge(run)
    assert all(name in said.headline + " ".join(said.further) for name in SHORT)
    assert not any(uuid in said.headline + " ".join(said.further) for uuid in UUIDS)


def test_gpus_that_differ_much_are_not_drawn_as_one(run, run_folder):
    """Sizes on GPUs that differ by less than 1 % share a line; otherwise each GPU has its figures."""
    assert set(run.frame["place"]) == {""}
    slower = {**GPUS, UUIDS[1]: {"name": MODEL, "shards": [1], "reference": {"1": taken(103.0)}}}
    rows = [{**row, "gpu": f"{MODEL} {UUIDS[row['size'] > 2**20]}"} for row in sweep()]
    folder = run_folder(rows, "apart", environment={**ENVIRONMENT, "gpus": slower}, columns=[*rows[0]])
    assert set(read(folder).frame["place"]) == set(SHORT)


def test_the_table_of_gpus(run):
    """A line a GPU: its cases, the reference case, how much slower it is than the fastest, and its drift."""
    table = tables.gpu_table(run)
    assert [[cell.text for cell in line.cells] for line in table.lines] == [
        [SHORT[0], "36", "100.5", "0.00", "1.00", "reduceShfl block=64"],
        [SHORT[1], "36", "101.5", "1.00", "0.99", "reduceShfl block=64"],
    ]
    (sentence,) = gpu_sentences({"gpus": GPUS})
    assert "a spread of 1.00 %" in sentence


@pytest.mark.parametrize("known", [{}, {UUIDS[0]: GPUS[UUIDS[0]]}, {"x": {"reference": {"0": 3}}}, {"x": 5}])
def test_one_gpu_or_a_malformed_record_has_no_table(known, run):
    """There is nothing to compare, so there is neither a table nor a sentence."""
    run = replace(run, gpus={"gpus": known})
    assert tables.gpu_table(run).lines == []
    assert gpu_sentences({"gpus": known}) == []


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
    return read(run_folder(rows, name, environment=environment, columns=[*rows[0]]))


def test_gpus_that_measured_all_cases_are_pooled(run_folder):
    """A case has one row: the mean over the GPUs, in an interval that includes both; the jobs of both are known."""
    run, alone = replicated(run_folder, "both"), read(run_folder(sweep(), "one"))
    assert len(run.frame) == len(alone.frame) == 72
    assert set(run.frame["gpu"]) == {f"{MODEL} (2)"}
    assert set(run.frame["rounds"]) == {10}
    assert list(run.frame["jobs"]) == [(n, n + 72) for n in range(72)]
    assert run.frame["median_us"].to_list() == pytest.approx((alone.frame["median_us"] * 1.001).to_list())
    assert (run.frame["ci_low_us"] <= alone.frame["ci_low_us"] * 1.0001).all()
    assert (run.frame["ci_high_us"] >= alone.frame["ci_high_us"] * 1.0019).all()
    assert run.frame["round_spread_percent"].to_list() == pytest.approx([100 * 0.001 * (10 / 9) ** 0.5] * 72, rel=0.01)
    assert len(ranking.fastest(run)) == len(ranking.fastest(alone))
    assert len(ranking.ratios(run)) == len(ranking.ratios(alone)) > 0
    assert "the mean over the GPUs" in " ".join(findings.judge(run).further)
    assert [line.cells[1].text for line in tables.gpu_table(run).lines] == ["72", "72"]


@pytest.mark.parametrize(("slower", "replicate"), [(1.02, True), (1.002, False)])
def test_gpus_that_differ_are_not_pooled(slower, replicate, run_folder):
    """Nor are those of a sweep that was not replicated: each has its own ranking, ratios and figures."""
    run, alone = replicated(run_folder, "both", slower=slower, replicate=replicate), read(run_folder(sweep(), "one"))
    assert len(run.frame) == 2 * len(alone.frame)
    assert len(ranking.fastest(run)) == 2 * len(ranking.fastest(alone))
    assert len(ranking.ratios(run)) == 2 * len(ranking.ratios(alone))
    titles = [figure.title for figure in figures.choose(run, ranking.ratios(run))]
    assert all(any(name in title for title in titles) for name in SHORT)


def test_the_figure_of_gpus(run_folder):
    """It has each round of the reference case on each GPU; a run on one GPU has none."""
    one, both = read(run_folder(sweep(), "one")), replicated(run_folder, "both")
    assert not any(figure.stem == "gpus" for figure in figures.choose(one, {}))
    (figure,) = (figure for figure in figures.choose(both, {}) if figure.stem == "gpus")
    assert [(row["gpu"], row["round"]) for row in figure.rows()] == [(name, 1) for name in SHORT]
    assert all(name[-8:].encode() in figures.draw(figure).files["svg"] for name in SHORT)


def test_a_name_is_short():
    """Eight digits of a UUID stay; a name without one stays as it is."""
    assert short(f"{MODEL} {UUIDS[0]}") == SHORT[0]
    assert short("MIG-4b1c2f0a-1111-2222-3333-444455556666") == "4b1c2f0a"
    assert short("NVIDIA H200 0000:19:00.0") == "NVIDIA H200 0000:19:00.0"
    assert short("") == ""
