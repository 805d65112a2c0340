"""Inputs without end: each is refused in one sentence, soon, with little memory, and stops nothing else."""

import os
import subprocess
import sys

import pytest
from processes import environment
from support import ROOT
from test_mistakes_yaml import CU, yaml_of
from told import is_a_told_mistake, lay, run

MOST_MB = 500


def bomb(of: str, link: str) -> str:
    """Nine times nine times nine ... of something small."""
    lines = [f"a0: &a0 {of}"]
    lines += [f"a{i}: &a{i} {link.replace('*', ', '.join([f'*a{i - 1}'] * 9))}" for i in range(1, 10)]
    return "\n".join([*lines, "parameters: *a9", ""])


ALIASES = bomb("[x, x, x]", "[*]")
MANY = "{block: 64, size: 1000, " + ", ".join(f"p{i}: {i}" for i in range(4000)) + "}"

# What the file holds, and words of the sentence.
FILES = {
    "aliases of aliases": (ALIASES, "kernel/mine.yaml: invalid YAML: more than 10,000 values"),
    "merges of merges": (bomb("{k: 1}", "{<<: [*]}"), "kernel/mine.yaml: invalid YAML: more than 10,000 values"),
    "a line of 10 MB": (f"summary: {'a ' * 5_000_000}", "cannot have more than 262,144 bytes"),
    "100,000 brackets": ("[" * 100_000, "kernel/mine.yaml: invalid YAML: nested more than"),
    "4,000 parameters": (yaml_of(parameters=MANY), "parameters: a kernel can have 256, not 4,002"),
    "a number of 5,000 digits": (yaml_of(grid="0x" + "f" * 5000), "a number of 5,002 digits"),
    "a sexagesimal number": (yaml_of(grid=":".join(["1"] * 500)), "a number of 999 digits"),
    "100,000 signs": (yaml_of(grid=f"'{'-' * 100_000}1'"), "has more than 4,000 characters"),
    "references to references": (
        "\n".join(["a0: xxx", *(f"a{i}: ${{a{i - 1}}}${{a{i - 1}}}" for i in range(1, 40))]),
        "a configuration file can refer to 24 values, not 78",
    ),
    "a date": (yaml_of(grid="2020-10-10"), "'2020-10-10' is a date"),
}  # fmt: skip


def measured(directory, *arguments):
    """`python -m runner` in a new process: its status, what it wrote on stderr, and the most memory it had, in MB."""
    with (directory / "err").open("wb") as err:
        command = [sys.executable, "-m", "runner", *arguments]
        process = subprocess.Popen(command, cwd=directory, env=environment(), stdout=subprocess.DEVNULL, stderr=err)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, (directory / "err").read_text(), usage.ru_maxrss // 1024


@pytest.mark.parametrize("name", FILES)
def test_a_yaml_without_end_is_refused(name, tmp_path):
    """A kernel's YAML is limited in bytes, nodes after aliases, nesting, parameters and digits."""
    text, words = FILES[name]
    lay(tmp_path, {"kernel/mine.cu": CU, "kernel/mine.yaml": text})
    is_a_told_mistake(run(tmp_path, "--config-dir", ".", "kernel=mine", "device=cpu"), words)


def test_the_files_of_other_kernels_stop_nothing(tmp_path):
    """A kernel runs beside files that cannot be read, which its configuration does not include."""
    others = {f"kernel/other{i}.yaml": text for i, (text, _) in enumerate(FILES.values())}
    lay(tmp_path, {"kernel/mine.cu": CU, "kernel/mine.yaml": yaml_of(), **others})
    os.mkfifo(tmp_path / "kernel" / "fifo.yaml")
    (tmp_path / "kernel" / "zero.yaml").symlink_to("/dev/zero")
    code, err, megabytes = measured(tmp_path, "--config-dir", ".", "--dry-run", "kernel=mine", "device=cpu")
    assert (code, err) == (0, "")
    assert megabytes < MOST_MB
    is_a_told_mistake(run(tmp_path, "--config-dir", ".", "kernel=zero"), "kernel/zero.yaml: ", "not a regular file")
    left_out = run(tmp_path, "--config-dir", ".", "--dry-run", "kernel=mine,fifo", "device=cpu")
    assert "not a regular file; this kernel is left out" in left_out.err
    assert "1 case to run" in left_out.out


