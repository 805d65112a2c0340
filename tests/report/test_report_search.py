"""What the report of a search shows: the best so far, which parameters mattered, slices around the best case."""

import itertools
import json

import pytest
import report_runs as runs
from drawing import chosen, table, words

from runner.kernel.expression import RealExpression
from runner.kernel.metrics import Metric
from runner.record.run import read
from runner.report import as_markdown, build
from runner.report.findings import judge
from runner.report.searched import section
from runner.search.loop import Trial
from runner.search.space import Axis, Space
from runner.search.summary import summary

SPACE = Space((Axis("block", (64, 128, 256, 512)), Axis("pad", ("none", "row", "xor")), Axis("unroll", (1, 2, 4, 8))))
US = Metric("median_us", RealExpression("median_us", "here", number=True), "us", "lower")
SPEED = Metric("speed", RealExpression("1000 / median_us", "here", number=True), "", "higher")
SLOWER = Metric("threads", RealExpression("block", "here", number=True), "", "lower")
BLOCK, PAD, UNROLL = (1.0, 2.0, 4.0, 8.0), (1.1, 1.0, 1.2), (1.0, 1.0, 1.0, 1.0)
POINTS = [p for p in itertools.product(range(4), range(3), range(4)) if p not in {(0, 0, 3), (3, 2, 0), (0, 1, 2)}]
FAILED, ANEW = (2, 2, 3), [(0, 1, 0), (0, 1, 1)]


def us(point):
    """A made-up time: the block matters, the padding a little, the unrolling not at all."""
    return 10.0 * BLOCK[point[0]] * PAD[point[1]] * UNROLL[point[2]] * (1 + 1e-3 * (sum(point) % 3))


def searched(folder, objectives=(US,), points=POINTS, device="cuda"):
    """A run folder of a search that measured these points, the first ones again at the end."""

    def times(taken):
        return runs.timing(taken, 2**20) if device == "cuda" else {"emulated_us": f"{taken:.6g}"}

    rows = [
        runs.failed(n, "launch_error", "no", **SPACE.values(p)) if p == FAILED
        else runs.row(n, **SPACE.values(p), device=device) | times(us(p) * (0.9 if p == ANEW[1] else 1.0))
        for n, p in enumerate(points)
    ]  # fmt: skip
    runs.write(folder, rows)
    by_point = {
        p: {n: float(v) if n.endswith(("_us", "gbps", "_peak", "_copy")) and v else v for n, v in row.items()}
        for p, row in zip(points, rows, strict=True)
    }
    signs = [-1 if m.better == "higher" else 1 for m in objectives]
    trials = []
    for n, p in enumerate(points):
        told = tuple(s * m({"median_us": us(p), **SPACE.values(p)}) for s, m in zip(signs, objectives, strict=True))
        trials.append(Trial(p, None if p == FAILED else told, 0.5 * n))
    lines = [json.dumps({"point": t.point, "values": t.values, "seconds": t.seconds}) for t in trials]
    (folder / "search.jsonl").write_text("\n".join(lines) + "\n")
    anew = [p for p in ANEW if p in points]
    found = {
        "parameters": [axis.name for axis in SPACE.axes],
        "values": [[str(v) for v in axis.values] for axis in SPACE.axes],
        "legal": 48, "objectives": [m.name for m in objectives], "better": [m.better for m in objectives],
        "ended": "it was enough",
        "rehearsal": device != "cuda",
        **(summary(SPACE, trials, anew, by_point.__getitem__, objectives) if device == "cuda" else {}),
    }  # fmt: skip
    (folder / "search.json").write_text(json.dumps(found))
    return folder


def figures(folder):
    """The figures of the section by their stem."""
    return {one.stem: one for one in chosen(folder, "search")}


def test_the_report_says_which_parameters_mattered_and_which_hardly(tmp_path):
    """In the chart's table, in the verdict and in the Markdown; shares are of the variance, with an interval."""
    folder = searched(tmp_path / "a")
    shares = {row["parameter"]: row for row in table(figures(folder)["mattered"])}
    assert next(iter(shares)) == "block"
    assert float(shares["block"]["low"]) > 0.5
    assert float(shares["unroll"]["high"]) < 0.05
    (sentence,) = [s for s in judge(read(folder)).further if "mattered" in s]
    assert "block" in sentence.partition("hardly")[0]
    assert "unroll" in sentence.partition("hardly")[2]
    assert sentence in as_markdown(folder)


def test_slices_have_what_was_measured_and_what_was_not(tmp_path):
    """Around the case that was best when measured again: no value is invented, and a failed case is marked."""
    folder = searched(tmp_path / "a", points=[p for p in POINTS if p != (2, 1, 1)])
    rows = {(row["parameter"], row["value"]): row for row in table(figures(folder)["slices"])}
    assert {value for name, value in rows if name == "pad"} == {"none", "row", "xor"}
    best = rows["unroll", "2"]
    assert best["state"] == "measured again"
    assert float(best["median_us"]) == pytest.approx(0.9 * us(ANEW[1]), rel=1e-5)
    assert float(best["low"]) < float(best["median_us"]) < float(best["high"])
    assert float(rows["unroll", "8"]["median_us"]) == pytest.approx(us((0, 1, 3)))
    for missing in (("block", "256"), ("unroll", "4")):
        assert rows[missing]["state"] == "not measured"
        assert rows[missing]["median_us"] == ""
        assert float(rows[missing]["model_low"]) < float(rows[missing]["model_high"])


