"""The steps of a history are those that `runner compare` finds between two runs, each with what else changed."""

import contextlib
import html
import re

import compare_runs
import history_runs as runs
import pytest

from runner.compare import __main__ as comparing
from runner.history.steps import FEWER, MORE

PLAIN = runs.environment("a")


def events(text):
    """The texts of the page's list of changes, the newest first."""
    parts = text.partition('<section id="cases">')[0].split('<li class="event')[1:]
    return [" ".join(html.unescape(re.sub(r"<[^>]+>", " ", f"<{part}")).split()) for part in parts]


def test_each_step_says_how_much_since_when_and_what_else_changed(known):
    """Case, factor, times, commit before and after, and the differences between the runs; the newest step first."""
    slower, fewer, faster, fixed, broken = events(known.text)
    assert "reduceShfl, size 2^24 : 1.12x slower (20.00 to 22.41 µs, +" in slower
    assert "NVIDIA H200; since commit 444444444 (before: 333333333 ); 2026-01-01 08:00 UTC. Report" in slower
    assert slower.endswith("kernel source machine code: differs in 1 of 5 cases")
    assert "transpose, size 2^20 : 8x less work (global store sectors 32 to 4 per request)" in fewer
    assert "reduceSmem, size 2^24 : 1.08x faster" in faster
    assert "driver cuda.versions.nvidia_driver: 580.1 → 590.2" in faster
    assert "reduceWrong, size 2^20 : fixed" in fixed
    assert "reduceWrong, size 2^20 : BROKEN (mismatch: 1 of 2 elements differs); later fixed" in broken
    assert "; later" not in slower + fewer + faster + fixed


def test_the_first_sentence_has_the_newest_case_that_got_worse(known):
    """The page and the terminal say first whether anything got slower: which case, by how much, since which commit."""
    sentence = "1 of 5 cases is worse since its last change. reduceShfl, size 2^24: 1.12x slower ("
    for text in (known.text, known.out):
        assert sentence in text
        assert "since commit 444444444 (2026-01-01)." in text
    assert "12 runs, 5 cases, 5 real steps.\n" in known.out


WILD = compare_runs.WILD
PAIRS = {
    "slower": ([runs.timed(0, 10)], [runs.timed(0, 10.4, binary="n")]),
    "faster": ([runs.timed(0, 10)], [runs.timed(0, 9.6, binary="n")]),
    "too small": ([runs.timed(0, 10)], [runs.timed(0, 10.05, binary="n")]),
    "noisy": ([runs.timed(0, 10, WILD)], [runs.timed(0, 10.4, WILD, binary="n")]),
    "the same code": ([runs.timed(0, 10)], [runs.timed(0, 10.4)]),
    "one of many": ([runs.timed(n, 10) for n in range(9)], [runs.timed(n, 10.3 if n == 2 else 10, binary="n") for n in range(9)]),
    "broken": ([runs.timed(0, 10)], [compare_runs.failed(0)]),
    "fixed": ([compare_runs.failed(0)], [runs.timed(0, 10)]),
    "skipped": ([runs.timed(0, 10)], [compare_runs.failed(0, "skipped")]),
    "few rounds": ([runs.timed(0, 10, (0.0,))], [runs.timed(0, 10.4, (0.0,), binary="n")]),
}  # fmt: skip


@pytest.mark.parametrize("pair", PAIRS.values(), ids=PAIRS)
def test_a_step_is_what_compare_calls_a_change(pair, history, tmp_path):
    """Between two runs, the history has a step for exactly the cases that compare calls changed, and says the same word."""
    done = history([(rows, PLAIN) for rows in pair])
    paths = sorted((tmp_path / "outputs").glob("*/*/"))
    with contextlib.chdir(tmp_path):
        comparing.main([*map(str, paths), "--csv", "changes.csv"])
    words = re.findall(r",(slower|faster|BROKEN|fixed),", (tmp_path / "changes.csv").read_text())
    steps = [step[2].split()[-1] for line in runs.data(done.text)["lines"] for step in line["steps"]]
    assert sorted(steps) == sorted(words)


def test_a_case_is_compared_with_its_last_correct_run_on_the_same_model(history):
    """Runs without the case, on another GPU, or in which it failed lie between; the step is found and leads there."""
    other = runs.environment("c", name="NVIDIA H100")
    done = history([
        ([runs.timed(0, 10)], PLAIN), ([runs.timed(1, 5, kernel="other")], PLAIN), ([runs.timed(0, 17)], other),
        ([compare_runs.failed(0)], runs.environment("b")), ([runs.timed(0, 11, binary="n")], runs.environment("d")),
    ])  # fmt: skip
    first, *_ = events(done.text)
    assert "fixed" in first
    slower = next(event for event in events(done.text) if "slower" in event)
    assert "since commit ddddddddd (before: aaaaaaaaa )" in slower
    lines = runs.data(done.text)["lines"]
    assert sorted(len(line["runs"]) for line in lines) == [1, 1, 3]  # H100, the other kernel, H200
    assert [len(line["failed"]) for line in lines if len(line["runs"]) == 3] == [1]


def test_any_change_of_counted_work_is_a_step_and_emulated_times_are_nothing(history):
    """On the CPU device the counts are drawn and compared exactly; a time there is neither."""
    rows = [[runs.counted(0, global_load_sectors=4.0, shared_load_wavefronts=count, emulated_us=us)]
            for count, us in ((1.0, 10), (1.0, 9000), (1.25, 10), (1.0, 10))]  # fmt: skip
    done = history([(own, PLAIN) for own in rows])
    (line,) = runs.data(done.text)["lines"]
    assert line["series"] == [[[4, 4, 4, 4]], [[1, 1, 1.25, 1]]]
    assert [(at, text) for at, _, text, *_ in line["steps"]] == [(2, f"1.25x {MORE}"), (3, f"1.25x {FEWER}")]
    assert "9000" not in done.text


def test_a_case_that_was_timed_twice_in_a_run_is_not_compared(history):
    """Which of its times would count is unknown, as in compare."""
    twice = [runs.timed(0, 20, binary="m"), {**runs.timed(0, 10), "job": 7}]
    done = history([([runs.timed(0, 10)], PLAIN), (twice, PLAIN), ([runs.timed(0, 11, binary="n")], PLAIN)])
    (line,) = runs.data(done.text)["lines"]
    assert [step[0] for step in line["steps"]] == [2]
