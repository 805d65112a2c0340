"""What a user can get wrong on the command line: one sentence, status 2, nothing run, nothing left behind."""

import pytest

MISTAKES = {
    "a misspelt key": (["blokc=128"], "did you mean block?"),
    "an unknown kernel": (["kernel=reduceShlf"], "did you mean reduceShfl?"),
    "an unknown device": (["device=gpu"], "one of auto, cpu, cuda is expected"),
    "an unknown experiment": (["experiment=nope"], "seed_reductions"),
    "a value of the wrong type": (["block=abc"], "block=abc: threads per block"),
    "one of several values": (["block=128,abc"], "block=abc"),
    "a list": (["block=[1,2]"], "block=[1, 2]"),
    "a group's field": (["device=cpu", "device.threads=x"], "device.threads"),
    "too few samples": (["timing.samples_cpu=1"], "3 to 100000 is expected"),
    "no time": (["device.time_limit_s=0"], "above 0, up to 86400"),
    "an added key": (["+foo=1"], "+foo"),
    "a changed kernel": (["kernel.grid=1"], "--config-dir"),
    "no such folder": (["--config-dir", "nowhere"], "nowhere: there is no such folder"),
    "no such search path": (["hydra.searchpath=[nowhere]"], "nowhere: there is no such folder"),
    "an interpolation to nothing": (["size=${nope}"], "nope"),
    "what Hydra cannot read": (["size=1<<24"], "size='1<<24'"),
    "an unfinished sweep": (["block=range(32,129,32"], "cannot be read"),
    "a pattern that matches nothing": (["kernel=glob(nope*)"], "matches no name"),
    "a mask of 33 bits": (["mask=0x1ffffffff"], "32 lanes"),
    "a negative seed": (["seed=-1"], "seed=-1"),
    "an ambiguous number": (["size=010"], "size=010"),
    "an unknown dtype": (["dtype=float8"], "one of int32"),
    "a folder in use": (["hydra.sweep.dir=."], "there is something there already"),
    "a folder of another name": (["hydra.sweep.subdir=x"], "hydra.sweep.dir chooses"),
    "a misspelt fill": (["fill=ones,randon"], "fill=randon: one of"),
    "a file in the way": (["hydra.sweep.dir=something.txt"], "there is something there already"),
    "no end of time": (["device.time_limit_s=inf"], "up to 86400"),
    "a parameter for the CPU device alone": (["on_cpu={size: 3}"], "give the parameter itself"),
    "hostile text": (["block=$(reboot)"], "cannot be read"),
    "a very long value": (["block=" + "1" * 5000], "cannot be read"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_one_sentence(mistake, runner, tmp_path):
    """The sentence says what, where and what is allowed; no traceback, no folder."""
    (tmp_path / "something.txt").write_text("not ours")
    arguments, told = MISTAKES[mistake]
    done = runner(*arguments)
    assert done.code == 2, done.err
    assert told in done.err
    assert done.err.startswith("runner: ")
    assert done.err.strip().count("\n") == 0
    assert len(done.err) < 600
    assert not list(tmp_path.glob("outputs/*/*"))
    assert (tmp_path / "something.txt").read_text() == "not ours"


YAML_MISTAKES = {
    "no YAML": ("{parameters: [", "this is no YAML"),
    "a reserved name": ("parameters: {status: 1}", "'status' is reserved"),
    "no grid": ("parameters: {block: 1}\narguments: []\nreference: a.b", "the key 'grid' is missing"),
    "no such reference": (
        "parameters: {}\narguments: [{name: n, scalar: int32, value: 1}]\ngrid: 1\nreference: no.such",
        "no.such: ModuleNotFoundError",
    ),
    "a keyword": ("parameters: {lambda: 1}", "means something else in expressions"),
    "a division by zero": (
        "{parameters: {zero: 0}, arguments: [{name: y, role: out, dtype: int32, shape: 1}], grid: 1, operations: 1 // zero, reference: {y: zero}}",
        "cannot be evaluated",
    ),
    "empty": ("", "mine"),
    "a tab": ("parameters:\n\t{}", "this is no YAML"),
}


@pytest.mark.parametrize("mistake", YAML_MISTAKES)
def test_a_broken_kernel_yaml_is_one_sentence(mistake, runner, tmp_path):
    """A kernel's YAML that cannot be understood is told with its name, and nothing is run."""
    content, told = YAML_MISTAKES[mistake]
    (tmp_path / "kernel").mkdir()
    (tmp_path / "kernel" / "mine.yaml").write_text(content)
    (tmp_path / "kernel" / "mine.cu").write_text("")
    done = runner("--config-dir", ".", "kernel=mine")
    assert done.code == 2, done.err
    assert told in done.err
    assert "mine" in done.err
    assert "Traceback" not in done.err
    assert done.err.strip().count("\n") == 0
    assert not list(tmp_path.glob("outputs/*/*"))


def test_a_yaml_that_is_no_utf_8_is_named(runner, tmp_path):
    """A file in another encoding is told by its name, not as a fault of the command line."""
    (tmp_path / "kernel").mkdir()
    (tmp_path / "kernel" / "mine.yaml").write_bytes("summary: \u00e9t\u00e9".encode("latin-1"))
    done = runner("--config-dir", ".", "kernel=mine")
    assert done.code == 2
    assert "kernel/mine.yaml: this is no UTF-8 text" in done.err
    assert done.err.count("\n") == 1


def test_outputs_that_lead_nowhere_are_told(runner, tmp_path):
    """A dangling link in the place of outputs/ is one sentence, and no endless search for a free name."""
    (tmp_path / "outputs").symlink_to("/nonexistent/scratch")
    done = runner("device=cpu", "size=10", timeout=20)
    assert done.code == 2
    assert "the folder for the results cannot be made" in done.err


def test_a_taken_name_is_told(runner, tmp_path):
    """A kernel of one's own cannot hide one of ours; Hydra would silently take ours."""
    (tmp_path / "kernel").mkdir()
    (tmp_path / "kernel" / "reduceShfl.yaml").write_text("{}")
    done = runner("--config-dir", ".", "kernel=reduceShfl")
    assert done.code == 2
    assert "there is a kernel reduceShfl already" in done.err


def test_help_shows_the_kernels_and_runs_nothing(runner, tmp_path):
    """--help lists what can be chosen."""
    done = runner("--help")
    assert done.code == 0
    assert "reduceShflUnroll" in done.out
    assert not (tmp_path / "outputs").exists()


def test_a_device_that_is_not_there_is_one_sentence(runner):
    """device=cuda without a GPU says what is missing."""
    done = runner("device=cuda", CUDA_VISIBLE_DEVICES="")
    assert done.code == 2
    assert done.err.startswith("runner: device=cuda: ")
    assert "Traceback" not in done.err
    assert not list(done.directory.glob("outputs/*/*"))
