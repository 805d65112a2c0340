"""`hydra/sweeper=search`: the space, the samplers, the budgets, and a search from its command to its folder."""

import csv
import itertools
import json
import shutil

import numpy as np
import pytest
from mistakes import assert_refused
from outcomes import rows as table
from processes import run
from support import ROOT, read_kernel

from runner.compose.search import declared
from runner.device.config import DeviceConfig
from runner.display.terminal import SweepProgress
from runner.errors import UsageError
from runner.jobs.job import Job
from runner.jobs.settings import TimingConfig
from runner.kernel.expression import RealExpression
from runner.kernel.metrics import Metric
from runner.kernel.resolve import make
from runner.record.folder import RunFolder
from runner.search import loop, samplers
from runner.search.batches import Batches
from runner.search.contenders import contenders, side
from runner.search.importance import Model
from runner.search.loop import Budget, Search, front
from runner.search.space import Axis, Space, kernel_space
from runner.statistics import ASSUMED, Noise, summarize

TILES = (1, 2, 4, 8, 16, 32)


def cost(tile, vector, unroll):
    """A made-up time in milliseconds, the best at 8, 4, 6; some combinations fail."""
    if tile * vector > 64:
        return None
    return 1.0 + abs(np.log2(tile / 8)) + 0.5 * abs(np.log2(vector / 4)) + 0.1 * abs(unroll - 6)


OWN = ROOT / "tests" / "kernels" / "searched"
SEARCH = ("--config-dir", OWN, "kernel=theirs", "device=cpu", "hydra/sweeper=search", "lines=false", "racecheck=none")
SPACE = ("tile=1,2,4,8,16,32", "vector=1,2,4", "many=6,7")
AWAY = "1+abs(log2(tile/8))+abs(log2(vector/4))/2+abs(many-6)/10"


@pytest.fixture(scope="module")
def mine(tmp_path_factory):
    """A folder for searches of a kernel of 144 combinations, of which those with large tiles are wrong."""
    return tmp_path_factory.mktemp("mine")


def told(folder):
    """What the sampler of a search was told, in order."""
    return [json.loads(line) for line in (folder / "search.jsonl").read_text().splitlines()]


def test_a_search_finds_the_best_and_goes_on_when_interrupted(mine):
    """The budget is kept, failures are told as such, and the folder is that of a sweep.

    A search that goes on measures nothing again, and its seed gives it the points of an undisturbed one.
    """
    whole, torn = mine / "whole", mine / "torn"
    done = run(mine, *SEARCH, *SPACE, f"hydra.sweeper.objective='{AWAY}'", "hydra.sweeper.max_cases=24",
               "hydra.sweeper.patience=0", "hydra.sweep.dir=whole")  # fmt: skip
    assert "24 cases, 66.67% of the legal combinations" in done.err, done.err
    assert f"best {AWAY}: 1, theirs" in done.err, done.err
    rows = table(whole)
    assert len(rows) == 24 == len({row["case"] for row in rows})
    check_report(whole, rows)
    assert sum(t["values"] is None for t in told(whole)) == sum(row["status"] == "mismatch" for row in rows) > 0
    ended = json.loads((whole / "search.json").read_text())
    assert (ended["legal"], ended["cases"], ended["objectives"]) == (36, 24, [AWAY])

    shutil.copytree(whole, torn)
    (torn / "search.json").write_text(json.dumps({**ended, "ended": ""}))
    lines = (torn / "search.jsonl").read_text().splitlines(keepends=True)
    (torn / "search.jsonl").write_text("".join(lines[:8]))
    for number in range(8, 24):
        shutil.rmtree(torn / str(number))
    run(mine, "report", "torn")
    page = (torn / "report.html").read_text()
    assert "the search has not ended" in page
    assert "so far" in page
    assert "the search continues after 8 cases" in run(mine, "resume", "torn").err
    assert [t["point"] for t in told(torn)] == [t["point"] for t in told(whole)]
    assert len(table(torn)) == 24
    assert "the search is complete" in run(mine, "resume", "torn").err
    (torn / "search.json").unlink()
    (torn / "search.jsonl").write_text('{"point": [0, 99, 0], "values": [1], "seconds": 1}\n')
    done = run(mine, "resume", "torn")
    assert done.code == 2
    assert "malformed run folder" in done.err
    assert "Traceback" not in done.err


