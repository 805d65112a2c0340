"""`runner profile`: what nobody asked for before a sweep is done afterwards, from its folder."""

from pathlib import Path

import pytest
from outcomes import rows
from processes import call, cold_cache, run
from support import ROOT, case_of, shipped

from runner.commands.profile import WORDS
from runner.device.config import DeviceConfig
from runner.jobs.job import Job
from runner.jobs.settings import ProfileConfig, TimingConfig
from runner.record.folder import RunFolder
from runner.stages.all import ON_DEMAND
from runner.stages.profile.energy import BoardEnergy
from runner.stages.races.variants import NOT_READY

RACES = str(ROOT / "tests" / "kernels" / "race_checks")
SWEEP = ("--config-dir", RACES, "kernel=honest,lastBlock", "size=6400", "device=cpu", "block=64,128")


def test_each_word_of_the_command_has_a_stage():
    """And each stage on demand has a word."""
    assert {word.partition("=")[0] for word in WORDS} == set(ON_DEMAND)


def profile(directory, *arguments, **further):
    """`python -m runner profile ...`."""
    return call(directory, *arguments, module="runner.profile", **further)


def test_a_finished_sweep_is_looked_into_by_the_name_of_its_folder(tmp_path):
    """Races make a case a hazard, lines.csv has the first case of each kernel; values and times stay."""
    assert run(tmp_path, *SWEEP).code == 0
    (folder,) = tmp_path.glob("outputs/*/*")
    before = {row["case"]: row for row in rows(folder)}
    assert not (folder / "lines.csv").exists()
    assert f"python -m runner profile {folder.name} lines" in (folder / "report.html").read_text()
    done = profile(tmp_path, folder.name, "races", "lines")
    assert done.returncode == 1, done.stderr
    after = rows(folder)
    assert {row["kernel"]: row["status"] for row in after} == {"honest": "ok", "lastBlock": "hazard"}
    assert all(row["races_at"] for row in after)
    assert [row["block"] for row in after if row["global_load_sectors"]] == ["64"]
    for row in after:
        kept = ("value", "emulated_us", "samples", "size_launches")
        assert [row[name] for name in kept] == [before[row["case"]][name] for name in kept]
    page = (folder / "report.html").read_text()
    assert "runner.profile" not in page
    assert "What each line costs" in page
    again = profile(tmp_path, "latest", "lines=all", "code")
    assert again.returncode == 1, again.stderr
    assert "code: there is nothing to add to this sweep" in again.stderr
    assert "lines: " not in again.stderr
    assert [row["block"] for row in rows(folder) if row["global_load_sectors"]] == ["64", "128"]


def test_a_first_sweep_does_not_compile_the_checked_device(tmp_path):
    """With an empty cache nothing is looked for by default; the summary says so, and what to do."""
    done = run(tmp_path, *SWEEP, defaults=True, **cold_cache(tmp_path))
    assert done.code == 0, done.err
    (folder,) = tmp_path.glob("outputs/*/*")
    assert {row["races_skipped"] for row in rows(folder)} == {NOT_READY}
    assert not (folder / "lines.csv").exists()
    command = f"python -m runner profile {folder.name} races"
    assert f"were not looked for: `{command}` looks for them" in " ".join(done.out.split())
    assert f"{command} lines" in (folder / "report.html").read_text()
    assert len(list((tmp_path / "cache").rglob("libsimt-*.so"))) == 1


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("nowhere", "races"), "nowhere: there is no such folder"),
        (("sweep", "luck"), "argument WHAT: invalid choice: 'luck'"),
        (("sweep",), "the following arguments are required: WHAT"),
        (("sweep", "races"), "no case was measured yet; python -m runner resume sweep runs the sweep"),
        (("sweep", "energy", "--cases", "some"), "argument --cases: invalid choice: 'some'"),
    ],
)
def test_what_cannot_be_looked_into_is_one_sentence(arguments, reason, tmp_path):
    """A folder without a result, or a word that is none."""
    assert run(tmp_path, "device=cpu", "size=1024", "hydra.sweep.dir=sweep").code == 0
    (tmp_path / "sweep" / "0" / "result.json").unlink()
    done = profile(tmp_path, *arguments)
    assert done.returncode == 2
    assert reason in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(("energy", "cases", "chosen"), [(True, "tied", "tied"), ("fastest", "all", "fastest")])
def test_a_case_that_was_not_selected_is_measured_for_a_wider_selection(energy, cases, chosen, tmp_path):
    """The record says what selected the cases: the stage's own setting, else `profile.cases`."""
    (tmp_path / "0").mkdir()
    folder = RunFolder(Path(tmp_path))
    job = Job(case_of(shipped("reduceShfl")), DeviceConfig("cuda"), TimingConfig(), "nvcc", 0,
              profile=ProfileConfig(energy=energy, cases=cases))  # fmt: skip
    wider = Job(job.case, job.device, job.timing, "nvcc", 0, profile=ProfileConfig(energy="all"))
    row = {"status": "ok", "device": "cuda"}
    assert BoardEnergy().lacks(job, row, folder)
    folder.write_json(folder.profile(0), {"energy": {"reason": f"not selected by profile.cases={chosen}"}})
    assert not BoardEnergy().lacks(job, row, folder)
    assert BoardEnergy().lacks(wider, row, folder)
