"""What the terminal gets, a page that grows while a sweep runs, and the summary for pull requests."""

import http.client
import io
import re
import subprocess
import sys
import threading

import pytest
import report_runs as runs
from rich.console import Console

from runner.display.text import rough
from runner.record.folder import RunFolder
from runner.report import as_markdown, live, print_summary, publish
from runner.report.__main__ import main
from runner.report.live import page, server
from runner.stages.races.variants import NO_TIME


def summary(folder, width=80, *, terminal=False):
    """What a pipe gets, or a terminal of that width."""
    stream = io.StringIO()
    print_summary(folder, Console(file=stream, width=width, force_terminal=terminal, no_color=True, highlight=False))
    return stream.getvalue()


def test_it_is_shaped_like_the_listing_of_a_cuda_program(run_folder):
    """Kernel, time, sum and launch on one line each, below the sum of the CPU reference; lines are never cut."""
    lines = summary(run_folder(runs.sweep(sizes=(24,), blocks=(256,))), width=40).splitlines()
    assert lines[0].startswith("> size 2^24 (16,777,216), int32")
    assert lines[1].split() == ["cpu", "reduce", ":", "5,201", "µs", "cpu", "sum:", "2139353471"]
    words = "reduceGmem : 72.51 µs gpu sum: 2139353471 <<<grid 65536 block 256>>> 926 GB/s"
    assert " ".join(lines[2].split()) == words
    assert any(line.startswith("Passed: 6 of 6 cases match") for line in lines)


def test_long_runs_are_cut_and_say_so(run_folder):
    """Of 72 cases each kernel's fastest are shown, with the count of all of them."""
    text = summary(run_folder(runs.sweep()))
    assert text.count("<<<grid") == 24
    assert "24 of 72 cases are shown" in text
    assert text.count("block 256>>>") == 24


def test_no_row_is_wider_than_the_terminal_and_what_is_left_out_is_told(run_folder):
    """At 80 columns the launch goes, and the block that varies joins the name; a wide terminal and a pipe have all."""
    folder = run_folder(runs.sweep(sizes=(24,)))
    text = summary(folder, terminal=True)
    rows = [line for line in text.splitlines() if re.match(r"reduce.* : ", line)]
    assert len(rows) == 18
    assert max(map(len, rows)) <= 80
    assert "block 128" in rows[0]
    assert "Left out at this width: launch." in text
    assert "<<<grid" not in text
    for other in (summary(folder, 200, terminal=True), summary(folder)):
        assert "Left out" not in other
        assert other.count("<<<grid") == 18


def test_what_was_checked_is_one_line(run_folder):
    """One line has all checks of the CPU device, with how many cases had those that not all had."""
    rows = [
        row | {"size_launches": 3 * (n > 0), "order_launches": 3, "races_at": "its own size"}
        for n, row in enumerate(runs.emulated())
    ]
    columns = (*runs.COLUMNS, "size_launches", "order_launches", "races_at")
    lines = summary(run_folder(rows, columns=columns)).splitlines()
    assert lines[-1] == (
        "Checked: values, other sizes (5 of 6 cases), other orders of threads, bounds, barriers, masks, races; not speed."
    )


def test_a_quiet_run_of_which_nothing_ran_says_why(run_folder, capsys):
    """With --quiet the reasons of a run without a case are printed, those of others are in the report."""
    folder = run_folder([runs.failed(0, "skipped", "width 64 is too wide")])
    stream = io.StringIO()
    publish(folder, Console(file=stream, width=200), brief=True)
    assert "Nothing ran: 1 skipped." in stream.getvalue()
    assert "width 64 is too wide" in stream.getvalue()


def test_failures_are_told_once_with_their_count(run_folder):
    """Five skips of one reason are one line, and every status has its own."""
    text = summary(run_folder(runs.failures()))
    assert text.count("width 64 is more than a warp has lanes") == 1
    assert "skipped: 5 cases, such as reduceShfl" in text
    assert "timeout: reduceForever" in text


def test_a_mismatch_is_told_whole(run_folder):
    """The bound, the largest error with its place, and what to do stand in the terminal and in the page's summary."""
    reason = f"66 of 65536 elements differ: {'y[17] is 15.4909744, expected 15.473974 (allowed 1e-06); ' * 5}"
    reason += "the largest error is 1.78e+04 ulp, at y[17]; set 'tolerance' in the YAML"
    assert reason in summary(run_folder([runs.failed(0, "mismatch", reason)]))


def test_a_mismatch_that_was_not_looked_at_for_races_is_told_with_the_command(run_folder):
    """Unless no variant was looked at, which another sentence says, or all were."""
    looked, waiting = {"races_at": "its own size"}, {"races_skipped": NO_TIME}
    columns = [*runs.COLUMNS, "races_at", "races_skipped"]
    for number, (states, told) in enumerate((((looked, waiting), True), ([waiting] * 2, False), ([looked] * 2, False))):
        rows = [runs.failed(n, "mismatch", f"reason {n}", **state) for n, state in enumerate(states)]
        text = summary(run_folder(rows, f"run{number}", columns=columns))
        assert ("Some mismatches were not looked at for races: `python -m runner profile" in text) == told


