"""`runner.sweep` and `runner.runs`: sweeps from Python, as from the command line, and nothing else of the caller's changes."""

import ast
import itertools
import json
import os
import signal
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import hydra
import numpy as np
import pytest
import yaml
from hydra.core.global_hydra import GlobalHydra
from processes import environment, run, wait_until
from support import MINE_CU, ROOT, mine_yaml

import runner as face
from runner.api.overrides import overrides
from runner.compose import overrides as grammar

OWN = Path(__file__).parent / "kernels"
QUICK = ("timing=quick", "lines=none", "racecheck=none")
MINE = face.Kernel("mine", MINE_CU, yaml.safe_load(mine_yaml()))


@pytest.fixture
def here(tmp_path, monkeypatch):
    """An empty working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def swept(*given, **more):
    """A quick sweep on the CPU device."""
    return face.sweep(*given, **{"device": "cpu", "overrides": QUICK, "quiet": True, **more})


HELD: list = []
HELD.append(HELD)


@pytest.mark.parametrize(
    ("given", "text", "value"),
    [
        (64, "64", 64), (-1.5, "-1.5", -1.5), (True, "true", True), (None, "null", None), ("1Mi", "1Mi", "1Mi"),
        ("null", "'null'", "null"), ("True", "'True'", "True"), ("", "''", ""), ("a,b", "'a,b'", "a,b"),
        ("it's", r"'it\'s'", "it's"), ("C:\\", r"'C:\\'", "C:\\"), ("glob(x)", "'glob(x)'", "glob(x)"),
        (np.int64(3), "3", 3), (np.float64(0.5), "0.5", 0.5), (np.array(7), "7", 7),
        ({"size": 5}, "{size: 5}", {"size": 5}), ("${seed}", r"'\${seed}'", r"\${seed}"),
    ],
)  # fmt: skip
def test_a_value_is_the_same_value_in_hydras_grammar(given, text, value):
    """Text stands for itself, whatever its letters; numbers of NumPy are numbers."""
    assert overrides({"key": given}) == [f"key={text}"]
    (parsed,) = grammar.parse([f"key={text}"])
    assert (parsed.is_sweep_override(), getattr(parsed.value(), "text", parsed.value())) == (False, value)


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ([64, 128], "64,128"), (range(1, 4), "1,2,3"), (np.array([1, 2]), "1,2"), ([64], "64"),
        (["a,b", "c"], "'a,b',c"), ([["-O1", "-Dx=1"], ["none"]], "[-O1,'-Dx=1'],[none]"),
    ],
)  # fmt: skip
def test_a_list_is_a_sweep(given, text):
    """So are ranges and arrays; a list in a list is one value."""
    assert overrides({"key": given}) == [f"key={text}"]
    assert len(grammar.product(grammar.parse([f"key={text}"]))) == len(given)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"block": (32, 16)}, "the text '32x16'"), ({"block": []}, "the list is empty"), ({"block": {1, 2}}, "no order"),
        ({"block": object()}, "not object"), ({"block": b"64"}, "not bytes"), ({"a b": 1}, "expected a key"),
        ({"kernel": "nope"}, "kernel=nope: unknown kernel"), ({"blck": 64}, "did you mean block"),
        ({"overrides": "--help"}, "options"), ({"folder": ROOT}, "not an empty folder"),
        ({"config_dir": "nowhere"}, "nowhere: there is no such folder"),
        ({"kernel": face.Kernel("a b", "x", {})}, "name: expected"),
        ({"kernel": face.Kernel("a", "", {})}, "source: expected"),
        ({"kernel": face.Kernel("a", "x", {"source": "a.cu"})}, "leave this key out"),
        ({"kernel": face.Kernel("a", "x", {"grid": object()})}, "expected text, numbers"),
        ({"kernel": [MINE, MINE]}, "same name"), ({"kernel": itertools.repeat("reduceShfl")}, "kernel: more than 250,000"),
        ({"block": range(10**9)}, "block: more than 250,000 values"), ({"block": HELD}, "holds itself"),
        ({"seed": 10**5000}, "seed: an integer of 16,610 bits"), ({"block": "\udcff"}, "is not a letter"),
        ({"folder": "a\0b"}, "folder=.*: a null byte"), ({"config_dir": 3}, "config_dir=3: expected a folder"),
        ({"config_dir": None}, "config_dir=None: expected a folder"), ({"block": "${oc.env:HOME}"}, r"block=\$\{oc.env:HOME\}: "),
        ({"kernel": face.Kernel("a", "x", {"let": HELD})}, "holds itself"),
    ],
)  # fmt: skip
def test_a_mistake_is_one_sentence(given, sentence, here):
    """It raises UsageError, nothing runs, and nothing is left behind."""
    with pytest.raises(face.UsageError, match=sentence) as raised:
        swept(**{"size": 1000, **given})
    assert "\n" not in str(raised.value)
    assert list(here.iterdir()) == []


def test_a_sweep_gives_its_run(here, capfd, monkeypatch):
    """The cases of the command line, in a folder of its own; progress is lines on standard error, and can be switched off."""
    monkeypatch.setenv("FORCE_COLOR", "1")  # as Jupyter does
    done = swept(["reduceShfl", "reduceSmem"], block=[64, 128], size=1000, quiet=False)
    told = capfd.readouterr()
    assert (told.out, "4/4" in told.err, "\x1b" in told.err) == ("", True, False)
    assert (done.ok, done.problems, len(done.table), done.report.is_file()) == (True, [], 4, True)
    words = "kernel=reduceShfl,reduceSmem device=cpu block=64,128 size=1000 timing=quick lines=none racecheck=none"
    assert done.environment["command"] == f"python -m runner {words}"
    (here / "<i>").mkdir()
    second = swept("reduceShfl", size=1000, folder=here / "<i>")
    assert capfd.readouterr() == ("", "")
    assert second.path == here / "<i>"
    shown = second._repr_html_()
    assert ("<i>" in shown, "&lt;i&gt;" in shown, shown.count("<tr>")) == (False, True, 2)

    third = swept(MINE)
    for given, runs in (
        ([], [third, done]),
        (["outputs"], [third, done]),
        (["outputs", "kernel=reduceSmem"], [done]),
        (["outputs/*/*", "kernel=mine", "ok"], [third]),
        (["latest"], [third]),
        ([third.path], [third]),
        (["outputs", "failed"], []),
    ):
        assert [each.path.absolute() for each in face.runs(*given)] == [each.path for each in runs], given
    with pytest.raises(face.UsageError, match="nowhere: there is no such folder"):
        face.runs("nowhere")


def test_there_are_no_runs_yet(here):
    """Nothing below `outputs` is no mistake."""
    assert face.runs() == []


def test_the_chart_is_that_of_the_report(here):
    """A bar for each kernel with its value; a run without comparable cases says what is missing."""
    chart = face.open(ROOT / "tests" / "h200_sweep").plot()
    (axes,) = chart.axes
    assert all(tick.get_text().startswith("reduce") for tick in axes.get_yticklabels())
    assert len(axes.patches) == len(axes.get_yticks()) > 1
    assert chart._repr_png_().startswith(b"\x89PNG")

    counted = swept(["transposeGmem", "transposeSmem"], size="64x64", overrides=["timing=quick", "lines=all"])
    (axes,) = counted.plot().axes
    assert {tick.get_text().split("\n")[0] for tick in axes.get_yticklabels()} == {"transposeGmem", "transposeSmem"}
    with pytest.raises(face.UsageError, match=r"fewer than two comparable cases; lines=all"):
        swept("reduceShfl", size=1000).plot()


def test_a_kernel_may_be_text_and_be_edited(here):
    """Each call runs the text that it is given, and the run keeps it: it can be repeated."""
    right = swept(MINE, block=[32, 64])
    wrong = swept(face.Kernel("mine", MINE_CU.replace("+ 1", "+ 2"), MINE.yaml), block=64)
    assert (right.ok, len(right.table), wrong.ok) == (True, 2, False)
    assert wrong.problems[0].startswith("mine, size 1,000, block 64")
    assert "mismatch: " in wrong.problems[0]
    again = run(here, str(right.path), module="runner.repeat")
    assert again.code == 0, again.err


def test_a_kernel_that_is_left_out_is_no_success(here):
    """The others run; the exception says what is wrong with it, and where they are."""
    broken = face.Kernel("broken", MINE_CU, {**MINE.yaml, "grid": "1 +"})
    with pytest.raises(face.UsageError, match=r"broken\.yaml: grid.*runner\.open\(") as raised:
        swept([MINE, broken])
    others = face.open(str(raised.value).rpartition("runner.open('")[2].removesuffix("')"))
    assert (others.ok, list(others.table.kernel)) == (True, ["mine"])


def test_several_folders_have_kernels(here):
    """Kernels of two folders and one that is text are swept together."""
    (here / "more" / "kernel").mkdir(parents=True)
    MINE.write(here / "more")
    text = face.Kernel("other", MINE_CU.replace("mine", "other"), MINE.yaml)
    done = swept(["saxpy", "mine", text], config_dir=[OWN, here / "more"])
    assert (done.ok, set(done.table.kernel)) == (True, {"saxpy", "mine", "other"})


def test_the_caller_keeps_hydra_signals_and_matplotlib(here, monkeypatch):
    """A thread may sweep while the caller uses Hydra; afterwards its Hydra composes as before, and handlers are its own."""
    (here / "conf").mkdir()
    (here / "conf" / "app.yaml").write_text("mine: 1\n")
    monkeypatch.setenv("MPLBACKEND", "svg")
    handlers = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]
    results = []
    with hydra.initialize_config_dir(str(here / "conf"), version_base="1.3"):
        own = GlobalHydra.instance().hydra
        thread = threading.Thread(target=lambda: results.append(swept("reduceShfl", size=1000)))
        thread.start()
        thread.join()
        assert GlobalHydra.instance().hydra is own
        assert hydra.compose("app") == {"mine": 1}
    assert results[0].ok
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)] == handlers
    assert os.environ["MPLBACKEND"] == "svg"


SLOW = """
import signal
import runner
signal.signal(signal.SIGINT, signal.default_int_handler)  # what starts the tests may have it ignored
print(runner.sweep("reduceShfl", size="64Ki", device="cpu", seed=range(500), overrides=["lines=none", "racecheck=none"]))
"""


def started(folder):
    """A program in the middle of a long sweep: its first rows are on disk."""
    program = [sys.executable, "-c", textwrap.dedent(SLOW)]
    process = subprocess.Popen(program, cwd=folder, env=environment(), stderr=subprocess.PIPE, text=True)
    wait_until(lambda: len(list(folder.glob("outputs/*/*/*/result.json"))) > 2, process)
    return process


def test_ctrl_c_keeps_the_finished_cases(here):
    """Table and report are written, and KeyboardInterrupt names the folder."""
    process = started(here)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=120)
    assert "KeyboardInterrupt: runner.open('" in err
    assert "runner resume" in err
    (done,) = face.runs()
    assert (done.ok, done.report.is_file()) == (False, True)
    assert {"ok", "not_run"} <= set(done.table.status)


def test_a_sweep_ends_with_its_caller(here):
    """The kernel of a notebook is killed: the sweep ends in order."""
    process = started(here)
    process.kill()
    process.communicate()
    (folder,) = here.glob("outputs/*/*")
    wait_until((folder / "report.html").exists)
    assert {"ok", "not_run"} <= set(face.open(folder).table.status)


def test_the_notebook_is_true(here):
    """The cells of docs/notebook.ipynb run in order in one process; what they show is stored, and small."""
    text = (ROOT / "docs" / "notebook.ipynb").read_text(encoding="utf-8")
    cells = [cell for cell in json.loads(text)["cells"] if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))
    assert "error" not in {output["output_type"] for cell in cells for output in cell["outputs"]}
    assert len(text) < 100_000
    names, shown = {}, []
    for cell in cells:
        *body, last = ast.parse("".join(cell["source"])).body
        exec(compile(ast.Module(body, []), "<cell>", "exec"), names)  # noqa: S102
        if isinstance(last, ast.Expr):
            shown.append(eval(compile(ast.Expression(last.value), "<cell>", "eval"), names))  # noqa: S307
        else:
            exec(compile(ast.Module([last], []), "<cell>", "exec"), names)  # noqa: S102
    assert "4 of 4 cases match" in shown[0]._repr_html_()
    assert "saxpy.cu:5: out-of-bounds" in names["wrong"].problems[0]
    assert (names["run"].ok, len(shown[-2])) == (True, 3)
    assert [ok for _, ok in shown[-1]] == [False, True]
