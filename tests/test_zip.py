"""Paired values: the key `zip` of an experiment or a command line."""

import json

import pytest
from mistakes import assert_refused, write_files
from outcomes import rows as table
from support import MINE_CU as CU
from support import mine_yaml as yaml_of

EXPERIMENT = """# @package _global_
defaults:
  - override /kernel: mine
zip: {block: [64, 128, 96], size: [1Ki, 2**9, 700]}
on_cpu: {tile: 3}
hydra: {sweeper: {params: {wide: '5,6'}}}
"""
MINE = ("--config-dir", ".", "kernel=mine", "device=cpu", "lines=none", "racecheck=none")


@pytest.fixture
def mine(runner, tmp_path):
    """Run the kernel `mine`, which has a few parameters."""
    parameters = "{block: 64, size: 1000, tile: 1, wide: 1, fast: false, mode: {default: a, allowed: [a, b]}}"
    files = {
        "kernel/mine.cu": CU,
        "kernel/mine.yaml": yaml_of(parameters=parameters),
        "experiment/pairs.yaml": EXPERIMENT,
    }
    write_files(tmp_path, files)
    return lambda *words: runner(*MINE, *words)


def pairs(folder, *names):
    """The values of these columns, in the order of the jobs."""
    return [tuple(row[name] for name in names) for row in table(folder)]


def newest(done):
    """The folder of a command, the last of several."""
    assert done.code == 0, done.err
    return max(done.directory.glob("outputs/*/*"), key=lambda path: path.stat().st_ctime_ns)


def test_an_experiment_pairs_values(runner, mine, tmp_path):
    """Each pair is combined with what is swept; the run is repeated as it was."""
    done = runner("--config-dir", ".", "experiment=pairs", "device=cpu", "lines=none", "racecheck=none")
    assert done.code == 0, done.err
    each = [("64", "1024", "3"), ("128", "512", "3"), ("96", "700", "3")]
    assert pairs(done.folder, "block", "size", "tile", "wide") == [(*pair, wide) for wide in "56" for pair in each]
    assert "6 same" in runner(str(done.folder), module="runner.repeat").out


def test_the_command_line_pairs_values(mine):
    """The same form in Hydra's grammar, with numbers, words, truth values and seeds."""
    done = mine("zip={block:[64,128],mode:[a,b],fast:[true,false],seed:[4,5],size:[1Ki,'2**9']}", "tile=1,2")
    assert done.code == 0, done.err
    one, other = ("64", "a", "true", "4", "1024"), ("128", "b", "false", "5", "512")
    assert pairs(done.folder, "block", "mode", "fast", "seed", "size", "tile") == [
        (*one, "1"), (*other, "1"), (*one, "2"), (*other, "2"),
    ]  # fmt: skip
    assert json.loads((done.folder / "verdict.json").read_text())


def test_the_command_line_replaces_the_lists_of_an_experiment(mine):
    """`zip` gives other lists, `+zip.NAME` adds one, `zip=null` leaves them out."""
    other = mine("experiment=pairs", "zip={block:[32,96],size:[7,8]}", "wide=5")
    assert pairs(newest(other), "block", "size") == [("32", "7"), ("96", "8")]
    more = mine("experiment=pairs", "+zip.mode=[a,b,b]", "wide=5")
    assert pairs(newest(more), "block", "mode") == [("64", "a"), ("128", "b"), ("96", "b")]
    none = mine("experiment=pairs", "zip=null", "wide=5")
    assert pairs(newest(none), "block", "size") == [("64", "1000")]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            ["zip={block:[64,128],size:[9]}"],
            "zip: values are paired, so all lists need the same length: block has 2, size has 1",
        ),
        (["zip={block:[64,128]}", "block=96"], "block=96: the key zip pairs the values of block already"),
        (["zip={block:[64,128]}", "block=96,32"], "block=96,32: the key zip pairs the values of block already"),
        (["zip={blokc:[64,128]}"], "zip.blokc: no kernel on the search path declares a parameter of that name"),
        (["zip={kernel:[mine]}"], "zip.kernel: no kernel on the search path declares a parameter of that name"),
        (["zip={block:64}"], "zip.block: expected the values of block, such as [64, 128], not 64"),
        (["zip={block:[]}"], "zip.block: expected the values of block, such as [64, 128], not []"),
        (["zip=block,size"], "zip=block,size: expected {first: [64, 128], second: [32, 64]}"),
        (["zip=3"], "zip=3: expected {first: [64, 128], second: [32, 64]}"),
        (["zip.block=[1]"], "zip.block: not set yet; write +zip.block=... to add it"),
        (
            ["zip={block:[64,128]}", "hydra/sweeper=search", "size=9,10"],
            "zip: a search varies each parameter by itself",
        ),
        (["zip={block:[64,128]}", "size=9,10", "max_cases=3"], "(2 of zip x 2 of size), above max_cases=3"),
        (["experiment=pairs", "zip={tile:[1,2,3]}"], "+zip.NAME=[1,2] adds it"),
    ],
)
def test_what_cannot_be_paired_is_one_sentence(words, sentence, mine):
    """Lists of different lengths, parameters that are set twice, and other forms."""
    assert_refused(mine(*words), sentence)


def test_a_pair_of_an_experiment_and_on_cpu_exclude_each_other(mine, tmp_path):
    """As for what it sweeps: both cannot count."""
    write_files(tmp_path, {"experiment/pairs.yaml": EXPERIMENT.replace("tile: 3", "size: 3")})
    assert_refused(mine("experiment=pairs"), "on_cpu.size: the experiment sweeps size; on_cpu cannot set it, too")
