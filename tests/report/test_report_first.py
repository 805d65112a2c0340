"""What a reader sees first: is it right, what is fastest, by how much, why, how sure; and the ranked chart."""

import json

import pytest
import report_runs as runs

from runner.record.folder import RunFolder
from runner.record.ranking import headline_groups
from runner.record.run import read
from runner.report import bottlenecks, build, checks, counted, ranked
from runner.report.answers import first_screen
from runner.report.findings import judge
from runner.stages.lines import costs as lines
from runner.stages.lines.costs import LineCost
from runner.stages.races.variants import NOT_READY

ONE_SIZE = [row for row in runs.sweep(sizes=(24,)) if row["block"] == 256]
QUESTIONS = ["Fastest", "By how much", "Why", "How sure"]


def chart_of(folder):
    """The chart of a run's first ranking."""
    run = read(folder)
    return ranked.timed(run, headline_groups(run)[0])


def answers_of(folder):
    """The sentences of a run's answers, by question."""
    return {answer.question: list(answer.sentences) for answer in first_screen(read(folder)).answers}


@pytest.mark.browser
@pytest.mark.parametrize(("width", "height"), [(1400, 900), (390, 844)])
def test_the_first_screen_answers(visit, width, height):
    """On a desk's screen the verdict, four answers and all bars are in view; on a phone the answers and the first bar."""
    page = visit(runs.sweep(), viewport={"width": width, "height": height})
    assert "72 of 72 cases match" in page.locator(".verdict").inner_text()
    assert page.locator(".answers dt").all_inner_texts() == QUESTIONS
    answers = page.locator(".answers dd").all_inner_texts()
    assert answers[0].startswith("reduceShflUnroll, block 256 at 2^24: 27.6 µs")
    assert answers[1].startswith(
        "2.63x as fast as the baseline reduceGmem (2.57x to 2.69x); the next, reduceSmemUnroll"
    )
    assert answers[2].endswith("To count it: python -m runner profile .../03-04-05-reduce ncu lines")
    assert "95 % interval 27.29 to 27.90 µs" in answers[3]
    bars = page.locator(".ranked tbody tr")
    last = bars.nth(5 if width > 1000 else 0).bounding_box()
    assert last["y"] + last["height"] < height
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.browser
def test_a_bar_is_as_long_as_its_time_and_leads_to_its_case(visit):
    """Lengths of the bars are in the ratio of the medians; a bar's name leads to its row in the table of all cases."""
    page = visit(ONE_SIZE)
    widths = page.locator(".ranked .fill").evaluate_all("(all) => all.map((bar) => bar.getBoundingClientRect().width)")
    medians = sorted(float(row["median_us"]) for row in ONE_SIZE)
    assert [width / widths[0] for width in widths] == pytest.approx([us / medians[0] for us in medians], rel=0.01)
    page.locator(".ranked tbody a").first.click()
    assert "reduceShflUnroll" in page.locator("tr:target").inner_text()


def test_the_chart_ranks_the_best_case_of_each_kernel(run_folder):
    """The fastest first; speed-ups over one baseline, the first of the ladder; near ones are marked; ceilings are lines."""
    chart = chart_of(run_folder(runs.sweep()))
    assert [bar.name for bar in chart.bars] == [
        *("reduceShflUnroll", "reduceSmemUnroll", "reduceGmemUnroll", "reduceShfl", "reduceSmem", "reduceGmem"),
    ]
    assert chart.gain_head == "speed-up over reduceGmem"
    assert [bar.gain for bar in chart.bars][::5] == ["2.63x", "baseline"]
    assert [bar.standing for bar in chart.bars] == ["first", "undecided", *["behind"] * 4]
    assert chart.bars[0].details == "block 256"
    by_kind = {rule.kind: rule for rule in chart.rules}
    assert by_kind["baseline"].at == pytest.approx(chart.bars[-1].length)
    assert [rule.label for rule in chart.rules][:2] == [
        "as many bytes at the peak bandwidth, 4,800 GB/s",
        "as many bytes at the bandwidth of a copy, which reads and writes, 4,200 GB/s",
    ]
    assert chart.bars[0].low < chart.bars[0].length < chart.bars[0].high


def test_the_variants_of_one_kernel_are_ranked_against_the_fastest(run_folder):
    """Without a second kernel each bar is a variant, and says by how many percent it is behind; the number left out is told."""
    steady = {"rounds": 10, "round_spread_percent": 0.01}
    rows = [runs.row(n, block=32 * (n + 1)) | runs.timing(10.0 + n, 2**24) | steady for n in range(14)]
    chart = chart_of(run_folder(rows))
    assert [(bar.name, bar.details) for bar in chart.bars][:2] == [("", "block 32"), ("", "block 64")]
    assert [bar.gain for bar in chart.bars][:3] == ["fastest", "10.0 %", "20.0 %"]
    assert (len(chart.bars), chart.more) == (12, 2)