def away(row):
    """The objective of a row."""
    tile, vector, many = (int(row[name]) for name in ("tile", "vector", "many"))
    return 1 + abs(np.log2(tile / 8)) + abs(np.log2(vector / 4)) / 2 + abs(many - 6) / 10


def check_report(folder, rows):
    """Best so far, and slices around the best case, without an invented value."""
    drawn = list(csv.DictReader((folder / "figures" / "best-so-far.csv").read_text().splitlines()))
    right = [row for row in rows if row["status"] == "ok"]
    assert float(drawn[-1]["best"]) == min(map(away, right)) == 1
    assert [row[AWAY] != "" for row in drawn].count(True) == len(right)
    slices = list(csv.DictReader((folder / "figures" / "slices.csv").read_text().splitlines()))
    near = {"tile": "8", "vector": "4", "many": "6"}
    for shown in slices:
        wanted = near | {shown["parameter"]: shown["value"]}
        (row,) = [row for row in rows if wanted.items() <= row.items()] or [{"status": "not measured"}]
        assert shown[AWAY] == ("" if row["status"] != "ok" else shown[AWAY])
        assert row["status"] != "ok" or float(shown[AWAY]) == pytest.approx(away(row))
        state = shown["state"].removesuffix(" again")
        assert state == {"ok": "measured", "mismatch": "failed"}.get(row["status"], row["status"])
        assert shown["state"] == "measured again" or near != wanted  # as the best case was, at least


def is_a_trade_off(best):
    """Whether a front has several points, the better in one objective the worse in the other."""
    assert len(best) > 1
    assert all(a.values[0] < b.values[0] and a.values[1] > b.values[1] for a, b in itertools.pairwise(best))


def test_a_search_measures_on_a_device_beside_the_best_so_far(tmp_path):
    """On the CPU device: kernels are compiled and checked, an excluded block is never asked for, the winner is measured again."""
    done = run(tmp_path, "kernel=reduceShfl", "block=range(32,257,16)", "size=1000", "device=cpu", "timing.cpu_rounds=2",
               "timing.cpu_samples=9", "hydra/sweeper=search", "hydra.sweeper.max_cases=6", "hydra.sweeper.batch=3",
               "hydra.sweep.dir=found")  # fmt: skip
    assert done.code == 0, done.err
    assert "searching 8 legal of 15 combinations" in done.err
    rows = table(tmp_path / "found")
    assert len(rows) == 6
    assert {int(row["block"]) % 32 for row in rows} == {0}
    assert {"2"} <= {row["rounds"] for row in rows} <= {"1", "2"}
    assert {"18"} <= {row["samples"] for row in rows} <= {"3", "9", "18"}  # on a busy machine all six may be tied
    assert len(json.loads((tmp_path / "found" / "environment.json").read_text())["devices"]) == 1
    assert not (tmp_path / "found" / "gpus").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), ("no parameter has several values",)),
        (("tile=3,5",), ("tile: none of its values is allowed", "allowed: 1, 2, 4")),
        (("tile=1,2", "hydra.sweeper.patience=0"), ("would not end",)),
        (("tile=1,2", "hydra.sweeper.max_cases=-1"), ("max_cases=-1",)),
        (("tile=1,2", "hydra.sweeper.sampler=best"), ("sampler=best", "guided")),
        (("tile=1,2", "hydra.sweeper.objective=[a,b,c]"), ("one or two",)),
        (("tile=1,2", "hydra.sweeper.objective=3"), ("objective=3", "one or two")),
        (("tile=1,2", "hydra.sweeper.objective=[]"), ("objective=[]", "one or two")),
        (("tile=1,2", "hydra.sweeper.objective='1 +'"), ("hydra.sweeper.objective: '1 +'",)),
        (("tile=1,2", "hydra.sweeper.seed=-1"), ("seed=-1", "0 to")),
        (("tile=1,2", "hydra.sweeper.max_cases=a"), ("max_cases=a: expected an integer",)),
        (("tile=1,2", "hydra.sweeper.nope=1"), ("hydra.sweeper.nope: unknown key",)),
        (("tile=range(1,1000000000)",), ("tile=range", "999,999,999 values")),
        (("tile=range(1,1)",), ("tile=range", "0 values")),
        (("tile=glob(*)",), ("tile=glob(*)", "0 values")),
        (("search={tile: [1, 2]}",), ("search", "+search=")),
        (("tile=1,2", "device=cpu,checked"), ("device",)),
        (("+block_size=1,2",), ("block_size",)),
        (("tile=1,2", "hydra/launcher=slurm"), ("hydra/launcher=slurm", "batch")),
        (("tile=1,2", "hydra/launcher=gpus", "hydra.launcher.replicate=true"), ("hydra.launcher.replicate=true",)),
    ],
)
def test_a_search_that_cannot_be_is_refused(mine, arguments, words):
    """An empty space, a budget of nothing, unknown names: one sentence, and no folder."""
    assert_refused(run(mine, "--quiet", *SEARCH, *arguments), *words)


