import report_runs as runs
from shuffle_rows import COLUMNS, butterfly

from runner.report.ratio import ratios
from runner.report.table import load
from runner.report.verdict import fastest, judge


def test_all_right(run_folder):
    """One sentence has the count, the fastest by what varies, its shares of the limits, and its ties; the next their names."""
    verdict = judge(load(run_folder(runs.sweep())))
    assert verdict.level == "good"
    assert verdict.headline == (
        "72 of 72 cases match the CPU reference; fastest at 2^24 is reduceShflUnroll, block 256, with 27.6 µs, "
        "2,434 GB/s, 51 % of the peak, 58 % of a copy on the device; 2 further cases cannot be told from it, within "
        "2.0 %; 1 further case may be slower, by too little to be certain."
    )
    near = "reduceSmemUnroll, block 256; reduceShflUnroll, block 512"
    assert verdict.fastest == (f"Level with reduceShflUnroll, block 256: {near}.",)


def test_limits_that_nobody_knows_are_left_out(run_folder):
    """Without a peak or a copy the time and the bandwidth are told alone."""
    row = runs.row() | runs.timing(9, 2**24) | {"percent_peak": "", "percent_copy": ""}
    headline = judge(load(run_folder([row]))).headline
    assert headline == "1 of 1 case matches the CPU reference; reduceShfl at 2^24 takes 9.00 µs, 7,457 GB/s."


def test_every_failure_is_told_and_skips_come_last(run_folder):
    """Each status is counted, each distinct reason told once, and what was not launched follows what failed."""
    verdict = judge(load(run_folder(runs.failures())))
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
    assert [best.row["block"] for best in fastest(load(run_folder(rows)))] == ["256"]


def test_all_skipped(run_folder):
    """Where nothing was launched the headline says so instead of counting matches."""
    verdict = judge(load(run_folder([runs.failed(n, "skipped", "too wide", width=64 + n) for n in range(3)])))
    assert (verdict.level, verdict.headline, verdict.fastest) == ("none", "No case was launched: 3 skipped.", ())


def test_no_cases(run_folder):
    """A table of no rows is a run of no cases."""
    assert judge(load(run_folder([]))).headline == "The run has no cases."


def test_an_interrupted_run_is_neither_good_nor_bad(run_folder):
    """What was not reached is no failure, but the run is not whole."""
    assert judge(load(run_folder([runs.row(), runs.failed(1, "not_run", "interrupted")]))).level == "partial"


def test_emulated_time_is_called_so(run_folder):
    """The sentence on a CPU device's run says that it says nothing about a GPU, which comes first where there is one."""
    sentence = judge(load(run_folder(runs.emulated()))).headline
    assert "shortest emulated time at 2^16 is " in sentence
    assert "says nothing about a GPU" in sentence
    both = judge(load(run_folder([*runs.emulated(), *runs.sweep(sizes=(24,))], "both")))
    assert "; fastest at 2^24 is reduceShflUnroll" in both.headline
    assert both.fastest[-1].startswith("Shortest emulated time at 2^16 is ")


def test_unlike_cases_are_not_ranked_together(run_folder):
    """A different finish, device or dtype makes a sentence of its own."""
    peers = [("host", "int32"), ("device", "int32"), ("host", "float32")] * 2
    rows = [
        runs.row(n, finish=finish, dtype=dtype, block=128 + n) | runs.timing(9 + n, 2**24)
        for n, (finish, dtype) in enumerate(peers)
    ]
    verdict = judge(load(run_folder(rows)))
    told = [verdict.headline, *verdict.fastest]
    assert [sum(f"({group})" in sentence for sentence in told) for group in (
        "dtype int32, finish host", "dtype int32, finish device", "dtype float32, finish host",
    )] == [1, 1, 1]  # fmt: skip


def test_the_baseline_is_matched_at_the_same_parameters(run_folder):
    """A ratio is of the same size and block; a parameter that the baseline does not read is passed over."""
    frame = load(run_folder(runs.sweep()))
    found = ratios(frame)
    assert len(found) == 60
    for ratio in found.values():
        one, base = frame.loc[ratio.row], frame.loc[ratio.baseline_row]
        assert one["baseline"] == base["kernel"]
        assert (one["size"], one["block"]) == (base["size"], base["block"])
        assert ratio.low < ratio.times < ratio.high


def test_an_ambiguous_baseline_gives_no_ratio(run_folder):
    """Where several of the baseline's cases would do, none is picked."""
    rows = [runs.row(n, kernel="base", unroll=n + 1) | runs.timing(9, 2**24) for n in range(2)]
    rows.append(runs.row(3, baseline="base") | runs.timing(3, 2**24))
    assert ratios(load(run_folder(rows))) == {}


def test_emulated_times_have_no_ratio(run_folder):
    """A speed-up of the CPU device's own times would be read as one of a GPU."""
    assert ratios(load(run_folder(runs.emulated()))) == {}


def test_undefined_reads_stand_in_the_headline(run_folder):
    """A case is right though some of its elements were not compared; the first sentence says so."""
    rows = [runs.row(n, undefined_reads=reads) | runs.timing(9, 2**24) for n, reads in enumerate((0, 3, ""))]
    verdict = judge(load(run_folder(rows)))
    assert (
        "match the CPU reference (in 1 of them lanes read undefined values, which are not compared); "
        in verdict.headline
    )


def test_what_is_compared_with_nothing_is_no_winner(run_folder):
    """Four dtypes with a case each: each is its own group, and none of them is the fastest of anything."""
    rows = [runs.row(n, dtype=d) | runs.timing(9 + n, 2**24) for n, d in enumerate(("int32", "int64", "float32"))]
    assert judge(load(run_folder(rows))).headline == "3 of 3 cases match the CPU reference."
    assert "reduceShfl at 2^24 takes 9.00 µs" in judge(load(run_folder(rows[:1], "one"))).headline


def test_a_single_block_of_shuffles_is_not_ranked(run_folder):
    """It takes as long as any launch does, so that none is called the fastest."""
    rows = [row | runs.timing(4, 32) for row in butterfly()]
    assert judge(load(run_folder(rows, columns=COLUMNS))).headline == "5 of 5 cases match the CPU reference."


def test_times_that_are_not_to_be_believed_are_told(run_folder):
    """Each flag of a row is a sentence above the tables, with the number of cases and the floor of the method."""
    flags = {"timer_limited": "True", "host_bound": "False", "throttled": "True"}
    rows = [runs.row(n, block=b) | runs.timing(5, 2**16) | flags for n, b in enumerate((64, 128))]
    frame = load(run_folder(rows))
    frame.attrs["devices"] = {"cuda": {"empty_kernel_us": 3.2}}
    short, throttled = judge(frame).cautions
    assert short.startswith("In 2 cases the time is short against an empty kernel, which takes 3.20 µs: most of it")
    assert "throttled GPU" in throttled
