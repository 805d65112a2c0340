"""The console script: subcommands, `show`, and the options of a sweep: --dry-run, --quiet, --json."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from mistakes import assert_refused, write_files
from processes import OWN, environment, run
from support import KERNELS, ROOT, shipped
from terminals import shell

from runner import __version__
from runner.cli import COMMANDS
from runner.commands.completion import candidates
from runner.kernel import from_yaml
from runner.record import stored_rows

SMALL = ("kernel=reduceShfl,reduceSmem", "block=64,100,128", "size=1000", "device=cpu")
ONE = ("size=1000", "device=cpu")
MIXED = ("--config-dir", OWN, "kernel=saxpy,writesPart,broken,writesBeyond", "size=1000", "device=cpu")


@pytest.mark.parametrize("command", [name for name in COMMANDS if name != "sweep"])
def test_every_subcommand_has_help_with_its_name(command, tmp_path):
    """`runner COMMAND --help` is that command's own."""
    done = run(tmp_path, command, "--help")
    assert done.code == 0
    assert done.out.startswith(f"usage: runner {command}")


def test_a_sweep_may_be_called_by_its_name_and_options_stand_anywhere(tmp_path):
    """`runner sweep`, `runner -m` and `runner` are one command."""
    for arguments in (
        ["sweep", "--quiet", *ONE],
        ["-m", *ONE, "--quiet"],
        ["--quiet", "sweep", *ONE],
    ):
        done = run(tmp_path, *arguments)
        assert (done.code, done.err) == (0, "")
        assert len(done.out.splitlines()) == 2
    (*_, last) = sorted(tmp_path.glob("outputs/*/*"))
    assert done.out.splitlines()[-1] == f"Report: {last}/report.html"
    assert run(tmp_path, "list", "-n", "2").out.count("outputs/") == 2


def test_the_version_is_ours(tmp_path):
    """Not Hydra's."""
    assert run(tmp_path, "--version").out == f"runner {__version__}\n"


@pytest.mark.parametrize("name", KERNELS)
def test_show_prints_a_kernel_as_it_is_read(name, capsys):
    """What is shown is YAML again, and with the keys of its family it makes the same kernel."""
    from runner.commands.kernel_yaml import kernel_text  # noqa: PLC0415  (many kernels, one process)

    path = ROOT / "conf" / "kernel" / f"{name}.yaml"
    text = kernel_text(path, yaml.safe_load(path.read_text()), [ROOT / "conf"])
    content = yaml.safe_load(text)
    content.pop("family", None)
    found = from_yaml.read(name, content, path)
    assert (found.parameters, found.constraints, found.arguments) == (
        (k := shipped(name)).parameters, k.constraints, k.arguments
    )  # fmt: skip
    head = text.partition("\n\n")[0]
    assert all(line.startswith("#") for line in head.splitlines())
    assert shipped(name).summary in head
    assert str(shipped(name).source.name) in head
    assert all(f"# {p.name} " in head for p in shipped(name).parameters)


def test_show_keeps_numbers_as_they_were_written(tmp_path):
    """A mask in hexadecimal, a size with its unit."""
    done = run(tmp_path, "show", "reduceShfl")
    assert "mask: 0xffffffff" in done.out
    assert "size: 1Mi" in done.out


def test_show_lists_what_can_be_chosen_and_suggests_names(tmp_path):
    """All kernels with their summaries, experiments, parameters; a folder of one's own; the nearest names."""
    done = run(tmp_path, "show")
    for name in KERNELS:
        assert re.search(rf"^  {name} +{re.escape(shipped(name).summary)}$", done.out, re.MULTILINE)
    assert "  shuffle_tour " in done.out
    assert "timing.rounds" in done.out
    own = run(tmp_path, "show", "--config-dir", OWN, "saxpy").out
    assert own.startswith("# saxpy")
    assert "@package _global_" in run(tmp_path, "show", "shuffle_tour").out
    write_files(tmp_path, {"own/kernel/torn.yaml": "a: [1"})
    assert_refused(run(tmp_path, "show", "-cd", "own", "torn"), "torn.yaml")


def test_a_dry_run_shows_the_plan_and_leaves_nothing(tmp_path):
    """Cases, skipped ones with their reasons, equal ones once, and how many measurements that is."""
    done = run(tmp_path, "--dry-run", *SMALL[:2], "size=1000,1e3", "device=cpu")
    assert done.code == 0
    runs, skipped = done.out.split("Would skip:")
    assert len(re.findall(r"^reduce\w+ +(?:64|128)\b", runs, re.MULTILINE)) == 4
    assert len(re.findall(r"^reduceShfl +100 .*the shuffles need whole warps", skipped, re.MULTILINE)) == 1
    assert "5 cases, 5 measurements." in done.out
    assert not list(tmp_path.iterdir())
    assert run(tmp_path, "--dry-run", "block=100", "device=cpu").code == 2
    sizes = ",".join(map(str, range(1, 3001)))
    assert "3,000 cases to run" in run(tmp_path, "--dry-run", "device=cpu", f"size={sizes}").out


