"""Mistakes in files: one sentence that names the file, status 2, nothing run, nothing left behind."""

import os
from pathlib import Path

import pytest
from fuzzing import bomb
from mistakes import assert_mistake, assert_refused, write_files
from processes import run
from support import MINE_CU as CU
from support import SHIPPED
from support import mine_yaml as yaml_of

MINE = ("--config-dir", ".", "kernel=mine", "device=cpu")


def test_the_kernel_without_a_mistake_runs(tmp_path):
    """What the tables below spoil is sound."""
    write_files(tmp_path, {"kernel/mine.cu": CU, "kernel/mine.yaml": yaml_of()})
    done = run(tmp_path, *MINE)
    assert done.code == 0, done.err


FILLED = "{block: 64, size: 1000, fill: banana}"


@pytest.mark.parametrize(
    "text", [yaml_of() + "grid: 2\n", "{parameters: [", yaml_of(nope=1), yaml_of(parameters=FILLED)]
)
def test_a_kernel_with_a_mistake_is_left_out_of_a_sweep(text, tmp_path):
    """The other kernels run; a key that stands twice is such a mistake, too."""
    write_files(
        tmp_path, {"kernel/mine.cu": CU, "kernel/mine.yaml": yaml_of(), "kernel/bad.cu": CU, "kernel/bad.yaml": text}
    )
    done = run(tmp_path, "--config-dir", ".", "kernel=mine,bad", "device=cpu", "--dry-run")
    assert "mine" in done.out
    assert "bad.yaml" in done.err
    assert done.code == 2


MANY = "{block: 64, size: 1000, " + ", ".join(f"p{i}: {i}" for i in range(4000)) + "}"

# What the file holds, and a phrase of the sentence.
DOCUMENTS = {
    "empty": ("", "mine.yaml is empty"),
    "a list": ("- parameters\n- grid\n", "kernel/mine.yaml: expected a mapping (key: value), not '['parameters', 'grid']'"),
    "two documents": ("a: 1\n---\nb: 2\n", "kernel/mine.yaml, line 2, column 1: invalid YAML"),
    "an open brace": ("{parameters: [", "kernel/mine.yaml, line 1, column 15: invalid YAML"),
    "a tab": ("parameters:\n\tblock: 1\n", "kernel/mine.yaml, line 2, column 1: invalid YAML"),
    "a key twice": (yaml_of() + "grid: 2\n", "invalid YAML: found duplicate key grid"),
    "an anchor that is none": ("grid: *nope\n", "invalid YAML: found undefined alias 'nope'"),
    "an anchor within itself": ("a: &a [*a]\n", "kernel/mine.yaml: invalid YAML: contains *a, which refers to a value that contains it"),
    "a list for a key": ("? [a]\n: 1\n", "kernel/mine.yaml, line 1, column 3: invalid YAML"),
    "no key": ("null: 1\n", "kernel/mine.yaml: null cannot be a key"),
    "a merge of nothing": ("<<: 5\n", "kernel/mine.yaml, line 1, column 5: invalid YAML"),
    "an object of Python's": ("!!python/object/apply:os.abort []\n", "invalid YAML: could not determine a constructor"),
    "a tag that lies": ("a: !!int x\n", "kernel/mine.yaml: invalid YAML: invalid literal for int()"),
    "a control character": ("summary: \x07\n", "kernel/mine.yaml: invalid YAML: unacceptable character"),
    "another encoding": ("summary: été\n".encode("latin-1"), "kernel/mine.yaml: invalid YAML: expected UTF-8 text, but 'utf-8' codec"),
    "an interpolation": (yaml_of(summary="${nope}"), "kernel.summary: "),
    "a file that is not there": ("defaults: [nope]\n", "Could not load 'kernel/nope'"),
    "itself": ("defaults: [mine]\n", "includes itself"),
    # files without end
    "aliases of aliases": (bomb(), "kernel/mine.yaml: invalid YAML: has more than 10,000 values"),
    "merges of merges": (bomb("{k: 1}", "{<<: [*]}"), "kernel/mine.yaml: invalid YAML: has more than 10,000 values"),
    "a line of 10 MB": (f"summary: {'a ' * 5_000_000}", "cannot have more than 262,144 bytes"),
    "100,000 brackets": ("[" * 100_000, "kernel/mine.yaml: invalid YAML: is nested more than"),
    "4,000 parameters": (yaml_of(parameters=MANY), "parameters: a kernel can have at most 256, not 4,002"),
    "a number of 5,000 digits": (yaml_of(grid="0x" + "f" * 5000), "a number with 5,002 characters"),
    "a sexagesimal number": (yaml_of(grid=":".join(["1"] * 500)), "a number with 999 characters"),
    "100,000 signs": (yaml_of(grid=f"'{'-' * 100_000}1'"), "has more than 4,000 characters"),
    "references to references": (
        "\n".join(["a0: xxx", *(f"a{i}: ${{a{i - 1}}}${{a{i - 1}}}" for i in range(1, 40))]),
        "a configuration file can refer to at most 24 values, not 78",
    ),
    "a date": (yaml_of(grid="2020-10-10"), "'2020-10-10' is a date"),
}  # fmt: skip