def test_a_case_that_cannot_be_told_from_the_fastest_is_tied(run_folder):
    """Its bar is marked, and the first answer counts it."""
    steady = {"rounds": 10, "round_spread_percent": 0.1, "ci_low_us": 8.99, "ci_high_us": 9.01}
    folder = run_folder([runs.row(n, block=64 * 2**n) | runs.timing(9, 2**24) | steady for n in range(3)])
    chart = chart_of(folder)
    assert [bar.standing for bar in chart.bars] == ["first", "tied", "tied"]
    assert [bar.gain for bar in chart.bars] == ["fastest", "0.0 %, tied", "0.0 %, tied"]
    assert answers_of(folder)["Fastest"][1] == "2 more cases are tied with it."


def test_a_ceiling_is_no_baseline(run_folder):
    """A copy that a ladder begins with does less, so the next step is the baseline of all."""
    rows = [
        runs.row(n, kernel=kernel, baseline=baseline, ceiling=str(kernel == "copy")) | runs.timing(us, 2**24)
        for n, (kernel, baseline, us) in enumerate(
            [("copy", "copy", 20), ("naive", "copy", 90), ("tiled", "naive", 30)]
        )
    ]
    folder = run_folder(rows, columns=[*runs.COLUMNS, "ceiling"])
    assert chart_of(folder).gain_head == "speed-up over naive"
    assert answers_of(folder)["By how much"][0].startswith("3.00x as fast as the baseline naive (")
    assert "the next" not in answers_of(folder)["By how much"][0]


def test_a_kernel_without_a_bar_is_named(run_folder):
    """A kernel that finishes elsewhere is no match for the others, and the chart says so."""
    rows = [runs.row(n, kernel=f"k{n}", finish="host") | runs.timing(9 + n, 2**24) for n in range(2)]
    rows.append(runs.row(2, kernel="whole", finish="device") | runs.timing(40, 2**24))
    chart = chart_of(run_folder(rows, columns=list(dict.fromkeys([*runs.COLUMNS, "finish"]))))
    assert [bar.name for bar in chart.bars] == ["k0", "k1"]
    assert chart.note.endswith("Not comparable with these: whole (finish device).")


