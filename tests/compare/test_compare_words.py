import json

import numpy as np
import pytest
from compare_runs import ENVIRONMENT, WILD, environment, failed, timed

FAILING = ["mismatch", "hazard", "compile_error", "launch_error", "crashed", "timeout", "out_of_memory"]
OTHER_DRIVER = {"B": environment(versions={"nvidia_driver": "590.2", "nvcc": "13.0"})}


@pytest.mark.parametrize("status", FAILING)
def test_a_right_case_that_fails_is_broken_whatever_its_speed(compare, status):
    """It comes first with its reason, and the exit status is 1, though all others are faster."""
    result = compare([timed(0, 100), timed(1, 100)], [timed(0, 50), failed(1, status, "because")])
    assert (result.code, result.words()) == (1, {"1": "BROKEN", "0": "faster"})
    assert "B against A, 2 common cases: 1 BROKEN, 1 faster, 0 slower, 0 same." in result.out
    assert f"{status.replace('_', ' ')}: because" in result.out


@pytest.mark.parametrize(("us", "word", "code"), [(105, "slower", 1), (95, "faster", 0), (100.2, "same", 0)])
def test_a_case_that_is_right_in_both_is_compared_by_its_rounds(compare, us, word, code):
    """Slower is worse; faster and same are not."""
    result = compare([timed(0, 100)], [timed(0, us)])
    assert (result.words(), result.code) == ({"0": word}, code)


def test_an_inconclusive_case_says_what_to_do(compare):
    """It fails nothing but with --strict, and comes with advice."""
    result = compare([timed(0, 100, WILD)], [timed(0, 104, WILD)])
    assert (result.words(), result.code) == ({"0": "inconclusive"}, 0)
    assert "1 inconclusive case: measure" in result.out
    assert compare.folders("A", "B", "--strict").code == 3


def test_a_failed_case_is_fixed_or_failed_in_both(compare):
    """Neither makes the exit status worse, and both have their reasons."""
    result = compare([failed(0, reason="a"), failed(1, reason="b")], [timed(0, 100), failed(1, "crashed", "c")])
    assert (result.words(), result.code) == ({"0": "fixed", "1": "failed in both"}, 0)
    assert "it was mismatch: a" in result.out
    assert "crashed: c; before, mismatch: b" in result.out


def test_a_case_that_did_not_run_is_not_compared(compare, tmp_path):
    """Skipped, not run, or never reached by a killed sweep: only with --strict a right case is missed."""
    result = compare([timed(0, 100), failed(1, "skipped", "too wide")], [failed(0, "not_run", ""), timed(1, 100)])
    assert (set(result.words().values()), result.code) == ({"not compared"}, 0)
    assert "in A skipped: too wide" in {row["note"] for row in result.rows}
    assert [compare.folders(*runs, "--strict").code for runs in ("AB", "BA")] == [3, 3]
    compare.write("A", [timed(0, 100), timed(1, 100)])
    compare.write("B", [timed(0, 100, binary="A00000000")])
    case = {"case": "00000001", "job": 1, "kernel": "reduceShfl", "parameters": {}, "seed": 0, "device": "cuda"}
    (tmp_path / "B" / "plan.json").write_text(json.dumps({"cases": [case]}), "utf-8")
    assert compare.folders("A", "B").words() == {"0": "same", "1": "not compared"}


def test_cases_of_one_run_alone_are_listed(compare):
    """They are counted, named and in the CSV; with --strict, a right one is missed."""
    result = compare([timed(0, 100), timed(1, 100, size=2**21)], [timed(0, 100), timed(2, 100, size=2**22)])
    assert "1 case only in A and 1 case only in B." in result.out
    assert "Only in A: reduceShfl, size 2^21." in result.out
    assert "Only in B: reduceShfl, size 2^22." in result.out
    assert (result.words(), result.code) == ({"0": "same", "1": "only in baseline", "2": "only in run"}, 0)
    assert compare.folders("A", "B", "--strict").code == 3