@pytest.mark.parametrize("what", DOCUMENTS)
def test_a_file_that_is_no_kernels_yaml_is_told(what, tmp_path):
    """Whatever a file holds, its name is told, and the line where the YAML goes wrong."""
    content, sentence = DOCUMENTS[what]
    write_files(tmp_path, {"kernel/mine.cu": CU, "kernel/mine.yaml": content})
    assert_mistake(tmp_path, MINE, sentence)


def test_a_file_whose_name_no_kernel_has_is_told_where_a_pattern_finds_it(tmp_path):
    """The sentence tells the file's name and what a kernel's name may be."""
    write_files(tmp_path, {"kernel/mine.cu": CU, "kernel/mine.yaml": yaml_of(), "kernel/mineé.yaml": yaml_of()})
    pattern = ("--config-dir", ".", "kernel=glob(mine*)", "device=cpu")
    assert_mistake(tmp_path, pattern, "kernel=mineé: expected up to 64 letters, digits and _")


# What lies there instead of which file, and a phrase of the sentence.
FILES = {
    "a folder": ("mine.yaml", Path.mkdir, "kernel/mine.yaml: cannot be read: Is a directory"),
    "a dangling link": ("mine.yaml", lambda p: p.symlink_to("nowhere"), "kernel/mine.yaml: cannot be read: No such file"),
    "a link to itself": ("mine.yaml", lambda p: p.symlink_to(p.name), "kernel/mine.yaml: cannot be read: Too many levels"),
    "no source": ("mine.cu", lambda _: None, "mine.yaml: source: the file 'mine.cu' was not found"),
    "a source that leads to itself": ("mine.cu", lambda p: p.symlink_to(p.name), "mine.yaml: source: 'mine.cu' cannot be read"),
    "a source of 10 GB": ("mine.cu", lambda p: p.touch() or os.truncate(p, 10 << 30), "larger than 4 MiB"),
    "an empty source": ("mine.cu", lambda p: p.write_text(" \n"), "mine.yaml: source: 'mine.cu' is empty"),
}  # fmt: skip


@pytest.mark.parametrize("what", FILES)
def test_what_is_no_file_is_told(what, tmp_path):
    """A folder, a link, or nothing in the place of a file is told by its name."""
    spoilt, make, sentence = FILES[what]
    write_files(tmp_path, {"kernel/mine.cu": CU, "kernel/mine.yaml": yaml_of()})
    (tmp_path / "kernel" / spoilt).unlink()
    make(tmp_path / "kernel" / spoilt)
    assert_mistake(tmp_path, MINE, sentence)


