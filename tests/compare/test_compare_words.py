import json
import shutil

import numpy as np
import pytest
from compare_runs import EMULATED, ENVIRONMENT, WILD, environment, failed, timed

FAILING = ["mismatch", "hazard", "compile_error", "launch_error", "crashed", "timeout", "out_of_memory"]


@pytest.mark.parametrize("status", FAILING)
def test_what_was_right_and_fails_is_broken_whatever_its_speed(compare, status):
    """A case that fails now is BROKEN and told first, and the status is 1, though all others are faster."""
    told = compare([timed(0, 100), timed(1, 100)], [timed(0, 50), failed(1, status, "because")])
    assert told.code == 1
    assert told.words() == {"1": "BROKEN", "0": "faster"}
    assert "B against A, 2 common cases: 1 BROKEN, 1 faster, 0 slower, 0 same." in told.out
    assert f"{status.replace('_', ' ')}: because" in told.out


@pytest.mark.parametrize(("us", "word", "code"), [(105, "slower", 1), (95, "faster", 0), (100.2, "same", 0)])
def test_a_case_that_is_right_in_both_is_told_by_its_rounds(compare, us, word, code):
    """Slower is worse, faster and same are not."""
    told = compare([timed(0, 100)], [timed(0, us)])
    assert told.words() == {"0": word}
    assert told.code == code


def test_what_cannot_be_told_says_what_to_do(compare):
    """An inconclusive case fails nothing but with --strict, and comes with advice."""
    runs = [timed(0, 100, WILD)], [timed(0, 104, WILD)]
    told = compare(*runs)
    assert told.words() == {"0": "inconclusive"}
    assert told.code == 0
    assert "1 inconclusive case: measure" in told.out
    assert compare.told("A", "B", "--strict").code == 3


def test_what_failed_before_is_fixed_or_failed_in_both(compare):
    """Neither makes the status worse, and reasons are told."""
    told = compare([failed(0, reason="a"), failed(1, reason="b")], [timed(0, 100), failed(1, "crashed", "c")])
    assert told.words() == {"0": "fixed", "1": "failed in both"}
    assert told.code == 0
    assert "it was mismatch: a" in told.out
    assert "crashed: c; before, mismatch: b" in told.out


def test_what_was_not_run_is_not_compared(compare):
    """A case that is skipped in one run is neither broken nor fixed; with --strict, one that was right is missed."""
    told = compare([timed(0, 100), failed(1, "skipped", "too wide")], [failed(0, "not_run", ""), timed(1, 100)])
    assert set(told.words().values()) == {"not compared"}
    assert told.code == 0
    assert "in A skipped: too wide" in {row["note"] for row in told.rows}
    assert compare.told("A", "B", "--strict").code == 3
    assert compare.told("B", "A", "--strict").code == 3


def test_what_only_one_run_has_is_listed(compare):
    """Cases of one run alone are counted, named and in the CSV; with --strict, one that was right is missed."""
    told = compare([timed(0, 100), timed(1, 100, size=2**21)], [timed(0, 100), timed(2, 100, size=2**22)])
    assert "1 case only in A and 1 case only in B." in told.out
    assert "Only in A: reduceShfl, size 2^21." in told.out
    assert "Only in B: reduceShfl, size 2^22." in told.out
    assert told.words() == {"0": "same", "1": "only in baseline", "2": "only in run"}
    assert told.code == 0
    assert compare.told("A", "B", "--strict").code == 3


def test_an_emulated_time_is_never_compared_with_a_gpus(compare):
    """Cases of a CPU device and of a GPU are joined on their ids; only their correctness is compared."""
    told = compare(
        [timed(0, 100), timed(1, 100)], [timed(0, 9000, device="cpu"), failed(1, "hazard", "a race", device="cpu")]
    )
    assert told.words() == {"0": "not compared", "1": "BROKEN"}
    assert "an emulated time says nothing about a GPU" in next(
        row["note"] for row in told.rows if row["status"] == "ok"
    )
    assert "No case has a time in both A and B that may be compared." in told.out