def test_a_dry_run_with_any_launcher_device_and_folder(tmp_path):
    """Another launcher runs nothing either; a device that is not here is no obstacle; mistakes are those of the sweep."""
    done = run(tmp_path, "-m", *SMALL, "hydra/launcher=gpus", "hydra.launcher.shards=2", "--dry-run", "--json")
    assert (done.code, json.loads(done.out.splitlines()[0])["launcher"]) == (0, "gpus")
    gone = run(tmp_path, "--dry-run", "device=cuda", CUDA_VISIBLE_DEVICES="")
    assert (gone.code, "unknown" in gone.out) == (0, True)
    write_files(tmp_path, {"taken/file": ""})
    assert run(tmp_path, "--dry-run", "device=cpu", "hydra.sweep.dir=new").code == 0
    assert {p.name for p in tmp_path.iterdir()} == {"taken"}
    for wrong in ("hydra.sweep.dir=taken", "hydra/launcher=jobli", "block=abc"):
        assert_refused(run(tmp_path, "--dry-run", wrong), wrong.partition("=")[0])


def json_lines(text):
    """What the lines hold; NaN is not JSON."""
    return [json.loads(line, parse_constant=pytest.fail) for line in text.splitlines()]


def test_rows_as_json(tmp_path):
    """Every row with every column, also of failed and skipped cases; the rest is on stderr, the status as ever."""
    done = run(tmp_path, "--json", *MIXED)
    rows = json_lines(done.out)
    assert done.code == 1
    assert [row["status"] for row in rows] == ["ok", "mismatch", "compile_error", "hazard"]
    assert len({tuple(row) for row in rows}) == 1
    header = (done.folder / "results.csv").read_text().partition("\n")[0]
    assert list(rows[0]) == header.split(",")
    assert rows[0]["emulated_us"] > 0
    assert rows[1]["emulated_us"] is rows[0]["median_us"] is None
    assert "Report: " in done.err
    resumed = run(tmp_path, "resume", "latest", "--json")
    assert json_lines(resumed.out) == rows
    wrong = run(tmp_path, "--json", "blokc=1")
    assert (wrong.code, wrong.out) == (2, "")
    quiet = run(tmp_path, "--json", "--quiet", *ONE)
    assert len(json_lines(quiet.out)) == 1
    assert len(quiet.err.splitlines()) == 2


def test_what_json_does_not_know_is_null():
    """NaN and infinity, and what the table leaves empty."""
    rows = [
        {"case": "a", "median_us": float("nan"), "gbps": float("inf"), "reason": ""},
        {"case": "b", "max_error_ulp": 0.5},
    ]
    first, second = json_lines(stored_rows.as_json_lines(rows))
    assert (first["median_us"], first["gbps"], first["reason"]) == (None, None, None)
    assert second["max_error_ulp"] == 0.5


def test_a_plan_as_json(tmp_path):
    """One line per case with its parameters and what would become of it."""
    rows = json_lines(run(tmp_path, "--dry-run", *SMALL, "--json").out)
    assert [(row["kernel"], row["block"], row["status"]) for row in rows][:2] == [
        ("reduceShfl", "64", "planned"), ("reduceShfl", "100", "skipped"),
    ]  # fmt: skip
    assert "whole warps" in rows[1]["reason"]


def test_quiet_still_tells_mistakes_and_failures(tmp_path):
    """A kernel that cannot be read is named, and the result says what failed."""
    done = run(tmp_path, "--quiet", "--config-dir", OWN, "kernel=writesPart", *ONE)
    assert done.out.startswith("Failed: ")
    assert len(done.out.splitlines()) == 2
    write_files(tmp_path, {"own/kernel/torn.yaml": "a: [1"})
    done = run(tmp_path, "--quiet", "--config-dir", "own", "kernel=torn,bcast", "device=cpu")
    assert done.code == 2
    assert "this kernel is left out" in done.err


COMPLETED = {
    "sweep --quiet kernel=bcast,transposeTi": "sweep --quiet kernel=bcast,transposeTile ",
    "timing.round": "timing.rounds=",
    "comparison": "comparison",
    "resu": "resume ",
    "compare latest outp": "compare latest outputs/2026-01-02/some-run ",
    "--config-dir ow": "--config-dir own/",
    "--config-dir own kernel=mi": "--config-dir own kernel=mine ",
}