# What is written for which key, and a phrase of the sentence.
KERNELS = {
    "a misspelt key": ({"argumnets": "[]"}, "mine.yaml: 'argumnets' is not a valid key; did you mean arguments?"),
    "a fill of an output": ({"arguments": "[{name: out, role: out, dtype: int32, shape: size, fill: zeros}]"}, "mine.yaml: arguments[0]: fill: not allowed with role 'out', as such an array has no content before a launch"),
    "a value without a type": ({"arguments": "[{name: n, value: size}]"}, "mine.yaml: arguments[0]: a value needs its type, as in {name: n, scalar: int32, value: size}"),
    "a type of C": ({"arguments": "[{name: out, role: out, dtype: unsigned char, shape: size}]"}, "argument 'out': 'unsigned char' is not a dtype; did you mean uint8?; allowed: int32"),
    "a file with an escape": ({"source": '"\\e[31m"'}, "mine.yaml: source: the file '\\x1b[31m' was not found"),
    "a macro of two lines": ({"macros": '{"BLOCK\\n#error": 1}'}, "mine.yaml: macros: 'BLOCK\\n#error': expected a name of letters"),
    "a division by zero": ({"grid": "size // 0"}, "'size // 0' cannot be evaluated: integer division or modulo by zero"),
    "a family that is no YAML": ({"family": "torn"}, "family/torn.yaml, line "),
    "a baseline that is not there": ({"baseline": "nokernel"}, "mine.yaml: baseline: kernel 'nokernel' not found"),
    "a family that is there twice": ({"family": "reduction"}, "family/reduction.yaml: there is a family reduction in"),
}  # fmt: skip


@pytest.mark.parametrize("what", KERNELS)
def test_a_broken_kernel_is_told(what, tmp_path):
    """The sentence names the file, the key, what stands there, and what is allowed."""
    lines, sentence = KERNELS[what]
    write_files(tmp_path, {"kernel/mine.cu": CU, "kernel/mine.yaml": yaml_of(**lines)})
    write_files(tmp_path, {"family/torn.yaml": "a: [", "family/reduction.yaml": "finish: host\n"})
    assert_mistake(tmp_path, MINE, sentence)


GLOBAL = "# @package _global_\n"
SWEEP = f"{GLOBAL}hydra: {{sweeper: {{params: %s}}}}\n"
EXPERIMENTS = {
    "no header": ("block: 64\n", "experiment/mine.yaml: an experiment must begin with '# @package _global_', not 'block: 64'"),
    "empty": ("", "experiment/mine.yaml: an experiment must begin with '# @package _global_'"),
    "a number": ("5\n", "experiment/mine.yaml: expected a mapping (key: value), not '5'"),
    "an open quote": (f"{GLOBAL}block: '64\n", "experiment/mine.yaml, line 3, column 1: invalid YAML"),
    "a misspelt key": (f"{GLOBAL}blokc: 64\n", "experiment/mine.yaml: blokc: unknown key; did you mean block?"),
    "text for a seed": (f"{GLOBAL}seed: abc\n", "experiment/mine.yaml: seed: expected an integer, not 'abc'"),
    "a kernel's key": (f"{GLOBAL}kernel: {{grid: 1}}\n", "experiment/mine.yaml: kernel: an experiment chooses a kernel by"),
    "a device's name": (f"{GLOBAL}device: cpu\n", "experiment/mine.yaml: device: expected a mapping (key: value), not 'cpu'"),
    "an unknown key of the device": (f"{GLOBAL}device: {{colour: red}}\n", "experiment/mine.yaml: device.colour"),
    "an experiment": (f"{GLOBAL}experiment: other\n", "experiment/mine.yaml: experiment: an experiment cannot choose another"),
    "an unknown kernel": (f"{GLOBAL}defaults: [override /kernel: nope]\n", "kernel=nope: unknown kernel"),
    "a kernel without override": (f"{GLOBAL}defaults: [/kernel: bcast]\n", "kernel: chosen twice"),
    "a launcher": (f"{GLOBAL}defaults: [override /hydra/launcher: gpus]\n", "experiment/mine.yaml: hydra/launcher: "),
    "a kernel without a slash": (f"{GLOBAL}defaults: [override kernel: bcast]\n", "In 'experiment/mine': "),
    "itself": (f"{GLOBAL}defaults: [mine]\n", "includes itself"),
    "a misspelt key in a sweep": (SWEEP % "{blokc: '64,128'}", "blokc: unknown key; did you mean block?"),
    "a list in a sweep": (SWEEP % "{block: [64, 128]}", "block=[64, 128]: expected threads per block"),
    "null in a sweep": (SWEEP % "{block: null}", "mine.yaml: hydra.sweeper.params.block: "),
    "an interval": (SWEEP % "{block: 'interval(1,9)'}", "block=interval(1,9): an interval has no steps"),
    "a sweep over a kernel's key": (SWEEP % "{kernel.grid: '1,2'}", "kernel.grid=1: an override cannot change a kernel"),
    "a pattern that matches nothing": (SWEEP % "{kernel: 'glob(nope*)'}", "matches no name"),
    "a sweep that is a number": (SWEEP % "5", "mine.yaml: hydra.sweeper.params: "),
    "a misspelt key of Hydra's": (f"{GLOBAL}hydra: {{sweper: 1}}\n", "mine.yaml: hydra.sweper: unknown key of Hydra"),
    "a parameter that is none": (f"{GLOBAL}on_cpu: {{nope: 5}}\n", "on_cpu.nope: no kernel on the search path"),
    "a parameter that is swept": (SWEEP % "{block: '64,128'}" + "on_cpu: {block: 64}\n", "on_cpu.block: the experiment sweeps block"),
    "Hydra by a number": (f"{GLOBAL}hydra: 5\n", "experiment/mine.yaml: hydra: expected a mapping (key: value), not '5'"),
    "a sweep of too many cases": (SWEEP % "{seed: 'range(1,1000000000)', kernel: glob(*)}", f"(999,999,999 of seed x {len(SHIPPED)} of kernel)"),
    "callbacks switched off": (f"{GLOBAL}hydra: {{callbacks: {{reserve: null}}}}\n", "hydra.callbacks: cannot be set"),
    "callbacks replaced": (f"{GLOBAL}hydra: {{callbacks: {{reserve: {{_target_: x.Y}}}}}}\n", "hydra.callbacks: cannot be set"),
    "a file that it includes, without end": (f"{GLOBAL}defaults: [aliases]\n", "experiment/aliases.yaml: invalid YAML: has more than 10,000"),
}  # fmt: skip