def test_an_objective_without_a_value_is_said_once(mine):
    """Each case would count as failed, and the whole budget would be spent without a word."""
    done = run(mine, *SEARCH, "tile=1,2", "many=1,2", "hydra.sweeper.objective=power_w", "hydra.sweep.dir=none")
    assert done.err.count("has no value of power_w") == 1, done.err
    assert "4 cases failed or have no value of power_w" in (mine / "none" / "report.html").read_text()


def test_an_objective_whose_larger_values_are_better(mine):
    """Its largest value is the best one, also in the report; a metric without times is drawn on the CPU device, too."""
    done = run(mine, *SEARCH, "tile=8,16", "vector=2,4", "many=6", "hydra.sweeper.objective=speed",
               "+metrics.speed={value: 64 / tile, better: higher}", "hydra.sweep.dir=speed")  # fmt: skip
    assert "best speed: 8, theirs block=32 tile=8" in done.err, done.err
    drawn = list(csv.DictReader((mine / "speed" / "figures" / "best-so-far.csv").read_text().splitlines()))
    assert float(drawn[-1]["best"]) == max(float(row["speed"]) for row in drawn) == 8


@pytest.mark.parametrize("objective", ["median_us", "emulated_us", "wall_s * 2"])
def test_any_time_of_the_cpu_device_makes_a_rehearsal(mine, objective):
    """Whatever its column is called, it says nothing about a GPU: nothing is drawn, not even of an interrupted search."""
    given = (f"hydra.sweeper.objective='{objective}'", f"hydra.sweep.dir=by-{objective[0]}")
    done = run(mine, *SEARCH, "tile=1,2", "many=1,2", *given)
    assert done.code == 0, done.err
    assert "4 cases, 100.00%" in done.err
    folder = mine / f"by-{objective[0]}"
    known = json.loads((folder / "search.json").read_text())
    assert known.pop("rehearsal") is True  # an older version wrote none
    (folder / "search.json").write_text(json.dumps({**known, "ended": ""}))
    run(mine, "report", folder.name)
    assert not list(folder.glob("figures/best*"))
    assert "neither ranked nor drawn" in (folder / "report.html").read_text()


def test_a_search_has_the_lines_of_its_winners(mine):
    """In the table of the whole folder, as a sweep has them, whichever batch measured the case."""
    lined = [word for word in SEARCH if word != "lines=false"]
    done = run(mine, *lined, "tile=1,2", "timing.cpu_rounds=2", "hydra.sweep.dir=lined", "lines=fastest")
    assert done.code == 0, done.err
    winner = {row["case"] for row in table(mine / "lined") if row["rounds"] == "2"}
    with (mine / "lined" / "lines.csv").open(encoding="utf-8") as file:
        assert {row["case"] for row in csv.DictReader(file)} == winner != set()


