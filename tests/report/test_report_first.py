"""What a reader sees first: is it right, what is fastest, by how much, why, how sure; and the ranked chart."""

import pytest
import report_runs as runs

from runner.record.folder import RunFolder
from runner.record.ranking import headline_groups
from runner.record.run import read
from runner.report import counted, ranked
from runner.report.answers import first_screen
from runner.report.findings import judge
from runner.stages.lines import costs as lines
from runner.stages.lines.costs import LineCost

ONE_SIZE = [row for row in runs.sweep(sizes=(24,)) if row["block"] == 256]
QUESTIONS = ["Fastest", "By how much", "Why", "How sure"]


def chart_of(folder):
    """The chart of a run's first ranking."""
    run = read(folder)
    return ranked.timed(run, headline_groups(run)[0], {kernel: n for n, kernel in enumerate(run.kernels)})


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
    assert "python -m runner.profile 03-04-05-reduce ncu" in answers[2]
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
    assert [bar.gain for bar in chart.bars][:3] == ["fastest", "+10.0 %", "+20.0 %"]
    assert (len(chart.bars), chart.more) == (12, 2)


def test_a_case_that_cannot_be_told_from_the_fastest_is_tied(run_folder):
    """Its bar is marked, and the answer to "how sure" counts it."""
    steady = {"rounds": 10, "round_spread_percent": 0.1, "ci_low_us": 8.99, "ci_high_us": 9.01}
    folder = run_folder([runs.row(n, block=64 * 2**n) | runs.timing(9, 2**24) | steady for n in range(3)])
    chart = chart_of(folder)
    assert [bar.standing for bar in chart.bars] == ["first", "tied", "tied"]
    assert [bar.gain for bar in chart.bars] == ["fastest", "+0.0 %, tied", "+0.0 %, tied"]
    (sure,) = [answer for answer in first_screen(read(folder)).answers if answer.question == "How sure"]
    assert "2 more cases are tied with it" in sure.sentences[0]


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
    chart = counted.chart(run, works, {"strided": 0, "adjacent": 1})
    assert [bar.gain for bar in chart.bars] == ["4.44x", "baseline"]
    assert chart.bars[1].reason.startswith("scattered accesses on line 6 of k.cu (31.5 sectors per request, at best 4)")


@pytest.mark.browser
def test_the_counted_ranking_says_that_it_predicts_no_time(counted_run, open_page):
    """The first screen of a run without a GPU has its counted ranking, and says what counts do not say."""
    from runner.report import build  # noqa: PLC0415

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
