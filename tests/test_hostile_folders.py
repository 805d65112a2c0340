"""Run folders that somebody else made: each command ends soon with a sentence, and touches nothing beside the folder."""

import http.client
import json
import shutil
import threading
from types import SimpleNamespace

import fuzzing
import processes
import pytest

import runner
from runner.errors import UsageError
from runner.files import limited, limited_yaml, safe
from runner.record.folder import RunFolder
from runner.report import live
from runner.stages.lines import costs as lines

UNSEEN = "the-content-of-another-file"
FOLDERS = ("report", "compare", "list", "resume", "repeat")
MEMORY_MIB = "512"  # beside what the imports take
PATIENCE_S = 120  # a busy machine is slow; each takes a second
HUGE = 10 * 2**30


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A small sweep of one's own."""
    root = tmp_path_factory.mktemp("made")
    options = ("kernel=reduceShfl", "size=1024", "block=64,128", "device=cpu", "hydra.sweep.dir=run", "lines=true")
    assert processes.run(root, "-m", *options, "timing=quick").code == 0
    return root / "run"


@pytest.fixture
def given(made, tmp_path):
    """A copy in `theirs/run`, `mine` to compare it with, and a folder that is none of its business."""
    shutil.copytree(made, tmp_path / "theirs" / "run")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret").write_text(UNSEEN)
    (tmp_path / "mine").symlink_to(made)
    return tmp_path / "theirs" / "run"


def instead(name, what):
    """Something else in the place of a file or folder, which may lead to another one."""

    def make(folder):
        outside = folder.parents[1] / "outside"
        fuzzing.replace(folder / name, what, SimpleNamespace(folder=outside, file=outside / "secret"))

    return make


def appended(name, more):
    """A file that goes on."""
    return lambda folder: (folder / name).write_text((folder / name).read_text() + more)


def edited(name, change):
    """A JSON file with a change."""

    def make(folder):
        content = json.loads((folder / name).read_text())
        change(content)
        (folder / name).write_text(json.dumps(content))

    return make


def naming(path):
    """A kernel whose source is another file."""

    def make(folder):
        file = folder / "sources" / "conf" / "kernel" / "reduceShfl.yaml"
        lines = [line for line in file.read_text().splitlines() if not line.startswith("source:")]
        file.write_text("\n".join([f"source: {path}", *lines]))

    return make


def columns(count):
    """A result with endless columns, as a change."""
    return lambda row: row.update({f"column{n}": n for n in range(count)})


