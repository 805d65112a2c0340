"""Jobs are composed as Hydra does, each choice of groups once, and the command says how far it is."""

import re
import subprocess
import sys

import pytest
from hydra._internal.callbacks import Callbacks
from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.utils import run_job
from hydra.types import HydraContext
from omegaconf import OmegaConf, open_dict
from support import ROOT

from runner.compose import launchers, loading, schema, sweeps
from runner.compose import overrides as grammar
from runner.compose.arguments import quote
from runner.compose.composer import Composer
from runner.compose.names import CONF
from runner.record.folder import RunFolder
from runner.sweep import engine
from runner.sweep.session import Session

FILES = ("config.yaml", "hydra.yaml", "overrides.yaml")

SWEEPS = {
    "an experiment": ["experiment=mask_demo", "kernel=shflUp"],
    "kernels that vary fastest": ["block=64,128", "width=8", "kernel=reduceShfl,reduceSmem"],
    "devices and timing": ["device=cpu,cuda", "device.threads=1,2", "timing.warmup_ms=2.5"],
    "values that refer to others": ["experiment=partial_warp", "size=${block},'${seed}'", "block=64,128"],
    "what is equal in Python": ["unroll=1,1.0,'1',null,1e3,'1e3'", "seed=2"],
    "quotes": ["dtype=int32", "size='2**10','0x10',' 64 ','1<<4'", "mask=0xffffffff"],
    "parameters for the CPU device": ["++on_cpu.size=1,2"],
    "Hydra's own values": ["hydra.job.name=other", "hydra.verbose=true", "+hydra.job.env_set.A=yes", "block=64,128"],
    "the name of a job": [
        "hydra.job.config.override_dirname.kv_sep=:", "hydra.job.config.override_dirname.exclude_keys=[block]",
        "block=64", "size=3", "kernel=reduceShfl,reduceSmem",
    ],
}  # fmt: skip


@pytest.mark.parametrize("frame", ["block={}", "a.b=choice({})", "_x1={}"])
def test_a_long_list_is_read_as_hydra_reads_it(frame):
    """The same types, values and texts; what is not plain is left to Hydra."""
    plain = (
        "1 0 -5 16Mi 32x16 8x8x8 0xff 0x1e5 10x1e5 0.5 -1.25 12.0 123456789012345678 float32 _a nanx Nullable".split()
    )
    for text in (
        frame.format(",".join([*plain, odd])) for odd in (*plain, "010", "1_0", "1e3", "NaN", "true", "'1'", "a b")
    ):
        (theirs,), (ours,) = OverridesParser.create().parse_overrides([text]), grammar.parse([text])
        assert repr(theirs) == repr(ours)  # NaN is not equal to itself
        assert list(theirs.sweep_string_iterator()) == list(ours.sweep_string_iterator())


class Sweep:
    """A sweep before it is launched: a loader, a configuration, and the overrides of its jobs."""

    def __init__(self, loader, arguments, folder):
        self.loader = loader
        self.master = loading.compose(loader, "config", [*arguments, f"hydra.sweep.dir={folder}"])
        self.jobs = grammar.product(grammar.parse(sweeps.sweep_overrides(self.master), loader))
        self.folder = folder
        self.context = HydraContext(config_loader=self.loader, callbacks=Callbacks())

    def run(self, overrides, number):
        """Compose a job and write its files as Hydra's own launcher does."""
        composed = self.loader.load_sweep_config(self.master, list(overrides))
        with open_dict(composed):
            composed.hydra.job.id = number
            composed.hydra.job.num = number
        run_job(lambda _: None, composed, "hydra.sweep.dir", "hydra.sweep.subdir", self.context)

    def written(self, number):
        """What Hydra's tools read in the files of a job, types included."""
        files = [self.folder / str(number) / ".hydra" / name for name in FILES]
        return [repr(OmegaConf.to_container(OmegaConf.load(file), resolve=False)) for file in files]


@pytest.fixture
def sweep(tmp_path):
    """Our configuration, opened: a sweep of the arguments that it is called with."""
    schema.register([CONF])
    launchers.register()
    HydraConfig.instance().cfg = None
    with loading.open_loader([CONF], CONF) as loader:
        yield lambda *arguments: Sweep(loader, arguments, tmp_path / "sweep")
    HydraConfig.instance().cfg = None


@pytest.mark.parametrize("name", SWEEPS)
def test_the_files_of_jobs_are_those_of_hydra(name, sweep):
    """Job by job, Hydra's tools read the same in the files in .hydra, whoever wrote them."""
    its = sweep(*SWEEPS[name])
    composer = Composer(its.loader, its.master)
    for number, overrides in enumerate(its.jobs):
        job = composer.job(overrides, number, its.folder / str(number))
        written = its.written(number)
        its.run(overrides, number)
        assert written == its.written(number), overrides
        assert job.number == number
    assert its.jobs


