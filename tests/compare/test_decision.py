"""The rule that says whether a case became faster or slower, simulated: how often it is wrong, and what it finds.

The model of noise: every process has a shift of its own, samples within it hang together (AR(1), 0.6), and one sample in
a hundred takes a third longer.
"""

import functools

import numpy as np
import pytest

from runner.compare.decision import decide
from runner.compare.difference import MANY_ROUNDS, Noise, Side

WITHIN, TOGETHER, SAMPLES = 0.01, 0.6, 100
CUDA, CPU = Noise("cuda"), Noise("cpu")


def side(random, *, between, longer=0.0, rounds=MANY_ROUNDS, fresh=True, drift=None):
    """A case of 50 us, measured by a run whose processes differ by `between` (standard deviation of the logarithm)."""
    shift = random.normal(0, between, rounds if fresh else 1) + np.log(50 * (1 + longer))
    noise = random.normal(0, WITHIN * np.sqrt(1 - TOGETHER**2), (rounds, SAMPLES))
    for n in range(1, SAMPLES):
        noise[:, n] += TOGETHER * noise[:, n - 1]
    times = np.exp(noise + np.broadcast_to(shift, rounds)[:, None] + (0 if drift is None else drift[:, None]))
    times[random.random(times.shape) < 0.01] *= 1.33
    quartiles = np.percentile(times, [25, 75])
    return Side(tuple(np.median(times, axis=1)), float(times.min()), float(quartiles[0]), float(quartiles[1]), fresh)


@functools.cache
def words(trials, cases=1, seed=0, **of):
    """What the rule says of cases that take `longer`, in so many comparisons of so many cases."""
    random, longer = np.random.default_rng(seed), of.pop("longer", 0.0)
    told = []
    for _ in range(trials):
        pairs = [(side(random, **of), side(random, longer=longer, **of)) for _ in range(cases)]
        told += [d.word for d in decide(pairs, [CUDA] * cases, [False] * cases)]
    return told


def share(told, *wanted):
    """The part of the words that are among those wanted."""
    return sum(word in wanted for word in told) / len(told)


def steady(*rounds, fresh=True):
    """A side whose samples are those of its rounds, and nothing else."""
    return Side(rounds, min(rounds), min(rounds), max(rounds), fresh)


def one(base, other, noise=CUDA, *, alike=False):
    """What is said of a single case."""
    return decide([(base, other)], [noise], [alike])[0]


@pytest.mark.parametrize("between", [0.001, 0.003, 0.006])
def test_nothing_changed_is_seldom_called_a_change(between):
    """With five rounds, less than one in a hundred cases that did not change is called faster or slower."""
    assert share(words(1500, between=between), "faster", "slower") < 0.01


