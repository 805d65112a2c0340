import io
import json
from dataclasses import replace

import pytest
import report_runs as runs
from rich.console import Console
from shuffle_rows import COLUMNS, butterfly

from runner.record.ranking import fastest, ladder, ratios
from runner.record.run import read
from runner.report import build, print_summary
from runner.report.findings import judge
from runner.report.tables import best_against_best, fastest_cases, geometric_means


def test_the_headline_has_the_count_and_the_fastest(run_folder):
    """The fastest is named with its time, its shares and its lead; the ties follow, first their number, then their names."""
    verdict = judge(read(run_folder(runs.sweep())))
    assert verdict.level == "good"
    assert verdict.headline.startswith("72 of 72 cases match the CPU reference. Fastest at 2^24: reduceShflUnroll, ")
    assert "(27.6 µs, 2,434 GB/s, 51 % of the peak, 58 % of a copy)" in verdict.headline
    assert "2 more cases are undecided. 2.63x as fast as the baseline reduceGmem (2.57x to 2.69x)" in verdict.headline
    assert verdict.headline.endswith(
        "the next, reduceSmemUnroll, block 256, is behind by 1.6 %, undecided: it may be chance."
    )
    steady = {"rounds": 10, "round_spread_percent": 0.1, "ci_low_us": 8.99, "ci_high_us": 9.01}
    rows = [runs.row(n, block=64 * 2**n) | runs.timing(9, 2**24) | steady for n in range(3)]
    verdict = judge(read(run_folder(rows, "ties")))
    assert "2 more cases are tied within" in verdict.headline
    assert verdict.further == (
        "Tied with it, because this measurement cannot tell them apart: reduceShfl, block 128; reduceShfl, block 256.",
    )


def ladder_of(*kernels, **given):
    """A case of each kernel, with its baseline and its time."""
    return [
        runs.row(n, kernel=name, baseline=base, **given) | runs.timing(us, 2**24)
        for n, (name, base, us) in enumerate(kernels)
    ]


def test_every_kernel_has_its_distance_from_the_baseline(run_folder):
    """Also where the baseline is the fastest, as a library is: the question is how far the others are from it."""
    rows = ladder_of(("library", "", 10), ("mine", "library", 50), ("other", "library", 20))
    verdict = judge(read(run_folder(rows)))
    assert verdict.further == ("Speed relative to the baseline library at 2^24: other 0.50x and mine 0.20x.",)
    rows = ladder_of(("alone", "absent", 9), *[("library", "", 10), ("mine", "library", 50)])
    verdict = judge(read(run_folder(rows, "third")))
    assert "1.11x as fast as the baseline library" in verdict.headline
    assert verdict.further == ("Speed relative to the baseline library at 2^24: mine 0.20x.",)
    rows = ladder_of(("first", "", 40), ("second", "first", 20))
    assert judge(read(run_folder(rows, "said"))).further == ()  # the headline says it


def test_who_ranks_by_operations_is_told_operations(run_folder, without_figures):
    """In the listing, the headline and the first screen, not a share of the memory's bandwidth."""
    rows = ladder_of(("library", "", 100), ("mine", "library", 500), operations=10**9)
    folder = run_folder(rows, columns=(*runs.COLUMNS, "operations"))
    metric = {"gflops": {"value": "operations / median_us / 1000", "unit": "GFLOP/s", "better": "higher"}}
    plan = {"rank_by": "gflops", "metrics": dict.fromkeys(("library", "mine"), metric)}
    (folder / "plan.json").write_text(json.dumps(plan))
    told = io.StringIO()
    print_summary(folder, Console(file=told, width=200))
    assert "2,000 GFLOP/s" in told.getvalue().partition("Passed")[0]
    page, share = build(folder).read_text(), "% of the bandwidth of a copy"
    assert "10,000 GFLOP/s" in page
    assert share not in page
    (folder / "plan.json").unlink()
    assert share in build(folder).read_text()


def test_a_baseline_of_another_family_is_told(run_folder):
    """Its kernel is in no table with it, so the speed-up that its YAML asks for is missing."""
    rows = ladder_of(("library", "", 10)) + ladder_of(("mine", "library", 50), family="alone")
    caution = "mine is not compared with its baseline library: it has the family alone, not reduce."
    verdict = judge(read(run_folder(rows)))
    assert caution in verdict.cautions
    assert "baseline" not in " ".join([verdict.headline, *verdict.further])


def test_a_caution_names_the_kernels(run_folder):
    """Of several kernels, those whose times it concerns."""
    rows = ladder_of(("library", "", 10), ("mine", "", 50))
    rows[1]["host_bound"] = True
    said = "In 1 case of mine the host queued launches too slowly, so the time includes host overhead (host_bound)."
    assert said in judge(read(run_folder(rows))).cautions


def test_problems_share_the_rows_of_their_run(run_folder):
    """A problem has rows of the run itself, since copies for thousands of reasons would take long."""
    run = read(run_folder([runs.failed(n, "mismatch", f"{n} of 9 elements differ") for n in range(1, 4)]))
    assert all(problem.rows[0] is row for problem, row in zip(judge(run).problems, run.rows, strict=True))