def test_a_case_on_two_devices_is_compared_on_each(compare):
    """Where the runs have a kind of device in common, only cases on the same kind are the same."""
    both = [timed(0, 9000, device="cpu"), {**timed(0, 100), "job": 1}]
    told = compare(both, [timed(0, 120)])
    assert [(row["device"], row["word"]) for row in told.rows] == [("cuda", "slower"), ("cpu", "only in baseline")]


def test_an_emulated_time_needs_a_larger_difference(compare):
    """Five percent is slower on a GPU, and nothing on the CPU device, whose times carry their label."""
    told = compare([timed(0, 100, device="cpu")], [timed(0, 105, device="cpu")])
    assert told.words() == {"0": "same"}
    assert "says nothing about a GPU" in told.out


def test_the_kernels_that_changed_have_a_geometric_mean(compare):
    """Over all cases of the kernel; a kernel of which no case changed has none."""
    base = [timed(n, 100, size=2 ** (20 + n)) for n in range(3)] + [timed(9, 100, kernel="copyGmem")]
    now = [timed(n, us, size=2 ** (20 + n)) for n, us in enumerate((50, 100, 100))] + [timed(9, 100, kernel="copyGmem")]
    out = compare(base, now).out
    assert "reduceShfl: 1.26x faster (geometric mean of its 3 cases, from as fast to 2.00x faster)." in out
    assert "copyGmem:" not in out


def test_the_worst_is_told_first(compare):
    """BROKEN, slower by how much, inconclusive, fixed, faster; what is the same is only counted."""
    base = [*(timed(n, 100) for n in range(5)), failed(5), timed(6, 100, WILD)]
    now = [failed(0), timed(1, 110), timed(2, 130), timed(3, 100), timed(4, 80), timed(5, 100), timed(6, 104, WILD)]
    told = compare(base, now)
    assert list(told.words()) == ["0", "2", "1", "6", "5", "4", "3"]
    lines = told.out.splitlines()
    assert [line.split()[0] for line in lines if "size" in line or "reduceShfl  " in line][-1] != "same"
    assert sum(line.startswith("slower ") for line in lines) == 2


def test_alike_cases_show_the_noise_of_the_comparison(compare):
    """Same machine code, launch and environment: how many, and what they differ by; throttled ones do not count."""
    base = [timed(n, 100, binary="b") for n in range(4)]
    now = [*(timed(n, 100 + 0.1 * n, binary="b") for n in range(3)), timed(3, 100, binary="b", throttled="True")]
    assert (
        "3 cases have the same machine code, launch and environment in both: what their times differ by, 0.1 % "
        "typically and 0.2 % at most, is the noise" in compare(base, now).out
    )


def test_a_change_of_the_same_machine_code_is_not_the_kernels(compare):
    """With another driver, a slower case of the same machine code says so, and is no check of the noise."""
    given = {"A": ENVIRONMENT, "B": environment(versions={"nvidia_driver": "590.2", "nvcc": "13.0"})}
    told = compare([timed(0, 100, binary="b")], [timed(0, 110, binary="b")], given=given)
    assert told.words() == {"0": "slower"}
    assert "the machine code is the same, so the kernel is not the cause" in told.out
    assert "noise of this comparison" not in told.out
    other = compare.told("A", "B").rows[0]
    assert other["same_binary"] == "True"


def test_times_without_samples_are_compared_and_say_so(compare, tmp_path):
    """In a folder that was passed on without samples, or with torn ones, the table's median counts as one round."""
    compare([timed(n, 100) for n in range(3)], [timed(0, 150), timed(1, 100), timed(2, 100)])
    np.save(tmp_path / "B" / "samples" / "00000002-2.npy", np.zeros(3))
    (tmp_path / "B" / "samples" / "00000000-0.npy").write_bytes(b"\x93NUMPY torn")
    np.save(tmp_path / "A" / "samples" / "00000001-1.npy", np.array([{"evil": 1}]), allow_pickle=True)
    told = compare.told("A", "B")
    assert "3 times have no samples" in told.out
    assert told.words()["0"] == "slower"
    assert told.rows[0]["low_percent"] == ""


