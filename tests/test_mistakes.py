"""Mistakes on the command line: one sentence, status 2, nothing run, nothing left behind."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from mistakes import assert_mistake, assert_refused, write_files
from processes import OWN, environment, run, start
from support import Finished

from runner.cli import COMMANDS

OF_OWN = ("device=cpu", "--config-dir", str(OWN))
SCALED = ("--config-dir", str(OWN / "own"), "kernel=scaled", "device=cpu")
JUDGE = ("judge", "--kernel", "saxpy", *OF_OWN)
GPUS = ("device=cpu", "hydra/launcher=gpus")
SLURM = ("--dry-run", "device=cpu", "hydra/launcher=slurm")
# What is wrong: the command line, and phrases of the sentence.
MISTAKES = {
    # keys
    "a misspelt key": (["blokc=128"], ["blokc", "did you mean block?"]),
    "a misspelt key of a group": (["timing.cpu_sampels=3"], ["timing.cpu_sampels", "did you mean timing.cpu_samples?"]),
    "an unknown key of a group": (["device.colour=red"], ["device.colour", "device.threads"]),
    "a key within a parameter": (["block.x=5"], ["block.x: unknown key"]),
    "a key within a number": (["seed.x=5"], ["seed.x=5: "]),
    "an added key": (["+foo=1"], ["+foo=1: no kernel"]),
    "a key added twice": (["+seed=5"], ["already at 'seed'"]),
    "a key taken out": (["~block"], ["~block: ~ is not supported"]),
    "no key": (["=5"], ["=5: the key before the = is missing"]),
    "no value": (["reduceShfl"], ["reduceShfl: expected KEY=VALUE", "did you mean kernel=reduceShfl?"]),
    "a misspelt kernel without a key": (["reduceShlf"], ["did you mean kernel=reduceShfl?"]),
    "no subcommand": (["foo"], ["foo: expected KEY=VALUE or a subcommand", "runner --help"]),
    "a value without a key": (["block=128", "256"], ["256: expected KEY=VALUE; write a list of values as block=128,256"]),
    "a colon for the =": (["kernel:reduceShfl"], ["kernel:reduceShfl: expected KEY=VALUE; write kernel=reduceShfl"]),
    "a key of Hydra's that is none": (["hydra.sweep.dri=x"], ["hydra.sweep.dri: unknown key of Hydra"]),
    "a key of Hydra's that is added": (["+hydra.sweeper.max_case=1"], ["+hydra.sweeper.max_case=1: unknown key of Hydra"]),
    "an experiment's way to sweep": (["hydra.sweeper.params.width=8,16"], ["on the command line write width=8,16"]),
    "a value again and again": (["block=" + ",".join(["128"] * 20000)], ["block: the value 128 is given 20,000 times"]),
    "a changed kernel": (["kernel.grid=1"], ["kernel.grid=1", "--config-dir"]),
    "a parameter for the CPU device alone": (["on_cpu={size: 3}"], ["on_cpu", "set the parameter itself"]),
    # choices
    "an unknown kernel": (["kernel=reduceShlf"], ["kernel=reduceShlf", "did you mean reduceShfl?"]),
    "one like no other": (["kernel=nope"], ["kernel=nope: unknown kernel (`runner show` lists all"]),
    "one of two kernels": (["kernel=reduceShfl,nope"], ["kernel=nope: unknown kernel"]),
    "no kernel": (["kernel=null"], ["kernel=null: expected the name of a file in conf/kernel"]),
    "a second kernel": (["+kernel=bcast"], ["+kernel=bcast: the configuration already chooses a kernel", "without a +"]),
    "a kernel elsewhere": (["kernel@x=bcast"], ["Could not override 'kernel@x'"]),
    "a path for a kernel": (["kernel=../../etc/passwd"], ["kernel=../../etc/passwd: expected a name, not a path"]),
    "a range without a value": (["block=64", "block=range(5,1)"], ["block=range(5,1): has no value"]),
    "a pattern that matches nothing": (["kernel=glob(nope*)"], ["kernel=glob(nope*): matches no name"]),
    "an unknown device": (["device=gpu"], ["device=gpu: expected one of auto, checked, cpu, cuda; did you mean"]),
    "an unknown experiment": (["experiment=nope"], ["experiment=nope: unknown experiment"]),
    "an unknown launcher": (["hydra/launcher=nope"], ["hydra/launcher=nope: expected batch, gpus (all"]),
    # values
    "text for a block": (["block=abc"], ["block=abc: expected threads per block"]),
    "one of several values": (["block=128,abc"], ["block=abc"]),
    "a misspelt fill": (["fill=ones,randon"], ["fill=randon: expected one of"]),
    "text that no kernel reads": (["unroll=fast"], ["unroll=fast: expected an integer"]),
    "text for a kernel's own parameter": (["kernel=bankAccess", "stride=x"], ["stride=x: expected an integer"]),
    "a seed of text": (["seed=abc"], ["seed=abc: expected an integer"]),
    "no seed": (["seed=null"], ["seed=null: "]),
    "a negative seed": (["seed=-1"], ["seed=-1: expected 0 to 2**63-1"]),
    "perhaps": (["record_host=maybe"], ["record_host=maybe: "]),
    "a metric that is none": (["rank_by=speed"], ["rank_by=speed: "]),
    "another word for races": (["racecheck=some"], ["racecheck=some: expected one of default, all, none"]),
    "a list for the CPU device's parameters": (["on_cpu=[1]"], ["on_cpu=[1]: "]),
    "an interpolation to nothing": (["size=${nope}"], ["size: "]),
    "an interpolation to itself": (["size=${size}"], ["size: Recursive"]),
    "a variable that is not set": (
        ["size=${oc.env:NO_SUCH_VARIABLE}"], ["runner: size: Environment variable 'NO_SUCH_VARIABLE' not found"],
    ),
    "two metrics": (["rank_by=[a,b]"], ["rank_by=[a,b]: expected one value, not a list"]),
    "a number for a mapping": (["on_cpu=5"], ["on_cpu=5: expected a mapping, such as {name: value}"]),
    "a kernel that no name fits": (["kernel=é"], ["kernel=é: expected up to 64 letters, digits and _"]),
    # device, timing and profile
    "an unknown kind": (["device.kind=5"], ["device.kind=5: expected one of auto, cuda, cpu"]),
    "half a thread": (["device.threads=1.5"], ["device.threads=1.5: "]),
    "fewer than no threads": (["device.threads=-1"], ["device.threads=-1: expected 0"]),
    "no time": (["device.time_limit_s=0"], ["device.time_limit_s=0", "above 0, up to 86400"]),
    "one option for a list": (["device.nvcc_options=5"], ["device.nvcc_options=5: "]),
    "too few samples": (["timing.cpu_samples=0"], ["timing.cpu_samples=0: expected 1 to 100000"]),
    "text for samples": (["timing.cpu_samples=many"], ["timing.cpu_samples=many: expected an integer from 1 to 100000"]),
    "no schedule": (["device=checked", "device.schedules=0"], ["device.schedules=0"]),
    "perhaps races of one value": (["device=checked", "device.same_value_races=maybe"], ["device.same_value_races=maybe"]),
    "lines of L2 that are perhaps clean": (
        ["device=cuda", "device.l2_lines=maybe"], ["device.l2_lines=maybe: expected one of dirty, clean"],
    ),
    "some profiled cases": (["profile.cases=some"], ["profile.cases=some"]),
    "a metric of ncu's that is none": (["profile.metrics=[dram]"], ["profile.metrics=dram"]),
    "the energy of some cases": (["profile.energy=some"], ["profile.energy=some: expected true, false, all, tied, fastest"]),
    "a tool that the sanitizer lacks": (["profile.sanitizer=leaks"], ["profile.sanitizer=leaks"]),
    "a warm-up of minus one": (["timing.warmup_ms=-1"], ["timing.warmup_ms=-1", "0 to 100000"]),
    # sweeps
    "what Hydra cannot read": (["size=1<<24"], ["size=1<<24: cannot read this override", "size='1<<24'"]),
    "an unfinished sweep": (["block=range(32,129,32"], ["block=range(32,129,32: cannot read this override"]),
    "a value missing at the end": (["block=128,"], ["block=128,: an empty value in the list"]),
    "a power with a caret": (["size=2^20"], ["size=2^20: write powers as 2**20"]),
    "an unknown function": (["block=nope(1)"], ["block=nope(1): cannot read this override"]),
    "a range without steps": (["block=range(1,2,0)"], ["block=range(1,2,0): a range needs"]),
    "an interval": (["block=interval(1,2)"], ["block=interval(1,2): an interval has no steps"]),
    "a mistake beside values": (["block=128,256", "hydra/launcher=gpus", "hydra.launcher.shards=three"], ["hydra.launcher.shards=three: expected an integer"]),
    "values of Hydra's own": (["hydra.job.name=a,b"], ["not supported : 'hydra.job.name=a,b'"]),
    "a single run": (["hydra.mode=RUN"], ["hydra.mode=RUN: cannot be set: one case is a sweep, too"]),
    "a launcher of Hydra's own": (["hydra/launcher=joblib"], ["hydra/launcher=joblib: expected batch, gpus"]),
    # Hydra and its folders
    "a folder in use": (["hydra.sweep.dir=."], ["hydra.sweep.dir=.: not an empty folder; choose a new or an empty one"]),
    "a file in the way": (["hydra.sweep.dir=something.txt"], ["something.txt: not an empty folder"]),
    "a folder within a file": (["hydra.sweep.dir=something.txt/x"], ["cannot make the folder for the results"]),
    "a folder of the system": (["hydra.sweep.dir=/proc/x"], ["/proc/x: cannot make the folder for the results"]),
    "a new key": (
        ["hydra/launcher=slurm", "hydra.launcher.additional_parameters={reservation: x}"],
        ["write +hydra.launcher.additional_parameters.reservation=VALUE"],
    ),
    "no folder": (["hydra.sweep.dir="], ["hydra.sweep.dir=: expected a new or an empty folder"]),
    "a folder's name too long": (["hydra.sweep.dir=" + "a" * 300], ["cannot make the folder for the results: File name too long"]),
    "a folder of another name": (["hydra.sweep.subdir=x"], ["hydra.sweep.dir names"]),
    "another folder": (["hydra.run.dir=x"], ["hydra.run.dir=x", "hydra.sweep.dir names"]),
    "a launcher by the wrong key": (["hydra.launcher=basic"], ["hydra.launcher=basic", "hydra/launcher=NAME"]),
    "no reserved folder": (["hydra.callbacks.reserve=null"], ["hydra.callbacks.reserve=null: cannot be set"]),
    "a number for the sweep": (["hydra.sweeper.params=5"], ["hydra.sweeper.params=5: "]),
    "no such search path": (["hydra.searchpath=[nowhere]"], ["nowhere: there is no such folder"]),
    "no such package": (["hydra.searchpath=[pkg://no_such]"], ["pkg://no_such: there is no such Python package"]),
    # options
    "a misspelt option": (["--dryrun"], ["unrecognized arguments: --dryrun", "did you mean --dry-run?"]),
    "an option without its value": (["--config-dir"], ["--config-dir", "expected one argument"]),
    "an unknown choice of an option": (["--cfg", "nope"], ["invalid choice: 'nope'"]),
    "two modes": (["--run", "--multirun"], ["--run: not supported", "one case is a sweep, too"]),
    "no such folder": (["--config-dir", "nowhere"], ["nowhere: there is no such folder"]),
    "a file for a folder": (["--config-dir", "something.txt"], ["something.txt: there is no such folder"]),
    "a relative configuration": (["--config-path", "nowhere"], ["--config-path nowhere", "absolute path"]),
    "a configuration without a beginning": (["--config-path", "/"], ["/: the main configuration file config.yaml is missing"]),
    "an unknown configuration": (["--config-name", "nope"], ["main configuration file nope.yaml is missing"]),
    "a kernel for a configuration": (["--config-name", "kernel/bcast"], ["kernel/bcast.yaml: a main configuration file needs"]),
    "an old job": (["--experimental-rerun", "nope"], ["--experimental-rerun: not supported"]),
    # what Hydra would take, or trip over
    "too many threads": (["device.threads=1099511627776"], ["device.threads=1099511627776: expected 0 to 4096"]),
    "a version of logging": (["hydra.hydra_logging.version=5"], ["configures no logging"]),
    "a handler of logging": (["+hydra.hydra_logging.handlers.x.class=nope"], ["configures no logging"]),
    "a level of verbosity": (["hydra.verbose=5"], ["configures no logging"]),
    "a long key": (["a." * 3000 + "b=1"], ["a key has at most 200 characters"]),
    "a query without a shell": (["-sc", "query"], ["-sc query: expected install=SHELL"]),
    "a package without --cfg": (["--package", "timing"], ["--package: only --cfg job, hydra or all uses it"]),
    "values of what is not printed": (["--resolve"], ["--resolve: only --cfg job, hydra or all uses it"]),
    "a schema of one kernel": (["show", "--schema", "bcast"], ["--schema is the same for all kernels, so bcast cannot"]),
    "an unknown package": (["--cfg", "all", "-p", "zzz"], ["--package zzz: not a key of the configuration"]),
    # parameters of a kernel's own
    "text for a real number": ([*SCALED, "scale=wide"], ["scale=wide: expected a number such as 8, 2**3, 1.5 or 1e-3"]),
    "no number": ([*SCALED, "scale=nan"], ["scale=nan: expected a number"]),
    "half a repetition": ([*SCALED, "repeats=1.5"], ["repeats=1.5: expected an integer"]),
    "perhaps for a truth value": ([*SCALED, "fused=perhaps"], ["fused=perhaps: expected true or false"]),
    "a truth value for a number": ([*SCALED, "shift=true"], ["shift=true: expected a number such as 1.5"]),
    # launchers
    "no such GPU": ([*GPUS, "hydra.launcher.gpus=[9]"], ["hydra.launcher.gpus=9: no such GPU"]),
    "a GPU of minus one": ([*GPUS, "hydra.launcher.gpus=[-1]"], ["hydra.launcher.gpus=-1: expected a number"]),
    "a GPU twice": ([*GPUS, "hydra.launcher.gpus=[GPU-a,GPU-a]"], ["GPU-a is listed twice"]),
    "no shards": ([*GPUS, "hydra.launcher.shards=0"], ["hydra.launcher.shards=0: expected 1 to 1024"]),
    "no shards, in a plan": ([*GPUS, "hydra.launcher.shards=0", "--dry-run"], ["hydra.launcher.shards=0: expected 1 to 1024"]),
    "no waiting for GPUs": ([*GPUS, "hydra.launcher.wait=false"], ["hydra.launcher.wait"]),
    "a GPU beside those of the launcher": ([*GPUS, "device.index=1"], ["device.index=1: the launcher chooses the GPU"]),
    "a key of a launcher that is none": ([*GPUS, "hydra.launcher.nope=1"], ["hydra.launcher.nope"]),
    "no shards of Slurm, without Slurm": ([*SLURM, "hydra.launcher.shards=0"], ["hydra.launcher.shards="]),
    "no constraint": ([*SLURM, "hydra.launcher.constraint=[]"], ["hydra.launcher.constraint="]),
    "an array of minus three": ([*SLURM, "hydra.launcher.array_parallelism=-3"], ["hydra.launcher.array_parallelism="]),
    # other commands
    "a misspelt subcommand": (["reprot", "latest"], ["reprot: ", "did you mean runner report?"]),
    "another one": (["lst", "latest"], ["lst: ", "did you mean runner list?"]),
    "a misspelt kernel to show": (["show", "transposSmem"], ["transposSmem: ", "did you mean transposeSmem"]),
    "a path to show": (["show", "../kernel/bcast"], ["unknown kernel or experiment"]),
    "a folder to list that is not there": (["list", "nowhere"], ["nowhere: there is no such folder"]),
    "no baseline to judge by": ([*JUDGE], ["--baseline"]),
    "a kernel judged by itself": ([*JUDGE, "--baseline", "saxpy"], ["the same as --kernel"]),
    "several kernels to judge": (["judge", "--kernel", "saxpy,writesPart", "--baseline", "saxpy", *OF_OWN], [""]),
    "a pattern of baselines": ([*JUDGE, "--baseline", "glob(red*)"], [""]),
    "another kernel in an override": ([*JUDGE, "--baseline", "reduceSmem", "kernel=reduceSmem"], [""]),
    # too many cases: their number is known before one is composed
    "a range without end": (["block=range(1,1000000000)"], ["999,999,999 cases (999,999,999 of block), above max_cases=100000"]),
    "a product": (["size=range(1,10001)", "unroll=range(1,10001)"], ["100,000,000 cases (10,000 of size x 10,000 of"]),
    "small steps": (["size=range(0,1,1e-30)"], ["above max_cases=100000"]),
    "a limit of one's own": (["size=1,2,3", "max_cases=2"], ["3 cases (3 of size), above max_cases=2"]),
    "no limit": (["max_cases=0"], ["max_cases=0: expected 1 to 250000"]),
    # hostile words
    "a command": (["block=$(reboot)"], ["block=$(reboot): cannot read this override"]),
    "Python": (["block='__import__(\"os\")'"], ['block=__import__("os"): expected threads per block']),
    "an escape sequence": (["block='\x1b[2J'"], ["block=\\x1b[2J: expected threads per block"]),
    "two lines": (["block='a\nb'"], ["block=a\\nb: expected threads per block"]),
    "no UTF-8": (["kernel=\udcff"], ["kernel=\\udcff: expected up to 64 letters"]),
    "other digits": (["size='\u0661\u0662'"], ["size=\u0661\u0662: expected a number of elements"]),
    "a very long number": (["block=" + "1" * 5000], ["block=111", "111...111", "cannot read this override: Exceeds the limit"]),
    "a very long text": (["block='" + "x" * 5000 + "'"], ["block=xxx", "xxx...: expected threads per block"]),
    "a folder with a long name": (["--config-dir", "x" * 5000], ["xxx...xxx", "x: there is no such folder"]),
}  # fmt: skip


@pytest.mark.parametrize("what", MISTAKES)
def test_a_mistake_is_one_sentence(what, tmp_path):
    """The sentence says what, where and what is allowed; no traceback, no folder, nothing of the user's touched."""
    (tmp_path / "something.txt").write_text("not ours")
    arguments, phrases = MISTAKES[what]
    assert_mistake(tmp_path, arguments, *phrases)