def test_a_mismatch_without_a_race_at_a_small_size_names_the_device_that_looks_further(run_folder):
    """Not if the reason has the race, or if it was looked for at the case's own size."""
    columns = [*runs.COLUMNS, "races_at"]
    found = "3 elements differ; the checked CPU device finds at size=513: own.cu:3: race"
    for number, (at, reason, told) in enumerate(
        [
            ("size=513", "3 elements differ", True),
            ("size=513", found, False),
            ("its own size", "3 elements differ", False),
        ]
    ):
        rows = [runs.failed(0, "mismatch", reason, races_at=at)]
        text = summary(run_folder(rows, f"run{number}", columns=columns))
        assert ("at size=513; `device=checked` looks at its own size" in text) == told


def test_a_long_reason_ends_between_two_findings(run_folder):
    """Advice that is cut in the middle would be wrong advice."""
    finding = f"own.cu:7: race {'x' * 300}; missing: `__syncthreads()` in each iteration of the loop of line 8"
    text = summary(run_folder([runs.failed(0, "hazard", "; also ".join([finding] * 3))]))
    assert " ".join(text.split()).count("loop of line 8") == 2
    assert "the report has more" in text


def test_emulated_times_are_not_shown_and_choose_nothing(run_folder):
    """A CPU device's line has status, undefined reads, sum and launch; a long run is not cut by speed."""
    rows = [row | {"undefined_reads": 16} for row in runs.emulated()]
    text = summary(run_folder(rows))
    (line,) = [line for line in text.splitlines() if line.startswith("reduceSmem ")]
    words = "reduceSmem : ok 16 undefined reads sum: 2139353471 <<<grid 256 block 256>>>"
    assert " ".join(line.split()) == words
    assert "gpu sum" not in text
    assert "Fastest" not in text
    many = [row | {"case": f"{n:08x}", "block": 32 * n} for n in range(1, 6) for row in runs.emulated()]
    assert "block 32>>>" in summary(run_folder(many, "many"))


@pytest.mark.parametrize("rows", [[], [runs.failed(0, "skipped", "")], [runs.row(median_us="")]])
def test_small_runs_have_a_summary(run_folder, rows):
    """No cases, a skip without a reason, and a case without a time are all summed up."""
    assert summary(run_folder(rows)).strip()


def test_hostile_names_reach_no_terminal(run_folder):
    """Escapes and console markup in names and reasons are printed as text."""
    text = summary(run_folder([runs.failed(0, "crashed", "[red]\x1b[2J\nx", kernel="[/bold]\x1b]0;title\x07")]))
    assert "\x1b" not in text
    assert "[/bold]" in text
    assert "[red]" in text


def test_many_cases_without_a_time_are_listed_by_their_status(run_folder):
    """A long run of which one group was skipped as a whole still has its summary."""
    skipped = [runs.failed(n, "skipped", "too wide", width=64 + n, dtype="float16") for n in range(30)]
    text = summary(run_folder([*runs.sweep(sizes=(24,), blocks=(256,)), *skipped]))
    assert text.count("skipped") > 5
    assert "6 of 36 cases match" in text


ROWS = [
    {name: value for name, value in row.items() if value != ""} | {"job": n}
    for n, row in enumerate(runs.sweep(sizes=(20, 24), blocks=(128, 256)))
]


@pytest.fixture
def running(tmp_path):
    """A folder in which a sweep has finished four of its cases."""
    folder = RunFolder(tmp_path / "run")
    for row in ROWS:
        folder.job(row["job"]).mkdir(parents=True)
        unrun = {**row, "status": "not_run", "median_us": None}
        known = {name: row[name] for name in ("case", "kernel", "seed", "device")}
        record = {"run": [row["case"], str(row["job"])], "parameters": {}, "asked": {}, "row": unrun}
        folder.write_json(folder.case(row["job"]), known | record)
    for row in ROWS[:4]:
        folder.write_json(folder.result(row["job"]), row)
    folder.lock()
    return folder


