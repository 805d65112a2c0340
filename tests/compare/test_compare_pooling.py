"""One side of a comparison measured several times: `A1,A2 B1,B2`."""

import pytest
from compare_runs import STEADY, environment, failed, timed, write

GROWING = 0.02  # by which the device is slower after each sweep


@pytest.fixture
def abba(tmp_path):
    """Sweeps of ten cases in the order A1 B1 B2 A2 on a device that becomes slower by 2 % from each to the next.

    B changes the machine code of all kernels, and the time of the first one by the factor `of`.
    """

    def write_runs(of=1.0):
        for place, name in enumerate(["A1", "B1", "B2", "A2"]):
            slower = 1 + GROWING * place
            rows = [
                timed(n, 100 * slower * (of if n == 0 and name[0] == "B" else 1), binary=f"{name[0]}{n}")
                for n in range(10)
            ]
            write(tmp_path / name, rows)

    return write_runs


def test_a_steady_drift_cancels(compare, abba):
    """Two sweeps in sequence differ by the drift alone; measured A B B A, they are the same."""
    abba()
    assert "10 slower" in compare.folders("A1", "B1").out
    result = compare.folders("A1,A2", "B1,B2")
    assert (result.code, "0 faster, 0 slower" in result.out) == (0, True)


def test_a_change_is_found_beside_a_drift(compare, abba):
    """The kernel whose time doubled is found with its true ratio."""
    abba(2.0)
    result = compare.folders("A1,A2", "B1,B2")
    assert (result.code, "1 slower" in result.out, "2.00x slower" in result.out) == (1, True, True)


def test_runs_of_a_single_round_are_processes_of_their_own(compare, tmp_path):
    """Five sweeps of one round each on both sides count as five rounds in fresh processes: 1.5 % is found."""
    timing = {"timing": {"rounds": 1, "fresh_process": False}}
    for n, spread in enumerate(STEADY):
        write(tmp_path / f"A{n}", [timed(0, 100 * (1 + spread), (0.0,), binary="a")], given=environment(**timing))
        write(tmp_path / f"B{n}", [timed(0, 101.5 * (1 + spread), (0.0,), binary="b")], given=environment(**timing))
    sides = [",".join(f"{name}{n}" for n in range(5)) for name in "AB"]
    assert "1 slower" in compare.folders(*sides).out


MODELS = ("NVIDIA H100 4b1c2f0a", "NVIDIA H200 9d1c2f0a")


def test_each_model_of_gpu_is_compared_with_itself(compare, tmp_path):
    """Two sweeps measured a case on two models: on the second one it became slower, and no row is in doubt."""
    for name, slower in (("A", 1.0), ("B", 1.5)):
        rows = [timed(n, 100 * slower**n, binary=f"{name}{n}", case="abc", gpu=gpu) for n, gpu in enumerate(MODELS)]
        write(tmp_path / name, rows, further=("gpu",))
    said = compare.folders("A", "B").out
    assert "1 slower" in said
    assert "1 same" in said


def test_gpus_that_measured_all_cases_are_one_side(compare, tmp_path):
    """Both GPUs measured the case in both sweeps: their rounds count together."""
    given = environment() | {"launcher": {"replicate": True}}
    for name, slower in (("A", 1.0), ("B", 1.5)):
        gpus = [f"NVIDIA H200 GPU-{n}b1c2f0a-1111-2222-3333-444455556666" for n in range(2)]
        rows = [timed(n, (100 + n / 5) * slower, binary=name, case="abc", gpu=gpu) for n, gpu in enumerate(gpus)]
        write(tmp_path / name, rows, given=given, further=("gpu",))
    said = compare.folders("A", "B").out
    assert "1 slower" in said
    assert "1.50x slower" in said


STATES = {"ok": timed(0, 100, binary="b"), "failed": failed(0), "idle": failed(0, "not_run", "")}


@pytest.mark.parametrize("first", STATES)
@pytest.mark.parametrize("second", STATES)
def test_what_failed_in_any_run_of_a_side_failed(compare, tmp_path, first, second):
    """In a side's two runs, in either order, a failure outweighs a right case, which outweighs one that did not run."""
    write(tmp_path / "A", [timed(0, 100, binary="a")])
    for name, state in (("B1", first), ("B2", second)):
        write(tmp_path / name, [STATES[state]])
    word = "BROKEN" if "failed" in (first, second) else "not compared" if first == second == "idle" else "same"
    assert compare.folders("A", "B1,B2").words() == {"0": word}


def test_runs_of_another_device_are_no_one_side(compare, tmp_path):
    """Two GPUs are not one side, though the machine code is the same."""
    for name, device in (("A1", {}), ("A2", {"name": "NVIDIA H100"}), ("B", {})):
        write(tmp_path / name, [timed(0, 100, binary="a")], given=environment(**device))
    result = compare.folders("A1,A2", "B")
    assert (result.code, "cuda.name is NVIDIA H200 and NVIDIA H100" in result.err) == (2, True)


@pytest.mark.parametrize(
    ("sides", "words"),
    [
        (("A1,B1", "B2"), "B1 is not A1 measured again"),
        (("A1,A1", "B1"), "named twice"),
        (("A1,B1", "B1"), "B1"),
        (("A1,A9", "B1"), "A9: there is no such folder"),
    ],
)
def test_sides_that_make_no_sense_are_refused(compare, abba, sides, words):
    """Runs of other machine code, a run on both sides, or a missing run: one sentence, and exit status 2."""
    abba()
    result = compare.folders(*sides)
    assert (result.code, words in result.err, result.err.count("\n")) == (2, True, 1)