def test_every_file_that_hydra_reads_is_limited(tmp_path):
    """An experiment may include a file that the command line does not name."""
    header = "# @package _global_\n"
    lay(tmp_path, {"experiment/a.yaml": f"{header}defaults: [b]\n", "experiment/b.yaml": header + ALIASES})
    is_a_told_mistake(run(tmp_path, "--config-dir", ".", "experiment=a"), "experiment/b.yaml: ", "more than 10,000")


SWEEPS = {
    "a range": (["block=range(1,1000000000)"], "999,999,999 cases (999,999,999 of block), above max_cases=100000"),
    "a product": (["size=range(1,10001)", "unroll=range(1,10001)"], "100,000,000 cases (10,000 of size x 10,000 of"),
    "small steps": (["size=range(0,1,1e-30)"], "above max_cases=100000"),
    "an experiment": (["experiment=many"], f"(999,999,999 of size x {len(list((ROOT / 'conf' / 'kernel').glob('*.yaml')))} of kernel)"),
    "a limit of one's own": (["size=1,2,3", "max_cases=2"], "3 cases (3 of size), above max_cases=2"),
    "no limit": (["max_cases=0"], "max_cases=0: expected 1 to 250000"),
}  # fmt: skip


@pytest.mark.parametrize("name", SWEEPS)
def test_too_many_cases_are_counted_and_refused(name, tmp_path):
    """The number is known before a case is composed; nothing is left behind."""
    arguments, words = SWEEPS[name]
    many = "# @package _global_\nhydra:\n  sweeper:\n    params: {size: 'range(1,1000000000)', kernel: glob(*)}\n"
    lay(tmp_path, {"experiment/many.yaml": many})
    is_a_told_mistake(run(tmp_path, "--config-dir", ".", "device=cpu", *arguments), words)


def test_a_long_list_makes_as_many_cases(tmp_path):
    """Three thousand values are planned in one command, which says how far it is."""
    values = ",".join(map(str, range(1, 3001)))
    done = run(tmp_path, "--dry-run", "device=cpu", f"size={values}")
    assert "3,000 cases to run" in done.out, done.err


WORDS = {
    "too many threads": (["device.threads=1099511627776"], "device.threads=1099511627776: expected 0 to 4096"),
    "a version of logging": (["hydra.hydra_logging.version=5"], "configures no logging"),
    "a handler of logging": (["+hydra.hydra_logging.handlers.x.class=nope"], "configures no logging"),
    "a long key": (["a." * 3000 + "b=1"], "a key has at most 200 characters"),
    "a level of verbosity": (["hydra.verbose=5"], "configures no logging"),
    "a query without a shell": (["-sc", "query"], "-sc: expected install=SHELL"),
    "callbacks switched off": (["experiment=off"], "hydra.callbacks: cannot be set"),
    "callbacks replaced": (["experiment=replaced"], "hydra.callbacks: cannot be set"),
}  # fmt: skip


@pytest.mark.parametrize("name", WORDS)
def test_what_hydra_would_take_or_trip_over_is_refused(name, tmp_path):
    """Options and keys of Hydra's get a sentence, too."""
    arguments, words = WORDS[name]
    own = "# @package _global_\nhydra: {callbacks: {reserve: %s}}\n"
    callback = "{_target_: hydra.experimental.callback.Callback}"
    lay(tmp_path, {"experiment/off.yaml": own % "null", "experiment/replaced.yaml": own % callback})
    is_a_told_mistake(run(tmp_path, "--config-dir", ".", *arguments), words)


def test_an_unknown_package_is_a_mistake(tmp_path):
    """The sentence names the part that the configuration lacks."""
    is_a_told_mistake(run(tmp_path, "--cfg", "all", "-p", "zzz"), "--package zzz: not a key of the configuration")