SOURCE = "sources/kernels/reduceShfl.cu"
YAML = "sources/conf/kernel/reduceShfl.yaml"
ATTACKS = {
    "figures as a link": (instead("figures", "a link to a folder outside"), ("report",)),
    "the lock as a link": (instead(".lock", "a link to nothing"), ("list", "resume", "repeat")),
    "sources as a link": (instead("sources", "a link to a folder outside"), ("report", "compare", "resume", "repeat")),
    "a source as a link": (instead(SOURCE, "a link to a file outside"), ("report", "compare", "resume", "repeat")),
    "the configuration as a link": (instead("0/.hydra/config.yaml", "a link to a file outside"), ("report", "resume", "repeat")),
    "a job as a link": (instead("0", "a link to a folder outside"), ("report", "resume", "repeat")),
    "samples as a link": (instead("samples", "a link to a folder outside"), ("resume", "repeat")),
    "gpus as a link": (instead("gpus", "a link to a folder outside"), ("resume", "repeat")),
    "the environment as a pipe": (instead("environment.json", "a FIFO"), FOLDERS),
    "the plan as a pipe": (instead("plan.json", "a FIFO"), FOLDERS),
    "the table as a pipe": (instead("results.csv", "a FIFO"), ("report", "compare", "resume", "repeat")),
    "a case as a pipe": (instead("0/case.json", "a FIFO"), ("report", "resume", "repeat")),
    "a result as a pipe": (instead("1/result.json", "a FIFO"), ("report",)),
    "a source as a pipe": (instead(SOURCE, "a FIFO"), ("report", "compare", "resume", "repeat")),
    "the lock as a pipe": (instead(".lock", "a FIFO"), ("list", "resume", "repeat")),
    "the environment as a socket": (instead("environment.json", "a socket"), ("report", "list")),
    "the environment without end": (instead("environment.json", "a link to /dev/zero"), FOLDERS),
    "a source without end": (instead(SOURCE, "a link to /dev/zero"), ("report", "resume")),
    "a huge environment": (instead("environment.json", "a sparse file of 10 GB"), FOLDERS),
    "a huge table": (instead("results.csv", "a sparse file of 10 GB"), ("report", "compare", "resume", "repeat")),
    "a huge source": (instead(SOURCE, "a sparse file of 10 GB"), ("report", "compare", "resume", "repeat")),
    "a plan of a million jobs": (edited("plan.json", lambda p: p.update(cases=[{}] * 10**6)), FOLDERS),
    "a deep plan": (instead("plan.json", "deep JSON"), FOLDERS),
    "a result with endless columns": (edited("0/result.json", columns(20_000)), ("report",)),
    "a table of 100,000 columns": (instead("results.csv", "100000 columns"), ("compare",)),
    "a number without end": (edited("environment.json", lambda e: e.update(n=10**4000)), FOLDERS[:2]),
    "a bomb in a kernel's YAML": (instead(YAML, "a YAML bomb"), ("resume", "repeat")),
    "a bomb in another YAML": (instead("sources/conf/timing/quick.yaml", "a YAML bomb"), ("resume", "repeat")),
    "deep YAML": (instead(YAML, "deep JSON"), ("resume", "repeat")),
    "a key twice in a kernel's YAML": (appended(YAML, "\nsummary: again\n"), ("resume", "repeat")),
    "a way that the plan lacks": (edited("plan.json", lambda p: p["cases"][0].update(way=99)), ("resume", "repeat")),
    "a list for a compiler": (edited("0/case.json", lambda c: c["asked"].update(compiler=[])), ("resume", "repeat")),
    "half a round": (edited("0/case.json", lambda c: c["asked"]["timing"].update(cpu_rounds=1.5)), ("resume", "repeat")),
    "half a thread": (edited("0/case.json", lambda c: c["asked"].update(threads=1.5)), ("resume", "repeat")),
    "a source outside": (naming("../../../../../outside/secret"), ("resume", "repeat")),
    "a source at the root": (naming("/etc/passwd"), ("resume", "repeat")),
    "the sweep's configuration as a pipe": (instead("multirun.yaml", "a FIFO"), ("repeat block=32",)),
    "the figures as a pipe": (instead("figures", "a FIFO"), ("report",)),
    "deep JSON for a configuration": (instead("multirun.yaml", "deep JSON"), ("repeat block=32",)),
    "a bomb for a configuration": (instead("multirun.yaml", "a YAML bomb"), ("repeat block=32",)),
}  # fmt: skip
COMMANDS = {
    "report": lambda folder: ("runner.report", folder),
    "compare": lambda folder: ("runner.compare", folder.parents[1] / "mine", folder, "--html", "page.html"),
    "list": lambda folder: ("runner.list", folder.parent),
    "resume": lambda folder: ("runner.resume", folder),
    "repeat": lambda folder: ("runner.repeat", folder),
    "repeat block=32": lambda folder: ("runner.repeat", folder, "block=32"),
}


def told(command, folder):
    """Run a command on a folder, with limits; what it says."""
    module, *arguments = COMMANDS[command](folder)
    done = processes.run(
        folder.parents[1], *arguments, module=module, timeout=PATIENCE_S, MEMORY_MIB=MEMORY_MIB
    )  # fmt: skip
    assert done.code == (0 if command == "list" else 2), (command, done.out, done.err)
    assert "Traceback" not in done.err, (command, done.err)
    said = done.out if command == "list" else done.err
    sentences = [line for line in said.splitlines() if line.startswith(("runner: ", "Skipped an unreadable run: "))]
    assert len(sentences) == 1 or (command == "list" and "cannot be read" in said), (command, said)
    assert UNSEEN not in done.out + done.err
    return said


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_hostile_folder_is_refused_in_a_sentence(given, attack):
    """Soon, in little memory, and nothing of another folder is read or written."""
    make, commands = ATTACKS[attack]
    make(given)
    before = processes.content(given.parents[1] / "outside")
    for command in commands:
        told(command, given)
    assert processes.content(given.parents[1] / "outside") == before
    assert not (given.parents[1] / "outputs").exists()
    for path in given.rglob("*"):
        if path.is_file() and not path.is_symlink() and path.stat().st_size < HUGE:
            assert UNSEEN.encode() not in path.read_bytes(), path


def test_samples_that_promise_too_much_do_not_count(given):
    """The report and the comparison go on without them."""
    for path in (given / "samples").iterdir():
        path.write_bytes(fuzzing.promising(f"({2**60},)"))
    found = runner.open(given)
    with pytest.raises(UsageError, match="no samples"):
        found.samples(found.table.iloc[0])
    with pytest.raises(UsageError, match="lies outside the run folder"):
        found.samples({"case": "../../outside/secret", "job": 0})
    assert found.compare(given.parents[1] / "mine").worse is False