def test_the_best_so_far_marks_failed_cases_and_those_measured_anew(tmp_path):
    """Failed cases have no value; what was measured again has its own value and interval, beside the first one."""
    one = figures(searched(tmp_path / "a"))["best-so-far"]
    rows = table(one)
    assert [row["case"] for row in rows if not row["median_us"]] == [str(POINTS.index(FAILED) + 1)]
    assert len([row for row in rows if row["anew"]]) == len(ANEW)
    assert {"failed", "measured again at the end", "best so far"} <= set(words(one))
    best = [float(row["best"]) for row in rows]
    assert best == sorted(best, reverse=True)


def test_larger_values_can_be_better(tmp_path):
    """A rate is shown as its column has it, and its best so far rises."""
    shown = figures(searched(tmp_path / "a", (SPEED,)))
    best = [float(row["best"]) for row in table(shown["best-so-far"])]
    assert best == sorted(best)
    assert best[0] > 0
    best_two = {float(r["speed"]) for r in table(shown["slices"]) if r["state"] == "measured again"}
    assert max(best_two) == pytest.approx(1000 / (0.9 * us(ANEW[1])), rel=1e-5)
    assert f"unroll {SPACE.values(ANEW[1])['unroll']}" in shown["slices"].caption
    assert {float(r["speed"]) > 0 for r in table(shown["slices"]) if r["speed"]} == {True}


def test_two_objectives_have_a_front_and_importances_of_both(tmp_path):
    """No case is better in both than one on the front."""
    shown = figures(searched(tmp_path / "a", (US, SLOWER)))
    assert list(shown) == ["pareto-front", "mattered"]
    rows = table(shown["pareto-front"])
    values = {(float(row["median_us"]), float(row["threads"])): row["on_front"] == "True" for row in rows}
    for (a, b), on_front in values.items():
        assert on_front != any(c <= a and d <= b and (c, d) != (a, b) for c, d in values)
    assert {row["objective"] for row in table(shown["mattered"])} == {"median_us", "threads"}


def test_too_few_cases_tell_nothing(tmp_path):
    """Instead of a chart there is a sentence, in the verdict and in the section."""
    folder = searched(tmp_path / "a", points=POINTS[::5])
    assert "mattered" not in figures(folder)
    assert "is unknown after 9 measured cases" in section(read(folder))[1]


def test_emulated_times_of_a_search_are_not_drawn(tmp_path):
    """The section says what was searched, and that emulated times are not drawn."""
    folder = searched(tmp_path / "a", device="cpu")
    assert figures(folder) == {}
    assert not [s for s in judge(read(folder)).further if "mattered" in s]
    assert "Times of the CPU device are neither ranked nor drawn" in section(read(folder))[1]


def test_a_malformed_search_keeps_nobody_from_the_report(tmp_path):
    """The page is made without its section, and without its figures."""
    folder = searched(tmp_path / "a", points=POINTS[:14])
    whole = json.loads((folder / "search.json").read_text())
    for damage in (
        {"importance": [{"cases": 3, "explained": 1, "shares": {"block": ["a", 2, 3]}}]},
        {"slices": {"best": [0, 9, 0], "along": {}}},
        {"slices": {"best": [0, 0, 0], "along": {"block": [{"value": 1}]}}},
        {"anew": [{"point": 3}]},
        {"anew": [{"point": [0, 1, 0], "values": [[1, 2, 1e999]]}]},
        {"objectives": 7},
        {"values": None},
        {"better": [{}, 3], "objectives": [1, 2, 3]},
    ):
        (folder / "search.json").write_text(json.dumps(whole | damage))
        assert figures(folder) == {}, damage
        assert section(read(folder)) == [], damage
    (folder / "search.json").write_text(json.dumps(whole))
    lines = (folder / "search.jsonl").read_text()
    for damage in ({"point": [0, 99, 0]}, {"point": [0, -1, 0]}, {"point": [0, 1]}, {"values": [1.0, 2.0]}):
        (folder / "search.jsonl").write_text(lines + json.dumps({**json.loads(lines.splitlines()[0]), **damage}) + "\n")
        assert figures(folder) == {}, damage
    (folder / "search.jsonl").write_text(lines)
    assert figures(folder)


@pytest.mark.browser
def test_axe_finds_nothing_in_a_search(tmp_path, open_page):
    """Light or dark, no rule of axe-core is broken, and nothing is wider than the window but what scrolls by itself."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-core is not installed")
    page = open_page(build(searched(tmp_path / "a")), viewport={"width": 400, "height": 800})
    assert page.locator("#search figure").count() == 3
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        assert axe.Axe().run(page).response["violations"] == []