@pytest.fixture
def served(running):
    """The server of that folder."""
    with server(running.path) as serving:
        thread = threading.Thread(target=serving.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        yield serving
        serving.shutdown()
        thread.join()


def asked(serving, path, host):
    """The status of the answer to a request that names a host."""
    connection = http.client.HTTPConnection("127.0.0.1", serving.server_port, timeout=30)
    connection.request("GET", path, headers={"Host": host})
    answer = connection.getresponse()
    answer.read()
    connection.close()
    return answer.status


@pytest.mark.browser
def test_the_page_grows_with_the_sweep(browser, served, running):
    """New results come into the open page, the filter stays, and nothing is written into the folder."""
    before = sorted(path.name for path in running.path.iterdir())
    page = browser.new_page()
    page.goto(f"http://127.0.0.1:{served.server_port}/")
    assert "4 of 24 cases so far" in page.locator("#live").inner_text()
    page.locator("#filter").fill("block=128")
    for row in ROWS[4:10]:
        running.write_json(running.result(row["job"]), row)
    page.get_by_text("10 of 24 cases so far").wait_for(timeout=60_000)
    page.get_by_text("5 of 10 cases", exact=True).wait_for(timeout=60_000)
    assert page.locator("#explorer .chart svg").first.is_visible()
    page.close()
    assert sorted(path.name for path in running.path.iterdir()) == before


def test_a_sweep_may_end_while_it_is_read(running, monkeypatch):
    """Cases that were finished after the folder was read are not shown as if the sweep had ended without them."""
    read, lock = live.read, running.path / ".lock"
    monkeypatch.setattr(live, "read", lambda *a, **options: (read(*a, **options), lock.unlink())[0])
    assert "4 of 24 cases so far" in page(running.path)


def test_only_this_machine_is_answered(served):
    """A name of another host, and any other path, is refused; the server listens on the loopback address alone."""
    here = f"localhost:{served.server_port}"
    assert served.server_address[0] == "127.0.0.1"
    assert [asked(served, path, host) for path, host in (
        ("/state", here), ("/state", f"evil.example:{served.server_port}"), ("/results.csv", here), ("/../x", here),
    )] == [200, 403, 404, 404]  # fmt: skip


def test_a_port_in_use_is_one_sentence(served, running, capsys):
    """A port that is taken is a mistake of the user."""
    assert main([str(running.path), "--live", "--port", str(served.server_port)]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_a_pull_request_gets_markdown(run_folder):
    """Verdict, the fastest by size, failures and environment, the same in every process, with no markup of a name."""
    folder = run_folder([*runs.failures(), runs.failed(200, "crashed", "a | <b> `c`", kernel="odd")])
    text = as_markdown(folder)
    assert text.startswith("### 10 kernels on NVIDIA H200 and the CPU device, 2026-01-02\n\n**Failed:** 12 of 26 cases")
    assert "| 2^24 | reduceGmemUnroll | 256 |" in text
    assert "a \\| \\<b\\> \\`c\\`" in text
    assert text.endswith("Environment: NVIDIA H200; commit 0123456789ab.\n")
    again = [sys.executable, "-m", "runner.report", str(folder), "--format", "md"]
    assert subprocess.run(again, capture_output=True, text=True, check=True, timeout=120).stdout == text
    assert not (folder / "report.html").exists()


@pytest.mark.usefixtures("without_figures")
def test_a_page_that_is_passed_on_links_to_no_file(run_folder, tmp_path, capsys):
    """With `--to` the page stands alone, and the command says where it is."""
    to = tmp_path / "alone.html"
    assert main([str(run_folder(runs.sweep()[:3])), "--to", str(to)]) == 0
    assert f"Written: {to}" in capsys.readouterr().out
    assert "results.csv" not in to.read_text("utf-8")
    assert "figures/" not in to.read_text("utf-8")


@pytest.mark.parametrize("name", ["results.csv", "verdict.json", "0/result.json"])
def test_a_page_is_not_written_over_a_file_of_the_run(run_folder, capsys, name):
    """It would be lost: `--to` refuses, and nothing is written."""
    folder = run_folder(runs.sweep()[:3])
    before = (folder / "results.csv").read_bytes()
    assert main([str(folder), "--to", str(folder / name)]) == 2
    assert "belongs to the run itself" in capsys.readouterr().err
    assert (folder / "results.csv").read_bytes() == before
    assert not (folder / "0" / "result.json").exists()


@pytest.mark.parametrize(
    "options",
    [["--to", "x", "--format", "md"], ["--to", "x", "--live"], ["--format", "md", "--live"], ["--port", "8000"]],
)
def test_no_option_is_ignored(run_folder, capsys, monkeypatch, options):
    """Options that exclude each other are a mistake."""
    monkeypatch.setattr(live, "serve", lambda *_: 0)  # it would not end
    assert main([str(run_folder(runs.sweep()[:3])), *options]) == 2
    assert options[0] in capsys.readouterr().err


@pytest.mark.parametrize(
    ("number", "text"), [(0.0, "0.00"), (1.2e-7, "1.2e-07"), (0.5, "0.50"), (12.3, "12.3"), (1234.0, "1,234")]
)
def test_a_number_for_a_sentence_has_digits_however_small(number, text):
    """An allowed error of 1.2e-7 is no 0.00."""
    assert rough(number) == text