def test_a_counted_objective_is_counted_for_each_case(tmp_path):
    """The search counts the lines of every case that it measures, and finds the padding without bank conflicts."""
    done = run(
        tmp_path, "hydra/sweeper=search", "kernel=transposeSmemUnrollPad", "device=cpu", "size=256x256", "block=32x8",
        "pad=0,1", "hydra.sweeper.objective=shared_load_wavefronts", "lines=default", "racecheck=none", "hydra.sweep.dir=counted",
    )  # fmt: skip
    assert done.code == 0, done.err
    wavefronts = {row["pad"]: float(row["shared_load_wavefronts"]) for row in table(tmp_path / "counted")}
    assert wavefronts["1"] < wavefronts["0"]
    assert f"best shared_load_wavefronts: {wavefronts['1']:g}, transposeSmemUnrollPad" in done.err
    report = (tmp_path / "counted" / "report.html").read_text("utf-8")
    assert "no value of" not in report


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("kernel=reduceBulk",), ("reduceBulk runs on a GPU only", "another objective")),
        (("kernel=reduceSmem", "lines=none"), ("global_load_sectors is counted", "lines=none")),
    ],
)
def test_a_counted_objective_that_cannot_be_counted_is_refused(tmp_path, arguments, words):
    """A kernel that only a GPU runs, and a search without lines: one sentence, and no folder."""
    search = (
        "hydra/sweeper=search",
        "block=64,128",
        "hydra.sweeper.objective=global_load_sectors * 2",
        "device=cpu",
        "lines=default",
    )
    assert_refused(run(tmp_path, "--quiet", *search, *arguments), *words)


def kernel_with(tmp_path, constraints):
    """A kernel with constraints."""
    (tmp_path / "k.cu").write_text("__global__ void k(int* out) { out[0] = 0; }")
    (tmp_path / "k.yaml").write_text(
        "parameters: {block: 64, first: 1, second: 1, third: 1}\narguments: [{name: out, role: out, dtype: int32, shape: 1}]\n"
        f"grid: 1\nconstraints: {constraints}\nreference: {{out: arange(1)}}\n"
    )
    return read_kernel(tmp_path / "k.yaml")


def test_a_constraint_that_nothing_meets_is_named(tmp_path):
    """The message has the constraint and its reason."""
    kernel = kernel_with(tmp_path, "{first * second > 100: they are large}")
    with pytest.raises(UsageError, match="they are large"):
        kernel_space(kernel, {}, {"first": [1, 2], "second": [1, 2]})
    kernel = kernel_with(tmp_path, "{first > second: a, second > third: b, third > first: c}")
    with pytest.raises(UsageError, match="none of the 64 combinations"):
        kernel_space(kernel, {}, {"first": [1, 2, 3, 4], "second": [1, 2, 3, 4], "third": [1, 2, 3, 4]})