@pytest.mark.parametrize("what", EXPERIMENTS)
def test_a_broken_experiment_is_told(what, tmp_path):
    """An experiment that cannot be understood is told with its name, or with the value in it."""
    content, sentence = EXPERIMENTS[what]
    write_files(tmp_path, {"experiment/mine.yaml": content, "experiment/aliases.yaml": GLOBAL.encode() + bomb()})
    assert_mistake(tmp_path, ["--config-dir", ".", "experiment=mine", "device=cpu", "size=100"], sentence)


NAMES = {
    "a hyphen": "my-kernel",
    "markup": "[red]",
    "another alphabet": "Kärnel",
    "seventy letters": "x" * 70,
}


@pytest.mark.parametrize("what", NAMES)
def test_a_name_that_no_function_can_have_is_told(what, tmp_path):
    """A kernel's file is called as its function is, so not every name will do."""
    name = NAMES[what]
    write_files(tmp_path, {f"kernel/{name}.cu": CU, f"kernel/{name}.yaml": yaml_of()})
    sentence = f"'{name}' is not a valid kernel name; allowed: up to 64 letters"
    assert_mistake(tmp_path, ["--config-dir", ".", f"kernel='{name}'", "device=cpu"], sentence)


GROUPS = {
    "a device": ("device", "colour: red\n", "device/mine.yaml: device.colour: unknown key"),
    "a device of no kind": ("device", "kind: gpu\n", "device.kind=gpu: expected one of auto, cuda, cpu"),
    "a timing": ("timing", "cpu_samples: x\n", "timing/mine.yaml: timing.cpu_samples: expected an integer from 1 to 100000, not 'x'"),
    "a timing that is a list": ("timing", "- a\n", "timing/mine.yaml: expected a mapping (key: value)"),
}  # fmt: skip


@pytest.mark.parametrize("what", GROUPS)
def test_a_broken_file_of_a_group_is_told(what, tmp_path):
    """A device or a timing of one's own is held to the same keys."""
    group, content, sentence = GROUPS[what]
    write_files(tmp_path, {f"{group}/mine.yaml": content})
    assert_mistake(tmp_path, ["--config-dir", ".", f"{group}=mine"], sentence)


BEGINNINGS = {
    "an open quote": ("a: 'x\n", "config.yaml, line 2, column 1: invalid YAML"),
    "empty": ("", "config.yaml: a main configuration file needs the key 'defaults'"),
}


@pytest.mark.parametrize("what", BEGINNINGS)
def test_a_broken_beginning_is_told(what, tmp_path):
    """The config.yaml of a folder given by --config-path is held to be one."""
    content, sentence = BEGINNINGS[what]
    write_files(tmp_path, {"config.yaml": content})
    assert_mistake(tmp_path, ["--config-path", str(tmp_path)], sentence)


