"""Our launcher composes as Hydra does, keeps nothing of it, and says how far it is."""

import gc
import os
import re
import subprocess
import sys
import weakref
from itertools import count

import pytest
from hydra import initialize_config_dir
from hydra._internal.callbacks import Callbacks
from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
from hydra.core.global_hydra import GlobalHydra
from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.utils import JobReturn, run_job
from hydra.errors import HydraException
from hydra.types import HydraContext, RunMode
from omegaconf import OmegaConf, open_dict
from omegaconf.errors import OmegaConfBaseException
from support import ROOT

from runner import config
from runner.command import job_files, launcher
from runner.command.command_line import quoted
from runner.command.composing import Composer
from runner.command.launcher import BatchLauncher, parted
from runner.sweep import engine

FILES = ("config.yaml", "hydra.yaml", "overrides.yaml")

SWEEPS = {
    **{
        f"the experiment {p.stem}": [f"experiment={p.stem}"]
        for p in sorted((config.CONF / "experiment").iterdir())
        if p.stem not in ("ladder_reduction", "ladder_transpose")  # like ladder_stencil; Hydra takes long for their jobs
    },
    "all kernels": ["kernel=glob(*)", "block=64,128"],
    "kernels that vary slowest": ["kernel=reduceShfl,reduceSmem,shflUp", "block=64,128", "size=1Mi,2**20"],
    "kernels that vary fastest": ["block=64,128", "width=8", "kernel=reduceShfl,reduceSmem,shflUp"],
    "devices": ["device=cpu,cuda", "device.threads=1,2"],
    "timing": ["timing=glob(*)", "timing.warmup_ms=1,2.5"],
    "experiments": ["experiment=smem_square,mask_demo", "seed=1,2"],
    "an experiment and values": ["experiment=partial_warp", "size=5,${block},'${seed}'"],
    "interpolations": ["size=${block},${device.threads},${hydra.job.num}", "fill=${now:%Y-%m-%d %H:%M:%S.%f}"],
    "what is equal in Python": ["unroll=1,true,1.0,'1','true',yes,null", "first=0,-0.0,false,nan,inf"],
    "quotes": ["fill='a,b','it\\'s',\"x: y\",' ','#','','ünï','a\\b'", "mask=0xffffffff", "size='1<<24'"],
    "long text": [f"fill='{'a word, ' * 40}',b", f"dtype={'d' * 200}"],
    "lists and dictionaries": ["block=[1,2],[],[[1],{a: b}]", "size={},{rows: 3}"],
    "additions": ["+foo=1,2", "++bar.baz=1,[2]", "++block=7"],
    "deletions": ["block=5", "~block", "~seed=0", "size=1,2"],
    "a group deleted": ["~timing", "block=1,2"],
    "a group in another place": ["+timing@on_cpu=default", "block=1,2", "kernel=reduceShfl,reduceSmem"],
    "a list for a group": ["device=[cpu],[cuda,cpu]"],
    "a dictionary for a group": ["device={threads: 2},{threads: 3}", "timing=default"],
    "parameters for the CPU device": ["++on_cpu.size=1,2", "+on_cpu={block: 64}"],
    "a kernel changed": ["kernel=reduceShfl,reduceSmem", "++kernel.summary=a,b"],
    "Hydra's own values": ["hydra.job.name=other", "hydra.verbose=true", "+hydra.job.env_set.A=yes", "block=1,2"],
    "Hydra's new entries": ["++hydra.job.no=1", "++hydra.further.on=[1]", "block=1,2"],
    "the name of a job": [
        "hydra.job.config.override_dirname.kv_sep=:", "hydra.job.config.override_dirname.exclude_keys=[block]",
        "block=1,2", "size=3", "kernel=reduceShfl,reduceSmem",
    ],
}  # fmt: skip


class Sweep:
    """A sweep as Hydra sees it before it launches: a loader, a configuration, and the overrides of its jobs."""

    def __init__(self, arguments, folder):
        self.loader = GlobalHydra.instance().config_loader()
        arguments = [*arguments, f"hydra.sweep.dir={folder}"]
        self.master = self.loader.load_configuration("config", arguments, RunMode.MULTIRUN)
        params = [f"{k}={v}" for k, v in (self.master.hydra.sweeper.params or {}).items()]
        given = OmegaConf.to_container(self.master.hydra.overrides.task, resolve=False)
        parsed = OverridesParser.create(config_loader=self.loader).parse_overrides([*params, *given])
        self.jobs = BasicSweeper.split_arguments(parsed, None)[0]
        self.folder = folder
        self.context = HydraContext(config_loader=self.loader, callbacks=Callbacks())

    def theirs(self, overrides, number):
        """What Hydra's own launcher composes for a job."""
        composed = self.loader.load_sweep_config(self.master, list(overrides))
        with open_dict(composed):
            composed.hydra.job.id = number
            composed.hydra.job.num = number
        return composed

    def run(self, composed):
        """Write a job's files as Hydra's own launcher does."""
        run_job(lambda _: None, composed, "hydra.sweep.dir", "hydra.sweep.subdir", self.context)

    def written(self, number):
        """The files of a job."""
        return {name: (self.folder / str(number) / ".hydra" / name).read_text("utf-8") for name in FILES}