def test_an_emulated_time_is_never_compared_with_a_gpus(compare):
    """Cases of a CPU device and of a GPU are joined by their ids, and only their correctness is compared."""
    result = compare(
        [timed(0, 100), timed(1, 100)], [timed(0, 9000, device="cpu"), failed(1, "hazard", "a race", device="cpu")]
    )
    assert result.words() == {"0": "not compared", "1": "BROKEN"}
    assert "a time of the CPU device" in next(row["note"] for row in result.rows if row["status"] == "ok")


def test_emulated_cases_are_compared_by_their_results(compare):
    """Right cases are the same whatever their times; their results are noted if they differ within the tolerance."""
    base = [timed(n, 100, device="cpu", value="1.5") for n in range(3)]
    now = [timed(0, 300, device="cpu", value="1.5"), timed(1, 30, device="cpu", value="1.6")]
    result = compare(base, [*now, failed(2, device="cpu")])
    assert (result.code, result.words()) == (1, {"2": "BROKEN", "0": "same", "1": "same"})
    assert "3 common cases: 1 BROKEN, 2 same." in result.out
    notes = {row["case"][-1]: (row["note"], row["change_percent"], row["threshold_percent"]) for row in result.rows[1:]}
    assert notes == {"0": ("", "", ""), "1": ("value is 1.6, was 1.5", "", "")}
    compare.write("B", [*now, timed(2, 700, device="cpu", value="1.5")])
    result = compare.folders("A", "B", "--strict")
    assert (result.code, "slower" in result.out, "faster" in result.out) == (0, False, False)
    assert "1 case gave another result" in result.out


def test_a_case_on_two_devices_is_compared_on_each(compare):
    """Where the runs have a kind of device in common, only cases of the same kind are joined."""
    both = [timed(0, 9000, device="cpu"), {**timed(0, 100), "job": 1}]
    result = compare(both, [timed(0, 120)])
    assert [(row["device"], row["word"]) for row in result.rows] == [("cuda", "slower"), ("cpu", "only in baseline")]


def test_changed_kernels_have_a_geometric_mean(compare):
    """It covers all cases of the kernel; a kernel without a changed case has none."""
    base = [timed(n, 100, size=2 ** (20 + n)) for n in range(3)] + [timed(9, 100, kernel="copyGmem")]
    now = [timed(n, us, size=2 ** (20 + n)) for n, us in enumerate((50, 100, 100))] + [timed(9, 100, kernel="copyGmem")]
    out = compare(base, now).out
    assert "reduceShfl: 1.26x faster (geometric mean of its 3 cases, from as fast to 2.00x faster)." in out
    assert "copyGmem:" not in out


def test_the_worst_case_comes_first(compare):
    """BROKEN, slower by size of the change, inconclusive, fixed, faster; cases that are the same are only counted."""
    base = [*(timed(n, 100) for n in range(5)), failed(5), timed(6, 100, WILD)]
    now = [failed(0), timed(1, 110), timed(2, 130), timed(3, 100), timed(4, 80), timed(5, 100), timed(6, 104, WILD)]
    result = compare(base, now)
    assert list(result.words()) == ["0", "2", "1", "6", "5", "4", "3"]
    starts = [line.split()[0] for line in result.out.splitlines() if "reduceShfl  " in line]
    assert starts == ["BROKEN", "slower", "slower", "inconclusive", "fixed", "faster"]


def test_alike_cases_show_the_noise_of_the_comparison(compare):
    """Cases with the same machine code, launch and environment are counted; throttled ones are not."""
    base = [timed(n, 100, binary="b") for n in range(4)]
    now = [*(timed(n, 100 + 0.1 * n, binary="b") for n in range(3)), timed(3, 100, binary="b", throttled="True")]
    out = compare(base, now).out
    assert "3 cases have the same machine code, launch and environment in both runs." in out
    assert "0.1 % typically and 0.2 % at most" in out


