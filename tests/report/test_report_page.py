import hashlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import report_runs as runs
from drawing import PageParts
from shuffle_rows import COLUMNS, butterfly, tour

import runner.report
from runner.errors import UsageError
from runner.record.run import read
from runner.report import build
from runner.report.__main__ import main
from runner.report.page import heading


def page(folder):
    """The page's text."""
    return build(folder).read_text("utf-8")


def titles(text):
    """The headings of the page's sections, in order."""
    return re.findall("<h2>(.*?)(?: <small>.*?)?</h2>", text)


def test_the_page_says_what_matters_in_order(built):
    """Verdict, the ranked chart, figures, speed-ups, the fastest by size, all cases; how to repeat it and details last."""
    text = built(runs.sweep()).read_text("utf-8")
    assert titles(text) == [
        *("The best case of each kernel at 2^24", "Bandwidth and time", "Steps", "Fastest configuration per size"),
        *("Heat map", "What this report can still show", "All cases", "How to repeat this run", "Details"),
    ]
    assert text.index("72 of 72 cases match") < text.index("The best case of each")
    assert runs.ENVIRONMENT["command"] in text
    assert runs.ENVIRONMENT["git"]["commit"] in text
    assert "a &lt; b &amp;&amp; c" in text
    assert "cuda: samples" in text


@pytest.mark.usefixtures("without_figures")
def test_an_experiment_says_what_to_look_for(run_folder):
    """The title has the experiment and the day, and the words at the top of its YAML follow, without the command."""
    environment = runs.ENVIRONMENT | {"command": "python -m runner experiment=waves block=64"}
    folder = run_folder(runs.sweep()[:3], environment=environment)
    (folder / "sources" / "conf" / "experiment").mkdir(parents=True)
    words = "# @package _global_\n# Waves & <tails>.\n#\n#   python -m runner experiment=waves\n#\n# What to look for:\n# the tail.\na: 1\n"
    (folder / "sources" / "conf" / "experiment" / "waves.yaml").write_text(words)
    text = page(folder)
    assert '<h1>waves: reduceGmem on NVIDIA H200, <span class="day">2026-01-02</span></h1>' in text
    assert re.findall('<p class="about">(.*?)</p>', text) == [
        "Waves &amp; &lt;tails&gt;.",
        "What to look for: the tail.",
    ]


@pytest.mark.usefixtures("without_figures")
def test_contents_and_tips(run_folder):
    """Each link of the contents leads to a section, every section has one, and every column says what it means."""
    text = page(run_folder(runs.failures()))
    contents = text[text.index("<nav") : text.index("</nav>")]
    assert re.findall('href="#(.*?)"', contents) == re.findall('<section id="(.*?)"', text)
    heads = re.findall('<th scope="col"([^>]*)>', text[text.index('id="cases"') :])
    assert heads
    assert all("title=" in head for head in heads)


def test_a_ladder_has_steps_and_a_baseline_has_speed_ups(run_folder):
    """Kernels that name the step before as their baseline stand in the order of the ladder; two kernels are none."""
    rows = [row for row in runs.sweep() if row["kernel"] in ("reduceShfl", "reduceSmem", "reduceGmem")]
    text = page(run_folder(rows[::-1]))
    table = text[text.index("<h2>Steps") : text.index("<h2>Fastest")]
    table = table[: table.index("</table>")]
    assert re.findall(r">(reduce\w+)</a>", table) == ["reduceGmem", "reduceSmem", "reduceShfl"]
    assert titles(page(run_folder(rows[:24], "two")))[2] == "Speed-up over the baseline"


@pytest.mark.usefixtures("without_figures")
@pytest.mark.parametrize(
    ("rows", "level", "word"),
    [
        (runs.sweep()[:3], "good", "Passed"),
        (runs.failures(), "bad", "Failed"),
        ([runs.row(), runs.failed(1, "not_run", "")], "partial", "Not finished"),
        ([runs.failed(0, "skipped", "too wide")], "none", "Nothing ran"),
    ],
)
def test_the_level_is_a_word(run_folder, rows, level, word):
    """What the colour of the verdict says is said by its first word, too."""
    assert f'<p class="verdict {level}"><strong>{word}:</strong>' in page(run_folder(rows))