def test_no_job_sees_what_another_set(sweep):
    """Parameters of one job do not reach the next, nor do choices of groups."""
    composer = Composer((its := sweep()).loader, its.master)
    jobs = ([], ["block=64"], ["size=5"], ["block=${seed}", "seed=128"], [], ["kernel=shflUp", "block=64"], [])
    cases = [composer.job(overrides, 0, its.folder).case for overrides in jobs]
    assert cases[0] == cases[4] == cases[6]
    assert [dict(case.parameters)["block"] for case in cases] == ["256", "64", "256", "128", "256", "64", "256"]


def test_a_group_on_the_search_path_is_a_group(sweep, tmp_path):
    """A group that only a folder in hydra.searchpath has is composed, not set as a value."""
    (tmp_path / "more" / "extra").mkdir(parents=True)
    (tmp_path / "more" / "extra" / "one.yaml").write_text("# @package _global_\nblock: 64\n")
    its = sweep(f"hydra.searchpath=[{tmp_path / 'more'}]")
    job = Composer(its.loader, its.master).job(["+extra=one", "size=1"], 3, its.folder)
    assert dict(job.case.parameters)["block"] == "64"


@pytest.mark.parametrize("name", SWEEPS)
def test_the_jobs_are_those_of_hydras_own_sweeper(name, sweep):
    """All combinations, in the same order, as the same texts."""
    its = sweep(*SWEEPS[name])
    parsed = OverridesParser.create(config_loader=its.loader).parse_overrides(sweeps.sweep_overrides(its.master))
    assert its.jobs == BasicSweeper.split_arguments(parsed, None)[0]


def test_each_choice_of_groups_is_composed_once(sweep, monkeypatch):
    """Forty jobs of two kernels are composed twice by Hydra."""
    its = sweep("block=32,64,128,256,512", "kernel=reduceShfl,reduceSmem", "size=1,2,3,4")
    composed, plans = [], []
    load = its.loader.load_configuration
    monkeypatch.setattr(its.loader, "load_configuration", lambda *a, **k: (composed.append(a), load(*a, **k))[1])
    monkeypatch.setattr(engine, "run", lambda rows, *_, **__: plans.append(rows.jobs))
    monkeypatch.setattr(Session, "open_device", lambda *_: None)
    its.folder.mkdir()
    sweeps.run(its.master, its.loader, launchers.chosen(its.master), RunFolder(its.folder), Session())
    assert len(composed) == 2
    ((plan,),) = [plans]
    assert [job.number for job in plan] == list(range(40))


# The program up to the engine, in a process of its own.
UP_TO_THE_ENGINE = """
import re, sys
from pathlib import Path
from runner import report
from runner.display import terminal
from runner.compose import app
from runner.sweep.session import Session
from runner.sweep import engine
terminal.QUIET_S = terminal.QUIET_SHARE = 0
# Not getrusage: that starts from what the process that started this one had.
peak = lambda: re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]
engine.run = lambda rows, *_, **__: print(len(rows.jobs), peak())
Session.open_device = lambda *_: None
report.prepare = lambda **_: None  # its thread takes memory at some time
app.run(sys.argv[1:], Session())
"""


def up_to_the_engine(tmp_path, *arguments):
    """Standard output and standard error of it."""
    done = subprocess.run(
        [sys.executable, "-c", UP_TO_THE_ENGINE, *arguments],
        cwd=tmp_path, env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return done.stdout, done.stderr


def test_many_cases_take_little_memory_and_show_how_far_they_are(tmp_path):
    """Each further case needs next to no memory; without a terminal a line now and then says what is being read."""
    arguments = ("kernel=reduceShfl,reduceSmem", "block=32,64,128,256,512")
    peak = {}
    for last in (2, 20):
        out, err = up_to_the_engine(tmp_path, *arguments, f"size=range(0,{last})")
        cases, kilobytes = out.split()
        peak[int(cases)] = int(kilobytes)
        told = re.findall(r"^reading the configuration (\d+)/(\d+): (.*)$", err, re.MULTILINE)
        assert told[-1] == (cases, cases, f"kernel=reduceSmem block=512 size={last - 1}")
    assert (peak[200] - peak[20]) / 180 < 50  # the allocator rounds; a composed configuration takes 150


@pytest.mark.parametrize("name", ["ä b", "a(b", "it's", "x=1,y", "a\\b", "a\\'b", "end\\", "{x}", "# no"])
def test_a_sweeps_folder_may_have_any_name(name, tmp_path):
    """Whatever quoting makes of a folder's name, Hydra reads as that name."""
    wanted = str(tmp_path / name)
    (parsed,) = OverridesParser.create().parse_overrides([f"hydra.sweep.dir={quote(wanted)}"])
    assert parsed.value() == wanted