def shown(composed):
    """All of a configuration, types of values included."""
    return repr(OmegaConf.to_container(composed, resolve=False))


@pytest.fixture
def sweep(tmp_path):
    """Hydra, opened on our configuration: a sweep of the arguments that it is called with."""
    config.register([config.CONF])
    HydraConfig.instance().cfg = None
    with initialize_config_dir(str(config.CONF), version_base="1.3"):
        yield lambda *arguments: Sweep(arguments, tmp_path / "sweep")
    HydraConfig.instance().cfg = None


@pytest.mark.parametrize("name", SWEEPS)
def test_jobs_and_their_files_are_those_of_hydra(name, sweep):
    """Job by job, the composed configuration and the three files in .hydra are to the letter what Hydra makes."""
    its = sweep(*SWEEPS[name])
    composer = Composer(its.loader, its.master)
    for number, overrides in enumerate(its.jobs):
        ours, theirs = composer.job(overrides, number), its.theirs(overrides, number)
        assert shown(ours) == shown(theirs), overrides
        job_files.write(its.folder / str(number), *parted(ours))
        written = its.written(number)
        its.run(theirs)
        assert written == its.written(number), overrides
    assert its.jobs


def test_no_job_sees_what_another_changed(sweep):
    """After a job that deletes, adds, and changes something through an interpolation, the next is Hydra's again."""
    its = sweep()
    composer = Composer(its.loader, its.master)
    jobs = (
        [], ["block=5", "~block"], ["block=1"], ["++device.more=1"], ["device.threads=3"], ["block=${device}", "++block.threads=7"],
        ["device=cpu"], [], ["++kernel.grid=1"], ["+on_cpu.size=3"], ["++on_cpu=${kernel}", "++on_cpu.family=x"], [],
        ["hydra.job.name=other"], ["hydra.job.name=another", "size=1"], ["hydra={verbose: true}"], ["++hydra.new=1"], [],
        ["kernel=shflUp", "hydra.job.config.override_dirname.item_sep=+", "size=2"], ["kernel=shflUp", "size=2"],
    )  # fmt: skip
    for number, overrides in enumerate(jobs):
        assert shown(composer.job(overrides, number)) == shown(its.theirs(overrides, number)), overrides


@pytest.mark.parametrize(
    "overrides",
    [
        ["blokc=1"], ["kernel=nope"], ["device.threads=x"], ["block.x=1"], ["+seed=3"], ["~nope"], ["~block=3"],
        ["foo/bar=1"], ["device@there=cpu"], ["++device=cpu"], ["seed=abc"], ["block=1,2"], ["block=choice(1,2)"],
        ["hydra.nope=1"], ["size=1<<24"], ["=1"], ["experiment=nope", "blokc=1"], ["kernel=1"],
    ],
)  # fmt: skip
def test_what_cannot_be_composed_is_refused_in_hydras_words(overrides, sweep):
    """Hydra's own complaint comes through, so that it is told as ever."""
    its = sweep()
    expected = (HydraException, OmegaConfBaseException, ValueError)
    with pytest.raises(expected) as theirs:
        its.loader.load_sweep_config(its.master, overrides)
    with pytest.raises(expected) as ours:
        Composer(its.loader, its.master).job(overrides, 0)
    assert (ours.type, str(ours.value), str(ours.value.__cause__)) == (
        theirs.type, str(theirs.value), str(theirs.value.__cause__),
    )  # fmt: skip


def test_a_group_on_the_search_path_is_a_group(sweep, tmp_path):
    """A group that only a folder in hydra.searchpath has is composed, not set as a value."""
    (tmp_path / "more" / "extra").mkdir(parents=True)
    (tmp_path / "more" / "extra" / "one.yaml").write_text("# @package _global_\nblock: 7\n")
    its = sweep(f"hydra.searchpath=[{tmp_path / 'more'}]")
    composed = Composer(its.loader, its.master).job(["+extra=one", "size=1"], 3)
    assert composed.block == 7
    assert shown(composed) == shown(its.theirs(["+extra=one", "size=1"], 3))


def launched(its, monkeypatch):
    """A sweep through our launcher, up to the engine: how often Hydra composed, and what came back."""
    composed, plans = [], []
    load = its.loader.load_configuration
    monkeypatch.setattr(its.loader, "load_configuration", lambda *a, **k: (composed.append(a), load(*a, **k))[1])
    monkeypatch.setattr(engine, "run", lambda plan, *_: plans.append(plan))
    ours = BatchLauncher()
    ours.setup(hydra_context=its.context, task_function=lambda _: None, config=its.master)
    for overrides in its.jobs:  # as Hydra's sweeper does before it launches
        its.loader.load_sweep_config(master_config=its.master, sweep_overrides=list(overrides))
    return len(composed), ours.launch(its.jobs, 0), len(composed), plans