def test_a_link_to_nowhere_is_no_folder_for_results(tmp_path):
    """It is named, not a file that would lie in it."""
    (tmp_path / "link").symlink_to("nowhere")
    assert_mistake(tmp_path, ["hydra.sweep.dir=link", *OF_OWN], "link: is a link to a folder that does not exist")


IN_THE_WAY = {
    "a file": lambda path: path.write_text(""),
    "a link to nowhere": lambda path: path.symlink_to("/nonexistent/scratch"),
    "a link to itself": lambda path: path.symlink_to(path.name),
}


@pytest.mark.parametrize("what", IN_THE_WAY)
def test_something_else_in_the_place_of_outputs_is_a_mistake(what, tmp_path):
    """Where outputs/ cannot be made, it is one sentence, and no endless search for a free name."""
    IN_THE_WAY[what](tmp_path / "outputs")
    assert_mistake(tmp_path, ["device=cpu", "size=10"], "cannot make the folder for the results")


def test_a_mistake_leaves_the_users_outputs(tmp_path):
    """An outputs/ that was there before, and what is in it, stays; the day's folder that was made goes."""
    (tmp_path / "outputs" / "mine").mkdir(parents=True)
    assert_mistake(tmp_path, ["block=abc"], "block=abc: expected threads per block")


