import numpy as np
import pytest

from runner.report.ties import ASSUMED_PERCENT, Noise, margin, noise, ties

CALIBRATED = {"points": [{"median_us": 25.0, "alike_percent": 0.15}, {"median_us": 250.0, "alike_percent": 0.1}]}
STILL = ((100.0, 0.0),)
QUIET = Noise(STILL, round_percent=0.0)


def case(number, median, half=0.0, rounds=1, spread=np.nan):
    """A row with a median, half of its interval, and what the rounds gave."""
    return {
        "row": number, "median_us": median, "ci_low_us": median - half, "ci_high_us": median + half,
        "rounds": rounds, "round_spread_percent": spread,
    }  # fmt: skip


def names(rows):
    """The numbers of some rows."""
    return [row["row"] for row in rows]


def test_a_difference_below_one_percent_never_counts():
    """However sure two medians are, less than 1 % between them makes no winner; 2 % make one, between is uncertain."""
    found = ties([case(0, 100.0), case(1, 100.9), case(2, 101.5), case(3, 102.2)], QUIET)
    assert (found.fastest["row"], names(found.level), names(found.unsure)) == (0, [1], [2])


def test_the_fastest_is_found_wherever_it_stands():
    """The order of the rows does not matter; the level ones come fastest first."""
    found = ties([case(0, 100.8), case(1, 130.0), case(2, 100.0), case(3, 100.4)], QUIET)
    assert (found.fastest["row"], names(found.level), names(found.unsure)) == (2, [3, 0], [])


@pytest.mark.parametrize(
    ("one", "other", "found"),
    [
        (case(0, 100.0, half=3.0), case(1, 103.0, half=3.0), QUIET),
        (case(0, 100.0), case(1, 103.0), Noise(((100.0, 1.5),), round_percent=0.0)),
        (case(0, 100.0), case(1, 103.0), Noise(STILL, round_percent=1.5)),
        (case(0, 2.00), case(1, 2.06), Noise(STILL, round_percent=0.0, tick_us=0.032)),
    ],
)
def test_noise_of_any_kind_widens_the_margin(one, other, found):
    """Wide intervals, runs or rounds that differ, and a coarse clock each make 3 % too little to tell two cases apart."""
    assert names(ties([one, other], found).level) == [1]
    assert names(ties([case(0, one["median_us"]), case(1, other["median_us"])], QUIET).level) == []


def test_more_rounds_make_a_finer_distinction():
    """The spread between rounds counts less the more of them there are."""
    found = Noise(STILL, round_percent=1.5)
    assert margin(case(0, 100.0, rounds=16), case(1, 100.0, rounds=16), found) < margin(
        case(0, 100.0), case(1, 100.0), found
    )


def test_the_spread_of_rounds_is_pooled_over_the_cases():
    """A case with more rounds weighs more, cases of one round nothing, and the calibration is taken over."""
    rows = [case(0, 100.0, rounds=3, spread=1.0), case(1, 50.0, rounds=5, spread=2.0), case(2, 70.0)]
    found = noise(rows, {"noise": CALIBRATED, "event_tick_us": 0.032})
    assert found == Noise(((25.0, 0.15), (250.0, 0.1)), pytest.approx(np.sqrt((2 * 1 + 4 * 4) / 6)), 0.032)


def test_the_noise_of_the_nearest_time_counts():
    """Short kernels are noisier than long ones: the calibration of the most similar time holds."""
    found = noise([case(0, 100.0)], {"noise": CALIBRATED})
    assert [found.alike_percent(us) for us in (1.0, 25.0, 70.0, 90.0, 9000.0)] == [0.15, 0.15, 0.15, 0.1, 0.1]


@pytest.mark.parametrize(
    "points",
    [
        None,
        5,
        "x",
        [{"median_us": 5}],
        [{"median_us": "?", "alike_percent": 1}],
        [{"median_us": 0, "alike_percent": 1}],
        [{"median_us": 10**400, "alike_percent": 1}],
        [{"median_us": 5, "alike_percent": 1e300}],
    ],
)
def test_an_uncalibrated_device_is_assumed_to_be_noisy(points):
    """Where nobody measured the noise, or its file is spoilt, more than that of a quiet GPU is assumed."""
    found = noise([case(0, 100.0)], {"noise": {"points": points}} if points else {})
    assert found == Noise((), ASSUMED_PERCENT, 0.0)
    assert found.alike_percent(10.0) == ASSUMED_PERCENT


def test_repeated_sweeps_do_not_contradict_each_other():
    """In simulated sweeps of cases that are close, hardly ever does one call slower what another holds to be level.

    The noise is that of an H200: 0.15 % from run to run, 0.3 % from round to round.
    """
    generator = np.random.default_rng(7)
    true = 25.0 * (1.0 + np.array([0.0, 0.001, 0.003, 0.006, 0.009, 0.013, 0.02, 0.035, 0.1, 0.2]))
    sweeps = []
    for _ in range(100):
        rounds = true * np.exp(generator.normal(0, 0.003, (3, len(true))) + generator.normal(0, 0.0015, len(true)))
        spreads = 100 * rounds.std(axis=0, ddof=1) / rounds.mean(axis=0)
        rows = [
            case(n, m, half=0.002 * m, rounds=3, spread=s)
            for n, (m, s) in enumerate(zip(np.median(rounds, axis=0), spreads, strict=True))
        ]
        found = ties(rows, noise(rows, {"noise": CALIBRATED}))
        level = {found.fastest["row"], *names(found.level)}
        sweeps.append((level, set(range(len(true))) - level - set(names(found.unsure))))
    contradictions = [bool(level & slower) for level, _ in sweeps for _, slower in sweeps]
    assert np.mean(contradictions) < 0.01
    assert all({0, 1} & level for level, _ in sweeps)
    assert all(slower >= {8, 9} for _, slower in sweeps)


def test_the_margin_that_is_told_is_that_of_the_level_cases():
    """A level case with a wide interval may lie behind one that is not level; its margin is told, not the other's."""
    found = ties([case(0, 100.0, half=0.05), case(1, 101.5, half=0.05), case(2, 103.0, half=5.0)], QUIET)
    assert (names(found.level), names(found.unsure)) == ([2], [1])
    assert found.margin > 0.03