def test_hydra_composes_once_for_each_choice_of_groups(sweep, monkeypatch):
    """Forty jobs of two kernels are composed twice by Hydra, and the sweeper's own look at them costs nothing."""
    its = sweep("block=32,64,128,256,512", "kernel=reduceShfl,reduceSmem", "size=1,2,3,4")
    before, returns, after, (plan,) = launched(its, monkeypatch)
    assert (len(returns), len(plan), before, after) == (40, 40, 0, 2)
    assert [p.number for p in plan] == list(range(40))


def test_what_another_sweeper_composes_is_composed(sweep, monkeypatch):
    """A sweeper other than Hydra's basic one may read what it composes, so it gets it."""
    its = sweep("block=32,64")
    its.master.hydra.sweeper._target_ = "hydra_plugins.other.Sweeper"
    before, returns, after, _ = launched(its, monkeypatch)
    assert (before, after) == (2, 3)
    assert its.loader.load_sweep_config(its.master, ["block=64"]).block == 64
    assert [r.return_value for r in returns] == [None, None]


def test_no_composed_configuration_is_kept(sweep, monkeypatch):
    """When the engine begins, none of the configurations is left in memory; what Hydra gets back has none either."""
    its = sweep("block=32,64,128", "kernel=reduceShfl,reduceSmem", "size=range(1,41)")
    seen, job = [], Composer.job

    def watched(*arguments):
        composed = job(*arguments)
        seen.extend(weakref.ref(node) for node in (composed, composed.hydra, composed.kernel, composed.hydra.job))
        return composed

    def begun(*_):
        gc.collect()
        assert len(seen) == 4 * 240
        assert not [node for node in seen if node() is not None]

    monkeypatch.setattr(Composer, "job", watched)
    monkeypatch.setattr(launcher.engine, "run", begun)
    ours = BatchLauncher()
    ours.setup(hydra_context=its.context, task_function=lambda _: None, config=its.master)
    returns = ours.launch(its.jobs, 0)
    assert returns == [JobReturn(overrides=jo, status=returns[0].status) for jo in its.jobs]


# The program up to the engine, in a process of its own.
UP_TO_THE_ENGINE = """
import re, sys
from pathlib import Path
from runner import progress
from runner.command import app
from runner.sweep import engine
progress.QUIET_S = float(sys.argv.pop(1))
# Not getrusage: that starts from what the process that started this one had.
peak = lambda: re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]
engine.run = lambda plan, *_: print(len(plan), peak())
app.run(sys.argv[1:])
"""


def up_to_the_engine(tmp_path, *arguments, quiet_s=2.0):
    """Standard output and standard error of it."""
    done = subprocess.run(
        [sys.executable, "-c", UP_TO_THE_ENGINE, str(quiet_s), *arguments],
        cwd=tmp_path, env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return done.stdout, done.stderr


def test_memory_does_not_grow_with_the_number_of_cases(tmp_path):
    """A thousand cases need less than 300 MB, and each further case next to nothing."""
    arguments = ("kernel=reduceShfl,reduceSmem", "block=32,64,128,256,512")
    peak = {}
    for last in (10, 100):
        cases, kilobytes = up_to_the_engine(tmp_path, *arguments, f"size=range(0,{last})")[0].split()
        peak[int(cases)] = int(kilobytes)
    assert peak[1000] < 300_000
    assert (peak[1000] - peak[100]) / 900 < 20  # a composed configuration takes 150


def test_reading_the_configuration_shows_how_far_it_is(tmp_path):
    """Without a terminal there is a line now and then, which says what is being read."""
    err = up_to_the_engine(tmp_path, "block=64,128", "kernel=reduceShfl,reduceSmem", quiet_s=0)[1]
    told = re.findall(r"^reading the configuration (\d)/4: (.*)$", err, re.MULTILINE)
    assert told[-1] == ("4", "block=128 kernel=reduceSmem")
    assert [int(number) for number, _ in told] == [n for n, _ in zip(count(1), told, strict=False)]


def test_the_benchmark_of_hydras_cost_still_runs():
    """benchmarks/hydra_cost.py measures the launcher as it is."""
    command = [sys.executable, str(ROOT / "benchmarks" / "hydra_cost.py"), "--cases", "10", "--rounds", "1"]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120, env=env)
    assert done.returncode == 0, done.stderr
    assert "together" in done.stdout


@pytest.mark.parametrize("name", ["ä b", "a(b", "it's", "x=1,y", "a\\b", "a\\'b", "end\\", "{x}", "# no"])
def test_a_sweeps_folder_may_have_any_name(name, tmp_path):
    """Whatever quoting makes of a folder's name, Hydra reads as that name."""
    wanted = str(tmp_path / name)
    (parsed,) = OverridesParser.create().parse_overrides([f"hydra.sweep.dir={quoted(wanted)}"])
    assert parsed.value() == wanted