# The program, many times over in one process: at each command a file or folder has no permissions.
FORBIDDING = """
import os, sys
from pathlib import Path
from runner.__main__ import main
for name, *line in map(str.split, sys.argv[1:]):
    path = Path(name)
    before = path.stat().st_mode
    path.chmod(0o500 if path.is_dir() else 0)
    sys.argv[1:] = line
    print(main(), flush=True)
    path.chmod(before)
"""
FORBIDDEN = {
    "kernel/saxpy.yaml": "kernel/saxpy.yaml: cannot be read: Permission denied",
    "kernel/saxpy.cu": "saxpy.yaml: source: 'saxpy.cu' cannot be read: Permission denied",
    "experiment/mine.yaml": "experiment/mine.yaml: cannot be read: Permission denied",
    ".": "cannot make the folder for the results: Permission denied",
}


def test_a_file_or_folder_without_permission_is_named(tmp_path):
    """With the system's reason, and nothing is run. Root, who is held to no permissions, gives that up first."""
    free = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"] if os.geteuid() == 0 else []
    if free and (shutil.which("setpriv") is None or subprocess.run([*free, "true"], check=False).returncode):
        pytest.skip("root reads everything, and setpriv cannot take that away here")
    own = Path(__file__).parent / "kernels" / "kernel"
    write_files(
        tmp_path, {f"kernel/saxpy.{ending}": (own / f"saxpy.{ending}").read_bytes() for ending in ("cu", "yaml")}
    )
    write_files(tmp_path, {"experiment/mine.yaml": "# @package _global_\n"})
    lines = [f"{name} --config-dir . kernel=saxpy experiment=mine device=cpu" for name in FORBIDDEN]
    done = subprocess.run(
        [*free, sys.executable, "-c", FORBIDDING, *lines],
        cwd=tmp_path, env=environment(), capture_output=True, text=True, check=True,
    )  # fmt: skip
    for status, error, sentence in zip(done.stdout.split(), done.stderr.splitlines(), FORBIDDEN.values(), strict=True):
        assert_refused(Finished(int(status), "", f"{error}\n", tmp_path), sentence)


