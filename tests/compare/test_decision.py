"""The rule of `runner.statistics`, simulated: how often it is wrong, and what it finds.

The noise model: every process has its own shift, samples within it are correlated (AR(1), 0.6), and one sample in a
hundred takes a third longer.
"""

import functools

import numpy as np
import pytest

from runner.statistics import MANY_ROUNDS, Noise, Side, decide

WITHIN, TOGETHER, SAMPLES = 0.01, 0.6, 100
CHANGED = ("faster", "slower")


def sides(random, count, *, between, longer=0.0, rounds=MANY_ROUNDS, fresh=True, drift=0.0):
    """Cases of 50 us in a run whose processes differ by `between`, a standard deviation of logarithms."""
    shift = random.normal(0, between, (count, rounds if fresh else 1)) + np.log(50 * (1 + longer)) + drift
    noise = random.normal(0, WITHIN * np.sqrt(1 - TOGETHER**2), (SAMPLES, count, rounds))
    for n in range(1, SAMPLES):
        noise[n] += TOGETHER * noise[n - 1]
    times = np.exp(noise + np.broadcast_to(shift, (count, rounds)))
    times[random.random(times.shape) < 0.01] *= 1.33
    q1, q3 = np.percentile(times, [25, 75], axis=(0, 2))
    found = zip(np.median(times, axis=0), times.min(axis=(0, 2)), q1, q3, strict=True)
    return [Side.of(medians, low, a, b, fresh=fresh) for medians, low, a, b in found]


def words(pairs, noise=None, **given):
    """The decision on each pair."""
    return [d.word for d in decide(pairs, [noise or Noise()] * len(pairs), **given)]


@functools.cache
def simulated(trials, cases=1, seed=0, longer=0.0, **of):
    """The decisions in so many comparisons of so many cases that take `longer`."""
    random = np.random.default_rng(seed)
    base, other = (sides(random, trials * cases, longer=change, **of) for change in (0.0, longer))
    pairs = list(zip(base, other, strict=True))
    return [word for n in range(0, len(pairs), cases) for word in words(pairs[n : n + cases])]


def share(found, *wanted):
    """The share of some words."""
    return sum(word in wanted for word in found) / len(found)


def steady(*rounds, fresh=True):
    """A side whose samples are its rounds."""
    return Side.of(rounds, min(rounds), min(rounds), max(rounds), fresh=fresh)


def single(us, min_us, q1_us, q3_us):
    """A side of a single round."""
    return Side.of((us,), min_us, q1_us, q3_us, fresh=False)


def one(base, other, noise=None, *, alike=False):
    """The decision on a single pair."""
    return decide([(base, other)], [noise or Noise()], alike=[alike])[0]


@pytest.mark.parametrize("between", [0.001, 0.003, 0.006])
def test_an_unchanged_case_is_seldom_called_changed(between):
    """With five rounds, less than one in a hundred unchanged cases is called faster or slower."""
    assert share(simulated(1500, between=between), *CHANGED) < 0.01