@pytest.mark.parametrize("between", [0.001, 0.003, 0.006])
@pytest.mark.parametrize("cases", [1, 20])
def test_three_percent_are_found(between, cases):
    """With five rounds, a case that takes 3 % longer is found in more than 95 of 100 trials, alone and among twenty."""
    assert share(words(600 // cases, cases, between=between, longer=0.03), "slower") > 0.95


def test_a_quiet_device_says_same():
    """Where processes differ by a tenth of a percent, what did not change is called the same, not inconclusive."""
    assert share(words(300, between=0.001), "same") > 0.99


def test_rounds_of_one_process_are_not_taken_for_many():
    """Five rounds of one process that has a shift of its own are called a change in few cases, as what it shifts counts."""
    assert share(words(600, between=0.006, fresh=False), "faster", "slower") < 0.04


def test_a_drift_is_no_change_where_the_same_code_drifts_too():
    """A device that drifts while two sweeps are run slows the unchanged cases likewise, and that is what is looked at."""
    random, wrong, missed = np.random.default_rng(4), 0, 0
    for _ in range(200):
        walk = np.cumsum(random.normal(0, 0.004, 2 * MANY_ROUNDS))
        drifts = walk[:MANY_ROUNDS], walk[MANY_ROUNDS:]
        pairs = [tuple(side(random, between=0.002, drift=d) for d in drifts) for _ in range(10)]
        told = decide(pairs, [CUDA] * 10, [False] + [True] * 9)
        missed += decide(pairs, [CUDA] * 10, [False] * 10)[0].word in ("faster", "slower")
        wrong += told[0].word in ("faster", "slower")
    assert wrong <= 2
    assert missed > 10  # so that the drift is one that would be called a change


def test_the_interval_holds_the_change():
    """The 95 % interval encloses the change that was made in about 95 of 100 trials."""
    random = np.random.default_rng(7)
    pairs = [(side(random, between=0.004), side(random, between=0.004, longer=0.05)) for _ in range(800)]
    inside = [d.low <= 1.05 <= d.high for d in decide(pairs, [CUDA] * 800, [False] * 800)]
    assert 0.92 < np.mean(inside) < 0.98


def test_a_change_that_nobody_would_care_about_is_none():
    """Half a percent is the same however precisely it is known, 2 % are a change; both are told as a ratio of times."""
    base = steady(100.0, 100.01, 99.99, 100.02, 99.98)
    assert one(base, steady(100.5, 100.51, 100.49, 100.52, 100.48)).word == "same"
    slower = one(base, steady(102.0, 102.01, 101.99, 102.02, 101.98))
    assert (slower.word, round(slower.change, 4), slower.threshold) == ("slower", 1.02, 0.01)
    assert slower.low < 1.02 < slower.high
    assert one(steady(102.0, 102.01, 101.99, 102.02, 101.98), base).word == "faster"


def test_fewer_rounds_need_a_larger_change():
    """With three rounds, or five in one process, 1.5 % are no change yet, as they are with five fresh ones."""
    three = steady(100.0, 100.01, 99.99), steady(101.5, 101.51, 101.49)
    together = (
        steady(100, 100.01, 99.99, 100, 100, fresh=False),
        steady(101.5, 101.51, 101.49, 101.5, 101.5, fresh=False),
    )
    fresh = steady(100, 100.01, 99.99, 100, 100), steady(101.5, 101.51, 101.49, 101.5, 101.5)
    assert [one(*pair).word for pair in (three, together, fresh)] == ["same", "inconclusive", "slower"]


def test_an_inconclusive_case_is_told_what_to_do():
    """Where the rounds lie too far apart, the note names the settings that would tell."""
    told = one(steady(100, 103, 99, fresh=False), steady(103, 99, 104, fresh=False))
    assert told.word == "inconclusive"
    assert "timing=thorough" in told.note
    wide = one(steady(100, 103, 99, 102, 98), steady(103, 99, 104, 100, 105))
    assert wide.word == "inconclusive"
    assert "timing.rounds=10" in wide.note


def test_one_round_counts_only_where_the_samples_lie_apart():
    """With a single round, samples that overlap are inconclusive, those that lie apart are a change with a remark."""
    base = Side((100.0,), 98.0, 99.0, 101.0, fresh=False)
    near, far = Side((103.0,), 100.0, 102.0, 104.0, fresh=False), Side((110.0,), 108.0, 109.0, 111.0, fresh=False)
    assert one(base, near).word == "inconclusive"
    assert (one(base, far).word, one(far, base).word) == ("slower", "faster")
    assert "too few rounds" in one(base, far).note
    assert one(base, Side((100.2,), 98.0, 99.2, 101.2, fresh=False)).word == "same"


def test_an_emulated_time_needs_a_larger_change():
    """On the CPU device, whose host does other things too, 8 % are no change; on a GPU they are."""
    pair = steady(100, 100.1, 99.9, 100, 100), steady(108, 108.1, 107.9, 108, 108)
    assert (one(*pair, CUDA).word, one(*pair, CPU).word) == ("slower", "same")


def test_the_same_machine_code_is_never_blamed():
    """A pair of the same machine code that looks like a change is a disturbance, and inconclusive."""
    told = one(steady(100, 100.1, 99.9, 100, 100), steady(108, 108.1, 107.9, 108, 108), alike=True)
    assert told.word == "inconclusive"
    assert "machine code is the same" in told.note


def test_what_the_same_machine_code_differs_by_raises_the_threshold():
    """If pairs of the same machine code differ by 2 %, a change of 3 % of another case is none."""
    base, off, changed = (
        steady(100, 100.1, 99.9, 100, 100),
        steady(102, 102.1, 101.9, 102, 102),
        steady(103, 103, 103, 103, 103.1),
    )
    alone = one(base, changed)
    among = decide([(base, changed), *[(base, off)] * 3], [CUDA] * 4, [False, True, True, True])[0]
    assert (alone.word, among.word) == ("slower", "inconclusive")
    assert among.threshold == pytest.approx(np.expm1(2 * 1.4826 * np.log(1.02)), rel=1e-2)


def test_one_disturbed_pair_of_the_same_machine_code_hides_nothing():
    """Of three pairs of the same machine code one differs by 40 %: 10 % of another case are found all the same."""
    base = steady(100, 100.1, 99.9, 100, 100)
    near, far = steady(100.1, 100.2, 100, 100.1, 100.1), steady(140, 140.1, 139.9, 140, 140)
    slower = steady(110, 110.1, 109.9, 110, 110)
    pairs = [(base, slower), (base, base), (base, near), (base, far)]
    told = [d.word for d in decide(pairs, [CUDA] * 4, [False, True, True, True])]
    assert told == ["slower", "same", "same", "inconclusive"]


def test_many_cases_are_allowed_for():
    """Of twenty unchanged cases each, in less than 5 of 100 comparisons any is called changed, though noise is large."""
    random, wrong = np.random.default_rng(5), 0
    for _ in range(200):
        pairs = [tuple(steady(*np.exp(random.normal(0, 0.012, 5))) for _ in range(2)) for _ in range(20)]
        wrong += any(d.word in ("faster", "slower") for d in decide(pairs, [CUDA] * 20, [False] * 20))
    assert wrong / 200 < 0.05


def test_what_is_known_of_processes_counts():
    """Rounds of one process are no change of 3 % where processes are known to differ by 2 %, and one if by 0.1 %."""
    pair = [steady(*(us * (1 + s) for s in (0, 1e-4, -1e-4, 0, 0)), fresh=False) for us in (100, 103)]
    known = [one(*pair, Noise("cuda", run_percent=percent)).word for percent in (2.0, 0.1)]
    assert known == ["inconclusive", "slower"]


def test_single_rounds_allow_for_known_noise_and_for_their_number():
    """Of 256 unchanged cases of one round each, whose processes are known to differ by 1 %, hardly any is called changed."""
    random, wrong = np.random.default_rng(6), 0
    for _ in range(20):
        times = np.exp(random.normal(0, 0.01, (256, 2)))
        pairs = [tuple(Side((t,), t * 0.9999, t, t * 1.0001, fresh=False) for t in pair) for pair in times]
        told = decide(pairs, [Noise("cuda", run_percent=1.0)] * 256, [False] * 256)
        wrong += any(d.word in ("faster", "slower") for d in told)
    assert wrong <= 3


def test_a_threshold_holds_for_the_ratio_of_times():
    """A time is slower from 1.5 times on where the threshold is 50 %, and faster from two thirds on: as told."""
    base = steady(100, 100.1, 99.9, fresh=False)
    words = [one(base, steady(us, us + 0.1, us - 0.1, fresh=False), CPU).word for us in (158, 142, 71, 63)]
    assert words == ["slower", "inconclusive", "inconclusive", "faster"]
    assert one(base, base, CPU).threshold == pytest.approx(0.5)


def test_the_advice_names_what_the_device_reads():
    """The CPU device has rounds of its own, and the advice names their setting."""
    wide = steady(100, 130, 80, 120, 90), steady(120, 80, 140, 100, 110)
    assert "timing.cpu_rounds=10" in one(*wide, CPU).note


def test_a_coarse_timer_raises_the_threshold():
    """A step of the timer of 1 us makes 1.5 % of a time of 50 us no change."""
    pair = steady(50, 50, 50.01, 50, 50), steady(50.75, 50.75, 50.76, 50.75, 50.75)
    assert one(*pair).word == "slower"
    assert one(*pair, Noise("cuda", tick_us=1.0)).word == "same"


def test_times_that_scatter_widely_are_not_the_same():
    """Rounds that differ by a tenth are inconclusive, not the same: nobody knows whether something changed."""
    told = one(steady(100, 110, 90, 105, 95), steady(101, 111, 92, 104, 96))
    assert told.word == "inconclusive"
    assert told.threshold > 0.1


def test_identical_times_are_the_same():
    """Rounds without any spread are compared, too."""
    assert one(steady(5, 5, 5, 5, 5), steady(5, 5, 5, 5, 5)).word == "same"
    assert one(steady(5, 5, 5, 5, 5), steady(6, 6, 6, 6, 6)).word == "slower"