def test_figures_stand_where_they_belong(built):
    """Lane pictures stand ahead of all cases, each figure with links to its files."""
    text = built(tour(), columns=COLUMNS).read_text("utf-8")
    assert text.index("Which lane each value came from") < text.index('id="figure-lanes"') < text.index('id="cases"')
    assert {"svg", "csv"} <= set(re.findall(r'href="figures/lanes\.(\w+)"', text))


@pytest.mark.usefixtures("without_figures")
def test_a_folder_that_kept_its_configuration_can_be_repeated(run_folder):
    """The command that needs nothing but the folder is named where the folder has what it needs."""
    folder = run_folder(runs.sweep()[:3])
    assert "runner.repeat" not in page(folder)
    (folder / "sources" / "conf").mkdir()
    (folder / "sources" / "conf" / "config.yaml").write_text("seed: 0\n")
    assert "python -m runner repeat 03-04-05-reduce<" in page(folder)
    assert "runner.resume" not in page(folder)


@pytest.mark.usefixtures("without_figures")
def test_what_is_the_same_in_all_cases_is_said_once(run_folder):
    """One value of all cases, or of all kernels that read it, stands above the tables and is no column."""
    text = page(run_folder(runs.sweep()))
    (said,) = re.findall("Same in all cases: (.*?)</p>", text)
    for same in (
        "width 32",
        "mask 0xffffffff",
        "value 2139353471",
        "samples 50",
        "registers 16",
        "where used: unroll 8",
    ):
        assert same in said
    columns = re.findall("<th [^>]*>(.*?)</th>", text)
    assert not {"width", "mask", "unroll", "samples", "registers"} & set(columns)


@pytest.mark.usefixtures("without_figures")
def test_failures_come_first_and_link_to_their_rows(run_folder):
    """Every status and reason is told ahead of all else, with links that lead somewhere."""
    text = page(run_folder(runs.failures()))
    assert text.index("Failures") < text.index("The best case of each")
    for row in runs.failures():
        assert row["status"].replace("_", " ") in text
    reader = PageParts(text)
    inner = {link[1:] for link in reader.links if link.startswith("#")}
    assert inner <= set(reader.ids)
    assert len([link for link in inner if link.startswith("case-")]) >= 13


@pytest.mark.usefixtures("without_figures")
def test_ids_are_unique_even_where_cases_are_not(run_folder):
    """Two rows of one case, or of ids that read alike in a link, keep their own anchors."""
    rows = [runs.row(case=case) for case in ("a b", "a-b", "a-b")]
    ids = PageParts(page(run_folder(rows))).ids
    assert len(ids) == len(set(ids))


def test_nothing_is_loaded_from_elsewhere(built):
    """Links of the page are its own rows, embedded images, and files of the folder, in which no temporary one stays."""
    report = built(runs.sweep())
    for link in PageParts(report.read_text("utf-8")).links:
        assert link.startswith(("#", "data:")) or (report.parent / link).is_file()
    assert not list(report.parent.rglob(".*"))


def test_the_same_results_give_the_same_bytes_in_any_process(run_folder, tmp_path):
    """Another process with another seed for its hashes, and a copy elsewhere: no byte of page and figures differs.

    No byte is a path, either.
    """
    folder = run_folder([*runs.failures(), *butterfly()], columns=COLUMNS)
    build(folder)
    assert {path.name.partition("-")[0] for path in (folder / "figures").iterdir()} >= {"bandwidth", "speedup", "lanes"}
    copy = tmp_path / "elsewhere" / folder.name
    shutil.copytree(folder, copy, ignore=shutil.ignore_patterns("figures", "report.html"))
    code = f"from pathlib import Path; from runner.report import build; build(Path({str(copy)!r}))"
    subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ, "PYTHONHASHSEED": "7"})
    first, second = ({p.relative_to(f): p.read_bytes() for p in f.rglob("*") if p.is_file()} for f in (folder, copy))
    assert first == second
    assert str(tmp_path).encode() not in first[next(p for p in first if p.name == "report.html")]


def test_a_page_can_be_mailed(run_folder):
    """256 cases, and 256 long reasons, which are cut, stay below one and a half megabytes, libraries included."""
    rows = runs.sweep(sizes=tuple(range(14, 26)), blocks=(64, 128, 256, 512))[:256]
    assert build(run_folder(rows)).stat().st_size < 1_500_000
    rows = [runs.failed(n, "compile_error", f"{n} " + "error " * 2000) for n in range(256)]
    path = build(run_folder(rows, "failed"))
    assert path.stat().st_size < 1_000_000
    assert "results.csv has the rest" in path.read_text("utf-8")