def test_failures_come_first_and_each_reason_once(run_folder):
    """Each status is counted, each reason is one problem, and what was not launched follows what failed."""
    verdict = judge(read(run_folder(runs.failures())))
    assert verdict.level == "bad"
    assert verdict.headline.startswith("12 of 25 cases match the CPU reference; 1 mismatch, 1 hazard, 5 skipped")
    assert [problem.status for problem in verdict.problems] == [
        *("mismatch", "hazard", "compile_error", "launch_error", "crashed", "timeout", "out_of_memory"),
        *("skipped", "not_run"),
    ]
    assert [len(problem.rows) for problem in verdict.problems][-2:] == [5, 1]


def test_a_wrong_kernel_has_no_speed(run_folder):
    """A mismatch is never the fastest, however short its time."""
    rows = [runs.row(0) | runs.timing(9, 2**24), runs.row(1, status="mismatch", block=64) | runs.timing(1, 2**24)]
    assert [one.fastest["block"] for one in fastest(read(run_folder(rows)))] == ["256"]


@pytest.mark.parametrize(
    ("rows", "level", "words"),
    [
        ([runs.failed(n, "skipped", "too wide", width=64 + n) for n in range(3)], "none", "3 skipped"),
        ([], "none", "no cases"),
        ([runs.row(), runs.failed(1, "not_run", "interrupted")], "partial", "1 of 2"),
        ([runs.failed(n, "mismatch", "x") for n in range(2)], "bad", "2 mismatches"),
    ],
)
def test_a_run_without_news_has_a_verdict_too(run_folder, rows, level, words):
    """Nothing launched, no cases, an interruption, nothing right: each has its level and its sentence."""
    verdict = judge(read(run_folder(rows)))
    assert verdict.level == level
    assert words in verdict.headline


def test_emulated_times_are_not_ranked(run_folder):
    """A run on the CPU device says what matches and what was not checked; beside a GPU only the GPU's cases are ranked."""
    verdict = judge(read(run_folder(runs.emulated())))
    assert (verdict.headline, verdict.further) == ("6 of 6 cases match the CPU reference.", ())
    assert "Not checked: data races" in verdict.cautions[0]
    skipped = [{**row, "status": "skipped"} for row in runs.emulated()]
    assert judge(read(run_folder(skipped, "skipped"))).cautions == ()  # nothing was checked
    run = read(run_folder([*runs.emulated(), *runs.sweep(sizes=(24,))], "both"))
    assert [one.fastest["device"] for one in fastest(run)] == ["cuda"]
    assert len(ratios(run)) == len(ratios(read(run_folder(runs.sweep(sizes=(24,)), "one"))))


def test_unlike_cases_are_not_ranked_together(run_folder):
    """A different finish or dtype makes a sentence of its own."""
    peers = [("host", "int32"), ("device", "int32"), ("host", "float32")] * 2
    rows = [
        runs.row(n, finish=finish, dtype=dtype, block=128 + n) | runs.timing(9 + n, 2**24)
        for n, (finish, dtype) in enumerate(peers)
    ]
    verdict = judge(read(run_folder(rows)))
    told = " ".join([verdict.headline, *verdict.further])
    assert [told.count(f"({group})") for group in (
        "dtype int32, finish host", "dtype int32, finish device", "dtype float32, finish host",
    )] == [1, 1, 1]  # fmt: skip


def test_the_baseline_is_matched_at_the_same_parameters(run_folder):
    """A ratio is of the same size and block; a parameter that the baseline does not read is passed over."""
    run = read(run_folder(runs.sweep()))
    found = ratios(run)
    assert len(found) == 60
    for ratio in found.values():
        one, base = run.frame.loc[ratio.row], run.frame.loc[ratio.baseline_row]
        assert one["baseline"] == base["kernel"]
        assert (one["size"], one["block"]) == (base["size"], base["block"])
        assert ratio.low < ratio.times < ratio.high
    table = geometric_means(run, found)
    assert [cell.text for cell in table.lines[0].cells[:3]] == ["reduceSmem", "reduceGmem", "3"]


def test_an_ambiguous_baseline_gives_no_ratio(run_folder):
    """If several of the baseline's cases would do, none is picked."""
    rows = [runs.row(n, kernel="base", unroll=n + 1) | runs.timing(9, 2**24) for n in range(2)]
    rows.append(runs.row(3, baseline="base") | runs.timing(3, 2**24))
    assert ratios(read(run_folder(rows))) == {}


def test_a_headline_speed_up_is_best_against_best(run_folder):
    """Each kernel counts with its own best block; pairs of equal blocks stand apart, as a geometric mean."""
    times = {("slow", 64): 40.0, ("slow", 256): 20.0, ("quick", 64): 10.0, ("quick", 256): 12.0}
    rows = [
        runs.row(n, kernel=kernel, block=block, baseline="slow") | runs.timing(us, 2**24)
        for n, ((kernel, block), us) in enumerate(times.items())
    ]
    run = read(run_folder(rows))
    table = fastest_cases(run, fastest(run))
    assert table.lines[0].cells[table.columns.index("best against best")].text == "2.00x slow"
    assert [cell.text for cell in best_against_best(run).lines[0].cells][:3] == ["quick", "slow", "2.00x"]
    mean = (40 / 10 * 20 / 12) ** 0.5
    assert geometric_means(run, ratios(run)).lines[0].cells[3].text.startswith(f"{mean:.2f}x (")