def test_samples_of_a_throttled_gpu_do_not_count(compare, tmp_path):
    """As in the table, they count only where there are no others."""
    compare([timed(0, 100)], [timed(0, 100)])
    path = tmp_path / "B" / "samples" / "00000000-0.npy"
    kept = np.load(path)
    slow = kept.copy()
    slow["us"] *= 3
    slow["throttled"] = True
    np.save(path, np.concatenate([kept, slow]))
    assert compare.told("A", "B").words() == {"0": "same"}


def test_rounds_of_one_process_are_known_as_such(compare):
    """Whether each round had a process of its own comes from the device's timing."""
    shared = {**ENVIRONMENT, "devices": {"cuda": {"timing": {"fresh_process": False}}, "cpu": EMULATED}}
    fresh = compare([timed(0, 100)], [timed(0, 102.5)]).rows[0]
    told = compare.told("A", "B")
    assert told.words() == {"0": "slower"}
    assert fresh["threshold_percent"] == "1"
    compare.rewrite("A", shared)
    compare.rewrite("B", shared)
    assert compare.told("A", "B").rows[0]["threshold_percent"] == "2"


@pytest.mark.parametrize("given", [{}, environment(clock_mhz=1200)])
def test_cases_are_only_alike_where_the_environment_is_known_to_be(compare, given):
    """Without an environment, or on a GPU with another clock, slower cases of the same machine code are slower."""
    rows = [[timed(n, us, binary="x") for n in range(4)] for us in (100, 130)]
    other = given or {}
    told = compare(*rows, given={"A": {} if not given else ENVIRONMENT, "B": other})
    assert (told.code, set(told.words().values())) == (1, {"slower"})
    assert "noise of this comparison" not in told.out


def test_a_case_that_was_measured_in_several_ways_is_not_compared(compare):
    """Two rows of one case, as of two presets of timing, are not joined by their order."""
    told = compare([timed(0, 100), timed(0, 50)], [timed(0, 50), timed(0, 100)])
    assert (told.code, told.words()) == (0, {"0": "not compared"})
    assert "measured in several ways" in told.rows[0]["note"]


def test_a_case_that_was_planned_but_never_reached_is_not_compared(compare, tmp_path):
    """Of a sweep that was killed, a case without a row is in both runs, and not run in one of them."""
    compare([timed(0, 100), timed(1, 100)], [timed(0, 100)])
    planned = [
        {"case": f"{n:08x}", "job": n, "kernel": "reduceShfl", "parameters": {}, "seed": 0, "device": "cuda"}
        for n in (0, 1)
    ]
    (tmp_path / "B" / "plan.json").write_text(json.dumps({"cases": planned}), "utf-8")
    told = compare.told("A", "B")
    assert told.words() == {"0": "same", "1": "not compared"}


def test_missing_samples_are_named_as_the_reason(compare, tmp_path):
    """Where a folder came without its samples, the advice is not to measure more rounds."""
    compare([timed(0, 100)], [timed(0, 101.5)])
    shutil.rmtree(tmp_path / "B" / "samples")
    told = compare.told("A", "B")
    assert told.words() == {"0": "inconclusive"}
    assert "its rounds are not known: compare folders that have their samples/" in told.rows[0]["note"]


@pytest.mark.parametrize("odd", [{"min_us": 0}, {"q1_us": -1, "q3_us": 0}, {"rounds": 0}, {"size": 0}])
def test_odd_numbers_in_a_table_are_no_traceback(compare, odd):
    """A table that somebody edited is compared as far as it makes sense."""
    once = {"spread": (0.0,)}
    told = compare([timed(0, 100, **once) | odd], [timed(0, 103, **once) | odd], options=("--html", "told.html"))
    assert told.code in (0, 1)
    assert told.words()["0"] in ("inconclusive", "slower", "not compared")


def test_strict_is_content_where_all_is_decided(compare):
    """With --strict the status is 0 where all is the same, and still 1 where a case is broken."""
    compare([timed(0, 100)], [timed(0, 100)])
    assert compare.told("A", "B", "--strict").code == 0
    compare.write("B", [failed(0)])
    assert compare.told("A", "B", "--strict").code == 1