def test_help_shows_the_kernels_and_runs_nothing(runner, tmp_path):
    """--help fits a screen: examples, then the kernels' names."""
    done = runner("--help")
    assert done.code == 0
    assert all(re.search(rf"\b{command}\b", done.out) for command in COMMANDS if command != "sweep")
    assert "runner kernel=" in done.out.partition("\nkernels: ")[0]
    assert "reduceShflUnroll" in done.out
    assert len(done.out.splitlines()) <= 40
    assert max(map(len, done.out.splitlines())) <= 80
    assert not (tmp_path / "outputs").exists()


@pytest.mark.parametrize(
    "arguments",
    ["--help", "--info", "--version", "show", "list --help", "-sc install=bash", "--dry-run --quiet device=cpu size=64"],
)  # fmt: skip
def test_a_reader_that_left_is_no_mistake(arguments, tmp_path):
    """`python -m runner --help | head -1` says nothing on stderr, nor does any other command that prints."""
    with start(tmp_path, *arguments.split(), module="runner.__main__") as process:  # adds no argument
        process.stdout.close()
        assert process.stderr.read() == ""
    assert process.returncode in (0, 1)


def test_a_folder_or_a_file_of_another_name_is_named(tmp_path):
    """Where a kernel is not found, the sentence says which folder or which ending is wrong."""
    write_files(tmp_path, {"own/kernel/saxpy.yml": "{}"})
    sentence = "own/kernel/saxpy.yml: rename it to saxpy.yaml"
    assert_mistake(tmp_path, ["--config-dir", "own", "kernel=saxpy"], sentence)
    sentence = "kernel=saxpy: not found, and own/kernel has no folder kernel/"
    assert_mistake(tmp_path, ["--config-dir", "own/kernel", "kernel=saxpy"], sentence)