def test_a_ceiling_is_not_ranked(run_folder):
    """A copy beside transposes is named as the limit that it is, and is no fastest transpose."""
    rows = [runs.row(n, kernel=kernel) | runs.timing(us, 2**24) for n, (kernel, us) in enumerate(
        {"copy": 10.0, "plain": 30.0, "tiled": 12.0}.items())]  # fmt: skip
    rows[0]["ceiling"] = "True"
    verdict = judge(read(run_folder(rows, columns=[*runs.COLUMNS, "ceiling"])))
    assert "Fastest at 2^24: tiled" in verdict.headline
    assert any(sentence.startswith("Ceiling at 2^24: copy (10.0 µs") for sentence in verdict.further)


def chain(**before):
    """Rows of kernels, each with a baseline; they become faster one after the other, at two sizes and two blocks."""
    return [
        runs.row(100 * n + exponent + block, kernel=kernel, baseline=baseline, size=2**exponent, block=block)
        | runs.timing(2 ** (exponent - 18) * (20 - 3 * n) * (1 + block / 10_000), 2**exponent)
        for n, (kernel, baseline) in enumerate(before.items())
        for exponent in (20, 24)
        for block in (64, 128)
    ]


def test_a_chain_of_baselines_is_a_ladder(run_folder):
    """Three kernels that name each other make steps, in their order, a short branch first; of emulated times there is none."""
    rows = chain(fourth="third", second="first", first="first", third="second", side="second", alone="")
    run = read(run_folder(rows))
    assert ladder(run) == ["first", "second", "side", "third", "fourth"]
    table = best_against_best(run)
    assert table.columns == [
        *("kernel", "baseline", "2^20", "2^24", "over first at 2^24", "median_us at 2^24", "percent_copy at 2^24"),
    ]
    first, second, *_, last = table.lines
    assert [cell.text for cell in first.cells][:5] == ["first", "", "", "", ""]
    assert [cell.text for cell in second.cells][:3] == ["second", "first", "0.82x"]
    over = {line.cells[0].text: line.cells[4].text for line in table.lines}
    assert over["second"] == second.cells[3].text
    assert over[last.cells[0].text] not in ("", last.cells[3].text)  # over the first one, not over the step before
    emulated = [row | {"device": "cpu"} for row in rows]
    assert best_against_best(read(run_folder(emulated, "emulated"))).lines == []


@pytest.mark.parametrize(
    "before", [{"a": "", "b": "a"}, {"a": "c", "b": "a", "c": "b"}, {"a": "a", "b": "a", "c": "a"}]
)
def test_fewer_than_three_steps_are_no_ladder(run_folder, before):
    """Two kernels, kernels in a circle, and kernels of one common baseline have the table of ratios."""
    run = read(run_folder(chain(**before)))
    assert ladder(run) == []
    assert best_against_best(run).columns[:2] == ["kernel", "baseline"]


def test_undefined_reads_stand_in_the_headline(run_folder):
    """A case is right though some of its elements were not compared, and the headline says so."""
    rows = [runs.row(n, undefined_reads=reads) | runs.timing(9, 2**24) for n, reads in enumerate((0, 3, ""))]
    assert "In 1 matching case lanes read undefined values" in judge(read(run_folder(rows))).headline


def test_what_is_compared_with_nothing_is_no_winner(run_folder):
    """Neither of three dtypes with a case each, nor a single block, which takes as long as any launch. One case has its time.

    Without a peak or a copy the time and the bandwidth stand alone.
    """
    rows = [runs.row(n, dtype=d) | runs.timing(9 + n, 2**24) for n, d in enumerate(("int32", "int64", "float32"))]
    assert "µs" not in judge(read(run_folder(rows))).headline
    row = rows[0] | {"percent_peak": "", "percent_copy": ""}
    assert judge(read(run_folder([row], "one"))).headline.endswith("reduceShfl at 2^24 takes 9.00 µs, 7,457 GB/s.")
    rows = [row | runs.timing(4, 32) for row in butterfly()]
    assert "µs" not in judge(read(run_folder(rows, "block", columns=COLUMNS))).headline


def test_times_that_should_not_be_trusted_are_named(run_folder):
    """Each flag of a row is a sentence, with the number of cases and the overhead of the method."""
    flags = {"timer_limited": "True", "host_bound": "False", "throttled": "True"}
    rows = [runs.row(n, block=b) | runs.timing(5, 2**16) | flags for n, b in enumerate((64, 128))]
    run = read(run_folder(rows))
    run = replace(run, environment={"devices": {"cuda": {"empty_kernel_us": 3.2}}})
    short, throttled = judge(run).cautions
    assert short.startswith("In 2 cases")
    assert "an empty kernel takes 3.20 µs" in short
    assert "throttled" in throttled