def test_a_kernel_of_ones_own_replaces_a_shipped_one_of_its_name(tmp_path):
    """Which is told. The folder cannot hold a config.yaml as well, since Hydra would begin there."""
    write_files(
        tmp_path, {"kernel/reduceShfl.cu": CU.replace("mine", "reduceShfl"), "kernel/reduceShfl.yaml": yaml_of()}
    )
    done = run(tmp_path, "--config-dir", ".", "kernel=reduceShfl,reduceSmem", "size=1000", "device=cpu")
    assert done.code == 0, done.err
    told = f"kernel=reduceShfl: {tmp_path}/kernel/reduceShfl.yaml replaces "
    assert told in (done.out + done.err).replace("./kernel", f"{tmp_path}/kernel")
    assert (done.folder / "sources" / "conf" / "kernel" / "reduceShfl.yaml").read_text().endswith(yaml_of())
    write_files(tmp_path / "other", {"kernel/reduceShfl.yaml": yaml_of(), "config.yaml": "{}"})
    sentence = "config.yaml: a folder with a kernel that replaces one of the runner's cannot hold this file"
    assert_mistake(tmp_path / "other", ["--config-dir", ".", "kernel=reduceShfl"], sentence)


def test_a_broken_kernel_stops_no_other_one(tmp_path):
    """It is left out of a sweep of several, and told; --help tells it, too. Alone, it is a mistake as before."""
    broken = {
        "unreadable": "a: [1",
        "incomplete": "parameters: {block: 64, Tile: 3}\n",
        "zero": yaml_of(grid="1 // (size - 1000)", source="mine.cu"),
    }
    files = {f"kernel/{name}.yaml": text for name, text in broken.items()}
    write_files(tmp_path, {"kernel/mine.cu": CU, "kernel/mine.yaml": yaml_of(), **files})
    names = "unreadable,mine,incomplete,zero"
    done = run(tmp_path, "--config-dir", ".", f"kernel={names}", "device=cpu", "block=32,64")
    assert done.code == 2
    assert (done.folder / "results.csv").read_text().count(",ok,") == 2
    said = done.out + done.err
    assert said.count("this kernel is left out") == 3
    for words in (
        "unreadable.yaml, line 1",
        "incomplete.yaml: the key 'arguments' is missing",
        "zero.yaml: grid: '1 //",
    ):
        assert words in said
    assert done.err.endswith("runner: left out, for the reasons above: unreadable, incomplete, zero\n")
    helped = run(tmp_path, "--config-dir", ".", "--help").out
    assert "cannot be run: incomplete.yaml: the key 'arguments' is missing" in helped


def test_the_files_of_other_kernels_stop_nothing(tmp_path):
    """A kernel runs beside files without end, which its configuration does not include, and in little memory."""
    others = {f"kernel/other{i}.yaml": text for i, (text, _) in enumerate(DOCUMENTS.values())}
    write_files(tmp_path, {"kernel/mine.cu": CU, "kernel/mine.yaml": yaml_of(), **others})
    os.mkfifo(tmp_path / "kernel" / "fifo.yaml")
    (tmp_path / "kernel" / "zero.yaml").symlink_to("/dev/zero")
    done = run(tmp_path, *MINE, "--dry-run", MEMORY_MIB="300")
    assert (done.code, done.err) == (0, "")
    assert_refused(run(tmp_path, "--config-dir", ".", "kernel=zero"), "kernel/zero.yaml: ", "not a regular file")
    done = run(tmp_path, "--config-dir", ".", "--dry-run", "kernel=mine,fifo", "device=cpu")
    assert "not a regular file; this kernel is left out" in done.err
    assert "1 case to run" in done.out


def test_a_sweep_of_broken_kernels_alone_is_a_mistake(tmp_path):
    """Nothing is run, and the first one is told."""
    write_files(tmp_path, {"kernel/one.yaml": "a: [1", "kernel/two.yaml": "parameters: {block: 64}\n"})
    assert_mistake(tmp_path, ["--config-dir", ".", "kernel=two,one"], "two.yaml: the key 'arguments' is missing")