def test_a_space_of_ten_million_is_counted_and_drawn_from_without_a_list(tmp_path):
    """The count is exact, and what is drawn is legal and differs."""
    kernel = kernel_with(tmp_path, "{first * second <= 5000: they fit, (second + third) % 2 == 0: even}")
    values = {name: list(range(1, 221)) for name in ("first", "second", "third")}
    space = kernel_space(kernel, {}, values)
    assert space.size == 10_648_000
    assert space.count == sum(min(220, 5000 // second) for second in range(1, 221)) * 110
    assert space.listed is None
    drawn = space.draw(np.random.default_rng(0), 50)
    assert len(set(drawn)) == 50
    for point in drawn:
        chosen = space.values(point)
        assert chosen["first"] * chosen["second"] <= 5000
        assert (chosen["second"] + chosen["third"]) % 2 == 0


def test_shares_are_those_of_the_space_and_noise_has_none():
    """The intervals hold what all combinations say; a parameter without effect has none, and noise tells nothing."""
    random = np.random.default_rng(1)
    space = Space(
        (Axis("a", tuple(range(8))), Axis("b", (1, 2, 4, 8)), Axis("c", ("x", "y"))),
        (((0, 1), np.add.outer(np.arange(8), np.arange(4)) > 1),),
    )
    logarithm = {p: 0.3 * p[0] + 0.2 * p[1] * p[2] for p in space.listed}
    sample = space.draw(random, 36)
    found = Model(space, {p: float(np.exp(logarithm[p])) for p in sample}).sensitivity()
    assert found.cases == 36
    for n, axis in enumerate(space.axes):
        alike = {}
        for p, value in logarithm.items():
            alike.setdefault((*p[:n], *p[n + 1 :]), []).append(value)
        share = sum(len(v) * np.var(v) for v in alike.values()) / len(logarithm) / np.var(list(logarithm.values()))
        middle, low, high = found.shares[axis.name]
        assert low - 0.03 <= share <= high + 0.03, axis.name
        assert low <= middle <= high < low + 0.7
        assert high > low + 0.001
    assert max(found.shares, key=lambda name: found.shares[name][0]) == "a"
    noise = Model(space, {p: float(v) for p, v in zip(sample, random.uniform(1, 2, 36), strict=True)})
    assert not noise.sensitivity().shares
    assert not Model(space, dict.fromkeys(sample[:11], 2.0) | {sample[0]: 3.0}).sensitivity().shares


SMALL = Space((Axis("a", tuple(range(8))), Axis("b", (1, 2, 4, 8)), Axis("c", ("x", "y"))))


@pytest.mark.parametrize("halves", [False, True])
@pytest.mark.parametrize("name", ["guided", "random", "grid"])
def test_each_sampler_asks_for_every_legal_point_once(name, halves):
    """A search without a limit measures the whole space, and no point twice.

    With a fast compiler, half a batch is chosen, to be compiled, before the other half is measured.
    """
    axes = (Axis("a", tuple(range(5))), Axis("b", (1, 2, 4)), Axis("c", ("x", "y")))
    space = Space(axes, (((0, 1), np.add.outer(np.arange(5), np.arange(3)) % 3 > 0),))
    sampler = samplers.make_sampler(name, space, 0)
    asked, ahead = [], [[]]

    def measure(points):
        asked.append(list(points))
        return {p: None if p[0] == 3 else (1.0 + sum(p),) for p in points}

    search = Search(sampler, Budget(max_cases=1000), measure, halves=halves, prepare=ahead.append)
    search.run(6)
    assert sorted(itertools.chain(*asked)) == sorted(space.listed)
    assert max(map(len, asked)) == (3 if halves else 6)
    assert not halves or [set(half) for half in ahead[1:-1]] == [set(half) for half in asked[1:]]
    assert halves or not any(ahead)
    assert search.ended == "every combination was measured"


def test_the_default_sampler_searches_a_space_that_is_not_listed():
    """In a space of 10^7 points it comes near the best one in 80 cases, and proposes no point twice."""
    space = Space(tuple(Axis(name, tuple(range(1, 26))) for name in "abcde"))
    assert space.listed is None

    def measure(points):
        return {p: (1.0 + sum(abs(i - 12) for i in p),) for p in points}

    search = Search(samplers.make_sampler("guided", space, 0), Budget(max_cases=80, patience=0), measure)
    search.run(8)
    assert len({trial.point for trial in search.trials}) == 80
    assert front(search.trials)[0].values[0] <= 6.0  # a random one has 32


def test_the_default_sampler_searches_for_two_objectives():
    """What it has found is a front of trade-offs."""

    def measure(points):
        return {p: (1.0 + sum(p), 30.0 - 2.0 * p[0] + p[2]) for p in points}

    search = Search(samplers.make_sampler("guided", SMALL, 0), Budget(max_cases=40, patience=0), measure)
    search.run(8)
    is_a_trade_off(front(search.trials))


def test_a_case_that_cannot_run_is_neither_measured_nor_counted():
    """The sampler is told, and the budget is for the others."""
    measured = []

    def measure(points):
        measured.extend(points)
        return dict.fromkeys(points, (1.0,))

    sampler = samplers.Random(SMALL, 0)
    search = Search(sampler, Budget(max_cases=20, patience=0), measure, possible=lambda point: point[0] % 2 == 0)
    search.run(6)
    assert len(measured) == 20
    assert all(point[0] % 2 == 0 for point in measured)


def test_a_search_of_which_nothing_can_run_ends(monkeypatch):
    """Of a space of millions it would try each combination, whatever the budget of cases."""
    monkeypatch.setattr(loop, "MAX_IMPOSSIBLE", 20)
    asked = []
    search = Search(samplers.Random(SMALL, 0), Budget(max_cases=5), dict, possible=asked.append)
    search.run(6)
    assert 20 <= len(asked) < 30
    assert "can run" in search.ended


def test_a_search_ends_when_the_best_no_longer_improves():
    """Fifty cases without an improvement of 1 % are enough; smaller improvements do not count."""
    times = itertools.chain([10.0, 9.0], (8.995 - 1e-4 * n for n in itertools.count()))
    space = Space((Axis("a", tuple(range(1000))),))
    search = Search(samplers.Random(space, 0), Budget(), lambda points: {p: (next(times),) for p in points})
    search.run(1)
    assert len(search.trials) == 52


ALONE = Noise(alike=ASSUMED)


def test_who_is_certainly_slower_is_no_contender():
    """By the rule of the report: overlapping intervals, or a difference within the noise, are not enough."""
    drawn = np.random.default_rng(0)
    times = {(n,): 100.0 * (1 + 0.013 * n) * drawn.normal(1.0, 0.01, 30) for n in range(12)}
    found = contenders({p: side(summarize(us)) for p, us in times.items()}, ALONE)
    assert found[0] == (0,)
    assert {(0,), (1,)} <= set(found) <= {(0,), (1,), (2,)}
    missed = 0
    for _ in range(200):  # of two equal cases, one of which had three samples
        one, other = drawn.normal(1.0, 0.05, 30), drawn.normal(1.0, 0.05, 3)
        missed += len(contenders({(0,): side(summarize(one)), (1,): side(summarize(other))}, ALONE)) < 2
    assert missed <= 8


class Measured:
    """The devices of a search that measures noisy times: a look gets the first samples of 32, the end gets all."""

    def __init__(self):
        self.drawn = np.random.default_rng(1)
        self.us, self.samples = {}, {}

    def run(self, jobs, beside, ahead):
        """Run jobs, each beside some others."""
        assert not ahead
        return [(jobs, {job.number: self._row(job, job.look) for job in (*jobs, *beside)})]

    def remeasure(self, jobs):
        """Run jobs with the whole protocol."""
        return {job.number: self._row(job, 32) for job in jobs}

    def _row(self, job, samples):
        tile, many = (job.case.variables[name] for name in ("tile", "many"))
        if job.number not in self.us:
            self.us[job.number] = 1000 * cost(tile, 4, many) * self.drawn.normal(1.0, 0.02, 32)
        self.samples[job.number] = samples
        s = summarize(self.us[job.number][:samples])
        row = {"kernel": "theirs", "device": "cuda", "status": "ok", "median_us": s.median, "ci_low_us": s.ci_low}
        return {**row, "ci_high_us": s.ci_high, "min_us": s.min, "q1_us": s.q1, "q3_us": s.q3}


def test_all_that_cannot_be_told_from_the_best_are_measured_anew(tmp_path):
    """Whoever ends near the best has all samples, the others have a look at three or ten."""
    kernel = read_kernel(OWN / "kernel" / "theirs.yaml")
    space = kernel_space(kernel, {"block": "32", "vector": 4}, {"tile": TILES[:5], "many": range(1, 9)})
    objective = Metric("median_us", RealExpression("median_us", "here", number=True), "us", "lower")

    def job(point, number):
        case = make(kernel, {"block": "32", "vector": 4, **space.values(point)}, 0)
        return Job(case, DeviceConfig(kind="cuda"), TimingConfig(), "nvcc", number)

    places = Measured()
    measuring = Batches(RunFolder(tmp_path), places, SweepProgress(quiet=True), job, [objective], [3, 10, 30])
    search = Search(
        samplers.make_sampler("guided", space, 0), Budget(max_cases=36, patience=0), measuring.measure, levels=3,
        tied=measuring.tied,
    )  # fmt: skip
    search.run(8)
    measuring.finish([t.point for t in measuring.tied(search.trials)])
    seen = {n: float(np.median(places.us[n][:samples])) for n, samples in places.samples.items()}
    best = min(seen, key=seen.__getitem__)
    assert places.samples[best] == 32
    assert all(places.samples[n] == 32 for n, us in seen.items() if us < 1.02 * seen[best])
    assert sum(samples == 3 for samples in places.samples.values()) > 18


def test_the_key_search_has_choices_and_ranges():
    """A range includes its last value; anything else is refused with what is expected."""
    assert declared({"a": {"choice": [1, 4]}, "b": {"range": [1, 4]}, "c": {"range": [0, 8, 4]}, "d": ["x"]}) == {
        "a": [1, 4], "b": [1, 2, 3, 4], "c": [0, 4, 8], "d": ["x"],
    }  # fmt: skip
    for wrong in ({"range": [4, 1]}, {"range": [1]}, {"from": [1]}, 3, {"range": [1, 2, 0]}, {"choice": []}):
        with pytest.raises(UsageError, match=r"search\.a"):
            declared({"a": wrong})
