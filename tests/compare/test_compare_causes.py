import re

import pytest
from compare_runs import ENVIRONMENT, environment, failed, timed


def differing(result):
    """Kind and name of each difference in the terminal."""
    lines = re.findall(r"^  ([\w ]+): ([^:]+): .* in [AB]", result.out, re.MULTILINE)
    return [f"{kind}: {name}" for kind, name in lines]


def test_causes_come_in_the_order_of_likelihood(compare):
    """Kernel source, parameters, device, driver, toolkit, method, clocks, then the rest."""
    now = environment(
        name="NVIDIA A100", versions={"nvidia_driver": "590.2", "nvcc": "13.1"}, timing={"rounds": 3}, copy_gbps=1400.0
    )
    now = {**now, "python": "3.13.1", "command": "python -m runner kernel=all hydra.sweep.dir=B"}
    result = compare(
        [timed(0, 100, sm_mhz=1980)], [timed(0, 100, sm_mhz=1410), timed(1, 100, size=2**21)],
        given={"B": now}, sources={"A": {"kernels/reduceShfl.cu": "// one\n"}, "B": {"kernels/reduceShfl.cu": "// two\n"}},
    )  # fmt: skip
    assert differing(result) == [
        "kernel source: kernels/reduceShfl.cu", "kernel source: machine code", "parameters: size", "device: cuda.name",
        "driver: cuda.versions.nvidia_driver", "toolkit: cuda.versions.nvcc", "method: cuda.timing.rounds",
        "method: cuda.timing.fresh_process", "clocks: cuda.copy_gbps", "clocks: clock while measuring, median (MHz)",
        "runner: python",
    ]  # fmt: skip
    assert "  command: python -m runner kernel=reduceShfl in A; python -m runner kernel=all in B" in result.out
    assert "device: cuda.name: NVIDIA H200 in A; NVIDIA A100 in B" in result.out


@pytest.mark.parametrize(
    "now",
    [
        {**ENVIRONMENT, "started_utc": "2027-01-01T00:00:00Z", "resumed_utc": "2027-01-02T00:00:00Z", "host": "h"},
        {**ENVIRONMENT, "command": "python -m runner kernel=reduceShfl hydra.sweep.dir=outputs/elsewhere"},
        {**ENVIRONMENT, "command": "python -m runner 'hydra.sweep.dir=a b/c' kernel=reduceShfl --config-path '/d e/f'"},
        environment(copy_gbps=4200.0),
        environment(noise={"device": "NVIDIA H200", "points": [{"median_us": 5, "alike_percent": 0.1}]}),
    ],
)
def test_entries_that_are_no_cause_are_left_out(compare, now):
    """Times of day, hosts, calibrations, and measured properties that hardly differ are no causes."""
    result = compare([timed(0, 100, binary="b")], [timed(0, 100, binary="b")], given={"B": now})
    assert "The folders show no difference." in result.out


def test_a_missing_environment_is_one_difference(compare, tmp_path):
    """It is not one difference for each entry."""
    compare([timed(0, 100, binary="b")], [timed(0, 100, binary="b")])
    (tmp_path / "B" / "environment.json").unlink()
    assert "runner: environment.json: missing or corrupt in B" in compare.folders("A", "B").out
    assert len(differing(compare.folders("A", "B"))) == 1


def test_files_are_compared_line_by_line(page):
    """Changed files have a diff, new and missing ones their name; other configuration is left out."""
    before = {"kernels/k.cu": "a\nb\n", "conf/kernel/k.yaml": "x: 1\n", "kernels/old.cu": "", "conf/config.yaml": "1"}
    after = {
        "kernels/k.cu": "a\nc < d\n",
        "conf/kernel/k.yaml": "x: 1\n",
        "kernels/new.cu": "",
        "conf/config.yaml": "2",
    }
    text = page([timed(0, 100)], [timed(0, 100)], sources={"A": before, "B": after})
    assert "-b\n+c &lt; d" in text
    assert ">1 line added, 1 removed</td>" in text
    assert re.search(r"kernels/old.cu</td><td[^>]*></td><td[^>]*>missing</td>", text)
    assert re.search(r"kernels/new.cu</td><td[^>]*></td><td[^>]*>new</td>", text)
    assert "k.yaml" not in text
    assert "config.yaml" not in text


def test_long_diffs_are_cut(page):
    """The first lines are shown, and the number of the others."""
    before, after = ({"kernels/k.cu": "".join(f"{n} {word}\n" for n in range(1000))} for word in ("a", "b"))
    text = page([timed(0, 100)], [timed(0, 100)], sources={"A": before, "B": after})
    assert "[1,603 more lines]" in text
    assert "1,000 lines added, 1,000 removed" in text
    assert "999 b" not in text


def test_changed_launches_and_registers_are_differences(compare):
    """Registers and grid of a case are listed with both values."""
    result = compare([timed(0, 100, registers=16)], [timed(0, 100, registers=24, grid="7")])
    assert "kernel source: registers: 16 to 24 in 1 case in B" in result.out
    assert "kernel source: grid: 4096 to 7 in 1 case in B" in result.out


def test_another_device_is_named_before_the_times(page):
    """Runs of different GPUs are compared, and the top of the page says so."""
    text = page([timed(0, 100)], [timed(0, 50)], given={"B": environment(name="NVIDIA B200")})
    assert text.index("The runs differ in device") < text.index('id="cases"')
    assert "0 slower" in text


def test_an_unchanged_kernel_is_named_only_where_it_differs(compare):
    """With three runs, each has its value, and only differences are listed."""
    sources = {name: {"kernels/k.cu": text} for name, text in zip("ABC", ("1\n", "1\n", "2\n"), strict=True)}
    result = compare([timed(0, 100)], [timed(0, 100)], [failed(0)], sources=sources)
    assert "kernels/k.cu: as the baseline in B; 1 line added, 1 removed in C" in result.out


def test_an_unknown_entry_of_an_environment_is_a_difference(compare):
    """A later version of the runner may record more."""
    result = compare(
        [timed(0, 100, binary="b")], [timed(0, 100, binary="b")], given={"B": {**ENVIRONMENT, "news": "x"}}
    )
    assert "other: news: x in B" in result.out