@pytest.mark.usefixtures("without_figures")
@pytest.mark.parametrize("environment", [{}, [], "text", {"git": None, "devices": {}}])
def test_a_poor_environment_is_no_obstacle(run_folder, environment):
    """Any part of the environment may be missing."""
    assert "not recorded" in page(run_folder(runs.sweep(), environment=environment))


def test_a_bare_folder_is_enough(tmp_path):
    """results.csv alone, with two columns, makes a page."""
    (tmp_path / "results.csv").write_text("kernel,status\nreduceShfl,ok\n")
    text = page(tmp_path)
    assert "1 of 1 case matches the CPU reference." in text
    assert "no resolved configuration" in text


@pytest.mark.parametrize("rows", [[], [runs.failed(0, "skipped", "too wide")], [runs.row()]])
def test_small_runs_have_pages(run_folder, rows):
    """No cases, all skipped, and one case without a time all make a page without figures."""
    assert "<figure" not in page(run_folder(rows))


def test_emulated_times_are_one_column(run_folder):
    """A run on the CPU device has its results and a labelled time: nothing is ranked, drawn or set against a baseline."""
    text = page(run_folder([row | {"undefined_reads": n} for n, row in enumerate(runs.emulated())]))
    assert titles(text) == [
        *("What this report can still show", "All cases", "What was checked", "How to repeat this run", "Details"),
    ]
    heads = re.findall('<th scope="col" data-name="(.*?)"', text)
    assert heads.index("status") < heads.index("undefined_reads") < heads.index("emulated_us")
    assert {"median_us", "gbps", "speedup", "min_us"}.isdisjoint(heads)
    assert ">emulated, µs</th>" in text
    assert "says nothing about a GPU" in text
    assert "Not checked: data races" in text
    for word in ("<figure", "GB/s", "Fastest", "fastest", "tied"):
        assert word not in text


@pytest.mark.usefixtures("without_figures")
def test_old_fills_are_called_as_today(run_folder):
    """`seed_rand` of older folders is `c_rand`."""
    columns = [*runs.COLUMNS[:13], "fill", *runs.COLUMNS[13:]]
    text = page(run_folder([runs.row(n, fill="seed_rand") for n in range(2)], columns=columns))
    assert "fill c_rand" in text
    assert "seed_rand" not in text


@pytest.mark.usefixtures("without_figures")
def test_the_command_rebuilds_from_the_folder_alone(run_folder, capsys):
    """`python -m runner report FOLDER` writes the page and prints the summary."""
    folder = run_folder(runs.sweep())
    assert main([str(folder)]) == 0
    assert (folder / "report.html").is_file()
    assert "72 of 72 cases match" in capsys.readouterr().out


def test_a_wrong_path_is_one_sentence(tmp_path, capsys):
    """A path that is no run folder is status 2 and one line, no traceback."""
    assert main([str(tmp_path / "missing")]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    assert "there is no such folder" in said.err
    with pytest.raises(UsageError):
        build(tmp_path)


def test_a_torn_write_leaves_the_old_page(run_folder, monkeypatch):
    """Where the new page cannot be put in place, the old one stays and no remains lie about."""
    folder = run_folder(runs.emulated())
    before = build(folder).read_bytes()

    def refuse(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", refuse)
    assert main([str(folder)]) == 2
    assert (folder / "report.html").read_bytes() == before
    assert not list(folder.rglob(".*"))


def test_the_libraries_are_those_of_their_packages():
    """The files of the charts' libraries have the checksums that stand beside their licences."""
    folder = Path(runner.report.__file__).parent / "vendor"
    known = re.findall(r"([0-9a-f]{64})  (\S+)", (folder / "LICENSES.txt").read_text("utf-8"))
    assert [name for _, name in known] == ["d3.min.js", "plot.min.js"]
    assert all(hashlib.sha256((folder / name).read_bytes()).hexdigest() == digest for digest, name in known)


def test_the_title_names_devices_in_one_order(run_folder):
    """GPUs come first, then other devices, each in the order of their names, whatever the process's hash seed is."""
    devices = ("checked", "g4", "g2", "cpu", "g3", "g1")
    title = heading(read(run_folder([runs.row(n, device=device) for n, device in enumerate(devices)])))
    assert " on g1, g2, g3, g4, the checked CPU device and the CPU device, " in title