SURROUNDINGS = {
    "no GPU": ("device=cuda", {}, "device=cuda: "),
    "no compiler on the PATH": ("device=cpu", {"PATH": "/nonexistent", "CXX": ""}, "device=cpu: no C++ compiler found: install g++"),
    "no compiler of that name": ("device=cpu", {"CXX": "no-such-compiler"}, "device=cpu: the C++ compiler 'no-such-compiler' is not there: install g++"),
    "a compiler that does not work": ("device=cpu", {"CXX": "false"}, "device=cpu: the C++ compiler 'false' does not work"),
}  # fmt: skip


@pytest.mark.parametrize("what", SURROUNDINGS)
def test_a_device_that_cannot_be_opened_is_one_sentence(what, tmp_path):
    """It says what is missing, before the run and not in the row of each case."""
    device, variables, sentence = SURROUNDINGS[what]
    assert_mistake(tmp_path, [device, "block=64,128", "size=100"], sentence, CUDA_VISIBLE_DEVICES="", **variables)


def test_a_likely_key_is_the_whole_answer(tmp_path):
    """A misspelt key gets the key that it resembles, and not the list of all keys as well."""
    assert run(tmp_path, "blokc=128").err == "runner: blokc: unknown key; did you mean block?\n"


def test_a_folder_that_is_gone_and_a_file_that_cannot_be_read_are_named(tmp_path):
    """Whichever command is started in a folder that was deleted; an error of reading names the file."""
    gone = tmp_path / "gone"
    script = f"cd {gone} && rmdir {gone} && {sys.executable} -P -m runner"
    for words in ("list", "device=cpu"):
        gone.mkdir()
        done = subprocess.run(
            ["bash", "-c", f"{script} {words}"], capture_output=True, text=True, timeout=60, check=False
        )
        sentence = "runner: the working folder cannot be used: No such file or directory; change to another one\n"
        assert (done.returncode, done.stderr) == (2, sentence)
    done = run(tmp_path, "/proc/self/mem", module="runner.importer")
    assert (done.code, done.err) == (2, "runner: /proc/self/mem: Input/output error\n")