def test_a_change_of_the_same_machine_code_is_not_the_kernels(compare):
    """With another driver, a slower case of the same machine code says so, and is no check of the noise."""
    result = compare([timed(0, 100, binary="b")], [timed(0, 110, binary="b")], given=OTHER_DRIVER)
    assert result.words() == {"0": "slower"}
    assert "the machine code is the same, so the kernel is not the cause" in result.out
    assert "noise of this comparison" not in result.out
    assert result.rows[0]["same_binary"] == "True"


@pytest.mark.parametrize("given", [{"A": {}, "B": {}}, {"B": environment(clock_mhz=1200)}])
def test_cases_are_alike_only_where_the_environment_is_known_to_be(compare, given):
    """Without an environment, or on a GPU with another clock, slower cases of the same machine code are slower."""
    result = compare(*[[timed(n, us, binary="x") for n in range(4)] for us in (100, 130)], given=given)
    assert (result.code, set(result.words().values())) == (1, {"slower"})
    assert "noise of this comparison" not in result.out


def test_times_without_samples_are_compared_by_their_median(compare, tmp_path):
    """Where samples are missing or malformed, the table's median counts as one round, and no interval is known."""
    compare([timed(n, 100) for n in range(3)], [timed(0, 150), timed(1, 101.5), timed(2, 100)])
    (tmp_path / "B" / "samples" / "00000000-0.npy").write_bytes(b"\x93NUMPY torn")
    np.save(tmp_path / "A" / "samples" / "00000001-1.npy", np.array([{"evil": 1}]), allow_pickle=True)
    np.save(tmp_path / "B" / "samples" / "00000002-2.npy", np.zeros(3))
    result = compare.folders("A", "B")
    assert "3 times have no samples" in result.out
    assert (result.words()["0"], result.rows[0]["low_percent"]) == ("slower", "")
    note = next(row["note"] for row in result.rows if row["word"] == "inconclusive")
    assert "compare folders that have their samples/" in note


def test_samples_of_a_throttled_gpu_do_not_count(compare, tmp_path):
    """As in the table, they count only if there are no others."""
    compare([timed(0, 100)], [timed(0, 100)])
    path = tmp_path / "B" / "samples" / "00000000-0.npy"
    steady = np.load(path)
    slow = steady.copy()
    slow["us"] *= 3
    slow["throttled"] = True
    np.save(path, np.concatenate([steady, slow]))
    assert compare.folders("A", "B").words() == {"0": "same"}


def test_rounds_of_one_process_raise_the_threshold(compare):
    """Whether each round had its own process comes from the device's timing."""
    assert compare([timed(0, 100)], [timed(0, 102.5)]).rows[0]["threshold_percent"] == "1"
    for name in "AB":
        compare.rewrite(name, {**ENVIRONMENT, "devices": {"cuda": {"timing": {"fresh_process": False}}}})
    assert compare.folders("A", "B").rows[0]["threshold_percent"] == "2"


def test_a_case_that_was_measured_in_several_ways_is_not_compared(compare):
    """Two rows of one case, as of two presets of timing, are not joined by their order."""
    result = compare([timed(0, 100), timed(0, 50)], [timed(0, 50), timed(0, 100)])
    assert (result.code, result.words()) == (0, {"0": "not compared"})
    assert "several rows" in result.rows[0]["note"]


@pytest.mark.parametrize("odd", [{"min_us": 0}, {"q1_us": -1, "q3_us": 0}, {"rounds": 0}, {"size": 0}])
def test_odd_numbers_in_a_table_are_no_traceback(compare, odd):
    """A table that somebody edited is compared as far as it makes sense."""
    once = {"spread": (0.0,)}
    result = compare([timed(0, 100, **once) | odd], [timed(0, 103, **once) | odd], options=("--html", "result.html"))
    assert result.code in (0, 1)
    assert result.words()["0"] in ("inconclusive", "slower", "not compared")


def test_strict_accepts_a_comparison_without_undecided_cases(compare):
    """With --strict the exit status is 0 where all is the same, and still 1 where a case is broken."""
    compare([timed(0, 100)], [timed(0, 100)])
    assert compare.folders("A", "B", "--strict").code == 0
    compare.write("B", [failed(0)])
    assert compare.folders("A", "B", "--strict").code == 1