def test_a_word_is_completed_without_hydra():
    """Names to show, and the options of a sweep and of each subcommand."""
    assert candidates("runner show warpSc") == ["warpScan"]
    assert candidates("runner --dry") == ["--dry-run"]
    assert candidates("runner compare latest --str") == ["--strict"]


def test_bash_completes(tmp_path):
    """Subcommands, options, kernels, also behind a comma and of one's own, runs, keys, files: in a real bash."""
    write_files(tmp_path, {"own/kernel/mine.yaml": "{}", "outputs/2026-01-02/some-run/plan.json": "{}"})
    script = tmp_path / "bin" / "runner"
    write_files(tmp_path, {"bin/runner": f'#!/bin/sh\nexec {sys.executable} -m runner "$@"\n'})
    script.chmod(0o755)
    known = {"PATH": f"{script.parent}:{os.environ['PATH']}", "TERM": "dumb", "INPUTRC": "/dev/null"}
    terminal = shell(tmp_path, "bash", "--norc", "--noprofile", "-i", columns=300, **known)
    terminal.press('eval "$(runner -sc install=bash)"\n')
    found = {}
    for typed in COMPLETED:
        # The line is not run: it is put between quotes, and printed.
        terminal.press(f"runner {typed}\t\x01echo '[\x05]'\n")
        text = terminal.read(lambda text: bool(re.search(r"\n\[.*\]\r\n", text)))
        found[typed] = re.findall(r"\n\[runner (.*)\]\r\n", text)[-1]
    assert found == COMPLETED
    terminal.press('eval "$(runner -sc uninstall=bash)"; complete -p runner; exit\n')
    assert terminal.end() == 1
    assert "no completion specification" in terminal.output


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
@pytest.mark.parametrize("option", ["--quiet", "--json"])
def test_an_output_that_cannot_be_written_is_named(option, tmp_path):
    """Not the sweep's folder, which has all results."""
    command = [sys.executable, "-m", "runner", "kernel=bcast", "device=cpu", "lines=none", "racecheck=none", option]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            command, cwd=tmp_path, env=environment(), stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert done.returncode == 1
    assert "runner: standard output: No space left on device; python -m runner report writes the report" in done.stderr
    assert list(tmp_path.glob("outputs/*/*/results.csv"))


def test_a_library_that_cannot_be_imported_is_told(tmp_path):
    """As when there is too little memory to load it: one sentence with the system's words, not the library's page."""
    (tmp_path / "numpy.py").write_text(
        "try:\n    raise OSError('failed to map segment')\n"
        "except OSError as e:\n    raise ImportError('READ THIS\\n' * 50) from e\n"
    )
    paths = os.pathsep.join([str(tmp_path), str(ROOT)])
    command = [sys.executable, "-m", "runner", "kernel=bcast", "device=cpu"]
    done = subprocess.run(
        command, cwd=tmp_path, env=environment(PYTHONPATH=paths), capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (2, "runner: a library cannot be imported: failed to map segment\n")


def test_a_worker_that_cannot_import_a_library_is_told(tmp_path):
    """Without a traceback; the sentence says how to see which."""
    (tmp_path / "sitecustomize.py").write_text("import sys\nif '-c' in sys.orig_argv: sys.modules['numpy'] = None\n")
    paths = os.pathsep.join([str(tmp_path), str(ROOT)])
    command = [sys.executable, "-m", "runner", "kernel=bcast", "device=cpu"]
    done = subprocess.run(
        command, cwd=tmp_path, env=environment(PYTHONPATH=paths), capture_output=True, text=True, check=False
    )
    assert (done.returncode, "Traceback" in done.stderr) == (2, False), done.stderr
    assert "runner: device=cpu: its worker process cannot import a library; " in done.stderr
    assert '-c "import runner.sweep.run_case" says which' in done.stderr


def test_a_width_of_nothing_is_not_taken_for_a_terminal_s(tmp_path):
    """COLUMNS=0, which some programs set for lack of a terminal, printed nothing at all."""
    done = subprocess.run(
        [sys.executable, "-m", "runner", "list"], cwd=tmp_path, env=environment(COLUMNS="0"),
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "no run" in (done.stdout + done.stderr).lower(), done


def test_warnings_as_errors_are_no_lines_of_a_sweep(tmp_path):
    """Neither the program nor its worker leaves anything open at its end."""
    command = [sys.executable, "-m", "runner", "kernel=bcast", "device=cpu", "lines=none", "racecheck=none", "--quiet"]
    done = subprocess.run(
        command, cwd=tmp_path, env=environment(PYTHONWARNINGS="error"), capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