def test_what_all_variants_share_stands_in_the_heading(run_folder):
    """Of a parameter that varies among all cases, but not among the drawn ones, the bars need not tell."""
    rows = [runs.row(n, block=32 * (n % 12 + 1), unroll=n // 12 + 1) | runs.timing(10.0 + n, 2**24) for n in range(24)]
    chart = chart_of(run_folder(rows))
    assert chart.heading == "The variants of reduceShfl at 2^24, unroll 1"
    assert chart.bars[1].details == "block 64"


def test_the_next_variant_is_told_by_what_differs(run_folder):
    """Two variants of one kernel: the sentence names the parameter that the next has another value of."""
    rows = [runs.row(n, block=64 * 2**n, unroll=8) | runs.timing(10.0 * (n + 1), 2**24) for n in range(3)]
    assert answers_of(run_folder(rows))["By how much"] == ["The next, with block 128 instead, is 2.00x slower."]


def test_compute_sanitizer_counts_as_a_check_for_races(run_folder):
    """After its tools ran on all cases, nothing says that races were not looked for; after some, that stays."""
    skipped = {"races_skipped": NOT_READY}
    rows = [runs.row(n, block=64 * 2**n) | runs.timing(9 + n, 2**24) | skipped | {"job": n} for n in range(2)]
    folder = run_folder(rows, columns=[*runs.COLUMNS, "job", "races_at", "races_skipped"])
    (folder / "plan.json").write_text(json.dumps({"ways": [{"profile": {"sanitizer": True}}]}))
    record = {"sanitizer": {"tools": ["memcheck", "racecheck", "initcheck"], "findings": 0}}
    for number, (clean, unchecked) in enumerate([(1, True), (2, False)]):
        (folder / str(number)).mkdir()
        (folder / str(number) / "profile.json").write_text(json.dumps(record))
        said = " ".join(checks.in_brief(read(folder)))
        assert f"compute-sanitizer (memcheck, racecheck and initcheck) found nothing in {clean} of 2 cases." in said
        assert ("were not looked for" in said) == unchecked


@pytest.mark.usefixtures("without_figures")
def test_a_command_in_an_answer_looks_like_one(run_folder):
    """What stands between backticks in a sentence is code on the page, without the backticks."""
    rows = [runs.row() | runs.timing(9, 2**24) | {"races_skipped": NOT_READY}]
    text = build(run_folder(rows, columns=[*runs.COLUMNS, "races_skipped"])).read_text()
    assert "<code>python -m runner profile .../03-04-05-reduce races</code> looks for them" in text


def test_a_bar_names_the_line_where_one_is_known():
    """Of several limits the chart has room for one: that which names a line, otherwise the first."""
    assert bottlenecks.in_brief("latency-bound: x; 85 % of warps active; bank conflicts on line 9 of k.cu").startswith(
        "bank"
    )
    assert bottlenecks.in_brief("launch-bound: y; its blocks fill 2 % of the GPU") == "launch-bound: y"


def test_a_limit_that_is_exceeded_is_not_named(run_folder):
    """A kernel that hardly writes may be quicker than a copy; then only its share of the peak is told."""
    row = runs.row() | runs.timing(2**26 / 4300 / 1000, 2**24)
    assert float(row["percent_copy"]) > 100
    headline = judge(read(run_folder([row, {**row, "case": "b", "block": 128}]))).headline
    assert "90 % of the peak" in headline
    assert "copy" not in headline


def access(line, sectors, requests=48, memory="global", kind="load"):
    """The cost of one line in three blocks."""
    unit = (
        {"sectors": sectors, "ideal_sectors": 4}
        if memory == "global"
        else {"wavefronts": sectors, "ideal_wavefronts": 1}
    )
    return LineCost("k.cu", line, memory, kind, 3, requests, 32, 128, **unit)


@pytest.fixture
def counted_run(run_folder):
    """Two kernels on the CPU device whose lines were counted: one strided, one with adjacent accesses."""
    rows = [
        runs.row(n, kernel=kernel, baseline=baseline, size=2**20, block=256, device="cpu", emulated_us=us)
        for n, (kernel, baseline, us) in enumerate([("strided", "", 10), ("adjacent", "strided", 99999)])
    ]
    path = run_folder(rows)
    folder = RunFolder(path)
    for n, sectors in enumerate((31.5, 4)):
        folder.job(n).mkdir()
        lines.keep(folder, n, rows[n]["case"], rows[n]["kernel"], [access(6, sectors), access(9, 4, kind="store")])
    lines.write(folder)
    return path


def test_without_a_gpu_kernels_are_ranked_by_counted_memory_work(counted_run):
    """Fewer sectors come first, whatever the emulated times; the work of three blocks is scaled to the grid."""
    run = read(counted_run)
    works = counted.works(run)
    assert [work.row["kernel"] for work in works] == ["adjacent", "strided"]
    assert works[0].sectors == 4096 / 3 * 48 * (4 + 4)
    assert works[0].traffic == "16 MiB"
    verdict = judge(run)
    assert verdict.headline.endswith(
        "Least memory work at 2^20: adjacent, 16 MiB of global memory traffic; "
        "4.44x fewer sectors of global memory than the baseline strided."
    )
    chart = counted.chart(run, works)
    assert [bar.gain for bar in chart.bars] == ["4.44x less", "baseline"]
    assert chart.bars[1].reason.startswith(
        "uncoalesced accesses on line 6 of k.cu (31.5 sectors per request, at best 4)"
    )


@pytest.mark.browser
def test_the_counted_ranking_says_that_it_predicts_no_time(counted_run, open_page):
    """The first screen of a run without a GPU has its counted ranking, and says what counts do not say."""
    page = open_page(build(counted_run))
    assert page.locator(".answers dt").all_inner_texts() == ["Least memory work", "By how much", "Why", "How sure"]
    assert "Counts predict memory work, not time." in page.locator(".answers").inner_text()
    assert [text.split()[0] for text in page.locator(".ranked tbody th").all_inner_texts()] == ["adjacent", "strided"]
    assert "emulated" not in page.locator("header").inner_text()


def test_small_differences_of_work_are_told_in_percent():
    """Less than half more is told in percent, twice as much as a ratio, and nothing as such."""
    row = {"kernel": "k"}
    work = counted.Work(row, 100.0, 10.0, 0.0)
    assert counted.versus(work, counted.Work(row, 105.0, 10.0, 0.0)) == "4.8 % fewer sectors of global memory than"
    assert counted.versus(work, counted.Work(row, 100.0, 20.0, 0.0)) == "2x fewer wavefronts of shared memory than"
    assert counted.versus(work, counted.Work(row, 100.2, 10.0, 0.0)) == "as much memory work as"