@pytest.mark.parametrize("key", ["run", "row"])
@pytest.mark.parametrize("value", [None, 1, [["a"]], {"a": 1}])
def test_a_record_of_a_case_is_one_of_its_kind(given, key, value):
    """A case.json with another kind of value is refused, whoever reads it."""
    path = given / "0" / "case.json"
    content = json.loads(path.read_text())
    path.write_text(json.dumps({**content, key: value}))
    with pytest.raises(UsageError, match="is damaged"):
        RunFolder(given).record(0)


def test_a_row_without_a_status_is_measured_again(given):
    """`resume` takes it for a case that was not reached."""
    path = given / "0" / "result.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "status": {"a": 1}, "median_us": "x"}))
    done = processes.run(given.parent, given, module="runner.resume")
    assert done.code == 0, done.err
    assert json.loads(path.read_text())["status"] == "ok"


def test_a_damaged_row_does_not_cost_the_table_its_own(given):
    """`report` says which file it is, and leaves results.csv as it was."""
    table = (given / "results.csv").read_bytes()
    (given / "0" / "result.json").write_text(json.dumps({"status": ["ok"]}))
    done = processes.run(given.parent, given, module="runner.report")
    assert (done.code, "0/result.json: is damaged; " in done.err) == (2, True), done.err
    assert (given / "results.csv").read_bytes() == table


def test_the_live_page_says_what_is_wrong(given):
    """The server goes on."""
    instead("0", "a link to a folder outside")(given)
    with live.server(given) as serving:
        threading.Thread(target=serving.serve_forever, daemon=True).start()
        ask = http.client.HTTPConnection(live.HOST, serving.server_port, timeout=PATIENCE_S)
        ask.request("GET", "/")
        assert "a link" in ask.getresponse().read().decode()
        serving.shutdown()


def test_links_around_a_folder_are_followed(given):
    """Its own path, and that of outputs/, may be links; and what else a user puts into the folder."""
    (given / "notes").symlink_to("/nowhere")
    elsewhere = given.parents[1] / "elsewhere"
    elsewhere.symlink_to(given.parent)
    (given / "report.html").unlink()
    (given / "report.html").symlink_to(given.parents[1] / "outside" / "secret")
    for module in ("runner.report", "runner.resume"):
        done = processes.run(given.parents[1], elsewhere / "run", module=module)
        assert done.code == 0, done.err
    assert (given / "report.html").read_text().startswith("<!DOCTYPE html>")
    assert not (given / "report.html").is_symlink()
    assert (given.parents[1] / "outside" / "secret").read_text() == UNSEEN


def test_one_hostile_folder_does_not_hide_the_others(given):
    """`list` names it, and lists the rest."""
    shutil.copytree(given.parents[1] / "mine", given.parent / "good")
    instead("environment.json", "a FIFO")(given)
    assert "good" in told("list", given)


def test_ordinary_yaml_is_read():
    """Aliases and merges within the limits are followed."""
    found = limited_yaml.load_yaml("a: &a {x: 1, y: 0xff}\nb: {<<: *a, z: [*a, 1e3]}\nc: " + "'" + "1" * 200 + "'")
    assert found["b"]["x"] == 1
    assert found["b"]["z"][0]["y"] == 255
    assert found["c"] == "1" * 200


def test_python_is_refused_likewise(given):
    """`runner.open` raises a `UsageError` when something is asked for; no path leads out, to read or to write."""
    for path in ("../run/plan.json", "0/../../../outside/secret"):
        for work in (
            lambda path=path: safe.read(given, given / path),
            lambda path=path: safe.write(given, given / path, b""),
        ):
            with pytest.raises(UsageError):
                work()
    instead("environment.json", "a FIFO")(given)
    with pytest.raises(UsageError, match="a pipe"):
        _ = runner.open(given).environment


@pytest.mark.parametrize("content", ["null", "[1]", '{"case": "1", "kernel": "k", "lines": [{"line": "x"}]}'])
def test_records_of_lines_that_are_none_do_not_count(given, content):
    """The report is made of the other jobs' lines."""
    sound = lines.read(RunFolder(given))
    (given / "lines.csv").unlink()
    assert lines.read(RunFolder(given)) == sound
    (given / "0" / "lines.json").write_text(content)
    assert len(lines.read(RunFolder(given))) == len(sound) - 1


@pytest.mark.parametrize("before", range(0, 25, 3))
def test_a_number_with_too_many_digits_is_found_wherever_it_stands(before):
    """JSON with a number of more than 100 digits is refused; 100 digits are read."""
    text = "[" + " " * before + "{}]"
    assert limited.load_json(text.format("9" * 100)) == [int("9" * 100)]
    with pytest.raises(limited.TooMuch):
        limited.load_json(text.format("9" * 101))