@pytest.mark.parametrize("between", [0.001, 0.003, 0.006])
@pytest.mark.parametrize("cases", [1, 20])
def test_three_percent_are_found(between, cases):
    """With five rounds, a case that takes 3 % longer is found in more than 95 of 100 trials, alone and among twenty."""
    assert share(simulated(600 // cases, cases, between=between, longer=0.03), "slower") > 0.95


def test_unchanged_cases_are_tied_on_a_quiet_device():
    """Where processes differ by a tenth of a percent, unchanged cases are tied, not undecided."""
    assert share(simulated(300, between=0.001), "tied") > 0.99


def test_rounds_of_one_process_are_not_taken_for_many():
    """Five rounds of one process seldom show a change, because the shift of the process counts as noise."""
    assert share(simulated(600, between=0.006, fresh=False), *CHANGED) < 0.04


def test_unchanged_code_shows_a_drift():
    """A drift of the device slows unchanged code, too, and so is not taken for a change of other cases."""
    random, trials = np.random.default_rng(4), 200
    walk = np.cumsum(random.normal(0, 0.004, (trials, 2 * MANY_ROUNDS)), axis=1).repeat(10, axis=0)
    drifts = walk[:, :MANY_ROUNDS], walk[:, MANY_ROUNDS:]
    pairs = list(zip(*(sides(random, 10 * trials, between=0.002, drift=drift) for drift in drifts), strict=True))
    each = [pairs[n : n + 10] for n in range(0, len(pairs), 10)]
    assert sum(words(one, alike=[False] + [True] * 9)[0] in CHANGED for one in each) <= 2
    assert sum(words(one)[0] in CHANGED for one in each) > 10  # the drift alone would be called a change


def test_the_interval_holds_the_change():
    """The 95 % interval encloses the true change in about 95 of 100 trials."""
    random = np.random.default_rng(7)
    pairs = list(zip(sides(random, 800, between=0.004), sides(random, 800, between=0.004, longer=0.05), strict=True))
    inside = [d.low <= 1.05 <= d.high for d in decide(pairs, [Noise()] * 800)]
    assert 0.92 < np.mean(inside) < 0.98


def test_a_change_below_the_threshold_is_a_tie():
    """Half a percent is a tie however precisely it is known; 2 % are a change, as a ratio of times."""
    base = steady(100.0, 100.01, 99.99, 100.02, 99.98)
    assert one(base, steady(100.5, 100.51, 100.49, 100.52, 100.48)).word == "tied"
    slower = one(base, steady(102.0, 102.01, 101.99, 102.02, 101.98))
    assert (slower.word, round(slower.change, 4), slower.threshold) == ("slower", 1.02, pytest.approx(0.01))
    assert slower.low < 1.02 < slower.high
    assert one(steady(102.0, 102.01, 101.99, 102.02, 101.98), base).word == "faster"


def test_fewer_rounds_need_a_larger_change():
    """With three rounds, or five in one process, 1.5 % are no change yet; with five fresh ones they are."""
    three = steady(100.0, 100.01, 99.99), steady(101.5, 101.51, 101.49)
    together, fresh = (
        [steady(us, us + 0.01, us - 0.01, us, us, fresh=fresh) for us in (100, 101.5)] for fresh in (False, True)
    )
    assert [one(*pair).word for pair in (three, together, fresh)] == ["tied", "undecided", "slower"]


def test_an_undecided_case_comes_with_advice():
    """Where the rounds differ too much, by a tenth, the advice names the settings that would decide it."""
    few = one(steady(100, 103, 99, fresh=False), steady(103, 99, 104, fresh=False))
    assert (few.word, "timing=thorough" in few.advice) == ("undecided", True)
    wide = one(steady(100, 103, 99, 102, 98), steady(103, 99, 104, 100, 105))
    assert (wide.word, "timing.rounds=10" in wide.advice) == ("undecided", True)
    found = one(steady(100, 110, 90, 105, 95), steady(101, 111, 92, 104, 96))
    assert (found.word, found.threshold > 0.1) == ("undecided", True)


def test_one_round_counts_only_where_the_samples_do_not_overlap():
    """With a single round, overlapping samples are undecided, and separate ones are a change with a note."""
    base, far = single(100, 98, 99, 101), single(110, 108, 109, 111)
    assert one(base, single(103, 100, 102, 104)).word == "undecided"
    assert (one(base, far).word, one(far, base).word) == ("slower", "faster")
    assert "too few rounds" in one(base, far).note
    assert one(base, single(100.2, 98, 99.2, 101.2)).word == "tied"


def test_the_same_machine_code_is_never_blamed():
    """An apparent change of the same machine code is a disturbance, and undecided."""
    found = one(steady(100, 100.1, 99.9, 100, 100), steady(108, 108.1, 107.9, 108, 108), alike=True)
    assert (found.word, "machine code is the same" in found.note) == ("undecided", True)


def test_noise_of_the_same_machine_code_raises_the_threshold():
    """If pairs of the same machine code differ by 2 %, a change of 3 % of another case does not count."""
    base, off = steady(100, 100.1, 99.9, 100, 100), steady(102, 102.1, 101.9, 102, 102)
    changed = steady(103, 103, 103, 103, 103.1)
    pairs = [(base, changed), *[(base, off)] * 3]
    among = decide(pairs, [Noise()] * 4, alike=[False, True, True, True])[0]
    assert (one(base, changed).word, among.word) == ("slower", "undecided")
    assert among.threshold == pytest.approx(np.expm1(2 * 1.4826 * np.log(1.02)), rel=1e-2)


def test_one_disturbed_pair_of_the_same_machine_code_hides_nothing():
    """Of three pairs of the same machine code one differs by 40 %: 10 % of another case are found all the same."""
    base, slower = steady(100, 100.1, 99.9, 100, 100), steady(110, 110.1, 109.9, 110, 110)
    near, far = steady(100.1, 100.2, 100, 100.1, 100.1), steady(140, 140.1, 139.9, 140, 140)
    pairs = [(base, slower), (base, base), (base, near), (base, far)]
    assert words(pairs, alike=[False, True, True, True]) == ["slower", "tied", "tied", "undecided"]


def test_many_cases_are_allowed_for():
    """Of twenty unchanged cases each, in less than 5 of 100 comparisons any is called changed, though noise is large."""
    random, wrong = np.random.default_rng(5), 0
    for _ in range(200):
        pairs = [tuple(steady(*np.exp(random.normal(0, 0.012, 5))) for _ in range(2)) for _ in range(20)]
        wrong += any(word in CHANGED for word in words(pairs))
    assert wrong / 200 < 0.05


def test_known_noise_between_processes_counts():
    """Rounds of one process do not show a change of 3 % where processes differ by 2 %, but do where by 0.1 %."""
    pair = [steady(*(us * (1 + s) for s in (0, 1e-4, -1e-4, 0, 0)), fresh=False) for us in (100, 103)]
    assert [one(*pair, Noise(process=noise)).word for noise in (0.02, 0.001)] == ["undecided", "slower"]


def test_single_rounds_allow_for_known_noise_and_for_their_number():
    """Of 256 unchanged cases of one round each, in processes that differ by 1 %, hardly any is called changed."""
    random, wrong = np.random.default_rng(6), 0
    for _ in range(20):
        times = np.exp(random.normal(0, 0.01, (256, 2)))
        pairs = [tuple(single(t, t * 0.9999, t, t * 1.0001) for t in pair) for pair in times]
        wrong += any(word in CHANGED for word in words(pairs, Noise(process=0.01)))
    assert wrong <= 3


def test_the_threshold_is_a_ratio_of_times():
    """Where the threshold is 50 %, a time is slower above 1.5 times the base, and faster below two thirds of it."""
    base, noise = steady(100, 100, 100, 100, 100), Noise(tick_us=100 * np.log(1.5) / 2)
    found = [one(base, steady(us, us, us, us, us), noise) for us in (151, 149, 67, 66)]
    assert [d.word in CHANGED for d in found] == [True, False, False, True]
    assert found[0].threshold == pytest.approx(0.5)


def test_a_coarse_timer_raises_the_threshold():
    """With a timer resolution of 1 us, 1.5 % of 50 us is no change."""
    pair = steady(50, 50, 50.01, 50, 50), steady(50.75, 50.75, 50.76, 50.75, 50.75)
    assert (one(*pair).word, one(*pair, Noise(tick_us=1.0)).word) == ("slower", "tied")


def test_times_without_spread_are_decided():
    """Rounds that are all equal are compared, too."""
    assert one(steady(5, 5, 5, 5, 5), steady(5, 5, 5, 5, 5)).word == "tied"
    assert one(steady(5, 5, 5, 5, 5), steady(6, 6, 6, 6, 6)).word == "slower"
